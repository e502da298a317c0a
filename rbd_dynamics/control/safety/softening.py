# SPDX-License-Identifier: Apache-2.0
"""Gains that are softer where efforts could not follow them.

Efforts change no faster than their rates. Where a fast arm is braked as hard as a slow one, the efforts that are wanted
come too late: it swings, ever farther. Where they do, the gains are the softer, the faster the arm is beside its wanted
motion.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IN_TIME = 0.5  # of the time 1 / damping: in so much of it, efforts have to be able to change to what is wanted
LATE = 0.1  # of the time 1 / damping: efforts that are later than wanted by more
RECOVERY = 0.2  # s, in which the gains come back
NEARLY = 0.999  # of them are all


class Shares(NamedTuple):
    """What of its gains a law uses, 0 to 1."""

    stiffness: float = 1.0
    damping: float = 1.0

    def of_both(self, share: float) -> Shares:
        """So much less of both: all swings are slower by its root, and die out more slowly."""
        return Shares(share * self.stiffness, share * self.damping)

    def softer(self, share: float) -> Shares:
        """So much less damping, and less stiffness by the square: the same motion, more slowly."""
        return Shares(share * share * self.stiffness, share * self.damping)


ALL = Shares()


def fastest_decay(M: Array, D: Array) -> float:
    """1/s, at which the fastest of all motions dies out under a damping D (n, n), with a mass matrix M (n, n)."""
    return float(np.linalg.eigvals(np.linalg.solve(M, D)).real.max(initial=0.0))


class Softening:
    """What of its gains a law may use.

    Parameters:
        nv: degrees of freedom.

    Attributes:
        rates (nv): N m/s or N/s, at which efforts may change; infinite where they may jump.
        share: of the damping, 0 to 1; of the stiffness its square, so that the damping ratio stays.
    """

    def __init__(self, nv: int) -> None:
        self.rates, self.share = np.full(nv, np.inf), 1.0

    def update(self, momentum: Array, damping: float, dt: float, *, behind: float = np.inf) -> float:
        """The share, dt seconds after the last.

        momentum (nv): M times the velocity that is to die out. damping: 1/s, by which it does. behind: s, by which
        efforts are later than wanted; by default softer gains do not wait for that.
        """
        self.share += min(1.0, dt / RECOVERY) * (1.0 - self.share)
        if self.share > NEARLY:
            self.share = 1.0
        if behind * damping <= LATE:
            return self.share
        needed = damping * damping * float((np.abs(momentum) / self.rates).max(initial=0.0))
        if needed * self.share * self.share > IN_TIME:
            self.share = math.sqrt(IN_TIME / needed)
        return self.share
