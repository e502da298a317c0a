# SPDX-License-Identifier: Apache-2.0
"""The fastest x(s) along a grid: backwards, to what can be stopped from, then forwards, as fast as that allows.

x = (ds/dt)^2 at the edges of cells, u = d^2 s/dt^2 one number in each. Rows lower <= a u + b x + c <= upper hold with
x at both edges of a cell, so that they hold in between and x does not swing from cell to cell where a vanishes.
Written in the part of Python that `compiler.loops` translates.

Source: Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis (2018).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rbd_dynamics.compiler.loops import Loops

Array = NDArray[np.float64]
TINY = 1e-12  # of a coefficient beside another one: it is none
LARGEST = 1e300


def range_of(row: int, rows: int, width: Array, cell: int, x: Array, at: int, low: Array, high: Array,
             a: Array, b: Array, found: Array) -> int:  # fmt: skip
    """The least and greatest u (found[0], [1]) of a cell at x[at], with the slopes of these by x ([2], [3]).

    found[4]: the greatest x that rows allow by themselves; low, high: bounds less c.
    """
    least = -LARGEST
    most = LARGEST
    slope_least = 0.0
    slope_most = 0.0
    cap = LARGEST
    here = x[at]
    for k in range(rows):
        i = row + k
        beta = b[i]
        for edge in range(2):
            alpha = a[i]
            if edge == 1:
                alpha = a[i] + 2.0 * width[cell] * beta
            if abs(alpha) <= TINY * max(abs(a[i]), width[cell] * abs(beta)):
                if beta > 0.0:
                    cap = min(cap, high[i] / beta)
                if beta < 0.0:
                    cap = min(cap, low[i] / beta)
            else:
                one = (high[i] - beta * here) / alpha
                other = (low[i] - beta * here) / alpha
                slope = 0.0 - beta / alpha
                if max(one, other) < most:
                    most = max(one, other)
                    slope_most = slope
                if min(one, other) > least:
                    least = min(one, other)
                    slope_least = slope
    found[0] = least
    found[1] = most
    found[2] = slope_least
    found[3] = slope_most
    found[4] = cap
    return 1


def fastest_along(
    cells: int, rows: int, width: Array, a: Array, b: Array, low: Array, high: Array, bound: Array, ends: Array,
    x: Array, u: Array, most: Array, found: Array,
) -> int:  # fmt: skip
    """x (cells + 1) at the edges and u (cells); most (cells + 1): from where it can be stopped. 0: there is none.

    width (cells); a, b, low, high (cells, rows); bound (cells + 1) of x; ends: x at the first and the last edge.
    found (5) is for its own use.
    """
    most[cells] = min(ends[1], bound[cells])
    for index in range(cells):
        cell = cells - 1 - index
        row = cell * rows
        d = 2.0 * width[cell]
        after = most[cell + 1]
        most[cell] = bound[cell]
        settled = 0
        for _ in range(4 * rows + 8):
            if settled == 0:
                range_of(row, rows, width, cell, most, cell, low, high, a, b, found)
                here = most[cell]
                if found[4] < here:
                    most[cell] = found[4]
                else:
                    # the next edge: 0 <= x + d u <= after
                    top = (after - here) / d
                    slope_top = -1.0 / d
                    if found[1] < top:
                        top = found[1]
                        slope_top = found[3]
                    bottom = (0.0 - here) / d
                    slope_bottom = -1.0 / d
                    if found[0] > bottom:
                        bottom = found[0]
                        slope_bottom = found[2]
                    gap = bottom - top
                    if gap <= TINY * (abs(bottom) + abs(top)):
                        settled = 1
                    else:
                        steep = slope_bottom - slope_top
                        if steep <= 0.0:
                            return 0
                        nearer = here - gap / steep
                        if nearer >= here:
                            settled = 1
                        most[cell] = nearer
                if most[cell] < 0.0:
                    return 0
        if settled == 0:
            return 0
    if most[0] < ends[0]:
        return 0
    x[0] = ends[0]
    for cell in range(cells):
        d = 2.0 * width[cell]
        range_of(cell * rows, rows, width, cell, x, cell, low, high, a, b, found)
        top = min(found[1], (most[cell + 1] - x[cell]) / d)
        u[cell] = max(top, (0.0 - x[cell]) / d)
        x[cell + 1] = max(0.0, min(most[cell + 1], x[cell] + d * u[cell]))
    return 1


@cache
def loops() -> Loops:
    """Both functions as machine code, where that can be had."""
    from rbd_dynamics.compiler.loops import Loops

    return Loops(range_of, fastest_along, machine_code=True)
