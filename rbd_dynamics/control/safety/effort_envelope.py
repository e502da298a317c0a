# SPDX-License-Identifier: Apache-2.0
"""What was commanded lately: measured efforts are compared with that, and new ones may leave it only so fast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WINDOW = 100_000_000  # ns: actuators and sensors are late by less


class EffortEnvelope:
    """The range of each effort in the present and the last window of 0.1 s. Times are ns of one clock."""

    def __init__(self, count: int) -> None:
        self._now, self._before = np.empty((2, count)), np.empty((2, count))  # lowest, highest
        self.reset()

    def reset(self) -> None:
        """Nothing has been commanded."""
        self._window = -2  # its number
        for each in (self._now, self._before):
            each[0], each[1] = np.inf, -np.inf

    def commanded(self, efforts: Array, time: int) -> None:
        """Take in what is commanded at `time`."""
        window = time // WINDOW
        if window != self._window:
            self._now, self._before = self._before, self._now
            self._now[0], self._now[1] = np.inf, -np.inf
            if window != self._window + 1:
                self._before[:] = self._now
            self._window = window
        np.minimum(self._now[0], efforts, out=self._now[0])
        np.maximum(self._now[1], efforts, out=self._now[1])

    def problem(self, measured: Array, tolerance: Array, joints: Sequence[str], time: int) -> str:
        """Which measured effort is farther than `tolerance` outside, empty if none is; NaN is not measured."""
        if time // WINDOW - self._window not in (0, 1):
            return ""
        lowest, highest = np.minimum(self._now[0], self._before[0]), np.maximum(self._now[1], self._before[1])
        off = (measured < lowest - tolerance) | (measured > highest + tolerance)
        if not off.any():
            return ""
        k = int(np.argmax(off))
        return (
            f"effort {measured[k]:.4g} of joint {joints[k]!r} is not plausible: commanded were {lowest[k]:.4g} to "
            f"{highest[k]:.4g}"
        )
