# SPDX-License-Identifier: Apache-2.0
"""A pyramid in place of Coulomb's cone: |f_1| <= mu f_n and |f_2| <= mu f_n, each tangent by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.laws.base import ACCURATE, SINGULAR, FrictionLaw

Array = NDArray[np.float64]


def contact_force(G: Array, n: int, k: int, u0: float, u1: float, u2: float, mu: float, found: Array, w: Array) -> int:
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


class Pyramidal(FrictionLaw):
    name = "pyramidal"
    loops = (contact_force,)
    as_one = False

    def direction(self, velocity: Array, still: float) -> Array:
        return np.where(np.abs(velocity) > still, np.sign(velocity), 0.0)

    def bounded(self, tangential: Array, bound: Array) -> Array:
        return np.clip(tangential, -bound[:, None], bound[:, None])

    def slope(self, tangential: Array, bound: float, mu: float, normal: float) -> tuple[Array, Array]:
        beyond = np.abs(tangential) > bound
        return np.diag(np.where(beyond, 0.0, 1.0)), np.where(beyond, mu * np.sign(tangential), 0.0)

    def nearest(self, z: Array, mu: float) -> tuple[Array, Array]:
        sizes, signs = np.abs(z[1:]), np.where(z[1:] < 0.0, -1.0, 1.0)
        bounded = np.zeros(2, dtype=bool)
        for _ in range(3):  # tangents join the bound ones, the larger first
            normal = (z[0] + mu * sizes[bounded].sum()) / (1.0 + mu**2 * bounded.sum())
            more = sizes > mu * max(normal, 0.0)
            if np.array_equal(more | bounded, bounded):
                break
            bounded[np.argmax(np.where(bounded, -1.0, sizes))] = True
        if normal <= 0.0:
            return np.zeros(3), np.zeros((3, 3))
        edge = np.array([1.0, *(mu * signs * bounded)])
        by_z = np.outer(edge, edge) / (edge @ edge)
        by_z[[1, 2], [1, 2]] += ~bounded
        return by_z @ z, by_z
