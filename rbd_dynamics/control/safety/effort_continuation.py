# SPDX-License-Identifier: Apache-2.0
"""A control law that takes over from another begins with the other's last effort, and changes over to its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TIME = 0.2  # s, in which what the law does not go on with dies out
DONE = 20.0  # of these times: less is rounding


class EffortContinuation:
    """Continues efforts (n) over a silence. Times are integer nanoseconds of one clock."""

    def __init__(self, count: int) -> None:
        self._rest = np.zeros(count)
        self._since = 0
        self.active = False

    def begin(self, rest: Array, now: int) -> None:
        """rest (n): of the other's last effort, what the law itself does not go on with."""
        self._rest[:], self._since, self.active = rest, now, True

    def end(self) -> None:
        """Nothing is added any more."""
        self.active = False

    def add(self, efforts: Array, now: int, limits: Array) -> None:
        """Add what is left of the rest; within the limits (n)."""
        passed = 1e-9 * (now - self._since) / TIME
        if not 0.0 <= passed <= DONE:  # a clock that was set back would begin it anew
            self.active = False
            return
        efforts += np.exp(-passed) * self._rest
        np.clip(efforts, -limits, limits, out=efforts)
