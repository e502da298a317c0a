# SPDX-License-Identifier: Apache-2.0
"""How much noise the measurements have, and how much of it is left in the filtered signals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.signals.filtering import LowPass, Piece
from rbd_dynamics.replay.torques.exact import ExactSums

Array = NDArray[np.float64]


class Noise:
    """Measurement noise of each joint, from what the filter takes away, and what is left of it in the signals.

    Taken as white: then the filter and the differences that follow it multiply its standard deviation by known factors
    (`LowPass.noise_gain`). Motion faster than the cutoff counts as noise here: these figures are rather too large.
    """

    def __init__(self, joints: int) -> None:
        self.samples = 0
        self._squares = ExactSums((3, joints))  # of positions, velocities, efforts

    def add(self, piece: Piece) -> None:
        self.samples += len(piece.filled)
        removed = np.moveaxis(piece.raw - piece.signals, -1, 0)  # as they lie in memory
        removed *= removed
        self._squares.add(np.nan_to_num(removed.sum(axis=0)))

    def merge(self, other: Noise) -> None:
        self.samples += other.samples
        self._squares.merge(other._squares)

    def measured(self, low_pass: LowPass) -> Array:
        """Standard deviation (3, joints) of measured positions, velocities and efforts."""
        return np.sqrt(self._squares.values / max(1, self.samples)) / low_pass.noise_gain(removed=True)


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations (nv,) of what noise is left in a `Segment`'s signals; NaN where nothing is measured."""

    q: Array
    v: Array
    a: Array
    tau: Array
