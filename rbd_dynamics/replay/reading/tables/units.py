# SPDX-License-Identifier: Apache-2.0
"""Units that nobody said, found in the numbers: of times by their size, and by what velocities make of positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.reading.tables.vocabulary import DEGREE

Array = NDArray[np.float64]

#: times that begin with one of these are s, ms, us or ns since 1970, by their size
EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (1e8, 1.0))
UNITS = {1.0: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns"}
SLOWEST, SLOWEST_SECONDS = 0.2, 0.5  # s between samples: nobody records joints more slowly
CLOSE = 0.1  # by which a ratio of units may be off
LEAST_MOTION = 0.02  # rad or m, over all that was looked at
LEAST_CORRELATION = 0.9
#: {what positions per (velocity times time) are in SI's units: factors for positions and velocities}
ANGLES = {
    1.0 / DEGREE: ({"position": DEGREE}, "positions are in degrees, velocities in rad/s"),
    DEGREE: ({"velocity": DEGREE}, "velocities are in degrees per second, positions in rad"),
    np.pi / 30.0: ({"velocity": np.pi / 30.0}, "velocities are in revolutions per minute, positions in rad"),
    6.0: ({"position": DEGREE, "velocity": np.pi / 30.0}, "positions are in degrees, velocities in rpm"),
}  # fmt: skip


class Found(NamedTuple):
    """time: unit in s. factors: {field: factor}, of fields whose unit was found. said: why, of each guess."""

    time: float
    factors: dict[str, float]
    said: list[str]
    why: str


def units_of(times: Array, q: Array | None, v: Array | None, *, time: float | None, angles: bool) -> Found:
    """What the numbers of the first rows say.

    Parameters:
        times: (N,); q, v: positions and velocities (N, joints) with the factors that are known, None where unknown.
        time: unit of the times in s, where it is known. angles: whether the unit of angles is known.
    """
    ratio = rate_ratio(times, q, v)
    said: list[str] = []
    why = ""
    if time is None:
        time, why = _time(times, ratio)
        if why:
            said.append(f"times have no unit, and are taken for {UNITS[time]}: {why}")
    factors: dict[str, float] = {}
    if not angles and ratio is not None:
        for expected, (found, words) in ANGLES.items():
            if abs(ratio / (time * expected) - 1.0) < CLOSE:
                factors = found
                said.append(f"{words}: so velocities are the rates of positions")
    return Found(time, factors, said, why)


def rate_ratio(times: Array, q: Array | None, v: Array | None) -> float | None:
    """Seconds that a unit of time must have, for velocities to be the rates of positions; None where nothing tells."""
    if q is None or v is None or len(times) < 10:
        return None
    order = np.argsort(times, kind="stable")
    t, q, v = times[order], q[order], v[order]
    with np.errstate(invalid="ignore", over="ignore"):
        step = np.diff(t)[:, None]
        moved, expected = np.diff(q, axis=0), 0.5 * (v[1:] + v[:-1]) * step
        usual = step < 5.0 * np.median(step[step > 0.0]) if (step > 0.0).any() else step > 0.0
        good = np.isfinite(moved) & np.isfinite(expected) & (step > 0.0) & usual
    moved, expected = moved[good], expected[good]
    if not len(moved) or np.abs(moved).sum() < LEAST_MOTION or not (expected @ expected) > 0.0:
        return None
    size = float(np.sqrt((moved @ moved) * (expected @ expected)))
    if float(moved @ expected) < LEAST_CORRELATION * size:
        return None
    return float(moved @ expected) / float(expected @ expected)


def _time(times: Array, ratio: float | None) -> tuple[float, str]:
    """The unit, and why it is no second, or why it is one where that is no matter of course."""
    size = float(np.abs(times[0]))
    since = next((unit for least, unit in EPOCHS if size >= least), None)
    steps = np.diff(np.unique(times))
    step = float(np.median(steps)) if len(steps) else 0.0
    if since is not None and step * since <= SLOWEST_SECONDS:
        return since, "" if since == 1.0 else "they count from 1970 then"
    for unit in UNITS:
        if ratio is not None and abs(ratio / unit - 1.0) < CLOSE:
            return unit, "" if unit == 1.0 else "velocities are the rates of positions then"
    if step <= SLOWEST_SECONDS:
        return 1.0, ""
    by_step = next((unit for unit in UNITS if step * unit <= SLOWEST), 1e-9)
    return by_step, f"samples are {step:g} of it apart"
