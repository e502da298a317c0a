# SPDX-License-Identifier: Apache-2.0
"""The direction in which two boxes overlap least: of the normals of their faces, and across two edges."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.loops.layout import BOTTOM, PLACE, SHAPE, START, TOP
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]
PARALLEL_EDGES = 1e-3  # sine of the angle between edges that have no direction across both
EDGES_LESS = 1e-6  # of the size: by so much edges have to overlap less than faces, to be what meets


def depth_along(upper: int, lower: int, S: Table, C: Array, P: Array, x: float, y: float, z: float, w: Array) -> int:
    """w[TOP] = by how much two boxes overlap along a unit vector; w[TOP + 1] = 1, or -1 for the opposite of it."""
    between = (P[PLACE * upper + 9] - P[PLACE * lower + 9]) * x
    between = between + (P[PLACE * upper + 10] - P[PLACE * lower + 10]) * y
    between = between + (P[PLACE * upper + 11] - P[PLACE * lower + 11]) * z
    total = 0.0
    for i in range(3):
        a = PLACE * upper + i
        b = PLACE * lower + i
        first = abs(C[3 * S[SHAPE * upper + START] + i])
        other = abs(C[3 * S[SHAPE * lower + START] + i])
        total = total + first * abs(P[a] * x + P[a + 3] * y + P[a + 6] * z)
        total = total + other * abs(P[b] * x + P[b + 3] * y + P[b + 6] * z)
    w[TOP + 1] = 1.0
    if between < 0.0:
        w[TOP + 1] = -1.0
    w[TOP] = total - abs(between)
    return 0


def least_overlap(upper: int, lower: int, S: Table, C: Array, P: Array, size: float, rough: float, w: Array) -> int:
    """w[BOTTOM:BOTTOM+3]: the unit vector from the lower to the upper box along which they overlap least.

    Returns 1 where they are nowhere further apart than `rough`.
    """
    best = 1e300
    met = 1
    for k in range(6):
        at = PLACE * upper + k
        if k > 2:
            at = PLACE * lower + k - 3
        depth_along(upper, lower, S, C, P, P[at], P[at + 3], P[at + 6], w)
        if w[TOP] < -rough:
            met = 0
        if w[TOP] < best:
            best = w[TOP]
            w[BOTTOM] = w[TOP + 1] * P[at]
            w[BOTTOM + 1] = w[TOP + 1] * P[at + 3]
            w[BOTTOM + 2] = w[TOP + 1] * P[at + 6]
    best = best - EDGES_LESS * size
    for k in range(9):
        i = 0
        if k > 2:
            i = 1
        if k > 5:
            i = 2
        a = PLACE * upper + i
        b = PLACE * lower + k - 3 * i
        x = P[a + 3] * P[b + 6] - P[a + 6] * P[b + 3]
        y = P[a + 6] * P[b] - P[a] * P[b + 6]
        z = P[a] * P[b + 3] - P[a + 3] * P[b]
        length = sqrt(x * x + y * y + z * z)
        if length > PARALLEL_EDGES:
            depth_along(upper, lower, S, C, P, x / length, y / length, z / length, w)
            if w[TOP] < -rough:
                met = 0
            if w[TOP] < best:
                best = w[TOP]
                w[BOTTOM] = w[TOP + 1] * x / length
                w[BOTTOM + 1] = w[TOP + 1] * y / length
                w[BOTTOM + 2] = w[TOP + 1] * z / length
    return met
