# SPDX-License-Identifier: Apache-2.0
"""Trajectories: through their points, without jumps, as joint_trajectory_controller where asked to."""

import math

import numpy as np
import pytest

from rbd_dynamics.control.motion.trajectory import Point, Trajectory, TrajectoryError, Waypoints, plan_from

JOINTS = ["a", "b"]
REST = np.zeros((3, 2))


def points(times, positions, velocities=None, accelerations=None):
    empty = [()] * len(times)
    return [Point(*row) for row in zip(times, positions, velocities or empty, accelerations or empty)]


def sampled(trajectory, times):
    return np.array([trajectory.sample(t) for t in times])


def jumps(trajectory, t, eps=1e-9):
    """How much position, velocity and acceleration change across t."""
    return np.abs(trajectory.sample(t + eps) - trajectory.sample(t - eps)).max(axis=1)


def test_quintic_passes_points_with_their_velocities_and_accelerations():
    rng = np.random.default_rng(1)
    times = [0.0, 0.4, 1.1, 1.5]
    p, v, a = rng.normal(size=(3, 4, 2))
    trajectory = Trajectory(Waypoints.of(JOINTS, points(times, p, list(v), list(a))))
    for k, t in enumerate(times[:-1]):
        np.testing.assert_allclose(trajectory.sample(t), [p[k], v[k], a[k]], atol=1e-9)
        np.testing.assert_allclose(trajectory.sample(times[k + 1] - 1e-12), [p[k + 1], v[k + 1], a[k + 1]], atol=1e-8)


def test_segments_are_linear_or_cubic_where_derivatives_are_missing():
    linear = Trajectory(Waypoints.of(["a"], points([0.0, 2.0], [[1.0], [2.0]])))
    np.testing.assert_allclose(linear.sample(0.5)[:, 0], [1.25, 0.5, 0.0])
    cubic = Trajectory(Waypoints.of(["a"], points([0.0, 1.0], [[0.0], [1.0]], [[0.0], [0.0]])))
    t = 0.3
    np.testing.assert_allclose(cubic.sample(t)[:, 0], [3 * t**2 - 2 * t**3, 6 * t - 6 * t**2, 6 - 12 * t])


