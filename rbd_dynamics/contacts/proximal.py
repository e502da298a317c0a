# SPDX-License-Identifier: Apache-2.0
"""Forces of many contacts on few bodies, with Coulomb's cone: a proximal point method, each step by Newton's.

Find f in K with u = X y + free, D y = X^T f, such that K* contains u + mu |u_t| e_n, orthogonal to f (De Saxce). With
mu |u_t| = s given the problem is convex; a step of the method minimises it with (e / 2) |f - f_before|^2 added, which
makes f the nearest force in K to f_before - (u + s) / e, and y the minimum of a smooth function of as few unknowns as
there are degrees of freedom, however many contacts there are. Forces that are not unique stay those nearest to where
they start. The slips are found by repetition, with Aitken's extrapolation. What tells that the law holds is Alart and
Curnier's function, as in `newton`.

Sources: Rockafellar, SIAM J. Control Optim. 14, 1976; Irons, Tuck, Int. J. Numer. Methods Eng. 1, 1969; Carpentier,
Le Lidec, Montaut, RSS 2024; Todorov, ICRA 2014.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.loops import Table

Array = NDArray[np.float64]
STEPS = 100  # of the proximal method
NEWTON_STEPS = 20  # in each
HALVINGS = 30
NEAR = 1e-5  # e, of the mean response of a contact
DESCENT = 1e-4  # Armijo's
ROUNDING = 1e-12  # of the value
FLATTER = 0.5  # of the slope, that a step leaves at most
FLOOR = 1e-6  # of the gradient's parts: below that, what no step halves is rounding, too
LEAST, LARGEST = 0.3, 8.0  # factors of a step of the slip
ENOUGH = 1e-7  # of the largest force: what violates the law by no more after all steps is taken
SETTLED = 1e-10  # of the gradient's parts: what is left is rounding


def nearest_force(mu: float, z0: float, z1: float, z2: float, p: Array, at: int, H: Array, to: int) -> int:
    """p[at:at+3]: the force in the cone nearest to z; H[to:to+9]: how it changes with z. 0 where it is none."""
    for i in range(9):
        H[to + i] = 0.0
    length = sqrt(z1 * z1 + z2 * z2)
    if length <= mu * z0:
        p[at] = z0
        p[at + 1] = z1
        p[at + 2] = z2
        H[to] = 1.0
        H[to + 4] = 1.0
        H[to + 8] = 1.0
        return 1
    if mu * length <= -z0:
        p[at] = 0.0
        p[at + 1] = 0.0
        p[at + 2] = 0.0
        return 0
    c = z1 / length
    s = z2 / length
    share = 1.0 / (1.0 + mu * mu)
    normal = share * (z0 + mu * length)
    p[at] = normal
    p[at + 1] = mu * normal * c
    p[at + 2] = mu * normal * s
    across = mu * normal / length
    H[to] = share
    H[to + 1] = share * mu * c
    H[to + 2] = share * mu * s
    H[to + 3] = H[to + 1]
    H[to + 4] = share * mu * mu * c * c + across * s * s
    H[to + 5] = share * mu * mu * c * s - across * c * s
    H[to + 6] = H[to + 2]
    H[to + 7] = H[to + 5]
    H[to + 8] = share * mu * mu * s * s + across * c * c
    return 1


def motion_of(contacts: int, nv: int, low: Table, high: Table, X: Array, free: Array, y: Array, u: Array) -> int:
    """u = X y + free. low, high: of each contact the columns of X from and up to which its rows are not zero."""
    for k in range(contacts):
        r = 3 * k
        x = r * nv
        u0 = free[r]
        u1 = free[r + 1]
        u2 = free[r + 2]
        for d in range(low[k], high[k]):
            u0 += X[x + d] * y[d]
            u1 += X[x + nv + d] * y[d]
            u2 += X[x + 2 * nv + d] * y[d]
        u[r] = u0
        u[r + 1] = u1
        u[r + 2] = u2
    return 0


def gathered(contacts: int, nv: int, low: Table, high: Table, X: Array, f: Array, total: Array) -> int:
    """total = X^T f."""
    for d in range(nv):
        total[d] = 0.0
    for k in range(contacts):
        x = 3 * k * nv
        f0 = f[3 * k]
        f1 = f[3 * k + 1]
        f2 = f[3 * k + 2]
        if f0 != 0.0 or f1 != 0.0 or f2 != 0.0:
            for d in range(low[k], high[k]):
                total[d] += X[x + d] * f0 + X[x + nv + d] * f1 + X[x + 2 * nv + d] * f2
    return 0


def violated(contacts: int, mu: Array, u: Array, f: Array, rho: Array, worst: Array) -> int:
    """worst[0]: how much Alart and Curnier's law would change the forces, over the largest of them."""
    off = 0.0
    largest = 0.0
    for k in range(contacts):
        r = 3 * k
        z0 = f[r] - rho[k] * u[r]
        z1 = f[r + 1] - rho[k] * u[r + 1]
        z2 = f[r + 2] - rho[k] * u[r + 2]
        bound = mu[k] * max(f[r], 0.0)
        length = sqrt(z1 * z1 + z2 * z2)
        if length > bound:
            z1 = z1 * bound / length
            z2 = z2 * bound / length
        off = max(off, max(abs(f[r] - max(z0, 0.0)), max(abs(f[r + 1] - z1), abs(f[r + 2] - z2))))
        largest = max(largest, max(abs(f[r]), max(abs(f[r + 1]), abs(f[r + 2]))))
    worst[0] = off
    if largest > 0.0:
        worst[0] = off / largest
    return 0


