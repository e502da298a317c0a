# SPDX-License-Identifier: Apache-2.0
"""Dynamics under constraints A v = 0 (theory.md section 7; 000 section 3, 001 section 5).

Everything follows from one orthonormal basis. With M = W W^T the quasi-velocities W^T v have the
identity as mass matrix, and in them the constraint directions are the columns of X = W^-1 A^T.
Gram-Schmidt on these, X = Q R, gives

    A M^-1 A^T = R^T R,  P_w = W (1 - Q Q^T) W^-1,  P_T = W^-T (1 - Q Q^T) W^T,

without squaring what is badly conditioned. A row that lies within the span of those before it, to
`RANK_TOLERANCE`, is dropped: R has a zero row there, so redundant rows cost nothing but their
multipliers' being no longer unique, and those of minimum norm are returned. A row that contradicts
rows before it is dropped as well; the residual tells.

Where M is singular, because joints move no mass, the constraints may still hold these joints. Then M + s A^T A stands
for M, with any s > 0: it is regular, as M is on what the rows let through. Motion and projections are the same
for it, and its multipliers are lambda + s A a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.tree_factor import MassFactor, Matrix
from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, sqrt, where

Vector = Sequence[Scalar]

#: a row whose numbers are all smaller (rad or m per rad or m) holds nothing: it is rounding
ZERO_ROW = 1e-12

#: sine of the angle, in the metric of kinetic energy, below which a row counts as a combination of earlier ones
RANK_TOLERANCE = 1e-7


class Rows(NamedTuple):
    """Rows of constraints at one state: h, A and Adot v. Rows without h have zeros there."""

    position: list[Scalar]
    matrix: list[list[Scalar]]
    bias: list[Scalar]

    def __add__(self, other: Rows) -> Rows:  # type: ignore[override]
        return Rows(*(a + b for a, b in zip(self, other)))


class Basis(NamedTuple):
    """Columns X = Q R, with Q orthonormal or zero where a column was dropped."""

    Q: list[list[Scalar]]  # columns
    R: Matrix  # upper triangular, (m, m)
    inverse: list[Scalar]  # of R's diagonal, zero where dropped
    kept: list[Scalar]  # 1 or 0

    @property
    def rank(self) -> Scalar:
        return sum(self.kept, 0.0)

    def coordinates(self, x: Vector) -> list[Scalar]:
        """Q^T x."""
        return [dot(column, x) for column in self.Q]

    def combine(self, c: Vector) -> list[Scalar]:
        """Q c."""
        return _combination(self.Q, c)

    def remainder(self, x: Vector) -> list[Scalar]:
        """(1 - Q Q^T) x."""
        return _difference(x, self.combine(self.coordinates(x)))

    def solve_transposed(self, rhs: Vector) -> list[Scalar]:
        """c with R^T c = rhs in the rows that were kept, zero in the others."""
        c: list[Scalar] = []
        for j, value in enumerate(rhs):
            c.append(self.inverse[j] * (value - sum((self.R[i][j] * c[i] for i in range(j)), 0.0)))
        return c

    def solve(self, d: Vector) -> list[Scalar]:
        """The shortest x with R x = d, d zero where a column was dropped."""
        n = len(d)
        x: list[Scalar] = [0.0] * n
        for i in reversed(range(n)):
            x[i] = self.inverse[i] * (d[i] - sum((self.R[i][k] * x[k] for k in range(i + 1, n)), 0.0))
        if n == 1:
            return x
        rows = orthonormal_basis(self.R, 0.0)  # what the dropped columns could take over
        return rows.combine(rows.coordinates(x))


def orthonormal_basis(
    columns: Sequence[Vector], tolerance: float = RANK_TOLERANCE, scale: Scalar | None = None
) -> Basis:
    """Modified Gram-Schmidt; a column is dropped where less than `tolerance` of its length is new.

    scale: a squared length to compare with in place of each column's own, which may be rounding alone.
    """
    m = len(columns)
    Q: list[list[Scalar]] = []
    R: Matrix = [[0.0] * m for _ in range(m)]
    inverse: list[Scalar] = []
    kept: list[Scalar] = []
    for j, column in enumerate(columns):
        rest = list(column)
        whole = dot(rest, rest) if scale is None else scale
        for i, q in enumerate(Q):
            R[i][j] = dot(q, rest)
            rest = [x - R[i][j] * y for x, y in zip(rest, q)]
        square = dot(rest, rest)
        keep = less(tolerance * tolerance * whole, square)
        length = sqrt(square)
        inverse.append(where(keep, reciprocal(length), 0.0))
        R[j][j] = where(keep, length, 0.0)
        Q.append([inverse[j] * x for x in rest])
        kept.append(where(keep, 1.0, 0.0))
    return Basis(Q, R, inverse, kept)


def constraint_basis(W: MassFactor, A: Sequence[Vector]) -> Basis:
    """Basis of W^-1 A^T, without rows that are zero but for rounding."""
    columns = []
    for row in A:
        holds = less(ZERO_ROW * ZERO_ROW, dot(row, row))
        columns.append([where(holds, x, 0.0) for x in W.solve(row)])
    return orthonormal_basis(columns)


def held_mass_matrix(M: Sequence[Vector], A: Sequence[Vector]) -> tuple[Matrix, Scalar]:
    """M + s A^T A and s, of M's own size."""
    s = sum((row[k] for k, row in enumerate(M)), 0.0) * reciprocal(sum((dot(row, row) for row in A), 0.0))
    columns = list(zip(*A))
    return [[x + s * dot(columns[i], columns[j]) for j, x in enumerate(row)] for i, row in enumerate(M)], s


