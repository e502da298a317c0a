# SPDX-License-Identifier: Apache-2.0
"""What joint velocities were a few steps ago, from which their growth is told."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FORESIGHT = 3  # steps: over which velocities are seen to grow


class RecentVelocities:
    """Velocities (nv) of the last steps, for `algorithms.joint_speed_bound.foreseen`.

    Attributes:
        span (1): s, how long ago that was which `before` returned last.
    """

    def __init__(self) -> None:
        self._velocities: deque[Array] = deque(maxlen=FORESIGHT)
        self._spans: deque[float] = deque(maxlen=FORESIGHT)
        self.span = np.ones(1)

    def forget(self) -> None:
        """No velocities are known."""
        self._velocities.clear()
        self._spans.clear()

    def before(self, v: Array, dt: float) -> Array:
        """The oldest one, v (nv) itself where none is known. dt: s since the last step."""
        span = sum(self._spans) - self._spans[0] + dt if self._spans and dt > 0.0 else 0.0
        self.span[0], found = (span, self._velocities[0]) if span > 0.0 else (1.0, v)
        return found

    def soon_beyond(self, v: Array, before: Array, ahead: float, most: Array) -> bool:
        """Whether a joint is faster than `most` (nv), or will be `ahead` s from now, as v grew from `before`."""
        later = v + ahead / self.span[0] * (v - before)
        return bool((np.maximum(np.abs(v), np.abs(later)) > most).any())

    def add(self, v: Array, dt: float) -> None:
        """A step has been made with v (nv), dt (s) after the one before."""
        self._velocities.append(v.copy())
        self._spans.append(dt)
