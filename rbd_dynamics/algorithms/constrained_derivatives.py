# SPDX-License-Identifier: Apache-2.0
"""Derivatives of constrained forward dynamics (theory.md sections 6 and 7).

At the solution M a + b = tau + A^T lambda, A a = rhs, differentiating both equations by x in {q, v} gives

    M da - A^T dlambda = -(dID/dx - d(A^T lambda)/dx),   A da = -d(A a - rhs)/dx,

which the same orthonormal basis solves as forward dynamics itself. What rows contribute comes from jets:
the rows are evaluated once for each coordinate, with q moving along it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.constrained_dynamics import Rows, constraint_basis, held_mass_matrix, transposed_times
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.relative_motion import moving_configuration
from rbd_dynamics.algorithms.tree_factor import MassFactor, Matrix
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.jets import Jet, level_above, rate_of
from rbd_dynamics.spatial.scalar import Scalar, dot
from rbd_dynamics.spatial.se3 import Vec6

Vector = Sequence[Scalar]
RowsAt = Callable[[Vector, Vector], Rows]


class ConstrainedDerivatives(NamedTuple):
    """Derivatives of acceleration (nv, nv) and multipliers (m, nv) by q (along the tangent), v and tau."""

    a_dq: Matrix
    a_dv: Matrix
    a_dtau: Matrix
    multipliers_dq: Matrix
    multipliers_dv: Matrix
    multipliers_dtau: Matrix


def constrained_forward_dynamics_derivatives(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Vector,
    v: Vector,
    tau: Vector,
    target: Vector,
    rows_at: RowsAt,
    gains: tuple[Scalar, Scalar],
    f_ext: Sequence[Vec6] | None = None,
    friction: bool = False,
    massless: bool = False,
) -> ConstrainedDerivatives:
    """Derivatives of constrained forward dynamics at its solution.

    rows_at: of (q, v), over generic scalars. massless: as for
    `constrained_hybrid_dynamics`. A a is to be target - Adot v - gains[0] A v - gains[1] h.
    """
    n, still = model.nv, [0.0] * model.nv
    rows = rows_at(q, v)
    A = rows.matrix
    rhs = [
        wanted - bias - gains[0] * dot(row, v) - gains[1] * h
        for wanted, bias, row, h in zip(target, rows.bias, A, rows.position)
    ]
    bias = inverse_dynamics(model, inertias, q, v, still, f_ext, friction=friction)
    M = mass_matrix(model, inertias, q)
    M, scale = held_mass_matrix(M, A) if massless else (M, 0.0)
    W = MassFactor.of(M)
    basis = constraint_basis(W, A, rows.size)

    def response(force: Vector, wanted: Vector) -> tuple[list[Scalar], list[Scalar]]:
        """(a, lambda) of M a - A^T lambda = force, A a = wanted."""
        pushed = W.solve(force)
        missing = [c - have for c, have in zip(basis.solve_transposed(wanted), basis.coordinates(pushed))]
        found = W.solve_transposed([y + z for y, z in zip(pushed, basis.combine(missing))])
        pulls = basis.solve(missing)
        if massless:
            pulls = [x - scale * dot(row, found) for x, row in zip(pulls, A)]
        return found, pulls

    def by_position(k: int) -> tuple[list[Scalar], list[Scalar]]:
        """(d(A^T lambda)/dq_k, d(rhs - A a)/dq_k) at constant a, lambda and v."""
        moving = moving_configuration(model, q, [float(i == k) for i in range(n)])
        level = moving[0].level
        moved = rows_at(moving, v)
        matrix = [[rate_of(entry, level) for entry in row] for row in moved.matrix]
        wanted = [
            -1.0 * (dot(row, a) + rate_of(bias, level) + gains[0] * dot(row, v) + gains[1] * rate_of(h, level))
            for row, bias, h in zip(matrix, moved.bias, moved.position)
        ]
        return transposed_times(matrix, multipliers), wanted

    def by_velocity(k: int) -> list[Scalar]:
        """d(rhs)/dv_k."""
        level = level_above(*q, *v)
        moved = rows_at(q, [Jet(value, float(i == k), 0.0, level) for i, value in enumerate(v)])
        return [-1.0 * (rate_of(bias, level) + gains[0] * row[k]) for bias, row in zip(moved.bias, A)]

    a, multipliers = response([t - b for t, b in zip(tau, bias)], rhs)
    dq, dv, _ = inverse_dynamics_derivatives(model, inertias, q, v, a, f_ext, friction)
    columns: list[list[tuple[list[Scalar], list[Scalar]]]] = [[], [], []]
    for k in range(n):
        carried, wanted = by_position(k)
        columns[0].append(response([c - dq[i][k] for i, c in enumerate(carried)], wanted))
        columns[1].append(response([-1.0 * dv[i][k] for i in range(n)], by_velocity(k)))
        columns[2].append(response([float(i == k) for i in range(n)], [0.0] * len(A)))
    return ConstrainedDerivatives(
        *([list(row) for row in zip(*(column[part] for column in by_x))] for part in (0, 1) for by_x in columns)
    )