class Constrained(NamedTuple):
    """Result of constrained dynamics."""

    a: list[Scalar]
    tau: list[Scalar]
    multipliers: list[Scalar]
    rank: Scalar
    residual: list[Scalar]  # A a - rhs


def constrained_hybrid_dynamics(
    M: Sequence[Vector],
    bias: Vector,
    A: Sequence[Vector],
    rhs: Vector,
    a: Vector,
    tau: Vector,
    prescribed: Vector,
    massless: bool = False,
) -> Constrained:
    """Solve M a + bias = tau + A^T lambda, A a = rhs for what is not given.

    M (nv, nv); A (m, nv); rhs (m) is -Adot v and stabilisation; where `prescribed` is non-zero the
    acceleration is given and the torque is found, elsewhere the reverse. massless: M is singular, the rows have
    to hold what moves no mass.
    """
    n = range(len(M))
    free = [where(p, 0.0, 1.0) for p in prescribed]
    given = [where(p, x, 0.0) for p, x in zip(prescribed, a)]
    partition = [[where(prescribed[i], 1.0, M[i][i]) if i == j else free[i] * free[j] * M[i][j] for j in n] for i in n]
    loose = [[k * x for k, x in zip(free, row)] for row in A]
    partition, scale = held_mass_matrix(partition, loose) if massless else (partition, 0.0)
    W = MassFactor.of(partition)
    basis = constraint_basis(W, loose)
    push = W.solve([where(prescribed[i], 0.0, tau[i] - bias[i] - dot(M[i], given)) for i in n])
    wanted = basis.solve_transposed([value - dot(row, given) for value, row in zip(rhs, A)])
    lacking = [c - have for c, have in zip(wanted, basis.coordinates(push))]
    quasi = [x + y for x, y in zip(push, basis.combine(lacking))]
    found = W.solve_transposed(quasi)
    acceleration = [x + y for x, y in zip(found, given)]
    multipliers = basis.solve(lacking)
    if massless:
        multipliers = [x - scale * dot(row, found) for x, row in zip(multipliers, loose)]
    pulled = transposed_times(A, multipliers)
    torque = [where(prescribed[i], dot(M[i], acceleration) + bias[i] - pulled[i], tau[i]) for i in n]
    residual = [dot(row, acceleration) - value for row, value in zip(A, rhs)]
    return Constrained(acceleration, torque, multipliers, basis.rank, residual)


class ActuatorTorque(NamedTuple):
    """Result of constrained inverse dynamics."""

    tau: list[Scalar]
    multipliers: list[Scalar]
    rank: Scalar  # of A_p^T
    residual: list[Scalar]  # torque that passive joints lack, zero at actuated ones


