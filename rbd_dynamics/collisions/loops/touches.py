# SPDX-License-Identifier: Apache-2.0
"""Contact of two shapes, for the direction in which they are nearest: as `narrow_phase` has it."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.features import FLAT
from rbd_dynamics.collisions.loops.features import along, feature, fit, radii
from rbd_dynamics.collisions.loops.layout import (
    ABOVE,
    BASIS,
    BELOW,
    COMPLIANCE,
    CURVED,
    FIRST,
    FITS,
    GAP,
    LOWER,
    NORMAL,
    POINTS,
    RADII,
    RANK,
    RESULT,
    SECOND,
    SHARE,
    UPPER,
)
from rbd_dynamics.collisions.loops.polygons import cut, distinct, outline, overlap
from rbd_dynamics.collisions.narrow_phase import ERROR, LEVEL, PARALLEL
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]
ASK = -1  # coal
BARELY, SMALLER = 1e-3, 3e-2  # parts by which a shape is made smaller, to see in which direction it is apart
SAME = 1e-15  # rad: normals that differ by rounding
WITHIN = 1e-6  # of an edge's length, by which edges may pass each other's ends


def basis(w: Array, x: float, y: float, z: float) -> int:
    """w[BASIS:]: a normal, and unit vectors that complete it, as `tangents_of` has them."""
    sign = 1.0
    if z < -LEVEL:
        sign = -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    w[BASIS] = x
    w[BASIS + 1] = y
    w[BASIS + 2] = z
    w[BASIS + 3] = 1.0 + sign * x * x * a
    w[BASIS + 4] = sign * b
    w[BASIS + 5] = -sign * x
    w[BASIS + 6] = b
    w[BASIS + 7] = sign + y * y * a
    w[BASIS + 8] = -y
    return 0


def features(upper: int, lower: int, S: Table, N: Array, C: Array, P: Array, one: float, two: float,
             w: Array, t: Table) -> int:  # fmt: skip
    """Those of both shapes that face each other along w[BASIS], with these tolerances; 0 where they are too large."""
    x = w[BASIS]
    y = w[BASIS + 1]
    z = w[BASIS + 2]
    if feature(upper, S, N, C, P, -x, -y, -z, one, w, ABOVE, t, UPPER) == 0:
        return 0
    return feature(lower, S, N, C, P, x, y, z, two, w, BELOW, t, LOWER)


def crossing(w: Array, t: Table) -> int:
    """1 for two edges that are not parallel; w[ABOVE + 4:] and w[BELOW + 4:] are their directions then."""
    if t[UPPER + RANK] != 1 or t[LOWER + RANK] != 1:
        return 0
    along(w, ABOVE, t, UPPER, ABOVE + 4)
    along(w, BELOW, t, LOWER, BELOW + 4)
    x = w[ABOVE + 5] * w[BELOW + 6] - w[ABOVE + 6] * w[BELOW + 5]
    y = w[ABOVE + 6] * w[BELOW + 4] - w[ABOVE + 4] * w[BELOW + 6]
    z = w[ABOVE + 4] * w[BELOW + 5] - w[ABOVE + 5] * w[BELOW + 4]
    if x * x + y * y + z * z > PARALLEL * PARALLEL:
        return 1
    return 0


def exact_normal(w: Array, t: Table) -> int:
    """The normal in w[BASIS] is that of a face, or of two edges that cross, where that is nearly the one there.

    Returns 1 where it was another one, by more than rounding.
    """
    x = w[BASIS]
    y = w[BASIS + 1]
    z = w[BASIS + 2]
    if t[LOWER + RANK] == 2 or t[UPPER + RANK] == 2:
        if t[LOWER + RANK] == 2:
            fit(w, BELOW, t, LOWER, FITS)
        else:
            fit(w, ABOVE, t, UPPER, FITS)
        x = x - w[FITS + 1] * w[BASIS + 3] - w[FITS + 2] * w[BASIS + 6]
        y = y - w[FITS + 1] * w[BASIS + 4] - w[FITS + 2] * w[BASIS + 7]
        z = z - w[FITS + 1] * w[BASIS + 5] - w[FITS + 2] * w[BASIS + 8]
    elif crossing(w, t) == 1:
        x = w[ABOVE + 5] * w[BELOW + 6] - w[ABOVE + 6] * w[BELOW + 5]
        y = w[ABOVE + 6] * w[BELOW + 4] - w[ABOVE + 4] * w[BELOW + 6]
        z = w[ABOVE + 4] * w[BELOW + 5] - w[ABOVE + 5] * w[BELOW + 4]
    size = sqrt(x * x + y * y + z * z)
    if x * w[BASIS] + y * w[BASIS + 1] + z * w[BASIS + 2] < 0.0:
        size = -size
    x = x / size
    y = y / size
    z = z / size
    dx = x - w[BASIS]
    dy = y - w[BASIS + 1]
    dz = z - w[BASIS + 2]
    change = dx * dx + dy * dy + dz * dz
    if change < ERROR * ERROR:
        basis(w, x, y, z)
        if change > SAME * SAME:
            return 1
    return 0


def polygon(w: Array, t: Table, size: float) -> int:
    """w[RESULT:]: corners along the tangents of what both features cover; returns how many, 0 where they do not meet.

    size: the reach of the smaller shape.
    """
    first = outline(w, ABOVE, t, UPPER, FIRST)
    second = outline(w, BELOW, t, LOWER, SECOND)
    if first == 1:
        w[RESULT] = w[FIRST]
        w[RESULT + 1] = w[FIRST + 1]
        return 1
    if second == 1:
        w[RESULT] = w[SECOND]
        w[RESULT + 1] = w[SECOND + 1]
        return 1
    n = 0
    if first == 2 and second == 2:
        n = overlap(w, FIRST, SECOND, RESULT)
    elif second > 2:
        n = cut(w, FIRST, first, SECOND, second, RESULT, size)
    else:
        n = cut(w, SECOND, second, FIRST, first, RESULT, size)
    return distinct(w, RESULT, n, size)


def onto_edge(w: Array, at: int, t: Table, of: int, count: int) -> int:
    """Moves the places in w[RESULT:] onto the line of an edge."""
    along(w, at, t, of, at + 4)
    px = w[at + 8] * w[BASIS + 3] + w[at + 9] * w[BASIS + 4] + w[at + 10] * w[BASIS + 5]
    py = w[at + 8] * w[BASIS + 6] + w[at + 9] * w[BASIS + 7] + w[at + 10] * w[BASIS + 8]
    x = w[at + 4] * w[BASIS + 3] + w[at + 5] * w[BASIS + 4] + w[at + 6] * w[BASIS + 5]
    y = w[at + 4] * w[BASIS + 6] + w[at + 5] * w[BASIS + 7] + w[at + 6] * w[BASIS + 8]
    for k in range(count):
        part = ((w[RESULT + 2 * k] - px) * x + (w[RESULT + 2 * k + 1] - py) * y) / (x * x + y * y)
        w[RESULT + 2 * k] = px + part * x
        w[RESULT + 2 * k + 1] = py + part * y
    return 0


def cross_each_other(w: Array, t: Table) -> int:
    """w[RESULT:]: where two edges cross, seen along the normal; 0 where they do not."""
    ends = FITS
    for k in range(2):
        at = ABOVE
        last = t[UPPER + POINTS] - 1
        if k == 1:
            at = BELOW
            last = t[LOWER + POINTS] - 1
        for i in range(2):
            p = at + 8 + 3 * last * i
            w[ends + 4 * k + 2 * i] = w[p] * w[BASIS + 3] + w[p + 1] * w[BASIS + 4] + w[p + 2] * w[BASIS + 5]
            w[ends + 4 * k + 2 * i + 1] = w[p] * w[BASIS + 6] + w[p + 1] * w[BASIS + 7] + w[p + 2] * w[BASIS + 8]
    ux = w[ends + 2] - w[ends]
    uy = w[ends + 3] - w[ends + 1]
    vx = w[ends + 4] - w[ends + 6]
    vy = w[ends + 5] - w[ends + 7]
    x = w[ends + 4] - w[ends]
    y = w[ends + 5] - w[ends + 1]
    turned = ux * vy - uy * vx
    if turned == 0.0:
        return 0
    s = (x * vy - y * vx) / turned
    e = (ux * y - uy * x) / turned
    if abs(s - 0.5) > 0.5 + WITHIN or abs(e - 0.5) > 0.5 + WITHIN:
        return 0
    w[RESULT] = w[ends] + s * ux
    w[RESULT + 1] = w[ends + 1] + s * uy
    return 1


def curvature(w: Array, t: Table, corners: int, touch: Array, at: int) -> int:
    """Writes the curvature of a touch, as `curvature_of` has it. corners: 1: the features meet in several points."""
    h = CURVED
    k = CURVED + 4
    for i in range(12):
        touch[at + COMPLIANCE + i] = 0.0
    if t[LOWER + RANK] == 2:
        radii(w, ABOVE, t, UPPER, 1, h)
        for i in range(4):
            touch[at + RADII + i] = w[h + i]
        return 0
    if t[UPPER + RANK] == 2:
        radii(w, BELOW, t, LOWER, 1, k)
        touch[at + SHARE] = 1.0
        touch[at + SHARE + 3] = 1.0
        for i in range(4):
            touch[at + RADII + i] = w[k + i]
        return 0
    plain = corners
    if t[UPPER + RANK] + t[LOWER + RANK] > 1 and crossing(w, t) == 0:
        plain = 1
    one = 0
    two = 0
    if plain == 1 and t[UPPER + RANK] <= t[LOWER + RANK]:
        one = 1
    if plain == 1 and t[LOWER + RANK] < t[UPPER + RANK]:
        two = 1
    radii(w, ABOVE, t, UPPER, one, h)
    radii(w, BELOW, t, LOWER, two, k)
    a = w[h] + w[k]
    b = 0.5 * (w[h + 1] + w[k + 1] + w[h + 2] + w[k + 2])
    d = w[h + 3] + w[k + 3]
    half = 0.5 * (a - d)
    root = sqrt(half * half + b * b)
    x = 1.0  # the axis of the larger of both radii
    y = 0.0
    if root > 0.0:
        if half >= 0.0:
            x = half + root
            y = b
        else:
            x = b
            y = root - half
        size = sqrt(x * x + y * y)
        x = x / size
        y = y / size
    larger = 0.5 * (a + d) + root
    smaller = 0.5 * (a + d) - root
    if larger < 1.0 / FLAT:  # a corner on a corner, which no normal is the right one for
        w[k] += FLAT * x * x
        w[k + 1] += FLAT * x * y
        w[k + 2] += FLAT * x * y
        w[k + 3] += FLAT * y * y
    if smaller < 1.0 / FLAT:
        w[k] += FLAT * y * y
        w[k + 1] += -FLAT * x * y
        w[k + 2] += -FLAT * x * y
        w[k + 3] += FLAT * x * x
    a = w[h] + w[k]
    b = w[h + 1] + w[k + 1]
    c = w[h + 2] + w[k + 2]
    d = w[h + 3] + w[k + 3]
    determinant = a * d - b * c
    p = at + COMPLIANCE
    touch[p] = d / determinant
    touch[p + 1] = -b / determinant
    touch[p + 2] = -c / determinant
    touch[p + 3] = a / determinant
    p = at + SHARE
    for i in range(2):
        for j in range(2):
            touch[p + 2 * i + j] = (
                w[h + 2 * i] * touch[at + COMPLIANCE + j] + w[h + 2 * i + 1] * touch[at + COMPLIANCE + 2 + j]
            )
    p = at + RADII
    for i in range(2):
        for j in range(2):
            touch[p + 2 * i + j] = touch[at + SHARE + 2 * i] * w[k + j] + touch[at + SHARE + 2 * i + 1] * w[k + 2 + j]
    return 0


def written(w: Array, touch: Array, at: int, gap: float) -> int:
    """Normal, tangents and gap of a touch."""
    for i in range(9):
        touch[at + NORMAL + i] = w[BASIS + i]
    touch[at + GAP] = gap
    return 0
