# SPDX-License-Identifier: Apache-2.0
"""Dynamics in quasi-velocities, where the mass matrix is the identity (theory.md section 3; 001 section 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


class QuasiVelocityDynamics(NamedTuple):
    """wdot + Gam w = u - g in w = W^T v, with M = W W^T and u = W^-1 tau.

    As Gam is skew-symmetric, it takes no part in the power balance: d(|w|^2 / 2)/dt = w . (u - g).
    With leading axes for a batch.
    """

    factor: Array  # W (nv, nv), upper triangular
    velocity: Array  # w (nv)
    coriolis: Array  # Gam (nv, nv), skew-symmetric
    gravity: Array  # g = W^-1 N (nv)

    def acceleration(self, u: ArrayLike) -> Array:
        """wdot (nv) under u = W^-1 tau (nv)."""
        turned = (self.coriolis @ self.velocity[..., None])[..., 0]
        return np.asarray(u, dtype=float) - self.gravity - turned

    @property
    def kinetic_energy(self) -> Array:
        """|w|^2 / 2 in J."""
        return np.asarray(0.5 * np.sum(self.velocity**2, axis=-1))


def quasi_velocity_dynamics(robot: Robot, q: ArrayLike, v: ArrayLike) -> QuasiVelocityDynamics:
    """Everything of the equation at one state, or at a batch of them. Errors are those of `Robot`'s methods."""
    return QuasiVelocityDynamics(
        robot.mass_factor(q),
        robot.factor_apply(q, v, transposed=True),
        robot.quasi_velocity_coriolis(q, v),
        robot.factor_solve(q, robot.gravity(q)),
    )
