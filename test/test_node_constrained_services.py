"""The constrained services of `dynamics_server` over real DDS."""

from __future__ import annotations

import numpy as np
import pytest
from robots import robot_file
from ros_nodes import Ros, needs_ros

from rbd_dynamics.constraints import load_constraints
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros

FILE = """
constraints:
  - {name: point, type: frame, frame: tool0, directions: [x, y, z]}
  - {name: again, type: frame, frame: tool0, directions: [x, y, z]}
  - {name: table, type: surface, frame: tool0}
"""
SERVICES = {
    "inverse": "ConstrainedInverseDynamics",
    "forward": "ConstrainedForwardDynamics",
    "hybrid": "ConstrainedHybridDynamics",
}


@pytest.fixture(scope="module")
def ros(tmp_path_factory):
    with Ros(tmp_path_factory.mktemp("ros")) as ros:
        yield ros


@pytest.fixture(scope="module")
def robot():
    return Robot(load_urdf(robot_file("ur5_robot")))


@pytest.fixture(scope="module")
def ask(ros, robot, tmp_path_factory):
    """ask("forward", **fields) -> response."""
    from rbd_dynamics_interfaces import srv

    file = tmp_path_factory.mktemp("files") / "constraints.yaml"
    file.write_text(FILE)
    parameters = {"robot_description": robot_file("ur5_robot").read_text(), "constraints_file": str(file)}
    with ros.start("dynamics_server", parameters) as node:
        clients = {
            name: ros.client(getattr(srv, kind), f"{node.name}/constrained_{name}_dynamics")
            for name, kind in SERVICES.items()
        }
        yield lambda name, **fields: clients[name](**fields)


@pytest.fixture
def state(robot):
    rng = np.random.default_rng(1)
    q = np.stack([robot.model.random(rng) for _ in range(3)])
    v, tau, a = rng.normal(size=(3, 3, 6))
    return q, v, tau, a


def lists(*arrays):
    return [np.asarray(array).ravel().tolist() for array in arrays]


def friction(robot, v):
    return robot.friction_torque(v)


def test_forward_dynamics_of_a_trajectory(ask, robot, state):
    q, v, tau, _ = state
    positions, velocities, efforts = lists(q, v, tau)
    response = ask("forward", positions=positions, velocities=velocities, efforts=efforts, constraints=["point"])
    assert response.success, response.message
    of = load_constraints(FILE, robot.model)
    expected = robot.constrained_forward_dynamics(q, v, tau - friction(robot, v), [of["point"]])
    np.testing.assert_allclose(np.reshape(response.accelerations, (3, 6)), expected.a, rtol=1e-10)
    np.testing.assert_allclose(np.reshape(response.multipliers, (3, 3)), expected.multipliers, rtol=1e-10)
    assert list(response.row_names) == ["point.x", "point.y", "point.z"]
    assert list(response.rank) == [3, 3, 3] and response.message == ""


def test_joints_in_the_requesters_order(ask, robot, state):
    q, v, tau, _ = state
    order = [3, 0, 5, 1, 4, 2]
    names = [robot.model.joint_names[k] for k in order]
    positions, velocities, efforts = lists(q[0][order], v[0][order], tau[0][order])
    response = ask(
        "forward", joint_names=names, positions=positions, velocities=velocities, efforts=efforts, constraints=["table"]
    )
    of = load_constraints(FILE, robot.model)
    expected = robot.constrained_forward_dynamics(q[0], v[0], tau[0] - friction(robot, v[0]), [of["table"]])
    assert list(response.joint_names) == names
    np.testing.assert_allclose(response.accelerations, expected.a[order], rtol=1e-10)


def test_inline_constraints_go_with_named_ones(ask, robot, state):
    q, v, tau, _ = state
    text = f"[{{name: gear, type: coupling, coefficients: {{{robot.model.joint_names[5]}: 1.0}}}}]"
    positions, velocities, efforts = lists(q[0], v[0], tau[0])
    response = ask("forward", positions=positions, velocities=velocities, efforts=efforts, constraints=["table"],
                   constraints_yaml=text)  # fmt: skip
    assert response.success, response.message
    assert list(response.row_names) == ["table.normal", "gear.coupling"]
    assert abs(response.accelerations[5]) < 1e-9


