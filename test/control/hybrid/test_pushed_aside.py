# SPDX-License-Identifier: Apache-2.0
"""What pushes a tool from beside, as a wall or friction: it gives way, but is neither lifted nor turned."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import robot_file

import rbd_dynamics as rbd
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.multiplier_sensor import SMOOTHING, PushedAside
from rbd_dynamics.control.hybrid.task import HybridTask, turns

TOOL = "panda_hand_tcp"
POSE = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
FORCE, PUSH = 10.0, np.array([-14.0, 9.0, 0.0])  # N, along the surface's normal and from the side
CONTROLLED = ("rx", "ry", "rz", "x", "y")


@pytest.mark.parametrize("law", ["geometric", "gauge_invariant"])
def test_a_push_from_the_side_neither_lifts_nor_turns_the_tool(law):
    """By Pinocchio: the force of the surface is the wanted one, the tool turns as if nothing pushed, and gives way."""
    pin = pytest.importorskip("pinocchio")
    file = robot_file("panda")
    robot = rbd.Robot(rbd.load_urdf(file, locked={"panda_finger_joint1": 0.02}))
    at = robot.pose(POSE, TOOL)[:3, 3]
    task = HybridTask(TOOL, tool_orientation=(np.pi, 0.0, 0.0), task_position=tuple(at.tolist()), controlled=CONTROLLED)
    constraints, moved = task.sets(robot.model)
    gains = HybridGains(kp=100.0, kd=20.0, posture_kp=4.0) if law == "geometric" else HybridGains(kp=8.0, kd=20.0)
    controller = HybridController(robot, constraints, moved, law=law, gains=gains)

    whole = pin.buildModelFromUrdf(str(file))
    fingers = [whole.getJointId(f"panda_finger_joint{k}") for k in (1, 2)]
    reference = pin.neutral(whole)
    reference[-2:] = 0.02
    model = pin.buildReducedModel(whole, fingers, reference)
    data, frame, along = model.createData(), model.getFrameId(TOOL), pin.LOCAL_WORLD_ALIGNED
    J = pin.computeFrameJacobian(model, data, POSE, frame, along)
    M = pin.crba(model, data, POSE)
    M = np.triu(M) + np.triu(M, 1).T
    bias, normal = pin.nle(model, data, POSE, np.zeros(7)), J[2]

    def answer(tau, push):
        """Of the arm on the surface: its force, and accelerations of the tool (linear, angular)."""
        system = np.block([[M, -normal[:, None]], [normal[None, :], np.zeros((1, 1))]])
        found = np.linalg.solve(system, np.append(tau - bias + push, 0.0))
        return found[7], J @ found[:7]

    efforts, theta = J[:3].T @ PUSH, np.array([0.02, -0.01, 0.03, 0.004, -0.006])

    def command(beside):
        out = controller.step(POSE, np.zeros(7), theta, force=np.array([FORCE]), posture=POSE, beside=beside)
        return out.wanted.copy()

    _, alone = answer(command(None), np.zeros(7))
    force, pushed = answer(command(efforts), efforts)
    assert force == pytest.approx(FORCE, rel=1e-9)
    np.testing.assert_allclose(pushed[3:], alone[3:], atol=1e-8)
    gives = J[:2] @ np.linalg.solve(M, efforts)  # as an arm does that nothing constrains
    np.testing.assert_allclose(pushed[:2] - alone[:2], gives, rtol=1e-8)
    lifted, turned = answer(command(None), efforts)
    assert abs(lifted - FORCE) > 1.0 and np.abs(turned[3:] - alone[3:]).max() > 1.0


def test_what_is_felt_is_believed_by_and_by():
    aside, felt = PushedAside(2), np.array([3.0, -1.0])
    for _ in range(round(SMOOTHING / 1e-3)):
        found = aside.update(felt, 1e-3, touching=True)
    np.testing.assert_allclose(found, (1.0 - np.exp(-1.0)) * felt, rtol=0.01)
    aside.forget()
    assert not aside.update(felt, 0.0, touching=True).any()


def test_friction_is_gone_at_once_with_the_surface_and_a_wall_is_not():
    aside, felt = PushedAside(2), np.array([3.0, -1.0])
    for _ in range(1000):
        aside.update(felt, 1e-3, touching=True)
    np.testing.assert_allclose(aside.update(np.array([3.1, 0.2]), 1e-3, touching=False), [3.0, 0.0], atol=0.01)
    kept = aside.update(np.zeros(2), 1e-3, touching=True)  # one reading says little while the surface is felt
    assert kept[0] > 2.9


def test_rows_turn_or_move_a_tool():
    assert turns([f"tool.{direction}" for direction in CONTROLLED]) == (True, True, True, False, False)
