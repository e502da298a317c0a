# SPDX-License-Identifier: Apache-2.0
"""Trajectories checked and retimed over real DDS: the library's numbers, refusals by name, nobody kept waiting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import needs_ros, wait_until

from rbd_dynamics.control.motion.trajectory import Waypoints
from rbd_dynamics.trajectories import Limits, Path, check, retime

pytestmark = needs_ros
CORNERS = np.array([[0.0, 0.0, 0.0], [0.6, -1.0, 0.1], [1.2, 0.3, 0.05], [0.2, 1.5, -0.05]])
ACCELERATION = [6.0, 8.0, 2.0]


@pytest.fixture(scope="module")
def server(ros):
    with ros.start("dynamics_server", {"robot_description": ARM}) as node:
        node.is_active()
        yield node


@pytest.fixture(scope="module")
def services(ros, server):
    from rbd_dynamics_interfaces import srv

    kinds = {"check_trajectory": srv.CheckTrajectory, "retime_trajectory": srv.RetimeTrajectory}
    calls = {name: ros.client(kind, f"dynamics_server/{name}") for name, kind in kinds.items()}
    return {name: (kinds[name], call) for name, call in calls.items()}


@pytest.fixture
def call(services):
    def call(service, positions=CORNERS, times=None, names=JOINTS, **fields):
        kind, send = services[service]
        return send(kind.Request(trajectory=message(positions, times, names), **fields))

    return call


def message(positions, times=None, names=JOINTS, velocities=None):
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    trajectory = JointTrajectory(joint_names=list(names))
    for k, row in enumerate(positions):
        point = JointTrajectoryPoint(positions=[float(each) for each in row])
        if velocities is not None:
            point.velocities = [float(each) for each in velocities[k]]
        if times is not None:
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(1e9 * times[k]), 10**9)
        trajectory.points.append(point)
    return trajectory


def test_a_retimed_trajectory_is_the_librarys_and_passes_the_check(call, robot, services):
    answer = call("retime_trajectory", acceleration_limits=ACCELERATION, points=300)
    assert answer.success, answer.message
    limits = Limits.of(robot, JOINTS, acceleration=ACCELERATION)
    found = retime(robot, Path(CORNERS, JOINTS), limits, points=300)
    assert answer.duration == pytest.approx(found.duration, rel=1e-12)
    points = answer.trajectory.points
    assert len(points) == len(found.s) and list(answer.trajectory.joint_names) == JOINTS
    for what in ("positions", "velocities", "accelerations"):
        np.testing.assert_allclose([getattr(each, what) for each in points], getattr(found.waypoints, what), atol=1e-12)
    np.testing.assert_allclose([each.effort for each in points], found.efforts, atol=1e-9)
    assert answer.margins[0].margin / answer.margins[0].limit < 1e-3
    assert all(math.isnan(margin.passed_at) for margin in answer.margins)
    kind, send = services["check_trajectory"]
    checked = send(kind.Request(trajectory=answer.trajectory, acceleration_limits=ACCELERATION))
    assert checked.success and checked.within_limits, checked.message
    other_order = {"joint_names": JOINTS[::-1], "acceleration_limits": ACCELERATION[::-1], "points": 300}
    assert call("retime_trajectory", **other_order).duration == answer.duration
    slower = call("retime_trajectory", acceleration_limits=ACCELERATION, tool_frames=["hand"], tool_speed_limits=[0.3])
    assert slower.success and slower.duration > 1.2 * answer.duration


def test_a_check_names_what_is_passed_and_where(call, robot, services):
    times = [0.0, 0.4, 0.9, 1.6]
    velocities = np.zeros((4, 3))
    kind, send = services["check_trajectory"]
    request = kind.Request(trajectory=message(CORNERS, times, velocities=velocities), acceleration_limits=ACCELERATION)
    answer = send(request)
    assert answer.success and not answer.within_limits
    waypoints = Waypoints(tuple(JOINTS), np.array(times), CORNERS, velocities, np.full((4, 3), np.nan))
    report = check(robot, waypoints, Limits.of(robot, JOINTS, acceleration=ACCELERATION))
    assert [(each.quantity, each.joint) for each in answer.margins] == [(m.quantity, m.joint) for m in report.margins]
    for name in ("time", "value", "limit", "margin", "passed_at"):
        np.testing.assert_allclose(
            [getattr(each, name) for each in answer.margins], [getattr(m, name) for m in report.margins], rtol=1e-6
        )
    assert str(report) == answer.message and report.margins[0].passed


def test_other_requests_are_answered_while_a_long_one_is_computed(ros, services):
    """A retiming of 20,000 points takes a second, and the mass matrix at once."""
    from rbd_dynamics_interfaces import srv

    quick = ros.client(srv.DynamicsTerms, "dynamics_server/dynamics_terms")
    client = ros.node.create_client(srv.RetimeTrajectory, "dynamics_server/retime_trajectory")
    assert client.wait_for_service(30.0)
    order = []
    long = client.call_async(
        srv.RetimeTrajectory.Request(trajectory=message(CORNERS), acceleration_limits=ACCELERATION, points=20_000)
    )
    long.add_done_callback(lambda _: order.append("long"))
    while not long.done() and order.count("quick") < 3:
        assert quick(positions=[0.1, 0.2, 0.0]).success
        order.append("quick")
    wait_until(long.done, "the long answer")
    assert long.result().success and len(long.result().trajectory.points) > 19_000
    assert order[:3] == ["quick"] * 3
    ros.destroy(lambda: ros.node.destroy_client(client))


@pytest.mark.parametrize(("service", "fields", "culprit"), [
    ("retime_trajectory", {"positions": CORNERS[:1]}, "two points or more"),
    ("retime_trajectory", {"positions": CORNERS[[0, 0]]}, "does not move"),
    ("retime_trajectory", {"names": ["shoulder", "elbow", "wrist"]}, "wrist"),
    ("retime_trajectory", {"names": ["shoulder"], "positions": CORNERS[:, :1]}, "joint 'elbow' is neither"),
    ("retime_trajectory", {"velocity_limits": [1.0]}, "velocity_limits has 1 numbers for 3 joints"),
    ("retime_trajectory", {"tool_frames": ["hand"]}, "tool_frames names 1 frames for 0"),
    ("check_trajectory", {"times": [0.0, 1.0, 2.0, 3.0], "tool_frames": ["hand"] * 2, "tool_speed_limits": [1.0, 9.0]},
     "tool_frames names frame 'hand' twice"),
    ("retime_trajectory", {"joint_names": ["elbow", "shoulder"]}, "joint_names: joint 'slide' is named 0 times"),
    ("retime_trajectory", {"joint_names": ["hip"]}, "joint_names: joint 'hip' is not in the trajectory"),
    ("retime_trajectory", {"points": 20_001}, "'most_trajectory_points'"),
    ("retime_trajectory", {"effort_limits": [3.0, 3.0, 3.0]}, "joint 'shoulder' needs"),
    ("retime_trajectory", {"path_tolerance": -1.0}, "tolerance -1"),
    ("retime_trajectory", {"terms": ["magic"]}, "magic"),
    ("check_trajectory", {"times": [0.0, 1.0, 1.0, 2.0]}, "point 2"),
    ("check_trajectory", {"positions": CORNERS * math.nan, "times": [0.0, 1.0, 2.0, 3.0]}, "point 0"),
    ("check_trajectory", {"times": [0.0, 1.0, 2.0, 3.0], "power_limits": [-1.0] * 3}, "power limit of joint"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(call, service, fields, culprit):
    answer = call(service, **fields)
    assert not answer.success and culprit in answer.message
    assert not answer.margins


def test_a_request_that_is_too_large_is_refused_before_it_is_read(ros, call):
    ros.set_parameters("dynamics_server", most_trajectory_points=100)
    try:
        assert "'most_trajectory_points'" in call("retime_trajectory", np.tile(CORNERS, (30, 1))).message
        answer = call("retime_trajectory", np.tile(CORNERS, (2000, 1)))
        assert not answer.success and "bytes, more than parameter 'most_trajectory_points' allows" in answer.message
    finally:
        ros.set_parameters("dynamics_server", most_trajectory_points=20_000)
