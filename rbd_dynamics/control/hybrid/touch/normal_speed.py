# SPDX-License-Identifier: Apache-2.0
"""Keeps a tool that presses from running away where nothing pushes back: at an edge, a hole, a part that gives way.

A lost contact is felt late, and by then a force F has made of a mass m a speed F t / m. What is seen at once is the
speed. The faster the tool moves along the normal into the surface, or is about to where its speed grows on, the less
it pushes, down to nothing at the speed that is allowed, and the more it is braked.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BEGINS = 0.5  # share of the speed, from where on there is less push
RECOVERY = 0.05  # s, in which the push comes back
LONGEST = 0.4  # s, likewise, where what came back sooner has made the tool fast again and again
AGAIN = 1.5  # of the recovery: a push that is cut again within it came back too soon
GROWTH = 0.003  # s, over which growth of the speed is averaged
BRAKING = 2.3  # times the normal damping, where nothing is to push


class NormalSpeed:
    """What of the wanted force may push, by how fast the tool goes.

    Parameters:
        rows (m): which of the constraints can only push.

    Attributes:
        share: of the force, 0 to 1.
        slow: 1 where the tool has been slow for RECOVERY; less where it is too fast for all of the force.
    """

    def __init__(self, rows: Mask) -> None:
        self.rows, self._numbers = rows, np.flatnonzero(rows).tolist()
        self.forget()

    def forget(self) -> None:
        """Nothing is known of the speed."""
        self.share = self.slow = 1.0
        self._speed, self._growth = 0.0, 0.0
        self._known = False
        self._recovery, self._since = RECOVERY, math.inf  # s; since when the push is not cut any more

    def restart(self, share: float) -> None:
        """Begin anew, as on the way to a surface: share pushes where it touches, and more soon after."""
        self.share = share
        self._recovery, self._since = RECOVERY, math.inf

    def update(self, drift: Array, dt: float, most: float, ahead: float) -> float:
        """The share, at rates drift (m) of the constraints, m/s, dt seconds after the last.

        most: m/s, the speed at which nothing pushes; 0: there is no bound. ahead: s, from a speed to the torque that
        answers it.
        """
        if not most or not self._numbers:
            self.share = self.slow = 1.0
            return 1.0
        rates = drift.tolist()
        speed = -min(rates[row] for row in self._numbers)
        if self._known and dt > 0.0:
            self._growth += min(1.0, dt / GROWTH) * ((speed - self._speed) / dt - self._growth)
        self._speed, self._known = speed, True
        foreseen = speed + ahead * max(self._growth, 0.0) if speed > 0.0 else 0.0
        allowed = 1.0 - min(1.0, max(0.0, (foreseen / most - BEGINS) / (1.0 - BEGINS)))
        self.slow = min(allowed, self.slow + dt / RECOVERY)
        if allowed < self.share:  # on soft ground a push that comes back at once makes it fast at once
            if self._since > 0.0:
                soon = self._since < AGAIN * self._recovery
                self._recovery = min(LONGEST, 2.0 * self._recovery) if soon else RECOVERY
            self._since = 0.0
        else:
            self._since += dt
        self.share = min(allowed, self.share + dt / self._recovery)
        return self.share

    def aim(self, drift: Array, aim: Array) -> Array:
        """The velocity (m) that the normal damping is to aim at, so that it brakes more than by itself.

        drift (m): rates of the constraints. aim (m): the velocity that is wanted.
        """
        more = (BRAKING - 1.0) * (1.0 - self.share)
        return np.where(self.rows, aim + more * (aim - drift), aim)
