# SPDX-License-Identifier: Apache-2.0
"""Dynamics under constraints A v = 0 (theory.md section 7; 000 section 3, 001 section 5).

Everything follows from one orthonormal basis. With M = W W^T the quasi-velocities W^T v have the
identity as mass matrix, and in them the constraint directions are the columns of X = W^-1 A^T.
Gram-Schmidt on these, X = Q R, gives

    A M^-1 A^T = R^T R,  P_w = W (1 - Q Q^T) W^-1,  P_T = W^-T (1 - Q Q^T) W^T,

without squaring what is badly conditioned. A row that lies within the span of those before it, in the
metric of kinetic energy, is dropped, and so is one that is rounding beside all rows (`spatial/rank.py`): R has a zero
row there, so redundant rows cost nothing but their multipliers' being no longer unique, and those of minimum norm are
returned. A row that contradicts rows before it is dropped as well; the residual tells.

What a joint feels of the rows, a row of A^T, is held against all of A: where it is dropped, no multiplier acts on the
joint.

Where M is singular, because joints move no mass, the constraints may still hold these joints. Then M + s A^T A stands
for M, with any s > 0: it is regular, as M is on what the rows let through. Motion and projections are the same
for it, and its multipliers are lambda + s A a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.tree_factor import MassFactor, Matrix
from rbd_dynamics.spatial.rank import DEPENDENT, ROUNDING, counts
from rbd_dynamics.spatial.scalar import Scalar, dot, reciprocal, sqrt, where

Vector = Sequence[Scalar]

#: squared size of the terms of rows that do not tell it: numbers below 1e-12 (rad or m a rad or m) are rounding
UNTOLD = 1e-4


class Rows(NamedTuple):
    """Rows of constraints at one state: h, A and Adot v. Rows without h have zeros there.

    terms: squared size of what the numbers of A are sums of, which tells rounding where all of A is.
    """

    position: list[Scalar]
    matrix: list[list[Scalar]]
    bias: list[Scalar]
    terms: Scalar = UNTOLD

    @property
    def size(self) -> Scalar:
        """Squared scale, beside which numbers of A are rounding or not."""
        return self.terms + squares(self.matrix)

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
        # what the dropped columns could take over: rows of R that were kept are independent, whatever their lengths
        rows = _gram_schmidt(self.R, lambda i, _: self.kept[i])
        return rows.combine(rows.coordinates(x))


def orthonormal_basis(columns: Sequence[Vector], scale: Scalar, *, tolerance: float = DEPENDENT) -> Basis:
    """Modified Gram-Schmidt; a column is dropped where what is new in it does not count beside the squared scale."""
    return _gram_schmidt(columns, lambda _, square: counts(square, scale, tolerance))


def independent_rows(X: Sequence[Vector], rows: Sequence[Vector], scale: Scalar) -> Basis:
    """Basis of columns X, one for each of `rows`, whose units may differ: each is held against its own length.

    A row that is rounding beside the squared scale, that of all rows, is dropped.
    """
    columns = without_rounding(X, rows, scale)
    lengths = [dot(column, column) for column in columns]
    return _gram_schmidt(columns, lambda j, square: counts(square, lengths[j], DEPENDENT))


def without_rounding(X: Sequence[Vector], rows: Sequence[Vector], scale: Scalar) -> list[list[Scalar]]:
    """X (m, ...), made of rows, with zeros where a row does not count beside the squared scale."""
    return [[where(counts(dot(row, row), scale, ROUNDING), value, 0.0) for value in x] for x, row in zip(X, rows)]


def _gram_schmidt(columns: Sequence[Vector], keeps: Callable[[int, Scalar], Scalar]) -> Basis:
    """keeps: whether a column counts, of its number and the squared length of what is new in it."""
    m = len(columns)
    Q: list[list[Scalar]] = []
    R: Matrix = [[0.0] * m for _ in range(m)]
    inverse: list[Scalar] = []
    kept: list[Scalar] = []
    for j, column in enumerate(columns):
        rest = list(column)
        for i, q in enumerate(Q):
            R[i][j] = dot(q, rest)
            rest = [x - R[i][j] * y for x, y in zip(rest, q)]
        square = dot(rest, rest)
        keep = keeps(j, square)
        length = sqrt(square)
        inverse.append(where(keep, reciprocal(length), 0.0))
        R[j][j] = where(keep, length, 0.0)
        Q.append([inverse[j] * x for x in rest])
        kept.append(where(keep, 1.0, 0.0))
    return Basis(Q, R, inverse, kept)


def constraint_basis(W: MassFactor, A: Sequence[Vector], scale: Scalar) -> Basis:
    """Basis of W^-1 A^T. scale: `Rows.size`."""
    return independent_rows([W.solve(row) for row in A], A, scale)


def held_mass_matrix(M: Sequence[Vector], A: Sequence[Vector]) -> tuple[Matrix, Scalar]:
    """M + s A^T A and s, of M's own size."""
    s = sum((row[k] for k, row in enumerate(M)), 0.0) * reciprocal(squares(A))
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
    rows: Rows,
    rhs: Vector,
    a: Vector,
    tau: Vector,
    prescribed: Vector,
    massless: bool = False,
) -> Constrained:
    """Solve M a + bias = tau + A^T lambda, A a = rhs for what is not given.

    M (nv, nv); rows: A (m, nv); rhs (m) is -Adot v and stabilisation; where `prescribed` is non-zero the
    acceleration is given and the torque is found, elsewhere the reverse. massless: M is singular, the rows have
    to hold what moves no mass.
    """
    n, A = range(len(M)), rows.matrix
    free = [where(p, 0.0, 1.0) for p in prescribed]
    given = [where(p, x, 0.0) for p, x in zip(prescribed, a)]
    partition = [[where(prescribed[i], 1.0, M[i][i]) if i == j else free[i] * free[j] * M[i][j] for j in n] for i in n]
    loose = [[k * x for k, x in zip(free, row)] for row in A]
    partition, scale = held_mass_matrix(partition, loose) if massless else (partition, 0.0)
    W = MassFactor.of(partition)
    basis = constraint_basis(W, loose, rows.size)
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
    needed: Vector, rows: Rows, passive_torque: Vector, actuated: Vector, least_torque: bool
) -> ActuatorTorque:
    """Torques of the actuated joints, and multipliers, for a motion that the constraints allow.

    needed (nv): M a + b; passive_torque (nv): what acts at the joints that are not actuated. Of many
    solutions the one with the least norm of the actuators' torque, or of the multipliers.
    """
    felt, scale = [list(row) for row in zip(*rows.matrix)], rows.size  # A^T: what each joint feels
    passive = [where(k, 0.0, 1.0) for k in actuated]
    missing = [k * (x - y) for k, x, y in zip(passive, needed, passive_torque)]
    by_passive = orthonormal_basis([[k * x for x in row] for k, row in zip(passive, felt)], scale)
    multipliers = by_passive.combine(by_passive.solve_transposed(missing))
    if least_torque:
        # move within what the passive joints do not feel
        active = [[where(k, x, 0.0) for x in row] for k, row in zip(actuated, felt)]
        left_over = [by_passive.remainder(row) for row in active]  # rows of A_a^T N N^T
        columns = orthonormal_basis([list(column) for column in zip(*left_over)], scale)
        excess = [where(k, x - dot(row, multipliers), 0.0) for k, x, row in zip(actuated, needed, felt)]
        step = columns.solve(columns.coordinates(excess))
        multipliers = [x + y for x, y in zip(multipliers, by_passive.remainder(step))]
    by_any = orthonormal_basis(felt, scale)  # nothing along what no joint feels
    multipliers = by_any.combine(by_any.coordinates(multipliers))
    left = [x - dot(row, multipliers) for x, row in zip(needed, felt)]
    tau = [where(k, x, y) for k, x, y in zip(actuated, left, passive_torque)]
    residual = [k * (x - y) for k, x, y in zip(passive, left, passive_torque)]
    return ActuatorTorque(tau, multipliers, by_passive.rank, residual)


