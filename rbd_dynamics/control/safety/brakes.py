# SPDX-License-Identifier: Apache-2.0
"""Is the robot held by its brakes? It stands, its joints exert nothing, and gravity would move it.

Efforts of a joint that is held so say nothing of what acts on it: what holds the robot would seem an external torque.
A robot that leans on something with its motors off looks the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

SLACK = 5e-3  # of the effort's limit is no effort
LEAST_SLACK = 1e-3  # N m or N, of a joint without a limit
FALLS = 5.0  # times that, gravity moves the joint
STILL = 1e-3  # rad/s, m/s


def slack_of(limits: ArrayLike) -> Array:
    """Efforts (joints,) that are none, by the limits of effort; those that are not positive and finite are none."""
    limits = np.asarray(limits, dtype=float)
    known = np.isfinite(limits) & (limits > 0.0)
    return np.where(known, SLACK * np.where(known, limits, 0.0), LEAST_SLACK)


def undriven(v: Array, tau: Array, slack: Array) -> NDArray[np.bool_]:
    """Whether all joints (..., joints) stand and none exerts anything; NaN is not looked at."""
    moves, drives = np.abs(v) > STILL, np.abs(tau) > slack
    return np.asarray(~(moves | drives).any(axis=-1))


def falls(gravity: Array, measured: NDArray[np.bool_], slack: Array) -> bool:
    """Whether gravity (joints,) would move an undriven joint whose effort is measured."""
    return bool((np.abs(gravity) > FALLS * slack)[measured].any())
