# SPDX-License-Identifier: Apache-2.0
"""The steps of `interior_point`, in the part of Python that `compiler.loops` translates.

Arrays: width (cells); P, Q, low, high (cells, rows); L, M, N, e, bound (cells + 1, rates); X (cells + 1). Multipliers
and slacks of rows: above and below (cells, rows), of rates: up and down (cells + 1, rates).
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TIED, STIFF = 3, 1e3  # cells at both ends whose speeds are held together, as almost nothing depends on them alone
SMOOTH = 0.1  # for what no limit depends on, the change of X from cell to cell would swing
CENTRING = 0.5  # of the present gap: what the next step aims at
KEPT = 0.95  # of the way to the nearest bound
SHORTEST = 1e-9  # step


def slacks(
    cells: int, rows: int, rates: int, P: Array, Q: Array, low: Array, high: Array, L: Array, M: Array, N: Array,
    e: Array, bound: Array, X: Array, above: Array, below: Array, up: Array, down: Array,
) -> int:  # fmt: skip
    """What is left to each bound at X."""
    for k in range(cells):
        here = X[k]
        there = X[k + 1]
        for j in range(rows):
            i = k * rows + j
            value = P[i] * here + Q[i] * there
            above[i] = high[i] - value
            below[i] = value - low[i]
    for k in range(cells + 1):
        here = X[k]
        before = here
        after = here
        if k > 0:
            before = X[k - 1]
        if k < cells:
            after = X[k + 1]
        root = 1.0 / sqrt(here)
        for j in range(rates):
            i = k * rates + j
            value = L[i] * before + M[i] * here + N[i] * after + e[i]
            most = bound[i] * root
            up[i] = most - value
            down[i] = most + value
    return 1


def duration(
    cells: int, width: Array, X: Array, total: Array, gradient: Array, curve: Array, beside: Array, far: Array
) -> int:
    """Its value (total[0]), gradient, and the diagonals of its second derivative; with what ties and smooths X."""
    total[0] = 0.0
    for k in range(cells + 1):
        gradient[k] = 0.0
        curve[k] = 0.0
    for k in range(cells):
        a = sqrt(X[k])
        b = sqrt(X[k + 1])
        both = a + b
        each = 2.0 * width[k] / both
        total[0] += each
        half = 0.5 * each / both
        third = half / both
        gradient[k] -= half / a
        gradient[k + 1] -= half / b
        curve[k] += third / (a * a) + 0.5 * half / (a * a * a)
        curve[k + 1] += third / (b * b) + 0.5 * half / (b * b * b)
        beside[k] = third / (a * b)
    for k in range(cells):
        if k < TIED or k >= cells - TIED:
            stiff = STIFF * total[0]
            pull = stiff * (X[k + 1] - X[k])
            gradient[k + 1] += pull
            gradient[k] -= pull
            curve[k] += stiff
            curve[k + 1] += stiff
            beside[k] -= stiff
    smooth = SMOOTH * total[0]
    for k in range(cells - 1):
        pull = smooth * (X[k] - 2.0 * X[k + 1] + X[k + 2])
        gradient[k] += pull
        gradient[k + 1] -= 2.0 * pull
        gradient[k + 2] += pull
        curve[k] += smooth
        curve[k + 1] += 4.0 * smooth
        curve[k + 2] += smooth
        beside[k] -= 2.0 * smooth
        beside[k + 1] -= 2.0 * smooth
        far[k] = smooth
    return 1


def solved(count: int, d0: Array, d1: Array, d2: Array, right: Array, step: Array) -> int:
    """Solve with a symmetric matrix of diagonals d0, d1[k] at (k, k + 1), d2[k] at (k, k + 2), overwritten."""
    for k in range(count):
        if d0[k] <= 0.0:
            return 0
        if k + 1 < count:
            f = d1[k] / d0[k]
            d0[k + 1] -= f * d1[k]
            if k + 2 < count:
                d1[k + 1] -= f * d2[k]
            right[k + 1] -= f * right[k]
        if k + 2 < count:
            g = d2[k] / d0[k]
            d0[k + 2] -= g * d2[k]
            right[k + 2] -= g * right[k]
    for index in range(count):
        k = count - 1 - index
        value = right[k]
        if k + 1 < count:
            value = value - d1[k] * step[k + 1]
        if k + 2 < count:
            value = value - d2[k] * step[k + 2]
        step[k] = value / d0[k]
    return 1


def assembled(
    cells: int, rows: int, rates: int, aim: Array, P: Array, Q: Array, L: Array, M: Array, N: Array, bound: Array,
    X: Array, above: Array, below: Array, up: Array, down: Array, m_above: Array, m_below: Array, m_up: Array,
    m_down: Array, d0: Array, d1: Array, d2: Array, right: Array,
) -> int:  # fmt: skip
    """Newton's matrix and right side, added to what d0, d1 and right hold of the duration.

    aim[0]: what slacks times their multipliers shall be.
    """
    mu = aim[0]
    for k in range(cells):
        left = 0.0
        cross = 0.0
        far = 0.0
        push_left = 0.0
        push_far = 0.0
        for j in range(rows):
            i = k * rows + j
            p = P[i]
            q = Q[i]
            high = 1.0 / above[i]
            low = 1.0 / below[i]
            weight = m_above[i] * high + m_below[i] * low
            push = mu * (low - high)
            left = left + weight * p * p
            cross = cross + weight * p * q
            far = far + weight * q * q
            push_left = push_left + push * p
            push_far = push_far + push * q
        d0[k] += left
        d1[k] += cross
        d0[k + 1] += far
        right[k] += push_left
        right[k + 1] += push_far
    for k in range(cells + 1):
        beta = 0.5 / (X[k] * sqrt(X[k]))
        for j in range(rates):
            i = k * rates + j
            rise = M[i] + beta * bound[i]
            fall = M[i] - beta * bound[i]
            high = 1.0 / up[i]
            low = 1.0 / down[i]
            over = m_up[i] * high
            under = m_down[i] * low
            both = over + under
            coupled = over * rise + under * fall
            turn = mu * (low - high)
            d0[k] += over * rise * rise + under * fall * fall
            right[k] += mu * (low * fall - high * rise)
            if k > 0:
                d0[k - 1] += both * L[i] * L[i]
                d1[k - 1] += coupled * L[i]
                right[k - 1] += turn * L[i]
            if k < cells:
                d0[k + 1] += both * N[i] * N[i]
                d1[k] += coupled * N[i]
                right[k + 1] += turn * N[i]
                if k > 0:
                    d2[k - 1] += both * L[i] * N[i]
    return 1


def renewed(count: int, aim: Array, length: Array, slack: Array, multiplier: Array, change: Array) -> int:
    """New multipliers in `change`, which holds the changes of the slacks; length[0]: how far all stay positive."""
    mu = aim[0]
    for i in range(count):
        g = 1.0 / slack[i]
        after = (mu - multiplier[i] * change[i]) * g
        fall = multiplier[i] - after
        if fall * length[0] > KEPT * multiplier[i]:
            length[0] = KEPT * multiplier[i] / fall
        change[i] = after
    return 1


def moved(count: int, length: Array, multiplier: Array, after: Array, slack: Array, total: Array) -> int:
    """Multipliers a part of the way; total[0] grows by what they are times their slacks."""
    for i in range(count):
        multiplier[i] = multiplier[i] + length[0] * (after[i] - multiplier[i])
        total[0] += multiplier[i] * slack[i]
    return 1


def least_time(
    cells: int, rows: int, rates: int, most: int, settings: Array, width: Array, P: Array, Q: Array, low: Array,
    high: Array, L: Array, M: Array, N: Array, e: Array, bound: Array, X: Array, above: Array, below: Array, up:
    Array, down: Array, m_above: Array, m_below: Array, m_up: Array, m_down: Array, t_above: Array, t_below: Array,
    t_up: Array, t_down: Array, d0: Array, d1: Array, d2: Array, right: Array, step: Array, tried: Array, gradient:
    Array, total: Array, aim: Array, length: Array,
) -> int:  # fmt: skip
    """X of the least duration, in place, from a strictly feasible one; how many steps it took.

    settings: the gap to begin and to end with, of the duration. The rest is for its own use: t_... as the slacks.
    """
    of_rows = cells * rows
    of_rates = (cells + 1) * rates
    every = 2.0 * of_rows + 2.0 * of_rates
    slacks(cells, rows, rates, P, Q, low, high, L, M, N, e, bound, X, above, below, up, down)
    duration(cells, width, X, total, gradient, d0, d1, d2)
    gap = settings[0] * total[0]
    for i in range(of_rows):
        m_above[i] = gap / every / above[i]
        m_below[i] = gap / every / below[i]
    for i in range(of_rates):
        m_up[i] = gap / every / up[i]
        m_down[i] = gap / every / down[i]
    for count in range(most):
        duration(cells, width, X, total, gradient, d0, d1, d2)
        if gap <= settings[1] * total[0]:
            return count
        aim[0] = CENTRING * gap / every
        for k in range(cells + 1):
            right[k] = 0.0 - gradient[k]
        assembled(cells, rows, rates, aim, P, Q, L, M, N, bound, X, above, below, up, down, m_above, m_below, m_up,
                  m_down, d0, d1, d2, right)  # fmt: skip
        if solved(cells + 1, d0, d1, d2, right, step) == 0:
            return 0
        length[0] = 1.0
        for k in range(cells):
            for j in range(rows):
                i = k * rows + j
                value = P[i] * step[k] + Q[i] * step[k + 1]
                t_above[i] = 0.0 - value
                t_below[i] = value
        for k in range(cells + 1):
            if step[k] * length[0] < 0.0 - 0.5 * X[k]:
                length[0] = 0.0 - 0.5 * X[k] / step[k]
            beta = 0.5 / (X[k] * sqrt(X[k])) * step[k]
            for j in range(rates):
                i = k * rates + j
                value = M[i] * step[k]
                if k > 0:
                    value = value + L[i] * step[k - 1]
                if k < cells:
                    value = value + N[i] * step[k + 1]
                t_up[i] = 0.0 - value - beta * bound[i]
                t_down[i] = value - beta * bound[i]
        renewed(of_rows, aim, length, above, m_above, t_above)
        renewed(of_rows, aim, length, below, m_below, t_below)
        renewed(of_rates, aim, length, up, m_up, t_up)
        renewed(of_rates, aim, length, down, m_down, t_down)
        clear = 0
        while clear == 0:
            for k in range(cells + 1):
                tried[k] = X[k] + length[0] * step[k]
            clear = 1
            for k in range(cells):
                for j in range(rows):
                    i = k * rows + j
                    value = P[i] * tried[k] + Q[i] * tried[k + 1]
                    if high[i] - value <= (1.0 - KEPT) * above[i] or value - low[i] <= (1.0 - KEPT) * below[i]:
                        clear = 0
            for k in range(cells + 1):
                root = 1.0 / sqrt(tried[k])
                for j in range(rates):
                    i = k * rates + j
                    value = M[i] * tried[k] + e[i]
                    if k > 0:
                        value = value + L[i] * tried[k - 1]
                    if k < cells:
                        value = value + N[i] * tried[k + 1]
                    reach = bound[i] * root
                    if reach - value <= (1.0 - KEPT) * up[i] or reach + value <= (1.0 - KEPT) * down[i]:
                        clear = 0
            if clear == 0:
                length[0] = 0.7 * length[0]
                if length[0] < SHORTEST:
                    return count + 1
        for k in range(cells + 1):
            X[k] = tried[k]
        slacks(cells, rows, rates, P, Q, low, high, L, M, N, e, bound, X, above, below, up, down)
        total[0] = 0.0
        moved(of_rows, length, m_above, t_above, above, total)
        moved(of_rows, length, m_below, t_below, below, total)
        moved(of_rates, length, m_up, t_up, up, total)
        moved(of_rates, length, m_down, t_down, down, total)
        gap = total[0]
    return most
