# SPDX-License-Identifier: Apache-2.0
"""The motion's coefficients as a problem of optimisation: what is wanted, what is forbidden, and both their gradients.

Limits count at samples here, somewhat narrower than they are; `proof` then looks at the whole motion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.excitation.basis import Basis
from rbd_dynamics.replay.excitation.information import Criterion, Information
from rbd_dynamics.replay.excitation.limits import ExcitationLimits
from rbd_dynamics.replay.excitation.obstacles import Obstacles
from rbd_dynamics.replay.identification.samples import friction_of

Array = NDArray[np.float64]
DENSITY = 24  # samples in a period of the fastest harmonic, where limits count
SPARSER = 2  # times fewer, for the information, which is the expensive part
NARROWER = 0.004  # share of each limit that is left for what happens between samples
NEAR, NEARER = 0.1, 0.005  # m: the measure of clearances, and what is left of them


class Problem:
    """The problem in coefficients x (count, joints) of a basis. samples: efforts that will be measured."""

    def __init__(
        self,
        information: Information,
        limits: ExcitationLimits,
        basis: Basis,
        obstacles: Obstacles,
        criterion: Criterion,
        samples: float,
    ) -> None:
        self.information, self.limits, self.basis, self.obstacles = information, limits, basis, obstacles
        self._criterion: Criterion = criterion
        count = SPARSER * int(np.ceil(DENSITY / SPARSER * basis.fastest * basis.duration))
        self._matrices = basis.matrices(np.linspace(0.0, basis.duration, count, endpoint=False))
        self._each = samples / count
        coulomb, self._viscous = friction_of(information.robot.model)
        motion, narrow = limits.motion, 1.0 - NARROWER
        self._half = 0.5 * narrow * (motion.upper - motion.lower)
        self._velocity, self._acceleration = narrow * motion.velocity, narrow * motion.acceleration
        self._effort = narrow * limits.effort - coulomb

    @property
    def scale(self) -> Array:
        """A usual size of each coefficient (count, joints)."""
        rows = np.abs(self._matrices[0]).max(axis=0)
        return np.asarray(np.outer(1.0 / rows, self._half))

    def motion(self, x: Array) -> Array:
        """Positions, velocities and accelerations (3, N, joints)."""
        found: Array = self._matrices @ x
        return found

    def wanted(self, x: Array) -> tuple[float, Array]:
        """The quantity to be small, and its gradient by x."""
        motion = self.motion(x)[:, ::SPARSER]
        value, slope = self.information.value(self._criterion, motion, SPARSER * self._each)
        return value, self._by_coefficients(slope, self._matrices[:, ::SPARSER])

    def forbidden(self, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        """How far beyond its limits the motion is, in shares of them: not allowed are positive ones. And what takes
        multipliers of these back to x."""
        q, v, a = self.motion(x)
        robot = self.information.robot
        torque = robot.inverse_dynamics(q, v, a) + self._viscous * v
        velocity, acceleration, effort = self._velocity, self._acceleration, self._effort
        clearance, towards = self.obstacles.clearance(robot, q)
        signals = (
            (q - self.limits.middle) / self._half, v / velocity, a / acceleration, torque / effort,
        )  # fmt: skip
        found = [side for signal in signals for side in (signal - 1.0, -signal - 1.0)]
        beyond = np.concatenate([*(part.ravel() for part in found), ((NEARER - clearance) / NEAR).ravel()])

        def pull(multipliers: Array) -> Array:
            count = q.size
            sides = multipliers[: 8 * count].reshape(4, 2, *q.shape)
            both = sides[:, 0] - sides[:, 1]
            slope = np.array([both[0] / self._half, both[1] / velocity, both[2] / acceleration])
            felt = both[3] / effort
            if felt.any():
                by = robot.inverse_dynamics_derivatives(q, v, a)
                slope += np.einsum("knij,ni->knj", np.array(by), felt)
                slope[1] += felt * self._viscous
            near = multipliers[8 * count :].reshape(clearance.shape)
            slope[0] -= np.einsum("nk,nkj->nj", near, towards) / NEAR
            return self._by_coefficients(slope, self._matrices)

        return beyond, pull

    @staticmethod
    def _by_coefficients(slope: Array, matrices: Array) -> Array:
        """Gradient by the coefficients of what has the gradient `slope` (3, N, joints) by the motion."""
        found: Array = np.einsum("knc,knj->cj", matrices, slope)
        return found