def force_projection(M: Sequence[Vector], rows: Rows, massless: bool = False) -> tuple[Matrix, Scalar]:
    """P_w (nv, nv) = 1 - A^T (A M^-1 A^T)^-1 A M^-1, the projection of forces; P_T is its transpose. And the rank."""
    n, A = len(M), rows.matrix
    W = MassFactor.of(held_mass_matrix(M, A)[0] if massless else M)
    basis = constraint_basis(W, A, rows.size)
    columns = [W.times(basis.remainder(W.solve([float(i == k) for i in range(n)]))) for k in range(n)]
    return [list(row) for row in zip(*columns)], basis.rank


def constraint_impulse(
    M: Sequence[Vector], rows: Rows, v: Vector, after: Vector, massless: bool = False
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """(v+, impulses, rank) when the constraints suddenly hold: A v+ = after, M (v+ - v) = A^T impulses."""
    A = rows.matrix
    M, scale = held_mass_matrix(M, A) if massless else (M, 0.0)
    W = MassFactor.of(M)
    basis = constraint_basis(W, A, rows.size)
    lacking = basis.solve_transposed([value - dot(row, v) for value, row in zip(after, A)])
    change = W.solve_transposed(basis.combine(lacking))
    impulses = basis.solve(lacking)
    if massless:
        impulses = [x - scale * dot(row, change) for x, row in zip(impulses, A)]
    return [x + y for x, y in zip(v, change)], impulses, basis.rank


def squares(rows: Sequence[Vector]) -> Scalar:
    """Sum of the squares of all numbers."""
    return sum((dot(row, row) for row in rows), 0.0)


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
