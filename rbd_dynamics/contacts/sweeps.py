# SPDX-License-Identifier: Apache-2.0
"""Gauss-Seidel over contacts and joints: each in turn gets the force that it needs while the others keep theirs.

Written in the part of Python that `compiler.loops` translates; `contact_force` is that of the law (`laws`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.laws.base import contact_force

Array = NDArray[np.float64]


def sweep_contacts(
    contacts: int, joints: int, most: int, tolerance: Array, G: Array, free: Array, mu: Array,
    level: Array, lower: Array, upper: Array, f: Array, own: Array, work: Array,
) -> int:  # fmt: skip
    """Improve f (n), in place, until no sweep changes it by more than tolerance[0] of the largest force.

    n = 3 contacts + joints. G: (n, n), with compliance; free (n); mu (contacts); level, lower, upper (joints): see
    `joint_law`. own and work (3) are for its own use. Returns how many sweeps it took, 0 where `most` were not enough.
    """
    n = 3 * contacts + joints
    backwards = 1
    for count in range(most):
        change = 0.0
        largest = 0.0
        failed = 0
        backwards = 1 - backwards
        for index in range(contacts):
            k = index
            if backwards == 1:  # every other time
                k = contacts - 1 - index
            row = 3 * k
            old0 = f[row]
            old1 = f[row + 1]
            old2 = f[row + 2]
            f[row] = 0.0
            f[row + 1] = 0.0
            f[row + 2] = 0.0
            u0 = free[row]
            u1 = free[row + 1]
            u2 = free[row + 2]
            for j in range(n):
                u0 = u0 + G[row * n + j] * f[j]
                u1 = u1 + G[(row + 1) * n + j] * f[j]
                u2 = u2 + G[(row + 2) * n + j] * f[j]
            failed = failed + contact_force(G, n, k, u0, u1, u2, mu[k], own, work)
            f[row] = own[0]
            f[row + 1] = own[1]
            f[row + 2] = own[2]
            change = max(change, max(abs(f[row] - old0), max(abs(f[row + 1] - old1), abs(f[row + 2] - old2))))
            largest = max(largest, f[row])
        for k in range(joints):
            row = 3 * contacts + k
            mobility = G[row * n + row]
            if mobility > 0.0:  # else constraints hold it
                before = f[row]
                f[row] = 0.0
                speed = free[row]
                for j in range(n):
                    speed = speed + G[row * n + j] * f[j]
                slipping = max(0.0, speed - mobility * level[k]) + min(0.0, speed + mobility * level[k])
                f[row] = (max(lower[k], min(upper[k], slipping)) - speed) / mobility
                change = max(change, abs(f[row] - before))
                largest = max(largest, abs(f[row]))
        if change <= tolerance[0] * largest and failed == 0:
            return count + 1
    return 0
