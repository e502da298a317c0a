# SPDX-License-Identifier: Apache-2.0
"""The corner, edge or face of a shape that lies furthest in a direction, as `features.feature_of` finds it."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.features import FLAT, THIN
from rbd_dynamics.collisions.loops.layout import (
    BASIS,
    COUNT,
    CYLINDER,
    HALF,
    KIND,
    MOST,
    PLACE,
    PLANE,
    POINTS,
    RADIUS,
    RANK,
    REACH,
    RIM,
    ROUNDING,
    SHAPE,
    SIZES,
    START,
)
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]
THINNEST = 1e-6  # extents, over the reach and over each other, of what has a rank (squares)


def put(P: Array, shape: int, x: float, y: float, z: float, w: Array, at: int) -> int:
    """w[at:at+3]: where a point of the shape is."""
    to = PLACE * shape
    w[at] = P[to] * x + P[to + 1] * y + P[to + 2] * z + P[to + 9]
    w[at + 1] = P[to + 3] * x + P[to + 4] * y + P[to + 5] * z + P[to + 10]
    w[at + 2] = P[to + 6] * x + P[to + 7] * y + P[to + 8] * z + P[to + 11]
    return 0


def put_rim(P: Array, shape: int, radius: float, z: float, w: Array, at: int) -> int:
    """Four points of a circle about the shape's axis."""
    put(P, shape, radius, 0.0, z, w, at)
    put(P, shape, 0.0, radius, z, w, at + 3)
    put(P, shape, -radius, 0.0, z, w, at + 6)
    put(P, shape, 0.0, -radius, z, w, at + 9)
    return 0


def rank_of(w: Array, at: int, count: int, reach: float) -> int:
    """0, 1 or 2: a corner, an edge or a face; w[at:] are its points."""
    if count < 3:
        return count - 1
    mx = 0.0
    my = 0.0
    mz = 0.0
    for k in range(count):
        mx += w[at + 3 * k] / count
        my += w[at + 3 * k + 1] / count
        mz += w[at + 3 * k + 2] / count
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    e = 0.0
    f = 0.0
    for k in range(count):
        x = w[at + 3 * k] - mx
        y = w[at + 3 * k + 1] - my
        z = w[at + 3 * k + 2] - mz
        a += x * x
        b += y * y
        c += z * z
        d += x * y
        e += x * z
        f += y * z
    trace = a + b + c
    minors = a * b - d * d + a * c - e * e + b * c - f * f
    largest = 0.5 * (trace + sqrt(max(trace * trace - 4.0 * minors, 0.0)))
    least = THINNEST * reach * reach
    rank = 0
    if largest > least:
        rank = 1
    if minors > least * largest:
        rank = rank + 1
    return rank


def feature(
    shape: int, S: Table, N: Array, C: Array, P: Array, dx: float, dy: float, dz: float, tolerance: float,
    w: Array, at: int, t: Table, of: int,
) -> int:  # fmt: skip
    """Its points in w[at + 8:], its radius and rounding in w[at:at+4], its rank and so on in t. 0: too many points."""
    kind = S[SHAPE * shape + KIND]
    to = PLACE * shape
    own = SIZES * shape
    w[at + 3] = 0.0
    t[of + RIM] = 0
    if kind == PLANE:
        put_rim(P, shape, 1.0, 0.0, w, at + 8)
        t[of + POINTS] = 4
        t[of + RANK] = 2
        return 1
    lx = P[to] * dx + P[to + 3] * dy + P[to + 6] * dz
    ly = P[to + 1] * dx + P[to + 4] * dy + P[to + 7] * dz
    lz = P[to + 2] * dx + P[to + 5] * dy + P[to + 8] * dz
    if kind == CYLINDER:
        radius = N[own + RADIUS]
        across = sqrt(lx * lx + ly * ly)
        end = -N[own + HALF]
        if lz > 0.0:
            end = N[own + HALF]
        if 2.0 * radius * across < tolerance:
            put_rim(P, shape, radius, end, w, at + 8)
            t[of + POINTS] = 4
            t[of + RANK] = 2
            return 1
        if 2.0 * N[own + HALF] * abs(lz) < tolerance:
            put(P, shape, 0.0, 0.0, -N[own + HALF], w, at + 8)
            put(P, shape, 0.0, 0.0, N[own + HALF], w, at + 11)
            w[at + 3] = radius
            t[of + POINTS] = 2
            t[of + RANK] = 1
            return 1
        put(P, shape, radius * lx / across, radius * ly / across, end, w, at + 8)
        x = -ly / across * radius / across
        y = lx / across * radius / across
        w[at] = P[to] * x + P[to + 1] * y
        w[at + 1] = P[to + 3] * x + P[to + 4] * y
        w[at + 2] = P[to + 6] * x + P[to + 7] * y
        t[of + POINTS] = 1
        t[of + RANK] = 0
        t[of + RIM] = 1
        return 1
    first = 3 * S[SHAPE * shape + START]
    corners = S[SHAPE * shape + COUNT]
    height = C[first] * lx + C[first + 1] * ly + C[first + 2] * lz
    for k in range(1, corners):
        here = first + 3 * k
        height = max(height, C[here] * lx + C[here + 1] * ly + C[here + 2] * lz)
    height = height - tolerance
    count = 0
    for k in range(corners):
        here = first + 3 * k
        if C[here] * lx + C[here + 1] * ly + C[here + 2] * lz >= height:
            if count == MOST:
                return 0
            put(P, shape, C[here], C[here + 1], C[here + 2], w, at + 8 + 3 * count)
            count = count + 1
    w[at + 3] = N[own + ROUNDING]
    t[of + POINTS] = count
    t[of + RANK] = rank_of(w, at + 8, count, N[own + REACH])
    return 1


