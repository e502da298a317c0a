# SPDX-License-Identifier: Apache-2.0
"""Piecewise polynomials through points in time, for several joints at once.

Positions, velocities and accelerations are (points, joints); a row of NaN marks what is missing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.polynomial import POWERS

Array = NDArray[np.float64]
End = Literal["rest", "free"]


def fill_velocities(times: Array, positions: Array, velocities: Array) -> Array:
    """Missing velocities: the slopes of the cubic spline with continuous acceleration.

    The given ones are kept; at the two ends a missing one is zero, for a motion starts and ends at rest.
    """
    missing = _incomplete(velocities)
    filled = np.where(missing[:, None], 0.0, velocities)
    if len(times) < 3 or not missing[1:-1].any():
        return filled
    h = np.diff(times)[:, None]
    step = np.diff(positions, axis=0)
    # continuity of the acceleration at an inner point
    lower, upper = 1.0 / h[:-1], 1.0 / h[1:]
    rhs = 3.0 * (step[:-1] / h[:-1] ** 2 + step[1:] / h[1:] ** 2)
    return _solve_inner(lower, 2.0 * (lower + upper), upper, rhs, filled, missing)


def fill_accelerations(
    times: Array, positions: Array, velocities: Array, accelerations: Array, *, end: End = "free"
) -> Array:
    """Missing accelerations: those of the quintic spline with continuous jerk. No velocity may be missing.

    end: a missing acceleration at the first or last point is zero ("rest") or follows from the points
    next to it: the first and last segment are then of one degree less ("free").
    """
    missing = _incomplete(accelerations)
    filled = np.where(missing[:, None], 0.0, accelerations)
    if len(times) < 2 or not missing.any():
        return filled
    h = np.diff(times)[:, None]
    step = np.diff(positions, axis=0)
    if len(times) == 2:
        if end == "free":  # the cubic
            ends = np.array([-4.0, -2.0]) @ velocities, np.array([2.0, 4.0]) @ velocities
            cubic = np.array([(6.0 * step + ends[0] * h)[0], (-6.0 * step + ends[1] * h)[0]]) / h**2
            filled = np.where(missing[:, None], cubic, filled)
        return filled
    v = velocities
    # continuity of the jerk at an inner point
    lower, upper = -3.0 / h[:-1], -3.0 / h[1:]
    rhs = (
        60.0 * (step[1:] / h[1:] ** 3 - step[:-1] / h[:-1] ** 3)
        - (36.0 * v[1:-1] + 24.0 * v[2:]) / h[1:] ** 2
        + (36.0 * v[1:-1] + 24.0 * v[:-2]) / h[:-1] ** 2
    )
    # at the ends the fifth derivative vanishes: a0 - a1 = quartic, and the mirror image of it
    quartic = (12.0 * step - 6.0 * (v[:-1] + v[1:]) * h) / h**2 if end == "free" else None
    return _solve_inner(lower, -3.0 * (lower + upper), upper, rhs, filled, missing, quartic)


def _incomplete(rows: Array) -> NDArray[np.bool_]:
    """Which points lack the quantity."""
    return np.asarray(np.isnan(rows).any(axis=1), dtype=bool)


def _solve_inner(
    lower: Array, diagonal: Array, upper: Array, rhs: Array, known: Array, missing: NDArray[np.bool_],
    quartic: Array | None = None,
) -> Array:  # fmt: skip
    """Solve the tridiagonal system of the missing rows; the others (and the ends, by default) stay as they are."""
    count = len(known)
    bands = np.zeros((3, count))
    bands[1] = 1.0
    right = known.copy()
    inner = np.flatnonzero(missing[1:-1])
    bands[2, inner] = lower[inner, 0]
    bands[1, inner + 1] = diagonal[inner, 0]
    bands[0, inner + 2] = upper[inner, 0]
    right[inner + 1] = rhs[inner]
    if quartic is not None:
        if missing[0]:
            bands[0, 1], right[0] = -1.0, quartic[0]
        if missing[-1]:
            bands[2, -2], right[-1] = -1.0, -quartic[-1]
    from scipy.linalg import solve_banded  # a third of the time in which a node starts that does not plan itself

    solution: Array = solve_banded((1, 1), bands, right, check_finite=False)
    return np.where(missing[:, None], solution, known)


def coefficients(times: Array, positions: Array, velocities: Array, accelerations: Array) -> Array:
    """Coefficients of each segment's polynomial in the time since its start: (segments, 6, joints), constant first.

    Quintic where both ends have an acceleration, else cubic where both have a velocity, else linear, as
    joint_trajectory_controller does.
    """
    h = np.diff(times)[:, None]
    p0, step = positions[:-1], np.diff(positions, axis=0)
    v0, v1 = velocities[:-1], velocities[1:]
    a0, a1 = accelerations[:-1], accelerations[1:]
    c = np.zeros((len(h), 6, positions.shape[1]))
    c[:, 0], c[:, 1] = p0, step / h
    cubic = ~np.isnan(v0 + v1).any(axis=1)
    rows = np.stack(
        [
            v0,
            (3.0 * step - (2.0 * v0 + v1) * h) / h**2,
            (-2.0 * step + (v0 + v1) * h) / h**3,
        ],
        axis=1,
    )
    c[cubic, 1:4] = rows[cubic]
    quintic = cubic & ~np.isnan(a0 + a1).any(axis=1)
    rows = np.stack(
        [
            v0,
            0.5 * a0,
            (20.0 * step - (8.0 * v1 + 12.0 * v0) * h - (3.0 * a0 - a1) * h**2) / (2.0 * h**3),
            (-30.0 * step + (14.0 * v1 + 16.0 * v0) * h + (3.0 * a0 - 2.0 * a1) * h**2) / (2.0 * h**4),
            (12.0 * step - 6.0 * (v0 + v1) * h - (a0 - a1) * h**2) / (2.0 * h**5),
        ],
        axis=1,
    )
    c[quintic, 1:6] = rows[quintic]
    return c


def motion_of(state: ArrayLike) -> Array:
    """Coefficients (6, joints) of the motion that has this position, velocity, acceleration (3, joints) at time 0."""
    given = np.asarray(state, dtype=float)
    motion = np.zeros((POWERS, given.shape[1]))
    motion[:2], motion[2] = given[:2], 0.5 * given[2]
    return motion


def state_of(motion: Array, t: float) -> Array:
    """Position, velocity, acceleration (3, joints) at time t of a motion with coefficients (6, joints)."""
    t2, t3 = t * t, t * t * t
    powers = [
        (1.0, t, t2, t3, t2 * t2, t3 * t2),
        (0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t2 * t2),
        (0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3),
    ]
    return np.asarray(np.array(powers) @ motion)