def test_redundant_rows_are_told(ask, state):
    q, v, tau, _ = state
    positions, velocities, efforts = lists(q[0], v[0], tau[0])
    response = ask(
        "forward", positions=positions, velocities=velocities, efforts=efforts, constraints=["point", "again"]
    )
    assert response.success and "3 of 6 rows are redundant" in response.message
    assert list(response.rank) == [3]


def test_hybrid_dynamics(ask, robot, state):
    q, v, tau, a = state
    positions, velocities, efforts, accelerations = lists(q[0], v[0], tau[0], a[0])
    prescribed = [True, False, False, False, False, False]
    response = ask("hybrid", positions=positions, velocities=velocities, efforts=efforts, accelerations=accelerations,
                   prescribed=prescribed, constraints=["point"])  # fmt: skip
    assert response.success, response.message
    of = load_constraints(FILE, robot.model)
    drag = friction(robot, v[0])
    expected = robot.constrained_hybrid_dynamics(q[0], v[0], a[0], tau[0] - drag, prescribed, [of["point"]])
    np.testing.assert_allclose(response.accelerations, expected.a, rtol=1e-9)
    np.testing.assert_allclose(response.efforts[0], expected.tau[0] + drag[0], rtol=1e-9)
    np.testing.assert_allclose(response.efforts[1:], tau[0][1:], rtol=1e-12)


def test_inverse_dynamics_makes_the_motion(ask, robot, state):
    q, v, tau, _ = state
    of = [load_constraints(FILE, robot.model)["point"]]
    drag = friction(robot, v[0])
    a = robot.constrained_forward_dynamics(q[0], v[0], tau[0] - drag, of).a
    positions, velocities, accelerations = lists(q[0], v[0], a)
    actuated = [True, True, True, True, False, True]
    for objective in ("", "torque", "constraint_force"):
        response = ask("inverse", positions=positions, velocities=velocities, accelerations=accelerations,
                       actuated=actuated, objective=objective, constraints=["point"])  # fmt: skip
        assert response.success, response.message
        assert response.efforts[4] == 0.0
        made = robot.constrained_forward_dynamics(q[0], v[0], np.array(response.efforts) - drag, of).a
        np.testing.assert_allclose(made, a, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("service", "fields", "reason"),
    [
        ("forward", {"constraints": ["floor"]}, "there is no 'floor'; the server knows point, again, table"),
        ("forward", {"constraints_yaml": "[{name: a, type: fram}]"}, "unknown type 'fram'"),
        ("forward", {"constraints_yaml": "[{name: a, type: frame, frame: none}]"}, "no frame named 'none'"),
        ("forward", {"constraints": ["point"], "positions": [0.0]}, "positions has 1 numbers"),
        ("forward", {"constraints": ["point"], "efforts": [float("nan")] * 6}, "tau of joint"),
        ("inverse", {"constraints": ["point"], "objective": "speed"}, "objective 'speed'"),
        ("inverse", {"constraints": ["point"], "accelerations": [1.0] * 6}, "violates constraint row 'point."),
        ("inverse", {"constraints": ["table"], "actuated": [False] * 6}, "cannot make this motion"),
        ("hybrid", {"constraints": ["point"], "prescribed": [True] * 6, "accelerations": [1.0] * 6}, "violates"),
    ],
)
def test_what_is_wrong_is_answered(ask, service, fields, reason):
    response = ask(service, **{"positions": [0.3, -1.0, 1.2, 0.2, 0.5, 0.0]} | fields)
    assert not response.success
    assert reason in response.message
    assert not len(response.multipliers)


def test_a_wrong_file_ends_the_configuration(ros, tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text("constraints:\n  - {name: a, type: frame, frame: nowhere}\n")
    parameters = {"robot_description": robot_file("ur5_robot").read_text(), "constraints_file": str(file)}
    with ros.start("dynamics_server", parameters, name="wrong_server") as node:
        node.says("no frame named 'nowhere'")
        node.stop()
