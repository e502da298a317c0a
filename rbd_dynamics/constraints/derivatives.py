# SPDX-License-Identifier: Apache-2.0
"""Derivatives of constrained forward dynamics (theory.md sections 6 and 7).

At the solution M a + b = tau + A^T lambda, A a = rhs, differentiating both equations by x in {q, v} gives

    M da - A^T dlambda = -(dID/dx - d(A^T lambda)/dx),   A da = -d(A a - rhs)/dx,

which the same orthonormal basis solves as forward dynamics itself. What rows contribute comes from jets:
the rows are evaluated once for each coordinate, with q moving along it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rbd_dynamics.algorithms.constrained_dynamics import constraint_basis, transposed_times
from rbd_dynamics.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from rbd_dynamics.algorithms.joint_friction import joint_friction_slope
from rbd_dynamics.algorithms.tree_factor import MassFactor, Matrix
from rbd_dynamics.constraints.kinematics import Kinematics
from rbd_dynamics.spatial.jets import Jet, level_above, rate_of
from rbd_dynamics.spatial.scalar import Scalar, dot

if TYPE_CHECKING:
    from rbd_dynamics.constraints.kernels import State


def forward_dynamics_derivatives(x: State) -> list[list[Scalar]]:
    """(a_dq, a_dv, a_dtau (nv, nv), multipliers_dq, _dv, _dtau (m, nv)), flat; q along the tangent."""
    n, model = x.model.nv, x.model
    rows = x.rows()
    A = rows.matrix
    W = MassFactor.of(x.mass_matrix())
    basis = constraint_basis(W, A)
    push = W.solve([t - b for t, b in zip(x.tau, x.bias())])
    lacking = [c - have for c, have in zip(basis.solve_transposed(x.acceleration_of(rows)), basis.coordinates(push))]
    a = W.solve_transposed([y + z for y, z in zip(push, basis.combine(lacking))])
    multipliers = basis.solve(lacking)

    def response(force: list[Scalar], rates: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """(da, dlambda) of M da - A^T dlambda = force, A da = rates."""
        pushed = W.solve(force)
        missing = [c - have for c, have in zip(basis.solve_transposed(rates), basis.coordinates(pushed))]
        return W.solve_transposed([y + z for y, z in zip(pushed, basis.combine(missing))]), basis.solve(missing)

    by_q, by_v, _ = inverse_dynamics_derivatives(model, x.inertias, x.q, x.v, a)
    if x.friction:
        for k, slope in enumerate(joint_friction_slope(model, x.v)):
            by_v[k][k] = by_v[k][k] + slope
    columns: list[list[tuple[list[Scalar], list[Scalar]]]] = [[], [], []]
    for k in range(n):
        carried, wanted = _by_position(x, k, a, multipliers)
        columns[0].append(response([c - by_q[i][k] for i, c in enumerate(carried)], wanted))
        columns[1].append(response([-1.0 * by_v[i][k] for i in range(n)], _by_velocity(x, k, A)))
        columns[2].append(response([float(i == k) for i in range(n)], [0.0] * len(A)))
    flat: list[list[Scalar]] = []
    for part in (0, 1):
        for by_x in columns:
            matrix: Matrix = [list(row) for row in zip(*(column[part] for column in by_x))]
            flat.append([entry for row in matrix for entry in row])
    return flat


def _by_position(x: State, k: int, a: list[Scalar], multipliers: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """(d(A^T lambda)/dq_k, d(rhs - A a)/dq_k) at constant a, lambda and v."""
    unit = [float(i == k) for i in range(x.model.nv)]
    moving = Kinematics(x.model, x.q, unit).configuration(unit)
    level = moving[0].level
    rows = x.constraints.rows(moving, x.v, x.parameters[2:])
    matrix = [[rate_of(entry, level) for entry in row] for row in rows.matrix]
    by_velocity, by_position = x.parameters[:2]
    wanted = [
        -1.0 * (dot(row, a) + rate_of(bias, level) + by_velocity * dot(row, x.v) + by_position * rate_of(h, level))
        for row, bias, h in zip(matrix, rows.bias, rows.position)
    ]
    return transposed_times(matrix, multipliers), wanted


def _by_velocity(x: State, k: int, A: Any) -> list[Scalar]:
    """d(rhs)/dv_k."""
    level = level_above(*x.q, *x.v)
    v = [Jet(value, float(i == k), 0.0, level) for i, value in enumerate(x.v)]
    rows = x.constraints.rows(x.q, v, x.parameters[2:])
    return [-1.0 * (rate_of(bias, level) + x.parameters[0] * row[k]) for bias, row in zip(rows.bias, A)]
