# SPDX-License-Identifier: Apache-2.0
"""Hold, trajectory and set-points follow each other without a jump."""

import numpy as np
import pytest

from rbd_dynamics.control.desired_motion import DesiredMotion
from rbd_dynamics.control.motion_options import MotionOptions
from rbd_dynamics.control.trajectory import Point, TrajectoryError, Waypoints

MS = 1_000_000
Q, V = np.array([0.3, -0.2]), np.array([0.01, 0.02])


def at(desired, now, q=Q):
    """The desired state at a time."""
    desired.update(now, q, V)
    return desired.state()


def motion(**options):
    desired = DesiredMotion(["a", "b"], options=MotionOptions(**options))
    at(desired, 0)
    return desired


def test_holds_the_first_measured_position():
    desired = motion()
    np.testing.assert_array_equal(at(desired, 5 * MS, Q + 1), [Q, [0, 0], [0, 0]])
    assert desired.mode == "hold"


def test_trajectory_starts_at_the_present_desired_state_and_ends_in_hold():
    desired = motion()
    goal = Waypoints.of(["b", "a"], [Point(0.5, [0.5, 1.0]), Point(1.0, [0.0, 2.0])])
    desired.follow(goal, 10 * MS, 10 * MS, Q, V)
    np.testing.assert_allclose(at(desired, 10 * MS), [Q, [0, 0], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(at(desired, 510 * MS)[0], [1.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(at(desired, 2000 * MS), [[2.0, 0.0], [0, 0], [0, 0]])
    assert desired.mode == "hold"


def test_new_trajectory_takes_over_velocity_and_acceleration():
    desired = motion()
    desired.follow(Waypoints.of(["a", "b"], [Point(1.0, [1, 1]), Point(2.0, [0, 0])]), 0, 0, Q, V)
    before = at(desired, 400 * MS)
    other = Waypoints.of(["a", "b"], [Point(1.0, [2, 2]), Point(2.0, [0, 0])])
    desired.follow(other, 400 * MS, 400 * MS, before[0], V)
    np.testing.assert_allclose(at(desired, 400 * MS), before, atol=1e-9)
    assert np.abs(before[1:]).min() > 0.1


def test_far_from_the_desired_position_it_starts_where_the_robot_is():
    desired = motion(start_tolerance=0.05)
    away = Q + 0.5
    desired.follow(Waypoints.of(["a", "b"], [Point(1.0, [1, 1]), Point(2.0, [0, 0])]), 0, 0, away, V)
    np.testing.assert_allclose(at(desired, 0, away)[:2], [away, V], atol=1e-12)


def test_refused_trajectory_changes_nothing():
    desired = motion()
    before = at(desired, MS)
    with pytest.raises(TrajectoryError):
        desired.follow(Waypoints.of(["c"], [Point(1.0, [1]), Point(2.0, [0])]), 0, MS, Q, V)
    np.testing.assert_array_equal(at(desired, 2 * MS), before)


def test_set_point_takes_effect_at_once_and_expires():
    desired = motion(setpoint_timeout=0.1)
    desired.set_point(Waypoints.of(["b", "a"], [Point(0, [2, 1], [4, 3], [6, 5])]), 0)
    np.testing.assert_array_equal(at(desired, 50 * MS), [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(at(desired, 150 * MS, np.array([1.05, 2])), [[1, 2], [0, 0], [0, 0]])


def test_after_a_set_point_that_was_never_reached_the_robot_is_held_where_it_is():
    desired = motion(setpoint_timeout=0.1)
    desired.set_point(Waypoints.of(["a", "b"], [Point(0, [9, 9])]), 0)
    np.testing.assert_array_equal(at(desired, 150 * MS), [Q, [0, 0], [0, 0]])
    np.testing.assert_array_equal(at(desired, 160 * MS, Q + 1), [Q, [0, 0], [0, 0]])


def test_set_point_without_position_follows_the_measured_one():
    desired = motion()
    desired.set_point(Waypoints.of(["a", "b"], [Point(0, (), (), [5, 6])], positions=False), 0)
    np.testing.assert_array_equal(at(desired, MS, Q + 1), [Q + 1, V, [5, 6]])


@pytest.mark.parametrize(("names", "culprit"), [(["a"], "'b' is missing"), (["a", "b", "c"], "'c' is none of")])
def test_set_point_must_name_each_joint(names, culprit):
    with pytest.raises(TrajectoryError, match=culprit):
        motion().set_point(Waypoints.of(names, [Point(0, [0.0] * len(names))]), 0)
