# SPDX-License-Identifier: Apache-2.0
"""ROS messages in the library's terms, and shared choices about topics."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from rclpy.qos import QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.trajectory import Point

SECOND = 1_000_000_000  # ns

#: sensor data: best effort; a tenth of a second of 1 kHz, so that nothing is lost while the processor is busy elsewhere
JOINT_STATES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


def nanoseconds(time: Time | Duration) -> int:
    return time.sec * SECOND + time.nanosec


def points_of(message: JointTrajectory) -> list[Point]:
    return [
        Point(1e-9 * nanoseconds(point.time_from_start), point.positions, point.velocities, point.accelerations)
        for point in message.points
    ]
