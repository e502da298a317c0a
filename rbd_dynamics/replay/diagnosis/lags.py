# SPDX-License-Identifier: Apache-2.0
"""A signal at many lags, of which any lag between follows: filtered signals have no more than that in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.signals.filtering import LowPass

Array = NDArray[np.float64]

LONGEST = 0.3  # s, to both sides
MOST = 20  # lags to one side
NEIGHBOURS = 8  # of which a value between lags is made (Lagrange)
FINE = 10  # lags that are tried, for each that is kept


class Lags:
    """The rows of a stretch that are used, and the lags at which a signal is seen from them.

    Parameters:
        step: samples between two lags (`Preparation.step`).

    Attributes:
        spacing: of two lags, s. reach: lags to one side. tried: delays that are looked at, s, (T,).
        weights: (2 reach + 1, T): what of the lags makes the signal at each of `tried`; `here`: at zero.
    """

    def __init__(self, low_pass: LowPass, step: int) -> None:
        self.step = step
        self.spacing = step / low_pass.rate
        self.reach = max(NEIGHBOURS // 2, min(MOST, int(np.ceil(LONGEST / self.spacing))))
        last = (self.reach - NEIGHBOURS // 2 + 1) * FINE
        places = np.arange(-last, last + 1) / FINE
        self.tried = places * self.spacing
        self.weights = np.column_stack([self._weights(place) for place in places])
        self.here = last

    @property
    def count(self) -> int:
        return 2 * self.reach + 1

    def of(self, signal: Array) -> Array:
        """A signal (N,) at every `step`-th sample, at all lags of those that have them, (N - 2 reach, lags); a positive
        lag is later. Nothing where it is too short."""
        if len(signal) < self.count:
            return np.zeros((0, self.count))
        return np.lib.stride_tricks.sliding_window_view(signal, self.count)

    @property
    def inside(self) -> slice:
        """The samples that have all lags."""
        return slice(self.reach, -self.reach)

    def _weights(self, place: float) -> Array:
        """Lagrange's, over the nearest of the lags."""
        nearest = int(np.clip(np.floor(place) - NEIGHBOURS // 2 + 1, -self.reach, self.reach - NEIGHBOURS + 1))
        points = nearest + np.arange(NEIGHBOURS)
        found = np.zeros(self.count)
        for point in points:
            others = points[points != point]
            found[point + self.reach] = np.prod((place - others) / (point - others))
        return found
