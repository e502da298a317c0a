# SPDX-License-Identifier: Apache-2.0
"""Samples at uniform times: local, so that it can be done piece by piece.

At each time of the grid the cubic through the two samples before and the two after it (Lagrange), which is exact for
motions of third order; the straight line between two samples where the four are too unevenly spaced for a cubic.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

UNEVEN = 0.5  # of the period: with samples closer than this, no cubic
SECOND = 1e-9  # of a ns


class Resampler:
    """Interpolates samples at the times origin + k / rate, k = 0, 1, ...

    Parameters:
        origin: ns.
        rate: per s.
        closest: where two of four neighbours are closer than this, s, the line between the inner two is taken.
        largest_step: times between samples farther apart than this, s, are marked, but for those close to a sample.
        delay: (signals,), s: these are taken so much later; beyond its ends a signal stays as it was. None: none is.
    """

    def __init__(
        self, origin: int, rate: float, closest: float, largest_step: float, *, delay: Array | None = None
    ) -> None:
        self._origin, self._rate = origin, rate
        self._closest, self._largest_step = closest, largest_step
        self._times = np.zeros(0)
        self._values: Array | None = None
        self._next = 0  # number of the grid's next time
        late = np.zeros(0) if delay is None or not delay.any() else delay
        self._late = [(float(by), np.flatnonzero(late == by)) for by in np.unique(late) if by]  # and these signals

    def feed(self, stamps: Stamps, values: Array) -> tuple[Array, Mask]:
        """Values (N, signals) at the grid's times that have two samples behind them, and which are filled."""
        times = (stamps - self._origin) * SECOND
        self._times = np.concatenate([self._times, times])
        self._values = values if self._values is None else np.concatenate([self._values, values])
        if len(self._times) < 4:
            return values[:0], np.zeros(0, dtype=bool)
        return self._until(self._times[-2] - max([0.0, *(by for by, _ in self._late)]), strictly=True)

    def finish(self) -> tuple[Array, Mask]:
        """The rest, up to the last sample."""
        if self._values is None or len(self._times) < 4:
            return np.zeros((0, 0)), np.zeros(0, dtype=bool)
        return self._until(self._times[-1], strictly=False)

    def _until(self, end: float, strictly: bool) -> tuple[Array, Mask]:
        assert self._values is not None
        count = int(np.floor(end * self._rate * (1.0 + 1e-15))) + 2
        grid = np.arange(self._next, count) / self._rate
        grid = grid[grid < end] if strictly else grid[grid <= end]
        self._next += len(grid)
        times, given = self._times, self._values
        values, filled, first = self._at(grid, given)
        for by, signals in self._late:
            late, missing, oldest = self._at(np.clip(grid + by, times[0], times[-1]), given[:, signals])
            values[:, signals] = late
            filled |= missing
            first = min(first, oldest)
        if len(grid):  # the next grid time is after the last one
            keep = max(0, first - 1)
            self._times, self._values = times[keep:], given[keep:]
        return values, filled

    def _at(self, grid: Array, given: Array) -> tuple[Array, Mask, int]:
        """Values of some signals at these times, which are filled, and the sample before the last of the times."""
        times = self._times
        before = np.clip(np.searchsorted(times, grid, side="right") - 1, 0, len(times) - 2)
        first = np.clip(before - 1, 0, len(times) - 4)
        weights, indices = self._weights(grid, before, first)
        rows = np.arange(0, 4 * len(grid) + 1, 4)
        values = scipy.sparse.csr_matrix((weights.ravel(), indices.ravel(), rows), (len(grid), len(times))) @ given
        left, right = times[before], times[before + 1]
        filled = (right - left > self._largest_step) & (np.minimum(grid - left, right - grid) > 0.5 * self._closest)
        return values, filled, int(before[-1]) if len(grid) else 0

    def _weights(
        self, grid: Array, before: NDArray[np.intp], first: NDArray[np.intp]
    ) -> tuple[Array, NDArray[np.intp]]:
        """Weights of four samples for each time (N, 4), and which samples they are."""
        points = np.stack([self._times[first + k] for k in range(4)])  # four rows: faster than four columns
        x = points - grid
        steps = np.diff(points, axis=0)
        rows = np.ones_like(x)
        for k in range(4):
            for other in range(4):
                if other != k:
                    rows[k] *= x[other] / (points[other] - points[k])
        weights, indices = np.ascontiguousarray(rows.T), first[:, None] + np.arange(4)
        uneven = steps.min(axis=0) < self._closest
        if uneven.any():
            left, right = self._times[before[uneven]], self._times[before[uneven] + 1]
            share = (grid[uneven] - left) / (right - left)
            line = np.zeros((len(share), 4))
            place = before[uneven] - first[uneven]
            line[np.arange(len(share)), place] = 1.0 - share
            line[np.arange(len(share)), place + 1] = share
            weights[uneven] = line
        return weights, indices