def along(w: Array, at: int, t: Table, of: int, to: int) -> int:
    """w[to:to+3]: unit vector along an edge."""
    last = at + 8 + 3 * (t[of + POINTS] - 1)
    x = w[last] - w[at + 8]
    y = w[last + 1] - w[at + 9]
    z = w[last + 2] - w[at + 10]
    length = sqrt(x * x + y * y + z * z)
    w[to] = x / length
    w[to + 1] = y / length
    w[to + 2] = z / length
    return 0


def fit(w: Array, at: int, t: Table, of: int, to: int) -> int:
    """w[to:to+5]: the plane through its points: height along the normal, gradient along the tangents, where that is."""
    count = t[of + POINTS]
    b = BASIS
    if t[of + RANK] == 0:
        count = 1
    height = 0.0
    mx = 0.0
    my = 0.0
    for k in range(count):
        p = at + 8 + 3 * k
        height += (w[p] * w[b] + w[p + 1] * w[b + 1] + w[p + 2] * w[b + 2]) / count
        mx += (w[p] * w[b + 3] + w[p + 1] * w[b + 4] + w[p + 2] * w[b + 5]) / count
        my += (w[p] * w[b + 6] + w[p + 1] * w[b + 7] + w[p + 2] * w[b + 8]) / count
    w[to] = height
    w[to + 1] = 0.0
    w[to + 2] = 0.0
    w[to + 3] = mx
    w[to + 4] = my
    if t[of + RANK] == 0:
        return 0
    sxx = 0.0
    sxy = 0.0
    syy = 0.0
    rx = 0.0
    ry = 0.0
    for k in range(count):
        p = at + 8 + 3 * k
        lift = w[p] * w[b] + w[p + 1] * w[b + 1] + w[p + 2] * w[b + 2] - height
        x = w[p] * w[b + 3] + w[p + 1] * w[b + 4] + w[p + 2] * w[b + 5] - mx
        y = w[p] * w[b + 6] + w[p + 1] * w[b + 7] + w[p + 2] * w[b + 8] - my
        sxx += x * x
        sxy += x * y
        syy += y * y
        rx += x * lift
        ry += y * lift
    trace = sxx + syy
    determinant = sxx * syy - sxy * sxy
    if determinant <= THIN * trace * trace:
        w[to + 1] = (sxx * rx + sxy * ry) / (trace * trace)
        w[to + 2] = (sxy * rx + syy * ry) / (trace * trace)
    else:
        w[to + 1] = (syy * rx - sxy * ry) / determinant
        w[to + 2] = (sxx * ry - sxy * rx) / determinant
    return 0


def radii(w: Array, at: int, t: Table, of: int, as_corner: int, to: int) -> int:
    """w[to:to+4]: radii of curvature along the tangents. as_corner: 1: of a corner of it."""
    b = BASIS
    w[to] = w[at + 3]
    w[to + 1] = 0.0
    w[to + 2] = 0.0
    w[to + 3] = w[at + 3]
    if t[of + RIM] == 1:
        x = w[b + 3] * w[at] + w[b + 4] * w[at + 1] + w[b + 5] * w[at + 2]
        y = w[b + 6] * w[at] + w[b + 7] * w[at + 1] + w[b + 8] * w[at + 2]
        size = max(sqrt(w[at] * w[at] + w[at + 1] * w[at + 1] + w[at + 2] * w[at + 2]), 1e-12)
        w[to] += x * x / size
        w[to + 1] += x * y / size
        w[to + 2] += x * y / size
        w[to + 3] += y * y / size
    if as_corner == 0 and t[of + RANK] > 0:
        along(w, at, t, of, at + 4)
        x = w[b + 3] * w[at + 4] + w[b + 4] * w[at + 5] + w[b + 5] * w[at + 6]
        y = w[b + 6] * w[at + 4] + w[b + 7] * w[at + 5] + w[b + 8] * w[at + 6]
        large = FLAT / (x * x + y * y)
        w[to] += large * x * x
        w[to + 1] += large * x * y
        w[to + 2] += large * x * y
        w[to + 3] += large * y * y
    return 0
