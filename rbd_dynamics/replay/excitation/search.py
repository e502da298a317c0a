# SPDX-License-Identifier: Apache-2.0
"""A best point within limits: augmented Lagrangian around L-BFGS (Nocedal and Wright 2006, chapter 17.4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROUNDS, STEPS = 8, 50
FIRST, STRONGER, STRONGEST = 10.0, 4.0, 1e5  # of the penalty
SMALLER = 0.25  # by so much violations must fall in a round, else the penalty grows
WITHIN = 5e-4  # violations that are left for who scales the result
SETTLED = 1e-4  # of what is wanted, from one round to the next

Wanted = Callable[[Array], tuple[float, Array]]
Forbidden = Callable[[Array], tuple[Array, Callable[[Array], Array]]]


def minimise(wanted: Wanted, forbidden: Forbidden, begin: Array) -> Array:
    """Find where `wanted` is small and `forbidden` nowhere positive, from `begin` on: a local minimum of that shape."""
    x, penalty = begin.copy(), FIRST
    multipliers = np.zeros_like(forbidden(x)[0])
    violation, last = np.inf, np.inf
    for _ in range(ROUNDS):

        def lagrangian(flat: Array, multipliers: Array = multipliers, penalty: float = penalty) -> tuple[float, Array]:
            point = flat.reshape(begin.shape)
            value, slope = wanted(point)
            beyond, pull = forbidden(point)
            active = np.maximum(multipliers + penalty * beyond, 0.0)
            value += float((active @ active - multipliers @ multipliers) / (2.0 * penalty))
            return value, (slope + pull(active)).ravel()

        found = scipy.optimize.minimize(lagrangian, x.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        x = found.x.reshape(begin.shape)
        beyond, _pull = forbidden(x)
        now, value = float(beyond.max()), wanted(x)[0]
        multipliers = np.maximum(multipliers + penalty * beyond, 0.0)
        if now < WITHIN and abs(value - last) < SETTLED * max(1.0, abs(value)):
            break
        if now > SMALLER * violation:
            penalty = min(STRONGER * penalty, STRONGEST)
        violation, last = now, value
    return x
