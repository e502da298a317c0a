# SPDX-License-Identifier: Apache-2.0
"""The motion that the demo plays: a smooth path through via points, as fast as the robot can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

ARM = tuple(f"panda_joint{k}" for k in range(1, 8))
READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)

#: a swing round the base, stretched out and drawn in, all joints at once (rad)
VIA_POINTS = (
    READY,
    (1.10, 0.10, 0.50, -1.70, 0.80, 2.20, -0.30),
    (0.20, 0.70, -0.40, -0.90, -0.60, 1.60, 1.40),
    (-1.30, 0.00, -0.70, -1.90, 0.70, 2.50, 0.10),
    (-0.40, -0.90, 0.60, -2.50, -0.90, 1.20, 1.60),
    (0.90, 0.40, 0.20, -1.30, 0.40, 2.00, 0.20),
    READY,
)
SHORT_VIA_POINTS = (*VIA_POINTS[:3], READY)

#: how much of its limits the motion takes at most; the rest is for the controller
UTILISATION = 0.85
#: joint accelerations that Franka Robotics allows, rad/s^2 (limits of the FCI); they are not in the URDF
ACCELERATION_LIMITS = (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0)


@dataclass(frozen=True)
class Motion:
    """Position, velocity and acceleration over time, at rest at both ends."""

    duration: float  # s
    _curve: BSpline  # over [0, 1]

    def sample(self, times: Array) -> Array:
        """(3, N, joints): position, velocity, acceleration at times (N,) in s; at rest outside of the motion."""
        phase = np.clip(np.asarray(times) / self.duration, 0.0, 1.0)
        derivatives = [self._curve(phase, order) / self.duration**order for order in range(3)]
        return np.array(derivatives)


def fastest(robot: Robot, via_points: Sequence[Sequence[float]] = VIA_POINTS) -> Motion:
    """The path through the via points, at the largest uniform speed that keeps all limits.

    The path is a quintic spline: position to jerk are continuous. Limits: the model's velocities and
    efforts and ACCELERATION_LIMITS, each to UTILISATION. Raises ValueError where the path leaves the
    joint ranges. The robot's joints are those of the via points.
    """
    points = np.array(via_points)
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    knots = np.concatenate([[0.0], np.cumsum(lengths) / lengths.sum()])
    rest = [(1, np.zeros(points.shape[1])), (2, np.zeros(points.shape[1]))]
    curve = make_interp_spline(knots, points, k=5, bc_type=(rest, rest))
    phases = np.linspace(0.0, 1.0, 2001)
    position = curve(phases)
    for k, joint in enumerate(robot.model.joints):
        low, high = position[:, k].min(), position[:, k].max()
        if low < joint.limits.lower or high > joint.limits.upper:
            raise ValueError(f"the motion takes joint {joint.name!r} to [{low:.3f}, {high:.3f}], out of its range")
    slow, fast = 60.0, 0.5
    for _ in range(30):
        middle = 0.5 * (slow + fast)
        if utilisation(robot, Motion(middle, curve)) > UTILISATION:
            fast = middle
        else:
            slow = middle
    return Motion(slow, curve)


def utilisation(robot: Robot, motion: Motion) -> float:
    """The largest share of a velocity, acceleration or effort limit that the motion takes."""
    return max(float(np.max(shares)) for shares in shares_of_limits(robot, motion).values())


def shares_of_limits(robot: Robot, motion: Motion) -> dict[str, Array]:
    """{what: largest share of each joint's limit (joints,)}."""
    limits = [joint.limits for joint in robot.model.joints]
    q, v, a = motion.sample(np.linspace(0.0, motion.duration, 2001))
    tau = robot.inverse_dynamics(q, v, a)
    return {
        "velocity": np.max(np.abs(v), axis=0) / [limit.velocity for limit in limits],
        "acceleration": np.max(np.abs(a), axis=0) / np.array(ACCELERATION_LIMITS),
        "effort": np.max(np.abs(tau), axis=0) / [limit.effort for limit in limits],
    }
