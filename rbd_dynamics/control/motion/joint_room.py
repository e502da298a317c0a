# SPDX-License-Identifier: Apache-2.0
"""What a motion that is planned ahead of the arm may take of its joints' limits; the rest is left to control."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
SPEED_SHARE = 0.65  # of a joint's velocity limit; the rest is left to what the arm feels
FULL_TIME = 0.2  # s: in this time a joint may go from rest to that speed
FASTEST = 1e3  # rad/s, m/s: of joints without a velocity limit
MARGIN = 0.05, 0.1  # rad or m, and share of the range: how near a joint may come to its limit
NEAR = 0.01  # rad, m: of the end of what a joint may take
POSTURES = 200  # tried, for the largest inertias
DRIFT_RATE, DRIFT = 1.0, 0.5  # 1/s; rad/s, m/s: how fast what a task leaves free goes to a posture


def usable_speeds(limits: ArrayLike) -> Array:
    """Velocity limits (joints), rad/s or m/s, that can be reckoned with: none, or zero as many descriptions have, is
    `FASTEST`."""
    given = np.asarray(limits, dtype=float)
    return np.minimum(np.where(given > 0.0, given, np.inf), FASTEST)


class PositionLimits(NamedTuple):
    """Limits of position of the degrees of freedom (nv) of a model.

    limited: which have any, of joints of one degree of freedom. lower, upper: rad or m, zero where there are none.
    """

    limited: NDArray[np.bool_]
    lower: Array
    upper: Array

    @classmethod
    def of(cls, model: Model) -> PositionLimits:
        limited, lower, upper = np.zeros(model.nv, dtype=bool), np.zeros(model.nv), np.zeros(model.nv)
        for joint in model.joints:
            low, high = joint.limits.lower, joint.limits.upper
            if joint.kind.nv == joint.kind.nq == 1 and math.isfinite(low) and math.isfinite(high):
                k = joint.v_index
                limited[k], lower[k], upper[k] = True, low, high
        return cls(limited, lower, upper)

    def margins(self, most: float) -> Array:
        """(nv) rad or m, of which two do not meet."""
        return np.minimum(most, 0.4 * (self.upper - self.lower))


def random_postures(model: Model, count: int) -> Array:
    """Postures (count, nv) within the limits, the same ones each time."""
    lower, upper = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
    return np.random.default_rng(0).uniform(np.minimum(lower, upper), np.maximum(lower, upper), (count, model.nv))


def largest_inertias(robot: Robot) -> Array:
    """The largest diagonal (nv) of M that is met at random postures, kg m^2 or kg."""
    masses = [np.diagonal(robot.mass_matrix(q)) for q in random_postures(robot.model, POSTURES)]
    return np.asarray(np.max(masses, axis=0), dtype=float)


class JointRoom:
    """Bounds (nv) of joints of one degree of freedom each: rad, m and seconds.

    Attributes:
        velocity_limits (nv): rad/s or m/s; at first the model's. Zero is none. Others are to be assigned: what is
            written into them is not seen.
        lower, upper (nv): of positions.
    """

    def __init__(self, model: Model) -> None:
        self.names = model.joint_names
        self.velocity_limits = np.array([joint.limits.velocity for joint in model.joints])
        margin = np.minimum(MARGIN[0], MARGIN[1] * (model.upper - model.lower))
        self.lower, self.upper = model.lower + margin, model.upper - margin

    @property
    def velocity_limits(self) -> Array:
        return self._velocity_limits

    @velocity_limits.setter
    def velocity_limits(self, limits: Array) -> None:
        speed = SPEED_SHARE * usable_speeds(limits)
        self._velocity_limits, self._rates = limits, (speed, speed / FULL_TIME)

    def rates(self) -> tuple[Array, Array]:
        """Largest velocities and accelerations (nv)."""
        return self._rates

    @staticmethod
    def drift(q: Array, posture: Array, pace: float) -> Array:
        """Velocities (nv) towards a posture. pace: how far the task lets them, as it comes first: 0 to 1."""
        return np.asarray(pace * np.minimum(np.maximum(DRIFT_RATE * (posture - q), -DRIFT), DRIFT))

    def obstacle(self, q: Array) -> str:
        """What keeps a motion at q (nv) from its target: joints at their limits, or a singular posture."""
        for name, at, low, high in zip(self.names, q, self.lower, self.upper):
            if not low + NEAR < at < high - NEAR:
                return f"joint {name!r} is at its limit"
        return "the arm is in or near a singular posture there"