def constrained_inverse_dynamics(
    needed: Vector, A: Sequence[Vector], passive_torque: Vector, actuated: Vector, least_torque: bool
) -> ActuatorTorque:
    """Torques of the actuated joints, and multipliers, for a motion that the constraints allow.

    needed (nv): M a + b; passive_torque (nv): what acts at the joints that are not actuated. Of many
    solutions the one with the least norm of the actuators' torque, or of the multipliers.
    """
    rows = [list(row) for row in zip(*A)]  # of A^T: one a joint
    passive = [where(k, 0.0, 1.0) for k in actuated]
    missing = [k * (x - y) for k, x, y in zip(passive, needed, passive_torque)]
    passive_rows = orthonormal_basis([[k * x for x in row] for k, row in zip(passive, rows)])
    multipliers = passive_rows.combine(passive_rows.solve_transposed(missing))
    if least_torque:
        # move within what the passive joints do not feel
        active = [[where(k, x, 0.0) for x in row] for k, row in zip(actuated, rows)]
        felt = [passive_rows.remainder(row) for row in active]  # rows of A_a^T N N^T
        whole = sum((dot(row, row) for row in active), 0.0)
        columns = orthonormal_basis([list(column) for column in zip(*felt)], scale=whole)
        excess = [where(k, x - dot(row, multipliers), 0.0) for k, x, row in zip(actuated, needed, rows)]
        step = columns.solve(columns.coordinates(excess))
        multipliers = [x + y for x, y in zip(multipliers, passive_rows.remainder(step))]
    every_row = orthonormal_basis(rows)  # nothing along what no joint feels
    multipliers = every_row.combine(every_row.coordinates(multipliers))
    left = [x - dot(row, multipliers) for x, row in zip(needed, rows)]
    tau = [where(k, x, y) for k, x, y in zip(actuated, left, passive_torque)]
    residual = [k * (x - y) for k, x, y in zip(passive, left, passive_torque)]
    return ActuatorTorque(tau, multipliers, passive_rows.rank, residual)


def force_projection(M: Sequence[Vector], A: Sequence[Vector], massless: bool = False) -> tuple[Matrix, Scalar]:
    """P_w (nv, nv) = 1 - A^T (A M^-1 A^T)^-1 A M^-1, the projection of forces; P_T is its transpose. And the rank."""
    n = len(M)
    W = MassFactor.of(held_mass_matrix(M, A)[0] if massless else M)
    basis = constraint_basis(W, A)
    columns = [W.times(basis.remainder(W.solve([float(i == k) for i in range(n)]))) for k in range(n)]
    return [list(row) for row in zip(*columns)], basis.rank


def constraint_impulse(
    M: Sequence[Vector], A: Sequence[Vector], v: Vector, after: Vector, massless: bool = False
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """(v+, impulses, rank) when the constraints suddenly hold: A v+ = after, M (v+ - v) = A^T impulses."""
    M, scale = held_mass_matrix(M, A) if massless else (M, 0.0)
    W = MassFactor.of(M)
    basis = constraint_basis(W, A)
    lacking = basis.solve_transposed([value - dot(row, v) for value, row in zip(after, A)])
    change = W.solve_transposed(basis.combine(lacking))
    impulses = basis.solve(lacking)
    if massless:
        impulses = [x - scale * dot(row, change) for x, row in zip(impulses, A)]
    return [x + y for x, y in zip(v, change)], impulses, basis.rank


def transposed_times(A: Sequence[Vector], x: Vector) -> list[Scalar]:
    """A^T x."""
    return [dot(column, x) for column in zip(*A)]


def _combination(columns: Sequence[Vector], c: Vector) -> list[Scalar]:
    total: list[Scalar] = [0.0] * len(columns[0])
    for column, value in zip(columns, c):
        total = [x + value * y for x, y in zip(total, column)]
    return total


def _difference(a: Vector, b: Vector) -> list[Scalar]:
    return [x - y for x, y in zip(a, b)]
