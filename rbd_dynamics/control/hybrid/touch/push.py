# SPDX-License-Identifier: Apache-2.0
"""What is commanded along the normal: the wanted force, less where the tool runs away, or the push of an approach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.law import HybridOutput
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.touch.approach import Approach
from rbd_dynamics.control.hybrid.touch.normal_speed import NormalSpeed

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
STEADY = 0.5  # s, for which no other force was wished for: an integral is late behind one that changes
PULLS = 0.2  # N: nothing that is pressed pulls; a law that would pull by more believes a sensor that is wrong


class Wanted(NamedTuple):
    """force (m): multipliers. aim (m): rates of the constraints that the normal damping aims at; None: zero.

    felt: whether the force error may be integrated.
    """

    force: Array
    aim: Array | None
    felt: bool


class Push:
    """The push against the constraints.

    Parameters:
        rows (m): which of them can only push.

    Attributes:
        lacking (m): what free motion needed beside the model.
        pulls: s, for which the law would have pulled at what it presses on.
    """

    def __init__(self, rows: Mask) -> None:
        self._rows, self._speed = rows, NormalSpeed(rows)
        self.lacking = np.zeros(len(rows))
        self._none = np.zeros(len(rows))
        self.pulls = 0.0
        self._wish, self._steady = np.zeros(len(rows)), 0.0  # for so long, s

    def begin(self) -> None:
        """Nothing is known of the speed, nor of what the model lacks."""
        self._speed.forget()
        self.lacking[:] = 0.0
        self.pulls = 0.0

    @property
    def share(self) -> float:
        """What of the wanted force pushes, 0 to 1."""
        return self._speed.share

    @property
    def slow(self) -> float:
        """Less than 1 where the tool is too fast for all of the wanted force, see `NormalSpeed`."""
        return self._speed.slow

    def update(self, before: HybridOutput, dt: float, limits: HybridLimits, ahead: float) -> None:
        """A step has found this, dt seconds after the last. ahead: s, from a speed to the torque that answers it."""
        self._speed.update(before.drift, dt, limits.normal_speed, ahead)

    def wish(self, force: Array, dt: float) -> None:
        """What the user wants (m) is this, dt seconds after the last."""
        self._steady += dt
        if (force != self._wish).any():
            self._wish, self._steady = force.copy(), 0.0

    def pressing(
        self, force: Array, integral: Array, before: HybridOutput, felt: Array, dt: float, *, alone: bool
    ) -> Wanted:
        """What is wanted while the tool presses with a force (m), to which the integral of its error adds its own (m).

        before: what the last step found. felt (m): what is pressed, as the sensor has it. dt: s, since the last step.
        alone: nothing is felt beside the constraints; that finds its way into the integral as well.
        """
        share = self.share
        if share == 1.0:
            # friction, by which free motion lacked something, may be on either side
            least = self.lacking - PULLS - 2.0 * np.abs(self.lacking) - integral
            pulls = self._rows & (force < least)
            if not (alone and pulls.any() and self._steady > STEADY):
                self.pulls = 0.0
                return Wanted(force, None, True)
            self.pulls += dt
            return Wanted(np.where(pulls, least, force), None, bool((felt < force)[pulls].all()))
        pushed = share * (force + integral) + (1.0 - share) * self.lacking
        return Wanted(np.where(self._rows, pushed - integral, force), self._speed.aim(before.drift, self._none), False)

    def approaching(self, approach: Approach, before: HybridOutput, *, again: bool) -> Wanted:
        """What is wanted on the way to a surface. again: one that was lost a moment ago, when the tool is fast."""
        self._speed.restart(0.0 if again else 1.0)
        return Wanted(approach.push, self._speed.aim(before.drift, approach.velocity), False)
