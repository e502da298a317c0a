# SPDX-License-Identifier: Apache-2.0
"""Requests and responses of `fill_trajectory_efforts` as bytes: rclpy writes what is read, reads what is written."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import needs_ros

import rbd_dynamics as rbd
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.model.urdf import load_urdf

pytestmark = needs_ros
TERMS = ["inertia", "gravity"]


@pytest.fixture(scope="module")
def robot():
    return rbd.Robot(load_urdf(ARM))


@pytest.fixture(scope="module")
def engine(robot):
    prefix = SimpleNamespace(inside=lambda name: name, outside=lambda name: name)
    return SimpleNamespace(frictionless=robot, reader=None, prefix=prefix, terms=("gravity",))


def request_of(count, joints=3, *, frame="", seed=0, given=("positions",), **others):
    """Of so many points and joints: the message, and times in ns."""
    from trajectory_msgs.msg import JointTrajectoryPoint

    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

    rng = np.random.default_rng(seed)
    request = FillTrajectoryEfforts.Request(**others)
    request.trajectory.header.frame_id = frame
    request.trajectory.header.stamp.sec, request.trajectory.header.stamp.nanosec = -3, 999_999_999
    request.trajectory.joint_names = list(JOINTS[:joints])
    for time in np.cumsum(rng.integers(1, 2 * 10**9, count)):
        point = JointTrajectoryPoint(**{what: rng.uniform(-0.4, 0.4, joints).tolist() for what in given})
        point.time_from_start.sec, point.time_from_start.nanosec = map(int, divmod(time, 10**9))
        request.trajectory.points.append(point)
    request.other_joints.name = list(JOINTS[joints:])
    request.other_joints.position = [0.1] * (3 - joints)
    return request


@pytest.mark.parametrize("joints", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 50])
@pytest.mark.parametrize("frame", ["", "a", "base", "base_link"])  # moves all that follows by some bytes
@pytest.mark.parametrize(
    "given", [("positions",), ("positions", "velocities"), ("positions", "accelerations", "effort")]
)
def test_a_response_has_the_request_and_the_efforts(robot, engine, joints, count, frame, given):
    from geometry_msgs.msg import WrenchStamped
    from rclpy.serialization import deserialize_message, serialize_message

    from rbd_dynamics.nodes.server.fill_trajectory import FillRequest
    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

    pressed = WrenchStamped()
    pressed.header.frame_id = robot.model.joint_names[-1]
    pressed.wrench.force.z, pressed.wrench.torque.x = 3.25, -0.5
    request = request_of(count, joints, frame=frame, given=given, terms=TERMS, external_wrenches=[pressed])
    work = FillRequest(serialize_message(request), count).begin(engine)
    raw = work()
    response = deserialize_message(raw, FillTrajectoryEfforts.Response)
    assert len(raw) == len(serialize_message(response))
    assert response.success and response.message == ""
    assert response.trajectory.header == request.trajectory.header
    assert response.trajectory.joint_names == request.trajectory.joint_names
    assert len(response.trajectory.points) == count
    for point, sent in zip(response.trajectory.points, request.trajectory.points):
        assert point.time_from_start == sent.time_from_start
        for what in given[: 2 if "effort" in given else None]:
            assert getattr(point, what) == getattr(sent, what)
        q, v, a = np.full(3, 0.1), np.zeros(3), np.zeros(3)
        q[:joints], v[:joints], a[:joints] = point.positions, point.velocities, point.accelerations
        f_ext = {pressed.header.frame_id: [-0.5, 0.0, 0.0, 0.0, 0.0, 3.25]}
        expected = robot.inverse_dynamics(q, v, a, f_ext=f_ext) - robot.coriolis(q, v) - robot.spring_torque(q)
        np.testing.assert_allclose(point.effort, expected[:joints], rtol=1e-10, atol=1e-10)


def test_terms_of_the_node_count_where_none_are_named(robot, engine):
    from rclpy.serialization import deserialize_message, serialize_message

    from rbd_dynamics.nodes.server.fill_trajectory import FillRequest
    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

    raw = FillRequest(serialize_message(request_of(2)), 2).begin(engine)()
    for point in deserialize_message(raw, FillTrajectoryEfforts.Response).trajectory.points:
        np.testing.assert_allclose(point.effort, robot.gravity(np.array(point.positions)), rtol=1e-12, atol=1e-12)


def test_it_is_answered_at_once_where_there_are_no_threads(engine):
    """With a ROS whose requests cannot be taken aside: by the executor, from message to message."""
    from rclpy.serialization import deserialize_message, serialize_message

    from rbd_dynamics.nodes.server.fill_trajectory import FillRequest
    from rbd_dynamics.nodes.wire.slow_services import at_once
    from rbd_dynamics_interfaces.srv import FillTrajectoryEfforts

    request, response = request_of(4), FillTrajectoryEfforts.Response()
    found = at_once(lambda filling: filling.begin(engine), lambda raw: FillRequest(raw, 4))(request, response)
    raw = FillRequest(serialize_message(request), 4).begin(engine)()
    assert type(found) is FillTrajectoryEfforts.Response and found.success
    assert found == deserialize_message(raw, FillTrajectoryEfforts.Response)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (lambda: request_of(0), "no points"),
        (lambda: request_of(5), "5 points, more than 4, which parameter 'most_trajectory_points'"),
        (lambda: request_of(3, given=("velocities",)), "point 0 has 0 positions for 3 joints"),
    ],
)
def test_what_cannot_be_filled_is_refused(request_, reason):
    from rclpy.serialization import serialize_message

    from rbd_dynamics.nodes.server.fill_trajectory import FillRequest

    with pytest.raises(TrajectoryError, match=reason):
        FillRequest(serialize_message(request_()), 4)


@pytest.mark.parametrize("seed", range(30))
def test_bytes_that_are_cut_off_or_damaged_end_with_an_error_or_another_request(engine, seed):
    """Whatever the middleware hands over: nothing but errors that are answered."""
    from rclpy.serialization import serialize_message

    from rbd_dynamics.nodes.server.fill_trajectory import FillRequest

    rng = np.random.default_rng(seed)
    raw = serialize_message(request_of(5, terms=TERMS))
    for _ in range(100):
        data = bytearray(raw[: rng.integers(5, len(raw) + 1)])
        for _ in range(rng.integers(0, 4)):
            data[rng.integers(4, len(data))] = rng.integers(256)
        try:
            FillRequest(bytes(data), 100).begin(engine)()
        except (ValueError, KeyError, ArithmeticError, struct.error, RuntimeError, MemoryError):
            continue
