# SPDX-License-Identifier: Apache-2.0
"""Wishes for a tool that a node has to refuse, made from chance."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.hostile import ABSURD
from campaigns.faults.robot import JOINTS, MIDDLE, oracle
from campaigns.faults.tool_messages import (
    pose_message,
    stamped,
    tool_trajectory,
    twist_message,
    wrench_message,
)

Array = NDArray[np.float64]
NOT_FINITE = ABSURD[:3]


def wish(rng: random.Random) -> tuple[str, str, Any]:
    """Its topic, what is wrong, and the message."""
    topic = rng.choice(sorted(MADE))
    kind, message = MADE[topic](rng)
    return topic, kind, message


def _pose(rng: random.Random) -> tuple[str, Any]:
    message = pose_message(_here(), time.time_ns())
    kind = rng.choice(("not finite", "1e308", "no rotation", "long quaternion", *HEADERS))
    if kind == "not finite":
        message.pose.position.y = rng.choice(NOT_FINITE)
    elif kind == "1e308":
        message.pose.orientation.x = 1e308
    elif kind == "no rotation":
        message.pose.orientation.x = message.pose.orientation.y = 0.0
        message.pose.orientation.z = message.pose.orientation.w = 0.0
    elif kind == "long quaternion":
        message.pose.orientation.w += 2.0
    return kind, _spoiled(message, kind)


def _six(make: Callable[[Array, int], Any], size: float, rng: random.Random) -> tuple[str, Any]:
    """Of a twist or a wrench that would be taken with six numbers of this size."""
    numbers = np.full(6, size)
    kind = rng.choice(("not finite", "large", *HEADERS))
    if kind == "not finite":
        numbers[rng.randrange(6)] = rng.choice(NOT_FINITE)
    elif kind == "large":
        numbers *= rng.choice((1e3, 1e300))
    return kind, _spoiled(make(numbers, time.time_ns()), kind)


def _joint(rng: random.Random) -> tuple[str, Any]:
    from sensor_msgs.msg import JointState

    names, positions = list(JOINTS), MIDDLE.tolist()
    kind = rng.choice(("not finite", "beyond limits", "unknown", "short", "empty", "old"))
    if kind == "not finite":
        positions[rng.randrange(7)] = rng.choice(NOT_FINITE)
    elif kind == "beyond limits":
        positions[3] = 1.0
    elif kind == "unknown":
        names[2] = "other"
    elif kind == "short":
        positions = positions[:3]
    elif kind == "empty":
        names = positions = []
    message = stamped(JointState, "", time.time_ns())
    message.name, message.position = names, positions
    return kind, _spoiled(message, kind)


def _stiffness(rng: random.Random) -> tuple[str, Any]:
    from std_msgs.msg import Float64MultiArray

    matrix = 100.0 * np.eye(6)
    kind = rng.choice(("not finite", "negative", "large", "short", "not symmetric", "100,000 numbers"))
    if kind == "not finite":
        matrix[2, 2] = rng.choice(NOT_FINITE)
    elif kind == "negative":
        matrix[1, 1] = -1.0
    elif kind == "large":
        matrix *= 1e6
    elif kind == "not symmetric":
        matrix[0, 1] = 50.0
    numbers = matrix.reshape(-1).tolist()
    return kind, Float64MultiArray(
        data=numbers[:5] if kind == "short" else numbers * 2778 if kind.startswith("100") else numbers
    )


def _trajectory(rng: random.Random) -> tuple[str, Any]:
    poses, times = [_here()] * 3, [10**9, 2 * 10**9, 3 * 10**9]
    kind = rng.choice(("not finite", "one ns apart", "backwards", "two tools", "no transform", "far away", *HEADERS))
    if kind == "one ns apart":
        times = [1, 2, 3]
    elif kind == "backwards":
        times = [10**9, 5 * 10**8, 2 * 10**9]
    message = tool_trajectory(poses, times, 0 if kind != "old" else time.time_ns())
    moved = message.points[1].transforms[0]
    if kind == "not finite":
        moved.translation.z = rng.choice(NOT_FINITE)
    elif kind in ("one ns apart", "far away"):
        moved.translation.x += 0.5 if kind == "one ns apart" else 1e3
    elif kind == "two tools":
        message.joint_names = ["one", "another"]
    elif kind == "no transform":
        message.points[1].transforms = []
    return kind, _spoiled(message, kind)


HEADERS = ("wrong frame", "old", "huge name")
MADE = {
    "target_pose": _pose, "target_twist": partial(_six, twist_message, 0.01),
    "target_wrench": partial(_six, wrench_message, 0.5), "target_joint": _joint,
    "target_stiffness": _stiffness, "cartesian_trajectory": _trajectory,
}  # fmt: skip


def _here() -> Any:
    return oracle("panda", None).tool(MIDDLE)


def _spoiled(message: Any, kind: str) -> Any:
    """With a header that says so."""
    if kind == "wrong frame":
        message.header.frame_id = "elsewhere"
    elif kind == "old":
        message.header.stamp.sec -= 1000
    elif kind == "huge name":
        message.header.frame_id = "a" * 100_000
    return message
