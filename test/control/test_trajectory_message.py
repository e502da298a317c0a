# SPDX-License-Identifier: Apache-2.0
"""Serialised JointTrajectory messages are read as rclpy reads them, and what is garbled is refused in little time."""

from __future__ import annotations

import struct
import time

import numpy as np
import pytest
from helpers.nodes.trajectory_bytes import serialised
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.motion.trajectory_message import decoded

FIELDS = ("positions", "velocities", "accelerations")


@st.composite
def trajectories(draw):
    count = draw(st.integers(1, 4))
    names = draw(st.lists(st.text("abcdefgh_é", min_size=1, max_size=9), min_size=count, max_size=count, unique=True))
    number = st.floats(-1e3, 1e3)
    row = st.lists(number, min_size=count, max_size=count)
    kinds = draw(
        st.lists(st.sampled_from([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)]), min_size=1, max_size=3)
    )
    points, ns = [], 0
    for k in range(draw(st.integers(1, 12))):
        ns += draw(st.integers(1, 3 * 10**9))
        given_too = kinds[k % len(kinds)]
        points.append((ns, draw(row), *(draw(row) if there else () for there in given_too)))
    return names, points, draw(st.integers(0, 10**18)), draw(st.text("xyz", max_size=5))


@settings(deadline=None, max_examples=150)
@given(trajectories(), st.sampled_from("<>"))
def test_what_was_written_is_read(trajectory, order):
    names, points, stamp, frame = trajectory
    read_stamp, waypoints = decoded(serialised(names, points, stamp, frame, order), 1000)
    assert read_stamp == stamp
    assert list(waypoints.joint_names) == names
    np.testing.assert_allclose(waypoints.times, [1e-9 * point[0] for point in points], rtol=1e-15)
    for column, field in enumerate(FIELDS, 1):
        expected = [point[column] if len(point[column]) else [np.nan] * len(names) for point in points]
        np.testing.assert_array_equal(getattr(waypoints, field), expected)


def test_rclpy_writes_what_is_read():
    serialization = pytest.importorskip("rclpy.serialization")
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    rng = np.random.default_rng(0)
    for joints in (1, 2, 7):
        for count in (1, 2, 3, 50):
            message = JointTrajectory(joint_names=[f"joint_{k}" for k in range(joints)])
            message.header.frame_id = "x" * joints
            message.header.stamp.sec = 17
            for k in range(count):
                rows = rng.normal(size=(4, joints)).tolist()
                point = JointTrajectoryPoint(positions=rows[0], time_from_start=Duration(sec=k, nanosec=5))
                if k % 3:
                    point.velocities, point.effort = rows[1], rows[3]
                message.points.append(point)
            stamp, waypoints = decoded(bytes(serialization.serialize_message(message)), 50)
            assert stamp == 17 * 10**9
            np.testing.assert_array_equal(waypoints.positions, [point.positions for point in message.points])
            np.testing.assert_allclose(waypoints.times, np.arange(count) + 5e-9)
            assert np.isnan(waypoints.velocities[::3]).all()
            for k in range(1, count, 3):
                np.testing.assert_array_equal(waypoints.velocities[k], message.points[k].velocities)


def test_no_points_is_no_motion_and_one_may_lack_positions_only_at_time_zero():
    assert decoded(serialised(["a"], []), 1).waypoints is None
    assert np.isnan(decoded(serialised(["a"], [(0, (), (), (1.0,))]), 1).waypoints.positions).all()
    with pytest.raises(TrajectoryError, match="point 0 has 0 positions for 1 joints"):
        decoded(serialised(["a"], [(1, (), (), (1.0,))]), 1)


@settings(deadline=None, max_examples=300)
@given(trajectories(), st.data())
def test_garbled_bytes_are_refused_or_read_but_do_no_harm(trajectory, data):
    raw = bytearray(serialised(*trajectory))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    try:
        decoded(bytes(raw), 1000)
    except TrajectoryError as error:
        assert str(error)


@pytest.mark.parametrize("place", ["names", "points", "positions"])
def test_a_count_that_lies_costs_nothing(place):
    raw = bytearray(serialised(["a"], [(1, (1.0,)), (2, (1.0,))]))
    offset = {"names": 20, "points": 32, "positions": 36}[place]
    assert struct.unpack_from("<I", raw, offset)[0] in (1, 2)
    struct.pack_into("<I", raw, offset, 4_000_000_000)
    with pytest.raises(TrajectoryError, match="count of 4000000000|more than largest"):
        decoded(bytes(raw), 2**40)


def test_more_points_than_allowed_are_refused_before_they_are_read():
    with pytest.raises(TrajectoryError, match="has 3 points: more than largest_trajectory \\(2\\)"):
        decoded(serialised(["a"], [(k, (1.0,)) for k in (1, 2, 3)]), 2)


@pytest.mark.parametrize(
    "names", [["a"], [f"joint_{k}" for k in range(30_000)]], ids=["100,000 points", "30,000 names"]
)
def test_reading_is_linear(names):
    points = [(k, (1.0,)) for k in range(1, 100_001)] if len(names) == 1 else [(1, [0.0] * len(names))] * 2
    raw = serialised(names, points)
    begin = time.process_time()
    try:
        decoded(raw, 10**6)
    except TrajectoryError as error:
        assert "does not come after" in str(error)
    assert time.process_time() - begin < 3.0  # quadratic algorithms take 20
