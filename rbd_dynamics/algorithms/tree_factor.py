# SPDX-License-Identifier: Apache-2.0
"""Factorisation and solution for matrices with the sparsity of the tree (theory.md section 3).

M = U D U^T with U unit upper triangular. Eliminating from the tips to the base creates no new
entries: U_ij is zero unless joint i lies between joint j and the base. Zeros of M that are known
when the algorithm is specialised cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.spatial.row_sweeps import Step, Sweep, Unfinished, flat, terms_of
from rbd_dynamics.spatial.scalar import Scalar, dot, reciprocal, sqrt

Matrix = list[list[Scalar]]


class TreeFactor(NamedTuple):
    """U (unit upper triangular, n x n), D (n) and 1 / D of M = U D U^T."""

    U: Matrix
    D: list[Scalar]
    inverse: list[Scalar]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with M x = b."""
        x = self.solve_upper(b)
        return self.solve_upper_transposed([k * value for k, value in zip(self.inverse, x)])

    def solve_upper(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with U x = b."""
        x = list(b)
        for k in reversed(range(len(x))):
            for i in range(k):
                x[i] = x[i] - self.U[i][k] * x[k]
        return x

    def solve_upper_transposed(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with U^T x = b."""
        x = list(b)
        for k in range(len(x)):
            for i in range(k):
                x[k] = x[k] - self.U[i][k] * x[i]
        return x

    def inverse_upper(self, sign: float = 1.0) -> Matrix:
        """sign * U^-1, upper triangular."""
        n = range(len(self.D))
        columns = [self.solve_upper([sign * (i == k) for i in n]) for k in n]
        return [[columns[k][i] for k in n] for i in n]

    def sweeps(self, up: int, down: int, sign: float = 1.0) -> list[Sweep]:
        """Sweeps over the first `up` and `down` matrices: U^-1 X is made of X, and sign * M^-1 X of that."""
        n = len(self.D)
        upward = [
            Step(i, 1.0, terms_of((self.U[i][k], k) for k in reversed(range(i + 1, n)))) for i in reversed(range(n))
        ]
        downward = [Step(k, sign * self.inverse[k], terms_of((self.U[i][k], i) for i in range(k))) for k in range(n)]
        return [Sweep([step for step in upward if step.terms], up, less=True), Sweep(downward, down, less=True)]

    def inverse_matrix(self) -> Unfinished:
        """M^-1 = U^-T D^-1 U^-1, symmetric."""
        return Unfinished([flat(self.inverse_upper())], 1, self.sweeps(0, 1), symmetric=0)


def factorise(M: Sequence[Sequence[Scalar]]) -> TreeFactor:
    """U D U^T of a symmetric positive definite M, from the last row up."""
    n = len(M)
    rest = [list(row) for row in M]
    U: Matrix = [[float(i == j) for j in range(n)] for i in range(n)]
    D: list[Scalar] = [0.0] * n
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        D[k] = rest[k][k]
        inverse[k] = reciprocal(D[k])
        for i in range(k):
            U[i][k] = rest[i][k] * inverse[k]
        for i in range(k):
            for j in range(i + 1):
                rest[i][j] = rest[j][i] = rest[i][j] - U[i][k] * rest[j][k]
    return TreeFactor(U, D, inverse)


class MassFactor(NamedTuple):
    """W = U D^(1/2) with M = W W^T."""

    factor: TreeFactor
    roots: list[Scalar]
    inverse_roots: list[Scalar]

    @classmethod
    def of(cls, M: Sequence[Sequence[Scalar]]) -> MassFactor:
        factor = factorise(M)
        roots = [sqrt(d) for d in factor.D]
        return cls(factor, roots, [reciprocal(root) for root in roots])

    def times(self, x: Sequence[Scalar]) -> list[Scalar]:
        """W x."""
        scaled = [root * value for root, value in zip(self.roots, x)]
        return [dot(row, scaled) for row in self.factor.U]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with W x = b."""
        return [k * value for k, value in zip(self.inverse_roots, self.factor.solve_upper(b))]

    def times_transposed(self, x: Sequence[Scalar]) -> list[Scalar]:
        """W^T x."""
        return [root * dot(column, x) for root, column in zip(self.roots, zip(*self.factor.U))]

    def solve_transposed(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with W^T x = b."""
        return self.factor.solve_upper_transposed([k * value for k, value in zip(self.inverse_roots, b)])

    def inverse(self) -> Matrix:
        """M^-1."""
        n = range(len(self.roots))
        columns = [self.solve([float(i == k) for i in n]) for k in n]
        found = [[dot(columns[i], columns[k]) for k in range(i + 1)] for i in n]
        return [[found[max(i, k)][min(i, k)] for k in n] for i in n]
