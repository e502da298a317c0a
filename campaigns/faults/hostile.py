# SPDX-License-Identifier: Apache-2.0
"""Messages that a node has to survive, made from chance. Those of joint states say by their stamp what they are."""

from __future__ import annotations

import math
import random
import time
from typing import Any

import numpy as np

from campaigns.faults.robot import JOINTS, MIDDLE, TOOL, Motion
from campaigns.faults.sender import EARLY, OTHER, REFUSED

ABSURD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e100)


def joint_state(rng: random.Random, motion: Motion) -> tuple[str, list[Any]]:
    """What it is, and one or several messages or bytes."""
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    def message(kind: int, shift: int = 0, names: Any = JOINTS) -> Any:
        stamp = (time.time_ns() + shift) // 1000 * 1000 + kind
        q, v = motion.state(stamp)
        found = JointState(name=list(names))
        found.header.stamp.sec, found.header.stamp.nanosec = divmod(stamp, 10**9)
        order = [JOINTS.index(name) if name in JOINTS else -1 for name in names]
        found.position = [float(q[k]) if k >= 0 else 7.0 for k in order]
        found.velocity = [float(v[k]) if k >= 0 else 7.0 for k in order]
        return found

    kind = rng.choice((
        "absurd position", "absurd velocity", "short", "long", "wrong names", "doubled name", "permuted", "more joints",
        "in two parts", "empty", "huge", "garbage", "cut off", "old", "future", "burst", "twice", "half late",
    ))  # fmt: skip
    if kind in ("absurd position", "absurd velocity"):
        found = message(REFUSED)
        field = found.position if kind == "absurd position" else found.velocity
        for k in rng.sample(range(7), rng.randrange(1, 8)):
            field[k] = rng.choice(ABSURD if kind == "absurd position" else (1e308, -1e308, 1e100, -1e30, 1e6))
        return kind, [found]
    if kind in ("short", "long"):
        found = message(REFUSED)
        size = 3 if kind == "short" else 12
        found.position = [0.1] * size
        if rng.random() < 0.5:
            found.velocity = [0.1] * rng.choice((3, 12))
        return kind, [found]
    if kind == "wrong names":
        return kind, [message(REFUSED, names=[f"other{k}" for k in range(7)])]
    if kind == "doubled name":
        return kind, [message(REFUSED, names=[*JOINTS[:6], JOINTS[0]])]
    if kind in ("permuted", "more joints"):
        names = [*JOINTS, *(["other", "and another"] if kind == "more joints" else [])]
        rng.shuffle(names)
        return kind, [message(OTHER, names=names)]
    if kind == "in two parts":
        whole = message(OTHER)
        parts = []
        for names in (JOINTS[:3], JOINTS[3:]):
            part = JointState(header=whole.header, name=list(names))
            part.position = [whole.position[JOINTS.index(name)] for name in names]
            part.velocity = [whole.velocity[JOINTS.index(name)] for name in names]
            parts.append(part)
        return kind, parts
    if kind == "empty":
        return kind, [JointState()]
    if kind == "huge":
        found = message(REFUSED, names=[f"joint{k}" for k in range(rng.choice((1000, 20_000)))])
        return kind, [found]
    if kind in ("garbage", "cut off"):
        data = bytearray(serialize_message(message(REFUSED)))
        if kind == "cut off":
            # the last bytes may be what the middleware fills up with
            return kind, [bytes(data[: rng.randrange(1, len(data) - 16)])]
        while _names_of(bytes(data)) == list(JOINTS):  # there are bytes that mean nothing
            data[rng.randrange(12, len(data) - 112)] = rng.randrange(256)
        return kind, [bytes(data), rng.randbytes(rng.randrange(300))][:1]
    if kind == "old":
        return kind, [message(REFUSED, -rng.choice((10**9, 10**10, 10**18)))]
    if kind == "future":
        return kind, [message(EARLY, rng.choice((10**9, 10**10)))]
    if kind == "burst":
        return kind, [message(OTHER, -k * 10**6) for k in range(50)]
    if kind == "twice":
        return kind, [message(OTHER)] * 2
    return kind, [message(OTHER, -40_000_000)]


def _names_of(data: bytes) -> list[str] | None:
    """Of a serialised joint state; None where it is none."""
    from rclpy.serialization import deserialize_message
    from sensor_msgs.msg import JointState

    try:
        return list(deserialize_message(data, JointState).name)
    except Exception:  # rclpy has no public one of its own
        return None


