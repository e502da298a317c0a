# SPDX-License-Identifier: Apache-2.0
"""A causal low-pass filter that gives a signal and its derivative, for samples at any distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SETTLED = 8.0  # time constants, after which 0.3 % of how it began is left


class StateFilter:
    """x'' = w^2 (u - x) - 2 w x', exact for a signal u that is straight between samples.

    Two poles at w = 2 pi cutoff; a signal comes out 2 / w later. Filters with the same cutoff delay all alike.

    Attributes:
        x, rate: the filtered signal and its derivative.
    """

    def __init__(self, size: int, cutoff: float) -> None:
        if not 0.0 < cutoff < np.inf:
            raise ValueError(f"cutoff must be a positive frequency, got {cutoff!r}")
        self.w = 2.0 * np.pi * cutoff
        self.x, self.rate, self._u = np.zeros(size), np.zeros(size), np.zeros(size)

    def reset(self, u: Array) -> None:
        """Reset the filter as if the signal had always been `u`."""
        self.x[:], self.rate[:], self._u[:] = u, 0.0, u

    def update(self, u: Array, dt: float) -> None:
        """The next sample, dt > 0 later."""
        w, slope = self.w, (u - self._u) / dt
        decay = np.exp(-w * dt)
        x = self.x - self._u + 2.0 / w * slope  # apart from how it would follow the slope for ever
        rate = self.rate - slope
        drive = rate + w * x
        self.x[:] = u - 2.0 / w * slope + (x + drive * dt) * decay
        self.rate[:] = slope + (rate - w * drive * dt) * decay
        self._u[:] = u

    @property
    def settling(self) -> float:
        """Time after a reset from which the derivative can be relied on, s."""
        return SETTLED / self.w
