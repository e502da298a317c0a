# SPDX-License-Identifier: Apache-2.0
"""The constrained services of `dynamics_server` over real DDS."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import robot_file
from helpers.nodes.ros_nodes import needs_ros

from rbd_dynamics.constraints import ConstraintSet, load_constraints
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros

FILE = """
constraints:
  - {name: point, type: frame, frame: tool0, directions: [x, y, z]}
  - {name: again, type: frame, frame: tool0, directions: [x, y, z]}
  - {name: table, type: surface, frame: tool0}
"""
POSITIONS = [0.3, -1.0, 1.2, 0.2, 0.5, 0.0]
SERVICES = {
    "inverse": "ConstrainedInverseDynamics",
    "forward": "ConstrainedForwardDynamics",
    "hybrid": "ConstrainedHybridDynamics",
}


@pytest.fixture(scope="module")
def robot():
    return Robot(load_urdf(robot_file("ur5_robot")))


class Asking:
    """Calls of a server's constrained services."""

    def __init__(self, node, clients):
        self.node, self._clients = node, clients

    def __call__(self, name, **fields):
        return self._clients[name](**fields)

    def waits(self):
        """How often a call has waited for the compiler so far."""
        return self.node.log.count("a call waits for the compiler")


@pytest.fixture(scope="module")
def ask(ros, robot, tmp_path_factory):
    """ask("forward", **fields) is the response."""
    from rbd_dynamics_interfaces import srv

    file = tmp_path_factory.mktemp("files") / "constraints.yaml"
    file.write_text(FILE)
    parameters = {"robot_description": robot_file("ur5_robot").read_text(), "constraints_file": str(file)}
    with ros.start("dynamics_server", parameters) as node:
        clients = {
            name: ros.client(getattr(srv, kind), f"{node.name}/constrained_{name}_dynamics")
            for name, kind in SERVICES.items()
        }
        yield Asking(node, clients)


@pytest.fixture
def state(robot):
    rng = np.random.default_rng(1)
    q = np.stack([robot.model.random(rng) for _ in range(3)])
    v, tau, a = rng.normal(size=(3, 3, 6))
    return q, v, tau, a


def lists(*arrays):
    return [np.asarray(array).ravel().tolist() for array in arrays]


def wrench(frame, z):
    """A force along z of a frame."""
    from geometry_msgs.msg import WrenchStamped

    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.z = frame, z
    return message


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


def test_a_motion_is_possible_where_a_joint_without_actuator_makes_it_by_itself(ask):
    """The wrist falls as it does by forward dynamics, or does not."""
    common = {"positions": POSITIONS, "velocities": [0.1] * 6, "constraints": ["table"]}
    fallen = ask("forward", efforts=[5.0, -3.0, 2.0, 1.0, -0.5, 0.0], **common)
    assert fallen.success, fallen.message
    accelerations = np.array(fallen.accelerations)
    common["actuated"] = [True] * 5 + [False]
    made = ask("inverse", accelerations=accelerations.tolist(), **common)
    assert made.success, made.message
    assert made.efforts[5] == 0.0
    accelerations[5] += 0.1  # along the table still
    refused = ask("inverse", accelerations=accelerations.tolist(), **common)
    assert not refused.success
    assert "cannot make this motion: joint 'wrist_3_joint', which has none, lacks" in refused.message


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
        ("inverse", {"constraints": ["table"], "actuated": [False] * 4}, "actuated has 4 flags: expected 6"),
        (
            "forward",
            {"constraints": ["point"], "constraints_yaml": "[{name: point, type: frame, frame: tool0}]"},
            "'point' occurs twice",
        ),
        ("hybrid", {"constraints": ["point"], "prescribed": [True] * 6, "accelerations": [1.0] * 6}, "violates"),
    ],
)
def test_what_is_wrong_is_answered(ask, service, fields, reason):
    response = ask(service, **{"positions": POSITIONS} | fields)
    assert not response.success
    assert reason in response.message
    assert not len(response.multipliers)


