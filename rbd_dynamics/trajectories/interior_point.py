# SPDX-License-Identifier: Apache-2.0
"""The least time over the speeds along a grid, under rows that couple neighbours: an interior point method.

The unknowns are X (n + 1), the squared speeds at the edges of n cells. A quantity of a cell is P X_k + Q X_k+1 + c, and
its rate, over the edge k between two of them, (L X_k-1 + M X_k + N X_k+1 + e) sqrt(X_k) / D. So Newton's matrix has
five diagonals, and a step costs as much as a few products of the rows. The method is a primal-dual one.

Source: Boyd and Vandenberghe, Convex optimization, section 11.7. The bounds of rates are not convex in X; the curvature
that makes them so is left out of Newton's matrix, whose steps then go downhill still.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.trajectories import newton_steps

if TYPE_CHECKING:
    from rbd_dynamics.compiler.loops import Loops

Array = NDArray[np.float64]
STEPS = 120
GAP = 1e-3  # of the duration: what the multipliers may still promise


@dataclass
class Problem:
    """Rows: low < P X_k + Q X_k+1 < high, each (n, rows).

    Rates: -bound < (L X_k-1 + M X_k + N X_k+1 + e) sqrt(X_k) < bound, each (n + 1, rates), L[0] and N[-1] zero; bound
    is that of the rate times D. width (n,): of the cells. All bounds are finite.
    """

    width: Array
    P: Array
    Q: Array
    low: Array
    high: Array
    L: Array
    M: Array
    N: Array
    e: Array
    bound: Array

    def slacks(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """What is left to each bound: of rows, above and below, and of rates, likewise."""
        rows = self.P * X[:-1, None] + self.Q * X[1:, None]
        rates = self.M * X[:, None] + self.e
        rates[1:] += self.L[1:] * X[:-1, None]
        rates[:-1] += self.N[:-1] * X[1:, None]
        most = self.bound / np.sqrt(X)[:, None]
        return self.high - rows, rows - self.low, most - rates, most + rates


def least_time(problem: Problem, X: Array, first_gap: float) -> Array:
    """X (n + 1) of the least time, from a strictly feasible one.

    first_gap: of the duration, what the multipliers promise at first.
    """
    n, rows, rates = len(problem.width), problem.P.shape[1], problem.L.shape[1]
    inputs = [
        np.ascontiguousarray(each)
        for each in (problem.width, problem.P, problem.Q, problem.low, problem.high, problem.L, problem.M, problem.N,
                     problem.e, problem.bound)
    ]  # fmt: skip
    found = X.copy()
    work = [np.empty(size) for _ in range(3) for size in (n * rows, n * rows, (n + 1) * rates, (n + 1) * rates)]
    vectors = [np.zeros(n + 1) for _ in range(7)]
    numbers = [np.zeros(1) for _ in range(3)]
    settings = np.array([first_gap, GAP])
    loops().bind(n, rows, rates, STEPS, settings, *inputs, found, *work, *vectors, *numbers).run()
    return found


@cache
def loops() -> Loops:
    """The steps as machine code, where that can be had."""
    from rbd_dynamics.compiler.loops import Loops

    s = newton_steps
    return Loops(s.slacks, s.duration, s.solved, s.assembled, s.renewed, s.moved, s.least_time, machine_code=True)