def potential(
    contacts: int, nv: int, e: float, D: Array, mu: Array, y: Array, u: Array, slip: Array, start: Array, p: Array,
    H: Array, value: Array,
) -> int:  # fmt: skip
    """value[0]: what a step of the method minimises, at y with u; p: the forces there, H: how they change."""
    total = 0.0
    for d in range(nv):
        total += 0.5 * D[d] * y[d] * y[d]
    for k in range(contacts):
        r = 3 * k
        z0 = start[r] - (u[r] + slip[k]) / e
        z1 = start[r + 1] - u[r + 1] / e
        z2 = start[r + 2] - u[r + 2] / e
        nearest_force(mu[k], z0, z1, z2, p, r, H, 9 * k)
        total += 0.5 * e * (p[r] * p[r] + p[r + 1] * p[r + 1] + p[r + 2] * p[r + 2])
    value[0] = total
    return 0


def curved(
    contacts: int, nv: int, e: float, low: Table, high: Table, D: Array, X: Array, H: Array, T: Array, C: Array
) -> int:
    """C = D + X^T H X / e, its upper triangle. T (3 nv): for its own use."""
    for d in range(nv):
        C[d * nv + d] = D[d]
        for i in range(d + 1, nv):
            C[d * nv + i] = 0.0
    for k in range(contacts):
        h = 9 * k
        x = 3 * k * nv
        if H[h] > 0.0:
            for d in range(low[k], high[k]):
                a = X[x + d] / e
                b = X[x + nv + d] / e
                c = X[x + 2 * nv + d] / e
                T[d] = H[h] * a + H[h + 1] * b + H[h + 2] * c
                T[nv + d] = H[h + 3] * a + H[h + 4] * b + H[h + 5] * c
                T[2 * nv + d] = H[h + 6] * a + H[h + 7] * b + H[h + 8] * c
            for d in range(low[k], high[k]):
                a = X[x + d]
                b = X[x + nv + d]
                c = X[x + 2 * nv + d]
                if a != 0.0 or b != 0.0 or c != 0.0:
                    for i in range(d, high[k]):
                        C[d * nv + i] += a * T[i] + b * T[nv + i] + c * T[2 * nv + i]
    return 0


def solved(n: int, C: Array, x: Array) -> int:
    """x becomes C^-1 x; of C its upper triangle, which becomes Cholesky's factor. 0 where C is not positive."""
    for k in range(n):
        if not C[k * n + k] > 0.0:
            return 0
        scale = 1.0 / sqrt(C[k * n + k])
        for j in range(k, n):
            C[k * n + j] = scale * C[k * n + j]
        for i in range(k + 1, n):
            part = C[k * n + i]
            if part != 0.0:
                for j in range(i, n):
                    C[i * n + j] += -part * C[k * n + j]
        x[k] = scale * x[k]
        value = x[k]
        for j in range(k + 1, n):
            x[j] += -value * C[k * n + j]
    for back in range(n):
        i = n - 1 - back
        total = x[i]
        for k in range(i + 1, n):
            total += -C[i * n + k] * x[k]
        x[i] = total / C[i * n + i]
    return 1


