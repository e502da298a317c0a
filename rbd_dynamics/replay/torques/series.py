# SPDX-License-Identifier: Apache-2.0
"""Time series for plots, in bounded memory however long the recording: no more is kept than the eye sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.torques.interval_sums import reduce_intervals

Array = NDArray[np.float64]

POSITION = "position"  # the signal of joints with one number, zero for all others
WITH_FRICTION = "with friction"  # the signal of the predicted torque and the friction that was found


class Series:
    """Smallest, mean and largest value in intervals of time, whose width doubles as the recording grows.

    No peak gets lost, and the result does not depend on how the samples are cut into stretches. Segments are kept apart
    unless they are more than `points`.

    Parameters:
        names: of the degrees of freedom (nv).
        rate: of the samples, Hz.
        points: there are at most twice as many intervals.
    """

    def __init__(self, names: Sequence[str], rate: float, *, points: int = 1500) -> None:
        if not rate > 0.0 or points < 1:
            raise ValueError(f"rate and points must be positive, got {rate} and {points}")
        self.names = tuple(names)
        self.signals: tuple[str, ...] = ()
        self._rate, self._points = rate, points
        self._level = 0  # an interval is 2^level samples wide
        self._place = np.zeros(0, dtype=np.int64)  # of each interval, in its width
        self._segment = np.zeros(0, dtype=np.int64)
        self._apart = True  # segments are
        self._count = np.zeros(0)
        self._room: Array = np.zeros((3, 0, 2 * points, len(self.names)))  # low, high, sum; signals; intervals; joints

    def add(self, t: Array, segment: int, signals: Mapping[str, Array]) -> None:
        """Samples at times t (N,), s, of a segment: {name: (N, nv)}, the same names each time."""
        if not len(t):
            return
        if not self.signals:
            self.signals = tuple(signals)
            self._room = np.zeros((3, len(self.signals), 2 * self._points, len(self.names)))
        if tuple(signals) != self.signals:
            raise ValueError(f"signals {', '.join(signals)} in place of {', '.join(self.signals)}")
        number = np.floor(t * self._rate + 0.5).astype(np.int64)
        while True:
            segment = segment if self._apart else 0
            place = number >> self._level
            first = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
            goes_on = len(self._place) > 0 and self._place[-1] == place[0] and self._segment[-1] == segment
            begin = len(self._place) - int(goes_on)  # the first interval may continue the last one that is there
            if begin + len(first) <= 2 * self._points:
                break
            self._widen()
        counts = np.diff(first, append=len(t)).astype(float)
        counts[0] += self._count[-1] if goes_on else 0.0
        self._place = np.concatenate([self._place[:begin], place[first]])
        self._segment = np.concatenate([self._segment[:begin], np.full(len(first), segment)])
        self._count = np.concatenate([self._count[:begin], counts])
        for level, part in zip((np.inf, -np.inf, 0.0), self._parts):
            part[:, begin + int(goes_on) :] = level
        for row, name in enumerate(self.signals):
            reduce_intervals(np.ascontiguousarray(signals[name], dtype=float), first, *self._parts[:, row, begin:])

    def _widen(self) -> None:
        """Neighbours of the same segment become one."""
        if np.count_nonzero(np.diff(self._segment)) >= self._points:  # an interval each would be too many
            self._apart, self._segment = False, np.zeros_like(self._segment)
        self._level += 1
        place, known = self._place >> 1, self._parts
        first = np.flatnonzero((np.diff(place, prepend=-1) != 0) | (np.diff(self._segment, prepend=-1) != 0))
        self._place, self._segment = place[first], self._segment[first]
        self._count = np.add.reduceat(self._count, first)
        for function, part, new in zip((np.minimum, np.maximum, np.add), known, self._parts):
            new[:] = function.reduceat(part, first, axis=1)

    @property
    def _parts(self) -> Array:
        return self._room[:, :, : len(self._place)]

    @property
    def width(self) -> float:
        """Width of an interval, s."""
        return float(2**self._level / self._rate)

    @property
    def exact(self) -> bool:
        """Each interval is one sample: smallest, mean and largest are the same."""
        return self._level == 0

    def _spread(self, values: Array) -> Array:
        """Values with a NaN between segments, so that lines break there."""
        return np.insert(values, np.flatnonzero(np.diff(self._segment)) + 1, np.nan, axis=0)

    @property
    def t(self) -> Array:
        """Middle of each interval, s; NaN between segments, there and in all values."""
        middle = (self._place + 0.5 * (1.0 - 2.0**-self._level)) * np.float64(self.width)
        return self._spread(middle)

    def low(self, signal: str) -> Array:
        """Smallest values (intervals, nv)."""
        return self._spread(self._parts[0, self.signals.index(signal)])

    def high(self, signal: str) -> Array:
        """Largest values (intervals, nv)."""
        return self._spread(self._parts[1, self.signals.index(signal)])

    def mean(self, signal: str) -> Array:
        """Means (intervals, nv)."""
        return self._spread(self._parts[2, self.signals.index(signal)] / self._count[:, None])
