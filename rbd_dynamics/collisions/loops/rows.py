# SPDX-License-Identifier: Apache-2.0
"""Rows of contacts between moving links, and how these change: as `motion.rows_of` has them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.loops.layout import (
    COMPLIANCE,
    NORMAL,
    OTHER,
    POINT,
    RADII,
    RATE_A,
    RATE_ALPHA,
    RATE_V,
    RATE_W,
    RATES,
    SHARE,
    TOUCH,
)
from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]
ARM, FIRST, WAY, SPEED, TURN = 0, 8, 12, 16, 20


def rates(frames: int, poses: Array, twists: Array, F: Array) -> int:
    """F: velocities of the frames and their rates without joint acceleration, in the world; of the world, the last, 0.

    poses, twists: as the kernel of `LinkMotions` gives them.
    """
    for k in range(frames):
        R = 12 * k
        T = 12 * k
        wx = twists[T]
        wy = twists[T + 1]
        wz = twists[T + 2]
        vx = twists[T + 3]
        vy = twists[T + 4]
        vz = twists[T + 5]
        ax = twists[T + 9] + (wy * vz - wz * vy)
        ay = twists[T + 10] + (wz * vx - wx * vz)
        az = twists[T + 11] + (wx * vy - wy * vx)
        for i in range(3):
            r = R + 4 * i
            F[RATES * k + RATE_V + i] = poses[r] * vx + poses[r + 1] * vy + poses[r + 2] * vz
            F[RATES * k + RATE_W + i] = poses[r] * wx + poses[r + 1] * wy + poses[r + 2] * wz
            F[RATES * k + RATE_A + i] = poses[r] * ax + poses[r + 1] * ay + poses[r + 2] * az
            F[RATES * k + RATE_ALPHA + i] = (
                poses[r] * twists[T + 6] + poses[r + 1] * twists[T + 7] + poses[r + 2] * twists[T + 8]
            )
    for i in range(RATES):
        F[RATES * frames + i] = 0.0
    return 0


def crossed(a: Array, at: int, b: Array, of: int, g: Array, to: int) -> int:
    """g[to:to+3] = a[at:] x b[of:]."""
    x = a[at + 1] * b[of + 2] - a[at + 2] * b[of + 1]
    y = a[at + 2] * b[of] - a[at] * b[of + 2]
    z = a[at] * b[of + 1] - a[at + 1] * b[of]
    g[to] = x
    g[to + 1] = y
    g[to + 2] = z
    return 0


def arm_of(frame: int, frames: int, poses: Array, touch: Array, point: int, g: Array, to: int) -> int:
    """g[to:to+3]: from the frame's origin to a point."""
    for i in range(3):
        g[to + i] = touch[point + i]
        if frame < frames:
            g[to + i] = touch[point + i] - poses[12 * frame + 4 * i + 3]
    return 0


def row_parts(
    frame: int, nv: int, columns: Table, poses: Array, jacobians: Array, touch: Array, at: int, sign: float, again: int,
    g: Array, own: Array, here: int, A: Array, to: int,
) -> int:  # fmt: skip
    """Adds to A[to:] (3, nv) what a frame's motion does to normal and tangents; g[ARM:] is the arm of its point.

    again: 1: normal and tangents are those of the call before, for which own[here:] holds them in the frame's own
    directions, and what its origin's motion does to them (3, nv).
    """
    R = 12 * frame
    J = 6 * nv * frame
    o = here + 9
    first = columns[2 * frame]
    last = columns[2 * frame + 1]
    if again == 0:
        for k in range(3):
            n = at + NORMAL + 3 * k
            for i in range(3):
                own[here + 3 * k + i] = sign * (
                    poses[R + i] * touch[n] + poses[R + 4 + i] * touch[n + 1] + poses[R + 8 + i] * touch[n + 2]
                )
            x = own[here + 3 * k]
            y = own[here + 3 * k + 1]
            z = own[here + 3 * k + 2]
            for j in range(first, last):
                own[o + k * nv + j] = (
                    x * jacobians[J + 3 * nv + j] + y * jacobians[J + 4 * nv + j] + z * jacobians[J + 5 * nv + j]
                )
    for i in range(3):
        g[WAY + i] = poses[R + i] * g[ARM] + poses[R + 4 + i] * g[ARM + 1] + poses[R + 8 + i] * g[ARM + 2]
    for k in range(3):
        crossed(g, WAY, own, here + 3 * k, g, TURN)
        x = g[TURN]
        y = g[TURN + 1]
        z = g[TURN + 2]
        for j in range(first, last):
            A[to + k * nv + j] += (
                own[o + k * nv + j] + x * jacobians[J + j] + y * jacobians[J + nv + j] + z * jacobians[J + 2 * nv + j]
            )
    return 0


