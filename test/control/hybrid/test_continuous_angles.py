# SPDX-License-Identifier: Apache-2.0
"""Angles of a tool up to half a turn from the task frame, and a little beyond."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.robots import load_robot

from rbd_dynamics import Robot
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.constraints.placements import checked_placement
from rbd_dynamics.control.hybrid.checks import ANGLE_SLACK, LARGEST_ANGLE
from rbd_dynamics.control.hybrid.continuous_angles import ContinuousAngles, near_log
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.task import HybridTask
from rbd_dynamics.spatial import exp_so3

TOOL = "wrist_3_joint"
Q = np.array([0.3, -1.2, 1.3, -0.5, 0.8, 0.1])


def turned(robot, vector):
    """A placement of the task frame from which the tool is turned by a rotation vector."""
    frame = np.eye(4)
    frame[:3, :3] = robot.pose(Q, TOOL)[:3, :3] @ exp_so3(vector).T
    return checked_placement(frame, "frame")


@pytest.mark.parametrize("size", [0.0, 1e-5, 0.4, 2.0, 3.0, math.pi, 3.19, 4.0])
def test_angles_near_a_turn_are_that_turn_and_their_rates_the_derivative(size):
    """exact to 1e-9, also beyond half a turn, where the rotation alone does not tell them."""
    robot, rng = Robot(load_robot("ur5_robot")), np.random.default_rng(7)
    for _ in range(5):
        axis = rng.standard_normal(3)
        vector = size * axis / np.linalg.norm(axis)
        near = vector + rng.uniform(-0.5, 0.5, 3)
        rows = ConstraintSet(
            robot.model,
            [FrameConstraint("tool", TOOL, reference_placement=turned(robot, vector), angles=True, near=tuple(near))],
        )

        def h(q, rows=rows):
            return robot.constraint_rows(q, np.zeros(6), rows).h[:3]

        np.testing.assert_allclose(h(Q), vector, atol=1e-9)
        A, step = robot.constraint_rows(Q, np.zeros(6), rows).A[:3], 1e-5
        slopes = np.column_stack([(h(Q + step * e) - h(Q - step * e)) / (2.0 * step) for e in np.eye(6)])
        np.testing.assert_allclose(A, slopes, atol=1e-8)
        assert np.linalg.norm(near_log(exp_so3(vector), near) - vector) < 1e-9


@pytest.mark.parametrize("controlled", [("rx", "ry", "rz", "x", "y"), ("ry", "x", "y")])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_tool_may_turn_on_through_half_a_turn(controlled, way):
    """As a wrist does, about its y axis: values and rates go on without a jump."""
    robot = Robot(load_robot("ur5_robot"))
    at = robot.pose(Q, TOOL)
    task = HybridTask(tool_frame=TOOL, controlled=controlled)
    constraints, moved = task.sets(robot.model)
    controller = HybridController(robot, constraints, moved)
    frame = checked_placement(at, "frame")
    controller.renumber(lambda rows: rows.renumbered(lambda each: replace(each, reference_placement=frame)))
    row = controlled.index("ry")
    turns, v = ContinuousAngles(controller), way * np.eye(6)[5]
    turns.begin()
    for angle in np.linspace(0.0, LARGEST_ANGLE + ANGLE_SLACK, 400):
        q = Q + angle * v
        out = controller.step(q, v, np.zeros(controller.k))
        assert out.theta[row] == pytest.approx(way * angle, abs=1e-9)
        assert out.rate[row] == pytest.approx(way, abs=1e-9)
        turns.follow(q, float(np.linalg.norm(out.theta[:-2])))
    turns.begin()
    assert not any(controller.task.constraints[0].near)


@pytest.mark.parametrize(("given", "what"), [({"near": (1.0, 0.0)}, "near"), ({"near": (1.0, 0.0, math.nan)}, "near")])
def test_what_is_no_turn_is_refused(given, what):
    with pytest.raises(ValueError, match=what):
        FrameConstraint("tool", TOOL, angles=True, **given)
    with pytest.raises(ValueError, match="angles"):
        FrameConstraint("tool", TOOL, near=(1.0, 0.0, 0.0))
