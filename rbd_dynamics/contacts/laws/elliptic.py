# SPDX-License-Identifier: Apache-2.0
"""Coulomb's law: |f_t| <= mu f_n, opposite to where the contact slides.

The force of one contact, exactly: none, sticking, or sliding on the cone. What slides does so opposite to its friction,
in a direction that Newton's method finds, or a search over all of them.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.laws.base import ACCURATE, SINGULAR, FrictionLaw

Array = NDArray[np.float64]
NEWTON_TURNS = 40  # of the direction of sliding
DIRECTIONS = 64  # that are tried where these do not settle
HALF_STEP = 0.049067674327418015  # sin(pi / DIRECTIONS)
HALVINGS = 60
CLOSE = 1e-11  # rad: after a turn as small as that the error is its square


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


def contact_force(G: Array, n: int, k: int, u0: float, u1: float, u2: float, mu: float, found: Array, w: Array) -> int:
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


class Elliptic(FrictionLaw):
    name = "elliptic"
    loops = (sticking, slipping, sliding, contact_force)

    def direction(self, velocity: Array, still: float) -> Array:
        speed = np.hypot(velocity[:, 0], velocity[:, 1])[:, None]
        return np.where(speed > still, velocity / np.where(speed > still, speed, 1.0), 0.0)

    def bounded(self, tangential: Array, bound: Array) -> Array:
        length = np.hypot(tangential[:, 0], tangential[:, 1])
        scale = np.where(length > bound, bound / np.where(length > 0.0, length, 1.0), 1.0)
        return np.asarray(tangential * scale[:, None])

    def slope(self, tangential: Array, bound: float, mu: float, normal: float) -> tuple[Array, Array]:
        length = float(np.hypot(tangential[0], tangential[1]))
        if not length > bound:
            return np.eye(2), np.zeros(2)
        direction = tangential / length
        return mu * normal / length * (np.eye(2) - np.outer(direction, direction)), mu * direction

    def nearest(self, z: Array, mu: float) -> tuple[Array, Array]:
        normal, length = float(z[0]), float(np.hypot(z[1], z[2]))
        if length <= mu * normal:
            return z, np.eye(3)
        if mu * length <= -normal:
            return np.zeros(3), np.zeros((3, 3))
        direction = z[1:] / length
        edge = np.array([1.0, *(mu * direction)]) / np.sqrt(1.0 + mu * mu)
        along = float(edge @ z)
        by_z = np.outer(edge, edge)
        by_z[1:, 1:] += along * mu / np.sqrt(1.0 + mu * mu) / length * (np.eye(2) - np.outer(direction, direction))
        return along * edge, by_z
