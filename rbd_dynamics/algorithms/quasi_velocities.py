# SPDX-License-Identifier: Apache-2.0
"""Coriolis factor of the dynamics in quasi-velocities (theory.md section 3; 001 section 5, Aghili).

With w = W^T v, M = W W^T and u = W^-1 tau the equation of motion is wdot + Gam w = u - W^-1 N.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.coriolis_matrix import coriolis_matrix
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.tree_factor import Matrix, factorise
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal, sqrt


def quasi_velocity_coriolis(
    model: Model, inertias: Sequence[RigidInertia], q: Sequence[Scalar], v: Sequence[Scalar]
) -> Matrix:
    """Gam (nv, nv) = W^-1 (C - W Wdot^T) W^-T, skew-symmetric.

    No rate of W is needed. With Y = W^-1 C W^-T, Mdot = C + C^T gives
    W^-1 Wdot + (W^-1 Wdot)^T = Y + Y^T, and as W^-1 Wdot is upper triangular, Gam keeps the upper
    triangle of Y and continues it below as minus its transpose.
    """
    nv = model.nv
    factor = factorise(mass_matrix(model, inertias, q))
    scale = [reciprocal(sqrt(d)) for d in factor.D]
    C = coriolis_matrix(model, inertias, q, v)
    left = [factor.solve_upper(column) for column in zip(*C)]  # columns of U^-1 C
    both = [factor.solve_upper(row) for row in zip(*left)]  # rows of U^-1 C U^-T
    Gam: Matrix = [[0.0] * nv for _ in range(nv)]
    for i in range(nv):
        for j in range(i + 1, nv):
            Gam[i][j] = scale[i] * both[i][j] * scale[j]
            Gam[j][i] = -Gam[i][j]
    return Gam
