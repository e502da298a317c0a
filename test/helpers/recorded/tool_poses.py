# SPDX-License-Identifier: Apache-2.0
"""Recordings of a tool on a force-torque sensor, which stands still at several orientations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.recorded.bags import START, Content, Message
from rbd_dynamics.robot import Robot

MASS, CENTER, BIAS = 0.7, np.array([0.02, 0.01, 0.06]), np.array([0.1, -0.2, 0.3, 1.0, 2.0, -3.0])


def of_tool(robot: Robot, frame: str, poses: Sequence[Sequence[float]], sign: float = 1.0, rate: int = 200) -> Content:
    """A second at each pose, and one of motion to the next, in which the readings are nonsense."""
    rng, names = np.random.default_rng(4), list(robot.model.joint_names)
    states, wrenches, stamp = [], [], START
    for k, pose in enumerate(poses):
        following = poses[(k + 1) % len(poses)]
        for n in range(2 * rate):
            moving = max(0.0, n / rate - 1.0)
            q = (1.0 - moving) * np.array(pose) + moving * np.array(following)
            weight = MASS * robot.pose(q, frame)[:3, :3].T @ [0.0, 0.0, -9.81]
            numbers = np.concatenate([np.cross(CENTER, weight), weight]) + BIAS
            numbers += np.repeat([0.002, 0.02], 3) * rng.normal(size=6) + (100.0 if moving else 0.0)
            states.append(Message(stamp, names, q))
            wrenches.append((stamp, sign * numbers))
            stamp += 10**9 // rate
    return Content({"/joint_states": states}, wrenches={"/ft/wrench": wrenches})
