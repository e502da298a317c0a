# SPDX-License-Identifier: Apache-2.0
"""Hold, trajectory and set-points follow each other without a jump."""

import numpy as np
import pytest

from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.motion.goal import MotionGoal
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.trajectory import Point, TrajectoryError, Waypoints

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


@pytest.mark.parametrize(("start", "now"), [(0, 500), (700, 500)])
def test_trajectory_that_began_earlier_or_begins_later_is_at_its_points_at_their_times(start, now):
    desired = motion(start_tolerance=10.0)
    at(desired, now * MS)
    points = [Point(0.1, [5.0, 5.0]), Point(1.0, [1.0, 0.5]), Point(2.0, [0.0, 0.0])]
    desired.follow(Waypoints.of(["a", "b"], points[start == 0 :]), start * MS, now * MS, Q, V)
    np.testing.assert_allclose(at(desired, now * MS)[0], Q, atol=1e-9)
    np.testing.assert_allclose(at(desired, (start + 1000) * MS)[0], [1.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(at(desired, (start + 2000) * MS)[0], [0.0, 0.0], atol=1e-9)


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


@pytest.mark.parametrize(("names", "culprit"), [(["a"], "'b' is missing"), (["a", "b", "c"], "'c' is not one of")])
def test_set_point_must_name_each_joint(names, culprit):
    with pytest.raises(TrajectoryError, match=culprit):
        motion().set_point(Waypoints.of(names, [Point(0, [0.0] * len(names))]), 0)


def limited(**options):
    desired = motion(setpoint_tolerance=0.05, **options)
    desired.limits = MotionLimits.of(["a", "b"], lower=-1.0, upper=1.0, velocity=1.0, acceleration=100.0)
    return desired


def step(desired, by, now):
    position = desired.state()[0] + by
    desired.set_point(Waypoints.of(["a", "b"], [Point(0, position)]), now, q=Q)


def test_set_point_farther_than_the_tolerance_is_refused_and_changes_nothing():
    desired = limited()
    before = at(desired, MS)
    with pytest.raises(TrajectoryError, match="joint 'b' is 0.06 from where the robot is wanted.*setpoint_tolerance"):
        step(desired, [0.0, 0.06], MS)
    np.testing.assert_array_equal(at(desired, 2 * MS), before)


def test_set_points_may_go_as_fast_as_the_velocity_limit_and_no_faster():
    desired = limited()
    for k in range(1, 300):  # a millirad in a millisecond: the limit
        step(desired, [1e-3, 0.0], 1000 * MS + k * MS)
    with pytest.raises(TrajectoryError, match="faster than its velocity limit of 1"):
        for k in range(1, 300):
            step(desired, [-2e-3, 0.0], 1300 * MS + k * MS)


def test_holding_in_between_makes_set_points_no_faster():
    desired = limited()
    with pytest.raises(TrajectoryError, match="faster than its velocity limit of 1"):
        for k in range(1, 10):
            step(desired, [0.02, 0.0], 1000 * MS + k * MS)
            desired.hold()


def test_set_points_of_a_continuous_joint_go_the_short_way_round():
    desired = DesiredMotion(["a"], continuous=np.array([True]), options=MotionOptions(setpoint_tolerance=0.05))
    desired.update(MS, np.array([3.13]), np.zeros(1))
    desired.set_point(Waypoints.of(["a"], [Point(0, [-3.13])]), 1000 * MS)
    assert desired.mode == "setpoint"


def test_first_set_point_counts_from_the_measured_position():
    desired = DesiredMotion(["a", "b"], options=MotionOptions(setpoint_tolerance=0.05))
    with pytest.raises(TrajectoryError, match="no joint states"):
        desired.set_point(Waypoints.of(["a", "b"], [Point(0, Q)]), MS)
    with pytest.raises(TrajectoryError, match="setpoint_tolerance"):
        desired.set_point(Waypoints.of(["a", "b"], [Point(0, Q + 0.1)]), MS, q=Q)
    desired.set_point(Waypoints.of(["a", "b"], [Point(0, Q + 0.01)]), MS, q=Q)


def far_motion(desired, end=1.0):
    desired.follow(Waypoints.of(["a"], [Point(end, [1.0])]), 0, 0, Q, V)


@pytest.mark.parametrize("tolerance", [[0.2], [0.2, 9.0]])
def test_path_tolerance_ends_a_motion_where_the_robot_is(tolerance):
    desired = motion(path_tolerance=tolerance)
    far_motion(desired)
    while not desired.problem:
        now = desired._seen + MS
        assert now < 1000 * MS
        assert np.abs(at(desired, now)[0] - Q).max() <= 0.2
    assert "path tolerance violated: joint 'a' is 0.2" in desired.problem
    np.testing.assert_array_equal(at(desired, now + MS), [Q, [0, 0], [0, 0]])
    far_motion(desired)
    assert not desired.problem


def test_path_tolerance_counts_for_set_points_too():
    desired = motion(path_tolerance=[0.2])
    desired.set_point(Waypoints.of(["a", "b"], [Point(0, Q + 0.3)]), 0)
    np.testing.assert_array_equal(at(desired, MS)[0], Q)
    assert "path tolerance" in desired.problem


def test_a_robot_that_is_moved_while_it_is_held_is_held_where_it_is_then():
    desired = motion(path_tolerance=[0.2])
    away = Q + [0.0, 0.19]
    np.testing.assert_array_equal(at(desired, MS, away)[0], Q)  # pulled back
    away = Q + [0.0, 0.5]
    np.testing.assert_array_equal(at(desired, 2 * MS, away)[0], away)
    assert "joint 'b' is 0.5 from where it was held, more than path_tolerance (0.2)" in desired.problem
    np.testing.assert_array_equal(at(desired, 3 * MS, Q + [0.0, 0.4])[0], away)
    assert desired.problem
    far_motion(desired)
    assert not desired.problem


def test_a_joint_that_nothing_pulls_is_held_where_it_is():
    desired = motion(path_tolerance=[0.2])
    desired.slack = np.array([False, True])
    for k in range(10):
        at(desired, (k + 1) * MS, Q + [0.1, 0.1 * k])
    np.testing.assert_allclose(desired.state()[0], Q + [0.0, 0.9])
    assert not desired.problem
    desired.slack = np.array([False, False])  # it gets a gain
    np.testing.assert_allclose(at(desired, 20 * MS, Q + [0.1, 0.8])[0], Q + [0.0, 0.9])


def test_a_stream_of_set_points_begins_where_the_robot_stands_or_is_wanted():
    desired = motion(setpoint_tolerance=0.05, path_tolerance=[1.0])
    stands = Q + [0.5, 0.0]
    at(desired, MS, stands)
    for wrong in (Q + [0.25, 0.0], Q + [0.6, 0.0]):
        with pytest.raises(TrajectoryError, match="setpoint_tolerance"):
            desired.set_point(Waypoints.of(["a", "b"], [Point(0, wrong)]), 1000 * MS, q=stands)
    desired.set_point(Waypoints.of(["a", "b"], [Point(0, stands + 0.01)]), 1000 * MS, q=stands)
    np.testing.assert_allclose(at(desired, 1001 * MS, stands)[0], stands + 0.01)


@pytest.mark.parametrize("comes", [True, False])
def test_goal_tolerance_is_checked_at_the_goal_time(comes):
    desired = motion(goal_tolerance=[0.01], goal_time=0.5)
    far_motion(desired)
    at(desired, 1000 * MS)
    there = np.array([1.0, Q[1]])
    at(desired, 1400 * MS, there if comes else Q)
    at(desired, 1600 * MS)
    assert ("goal tolerance violated: joint 'a' is 0.7" in desired.problem) is not comes


def test_gap_ends_a_trajectory_and_holds_what_was_moved():
    desired = motion(longest_gap=0.1)
    far_motion(desired)
    at(desired, 90 * MS)
    np.testing.assert_array_equal(at(desired, 2090 * MS, Q + 0.05), [Q + 0.05, [0, 0], [0, 0]])
    assert "no joint states for 2 s while a trajectory ran" in desired.problem
    np.testing.assert_array_equal(at(desired, 4090 * MS, Q + 0.06)[0], Q + 0.05)  # is as good as there
    np.testing.assert_array_equal(at(desired, 6090 * MS, Q + 0.5)[0], Q + 0.5)
    assert "the robot was moved" in desired.problem


def test_planned_trajectory_takes_over_at_its_time_without_a_jump():
    desired = motion()
    far_motion(desired, end=2.0)
    before = at(desired, 300 * MS)
    request, number = desired.request(500 * MS, before[0], V, 0.0)
    plan = request.plan(Waypoints.of(["b"], [Point(1.0, [0.5])]))
    assert desired.follow_from(500 * MS, plan, 500 * MS, number, before[0])
    samples = [at(desired, t * MS, before[0]) for t in range(301, 1600)]
    assert np.abs(np.diff(samples, axis=0)[:, 0]).max() < 2e-3
    assert np.abs(np.diff(samples, axis=0)[:, 1]).max() < 1e-2
    np.testing.assert_allclose(samples[-1][0][1], 0.5)


def test_plan_that_is_late_or_was_made_for_another_motion_does_not_take_over():
    desired = motion()
    request, number = desired.request(500 * MS, Q, V, 0.0)
    plan = request.plan(Waypoints.of(["b"], [Point(1.0, [0.5])]))
    at(desired, 500 * MS)
    assert not desired.follow_from(500 * MS, plan, 500 * MS, number, Q)
    desired.hold()
    assert not desired.follow_from(600 * MS, plan, 600 * MS, number, Q)
    assert desired.follow_from(600 * MS, plan, 600 * MS, desired.number, Q)
    desired.revoke(Q, "no more")
    at(desired, 700 * MS)
    assert (desired.mode, desired.problem) == ("hold", "no more")


def test_a_goal_that_is_cancelled_before_its_plan_takes_over_moves_nothing():
    desired, goal, other = motion(), MotionGoal(), MotionGoal()
    request, number = desired.request(500 * MS, Q, V, 0.0)
    plan = request.plan(Waypoints.of(["b"], [Point(1.0, [0.5])]))
    assert desired.follow_from(500 * MS, plan, 500 * MS, number, Q, goal=goal)
    desired.cancel(other)
    assert desired.moving and not goal.outcome
    desired.cancel(goal)
    assert not desired.moving and goal.outcome
    for time in (499, 501, 1000, 2000):
        np.testing.assert_array_equal(at(desired, time * MS), [Q, [0, 0], [0, 0]])


def test_tolerances_of_another_count_are_refused_and_change_nothing():
    desired = motion(path_tolerance=[0.2])
    for wrong in ({"path_tolerance": [0.1] * 3}, {"goal_tolerance": [0.1] * 3}):
        with pytest.raises(ValueError, match="tolerance has 3 values for 2 joints: a, b"):
            desired.options = MotionOptions(**wrong)
    assert desired.options.path_tolerance == [0.2]
