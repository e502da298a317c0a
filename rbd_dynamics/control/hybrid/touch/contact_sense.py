# SPDX-License-Identifier: Apache-2.0
"""Contact told from a sensor's noise: what counts is above what it reads by itself, as was measured on the way."""

from __future__ import annotations

NOISE = 7.0  # times what is measured: five times the deviation of what is smoothed over 5 ms, of white noise
SLOWLY = 0.02  # s: what changes more slowly is no noise
MEMORY = 0.5  # s, of the noise
FEW = 50  # readings, before the noise is known
BLOW = 36.0  # times its square: what touches, and no noise


class ContactSense:
    """Smooths what is felt (N, of the constraint that pushes least), and measures its noise where nothing touches.

    Attributes:
        smooth: N, over the time for which contact has to last.
    """

    def __init__(self) -> None:
        self.smooth = self._slow = self._square = 0.0
        self._known, self._count = False, 0

    def begin(self) -> None:
        """The noise is measured anew."""
        self._known, self._count = False, 0

    def update(self, felt: float, dt: float, debounce: float, *, free: bool) -> None:
        """A reading dt (s) after the last. debounce: s, that contact has to last. free: nothing touches, or not yet."""
        if not self._known:
            self.smooth, self._slow, self._known = felt, felt, True
        self.smooth += (min(1.0, dt / debounce) if debounce else 1.0) * (felt - self.smooth)
        self._slow += min(1.0, dt / SLOWLY) * (felt - self._slow)
        square = (self.smooth - self._slow) ** 2
        if free and (self._count < FEW or square < BLOW * self._square):
            self._count += 1
            self._square += max(1.0 / self._count, min(1.0, dt / MEMORY)) * (square - self._square)

    @property
    def least(self) -> float:
        """N, below which what is felt may be noise."""
        return NOISE * float(self._square**0.5)

    def touches(self, felt: float, contact_force: float) -> bool:
        """Whether a reading (N) is contact."""
        return felt >= contact_force and self.smooth >= self.least