def proximal_step(
    contacts: int, nv: int, e: float, low: Table, high: Table, D: Array, X: Array, free: Array, mu: Array, slip: Array,
    start: Array, p: Array, y: Array, u: Array, H: Array, T: Array, C: Array, way: Array, tried: Array, moved: Array,
    value: Array,
) -> int:  # fmt: skip
    """p and y of one step from the forces `start`, and u = X y + free, by Newton's method. 0 where that fails."""
    rows = 3 * contacts
    motion_of(contacts, nv, low, high, X, free, y, u)
    potential(contacts, nv, e, D, mu, y, u, slip, start, p, H, value)
    last = 1e300
    for _ in range(NEWTON_STEPS):
        here = value[0]
        gathered(contacts, nv, low, high, X, p, way)
        lacking = 0.0
        size = 0.0
        for d in range(nv):
            size = max(size, max(abs(D[d] * y[d]), abs(way[d])))
            way[d] = way[d] - D[d] * y[d]
            lacking = max(lacking, abs(way[d]))
            T[3 * nv + d] = way[d]
        if lacking <= SETTLED * size or (lacking <= FLOOR * size and lacking > 0.5 * last):
            return 1
        last = lacking
        curved(contacts, nv, e, low, high, D, X, H, T, C)
        if solved(nv, C, way) == 0:
            return 0
        slope = 0.0
        for d in range(nv):
            slope += T[3 * nv + d] * way[d]
        part = 1.0
        found = 0
        for _2 in range(HALVINGS):
            for d in range(nv):
                tried[d] = y[d] + part * way[d]
            motion_of(contacts, nv, low, high, X, free, tried, moved)
            potential(contacts, nv, e, D, mu, tried, moved, slip, start, p, H, value)
            if value[0] <= here - DESCENT * part * slope:
                found = 1
                break
            if value[0] <= here + ROUNDING * abs(here):  # values tell no more; the slope does
                gathered(contacts, nv, low, high, X, p, T)
                rest = 0.0
                for d in range(nv):
                    rest += way[d] * (D[d] * tried[d] - T[d])
                if abs(rest) <= FLATTER * slope:
                    found = 1
                    break
            part = 0.5 * part
        if found == 0:  # rounding is all that is left
            motion_of(contacts, nv, low, high, X, free, y, u)
            potential(contacts, nv, e, D, mu, y, u, slip, start, p, H, value)
            return 1
        for d in range(nv):
            y[d] = tried[d]
        for i in range(rows):
            u[i] = moved[i]
    return 1  # the next step goes on from there


def proximal_forces(
    contacts: int, nv: int, tolerance: Array, low: Table, high: Table, D: Array, inverse: Array, X: Array, free: Array,
    mu: Array, f: Array, y: Array, u: Array, slip: Array, change: Array, start: Array, rho: Array, H: Array, T: Array,
    C: Array, way: Array, tried: Array, moved: Array, value: Array,
) -> int:  # fmt: skip
    """Improves f (3 contacts), in place, until the law holds to 10 tolerance[0] of the largest force, or to ENOUGH.

    low, high: see `motion_of`. D, inverse (nv): of M = U D U^T, and 1 / D. X (3 contacts, nv) = A U^-T; y (nv) = U^T
    times the change of v. For its own use u, start, moved (3 contacts), slip, change, rho (contacts), H (9 contacts),
    T (4 nv), C (nv, nv), way, tried (nv), value (1). Returns how many steps it took and one more, 0 where these were
    not enough.
    """
    rows = 3 * contacts
    mean = 0.0
    for k in range(contacts):
        at = 3 * k * nv
        square0 = 0.0
        square1 = 0.0
        square2 = 0.0
        for d in range(low[k], high[k]):
            square0 += X[at + d] * X[at + d] * inverse[d]
            square1 += X[at + nv + d] * X[at + nv + d] * inverse[d]
            square2 += X[at + 2 * nv + d] * X[at + 2 * nv + d] * inverse[d]
        response = (square0 + square1 + square2) / 3.0
        rho[k] = 1.0
        if response > 0.0:
            rho[k] = 1.0 / response
        mean += response / contacts
    if not mean > 0.0:
        return 0
    e = NEAR * mean
    gathered(contacts, nv, low, high, X, f, y)
    for d in range(nv):
        y[d] = y[d] * inverse[d]
    motion_of(contacts, nv, low, high, X, free, y, u)
    factor = 1.0
    for count in range(STEPS):
        violated(contacts, mu, u, f, rho, value)
        if value[0] <= 10.0 * tolerance[0]:
            return count + 1
        along = 0.0
        square = 0.0
        for k in range(contacts):
            r = 3 * k
            new = mu[k] * sqrt(u[r + 1] * u[r + 1] + u[r + 2] * u[r + 2])
            if count == 0:
                slip[k] = new
                change[k] = 0.0
            new = new - slip[k]
            along += change[k] * (new - change[k])
            square += (new - change[k]) * (new - change[k])
            moved[k] = new
        if count > 5 and square > 0.0:  # Aitken's: how far the changes of the slip will come in the end
            factor = max(LEAST, min(LARGEST, -factor * along / square))
        for k in range(contacts):
            change[k] = moved[k]
            slip[k] = max(0.0, slip[k] + factor * moved[k])
        for i in range(rows):
            start[i] = f[i]
        done = proximal_step(
            contacts, nv, e, low, high, D, X, free, mu, slip, start, f, y, u, H, T, C, way, tried, moved, value,
        )  # fmt: skip
        if done == 0:
            return 0
        gathered(contacts, nv, low, high, X, f, y)  # so that forces and motion belong together
        for d in range(nv):
            y[d] = y[d] * inverse[d]
        motion_of(contacts, nv, low, high, X, free, y, u)
    violated(contacts, mu, u, f, rho, value)
    if value[0] <= ENOUGH:
        return STEPS + 1
    return 0


LOOPS = (nearest_force, motion_of, gathered, violated, potential, curved, solved, proximal_step, proximal_forces)
