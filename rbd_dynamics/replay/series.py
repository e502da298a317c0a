# SPDX-License-Identifier: Apache-2.0
"""Time series for plots, in bounded memory however long the recording: no more is kept than the eye sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

POSITION = "position"  # the signal of joints with one number, zero for all others
WITH_FRICTION = "with friction"  # the signal of the predicted torque and the friction that was found


class Series:
    """Smallest, mean and largest value in intervals of time, whose width doubles as the recording grows.

    No peak gets lost, and the result does not depend on how the samples are cut into stretches.

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
        self._count = np.zeros(0)
        self._parts: Array = np.zeros((3, 0, 0, len(self.names)))  # low, high, sum; intervals; signals; joints

    def add(self, t: Array, segment: int, signals: Mapping[str, Array]) -> None:
        """Samples at times t (N,), s, of a segment: {name: (N, nv)}, the same names each time."""
        if not len(t):
            return
        if not self.signals:
            self.signals = tuple(signals)
            self._parts = np.zeros((3, 0, len(self.signals), len(self.names)))
        if tuple(signals) != self.signals:
            raise ValueError(f"signals {', '.join(signals)} in place of {', '.join(self.signals)}")
        values = np.stack([signals[name] for name in self.signals], axis=1)
        place = np.floor(t * self._rate + 0.5).astype(np.int64) >> self._level
        self._append(place, np.full(len(t), segment), np.ones(len(t)), (values, values, values))
        while len(self._place) > 2 * self._points:
            self._level += 1
            taken = self._place >> 1, self._segment, self._count, list(self._parts)
            self._place, self._segment, self._count = self._place[:0], self._segment[:0], self._count[:0]
            self._parts = self._parts[:, :0]
            self._append(*taken)

    def _append(
        self, place: NDArray[np.int64], segment: NDArray[np.int64], count: Array, parts: Sequence[Array]
    ) -> None:
        """Neighbours in the same interval become one; the first may continue the last one that is there."""
        place = np.concatenate([self._place[-1:], place])
        segment = np.concatenate([self._segment[-1:], segment])
        count = np.concatenate([self._count[-1:], count])
        first = np.flatnonzero((np.diff(place) != 0) | (np.diff(segment) != 0)) + 1
        first = np.concatenate([[0], first])
        self._place = np.concatenate([self._place[:-1], place[first]])
        self._segment = np.concatenate([self._segment[:-1], segment[first]])
        self._count = np.concatenate([self._count[:-1], np.add.reduceat(count, first)])
        known, begin = self._parts[:, :-1], self._parts[:, -1:]
        functions = (np.minimum, np.maximum, np.add)
        rows = [np.concatenate([one, part]) if len(one) else part for one, part in zip(begin, parts)]
        self._parts = np.concatenate(
            [known, np.stack([_reduced(function, part, first) for function, part in zip(functions, rows)])], axis=1
        )

    @property
    def width(self) -> float:
        """Of an interval, s."""
        return float(2**self._level / self._rate)

    @property
    def exact(self) -> bool:
        """Each interval is one sample: smallest, mean and largest are the same."""
        return self._level == 0

    def _spread(self, values: Array) -> Array:
        """With a NaN between segments, so that lines break there."""
        return np.insert(values, np.flatnonzero(np.diff(self._segment)) + 1, np.nan, axis=0)

    @property
    def t(self) -> Array:
        """Middle of each interval, s; NaN between segments, there and in all values."""
        middle = (self._place + 0.5 * (1.0 - 2.0**-self._level)) * np.float64(self.width)
        return self._spread(middle)

    def low(self, signal: str) -> Array:
        """Smallest values (intervals, nv)."""
        return self._spread(self._parts[0, :, self.signals.index(signal)])

    def high(self, signal: str) -> Array:
        """Largest values (intervals, nv)."""
        return self._spread(self._parts[1, :, self.signals.index(signal)])

    def mean(self, signal: str) -> Array:
        """Means (intervals, nv)."""
        return self._spread(self._parts[2, :, self.signals.index(signal)] / self._count[:, None])


def _reduced(function: np.ufunc, values: Array, first: NDArray[np.intp]) -> Array:
    """function.reduceat along the first axis; several times as fast where all but the ends are of one width."""
    widths = np.diff(first)
    if len(widths) < 3 or (widths[1:] != widths[1]).any():
        return np.asarray(function.reduceat(values, first, axis=0))
    inner = values[first[1] : first[-1]].reshape(len(widths) - 1, int(widths[1]), *values.shape[1:])
    ends = [function.reduce(values[begin:stop], axis=0)[None] for begin, stop in ((0, first[1]), (first[-1], None))]
    return np.concatenate([ends[0], function.reduce(inner, axis=1), ends[1]])
