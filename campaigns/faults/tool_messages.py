# SPDX-License-Identifier: Apache-2.0
"""Messages to nodes that control a tool. Angular parts come first here; poses are Pinocchio's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.robot import TOOL

Array = NDArray[np.float64]

ROOT = "panda_link0"


def stamped(kind: Any, frame: str, time: int) -> Any:
    """time: ns; 0: none."""
    message = kind()
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(time, 10**9)
    return message


def pose_message(pose: Any, time: int) -> Any:
    from geometry_msgs.msg import PoseStamped

    message = stamped(PoseStamped, ROOT, time)
    place, turned = message.pose.position, message.pose.orientation
    place.x, place.y, place.z = pose.translation.tolist()
    turned.x, turned.y, turned.z, turned.w = _quaternion(pose)
    return message


def twist_message(twist: Array, time: int) -> Any:
    from geometry_msgs.msg import TwistStamped

    message = stamped(TwistStamped, ROOT, time)
    _fill(message.twist.angular, twist[:3])
    _fill(message.twist.linear, twist[3:])
    return message


def wrench_message(wrench: Array, time: int) -> Any:
    from geometry_msgs.msg import WrenchStamped

    message = stamped(WrenchStamped, ROOT, time)
    _fill(message.wrench.torque, wrench[:3])
    _fill(message.wrench.force, wrench[3:])
    return message


def tool_trajectory(poses: Sequence[Any], times: Sequence[int], start: int) -> Any:
    """times: of each pose since the start, ns; start: ns, 0: at once. Without poses: hold."""
    from geometry_msgs.msg import Transform
    from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

    message = stamped(MultiDOFJointTrajectory, ROOT, start)
    message.joint_names = [TOOL]
    for pose, at in zip(poses, times):
        transform = Transform()
        _fill(transform.translation, pose.translation)
        turned = transform.rotation
        turned.x, turned.y, turned.z, turned.w = _quaternion(pose)
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(int(at), 10**9)
        message.points.append(point)
    return message


def _fill(vector: Any, numbers: Array) -> None:
    vector.x, vector.y, vector.z = np.asarray(numbers).tolist()


def _quaternion(pose: Any) -> list[float]:
    from scipy.spatial.transform import Rotation

    found: list[float] = Rotation.from_matrix(pose.rotation).as_quat().tolist()
    return found
