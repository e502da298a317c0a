# SPDX-License-Identifier: Apache-2.0
"""The force of one contact, exactly, while the others keep theirs: none, sticking, or sliding on the cone.

u = G f + free are the velocities (or accelerations) of the contacts, three rows each: normal, two tangents; u0, u1, u2
those of contact k without its own force, G a flat (n, n). What slides does so opposite to its friction, in a direction
that Newton's method finds, or a search over all of them. In the part of Python that `compiler.loops` translates.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SINGULAR = 1e-12  # of a diagonal element: what is left of it below that is rounding
NEWTON_TURNS = 40  # of the direction of sliding
DIRECTIONS = 64  # that are tried where these do not settle
HALF_STEP = 0.049067674327418015  # sin(pi / DIRECTIONS)
HALVINGS = 60
CLOSE = 1e-11  # rad: after a turn as small as that the error is its square
ACCURATE = 1e-14  # relative


def sticking(G: Array, n: int, k: int, u0: float, u1: float, u2: float, found: Array) -> int:
    """found (3): the force after which the contact does not move; none where it cannot be moved."""
    at = 3 * k * n + 3 * k
    l1 = G[at + n] / G[at]
    l2 = G[at + 2 * n] / G[at]
    a11 = G[at + n + 1] - l1 * G[at + 1]
    a12 = G[at + n + 2] - l1 * G[at + 2]
    a21 = G[at + 2 * n + 1] - l2 * G[at + 1]
    a22 = G[at + 2 * n + 2] - l2 * G[at + 2]
    y1 = -u1 + l1 * u0
    y2 = -u2 + l2 * u0
    least = SINGULAR * max(G[at + n + 1], G[at + 2 * n + 2])
    m2 = 0.0
    if a11 > least:
        m2 = a21 / a11
    f2 = 0.0
    if a22 - m2 * a12 > least:
        f2 = (y2 - m2 * y1) / (a22 - m2 * a12)
    f1 = 0.0
    if a11 > least:
        f1 = (y1 - a12 * f2) / a11
    found[0] = (-u0 - G[at + 1] * f1 - G[at + 2] * f2) / G[at]
    found[1] = f1
    found[2] = f2
    return 0


def slipping(G: Array, n: int, k: int, u0: float, u1: float, u2: float, mu: float, c: float, s: float, w: Array) -> int:
    """If it slides along d = (c, s): w = (g, g u_t) with g the response to the normal force, which is -u0 / g."""
    at = 3 * k * n + 3 * k
    along = G[at] - mu * (G[at + 1] * c + G[at + 2] * s)
    w[0] = along
    w[1] = along * u1 - u0 * (G[at + n] - mu * (G[at + n + 1] * c + G[at + n + 2] * s))
    w[2] = along * u2 - u0 * (G[at + 2 * n] - mu * (G[at + 2 * n + 1] * c + G[at + 2 * n + 2] * s))
    return 0


def sliding(G: Array, n: int, k: int, u0: float, u1: float, u2: float, mu: float, found: Array, w: Array) -> int:
    """found (3): the force of sliding; found holds that of sticking before. 1 where there is none."""
    at = 3 * k * n + 3 * k
    c = u1
    s = u2
    length = sqrt(c * c + s * s)
    if length <= 0.0:
        c = -found[1]
        s = -found[2]
        length = sqrt(c * c + s * s)
    if length <= 0.0:
        c = 1.0
        length = 1.0
    c = c / length
    s = s / length
    settled = 0
    for _ in range(NEWTON_TURNS):
        slipping(G, n, k, u0, u1, u2, mu, c, s, w)
        across = c * w[2] - s * w[1]
        ahead = c * w[1] + s * w[2]
        turned = -mu * (G[at + 2] * c - G[at + 1] * s)  # of w[0] by the angle
        wx = turned * u1 + u0 * mu * (G[at + n + 2] * c - G[at + n + 1] * s)
        wy = turned * u2 + u0 * mu * (G[at + 2 * n + 2] * c - G[at + 2 * n + 1] * s)
        slope = c * wy - s * wx - ahead
        turn = 0.3
        if across < 0.0:
            turn = -0.3
        if slope < 0.0:
            turn = max(-0.5, min(0.5, -across / slope))
        x = c - turn * s
        s = s + turn * c
        c = x
        length = sqrt(c * c + s * s)
        c = c / length
        s = s / length
        if abs(turn) <= CLOSE or (abs(across) <= ACCURATE * abs(ahead) and slope < 0.0):
            settled = 1
            break
    slipping(G, n, k, u0, u1, u2, mu, c, s, w)
    if settled == 0 or w[0] <= 0.0 or c * w[1] + s * w[2] < 0.0:
        settled = 0
        c = 1.0
        s = 0.0
        tc = 1.0 - 2.0 * HALF_STEP * HALF_STEP
        ts = 2.0 * HALF_STEP * sqrt(1.0 - HALF_STEP * HALF_STEP)
        slipping(G, n, k, u0, u1, u2, mu, c, s, w)
        before = c * w[2] - s * w[1]
        for _ in range(DIRECTIONS):
            lc = c
            ls = s
            c = lc * tc - ls * ts
            s = ls * tc + lc * ts
            slipping(G, n, k, u0, u1, u2, mu, c, s, w)
            across = c * w[2] - s * w[1]
            if before >= 0.0 and across < 0.0 and c * w[1] + s * w[2] > 0.0 and w[0] > 0.0:
                hc = c
                hs = s
                for _2 in range(HALVINGS):
                    c = lc + hc
                    s = ls + hs
                    length = sqrt(c * c + s * s)
                    c = c / length
                    s = s / length
                    slipping(G, n, k, u0, u1, u2, mu, c, s, w)
                    if c * w[2] - s * w[1] >= 0.0:
                        lc = c
                        ls = s
                    else:
                        hc = c
                        hs = s
                settled = 1
                break
            before = across
    if settled == 0:
        return 1
    normal = -u0 / w[0]
    found[0] = normal
    found[1] = -mu * normal * c
    found[2] = -mu * normal * s
    return 0


def cone_force(G: Array, n: int, k: int, u0: float, u1: float, u2: float, mu: float, found: Array, w: Array) -> int:
    """found (3): the force of one contact with the circular cone, u its velocity without it. 1 where there is none."""
    at = 3 * k * n + 3 * k
    if u0 >= 0.0 or G[at] <= 0.0:
        found[0] = 0.0
        found[1] = 0.0
        found[2] = 0.0
        if u0 < 0.0:  # nothing can move it
            return 1
        return 0
    if mu == 0.0:
        found[0] = -u0 / G[at]
        found[1] = 0.0
        found[2] = 0.0
        return 0
    sticking(G, n, k, u0, u1, u2, found)
    bound = mu * found[0]
    if found[0] >= 0.0 and found[1] * found[1] + found[2] * found[2] <= bound * bound:
        return 0
    if sliding(G, n, k, u0, u1, u2, mu, found, w) == 1:  # jammed: what makes it stick
        found[0] = max(0.0, found[0])
        return 1
    return 0


def pyramid_force(G: Array, n: int, k: int, u0: float, u1: float, u2: float, mu: float, found: Array) -> int:
    """found (3): the force with friction along each tangent bounded by mu times the normal force.

    Each tangent sticks or is at one of its bounds: of the nine cases the first that fits. 1 where none does.
    """
    at = 3 * k * n + 3 * k
    found[0] = 0.0
    found[1] = 0.0
    found[2] = 0.0
    if u0 >= 0.0:
        return 0
    if G[at] <= 0.0:
        return 1
    still = SINGULAR * G[at]
    for case in range(9):
        s1 = 0.0
        s2 = 0.0
        if case == 1 or case == 5 or case == 6:
            s1 = 1.0
        if case == 2 or case == 7 or case == 8:
            s1 = -1.0
        if case == 3 or case == 5 or case == 7:
            s2 = 1.0
        if case == 4 or case == 6 or case == 8:
            s2 = -1.0
        b1 = 0.0
        b2 = 0.0
        a10 = -mu * s1
        a11 = 1.0
        a12 = 0.0
        a20 = -mu * s2
        a21 = 0.0
        a22 = 1.0
        if s1 == 0.0 and G[at + n + 1] > still:
            a10 = G[at + n]
            a11 = G[at + n + 1]
            a12 = G[at + n + 2]
            b1 = -u1
        if s2 == 0.0 and G[at + 2 * n + 2] > still:
            a20 = G[at + 2 * n]
            a21 = G[at + 2 * n + 1]
            a22 = G[at + 2 * n + 2]
            b2 = -u2
        m0 = a11 * a22 - a12 * a21
        m1 = a10 * a22 - a12 * a20
        m2 = a10 * a21 - a11 * a20
        det = G[at] * m0 - G[at + 1] * m1 + G[at + 2] * m2
        if abs(det) > SINGULAR * abs(G[at] * m0):
            r1 = b1 * a22 - a12 * b2
            r2 = b1 * a21 - a11 * b2
            f0 = (-u0 * m0 - G[at + 1] * r1 + G[at + 2] * r2) / det
            f1 = (G[at] * r1 + u0 * m1 + G[at + 2] * (a10 * b2 - b1 * a20)) / det
            f2 = (-G[at] * r2 - G[at + 1] * (a10 * b2 - b1 * a20) - u0 * m2) / det
            bound = mu * f0 * (1.0 + ACCURATE)
            v1 = u1 + G[at + n] * f0 + G[at + n + 1] * f1 + G[at + n + 2] * f2
            v2 = u2 + G[at + 2 * n] * f0 + G[at + 2 * n + 1] * f1 + G[at + 2 * n + 2] * f2
            if f0 >= 0.0 and abs(f1) <= bound and abs(f2) <= bound and s1 * v1 <= 0.0 and s2 * v2 <= 0.0:
                found[0] = f0
                found[1] = f1
                found[2] = f2
                return 0
    found[0] = -u0 / G[at]
    return 1
