# SPDX-License-Identifier: Apache-2.0
"""A control law that takes over from another begins with the other's last effort, and changes over to its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TIME = 0.5  # s, in which what the law does not go on with becomes nothing


class EffortContinuation:
    """Continues efforts (n) over a change. Times are integer nanoseconds of one clock."""

    def __init__(self, count: int) -> None:
        self._rest = np.zeros(count)
        self._since, self._time = 0, TIME
        self.active = False

    def begin(self, rest: Array, now: int, time: float = TIME) -> None:
        """rest (n): of the last effort, what the law itself does not go on with; it is gone after `time` (s)."""
        self._rest[:], self._since, self._time, self.active = rest, now, time, time > 0.0

    def end(self) -> None:
        """Nothing is added any more."""
        self.active = False

    def add(self, efforts: Array, now: int, limits: Array) -> None:
        """Add what is left of the rest, evenly less with time; within the limits (n)."""
        if not self.active:
            return
        passed = 1e-9 * (now - self._since) / self._time
        if not 0.0 <= passed < 1.0:  # a clock that was set back would begin it anew
            self.active = False
            return
        efforts += (1.0 - passed) * self._rest
        np.clip(efforts, -limits, limits, out=efforts)
