# SPDX-License-Identifier: Apache-2.0
"""How far two convex hulls are apart, and in which direction: the algorithm of Gilbert, Johnson and Keerthi.

The point of the hulls' difference that is nearest to the origin is found by simplices of at most four of its corners.
Each turn also says how far the hulls are apart at least, along the present direction: what is further than asked ends
there, and an answer counts only where this bound has come to it, so it is proven by itself.

Source: Gilbert, Johnson, Keerthi, IEEE J. Robotics and Automation 4, 1988.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.loops.layout import (
    BOTTOM,
    COUNT,
    CYLINDER,
    HALF,
    KIND,
    LENGTH,
    MIDDLE,
    ORIGIN,
    PLACE,
    RADIUS,
    REACH,
    SHAPE,
    SIMPLEX,
    SIZES,
    START,
    TOP,
    V,
)
from rbd_dynamics.collisions.loops.simplices import reduced
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]

FAR, APART, MET, LOST = 0, 1, 2, 3
TURNS = 64
TOUCHING = 1e-14  # of the size of both: at this distance nothing is known of the direction
RELATIVE = 1e-14  # of the distance: where the bound has come as near as that to it
ROUNDING_ERROR = 1e-15  # of the size of both
PROVEN = 1e-13  # of the size of both, where there is no way on


def furthest(
    shape: int, S: Table, N: Array, C: Array, P: Array, shrinking: float, dx: float, dy: float, dz: float,
    w: Array, at: int,
) -> int:  # fmt: skip
    """w[at:at+3]: the point of the core, less w[ORIGIN], that lies furthest in a direction of the world.

    shrinking: part by which the shape is smaller about its middle. A core is a shape without its rounding.
    """
    to = PLACE * shape
    own = SIZES * shape
    lx = P[to] * dx + P[to + 3] * dy + P[to + 6] * dz
    ly = P[to + 1] * dx + P[to + 4] * dy + P[to + 7] * dz
    lz = P[to + 2] * dx + P[to + 5] * dy + P[to + 8] * dz
    x = 0.0
    y = 0.0
    z = 0.0
    if S[SHAPE * shape + KIND] == CYLINDER:
        across = sqrt(lx * lx + ly * ly)
        if across > 0.0:
            x = N[own + RADIUS] * lx / across
            y = N[own + RADIUS] * ly / across
        z = N[own + HALF]
        if lz < 0.0:
            z = -N[own + HALF]
    else:
        first = 3 * S[SHAPE * shape + START]
        best = first
        height = C[first] * lx + C[first + 1] * ly + C[first + 2] * lz
        for k in range(1, S[SHAPE * shape + COUNT]):
            here = first + 3 * k
            found = C[here] * lx + C[here + 1] * ly + C[here + 2] * lz
            if found > height:
                height = found
                best = here
        x = C[best]
        y = C[best + 1]
        z = C[best + 2]
    if shrinking > 0.0:
        x = x + shrinking * (N[own + MIDDLE] - x)
        y = y + shrinking * (N[own + MIDDLE + 1] - y)
        z = z + shrinking * (N[own + MIDDLE + 2] - z)
    w[at] = P[to] * x + P[to + 1] * y + P[to + 2] * z + (P[to + 9] - w[ORIGIN])
    w[at + 1] = P[to + 3] * x + P[to + 4] * y + P[to + 5] * z + (P[to + 10] - w[ORIGIN + 1])
    w[at + 2] = P[to + 6] * x + P[to + 7] * y + P[to + 8] * z + (P[to + 11] - w[ORIGIN + 2])
    return 0


def nearest(
    upper: int, lower: int, S: Table, N: Array, C: Array, P: Array, shrinking: float, margin: float, w: Array
) -> int:
    """w[V:V+3]: from the core of the lower shape to that of the upper one, w[LENGTH] its length.

    shrinking: of the upper one. Returns FAR where they are further apart than the margin, and w[V] is a direction that
    proves it; APART; MET where they are in each other; LOST where none of it could be proven.
    """
    a = PLACE * upper + 9
    b = PLACE * lower + 9
    w[ORIGIN] = P[b]
    w[ORIGIN + 1] = P[b + 1]
    w[ORIGIN + 2] = P[b + 2]
    x = P[a] - P[b]
    y = P[a + 1] - P[b + 1]
    z = P[a + 2] - P[b + 2]
    size = N[SIZES * upper + REACH] + N[SIZES * lower + REACH]
    length = sqrt(x * x + y * y + z * z)
    size = size + length
    if length <= TOUCHING * size:
        x = 1.0
        length = 1.0
    n = 0
    for turn in range(TURNS):
        if turn > 0:
            x = w[V]
            y = w[V + 1]
            z = w[V + 2]
            length = sqrt(x * x + y * y + z * z)
            if length <= TOUCHING * size:
                return MET
        furthest(upper, S, N, C, P, shrinking, -x / length, -y / length, -z / length, w, TOP)
        furthest(lower, S, N, C, P, 0.0, x / length, y / length, z / length, w, BOTTOM)
        px = w[TOP] - w[BOTTOM]
        py = w[TOP + 1] - w[BOTTOM + 1]
        pz = w[TOP + 2] - w[BOTTOM + 2]
        bound = (x * px + y * py + z * pz) / length
        if bound > margin:
            w[V] = x
            w[V + 1] = y
            w[V + 2] = z
            w[LENGTH] = length
            return FAR
        w[LENGTH] = length
        known = 0
        for k in range(n):
            at = SIMPLEX + 3 * k
            if w[at] == px and w[at + 1] == py and w[at + 2] == pz:
                known = 1
        if turn > 0:
            lacking = length - bound
            if lacking <= RELATIVE * length + ROUNDING_ERROR * size:
                return APART
            if known == 1:
                if lacking <= PROVEN * size:
                    return APART
                return LOST
        at = SIMPLEX + 3 * n
        w[at] = px
        w[at + 1] = py
        w[at + 2] = pz
        n = n + 1
        if n == 1:
            w[V] = px
            w[V + 1] = py
            w[V + 2] = pz
        else:
            n = reduced(w, n)
            if n == 0:
                return MET
    return LOST