def test_velocity_and_acceleration_are_the_derivatives_of_position():
    rng = np.random.default_rng(2)
    trajectory = Trajectory(Waypoints.of(JOINTS, points([0.0, 0.5, 1.2], rng.normal(size=(3, 2)))).completed())
    h = 1e-6
    for t in (0.1, 0.3, 0.7, 1.1):
        before, here, after = sampled(trajectory, [t - h, t, t + h])
        np.testing.assert_allclose((after[0] - before[0]) / (2 * h), here[1], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose((after[1] - before[1]) / (2 * h), here[2], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("given", ["positions", "velocities", "accelerations"])
def test_smooth_plan_is_twice_continuously_differentiable(given):
    rng = np.random.default_rng(3)
    times = [0.3, 0.5, 1.0, 1.2]
    p, v, a = rng.normal(size=(3, 4, 2))
    waypoints = Waypoints.of(
        JOINTS,
        points(times, p, list(v) if given != "positions" else None, list(a) if given == "accelerations" else None),
    )
    present = rng.normal(size=(3, 2))
    trajectory = plan_from(present, waypoints, JOINTS)
    np.testing.assert_allclose(trajectory.sample(0.0), present, atol=1e-12)
    for t in times[:-1]:
        assert (jumps(trajectory, t) < 1e-3).all()
    for t, position in zip(times, p):
        np.testing.assert_allclose(trajectory.sample(t)[0], position, atol=1e-9)


def test_motion_of_positions_alone_starts_and_ends_at_rest():
    waypoints = Waypoints.of(["a"], points([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]])).completed()
    np.testing.assert_allclose(waypoints.velocities[[0, -1]], 0.0)
    assert np.isfinite(waypoints.accelerations).all()


@pytest.mark.parametrize(("with_velocities", "bound"), [(False, 1e-2), (True, 2e-5)])
def test_computed_accelerations_are_those_of_a_sampled_sine(with_velocities, bound):
    times = np.linspace(0.0, 2.0, 41)
    p, v = np.sin(3 * times)[:, None], 3 * np.cos(3 * times)[:, None]
    waypoints = Waypoints.of(["a"], points(times, p, list(v) if with_velocities else None)).completed()
    inner = slice(10, -10)  # away from the ends, where it is taken to be at rest
    np.testing.assert_allclose(waypoints.accelerations[inner, 0], -9 * np.sin(3 * times)[inner], atol=bound)
    if with_velocities:
        np.testing.assert_allclose(waypoints.accelerations[:, 0], -9 * np.sin(3 * times), atol=1e-2)


def test_given_derivatives_are_kept_where_others_are_filled():
    velocities = [(), (0.7,), (), ()]
    accelerations = [(), (), (-0.3,), ()]
    given = points([0.0, 1.0, 2.0, 3.0], [[0.0], [1.0], [0.0], [1.0]], velocities, accelerations)
    completed = Waypoints.of(["a"], given).completed()
    assert completed.velocities[1, 0] == 0.7
    assert completed.accelerations[2, 0] == -0.3
    assert (jumps(Trajectory(completed), 1.0) < 1e-3).all()


def test_before_and_after_it_stands_still():
    trajectory = Trajectory(Waypoints.of(JOINTS, points([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]])))
    np.testing.assert_array_equal(trajectory.sample(0.0), [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(trajectory.sample(2.0), [[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(trajectory.sample(math.inf), trajectory.sample(2.0))


def test_points_in_the_past_give_way_to_the_present_state():
    waypoints = Waypoints.of(["a"], points([0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]], [[1.0]] * 3))
    present = np.array([[1.52], [0.9], [0.1]])
    trajectory = plan_from(present, waypoints, ["a"], elapsed=1.5, start_tolerance=0.1)
    np.testing.assert_allclose(trajectory.sample(1.5), present)
    np.testing.assert_allclose(trajectory.sample(2.0)[0], 2.0)


def test_start_away_from_the_robot_is_refused_and_names_the_joint():
    waypoints = Waypoints.of(JOINTS, points([0.0, 1.0], [[0.0, 0.5], [1.0, 1.0]]))
    with pytest.raises(TrajectoryError, match="joint 'b'"):
        plan_from(REST, waypoints, JOINTS, start_tolerance=0.1)


def test_trajectory_that_is_over_is_refused():
    waypoints = Waypoints.of(["a"], points([0.0, 1.0], [[0.0], [1.0]]))
    with pytest.raises(TrajectoryError, match="over"):
        plan_from(REST[:, :1], waypoints, ["a"], elapsed=1.5)


def test_joints_come_in_any_order_and_unnamed_ones_stay():
    waypoints = Waypoints.of(["c", "a"], points([1.0, 2.0], [[3.0, 1.0], [4.0, 2.0]]))
    present = np.array([[0.0, 0.7, 0.0], [0.0] * 3, [0.0] * 3])
    trajectory = plan_from(present, waypoints, ["a", "b", "c"])
    np.testing.assert_allclose(trajectory.sample(1.0)[0], [1.0, 0.7, 3.0])
    np.testing.assert_allclose(trajectory.sample(1.5)[:, 1], [0.7, 0.0, 0.0], atol=1e-12)


def test_continuous_joint_takes_the_nearest_turn():
    waypoints = Waypoints.of(["a"], points([1.0, 2.0], [[0.1], [0.2]]))
    present = np.array([[4 * np.pi], [0.0], [0.0]])
    trajectory = plan_from(present, waypoints, ["a"], continuous=np.array([True]))
    np.testing.assert_allclose(trajectory.sample(2.0)[0], 4 * np.pi + 0.2)


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        ([], points([0.0], [[]]), "no joints"),
        (["a", "a"], points([0.0], [[1.0, 2.0]]), "'a' twice"),
        (["a"], [], "no points"),
        (["a"], points([0.0], [[1.0, 2.0]]), "point 0 has 2 positions for 1 joints"),
        (["a"], points([0.0], [[]]), "point 0 has 0 positions"),
        (["a"], points([0.0, 0.0], [[1.0], [2.0]]), "point 1 .* does not come after point 0"),
        (["a"], points([-1.0], [[1.0]]), "time_from_start of point 0"),
        (["a", "b"], points([0.0], [[1.0, math.nan]]), "point 0: positions of joint 'b' has the value nan"),
        (["a"], points([0.0], [[1.0]], [[math.inf]]), "point 0: velocities of joint 'a'"),
        (["a"], points([0.0], [[1.0]], [[1.0, 2.0]]), "point 0 has 2 velocities for 1 joints"),
    ],
)
def test_bad_trajectory_is_refused_with_the_culprit(names, given, message):
    with pytest.raises(TrajectoryError, match=message):
        Waypoints.of(names, given)


def test_unknown_joint_is_refused():
    waypoints = Waypoints.of(["elbow"], points([1.0], [[1.0]]))
    with pytest.raises(TrajectoryError, match="'elbow' is not one of a, b"):
        plan_from(REST, waypoints, JOINTS)
