# SPDX-License-Identifier: Apache-2.0
"""What two features have in common: polygons in the plane of the tangents, one cut to what the other covers."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.loops.layout import BASIS, COUNTS, MOST, POINTS, USED
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]
MOST_POINTS = 8  # of a face
EDGE = 1e-9  # of the extent: what is outside by so little is on it
ALIKE = 1e-7  # of the extent: corners as near as that are one


def outline(w: Array, at: int, t: Table, of: int, to: int) -> int:
    """w[to:]: the corners (2 each) of the convex hull of a feature's points, counterclockwise; returns how many."""
    count = t[of + POINTS]
    b = BASIS
    far = to + 2 * MOST  # of all points
    start = 0
    for k in range(count):
        p = at + 8 + 3 * k
        w[far + 2 * k] = w[p] * w[b + 3] + w[p + 1] * w[b + 4] + w[p + 2] * w[b + 5]
        w[far + 2 * k + 1] = w[p] * w[b + 6] + w[p + 1] * w[b + 7] + w[p + 2] * w[b + 8]
        t[USED + k] = 0
        if w[far + 2 * k] < w[far + 2 * start]:
            start = k
        if w[far + 2 * k] == w[far + 2 * start] and w[far + 2 * k + 1] < w[far + 2 * start + 1]:
            start = k
    found = 0
    here = start
    for _ in range(count):
        w[to + 2 * found] = w[far + 2 * here]
        w[to + 2 * found + 1] = w[far + 2 * here + 1]
        found = found + 1
        t[USED + here] = 1
        x = w[far + 2 * here]
        y = w[far + 2 * here + 1]
        then = here
        ax = 0.0
        ay = 0.0
        for k in range(count):
            bx = w[far + 2 * k] - x
            by = w[far + 2 * k + 1] - y
            turned = ax * by - ay * bx
            nearer = bx * bx + by * by - ax * ax - ay * ay
            if bx * bx + by * by > 0.0 and (turned < 0.0 or (turned == 0.0 and nearer > 0.0)):
                then = k
                ax = bx
                ay = by
        if then == here or then == start or t[USED + then] == 1:
            break
        here = then
    return found


def extent(w: Array, at: int, count: int, to: int) -> int:
    """w[to]: how far the corners are from the first one."""
    w[to] = 0.0
    for k in range(count):
        x = w[at + 2 * k] - w[at]
        y = w[at + 2 * k + 1] - w[at + 1]
        w[to] = max(w[to], sqrt(x * x + y * y))
    return 0


def cut(w: Array, own: int, count: int, other: int, number: int, to: int, size: float) -> int:
    """w[to:]: what a convex polygon of at least 3 corners, counterclockwise, covers of another one, or of a segment.

    Returns how many corners that has.
    """
    n = count
    for k in range(2 * count):
        w[to + k] = w[own + k]
    spare = to + 2 * 2 * MOST  # where each side's result stands first
    for side in range(number):
        after = side + 1
        if after == number:
            after = 0
        px = w[other + 2 * side]
        py = w[other + 2 * side + 1]
        ux = w[other + 2 * after] - px
        uy = w[other + 2 * after + 1] - py
        long = sqrt(ux * ux + uy * uy)
        least = -EDGE * size * long
        new = 0
        for k in range(n):
            last = k - 1
            if k == 0:
                last = n - 1
            ax = w[to + 2 * last]
            ay = w[to + 2 * last + 1]
            bx = w[to + 2 * k]
            by = w[to + 2 * k + 1]
            before = ux * (ay - py) - uy * (ax - px)
            now = ux * (by - py) - uy * (bx - px)
            crosses = 0
            if before >= least and now < least:
                crosses = 1
            if before < least and now >= least:
                crosses = 1
            if crosses == 1 and (n > 2 or k > 0) and new < 2 * MOST - 2:
                part = max(0.0, min(1.0, before / (before - now)))
                w[spare + 2 * new] = ax + part * (bx - ax)
                w[spare + 2 * new + 1] = ay + part * (by - ay)
                new = new + 1
            if now >= least and new < 2 * MOST - 2:
                w[spare + 2 * new] = bx
                w[spare + 2 * new + 1] = by
                new = new + 1
        n = new
        for k in range(2 * n):
            w[to + k] = w[spare + k]
    return n


def overlap(w: Array, own: int, other: int, to: int) -> int:
    """w[to:]: what two segments have in common along the first, 2 points, or none."""
    x = w[own + 2] - w[own]
    y = w[own + 3] - w[own + 1]
    square = x * x + y * y
    if square <= 0.0:
        return 0
    s = ((w[other] - w[own]) * x + (w[other + 1] - w[own + 1]) * y) / square
    e = ((w[other + 2] - w[own]) * x + (w[other + 3] - w[own + 1]) * y) / square
    low = max(0.0, min(s, e))
    high = min(1.0, max(s, e))
    if low > high:
        return 0
    w[to] = w[own] + low * x
    w[to + 1] = w[own + 1] + low * y
    w[to + 2] = w[own] + high * x
    w[to + 3] = w[own + 1] + high * y
    return 2


def distinct(w: Array, at: int, count: int, size: float) -> int:
    """Leaves out corners that are where one is already; returns how many are left."""
    n = 0
    for k in range(count):
        new = 1
        for j in range(n):
            x = w[at + 2 * k] - w[at + 2 * j]
            y = w[at + 2 * k + 1] - w[at + 2 * j + 1]
            if x * x + y * y <= ALIKE * ALIKE * size * size:
                new = 0
        if new == 1:
            w[at + 2 * n] = w[at + 2 * k]
            w[at + 2 * n + 1] = w[at + 2 * k + 1]
            n = n + 1
    return n


def few(w: Array, at: int, count: int, t: Table) -> int:
    """t[COUNTS + k] = 1 of at most eight of the corners, those that reach furthest; how many these are."""
    for k in range(count):
        t[COUNTS + k] = 1
    if count <= MOST_POINTS:
        return count
    for k in range(count):
        t[COUNTS + k] = 0
    c = 1.0
    s = 0.0
    for _ in range(MOST_POINTS):
        best = 0
        for k in range(1, count):
            if (w[at + 2 * k] - w[at + 2 * best]) * c + (w[at + 2 * k + 1] - w[at + 2 * best + 1]) * s > 0.0:
                best = k
        t[COUNTS + best] = 1
        x = (c - s) * sqrt(0.5)
        s = (c + s) * sqrt(0.5)
        c = x
    n = 0
    for k in range(count):
        n = n + t[COUNTS + k]
    return n
