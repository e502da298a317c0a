# SPDX-License-Identifier: Apache-2.0
"""Whether a tool that presses still touches what it pressed on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROUGHNESS = 2e-4  # m


class ContactWatch:
    """Counts how long nothing was felt.

    Parameters:
        rows (m): which of the constraints can be left.

    Attributes:
        touched (m): values of the constraints where contact was felt last.
        without: s, since contact was felt last. lost: s, of these, in which the tool was where it had touched, or
            inside; a tool that has bounced is to come back. beyond: s, of these, in which it was inside.
    """

    def __init__(self, rows: Mask) -> None:
        self._rows = rows
        self.touched = np.zeros(len(rows))
        self.without = self.lost = self.beyond = 0.0

    def begin(self, h: Array) -> None:
        """It touches, at values h (m) of the constraints."""
        self.touched[:] = h
        self.without = self.lost = self.beyond = 0.0

    def update(self, touches: bool, h: Array, dt: float) -> None:
        """A state dt seconds after the last, at values h (m) of the constraints."""
        if touches:
            self.begin(h)
            return
        self.without += dt
        outside = (h - self.touched)[self._rows]
        if not (outside > ROUGHNESS).any():
            self.lost += dt
        if (outside < -ROUGHNESS).any():
            self.beyond += dt
