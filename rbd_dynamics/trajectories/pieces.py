# SPDX-License-Identifier: Apache-2.0
"""States on the polynomial pieces of motions, many at once, and how fast torques change there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import Waypoints
from rbd_dynamics.trajectories.group import GroupDynamics

Array = NDArray[np.float64]
#: coefficients (6, 5) of the quintic on the unit interval less its first value, for the step of the position and, in
#: units of the interval, both velocities and both accelerations
QUINTIC = np.array([
    [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5, 0.0], [10.0, -6.0, -4.0, -1.5, 0.5],
    [-15.0, 8.0, 7.0, 1.5, -1.0], [6.0, -3.0, -3.0, -0.5, 0.5],
])  # fmt: skip
STEP = 1e-3  # of a piece's duration, for central differences: the error is that of the third derivative by 1e-6 / 6


def states_at(pieces: Array, t: Array) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (n, joints) of pieces (n, 6, joints) at a time in each (n,)."""
    t = t[:, None]
    c0, c1, c2, c3, c4, c5 = (pieces[:, power] for power in range(6))
    q = c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5))))
    v = c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * (5.0 * c5))))
    a = 2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * (20.0 * c5)))
    return q, v, a


def states_between(points: Waypoints, part: float) -> tuple[Array, Array, Array]:
    """The same at one part of the time between each two points, between which a quintic is."""
    h = np.diff(points.times)[:, None]
    v, a = points.velocities, points.accelerations
    data = np.diff(points.positions, axis=0), v[:-1] * h, v[1:] * h, a[:-1] * (h * h), a[1:] * (h * h)
    found = []
    for order in range(3):
        derived = np.polynomial.polynomial.polyder(QUINTIC, order)  # by columns
        weights = part ** np.arange(6 - order) @ derived
        value = weights[0] * data[0]
        for weight, each in zip(weights[1:], data[1:]):
            value += weight * each
        found.append(value)
    return points.positions[:-1] + found[0], found[1] / h, found[2] / (h * h)


def rigid_rates(dynamics: GroupDynamics, pieces: Array, t: Array, h: Array) -> Array:
    """Time derivatives (n, joints) of torques without friction, of pieces that last h (n,)."""
    step = STEP * h
    late, early = (dynamics.rigid(*states_at(pieces, t + sign * step)) for sign in (1.0, -1.0))
    return (late - early) / (2.0 * step[:, None])
