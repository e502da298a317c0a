# SPDX-License-Identifier: Apache-2.0
"""All points where two shapes are nearer than a margin: over a plane, and of any two shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.loops.boxes import least_overlap
from rbd_dynamics.collisions.loops.features import feature, fit, radii
from rbd_dynamics.collisions.loops.layout import (
    ABOVE,
    BASIS,
    BELOW,
    BOTTOM,
    BOX,
    COMPLIANCE,
    COUNTS,
    CYLINDER,
    FINE,
    FIRST,
    FITS,
    KIND,
    LENGTH,
    LOWER,
    OTHER,
    PLACE,
    POINT,
    POINTS,
    RADII,
    RANK,
    REACH,
    RESULT,
    ROUNDING,
    SECOND,
    SHAPE,
    SIZES,
    TOLERANCE,
    TOUCH,
    UPPER,
    V,
)
from rbd_dynamics.collisions.loops.nearest import APART, FAR, LOST, MET, nearest
from rbd_dynamics.collisions.loops.polygons import few
from rbd_dynamics.collisions.loops.touches import (
    ASK,
    BARELY,
    SMALLER,
    basis,
    cross_each_other,
    crossing,
    curvature,
    exact_normal,
    features,
    onto_edge,
    polygon,
    written,
)
from rbd_dynamics.collisions.narrow_phase import ROUGH
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]


def on_plane(
    upper: int, lower: int, S: Table, N: Array, C: Array, P: Array, margin: float, w: Array, t: Table,
    touch: Array, first: int, room: int,
) -> int:  # fmt: skip
    """Writes touches at the corners that lie furthest down, each with its own gap, from number `first` on.

    Returns how many; ASK for what stands on a round face or has too many corners; more than `room` for none written.
    """
    to = PLACE * lower
    basis(w, P[to + 2], P[to + 5], P[to + 8])
    b = BASIS
    found = feature(upper, S, N, C, P, -w[b], -w[b + 1], -w[b + 2], N[SIZES * upper + TOLERANCE], w, ABOVE, t, UPPER)
    if found == 0:
        return ASK
    if t[UPPER + RANK] == 2 and S[SHAPE * upper + KIND] == CYLINDER:
        return ASK
    count = t[UPPER + POINTS]
    p = ABOVE + 8
    for k in range(count):
        i = p + 3 * k
        w[FIRST + 2 * k] = w[i] * w[b + 3] + w[i + 1] * w[b + 4] + w[i + 2] * w[b + 5]
        w[FIRST + 2 * k + 1] = w[i] * w[b + 6] + w[i + 1] * w[b + 7] + w[i + 2] * w[b + 8]
        t[COUNTS + k] = 1
    if count > 2 and t[UPPER + RANK] == 1:
        ends(w, p, count, t)
    elif count > 2:
        few(w, FIRST, count, t)
    n = 0
    rounding = w[ABOVE + 3]
    radii(w, ABOVE, t, UPPER, 1, SECOND)
    for k in range(count):
        i = p + 3 * k
        height = (w[i] - P[to + 9]) * w[b] + (w[i + 1] - P[to + 10]) * w[b + 1] + (w[i + 2] - P[to + 11]) * w[b + 2]
        if t[COUNTS + k] == 1 and height - rounding <= margin:
            if n < room:
                at = TOUCH * (first + n)
                for j in range(3):
                    touch[at + POINT + j] = w[i + j] - rounding * w[b + j]
                    touch[at + OTHER + j] = w[i + j] - height * w[b + j]
                for j in range(8):
                    touch[at + COMPLIANCE + j] = 0.0
                for j in range(4):
                    touch[at + RADII + j] = w[SECOND + j]
                written(w, touch, at, height - rounding)
            n = n + 1
    return n


def ends(w: Array, p: int, count: int, t: Table) -> int:
    """t[COUNTS + k] = 1 of the first and the last of points along an edge alone."""
    last = p + 3 * (count - 1)
    x = w[last] - w[p]
    y = w[last + 1] - w[p + 1]
    z = w[last + 2] - w[p + 2]
    low = 0
    high = 0
    least = 0.0
    most = 0.0
    for k in range(count):
        i = p + 3 * k
        here = (w[i] - w[p]) * x + (w[i + 1] - w[p + 1]) * y + (w[i + 2] - w[p + 2]) * z
        if here < least:
            least = here
            low = k
        if here > most:
            most = here
            high = k
        t[COUNTS + k] = 0
    t[COUNTS + low] = 1
    t[COUNTS + high] = 1
    return 0


def direction(upper: int, lower: int, S: Table, N: Array, C: Array, P: Array, margin: float, w: Array) -> int:
    """w[BASIS:]: the normal along which the shapes are nearest. FAR, APART, or ASK where it was not proven.

    Where cores just touch, or overlap a little, it is that in which a smaller upper one is apart; of two boxes that in
    which they overlap least, which needs no search.
    """
    boxes = 0
    if S[SHAPE * upper + KIND] == BOX and S[SHAPE * lower + KIND] == BOX:
        boxes = 1
    if boxes == 1:
        size = N[SIZES * upper + REACH] + N[SIZES * lower + REACH]
        if least_overlap(upper, lower, S, C, P, size, ROUGH, w) == 1:
            basis(w, w[BOTTOM], w[BOTTOM + 1], w[BOTTOM + 2])
            return APART
    upper_rounding = N[SIZES * upper + ROUNDING]
    both = upper_rounding + N[SIZES * lower + ROUNDING]
    found = nearest(upper, lower, S, N, C, P, 0.0, margin + both, w)
    if found == FAR:
        return FAR
    if found == LOST or S[SHAPE * upper + KIND] == CYLINDER or S[SHAPE * lower + KIND] == CYLINDER:
        return ASK
    if found == APART and w[LENGTH] - both > margin:
        return FAR
    near = 0
    if found == MET or w[LENGTH] <= ROUGH:
        near = 1
    if near == 1 and boxes == 1:  # their corners, whose direction the search does not know well
        least_overlap(upper, lower, S, C, P, N[SIZES * upper + REACH] + N[SIZES * lower + REACH], ROUGH, w)
        basis(w, w[BOTTOM], w[BOTTOM + 1], w[BOTTOM + 2])
        return APART
    turn = 0
    while turn < 2 and (found == MET or (found == APART and w[LENGTH] <= ROUGH)):
        shrinking = BARELY
        if turn == 1:
            shrinking = SMALLER
        far = margin + both + shrinking * 4.0 * N[SIZES * upper + REACH]
        found = nearest(upper, lower, S, N, C, P, shrinking, far, w)
        turn = turn + 1
    if found != APART or w[LENGTH] <= ROUGH:
        return ASK
    basis(w, w[V] / w[LENGTH], w[V + 1] / w[LENGTH], w[V + 2] / w[LENGTH])
    return APART


def touches(
    upper: int, lower: int, S: Table, N: Array, C: Array, P: Array, margin: float, w: Array, t: Table,
    touch: Array, first: int, room: int,
) -> int:  # fmt: skip
    """Writes the touches of two shapes, none of them a plane, from number `first` on; returns as `on_plane`."""
    met = direction(upper, lower, S, N, C, P, margin, w)
    if met == FAR:
        return 0
    if met == ASK:
        return ASK
    a = SIZES * upper
    b = SIZES * lower
    least = min(N[a + TOLERANCE], N[b + TOLERANCE])
    small = min(N[a + REACH], N[b + REACH])
    if features(upper, lower, S, N, C, P, least, least, w, t) == 0:
        return ASK
    count = polygon(w, t, small)
    alike = 0  # features and polygon are already what is wanted
    if count > 1:
        if N[a + TOLERANCE] == least and N[b + TOLERANCE] == least:
            alike = 1
        if alike == 0:
            if features(upper, lower, S, N, C, P, N[a + TOLERANCE], N[b + TOLERANCE], w, t) == 0:
                return ASK
    elif features(upper, lower, S, N, C, P, N[a + FINE], N[b + FINE], w, t) == 0:
        return ASK
    if exact_normal(w, t) == 1:
        alike = 0
    if count > 1 and alike == 0:
        count = polygon(w, t, small)  # along the tangents of this normal
    crosses = crossing(w, t)
    if t[UPPER + RANK] == 0 or t[LOWER + RANK] == 0:
        p = ABOVE + 8
        if t[UPPER + RANK] > 0:
            p = BELOW + 8
        count = 1
        w[RESULT] = w[p] * w[BASIS + 3] + w[p + 1] * w[BASIS + 4] + w[p + 2] * w[BASIS + 5]
        w[RESULT + 1] = w[p] * w[BASIS + 6] + w[p + 1] * w[BASIS + 7] + w[p + 2] * w[BASIS + 8]
        t[COUNTS] = 1
    else:
        one = 0
        if crosses == 1:
            one = cross_each_other(w, t)
        if one == 1:
            count = 1
            t[COUNTS] = 1
        else:
            if count < 2:
                return ASK
            few(w, RESULT, count, t)
            if t[UPPER + RANK] == 1:
                onto_edge(w, ABOVE, t, UPPER, count)
            if t[LOWER + RANK] == 1:
                onto_edge(w, BELOW, t, LOWER, count)
    fit(w, ABOVE, t, UPPER, FITS)
    fit(w, BELOW, t, LOWER, FITS + 5)
    n = 0
    corners = 0
    for k in range(count):
        n = n + t[COUNTS + k]
    if n > 1:
        corners = 1
    n = 0
    for k in range(count):
        x = w[RESULT + 2 * k]
        y = w[RESULT + 2 * k + 1]
        f = FITS
        top = w[f] + w[f + 1] * (x - w[f + 3]) + w[f + 2] * (y - w[f + 4]) - w[ABOVE + 3]
        f = FITS + 5
        bottom = w[f] + w[f + 1] * (x - w[f + 3]) + w[f + 2] * (y - w[f + 4]) + w[BELOW + 3]
        if t[COUNTS + k] == 1 and top - bottom <= margin:
            if n < room:
                at = TOUCH * (first + n)
                for j in range(3):
                    across = x * w[BASIS + 3 + j] + y * w[BASIS + 6 + j]
                    touch[at + POINT + j] = across + top * w[BASIS + j]
                    touch[at + OTHER + j] = across + bottom * w[BASIS + j]
                written(w, touch, at, top - bottom)
                curvature(w, t, corners, touch, at)
            n = n + 1
    return n
