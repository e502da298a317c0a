# SPDX-License-Identifier: Apache-2.0
"""Poses, twists, wrenches and stiffness of a tool: from messages, and to them. Angular parts come first here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from numpy.typing import NDArray
from std_msgs.msg import Float64MultiArray

from rbd_dynamics.control.cartesian.gains import stiffness_matrix
from rbd_dynamics.nodes.managed.messages import SECOND, finite_numbers, pose_matrix
from rbd_dynamics.spatial import quaternion_from_rotation

Array = NDArray[np.float64]
#: where x, y, z, rx, ry, rz of messages are in six numbers with the angular part first
ORDER = np.array([3, 4, 5, 0, 1, 2])


def pose_of(message: PoseStamped, frames: Sequence[str]) -> Array:
    """(4, 4). Raises ValueError for another frame, numbers that are not finite, or no rotation."""
    _check_frame(message, "target pose", frames)
    return pose_matrix(message.pose, "target pose")


def twist_of(message: TwistStamped, frames: Sequence[str], tools: Sequence[str]) -> tuple[Array, bool]:
    """(w, v), and whether it is in the tool's axes. Raises ValueError."""
    own = _check_frame(message, "target twist", frames, tools)
    w, v = message.twist.angular, message.twist.linear
    return finite_numbers("target twist", [w.x, w.y, w.z, v.x, v.y, v.z]), own


def wrench_of(
    message: WrenchStamped, frames: Sequence[str], tools: Sequence[str], *, force: float, moment: float
) -> Array:
    """(m, f) in root axes, then (m, f) in the tool's, one of them zero (12).

    Raises ValueError, also where force or moment is more than that.
    """
    own = _check_frame(message, "target wrench", frames, tools)
    f, m = message.wrench.force, message.wrench.torque
    numbers = finite_numbers("target wrench", [m.x, m.y, m.z, f.x, f.y, f.z])
    for what, part, most, unit in (
        ("force", numbers[3:], force, "N"), ("moment", numbers[:3], moment, "N m")
    ):  # fmt: skip
        size = float(np.linalg.norm(part))
        if size > most:
            raise ValueError(
                f"target wrench refused: its {what} is {size:.3g} {unit}, more than largest_{what} ({most:g})"
            )
    return np.concatenate([np.zeros(6), numbers] if own else [numbers, np.zeros(6)])


def stiffness_of(message: Float64MultiArray, largest: Sequence[float]) -> Array:
    """(6, 6). Raises ValueError for what is no stiffness, and where it is more than the largest (N/m, N m/rad)."""
    given = np.array(message.data, dtype=float)
    if given.size not in (6, 36):
        raise ValueError(f"target stiffness has {given.size} numbers: expected 6 (x, y, z, rx, ry, rz) or 36")
    matrix = np.diag(given) if given.size == 6 else given.reshape(6, 6)
    K = np.zeros((6, 6))
    K[np.ix_(ORDER, ORDER)] = matrix
    K = stiffness_matrix(K)
    for part, most, what in ((K[3:, 3:], largest[0], "translations"), (K[:3, :3], largest[1], "rotations")):
        size = float(np.linalg.eigvalsh(part)[-1])
        if size > most:
            raise ValueError(f"target stiffness refused: {size:.4g} of {what}, more than largest_stiffness ({most:g})")
    return K


def stamped(kind: Any, frame: str, time: int) -> Any:
    """A message with a header; time in ns."""
    message = kind()
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(time, SECOND)
    return message


def pose_message(pose: Array, frame: str, time: int) -> PoseStamped:
    """pose (12): rotation matrix and place."""
    message = stamped(PoseStamped, frame, time)
    p, q = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = pose[9:].tolist()
    q.x, q.y, q.z, q.w = quaternion_from_rotation(pose[:9].reshape(3, 3)).tolist()
    return message


def arrow(point: Array, direction: Array, frame: str, time: int) -> PoseStamped:
    """A place (3) whose x axis is along a direction (3) of unit length: viewers draw poses as arrows along x."""
    message = stamped(PoseStamped, frame, time)
    x, y, z = direction.tolist()
    p, q = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = point.tolist()
    across, half = math.hypot(y, z), 0.5 * math.atan2(math.hypot(y, z), x)
    axis = (-z / across, y / across) if across else (0.0, 1.0)  # about z where it is any
    q.y, q.z, q.w = math.sin(half) * axis[0], math.sin(half) * axis[1], math.cos(half)
    q.x = 0.0
    return message


def twist_message(twist: Array, frame: str, time: int) -> TwistStamped:
    """twist (6)."""
    message = stamped(TwistStamped, frame, time)
    w, v = message.twist.angular, message.twist.linear
    w.x, w.y, w.z, v.x, v.y, v.z = twist.tolist()
    return message


def wrench_message(wrench: Array, frame: str, time: int) -> WrenchStamped:
    """wrench (6)."""
    message = stamped(WrenchStamped, frame, time)
    m, f = message.wrench.torque, message.wrench.force
    m.x, m.y, m.z, f.x, f.y, f.z = wrench.tolist()
    return message


def _check_frame(message: Any, what: str, frames: Sequence[str], tools: Sequence[str] = ()) -> bool:
    """Is it in the tool's axes? Raises ValueError for a frame that is neither."""
    name = message.header.frame_id
    if name in tools:
        return True
    if name and name not in frames:
        other = f" or {tools[0]!r}" if tools else ""
        raise ValueError(f"{what} refused: it is in frame {name!r}, expected {frames[0]!r}{other}")
    return False
