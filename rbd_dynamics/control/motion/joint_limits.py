# SPDX-License-Identifier: Apache-2.0
"""Motion limits of a robot's joints: from its description, from parameters, and from what its motors can do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.feedforward import per_joint, single_freedom_indices
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
POSSIBLE = 2.0  # times what the motors give to the robot at rest: gravity and motion may help
RENEWED = 100_000_000  # ns: so long the bound of one posture is taken


class JointMotionLimits:
    """`MotionLimits` of some joints, at a posture.

    Where no accelerations are given, those of the description count, which few have, and besides what no motion can
    exceed: twice |M^-1| tau_max (row sums) at the present posture, infinite where an effort is not limited.

    Parameters:
        robot: its mass matrix is compiled.
        joints: of the robot, by name. names: the same in messages.
        others: see `tune`.
    """

    def __init__(self, robot: Robot, joints: Sequence[str], names: Sequence[str]) -> None:
        self._robot, self._names = robot, tuple(names)
        self._chosen = [robot.model.joint(name) for name in joints]
        self._index = single_freedom_indices(robot, joints)
        self._effort = np.array([joint.limits.effort for joint in robot.model.joints if joint.mimic is None])
        robot.compile("mass_matrix", batches=False)
        self.given = MotionLimits.of(names)  # without what the motors can do
        self.tune()

    def tune(self, *, velocity: ArrayLike = (), acceleration: ArrayLike = ()) -> bool:
        """Limits as none (then those of description and motors), one for all or one for each; 0: none.

        Returns whether they are narrower than before. Raises ValueError, and then changes nothing.
        """
        joints = [joint.limits for joint in self._chosen]
        unlimited = [joint.kind.name == "continuous" for joint in self._chosen]
        described = [limits.velocity for limits in joints]
        speeds = per_joint("velocity_limits", velocity, self._names, described)
        given = np.asarray(acceleration, dtype=float)
        rates = per_joint("acceleration_limits", given, self._names, [limits.rate for limits in joints])
        found = MotionLimits.of(
            self._names,
            lower=[-math.inf if free else limits.lower for limits, free in zip(joints, unlimited)],
            upper=[math.inf if free else limits.upper for limits, free in zip(joints, unlimited)],
            velocity=np.where(speeds > 0.0, speeds, math.inf),
            acceleration=np.where(rates > 0.0, rates, math.inf),
        )
        narrower = found.narrower_than(self.given)
        self.given, self._by_motors = found, not given.size
        self._limits, self._since = found, -RENEWED
        return narrower

    def at(self, q: Array, now: int) -> MotionLimits:
        """Limits at the posture q (nv) of the whole robot, at the time `now` (ns)."""
        if self._by_motors and abs(now - self._since) >= RENEWED:
            self._since = now
            possible = POSSIBLE * largest_accelerations(self._robot, q, self._effort)[self._index]
            self._limits = MotionLimits.of(
                self._names,
                lower=self.given.lower,
                upper=self.given.upper,
                velocity=self.given.velocity,
                acceleration=np.minimum(possible, self.given.acceleration),
            )
        return self._limits


def largest_accelerations(robot: Robot, q: Array, effort: Array) -> Array:
    """|M^-1| effort, row by row (nv): the most that efforts of these magnitudes (nv) can accelerate each freedom.

    Infinite where an unlimited effort acts, and where the mass matrix has no inverse.
    """
    try:
        inverse = np.abs(np.linalg.inv(robot.mass_matrix(q)))
    except (np.linalg.LinAlgError, ArithmeticError):
        return np.full(len(effort), math.inf)
    limited = np.isfinite(effort)
    most: Array = inverse[:, limited] @ effort[limited]
    most[(inverse[:, ~limited] > 0.0).any(axis=1)] = math.inf
    return most
