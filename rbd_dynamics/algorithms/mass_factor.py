# SPDX-License-Identifier: Apache-2.0
"""Square-root factor and inverse of the mass matrix (theory.md section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.tree_factor import Matrix, factorise
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.row_sweeps import Unfinished
from rbd_dynamics.spatial.scalar import Scalar, sqrt


def mass_factor(model: Model, inertias: Sequence[RigidInertia], q: Sequence[Scalar]) -> Matrix:
    """W (nv, nv), upper triangular with positive diagonal, M = W W^T.

    Its columns are the articulated inertias' wrenches seen by the joints towards the base: D is
    S^T A S of the articulated-body algorithm and U D column by column the propagated A S.
    """
    factor = factorise(mass_matrix(model, inertias, q))
    roots = [sqrt(d) for d in factor.D]
    return [[u * root for u, root in zip(row, roots)] for row in factor.U]


def mass_matrix_inverse(model: Model, inertias: Sequence[RigidInertia], q: Sequence[Scalar]) -> Unfinished:
    """M^-1 (nv, nv), symmetric."""
    return factorise(mass_matrix(model, inertias, q)).inverse_matrix()
