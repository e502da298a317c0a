# SPDX-License-Identifier: Apache-2.0
"""Damping with which all of a tool's swings die out alike, whatever it moves (theory.md section 13).

D = 2 zeta W^-T (W^T K W)^(1/2) W^-1 with J M^-1 J^T = W W^T: twice the ratio times the geometric mean of stiffness and
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

from rbd_dynamics.algorithms.tree_factor import MassFactor, factorise
from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, sqrt, where

Vector = Sequence[Scalar]
Matrix = Sequence[Vector]
TINY = 1e-300
SLOWEST = 1e-4  # of the fastest swing's frequency: slower ones are damped less
ROUNDING = 1e-12  # of a diagonal entry: so little left of it is nothing


class ModalDamping(NamedTuple):
    """The damping D of each axis that has none of its own, and of the others what is given.

    Attributes:
        W: of the mobility W W^T. H: (6, 6), square root of W^T K W. weights: (6) of the axes, the roots of their
            ratios, 0 where a damping is given. own: (6), what is given, 0 elsewhere.
    """

    W: MassFactor
    H: list[list[Scalar]]
    weights: list[Scalar]
    own: list[Scalar]

    @classmethod
    def of(cls, given: Vector, ratios: Vector, K: Matrix, mobility: Matrix) -> ModalDamping:
        """given (6): negative where the ratio counts. mobility (6, 6): J M^-1 J^T, positive definite."""
        W = MassFactor.of(mobility)
        # rows of W^T G, K = G G^T
        C = [W.times_transposed(column) for column in transposed(stiffness_root(K))]
        weights = [where(less(d, 0.0), sqrt(2.0 * ratio + TINY), 0.0) for d, ratio in zip(given, ratios)]
        return cls(W, root_of_square(C), weights, [where(less(d, 0.0), 0.0, d) for d in given])

    def times(self, slip: Vector) -> list[Scalar]:
        """D slip (6)."""
        y = self.W.solve([w * s for w, s in zip(self.weights, slip)])
        z = self.W.solve_transposed([dot(row, y) for row in self.H])
        return [w * x + d * s for w, x, d, s in zip(self.weights, z, self.own, slip)]


def stiffness_root(K: Matrix) -> list[list[Scalar]]:
    """G (n, n), lower triangular, with G G^T = K symmetric, no negative eigenvalues; zero columns where K has none."""
    n = len(K)
    G: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        left = K[j][j] - dot(G[j][:j], G[j][:j])
        there = less(ROUNDING * K[j][j], left)
        G[j][j] = sqrt(where(there, left, 0.0) + TINY)
        inverse = where(there, reciprocal(G[j][j]), 0.0)
        for i in range(j + 1, n):
            G[i][j] = (K[i][j] - dot(G[i][:j], G[j][:j])) * inverse
    return G


def root_of_square(C: Matrix) -> list[list[Scalar]]:
    """(C^T C)^(1/2) of C (n, n)."""
    n = range(len(C))
    scale = reciprocal(sqrt(sum((dot(row, row) for row in C), 0.0) + TINY))
    X = [[scale * x for x in row] for row in C]
    for a, b, c in halley_steps(SLOWEST):
        columns = transposed(X)
        squares = [[dot(columns[i], columns[j]) for j in range(i + 1)] for i in n]
        near = factorise([[c * squares[max(i, j)][min(i, j)] + float(i == j) for j in n] for i in n])
        X = [[b / c * x + (a - b / c) * y for x, y in zip(row, near.solve(row))] for row in X]
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


def transposed(A: Matrix) -> list[list[Scalar]]:
    return [list(column) for column in zip(*A)]
