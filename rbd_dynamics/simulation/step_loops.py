# SPDX-License-Identifier: Apache-2.0
"""What a step in contact does between its kernels, in the part of Python that `compiler.loops` translates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.impacts import SLOWEST_BOUNCE
from rbd_dynamics.contacts.sweeps import sweep_contacts

Array = NDArray[np.float64]


def velocity_after(
    contacts: int, nv: int, most: int, numbers: Array, tolerance: Array,
    G: Array, response: Array, a: Array, acceleration: Array, velocity: Array, gap: Array, v: Array,
    closing: Array, gain: Array, softness: Array, restitution: Array, mu: Array,
    D: Array, free: Array, f: Array, own: Array, work: Array, forces: Array, reached: Array,
) -> int:  # fmt: skip
    """Forces (3 contacts), a and v + h a (nv) with them. 0 where something rebounds, or sweeps alone are not enough.

    numbers[0] is h; a is without contact before; D, free and f are the solver's arrays, f what it starts from;
    acceleration, velocity (3 contacts): of the rows without contact, and gap (3 contacts) at normals.
    """
    h = numbers[0]
    n = 3 * contacts
    least = 0.0
    for k in range(contacts):
        row = 3 * k
        if restitution[k] > 0.0 and velocity[row] <= -max(SLOWEST_BOUNCE, gap[row] / h):
            return 0
        free[row] = velocity[row] + h * acceleration[row]
        free[row + 1] = velocity[row + 1] + h * acceleration[row + 1]
        free[row + 2] = velocity[row + 2] + h * acceleration[row + 2]
        if gap[row] > 0.0:
            free[row] += gap[row] / closing[k]
        else:
            free[row] += gap[row] * gain[k]
        least = min(least, free[row])
    if least >= 0.0:
        for i in range(n):
            f[i] = 0.0
    else:
        for i in range(n * n):
            D[i] = G[i]
        for k in range(contacts):
            D[3 * k * n + 3 * k] += softness[k]
        if sweep_contacts(contacts, 0, most, tolerance, D, free, mu, mu, mu, mu, f, own, work) == 0:
            return 0
    for j in range(n):
        forces[j] = f[j] / h
        if f[j] != 0.0:
            for i in range(nv):
                a[i] += forces[j] * response[j * nv + i]
    for i in range(nv):
        reached[i] = v[i] + h * a[i]
    return 1
