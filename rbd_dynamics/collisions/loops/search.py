# SPDX-License-Identifier: Apache-2.0
"""All contacts of a set of shapes at one state: first which are near, then where they touch."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.loops.layout import (
    FRAME,
    KIND,
    LENGTH,
    OWN_P,
    OWN_R,
    PLACE,
    PLANE,
    RATE_V,
    RATE_W,
    RATES,
    REACH,
    ROUNDING,
    SHAPE,
    SIZES,
    V,
)
from rbd_dynamics.collisions.loops.nearest import furthest
from rbd_dynamics.collisions.loops.pairs import on_plane, touches
from rbd_dynamics.collisions.loops.rows import rates
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]
FOUND, ASKED = 0, 1


def placed(shapes: int, frames: int, S: Table, N: Array, poses: Array, P: Array) -> int:
    """P: places of all shapes."""
    for k in range(shapes):
        own = SIZES * k
        to = PLACE * k
        frame = S[SHAPE * k + FRAME]
        if frame == frames:
            for i in range(9):
                P[to + i] = N[own + OWN_R + i]
            for i in range(3):
                P[to + 9 + i] = N[own + OWN_P + i]
        else:
            for i in range(3):
                r = 12 * frame + 4 * i
                for j in range(3):
                    P[to + 3 * i + j] = (
                        poses[r] * N[own + OWN_R + j]
                        + poses[r + 1] * N[own + OWN_R + 3 + j]
                        + poses[r + 2] * N[own + OWN_R + 6 + j]
                    )
                P[to + 9 + i] = poses[r + 3] + (
                    poses[r] * N[own + OWN_P] + poses[r + 1] * N[own + OWN_P + 1] + poses[r + 2] * N[own + OWN_P + 2]
                )
    return 0


def fastest(shapes: int, frames: int, S: Table, N: Array, poses: Array, P: Array, F: Array, w: Array) -> int:
    """w[0]: how fast two shapes may come near to each other."""
    w[0] = 0.0
    for k in range(shapes):
        frame = S[SHAPE * k + FRAME]
        if frame < frames:
            f = RATES * frame
            x = P[PLACE * k + 9] - poses[12 * frame + 3]
            y = P[PLACE * k + 10] - poses[12 * frame + 7]
            z = P[PLACE * k + 11] - poses[12 * frame + 11]
            v = F[f + RATE_V] * F[f + RATE_V] + F[f + RATE_V + 1] * F[f + RATE_V + 1]
            v = v + F[f + RATE_V + 2] * F[f + RATE_V + 2]
            turns = F[f + RATE_W] * F[f + RATE_W] + F[f + RATE_W + 1] * F[f + RATE_W + 1]
            turns = turns + F[f + RATE_W + 2] * F[f + RATE_W + 2]
            far = sqrt(x * x + y * y + z * z) + N[SIZES * k + REACH]
            w[0] = max(w[0], 2.0 * (sqrt(v) + sqrt(turns) * far))
    return 0


def is_apart(
    upper: int, lower: int, S: Table, N: Array, C: Array, P: Array, axes: Array, at: int, margin: float, w: Array
) -> int:
    """1 where the direction in axes[at:], in which they were far apart before, still proves that they are."""
    x = axes[at]
    y = axes[at + 1]
    z = axes[at + 2]
    if x == 0.0 and y == 0.0 and z == 0.0:
        return 0
    for i in range(3):
        w[4 + i] = P[PLACE * lower + 9 + i]
    furthest(upper, S, N, C, P, 0.0, -x, -y, -z, w, 8)
    furthest(lower, S, N, C, P, 0.0, x, y, z, w, 12)
    bound = x * (w[8] - w[12]) + y * (w[9] - w[13]) + z * (w[10] - w[14])
    if bound - N[SIZES * upper + ROUNDING] - N[SIZES * lower + ROUNDING] > margin:
        return 1
    return 0


def find_contacts(
    shapes: int, frames: int, pairs: int, room: int, S: Table, N: Array, C: Array, both: Table, poses: Array,
    twists: Array, numbers: Array, P: Array, F: Array, axes: Array, w: Array, t: Table, touch: Array, of: Table,
    on: Table, hard: Table, counts: Table,
) -> int:  # fmt: skip
    """Writes touches of all pairs that are near, in order, at most `room`; counts: how many they are, and hard pairs.

    numbers: margin (m) and duration (s). both (2 pairs): the shapes of each pair, the first never a plane. of, on: of
    each touch its pair, and the frames that it is between. hard: pairs for which coal has to be asked. Returns 1 where
    all is found.
    """
    placed(shapes, frames, S, N, poses, P)
    rates(frames, poses, twists, F)
    margin = numbers[0]
    if numbers[1] > 0.0:
        fastest(shapes, frames, S, N, poses, P, F, w)
        margin = margin + numbers[1] * w[0]
    numbers[2] = margin
    total = 0
    asked = 0
    for k in range(pairs):
        upper = both[2 * k]
        lower = both[2 * k + 1]
        a = PLACE * upper
        b = PLACE * lower
        x = P[a + 9] - P[b + 9]
        y = P[a + 10] - P[b + 10]
        z = P[a + 11] - P[b + 11]
        reach = N[SIZES * upper + REACH] + N[SIZES * lower + REACH]
        flat = 0
        if S[SHAPE * lower + KIND] == PLANE:
            flat = 1
        near = 0
        if flat == 1 and x * P[b + 2] + y * P[b + 5] + z * P[b + 8] - reach <= margin:
            near = 1
        if flat == 0 and x * x + y * y + z * z <= (reach + margin) * (reach + margin):
            near = 1
        found = 0
        if near == 1 and flat == 1:
            found = on_plane(upper, lower, S, N, C, P, margin, w, t, touch, total, room - total)
        if near == 1 and flat == 0:
            if is_apart(upper, lower, S, N, C, P, axes, 3 * k, margin, w) == 0:
                found = touches(upper, lower, S, N, C, P, margin, w, t, touch, total, room - total)
                if found == 0 and w[LENGTH] > 0.0:
                    for i in range(3):
                        axes[3 * k + i] = w[V + i] / w[LENGTH]
        if found < 0:
            hard[asked] = k
            asked = asked + 1
        for _ in range(found):
            if total < room:
                of[total] = k
                on[2 * total] = S[SHAPE * upper + FRAME]
                on[2 * total + 1] = S[SHAPE * lower + FRAME]
            total = total + 1
    counts[FOUND] = total
    counts[ASKED] = asked
    if total > room or asked > 0:
        return 0
    return 1
