# SPDX-License-Identifier: Apache-2.0
"""Contact from external torques: thresholds with hysteresis and a least duration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

RELEASE = 0.6  # of a threshold: below that a joint is free again


class ContactDetector:
    """There is contact once some joint's torque has been above its threshold for `duration`.

    There is none any more once all have been below 0.6 of theirs for as long.

    Parameters:
        thresholds: (nv,), N m or N; infinite for a joint that does not count.
        duration: s.

    Raises ValueError for numbers that are not positive.

    Attributes:
        contact: whether there is.
        since: for how long it has been so that `contact` is about to change, s.
    """

    def __init__(self, thresholds: ArrayLike, *, duration: float = 0.02) -> None:
        self.thresholds = np.array(thresholds, dtype=float)
        self.duration = float(duration)
        if not (self.thresholds > 0.0).all():
            raise ValueError(f"thresholds must be positive, got {self.thresholds}")
        if not 0.0 <= self.duration < np.inf:
            raise ValueError(f"duration must be a number of seconds, got {duration!r}")
        self.reset()

    def reset(self) -> None:
        """Begin anew, without contact."""
        self.contact = False
        self.since = 0.0

    def above(self, external: Array) -> Mask:
        """Which joints (..., nv) are above their thresholds."""
        return np.asarray(np.abs(external) > self.thresholds)

    def update(self, external: Array, dt: float) -> bool:
        """Whether there is contact, after external torques (nv) that have held for `dt` s."""
        limit = RELEASE * self.thresholds if self.contact else self.thresholds
        beyond = bool((np.abs(external) > limit).any())
        if beyond == self.contact:
            self.since = 0.0
        else:
            self.since += dt
            if self.since >= self.duration * (1.0 - 1e-9):
                self.contact, self.since = beyond, 0.0
        return self.contact

    def changes(self, external: Array, dt: float) -> Sequence[tuple[int, bool]]:
        """The same for samples (N, nv), `dt` s apart: at which of them contact changes, and to what.

        A change counts from where the torque crossed, which is `duration` before it is certain; it may lie before the
        first sample.
        """
        size = np.abs(external) / self.thresholds
        largest = size.max(axis=1) if size.shape[1] else np.zeros(len(size))
        edges = {level: _edges(largest > level) for level in (1.0, RELEASE)}
        found: list[tuple[int, bool]] = []
        at, count = 0, len(largest)
        while at < count:
            level = RELEASE if self.contact else 1.0
            beyond = bool(largest[at] > level)
            edge = edges[level]
            stop = min(count, int(edge[np.searchsorted(edge, at, side="right")]) if at < count else count)
            if beyond == self.contact:
                self.since = 0.0
                at = stop
                continue
            needed = max(1, int(np.ceil((self.duration * (1.0 - 1e-9) - self.since) / dt)))
            if stop - at < needed:
                self.since += (stop - at) * dt
                at = stop
                continue
            begin = at - int(round(self.since / dt))
            self.contact, self.since = beyond, 0.0
            found.append((begin, beyond))
            at += needed
        return found


def _edges(mask: Mask) -> NDArray[np.intp]:
    """Where runs end: indices of the first sample of each next one, and the number of samples."""
    return np.append(np.flatnonzero(np.diff(mask)) + 1, len(mask))
