# SPDX-License-Identifier: Apache-2.0
"""Damping with which all of a tool's swings die out alike, whatever it moves (theory.md section 13).

D = 2 zeta L^-T (L^T K L)^(1/2) L^-1 with J M^-1 J^T = L L^T: twice the ratio times the geometric mean of stiffness and
inertia, so that M a + D v + K x = 0 falls apart into swings of one ratio. Source: Albu-Schaeffer, Ott, Frese and
Hirzinger, Cartesian Impedance Control of Redundant Robots, ICRA 2003 (double diagonalization). The square root is the
polar factor of a root of its square, found without eigenvectors and without an inverse of what may be singular:
Nakatsukasa, Bai and Gygi, Optimizing Halley's Iteration for Computing the Matrix Polar Decomposition, SIAM J. Matrix
Anal. Appl. 31(5), 2010.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, sqrt, where

Vector = Sequence[Scalar]
Matrix = Sequence[Vector]
TINY = 1e-300
SLOWEST = 1e-4  # of the fastest swing's frequency: slower ones are damped less
ROUNDING = 1e-12  # of a diagonal entry: so little left of it is nothing


class ModalDamping(NamedTuple):
    """The damping D of each axis that has none of its own, and of the others what is given.

    Attributes:
        L: lower triangular (6, 6), L L^T the mobility. H: (6, 6), square root of L^T K L. weights: (6) of the axes, the
            roots of their ratios, 0 where a damping is given. own: (6), what is given, 0 elsewhere.
    """

    L: list[list[Scalar]]
    H: list[list[Scalar]]
    weights: list[Scalar]
    own: list[Scalar]

    @classmethod
    def of(cls, given: Vector, ratios: Vector, K: Matrix, mobility: Matrix) -> ModalDamping:
        """given (6): negative where the ratio counts. mobility (6, 6): J M^-1 J^T, positive definite."""
        L = cholesky(mobility)
        H = root_of_square(product(transposed(cholesky(K)), L))
        weights = [where(less(d, 0.0), sqrt(2.0 * ratio + TINY), 0.0) for d, ratio in zip(given, ratios)]
        return cls(L, H, weights, [where(less(d, 0.0), 0.0, d) for d in given])

    def times(self, slip: Vector) -> list[Scalar]:
        """D slip (6)."""
        n = range(len(slip))
        y: list[Scalar] = []
        for i in n:
            y.append((self.weights[i] * slip[i] - dot(self.L[i][:i], y)) * reciprocal(self.L[i][i]))
        z = [dot(row, y) for row in self.H]
        for i in reversed(n):
            below = sum((self.L[k][i] * z[k] for k in n[i + 1 :]), 0.0)
            z[i] = (z[i] - below) * reciprocal(self.L[i][i])
        return [w * x + d * s for w, x, d, s in zip(self.weights, z, self.own, slip)]


def cholesky(A: Matrix) -> list[list[Scalar]]:
    """L (n, n), lower triangular, with L L^T = A symmetric, no negative eigenvalues; zero columns where A has none."""
    n = len(A)
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        left = A[j][j] - dot(L[j][:j], L[j][:j])
        there = less(ROUNDING * A[j][j], left)
        L[j][j] = sqrt(where(there, left, 0.0) + TINY)
        inverse = where(there, reciprocal(L[j][j]), 0.0)
        for i in range(j + 1, n):
            L[i][j] = (A[i][j] - dot(L[i][:j], L[j][:j])) * inverse
    return L


def root_of_square(C: Matrix) -> list[list[Scalar]]:
    """(C^T C)^(1/2) of C (n, n)."""
    n = range(len(C))
    scale = reciprocal(sqrt(sum((dot(row, row) for row in C), 0.0) + TINY))
    X = [[scale * x for x in row] for row in C]
    for a, b, c in halley_steps(SLOWEST):
        columns = transposed(X)
        squares = [[dot(columns[i], columns[j]) for j in range(i + 1)] for i in n]
        W = [[c * squares[max(i, j)][min(i, j)] + float(i == j) for j in n] for i in n]
        X = [[b / c * x + (a - b / c) * y for x, y in zip(row, solved)] for row, solved in zip(X, _solve_all(W, X))]
    product_of = [[dot(u, v) for v in transposed(C)] for u in transposed(X)]
    return [[0.5 * (product_of[i][j] + product_of[j][i]) for j in n] for i in n]


def halley_steps(least: float) -> Iterator[tuple[float, float, float]]:
    """(a, b, c) of each step, in which singular values between `least` and 1 become x (a + b x^2) / (1 + c x^2)."""
    while 1.0 - least > 1e-15:
        square = least * least
        d = (4.0 * (1.0 - square) / square**2) ** (1.0 / 3.0)
        root = math.sqrt(1.0 + d)
        a = root + 0.5 * math.sqrt(8.0 - 4.0 * d + 8.0 * (2.0 - square) / (square * root))
        b = 0.25 * (a - 1.0) ** 2
        c = a + b - 1.0
        yield a, b, c
        least = min(1.0, least * (a + b * square) / (1.0 + c * square))


def product(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    columns = transposed(B)
    return [[dot(row, column) for column in columns] for row in A]


def transposed(A: Matrix) -> list[list[Scalar]]:
    return [list(column) for column in zip(*A)]


def _solve_all(W: Matrix, rows: Matrix) -> list[list[Scalar]]:
    """Each row times W^-1, W symmetric and positive definite."""
    L = cholesky(W)
    inverse = [reciprocal(L[i][i]) for i in range(len(L))]
    n, found = range(len(L)), []
    for row in rows:
        y: list[Scalar] = []
        for i in n:
            y.append((row[i] - dot(L[i][:i], y)) * inverse[i])
        for i in reversed(n):
            y[i] = (y[i] - sum((L[k][i] * y[k] for k in n[i + 1 :]), 0.0)) * inverse[i]
        found.append(y)
    return found