def test_named_constraints_never_wait_for_the_compiler(ask, state):
    """Not with external wrenches, another objective, or actuators: all was compiled before."""
    q, v, tau, _ = state
    before = ask.waits()
    positions, velocities, efforts = lists(q[0], v[0], tau[0])
    for names in ([], ["point"], ["again"], ["table"]):
        common = {"positions": positions, "constraints": names, "external_wrenches": [wrench("tool0", z=5.0)]}
        assert ask("forward", velocities=velocities, efforts=efforts, **common).success
        assert ask("hybrid", prescribed=[False] * 6, efforts=efforts, **common).success
        for objective in ("torque", "constraint_force"):
            assert ask("inverse", objective=objective, **common).success
    assert ask.waits() == before


def test_every_kernel_of_named_constraints_is_there_after_configuration(robot, tmp_path, monkeypatch):
    from rbd_dynamics.nodes.managed.description_text import Prefix
    from rbd_dynamics.nodes.server import constrained_services as services
    from rbd_dynamics.nodes.server.known_constraints import KnownConstraints
    from rbd_dynamics_interfaces import srv

    file = tmp_path / "constraints.yaml"
    file.write_text(FILE)
    own, prefix = Robot(robot.model), Prefix("", robot.model)
    known = KnownConstraints(str(file), own, prefix)
    known.compile(progress=lambda name, number, total: None)
    monkeypatch.setattr(own, "custom_kernel", lambda name, *_: pytest.fail(f"{name} is compiled in a call"))
    for names in ([], ["point"], ["again"], ["table"]):
        for answer, kind, objective in (
            (services.constrained_forward_dynamics, srv.ConstrainedForwardDynamics, {}),
            (services.constrained_hybrid_dynamics, srv.ConstrainedHybridDynamics, {}),
            (services.constrained_inverse_dynamics, srv.ConstrainedInverseDynamics, {"objective": "torque"}),
            (services.constrained_inverse_dynamics, srv.ConstrainedInverseDynamics, {"objective": "constraint_force"}),
        ):
            for f_ext in ([], [wrench("tool0", z=5.0)]):
                request = kind.Request(positions=POSITIONS, constraints=names, external_wrenches=f_ext, **objective)
                x = services.ConstrainedRequest(own.model, prefix, known, request)
                assert known.is_ready(x.constraints)
                answer(own, x, request, kind.Response())


def test_inline_constraints_wait_for_the_compiler_once_and_are_logged(ask, state):
    (positions,) = lists(state[0][0])
    text = "[{{name: held, type: frame, frame: forearm_link, directions: [x, rz], placement: {{xyz: [{}, 0, 0.3]}}}}]"
    before = ask.waits()
    for x in (0.1, 0.1, 0.2):  # another number needs no other kernel
        assert ask("forward", positions=positions, constraints_yaml=text.format(x)).success
    assert ask.waits() == before + 1
    assert "held.rz, held.x" in ask.node.log


def test_external_wrenches(ask, robot, state):
    q, v, tau, _ = state
    positions, velocities, efforts = lists(q, v, tau)
    response = ask("forward", positions=positions, velocities=velocities, efforts=efforts, constraints=["point"],
                   external_wrenches=[wrench("forearm_link", z=7.0)])  # fmt: skip
    of = [load_constraints(FILE, robot.model)["point"]]
    f_ext = {"forearm_link": [0.0, 0.0, 0.0, 0.0, 0.0, 7.0]}
    expected = robot.constrained_forward_dynamics(q, v, tau - friction(robot, v), of, f_ext=f_ext)
    np.testing.assert_allclose(np.reshape(response.accelerations, (3, 6)), expected.a, rtol=1e-9)
    np.testing.assert_allclose(np.reshape(response.multipliers, (3, 3)), expected.multipliers, rtol=1e-9)


