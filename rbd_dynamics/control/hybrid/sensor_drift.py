# SPDX-License-Identifier: Apache-2.0
"""Whether a force sensor drifts, by what joint torques say.

While a tool stands and presses, what is commanded and what is felt differ by what the model has wrong and by friction,
which stay as they are. Where the difference grows nevertheless, the sensor's zero does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.controller import HybridOutput

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
STANDS = 1e-3  # m/s, rad/s
SMOOTHING = 0.3  # s
SETTLES = 1.0  # s, for which it has stood before anything is told
CHANGE = 0.05  # of the wanted force, that is none
SLOWLY = 1.0  # s, in which it may change so far: what can be let go is looked at again and again
LEAST, SHARE = 1.0, 0.05  # N, and of the wanted force: what it may change by


class SensorDrift:
    """Watches the difference while a tool stands.

    Parameters:
        rows (m): which of the constraints can only push; only they count.

    Attributes:
        found: N, by which what is felt has come to be more than is commanded, since the tool stands.
        told: the same where it is more than friction makes; kept until the next contact.
    """

    def __init__(self, rows: Mask) -> None:
        self._row = int(np.flatnonzero(rows)[0]) if rows.any() else -1
        self.begin()

    def begin(self) -> None:
        """A new contact."""
        self.found = self.told = 0.0
        self._stands = self._smooth = self._first = self._rate = self._wanted = 0.0

    def update(self, out: HybridOutput, felt: Array, force: Array, dt: float, *, known: bool) -> None:
        """A step has commanded `out`, felt (m) and wanted a force (m). known: the tool pressed by what is felt."""
        row = self._row
        if row < 0:
            return
        wanted, away = float(force[row]), float(felt[row]) - float(out.force[row])
        share = min(1.0, dt / SMOOTHING)
        self._rate += share * (float(out.drift[row]) - self._rate)
        moves = not known or abs(self._rate) > STANDS or max(map(abs, out.rate.tolist())) > 10.0 * STANDS
        if abs(wanted - self._wanted) > CHANGE * abs(wanted):
            moves, self._wanted = True, wanted
        self._wanted += min(1.0, dt / SLOWLY) * (wanted - self._wanted)
        if moves or abs(felt[row] - wanted) > LEAST + 0.2 * wanted:
            self._stands = 0.0
            return
        if not self._stands:
            self._smooth = away
        self._smooth += share * (away - self._smooth)
        if self._stands < SETTLES:
            self._first = self._smooth
        self._stands += dt
        self.found = self._smooth - self._first
        if abs(self.found) > LEAST + SHARE * wanted:
            self.told = self.found
