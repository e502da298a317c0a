# SPDX-License-Identifier: Apache-2.0
"""The whole of a motion is within its limits: extrema against dense samples and closed forms, and what is refused."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from helpers.models.arms import ARM
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import polynomial

from rbd_dynamics.control.motion.extrema import extrema, hull
from rbd_dynamics.control.motion.joint_limits import JointMotionLimits, largest_accelerations
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.planning import JOINING, PlanRequest
from rbd_dynamics.control.motion.trajectory import Point, Trajectory, TrajectoryError, Waypoints
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

START_TOLERANCE = 0.1
SAMPLES = np.linspace(0.0, 1.0, 2001)
number = st.one_of(st.floats(-10.0, 10.0), st.just(0.0), st.sampled_from([1e-9, -1e-9, 1e9]))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(number, min_size=6, max_size=6), min_size=1, max_size=30))
def test_extrema_are_those_of_dense_samples_and_the_hull_encloses_them(coefficients):
    c = np.array(coefficients)
    for order, (where, values) in enumerate(extrema(c)):
        derivatives = polynomial.polyder(c.T, order).reshape(-1, len(c))
        dense = polynomial.polyval(SAMPLES, derivatives)
        size = np.abs(derivatives).sum(axis=0) + 1e-300
        assert ((where >= 0.0) & (where <= 1.0)).all()
        np.testing.assert_array_less(
            np.abs(values - [polynomial.polyval(x, d) for x, d in zip(where, derivatives.T)]) / size[:, None], 1e-12
        )
        for sign in (1.0, -1.0):
            beyond = ((sign * values).max(axis=1) - (sign * dense).max(axis=1)) / size
            assert (beyond >= -1e-12).all()  # none is missed
            assert (beyond <= 1e-5).all()  # and none is invented
        low, high = hull(c[:, :, None], order)
        assert (low[:, 0] <= values.min(axis=1) + 1e-12 * size).all()
        assert (high[:, 0] >= values.max(axis=1) - 1e-12 * size).all()


def test_extrema_of_closed_forms():
    quintic = [0.0, 0.0, 0.0, 10.0, -15.0, 6.0]  # from rest to rest: velocity 15/8, acceleration 10/sqrt(3)
    parabola = [0.0, 1.0, -1.0, 0.0, 0.0, 0.0]
    chebyshev = polynomial.polyfromroots([0.0] * 5) * 0.0 + [-1.0, 50.0, -400.0, 1120.0, -1280.0, 512.0]  # T5(2 s - 1)
    position, velocity, acceleration = extrema(np.array([quintic, parabola, chebyshev]))
    np.testing.assert_allclose(velocity[1][0].max(), 1.875, rtol=1e-14)
    np.testing.assert_allclose(acceleration[1][0].max(), 10.0 / np.sqrt(3.0), rtol=1e-14)
    np.testing.assert_allclose(position[1][1].max(), 0.25, rtol=1e-14)
    np.testing.assert_allclose([position[1][2].min(), position[1][2].max()], [-1.0, 1.0], rtol=1e-12)
    assert len(np.unique(np.round(position[0][2], 9))) == 6  # all of T5's, and the ends
    np.testing.assert_allclose(velocity[1][2].max(), 50.0, rtol=1e-12)


def plan(points, limits, present=None, interpolation="smooth", joints=("a",), elapsed=0.0):
    present = np.zeros((3, len(joints))) if present is None else np.array(present, dtype=float)
    nobody = np.zeros(len(joints), dtype=bool)
    request = PlanRequest(present, elapsed, limits, nobody, interpolation, START_TOLERANCE)
    return request.plan(Waypoints.of(joints, [Point(*point) for point in points]))


@st.composite
def waypoints(draw):
    joints = draw(st.integers(1, 3))
    count = draw(st.integers(1, 8))
    steps = draw(st.lists(st.floats(0.05, 2.0), min_size=count, max_size=count))
    rows = st.lists(st.floats(-1.0, 1.0), min_size=joints, max_size=joints)
    return joints, [(t, draw(rows)) for t in np.cumsum(steps)]


def dense_maxima(trajectory):
    """Of |position|, |velocity| and |acceleration|, from 400 samples of each piece."""
    h = np.diff(trajectory.times)
    for order in range(3):
        derivatives = polynomial.polyder(trajectory.pieces.transpose(1, 0, 2), order)
        values = [polynomial.polyval(np.linspace(0.0, end, 400), derivatives[:, k]) for k, end in enumerate(h)]
        yield np.abs(values).max()


@settings(deadline=None, max_examples=100)
@given(
    waypoints(),
    st.floats(0.5, 20.0),
    st.floats(1.0, 200.0),
    st.floats(0.8, 1.3),
    st.sampled_from(["smooth", "as_given"]),
)
def test_what_is_accepted_is_within_the_limits_everywhere_and_what_is_not_is_beyond_one(
    given_points, velocity, acceleration, reach, interpolation
):
    count, points = given_points
    joints = tuple("abc"[:count])
    limits = MotionLimits.of(joints, lower=-reach, upper=reach, velocity=velocity, acceleration=acceleration)
    bounds = [reach, velocity, acceleration]
    try:
        accepted = plan(points, limits, interpolation=interpolation, joints=joints)
    except TrajectoryError as error:
        unlimited = plan(points, MotionLimits.of(joints), interpolation=interpolation, joints=joints)
        assert (list(dense_maxima(unlimited)) / np.array(bounds)).max() > 0.99 or "jumps" in str(error)
    else:
        assert (list(dense_maxima(accepted)) / np.array(bounds)).max() <= 1.0 + 1e-5
        off = np.array([accepted.sample(time)[0] - position for time, position in points])
        first = np.array([time for time, _ in points]) <= JOINING  # may be left out where the motion goes past them
        assert (np.abs(off) <= np.where(first, START_TOLERANCE, 1e-9)[:, None]).all()


@pytest.mark.parametrize(
    ("points", "velocities", "present", "reason"),
    [  # what the first segment begins with by itself counts, unlike what the robot does already
        ([(0.5, [0.625])], None, [0.0, 0.0, 0.0], "velocity 1.25 of joint 'a' at 0 s is more than its limit of 1"),
        ([(1.0, [0.5]), (2.0, [0.5])], None, [0.0, 0.0, 0.0], "jumps by 0.5 at 0 s"),
        ([(0.5, [0.1])], [0.0], [0.0, 0.0, 0.0], "acceleration 2.4 of joint 'a' at 0 s is more than its limit of 2"),
        ([(1.0, [0.5])], [0.0], [0.0, 1.2, -3.0], ""),
    ],
)
def test_limits_hold_from_the_first_moment_on(points, velocities, present, reason):
    limits = MotionLimits.of(["a"], lower=-1.0, upper=1.0, velocity=1.0, acceleration=2.0 if velocities else 40.0)
    points = [(*point, velocities) for point in points] if velocities else points
    state = np.array(present)[:, None]
    if reason:
        with pytest.raises(TrajectoryError, match=re.escape(reason)):
            plan(points, limits, present=state, interpolation="as_given")
    else:
        assert plan(points, limits, present=state, interpolation="as_given").times.tolist() == [0.0, 1.0]


def test_a_point_of_the_first_moments_is_not_left_out_if_the_motion_does_not_go_past_it():
    points = [(0.125, [0.0]), (0.1875, [1.0]), (1.1875, [0.0])]
    with pytest.raises(TrajectoryError, match="of joint 'a' at .* s is more than its limit"):
        plan(points, MotionLimits.of(["a"], lower=-1.0, upper=1.0, velocity=1.0, acceleration=1.0))
    near = [(0.125, [0.0]), (0.1875, [0.09]), (2.0, [0.0])]
    joined = plan(near, MotionLimits.of(["a"], lower=-1.0, upper=1.0, velocity=1.0, acceleration=1.0))
    assert joined.times.tolist() == [0.0, 2.0]
    far = [(0.125, [0.0]), (0.1875, [0.11]), (2.0, [0.0])]
    with pytest.raises(TrajectoryError, match="of joint 'a' at .* s is more than its limit"):
        plan(far, MotionLimits.of(["a"], lower=-1.0, upper=1.0, velocity=1.0, acceleration=1.0))


@pytest.mark.parametrize(
    ("points", "interpolation", "reason"),
    [
        ([(1.0, [1.0])], "smooth", "velocity 1.875 of joint 'a' at 0.5 s is more than its limit of 1.8"),
        ([(2.0, [0.95]), (4.0, [0.95]), (6.0, [0.0])], "smooth", "position 1.1\\d+ of joint 'a' at .* -1 to 1"),
        ([(1.0, [0.1]), (1.000000001, [0.2]), (2.0, [0.0])], "smooth", "of joint 'a' at"),
        ([(1.0, [0.1]), (1.000000001, [0.2]), (2.0, [0.0])], "as_given", "velocity 1e\\+08 of joint 'a' at 1 s"),
        ([(1.0, [0.5]), (2.0, [0.0])], "as_given", "the velocity of joint 'a' jumps by 1 at 1 s"),
        ([(1.0, [0.1], [1e6]), (2.0, [0.0])], "smooth", "point 0: velocity 1e\\+06 of joint 'a' at 1 s"),
        ([(1.0, [0.1], [0.0], [1e308]), (2.0, [0.0])], "smooth", "point 0: acceleration 1e\\+308 of joint 'a' at 1 s"),
        ([(1.0, [0.1]), (2e9, [0.0])], "smooth", "point 1: time_from_start of 2e\\+09 s"),
        ([(1.0, [0.1], [0.5])], "smooth", "last point has velocity 0.5 of joint 'a'"),
        ([(1.0, [2.0])], "smooth", "point 0: position 2 of joint 'a' at 1 s is outside its limits -1 to 1"),
    ],
)
def test_what_is_refused_is_named_with_joint_time_and_number(points, interpolation, reason):
    limits = MotionLimits.of(["a"], lower=-1.0, upper=1.0, velocity=1.8, acceleration=50.0)
    with pytest.raises(TrajectoryError, match=reason):
        plan(points, limits, interpolation=interpolation)


@pytest.mark.parametrize("what", range(3))
@pytest.mark.parametrize("number", [1e10, 1e200, 1.7e308])
def test_without_limits_numbers_that_are_mistakes_are_refused_all_the_same(what, number):
    rows = [[0.0], [0.0], [0.0]]
    rows[what] = [number]
    with pytest.raises(TrajectoryError, match="joint 'a' at 1 s"):
        plan([(1.0, *rows), (2.0, [0.0])], MotionLimits.of(["a"]))


def test_a_robot_beyond_a_limit_may_come_back_but_not_go_farther():
    limits = MotionLimits.of(["a"], lower=-1.0, upper=1.0)
    present = [[1.05], [0.0], [0.0]]
    plan([(1.0, [0.9])], limits, present)
    with pytest.raises(TrajectoryError, match="outside"):
        plan([(1.0, [1.04])], limits, present)
    with pytest.raises(TrajectoryError, match="outside"):
        plan([(1.0, [0.9])], limits, [[1.05], [0.5], [0.0]])


def test_points_right_after_the_start_give_way_where_the_robot_is_not_exactly_there():
    limits = MotionLimits.of(["a"], velocity=2.0, acceleration=20.0)
    times = np.arange(1, 2001) * 1e-3
    s = times / 2.0
    positions = 0.03 + 10 * s**3 - 15 * s**4 + 6 * s**5  # dense, and 0.03 away at its start
    trajectory = plan([(t, [p]) for t, p in zip(times, positions)], limits)
    assert trajectory.sample(0.0)[0] == 0.0
    np.testing.assert_allclose(trajectory.sample(1.0)[0], positions[999], atol=1e-9)


def time_to_plan(count):
    """Processor time for that many points of seven joints, s."""
    times = np.arange(1, count + 1) * 1e-3
    s = times / times[-1]
    positions = 0.5 * np.sin(6e-4 * count * (10 * s**3 - 15 * s**4 + 6 * s**5))[:, None] * np.ones(7)
    joints = tuple("abcdefg")
    nothing = np.full_like(positions, np.nan)
    given_points = Waypoints(joints, times, positions, nothing, nothing).checked()
    limits = MotionLimits.of(joints, velocity=3.0, acceleration=100.0)
    request = PlanRequest(np.zeros((3, 7)), 0.0, limits, np.zeros(7, dtype=bool), "smooth", 0.1)
    begin = time.process_time()
    assert isinstance(request.plan(given_points), Trajectory)
    return time.process_time() - begin


def test_checking_is_linear_in_the_number_of_points():
    few, many = (min(time_to_plan(count) for _ in range(2)) for count in (5_000, 50_000))
    assert many < 50.0 * few  # ten times as long, were it not for the caches; a hundred times if it were quadratic


def test_accelerations_are_those_that_the_motors_can_give():
    robot = Robot(load_urdf(ARM))
    q = np.array([0.3, 0.2, 0.1])
    effort = np.array([joint.limits.effort for joint in robot.model.joints])
    most = largest_accelerations(robot, q, effort)
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T * effort
    reached = np.abs([np.linalg.solve(robot.mass_matrix(q), tau) for tau in corners]).max(axis=0)
    np.testing.assert_allclose(most, reached)
    assert np.isinf(largest_accelerations(robot, q, np.full(3, np.inf))).all()
    names = list(robot.model.joint_names)
    limits = JointMotionLimits(robot, names, names)
    np.testing.assert_allclose(limits.at(q, 0).acceleration, 2.0 * most)
    np.testing.assert_allclose(limits.at(q, 0).velocity, [3.0, 3.0, 1.0])
    assert limits.tune(acceleration=[5.0], velocity=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(limits.at(q, 0).acceleration, 5.0)
    np.testing.assert_allclose(limits.at(q, 0).velocity, [np.inf, 1.0, 2.0])
    with pytest.raises(ValueError, match="acceleration_limits has 2 values for 3 joints"):
        limits.tune(acceleration=[1.0, 2.0])


def test_the_same_limits_are_none_that_are_narrower():
    """Else whatever runs would end with each description that comes again."""
    joints = ("a", "b")
    some = MotionLimits.of(joints, lower=[-1.0] * 2, upper=[1.0] * 2, velocity=[2.0] * 2, acceleration=[3.0] * 2)
    assert not some.narrower_than(some)
    for name, value in (("lower", -0.9), ("upper", 0.9), ("velocity", 1.9), ("acceleration", 2.9)):
        given = {key: getattr(some, key).copy() for key in ("lower", "upper", "velocity", "acceleration")}
        given[name][1] = value
        other = MotionLimits.of(joints, **given)
        assert other.narrower_than(some) and not some.narrower_than(other)
