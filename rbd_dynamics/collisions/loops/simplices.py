# SPDX-License-Identifier: Apache-2.0
"""The point of a segment, a triangle or a tetrahedron that is nearest to the origin, and the corners that it needs.

Source: Ericson, Real-Time Collision Detection, 2005.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.loops.layout import SIMPLEX, TRIAL, V

Array = NDArray[np.float64]


def between(w: Array, a: int, b: int, part: float, to: int) -> int:
    """w[to:to+3]: so far on the way from a to b."""
    w[to] = w[a] + part * (w[b] - w[a])
    w[to + 1] = w[a + 1] + part * (w[b + 1] - w[a + 1])
    w[to + 2] = w[a + 2] + part * (w[b + 2] - w[a + 2])
    return 0


def inner(w: Array, a: int, b: int) -> int:
    """w[TRIAL+3] = the product of two vectors."""
    w[TRIAL + 3] = w[a] * w[b] + w[a + 1] * w[b + 1] + w[a + 2] * w[b + 2]
    return 0


def on_segment(w: Array, a: int, b: int, to: int) -> int:
    """w[to:to+3]: what is nearest to the origin. Returns which of a (1) and b (2) it needs."""
    x = w[b] - w[a]
    y = w[b + 1] - w[a + 1]
    z = w[b + 2] - w[a + 2]
    ahead = -(w[a] * x + w[a + 1] * y + w[a + 2] * z)
    square = x * x + y * y + z * z
    if ahead <= 0.0:
        between(w, a, b, 0.0, to)
        return 1
    if ahead >= square:
        between(w, b, a, 0.0, to)
        return 2
    between(w, a, b, ahead / square, to)
    return 3


def on_triangle(w: Array, a: int, b: int, c: int, to: int) -> int:
    """w[to:to+3]: what is nearest to the origin. Returns which of a (1), b (2) and c (4) it needs."""
    ux = w[b] - w[a]
    uy = w[b + 1] - w[a + 1]
    uz = w[b + 2] - w[a + 2]
    vx = w[c] - w[a]
    vy = w[c + 1] - w[a + 1]
    vz = w[c + 2] - w[a + 2]
    d1 = -(ux * w[a] + uy * w[a + 1] + uz * w[a + 2])
    d2 = -(vx * w[a] + vy * w[a + 1] + vz * w[a + 2])
    if d1 <= 0.0 and d2 <= 0.0:
        between(w, a, b, 0.0, to)
        return 1
    d3 = -(ux * w[b] + uy * w[b + 1] + uz * w[b + 2])
    d4 = -(vx * w[b] + vy * w[b + 1] + vz * w[b + 2])
    if d3 >= 0.0 and d4 <= d3:
        between(w, b, a, 0.0, to)
        return 2
    if d1 * d4 - d3 * d2 <= 0.0 and d1 >= 0.0 and d3 <= 0.0 and d1 - d3 > 0.0:
        between(w, a, b, d1 / (d1 - d3), to)
        return 3
    d5 = -(ux * w[c] + uy * w[c + 1] + uz * w[c + 2])
    d6 = -(vx * w[c] + vy * w[c + 1] + vz * w[c + 2])
    if d6 >= 0.0 and d5 <= d6:
        between(w, c, a, 0.0, to)
        return 4
    if d5 * d2 - d1 * d6 <= 0.0 and d2 >= 0.0 and d6 <= 0.0 and d2 - d6 > 0.0:
        between(w, a, c, d2 / (d2 - d6), to)
        return 5
    if d3 * d6 - d5 * d4 <= 0.0 and d4 >= d3 and d5 >= d6 and (d4 - d3) + (d5 - d6) > 0.0:
        between(w, b, c, (d4 - d3) / ((d4 - d3) + (d5 - d6)), to)
        return 6
    nx = uy * vz - uz * vy
    ny = uz * vx - ux * vz
    nz = ux * vy - uy * vx
    square = nx * nx + ny * ny + nz * nz
    if square <= 0.0:
        return on_segment(w, a, b, to)
    height = (w[a] * nx + w[a + 1] * ny + w[a + 2] * nz) / square
    w[to] = height * nx
    w[to + 1] = height * ny
    w[to + 2] = height * nz
    return 7


def is_within(w: Array, a: int, b: int, c: int, d: int) -> int:
    """1 where the origin is on the same side of the triangle as d."""
    ux = w[b] - w[a]
    uy = w[b + 1] - w[a + 1]
    uz = w[b + 2] - w[a + 2]
    vx = w[c] - w[a]
    vy = w[c + 1] - w[a + 1]
    vz = w[c + 2] - w[a + 2]
    nx = uy * vz - uz * vy
    ny = uz * vx - ux * vz
    nz = ux * vy - uy * vx
    origin = -(w[a] * nx + w[a + 1] * ny + w[a + 2] * nz)
    other = (w[d] - w[a]) * nx + (w[d + 1] - w[a + 1]) * ny + (w[d + 2] - w[a + 2]) * nz
    if origin * other > 0.0:
        return 1
    return 0


def kept(w: Array, needed: int, a: int, b: int, c: int) -> int:
    """Makes those of three corners that are needed the simplex; returns how many. In order: a < b < c."""
    n = 0
    rest = needed
    third = 0
    if rest >= 4:
        third = 1
        rest = rest - 4
    second = 0
    if rest >= 2:
        second = 1
        rest = rest - 2
    if rest == 1:
        between(w, a, a, 0.0, SIMPLEX)
        n = 1
    if second == 1:
        between(w, b, b, 0.0, SIMPLEX + 3 * n)
        n = n + 1
    if third == 1:
        between(w, c, c, 0.0, SIMPLEX + 3 * n)
        n = n + 1
    return n


def reduced(w: Array, n: int) -> int:
    """w[V:V+3]: the point of the simplex nearest to the origin; how many corners it needs, 0 where it is inside."""
    p0 = SIMPLEX
    p1 = SIMPLEX + 3
    p2 = SIMPLEX + 6
    p3 = SIMPLEX + 9
    if n == 2:
        return kept(w, on_segment(w, p0, p1, V), p0, p1, p2)
    if n == 3:
        return kept(w, on_triangle(w, p0, p1, p2, V), p0, p1, p2)
    inside = is_within(w, p0, p1, p2, p3) + is_within(w, p0, p1, p3, p2)
    if inside + is_within(w, p0, p2, p3, p1) + is_within(w, p1, p2, p3, p0) == 4:
        return 0
    best = on_triangle(w, p0, p1, p2, V)
    face = 0
    inner(w, V, V)
    least = w[TRIAL + 3]
    for k in range(1, 4):
        b = p1
        if k > 1:
            b = p2
        a = p0
        if k == 3:
            a = p1
        needed = on_triangle(w, a, b, p3, TRIAL)
        inner(w, TRIAL, TRIAL)
        if w[TRIAL + 3] < least:
            least = w[TRIAL + 3]
            best = needed
            face = k
            between(w, TRIAL, TRIAL, 0.0, V)
    if face == 0:
        return kept(w, best, p0, p1, p2)
    if face == 1:
        return kept(w, best, p0, p1, p3)
    if face == 2:
        return kept(w, best, p0, p2, p3)
    return kept(w, best, p1, p2, p3)
