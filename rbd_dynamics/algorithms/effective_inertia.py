# SPDX-License-Identifier: Apache-2.0
"""Inverse of the operational-space inertia of a frame (theory.md section 7, effective inertia)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.factor_products import mass_factor_products
from rbd_dynamics.algorithms.frame_reference import BODY, FrameReference
from rbd_dynamics.algorithms.frames import frame_jacobian
from rbd_dynamics.algorithms.tree_factor import Matrix
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar


def inverse_effective_inertia(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    frame: Frame,
    reference: FrameReference = BODY,
) -> Matrix:
    """J M^-1 J^T (6, 6), symmetric: the frame's acceleration (w, v) per wrench (m, f) on it, as J is expressed.

    As X^T X with X = W^-1 J^T, so it is positive semidefinite however singular J is.
    """
    factor = mass_factor_products(model, inertias, q)
    columns = frame_jacobian(model, q, frame, reference)
    X = [factor.solve([column[row] for column in columns]) for row in range(6)]
    result: Matrix = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i + 1):
            value: Scalar = 0.0
            for a, b in zip(X[i], X[j]):
                value = value + a * b
            result[i][j] = result[j][i] = value
    return result
