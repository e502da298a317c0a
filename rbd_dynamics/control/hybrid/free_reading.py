# SPDX-License-Identifier: Apache-2.0
"""What a wrench sensor reads in free motion, on the way to a surface: its zero while the tool presses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SMOOTHING = 0.5  # s


class FreeReading:
    """The zero of a sensor, found anew at each approach.

    Attributes:
        zero (6): (m, f) to be taken off; nothing until an approach has begun. On the way it is what is read there.
    """

    def __init__(self) -> None:
        self.zero = np.zeros(6)
        self._free, self._count, self._mode = np.zeros(6), 0, "hold"

    def update(self, mode: str, tared: bool, wrench: Array, dt: float, *, tare: bool = True) -> None:
        """A step in a mode of `HybridSupervisor`, with the wrench (m, f) read.

        tared: the last approach has found the sensor's zero. tare: approaches are to find it; else readings are taken
        as they are.
        """
        before, self._mode = self._mode, mode
        if before == "hold":
            self._count = 0
        if mode == "approach":
            self._count += 1
            self._free += max(1.0 / self._count, min(1.0, dt / SMOOTHING)) * (wrench - self._free)
            self.zero = self._free.copy() if tare else np.zeros(6)
        elif mode == "press" and before == "approach":
            self.zero = self._free.copy() if tared else np.zeros(6)
