# SPDX-License-Identifier: Apache-2.0
"""The latest readings of a sensor, and their average since the robot settled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KEPT = 2000  # readings
FEWEST = 50  # readings, of which an average is taken
SPEED = 0.02  # rad/s or m/s, below which a joint is settled
SPREAD = 2e-3  # rad or m, by which it may differ from where it is now
BATCHES = 10  # of successive readings, whose averages tell the variance of noise that is not white


class SettledReadings:
    """Keeps the latest readings with the joints' positions and speeds; what is judged is judged when asked for.

    Parameters:
        positions, speeds: numbers of them in a state of the robot.
    """

    def __init__(self, positions: int, speeds: int) -> None:
        self.sizes = positions, speeds
        self._readings = np.zeros((KEPT, 6))
        self._q, self._v = np.zeros((KEPT, positions)), np.zeros((KEPT, speeds))
        self._count = 0

    def add(self, reading: Array, q: Array, v: Array) -> None:
        """A reading (6,), and the state of the robot: q (positions,), v (speeds,)."""
        k = self._count % KEPT
        self._readings[k], self._q[k], self._v[k] = reading, q, v
        self._count += 1

    def forget(self) -> None:
        """There were no readings."""
        self._count = 0

    def average(self) -> tuple[Array, Array]:
        """Mean (6,) of the readings since the robot settled, and the variance (6,) of that mean.

        Raises ValueError with the reason where the robot moves, or has settled too lately.
        """
        kept = min(self._count, KEPT)
        order = (self._count - 1 - np.arange(kept)) % KEPT  # the latest first
        settled = np.zeros(0, dtype=np.bool_)
        if kept:
            q, v = self._q[order], self._v[order]
            settled = (np.abs(v) < SPEED).all(axis=1) & (np.abs(q - q[0]) < SPREAD).all(axis=1)
        count = kept if settled.all() else int(np.argmin(settled))
        if count < FEWEST:
            raise ValueError(f"the robot moves or has just settled: {count} readings since then, {FEWEST} are needed")
        return average_of(self._readings[order[:count]])


def average_of(readings: Array) -> tuple[Array, Array]:
    """Mean (6,) of readings (N, 6) in their order, N from `BATCHES` on, and the variance (6,) of that mean."""
    readings = readings[: len(readings) - len(readings) % BATCHES]
    batches = readings.reshape(BATCHES, -1, 6).mean(axis=1)
    return readings.mean(axis=0), batches.var(axis=0, ddof=1) / BATCHES
