# SPDX-License-Identifier: Apache-2.0
"""Goals straight out of their bytes: what rclpy writes is read, and nothing else is taken for one."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from helpers.nodes.following import needs_control_msgs
from helpers.nodes.trajectory_bytes import serialised

from rbd_dynamics.control.motion.goal import JointTolerance, MotionGoal, Wishes
from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.motion.trajectory_goal import decoded_goal

NAMES = ["a", "b"]
POINTS = [(0, [0.0, 1.0]), (10**9, [0.5, 2.0], [0.1, 0.2]), (2 * 10**9, [1.0, 3.0], [0.0] * 2, [0.0] * 2)]
DEFAULTS = MotionOptions(path_tolerance=[0.2], goal_tolerance=[0.01, 0.02], goal_time=0.5)


def goal(points=POINTS, path=(), end=(), time=0, multi=0, components=(0, 0)):
    """CDR of a request, written here by the rules of OMG CDR; tolerances: (name, position, velocity, acceleration)."""
    trajectory = serialised(NAMES, points, stamp=5 * 10**9)
    out = bytearray(16) + trajectory[4:]

    def put(code, value):
        size = struct.calcsize(code)
        out.extend(b"\0" * (-len(out) % size))
        out.extend(struct.pack("<" + code, value))

    def text(value):
        put("I", len(value) + 1)
        out.extend(value.encode() + b"\0")

    put("i", 0)
    put("I", 0)
    text("")
    put("I", 0)
    put("I", multi)
    for tolerances, others in ((path, components[0]), (end, components[1])):
        put("I", len(tolerances))
        for name, *numbers in tolerances:
            text(name)
            for number in numbers:
                put("d", number)
        put("I", others)
    put("i", time // 10**9)
    put("I", time % 10**9)
    return trajectory[:4] + bytes(out)


def test_goal_is_read():
    raw = goal(path=[("b", 0.1, -1.0, 3.0)], end=[("a", 0.0, 0.2, 0.0), ("b", -1.0, 0.0, 0.0)], time=1_500_000_000)
    stamp, waypoints, wishes = decoded_goal(raw, 3)
    assert stamp == 5 * 10**9
    assert waypoints.joint_names == tuple(NAMES)
    np.testing.assert_array_equal(waypoints.times, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(waypoints.positions, [[0.0, 1.0], [0.5, 2.0], [1.0, 3.0]])
    assert np.isnan(waypoints.velocities[0]).all()
    assert wishes.path == (JointTolerance("b", 0.1, -1.0),)
    assert wishes.goal == (JointTolerance("a", 0.0, 0.2), JointTolerance("b", -1.0, 0.0))
    assert wishes.time == 1.5


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"points": []}, "the trajectory has no points"),
        ({"points": [*POINTS, (3 * 10**9, [0.0] * 2)]}, "the trajectory has 4 points: more than largest_trajectory"),
        ({"multi": 1}, "multi_dof_trajectory"),
        ({"points": [(0, [0.0, float("nan")])]}, "positions of joint 'b' has the value nan"),
    ],
)
def test_goal_that_is_none_is_refused(fields, reason):
    with pytest.raises(TrajectoryError, match=reason):
        decoded_goal(goal(**fields), 3)


def test_goals_that_are_cut_off_or_damaged_are_refused_by_a_trajectory_error():
    raw = goal(path=[("b", 0.1, 0.0, 0.0)])
    for length in range(4, len(raw)):
        with pytest.raises(TrajectoryError):
            decoded_goal(raw[:length], 3)
    rng = np.random.default_rng(1)
    for _ in range(3000):
        damaged = bytearray(raw)
        for place in rng.integers(20, len(raw), 3):
            damaged[place] = rng.integers(256)
        try:
            decoded_goal(bytes(damaged), 3)
        except TrajectoryError:
            continue


@pytest.mark.parametrize("mark", [pytest.param(None, marks=needs_control_msgs)])
def test_what_rclpy_writes_is_read(mark):
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance as Tolerance
    from helpers.nodes.ros_nodes import joint_trajectory
    from rclpy.serialization import serialize_message

    request = FollowJointTrajectory.Impl.SendGoalService.Request()
    request.goal_id.uuid = list(range(16))
    request.goal.trajectory = joint_trajectory(NAMES, [(0.5, [0.1, 0.2]), (1.0, [0.3, 0.4], [0.0] * 2)], 7 * 10**9)
    request.goal.path_tolerance = [Tolerance(name="a", position=0.25, velocity=0.5, acceleration=1.0)]
    request.goal.goal_time_tolerance.sec = 3
    stamp, waypoints, wishes = decoded_goal(serialize_message(request), 10)
    assert stamp == 7 * 10**9
    np.testing.assert_array_equal(waypoints.positions, [[0.1, 0.2], [0.3, 0.4]])
    assert wishes == Wishes(path=(JointTolerance("a", 0.25, 0.5),), time=3.0)


# --- tolerances -----------------------------------------------------------------------------------


def test_tolerances_of_zero_are_the_defaults_and_minus_one_is_none():
    wishes = Wishes((JointTolerance("b", 0.1, 0.3),), (JointTolerance("a", -1.0, 0.0),), -1.0)
    options = wishes.options(DEFAULTS, NAMES)
    assert options.path_tolerance == (0.2, 0.1)
    assert options.path_velocity == (0.0, 0.3)
    assert options.goal_tolerance == (0.0, 0.02)
    assert options.goal_time == 0.0
    assert Wishes().options(DEFAULTS, NAMES).goal_tolerance == (0.01, 0.02)
    assert Wishes(time=2.0).options(DEFAULTS, NAMES).goal_time == 2.0


@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf")])
def test_tolerances_that_make_no_sense_are_refused(value):
    for wishes in (Wishes((JointTolerance("a", value, 0.0),)), Wishes(goal=(JointTolerance("b", 0.0, value),))):
        with pytest.raises(TrajectoryError, match="_tolerance of joint"):
            wishes.options(DEFAULTS, NAMES)
    with pytest.raises(TrajectoryError, match="joint 'c' is not one of a, b"):
        Wishes((JointTolerance("c", 0.1, 0.0),)).options(DEFAULTS, NAMES)


def test_first_end_of_a_goal_counts():
    found = MotionGoal()
    found.end("path", "too far")
    found.end("reached", "")
    assert (found.outcome, found.reason) == ("path", "too far")
