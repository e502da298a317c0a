# SPDX-License-Identifier: Apache-2.0
"""Torques of hybrid position/force control (theory.md section 8; 001 section 5).

The constraint rows A and the task rows A_t, whose values theta = h_t(q) are what is controlled, go
into one orthonormal basis in quasi-velocities, constraints first:

    W^-1 (A^T, A_t^T) = (Q_c, Q_t) (R_c, R_ct; 0, R_t)

No minimal coordinates are needed: with v = J thetad, A J = 0, A_t J = 1 the column space of W^T J is
that of Q_t, and where constraints and task leave freedoms over, J is the inverse of least kinetic
energy. Motion along these is damped, and drawn to a posture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.constrained_dynamics import (
    Basis,
    Rows,
    constraint_basis,
    independent_rows,
    orthonormal_basis,
    squares,
)
from rbd_dynamics.algorithms.tree_factor import MassFactor
from rbd_dynamics.spatial.scalar import Scalar, dot, less, where

Vector = Sequence[Scalar]


class ControlledRows(NamedTuple):
    """A (m rows) above A_t, with Adot v of both, in the metric of M."""

    W: MassFactor
    matrix: Sequence[Vector]
    bias: Vector
    constraints: Basis
    all: Basis

    @classmethod
    def of(cls, M: Sequence[Vector], rows: Rows, m: int) -> ControlledRows:
        W = MassFactor.of(M)
        whole = constraint_basis(W, rows.matrix, rows.size)
        first = Basis(whole.Q[:m], [row[:m] for row in whole.R[:m]], whole.inverse[:m], whole.kept[:m])
        return cls(W, rows.matrix, rows.bias, first, whole)

    @property
    def m(self) -> int:
        return len(self.constraints.Q)

    def velocity(self, rates: Vector) -> list[Scalar]:
        """W^T v of v = J rates: zero along the constraints and the freedoms left over."""
        return self.all.combine(self.all.solve_transposed([*[0.0] * self.m, *rates]))

    def pushed(self, efforts: Vector) -> list[Scalar]:
        """Accelerations of all rows by efforts (nv) on an arm at rest, which nothing constrains."""
        return self._accelerations(self.W.solve(efforts))

    def pushed_along(self, efforts: Vector) -> list[Scalar]:
        """The same where the constraints hold."""
        return self._accelerations(self.constraints.remainder(self.W.solve(efforts)))

    def _accelerations(self, quasi: Vector) -> list[Scalar]:
        a = self.W.solve_transposed(quasi)
        return [dot(row, a) for row in self.matrix]

    def left_over(self, a: Vector) -> list[Scalar]:
        """W^T a without what constraints and task determine."""
        return self.all.remainder(self.W.times_transposed(a))


def geometric_torque(rows: ControlledRows, stopping: Vector, acceleration: Vector, posture: Vector) -> Vector:
    """M a_d without bias and constraint force, for task accelerations theta'' (feedback included).

    M J theta'' + M Jdot thetad, with A a = stopping - Adot v, which is zero but for damping of what moves
    against the constraints. `posture` (nv) is an acceleration for what is left over.
    """
    wanted = [x - bias for x, bias in zip([*stopping, *acceleration], rows.bias)]
    quasi = rows.all.combine(rows.all.solve_transposed(wanted))
    return rows.W.times([x + y for x, y in zip(quasi, rows.left_over(posture))])


def gauge_invariant_torque(
    rows: ControlledRows,
    rates_of_matrix: Sequence[Vector],
    C: Sequence[Vector],
    v: Vector,
    stopping: Vector,
    reference: Vector,
    reference_rate: Vector,
    gain: Scalar,
    posture: Vector,
) -> Vector:
    """Torque without gravity and constraint force, for task velocities rho = thetad_d - K_p e and their rate.

    P_w (M (J rhod + Jdot rho) + C J rho) - K_d W V2 V2^T W^T (v - J rho) + (1 - P_w) (M a_n + C v).
    No basis V2 of the tangent space is chosen: V2 V2^T = 1 - Q_c Q_c^T. rates_of_matrix is Adot.
    """
    W, m = rows.W, rows.m
    wanted_velocity = rows.velocity(reference)
    v_r = W.solve_transposed(wanted_velocity)
    changing = [rate - dot(row, v_r) for rate, row in zip([*[0.0] * m, *reference_rate], rates_of_matrix)]
    wanted_acceleration = rows.all.combine(rows.all.solve_transposed(changing))
    error = [x - y for x, y in zip(W.times_transposed(v), wanted_velocity)]
    coriolis = W.solve([dot(row, v_r) for row in C])
    tangential = [
        a + c + p - gain * e for a, c, p, e in zip(wanted_acceleration, coriolis, rows.left_over(posture), error)
    ]
    normal = rows.constraints.combine(
        rows.constraints.solve_transposed([x - bias for x, bias in zip(stopping, rows.bias)])
    )
    force = [a + c for a, c in zip(normal, W.solve([dot(row, v) for row in C]))]
    kept = rows.constraints.combine(rows.constraints.coordinates(force))
    return W.times([x + y for x, y in zip(rows.constraints.remainder(tangential), kept)])


def actuated_torque(rows: ControlledRows, wanted: Vector, actuated: Sequence[bool]) -> tuple[Vector, Vector]:
    """(tau, lacking): the torque of the actuated joints nearest to `wanted` that makes the same motion.

    P_w tau = P_w wanted; of all such torques the one nearest keeps the constraint forces, so the
    internal forces, as near to what they are with `wanted` as the actuators can. lacking (nv) is
    P_w (wanted - tau), zero where there are enough actuators.
    """
    if all(actuated):
        return list(wanted), [0.0] * len(wanted)
    n = range(len(wanted))
    W, P = rows.W, rows.constraints
    columns = [W.times(P.remainder(W.solve([float(i == k) for i in n]))) for k in n if actuated[k]]
    passive = [0.0 if actuated[k] else wanted[k] for k in n]
    missing = W.times(P.remainder(W.solve(passive)))
    # the shortest solution lies in the span of the matrix' rows, which P_w has made of those of the identity
    by_rows = orthonormal_basis([list(row) for row in zip(*columns)], squares(columns) + float(len(columns)))
    step = by_rows.combine(by_rows.solve_transposed(missing))
    steps = iter(step)
    tau = [wanted[k] + next(steps) if actuated[k] else 0.0 for k in n]
    made = [dot(row, step) for row in zip(*columns)]
    return tau, [x - y for x, y in zip(missing, made)]


def multipliers_of(map_: Sequence[Vector], wrench: Vector) -> list[Scalar]:
    """lambda of a wrench E^T lambda, the nearest where the wrench has other parts; E (m, 6)."""
    basis = independent_rows(map_, map_, squares(map_))
    return basis.solve(basis.coordinates(wrench))


def clamped(value: Scalar, limit: Scalar) -> Scalar:
    """The value, held within plus and minus the limit."""
    return where(less(limit, value), limit, where(less(value, -limit), -limit, value))