def trajectory(rng: random.Random) -> tuple[str, Any]:
    """One that must be refused."""
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    def point(at: int, q: Any, **more: Any) -> Any:
        found = JointTrajectoryPoint(positions=[float(x) for x in q], **more)
        found.time_from_start.sec, found.time_from_start.nanosec = divmod(at, 10**9)
        return found

    message = JointTrajectory(joint_names=list(JOINTS))
    kind = rng.choice((
        "not finite", "1e308", "one ns apart", "past limits", "100,000 points", "backwards", "wrong names",
        "30,000 names", "wrong lengths", "far away", "absurd velocity", "absurd acceleration", "over",
    ))  # fmt: skip
    away = MIDDLE + 0.01
    if kind == "not finite":
        q = away.copy()
        q[rng.randrange(7)] = rng.choice(ABSURD[:3])
        message.points = [point(10**9 * k, q) for k in range(1, rng.choice((2, 4)))]
    elif kind == "1e308":
        message.points = [point(10**9 * k, away * 1e307) for k in range(1, 4)]
    elif kind == "one ns apart":
        message.points = [point(10**9 + k, away + 0.1 * k) for k in range(5)]
    elif kind == "past limits":
        message.points = [point(10**9, away), point(2 * 10**9, np.full(7, 5.0)), point(3 * 10**9, away)]
    elif kind == "100,000 points":
        q = np.full(7, math.nan)
        message.points = [point(10**9, away)] * 99_999 + [point(10**9 * 10**6, q)]
    elif kind == "backwards":
        message.points = [point(2 * 10**9, away), point(10**9, away)]
    elif kind == "wrong names":
        message.joint_names = [f"other{k}" for k in range(7)]
        message.points = [point(10**9, away), point(2 * 10**9, away)]
    elif kind == "30,000 names":
        message.joint_names = [f"joint{k}" for k in range(30_000)]
        message.points = [point(10**9, np.zeros(30_000)), point(2 * 10**9, np.zeros(30_000))]
    elif kind == "wrong lengths":
        message.points = [point(10**9, away[:3]), point(2 * 10**9, away)]
    elif kind == "far away":
        message.points = [point(1, away + 0.9), point(10**6, away + 0.9)]
    elif kind == "absurd velocity":
        message.points = [point(10**9 * k, away, velocities=[1e6] * 7) for k in (1, 2, 3)]
    elif kind == "absurd acceleration":
        message.points = [point(10**9 * k, away, velocities=[0.0] * 7, accelerations=[1e308] * 7) for k in (1, 2, 3)]
    else:
        message.header.stamp.sec = 1
        message.points = [point(10**9 * k, away) for k in (1, 2, 3)]
    return kind, message


def wrench(rng: random.Random) -> tuple[str, Any]:
    from geometry_msgs.msg import WrenchStamped

    message = WrenchStamped()
    kind = rng.choice(("not finite", "1e308", "wrong frame", "old", "huge name"))
    message.header.frame_id = TOOL
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 10**9)
    message.wrench.force.z = -10.0
    if kind == "not finite":
        message.wrench.force.x = rng.choice(ABSURD[:3])
    elif kind == "1e308":
        message.wrench.force.z = rng.choice((1e308, -1e308))
    elif kind == "wrong frame":
        message.header.frame_id = "elsewhere"
    elif kind == "old":
        message.header.stamp.sec = 5
    else:
        message.header.frame_id = "a" * 100_000
    return kind, message


DESCRIPTIONS = {
    "empty": "", "no XML": "panda.urdf", "no robot": "<a/>", "cut off": "<robot name='x'><link name='a'/>",
    "no joints": "<robot name='x'><link name='a'/></robot>", "deep": "<a>" * 5000,
    "not finite": "<robot name='x'><link name='a'/><link name='b'><inertial><mass value='nan'/><inertia ixx='1' "
    "ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial></link><joint name='j' type='revolute'><parent link='a'/>"
    "<child link='b'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint></robot>",
}  # fmt: skip
PARAMETERS: tuple[dict[str, Any], ...] = (
    {"kp": [math.inf]}, {"kp": [math.nan]}, {"kp": [-1.0]}, {"kp": [1.0, 2.0]}, {"kd": [math.inf] * 7},
    {"terms": ["x"]},
    {"law": "none"}, {"state_timeout": -1.0}, {"state_timeout": math.nan}, {"effort_limits": [-1.0]},
    {"effort_limits": [math.nan]}, {"effort_limits": [1.0, 2.0, 3.0]}, {"evaluate_at": ""}, {"kp": "text"},
    {"gravity": [0.0, 0.0, 0.0]}, {"joints": ["panda_joint1"]}, {"robot_description": "<a"}, {"unheard_of": 1},
    {"stiffness": [math.nan]}, {"stiffness": [-1.0]}, {"rotational_stiffness": [1.0, 2.0]}, {"damping_ratio": math.inf},
    {"largest_force": math.nan}, {"tool_position": [0.0]}, {"posture": [1.0]}, {"stiffness_axes": "x"},
    {"velocity_limits": [math.nan]}, {"workspace_lower": [1.0] * 3, "workspace_upper": [0.0] * 3},
)  # fmt: skip
#: mass, com, inertia
LOADS: tuple[tuple[float, tuple[float, float, float], tuple[float, ...]], ...] = (
    (math.nan, (0.0, 0.0, 0.0), (0.0,) * 6), (math.inf, (0.0, 0.0, 0.0), (0.0,) * 6),
    (-1.0, (0.0, 0.0, 0.0), (0.0,) * 6), (1.0, (math.nan, 0.0, 0.0), (0.0,) * 6),
    (1.0, (0.0, 0.0, 0.0), (-1.0,) * 6), (1e308, (1e308, 0.0, 0.0), (1e308,) * 6),
    (1.0, (0.0, 0.0, 0.0), (1.0, 5.0, 0.0, 1.0, 0.0, 1.0)),
)  # fmt: skip