def test_what_is_impossible_comes_with_its_residual(ask, robot):
    response = ask("inverse", positions=POSITIONS, accelerations=[1.0] * 6, constraints=["point"])
    assert not response.success and not len(response.efforts)
    assert list(response.row_names) == ["point.x", "point.y", "point.z"]
    terms = robot.constraint_rows(POSITIONS, np.zeros(6), [load_constraints(FILE, robot.model)["point"]])
    np.testing.assert_allclose(response.residual, terms.A @ np.ones(6), rtol=1e-10)


def test_rows_that_contradict_each_other(ask, robot):
    """One joint drawn to two places: the first wins, the second misses by what lies between."""
    joint = robot.model.joint_names[2]
    text = f"""
stabilization: 3.0
constraints:
  - {{name: here, type: coupling, coefficients: {{{joint}: 1.0}}, offset: 0.2}}
  - {{name: there, type: coupling, coefficients: {{{joint}: 1.0}}, offset: 0.5}}
"""
    response = ask("forward", positions=POSITIONS, constraints_yaml=text)
    assert not response.success
    assert "constraint row 'there.coupling' contradicts the rows before it in sample 0" in response.message
    np.testing.assert_allclose(response.residual, [0.0, 9.0 * (0.2 - 0.5)], atol=1e-9)


def test_redundant_rows_are_told_by_inverse_dynamics_too(ask):
    for names in (["point", "again"], ["point"]):
        response = ask("inverse", positions=POSITIONS, constraints=names)
        assert response.success and list(response.rank) == [3]
        assert ("3 of 6 rows are redundant" in response.message) == (len(names) == 2)


def test_hybrid_dynamics_tells_rows_that_free_joints_do_not_feel(ask):
    response = ask("hybrid", positions=POSITIONS, prescribed=[True] * 6, constraints=["point"])
    assert response.success and list(response.rank) == [0]
    assert "3 of 3 rows are redundant for the joints that are not prescribed" in response.message


def test_stabilization_of_the_file_prefix_and_payload(ros, robot, tmp_path):
    """A file's stabilization also holds with inline text that has none; names may have the prefix; loads count."""
    from geometry_msgs.msg import InertiaStamped

    from rbd_dynamics_interfaces import srv

    text = "[{name: gear, type: coupling, coefficients: {left_wrist_3_joint: 1.0}, offset: 0.1}]"
    file = tmp_path / "constraints.yaml"
    file.write_text("stabilization: 4.0\n" + FILE)
    parameters = {"constraints_file": str(file), "tf_prefix": "left_"}
    parameters["robot_description"] = robot_file("ur5_robot").read_text()
    v = np.full(6, 0.1)
    payload = InertiaStamped()
    payload.header.frame_id, payload.inertia.m = "left_tool0", 2.0
    other = Robot(robot.model)
    gear = load_constraints(text.replace("left_", ""), robot.model)["gear"]
    of = ConstraintSet(robot.model, [load_constraints(FILE, robot.model)["table"], gear], stabilization=4.0)
    with ros.start("dynamics_server", parameters, name="left_server") as node:
        forward = ros.client(srv.ConstrainedForwardDynamics, f"{node.name}/constrained_forward_dynamics")
        attach = ros.client(srv.SetPayload, f"{node.name}/set_payload")
        for mass in (0.0, 2.0):
            if mass:
                assert attach(payload=payload).success
                other.set_payload("tool0", mass)
            response = forward(positions=POSITIONS, velocities=v.tolist(), constraints=["table"], constraints_yaml=text)
            assert response.success, response.message
            expected = other.constrained_forward_dynamics(POSITIONS, v, -friction(robot, v), of)
            np.testing.assert_allclose(response.accelerations, expected.a, rtol=1e-9)
            np.testing.assert_allclose(response.multipliers, expected.multipliers, rtol=1e-9)


def test_a_wrong_file_ends_the_configuration(ros, tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text("constraints:\n  - {name: a, type: frame, frame: nowhere}\n")
    parameters = {"robot_description": robot_file("ur5_robot").read_text(), "constraints_file": str(file)}
    with ros.start("dynamics_server", parameters, name="wrong_server") as node:
        node.says("no frame named 'nowhere'")
        node.stop()
