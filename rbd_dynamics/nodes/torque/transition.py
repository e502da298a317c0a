# SPDX-License-Identifier: Apache-2.0
"""A change of the law, of its numbers, of the load or of the robot's description is no step: efforts change over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.safety.effort_continuation import EffortContinuation
from rbd_dynamics.nodes.managed.part import Part

Array = NDArray[np.float64]


class Transition(Part):
    """Goes on from the last command after a change, and over to what the law gives now.

    Parameters:
        time: how long that may take, s.

    Attributes:
        active: something is to be added to the law's efforts.
    """

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self.use(0)

    def use(self, count: int) -> None:
        """Efforts of so many joints from now on; nothing of them has been commanded."""
        self._last, self._known, self._changed = np.zeros(count), False, False
        self._takes = 0.0
        self._continuation = EffortContinuation(count)
        self.active = False

    def activated(self) -> None:
        self.use(len(self._last))

    def silent(self, reason: str) -> None:
        self.use(len(self._last))

    def changed(self, takes: float = 0.0) -> None:
        """Change over, from the next effort on, to another law, load or robot. takes: s; 0: as long as usual."""
        self._changed = self.active = self._known
        self._takes = takes

    def change_over(self, efforts: Array, now: int, limits: Array) -> None:
        """Add to the law's efforts (joints) what is left of the last command; `now` (ns): of the state they answer."""
        if self._changed:
            self._changed = False
            self._continuation.begin(self._last - efforts, now, self._takes or self._time())
        self._continuation.add(efforts, now, limits)
        self.active = self._continuation.active

    @property
    def last(self) -> Array | None:
        """The last command (joints); None: there was none."""
        return self._last if self._known else None

    def commanded(self, efforts: Array) -> None:
        """Take in what was published."""
        self._last[:] = efforts
        self._known = True