def point_rates(frame: int, F: Array, g: Array, wandering: int, sign: float) -> int:
    """Adds velocity and acceleration of a point of a frame to g[30:36]; it wanders over it with g[wandering:]."""
    f = RATES * frame
    crossed(F, f + RATE_W, g, ARM, g, FIRST)
    for i in range(3):
        g[30 + i] += sign * (F[f + RATE_V + i] + g[FIRST + i])
        g[FIRST + i] += g[wandering + i]
    crossed(F, f + RATE_W, g, FIRST, g, TURN)
    crossed(F, f + RATE_ALPHA, g, ARM, g, SPEED)
    for i in range(3):
        g[33 + i] += sign * (F[f + RATE_A + i] + g[SPEED + i] + g[TURN + i])
    return 0


def contact_rows(
    count: int, frames: int, nv: int, columns: Table, on: Table, poses: Array, jacobians: Array, F: Array, touch: Array,
    g: Array, own: Array, A: Array, velocity: Array, bias: Array,
) -> int:  # fmt: skip
    """A (3 count, nv), A v and Adot v of touches; on (2 count): the frames on which forces and their opposites act.

    columns: of each frame the first degree of freedom that moves it, and one behind the last.
    g (64), own (2, 9 + 3 nv): for its own use.
    """
    for k in range(count):
        at = TOUCH * k
        up = on[2 * k]
        down = on[2 * k + 1]
        u = RATES * up
        d = RATES * down
        again = 0
        if k > 0:
            if on[2 * k - 2] == up and on[2 * k - 1] == down:
                again = 1
            for i in range(9):
                if touch[at + NORMAL + i] != touch[at - TOUCH + NORMAL + i]:
                    again = 0
        for i in range(3 * nv):
            A[3 * k * nv + i] = 0.0
        for i in range(64):
            g[i] = 0.0
        arm_of(up, frames, poses, touch, at + POINT, g, ARM)
        if up < frames:
            row_parts(up, nv, columns, poses, jacobians, touch, at, 1.0, again, g, own, 0, A, 3 * k * nv)
        point_rates(up, F, g, 40, 1.0)
        arm_of(down, frames, poses, touch, at + OTHER, g, ARM)
        if down < frames:
            row_parts(down, nv, columns, poses, jacobians, touch, at, -1.0, again, g, own, 9 + 3 * nv, A, 3 * k * nv)
        point_rates(down, F, g, 40, -1.0)
        for i in range(3):
            n = at + NORMAL + 3 * i
            velocity[3 * k + i] = touch[n] * g[30] + touch[n + 1] * g[31] + touch[n + 2] * g[32]
            g[48 + i] = touch[at + NORMAL + i]
        for i in range(6):
            g[30 + i] = 0.0
        # by the envelope theorem for max over n of -support_upper(-n) - support_lower(n): theory.md section 10
        crossed(F, d + RATE_W, g, 48, g, 52)  # w x n: turning of the normal with each body
        crossed(F, u + RATE_W, g, 48, g, 56)
        for i in range(2):
            n = at + NORMAL + 3 * (i + 1)
            g[20 + i] = velocity[3 * k + 1 + i]  # slip
            g[22 + i] = -(touch[n] * g[52] + touch[n + 1] * g[53] + touch[n + 2] * g[54])  # carried
            g[24 + i] = -(touch[n] * g[56] + touch[n + 1] * g[57] + touch[n + 2] * g[58]) - g[22 + i]  # turned
        for i in range(2):
            c = at + COMPLIANCE + 2 * i
            s = at + SHARE
            r = at + RADII + 2 * i
            g[60 + i] = touch[c] * g[20] + touch[c + 1] * g[21] - g[22 + i]
            g[60 + i] += -(touch[s + i] * g[24] + touch[s + 2 + i] * g[25])  # turning of the normal
            g[62 + i] = touch[s + 2 * i] * g[20] + touch[s + 2 * i + 1] * g[21]
            g[62 + i] += touch[r] * g[24] + touch[r + 1] * g[25]  # wandering of the point
        slip0 = g[20]
        slip1 = g[21]
        for i in range(3):
            one = touch[at + NORMAL + 3 + i]
            two = touch[at + NORMAL + 6 + i]
            g[40 + i] = -(one * g[62] + two * g[63])
            g[44 + i] = one * (slip0 - g[62]) + two * (slip1 - g[63])
        arm_of(up, frames, poses, touch, at + POINT, g, ARM)
        point_rates(up, F, g, 40, 1.0)
        arm_of(down, frames, poses, touch, at + OTHER, g, ARM)
        point_rates(down, F, g, 44, -1.0)
        for i in range(3):
            n = at + NORMAL + 3 * i
            bias[3 * k + i] = touch[n] * g[33] + touch[n + 1] * g[34] + touch[n + 2] * g[35]
        bias[3 * k] += g[60] * slip0 + g[61] * slip1
        bias[3 * k + 1] += -g[60] * velocity[3 * k]
        bias[3 * k + 2] += -g[61] * velocity[3 * k]
    return 0
