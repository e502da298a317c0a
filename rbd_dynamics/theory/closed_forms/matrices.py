# SPDX-License-Identifier: Apache-2.0
"""Matrices that the closed forms share, beyond those of `rbd_dynamics.spatial` (theory.md section 0)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.kinematics import JointMotion, joint_motion
from rbd_dynamics.model.model import Body
from rbd_dynamics.spatial import hat
from rbd_dynamics.spatial.arrays import matrix
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]


def inertia_matrices(parameters: Array) -> Array:
    """(bodies, 6, 6), each at its body's frame, of `Robot.inertial_parameters` (bodies, 10)."""
    inertia = RigidInertia.from_parameters(tuple(parameters.T))
    return np.broadcast_to(matrix(lambda twist: inertia * twist, 6), (len(parameters), 6, 6))


def momentum_matrix(momentum: Array) -> Array:
    """X with X V = ad*_V L for every twist V, of a momentum L: (..., 6) -> (..., 6, 6), skew-symmetric."""
    result = np.zeros((*momentum.shape[:-1], 6, 6))
    result[..., :3, :3] = hat(momentum[..., :3])
    result[..., :3, 3:] = result[..., 3:, :3] = hat(momentum[..., 3:])
    return result


def motion_of(body: Body, q: Array, v: Array | None = None) -> JointMotion:
    """What the body's joint does at q (nq) and v (nv), as plain floats."""
    return joint_motion(body, q.tolist(), None if v is None else v.tolist())


def add_columns(matrix: Array, dofs: Sequence[int], columns: Array) -> None:
    """Add each column to the matrix's column of that degree of freedom; the same one may come twice."""
    for dof, column in zip(dofs, columns.T):
        matrix[:, dof] += column


def as_columns(twists: Sequence[Sequence[float]]) -> Array:
    """Twists as the columns of a matrix (6, n)."""
    return np.array(twists, dtype=float).reshape(-1, 6).T
