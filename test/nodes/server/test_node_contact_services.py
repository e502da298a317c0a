# SPDX-License-Identifier: Apache-2.0
"""The services of `dynamics_server` in contact over real DDS."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from helpers.models.robots import robot_file
from helpers.nodes.ros_nodes import needs_ros

from rbd_dynamics.contacts import ContactSet, read_contacts
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros

Q = np.array([0.3, -1.0, 1.2, 0.2, 0.5, 0.0])
KINDS = {"forward": "ContactForwardDynamics", "inverse": "ContactInverseDynamics", "impulse": "ContactImpulse"}


@pytest.fixture(scope="module")
def robot():
    return Robot(load_urdf(robot_file("ur5_robot")), friction=True)


@pytest.fixture(scope="module")
def text(robot):
    """A ball at the tool, which just touches a rough table; another at the wrist, far from a wall."""
    x, y, z = robot.pose(Q, "tool0")[:3, 3].tolist()
    table = {"name": "table", "frame": "tool0", "radius": 0.02, "friction_coefficient": 0.4,
             "surface_placement": {"xyz": [x, y, z - 0.02]}}  # fmt: skip
    wall = {"name": "wall", "frame": "wrist_2_link", "surface_placement": {"xyz": [0, 0, -5.0]}, "restitution": 0.5}
    return yaml.safe_dump({"contacts": [table, wall]})


@pytest.fixture(scope="module")
def contacts(robot, text):
    return ContactSet(robot.model, read_contacts(text))


@pytest.fixture(scope="module")
def ask(ros, text, tmp_path_factory):
    """ask("forward", **fields) is the response."""
    from rbd_dynamics_interfaces import srv

    file = tmp_path_factory.mktemp("files") / "contacts.yaml"
    file.write_text(text)
    description = robot_file("ur5_robot").read_text()
    with ros.start("dynamics_server", {"robot_description": description, "contacts_file": str(file)}) as node:
        names = {
            "forward": "contact_forward_dynamics",
            "inverse": "contact_inverse_dynamics",
            "impulse": "contact_impulse",
        }
        clients = {name: ros.client(getattr(srv, KINDS[name]), f"{node.name}/{path}") for name, path in names.items()}
        yield lambda name, **fields: clients[name](**fields)


@pytest.fixture
def states(robot):
    """Three states at the table: at rest, sliding, leaving; and torques that press."""
    J = robot.jacobian(Q, "tool0")
    R = robot.pose(Q, "tool0")[:3, :3]
    speeds = np.zeros((3, 6))
    speeds[1, 3:], speeds[2, 3:] = R.T @ [0.1, 0.05, 0.0], R.T @ [0.0, 0.0, 0.2]
    v = np.linalg.solve(J, speeds.T).T
    press = J.T @ np.concatenate([np.zeros(3), R.T @ [0.0, 0.0, -30.0]])
    return np.tile(Q, (3, 1)), v, robot.gravity(Q) + press * np.ones((3, 1))


def lists(*arrays):
    return [np.asarray(array).ravel().tolist() for array in arrays]


def test_forward_dynamics_of_several_states(ask, robot, contacts, states):
    q, v, tau = states
    positions, velocities, efforts = lists(q, v, tau)
    response = ask("forward", positions=positions, velocities=velocities, efforts=efforts)
    assert response.success, response.message
    expected = robot.contact_forward_dynamics(q, v, tau, contacts)
    np.testing.assert_allclose(np.reshape(response.accelerations, (3, 6)), expected.a, rtol=1e-9, atol=1e-9)
    forces = np.reshape(response.forces, (3, 2, 3))
    np.testing.assert_allclose(forces, expected.forces, rtol=1e-9, atol=1e-9)
    assert list(response.row_names) == list(contacts.rows.row_names)
    assert list(response.converged) == [True] * 3
    assert np.abs(response.residuals).max() < 1e-6 and len(response.residuals) == 12
    assert forces[0, 0, 0] > 10.0 and forces[1, 0, 0] > 10.0 and not forces[2].any(), "what leaves is let go"
    assert np.hypot(*forces[1, 0, 1:]) == pytest.approx(0.4 * forces[1, 0, 0]), "what slides has its friction"


def test_chosen_contacts_text_wrenches_and_order(ask, robot, text, states):
    from geometry_msgs.msg import WrenchStamped

    q, v, tau = (x[0] for x in states)
    order = [3, 0, 5, 1, 4, 2]
    lift = WrenchStamped()
    lift.header.frame_id, lift.wrench.force.z = "tool0", 15.0
    fields = {
        "joint_names": [robot.model.joint_names[k] for k in order],
        "positions": q[order].tolist(), "efforts": tau[order].tolist(), "external_wrenches": [lift],
    }  # fmt: skip
    smooth = {**yaml.safe_load(text)["contacts"][0], "friction_coefficient": 0.0, "name": "smooth"}
    for choice, chosen in (
        ({"contacts": ["table"]}, read_contacts(text)[:1]),
        ({"contacts_yaml": yaml.safe_dump([smooth])}, read_contacts([smooth])),
    ):
        response = ask("forward", **fields, **choice)
        assert response.success, response.message
        expected = robot.contact_forward_dynamics(q, 0.0 * q, tau, chosen, f_ext={"tool0": [0, 0, 0, 0, 0, 15.0]})
        np.testing.assert_allclose(response.accelerations, expected.a[order], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(response.forces, expected.forces.ravel(), rtol=1e-9, atol=1e-9)


def test_inverse_dynamics_and_motions_that_cannot_be(ask, robot, contacts):
    (positions,) = lists(Q)
    response = ask("inverse", positions=positions)
    assert response.success, response.message
    expected = robot.contact_inverse_dynamics(Q, np.zeros(6), np.zeros(6), contacts)
    np.testing.assert_allclose(response.efforts, expected.tau, rtol=1e-9, atol=1e-9)
    assert len(response.forces) == 6
    passive = [True] * 6
    passive[5] = False
    response = ask("inverse", positions=positions, accelerations=[0.0] * 5 + [50.0], actuated=passive)
    assert not response.success and "'wrist_3_joint', which has no actuator, lacks" in response.message
    R = robot.pose(Q, "tool0")[:3, :3]
    into = np.linalg.solve(robot.jacobian(Q, "tool0"), np.concatenate([np.zeros(3), R.T @ [0.0, 0.0, -2.0]]))
    response = ask("inverse", positions=positions, accelerations=into.tolist())
    assert not response.success and "passes a surface in sample 0: by 2 m/s^2" in response.message
    assert not len(response.efforts)


def test_impulses(ask, robot, contacts, states):
    q, v, _ = states
    down = v - 2.0 * v[2]
    positions, velocities = lists(q, down)
    response = ask("impulse", positions=positions, velocities=velocities)
    assert response.success, response.message
    expected = robot.contact_impulse(q, down, contacts)
    np.testing.assert_allclose(np.reshape(response.velocities, (3, 6)), expected.v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.reshape(response.impulses, (3, 2, 3)), expected.impulses, rtol=1e-9, atol=1e-9)
    assert list(response.stages) == expected.stages.tolist() and all(response.converged)
    assert np.reshape(response.impulses, (3, 2, 3))[:, 0, 0].min() > 0.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"contacts": ["floor"]}, "contacts: there is no 'floor'; the server knows table, wall"),
        ({"contacts_yaml": "- {name: a, frame: nowhere}"}, "no frame named 'nowhere'"),
        ({"contacts_yaml": "- {name: a, frame: tool0, radius: -1}"}, "contact 'a'"),
        ({"contacts_yaml": "just text\n"}, "contacts: expected a list"),
        ({"touching": -1.0}, "touching -1.0 must be finite and not negative"),
        ({"efforts": [0.0] * 5}, "efforts has 5 numbers: expected 6"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(ask, fields, said):
    response = ask("forward", **{"positions": Q.tolist(), **fields})
    assert not response.success and said in response.message
    assert not len(response.accelerations)
