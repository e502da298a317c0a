# SPDX-License-Identifier: Apache-2.0
"""Trajectories made ready for a controller: the same motion, within the limits, with the efforts of Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS

from rbd_dynamics.control.motion.trajectory import Point, Trajectory, TrajectoryError, Waypoints
from rbd_dynamics.model.builder import ModelBuilder
from rbd_dynamics.model.joints import Continuous
from rbd_dynamics.model.model import Limits as JointLimits
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot
from rbd_dynamics.trajectories.prepared import (
    Preparation,
    TrajectoryPreparer,
    slower,
    with_points_between,
)

REST = [0.0, 0.0, 0.0]
WAY = Waypoints.of(JOINTS, [Point(0.0, REST), Point(0.7, [0.4, -0.3, 0.05]), Point(1.3, [0.8, 0.5, 0.1])])


@pytest.fixture(scope="module")
def robot():
    return Robot(load_urdf(ARM))


def preparer(robot, names=JOINTS, **options):
    return TrajectoryPreparer(robot, names, names, np.zeros(3), Preparation(**options))


def test_efforts_are_those_of_pinocchio(robot):
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromXML(ARM)
    data = model.createData()
    found = preparer(robot, longest_interval=0.05).prepare(WAY)
    points = found.waypoints
    assert points.times[0] == 0.0 and points.times[-1] == 1.3
    for q, v, a, tau in zip(points.positions, points.velocities, points.accelerations, found.efforts):
        place = pinocchio.neutral(model)
        for name, value in zip(JOINTS, q):
            joint = model.joints[model.getJointId(name)]
            if joint.nq == 2:
                place[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
            else:
                place[joint.idx_q] = value
        np.testing.assert_allclose(tau, pinocchio.rnea(model, data, place, v, a), rtol=1e-10, atol=1e-10)


def test_points_between_are_on_the_same_motion():
    complete = WAY.completed()
    dense, places = with_points_between(complete, 0.02)
    motion = Trajectory(complete)
    assert np.diff(dense.times).max() <= 0.02 + 1e-12
    for t, q, v, a in zip(dense.times[:-1], dense.positions, dense.velocities, dense.accelerations):
        np.testing.assert_allclose([q, v, a], motion.sample(t), rtol=1e-10, atol=1e-10)
    assert set(WAY.times) <= set(dense.times)
    for k, t in enumerate(WAY.times):
        assert places[np.searchsorted(dense.times, t)] == k
    assert (np.diff(places) >= 0).all()
    assert with_points_between(complete, 0.0)[0] is complete


def test_slower_is_the_same_path_with_lower_rates():
    complete = WAY.completed()
    fast, slow = Trajectory(complete), Trajectory(slower(complete, 2.0))
    for t in np.linspace(0.0, 1.29, 14):
        (q, v, a), (other, rate, change) = fast.sample(t), slow.sample(2.0 * t)
        np.testing.assert_allclose([other, rate, change], [q, v / 2.0, a / 4.0], rtol=1e-10, atol=1e-12)


def test_what_leaves_the_limits_is_refused_with_joint_time_and_number(robot):
    for options, reason in (
        ({"velocity_limits": [0.5]}, "velocity .* of joint 'shoulder' at .* s is more than its limit of 0.5"),
        ({"acceleration_limits": [1.0]}, "acceleration .* of joint .* is more than its limit of 1"),
        ({"effort_limits": [80.0, 4.0, 30.0]}, "effort .* of joint 'elbow' at .* s is more than its limit of 4"),
    ):
        with pytest.raises(TrajectoryError, match=reason):
            preparer(robot, **options).prepare(WAY)


@pytest.mark.parametrize(
    "options",
    [{"velocity_limits": [0.5]}, {"acceleration_limits": [1.0]}, {"effort_limits": [15.0, 40.0, 30.0]}],
    ids=["velocity", "acceleration", "effort"],
)
def test_slowing_down_takes_the_least_that_is_needed(robot, options):
    one = preparer(robot, retime="slower", **options)
    found = one.prepare(WAY)
    assert 1.0 < found.slowdown < 10.0
    np.testing.assert_allclose(found.waypoints.times, WAY.times * found.slowdown)
    one.check(found.waypoints)
    with pytest.raises(TrajectoryError):
        one.check(slower(WAY.completed(), found.slowdown / 1.01))
    assert preparer(robot, retime="slower").prepare(WAY).slowdown == 1.0


@pytest.mark.parametrize(
    "options",
    [{"velocity_limits": [0.5]}, {"acceleration_limits": [1.0]}, {"effort_limits": [15.0, 40.0, 30.0]}],
    ids=["velocity", "acceleration", "effort"],
)
def test_timed_anew_it_passes_its_points_sooner_than_slowed_down(robot, options):
    way = Waypoints.of(JOINTS, [*map(Point, WAY.times[:2], WAY.positions[:2]), Point(1.0, WAY.positions[1]),
                                Point(1.3, WAY.positions[2])])  # fmt: skip
    one = preparer(robot, retime="fastest", **options)
    found = one.prepare(way)
    points = found.waypoints
    one.check(points)
    assert 1.0 <= found.slowdown < preparer(robot, retime="slower", **options).prepare(WAY).slowdown
    np.testing.assert_allclose(points.times[-1], 1.3 * found.slowdown)
    np.testing.assert_allclose(points.positions[[0, -1]], WAY.positions[[0, -1]], atol=1e-12)
    assert np.abs(points.velocities[[0, -1]]).max() == 0.0
    assert np.abs(points.positions - WAY.positions[1]).max(axis=1).min() < 1e-8
    assert (np.diff(found.places) >= 0).all()
    assert (found.places[0], found.places[-1]) == (0, 3)
    last = np.flatnonzero(found.places == 1)[-1]  # it goes to the point until it is there
    np.testing.assert_allclose(points.positions[last], WAY.positions[1], atol=1e-8)
    same = preparer(robot, retime="fastest").prepare(WAY)  # within the limits it stays what it is
    assert same.slowdown == 1.0 and same.waypoints.times.tolist() == WAY.times.tolist()


def test_what_cannot_be_timed_anew_is_refused_with_both_reasons(robot):
    moving = Waypoints.of(JOINTS, [Point(0.0, REST, [1.0, 0.0, 0.0]), Point(1.0, [0.8, 0.5, 0.1], REST)])
    for way, reason, options in (
        (moving, "velocity .* only if it began and ended at rest", {"velocity_limits": [0.5]}),
        (WAY, "velocity .* timed anew: it takes .* s, more than the 1.95 s", {"velocity_limits": [0.2]}),
        (WAY, "effort .* timed anew: .*elbow", {"effort_limits": [80.0, 0.5, 30.0]}),
    ):
        with pytest.raises(TrajectoryError, match=reason):
            preparer(robot, retime="fastest", most_slowdown=1.5, **options).prepare(way)


def test_what_no_slowing_down_mends_is_refused(robot):
    with pytest.raises(TrajectoryError, match="3 times as slow: effort .* of joint 'elbow'"):
        preparer(robot, retime="slower", most_slowdown=3.0, effort_limits=[80.0, 0.5, 30.0]).prepare(WAY)


def test_friction_counts_for_the_limits_whatever_is_filled_in():
    weightless, slow = Robot(load_urdf(ARM, gravity=(0.0, 0.0, 0.0))), slower(WAY.completed(), 20.0)
    efforts = preparer(weightless, terms=["inertia", "coriolis"]).prepare(slow).efforts
    assert np.abs(efforts[:, 0]).max() < 0.3  # the shoulder's Coulomb friction is 0.6
    with pytest.raises(TrajectoryError, match="effort .* of joint 'shoulder' .* is more than its limit of 0.5"):
        preparer(weightless, terms=["inertia", "coriolis"], effort_limits=[0.5, 40.0, 30.0]).prepare(slow)


def test_endless_trajectories_are_refused(robot):
    way = Waypoints.of(JOINTS, [Point(0.0, REST), Point(1e6, [0.1, 0.0, 0.0])])
    with pytest.raises(TrajectoryError, match="too long to look at all of it"):
        preparer(robot).prepare(way)


def test_angles_that_wrap_are_unwound_and_a_turn_that_was_meant_is_not():
    builder = ModelBuilder("wheel")
    builder.add_body(
        "wheel",
        None,
        Continuous((0.0, 0.0, 1.0)),
        mass=1.0,
        inertia=np.eye(3),
        limits=JointLimits(velocity=4.0, effort=10.0),
    )
    wheel = Robot(builder.build())
    name = wheel.model.joint_names[0]
    prepare = TrajectoryPreparer(wheel, [name], [name], np.zeros(1), Preparation(longest_interval=0.01)).prepare

    def way(times, positions):
        nothing = np.full((len(times), 1), np.nan)
        return Waypoints((name,), np.array(times), np.array(positions)[:, None], nothing, nothing)

    wrapped = prepare(way([0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 4.0 - 2.0 * np.pi, 5.0 - 2.0 * np.pi])).waypoints
    plain = prepare(way([0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 4.0, 5.0])).waypoints
    np.testing.assert_allclose(wrapped.positions, plain.positions, atol=1e-12)
    turned = prepare(way([0.0, 20.0], [0.0, 6.0 * np.pi])).waypoints
    assert turned.positions[-1, 0] == pytest.approx(6.0 * np.pi)
