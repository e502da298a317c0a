# SPDX-License-Identifier: Apache-2.0
"""What a step in contact of shapes does once these are found, written for `compiler.loops` to translate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.loops import Table
from rbd_dynamics.contacts.impacts import SLOWEST_BOUNCE
from rbd_dynamics.contacts.proximal import ENOUGH, gathered, motion_of, proximal_forces, violated
from rbd_dynamics.contacts.sweeps import sweep_contacts

Array = NDArray[np.float64]
MU, RESTITUTION, COMPLIANCE, DAMPING, LAW = 0, 1, 2, 3, 4  # of each pair
POINTS = 3  # numbers of a point


def factorised(n: int, roots: Table, M: Array, inverse: Array) -> int:
    """M = U D U^T, from the last row up: below the diagonal U^T takes the place of M; inverse (n): 1 / D.

    roots: of each row the first of its tree; what is zero in a tree stays so. 0 where M is not positive.
    """
    for back in range(n):
        k = n - 1 - back
        if not M[k * n + k] > 0.0:
            return 0
        inverse[k] = 1.0 / M[k * n + k]
        for i in range(roots[k], k):
            here = M[k * n + i]
            if here != 0.0:
                part = here * inverse[k]
                for j in range(roots[k], i + 1):
                    M[i * n + j] += -part * M[k * n + j]
        for i in range(roots[k], k):
            M[k * n + i] = M[k * n + i] * inverse[k]
    return 1


def upwards(n: int, roots: Table, low: int, high: int, U: Array, x: Array, at: int) -> int:
    """x[at:] becomes U^-1 x, and the same of the two vectors (n) behind it; U^T as `factorised` leaves it.

    They are zero but from low to high.
    """
    for back in range(high - low):
        k = high - 1 - back
        a = x[at + k]
        b = x[at + n + k]
        c = x[at + 2 * n + k]
        if a != 0.0 or b != 0.0 or c != 0.0:
            for i in range(roots[k], k):
                x[at + i] += -a * U[k * n + i]
                x[at + n + i] += -b * U[k * n + i]
                x[at + 2 * n + i] += -c * U[k * n + i]
    return 0


def response_of(rows: int, nv: int, inverse: Array, X: Array, across: Array, G: Array) -> int:
    """G (rows, rows) = X D^-1 X^T. across (rows): for its own use."""
    for i in range(rows * rows):
        G[i] = 0.0
    for d in range(nv):
        for i in range(rows):
            across[i] = X[i * nv + d]
        for i in range(rows):
            if across[i] != 0.0:
                part = across[i] * inverse[d]
                at = i * rows
                for j in range(rows):
                    G[at + j] += part * across[j]
    return 0


def started(
    contacts: int, of: Table, points: Array, stride: int, before: Table, last_of: Table, last_points: Array,
    last: Array, near: float, f: Array,
) -> int:  # fmt: skip
    """f (3 contacts): the forces of the last step at points of the same pair that have hardly moved; else none.

    points[stride k:]: where contact k is. before[0]: how many there were.
    """
    for k in range(contacts):
        f[3 * k] = 0.0
        f[3 * k + 1] = 0.0
        f[3 * k + 2] = 0.0
        best = near
        for i in range(before[0]):
            if last_of[i] == of[k]:
                x = last_points[3 * i] - points[stride * k]
                y = last_points[3 * i + 1] - points[stride * k + 1]
                z = last_points[3 * i + 2] - points[stride * k + 2]
                away = x * x + y * y + z * z
                if away < best:
                    best = away
                    f[3 * k] = last[3 * i]
                    f[3 * k + 1] = last[3 * i + 1]
                    f[3 * k + 2] = last[3 * i + 2]
    return 0


def shape_velocity(
    contacts: int, nv: int, most: int, proximal: int, stride: int, gap_at: int, numbers: Array, tolerance: Array,
    roots: Table, columns: Table, low: Table, high: Table, of: Table, touch: Array, laws: Array, A: Array,
    velocity: Array, bias: Array, M: Array, inverse: Array, X: Array, G: Array, free: Array, mu: Array, f: Array,
    before: Table, last_of: Table, last_points: Array, own: Array, work: Array, D: Array, y: Array, u: Array,
    slip: Array, change: Array, start: Array, rho: Array, H: Array, T: Array, C: Array, way: Array, tried: Array,
    moved: Array, forces: Array, a: Array, v: Array, reached: Array,
) -> int:  # fmt: skip
    """Forces (3 contacts) of what touches, a (nv) with them, and v + h a. 0 for steps that go the long way: something
    rebounds, or sweeps alone are not enough.

    numbers: h, the part of a penetration that a step takes back, and the square of how far a point may have gone from
    where it was. roots: of `factorised`. columns: of pairs, the first degree of freedom that moves them, and one behind
    the last; low, high: the same of contacts. touch[stride k:]: of contact k, with its gap at gap_at. laws: of pairs. M
    becomes its factor. forces: those of the step before, at first; f, G, X, mu, free: for its own use. a is without
    contact before.
    """
    h = numbers[0]
    rows = 3 * contacts
    started(contacts, of, touch, stride, before, last_of, last_points, forces, numbers[2], f)
    least = 0.0
    soft = 0
    for k in range(contacts):
        law = LAW * of[k]
        gap = touch[stride * k + gap_at]
        row = 3 * k
        if laws[law + RESTITUTION] > 0.0 and velocity[row] <= -max(SLOWEST_BOUNCE, gap / h):
            return 0
        mu[k] = laws[law + MU]
        low[k] = columns[2 * of[k]]
        high[k] = columns[2 * of[k] + 1]
        at = row * nv
        gained0 = bias[row]
        gained1 = bias[row + 1]
        gained2 = bias[row + 2]
        for d in range(low[k], high[k]):
            gained0 += A[at + d] * a[d]
            gained1 += A[at + nv + d] * a[d]
            gained2 += A[at + 2 * nv + d] * a[d]
        free[row] = velocity[row] + h * gained0
        free[row + 1] = velocity[row + 1] + h * gained1
        free[row + 2] = velocity[row + 2] + h * gained2
        closing = h + laws[law + COMPLIANCE] * laws[law + DAMPING]
        gain = numbers[1] / closing
        if laws[law + COMPLIANCE] > 0.0:
            soft = 1
        if laws[law + COMPLIANCE] > 0.0 or gap > 0.0:
            gain = 1.0 / closing
        free[row] += gap * gain
        least = min(least, free[row])
    if least >= 0.0:
        for i in range(rows):
            f[i] = 0.0
    else:
        if factorised(nv, roots, M, inverse) == 0:
            return 0
        for i in range(rows * nv):
            X[i] = A[i]
        for k in range(contacts):
            upwards(nv, roots, low[k], high[k], M, X, 3 * k * nv)
        for d in range(nv):
            D[d] = M[d * nv + d]
        done = 0
        many = 0  # more rows than degrees of freedom: sweeps would take long
        if rows > nv:
            many = 1
        for turn in range(2):
            if done == 0 and proximal == 1 and soft == 0 and turn + many == 1:
                done = proximal_forces(
                    contacts, nv, tolerance, low, high, D, inverse, X, free, mu, f, y, u, slip, change, start, rho, H,
                    T, C, way, tried, moved, work,
                )  # fmt: skip
            if done == 0 and turn == many:
                response_of(rows, nv, inverse, X, own, G)
                for k in range(contacts):
                    law = LAW * of[k]
                    closing = h + laws[law + COMPLIANCE] * laws[law + DAMPING]
                    G[3 * k * rows + 3 * k] += laws[law + COMPLIANCE] / (h * closing)
                done = sweep_contacts(contacts, 0, most, tolerance, G, free, mu, mu, mu, mu, f, own, work)
        if done == 0 and proximal == 1 and soft == 0:  # sweeps that still change forces may have those that hold
            gathered(contacts, nv, low, high, X, f, y)
            for d in range(nv):
                y[d] = y[d] * inverse[d]
            motion_of(contacts, nv, low, high, X, free, y, u)
            violated(contacts, mu, u, f, rho, work)
            if work[0] <= ENOUGH:
                done = 1
        if done == 0:
            return 0
        gathered(contacts, nv, low, high, X, f, own)
        for d in range(nv):
            total = own[d] * inverse[d]
            for i in range(roots[d], d):
                total += -M[d * nv + i] * own[i]
            own[d] = total
            a[d] += total / h
    before[0] = contacts
    for k in range(contacts):
        last_of[k] = of[k]
        for i in range(3):
            last_points[3 * k + i] = touch[stride * k + i]
            forces[3 * k + i] = f[3 * k + i]
    for d in range(nv):
        reached[d] = v[d] + h * a[d]
    return 1


#: the solver's, the last of which is called; behind sweeps and `proximal.LOOPS`
LOOPS = (factorised, upwards, response_of, started, shape_velocity)
