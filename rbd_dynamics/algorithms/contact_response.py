# SPDX-License-Identifier: Apache-2.0
"""What forces along rows do to a robot that is otherwise free: Delassus' matrix and what it acts on (theory.md 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.constrained_dynamics import Rows, without_rounding
from rbd_dynamics.algorithms.tree_factor import MassFactor, Matrix
from rbd_dynamics.spatial.scalar import Scalar, dot

Vector = Sequence[Scalar]


class ContactResponse(NamedTuple):
    """What forces along rows do. delassus (m, m): A M^-1 A^T. response (m, nv): the acceleration by each force.

    a (nv), row_acceleration (m): without them. row_velocity (m): A v.
    """

    delassus: Matrix
    response: Matrix
    a: list[Scalar]
    row_acceleration: list[Scalar]
    row_velocity: list[Scalar]


def contact_response(M: Sequence[Vector], bias: Vector, rows: Rows, v: Vector, tau: Vector) -> ContactResponse:
    """Delassus' matrix A M^-1 A^T = X^T X with X = W^-1 A^T, M = W W^T, and the free motion."""
    W = MassFactor.of(M)
    X = without_rounding([W.solve(row) for row in rows.matrix], rows.matrix, rows.size)
    free = W.solve([t - b for t, b in zip(tau, bias)])
    m = len(X)
    delassus: Matrix = [[0.0] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            delassus[i][j] = delassus[j][i] = dot(X[i], X[j])
    return ContactResponse(
        delassus,
        [W.solve_transposed(x) for x in X],
        W.solve_transposed(free),
        [dot(x, free) + own for x, own in zip(X, rows.bias)],
        [dot(row, v) for row in rows.matrix],
    )
