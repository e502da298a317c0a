# SPDX-License-Identifier: Apache-2.0
"""Whether a command leaves a robot safe: zero, or a part of its weight held, with damping."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.robot import LIMITS, Motion, Payload, oracle

Array = NDArray[np.float64]

#: different ones that the guard may have: it keeps its own where another one's weight is far from it, until that is
#: accepted
ROBOTS = 16
LOADS = 4
LARGEST_DAMPING = 12.0  # 1/s, at which a robot that is left safe is slowed down
MARGIN = 0.5  # N m


class LeftSafe:
    """Knows which robots and loads a node and its guard may have; the guard keeps its own when the node starts anew."""

    def __init__(self, motion: Motion) -> None:
        self._motion = motion
        self._robots = ["panda"]
        self._loads: deque[Payload | None] = deque([None], maxlen=LOADS)
        self._last: tuple[str, Payload | None] = ("panda", None)  # that were held last: tried first

    def robot(self, key: str) -> None:
        """One that was sent."""
        self._robots = [*(each for each in self._robots if each != key), key][-ROBOTS:]

    def load(self, value: Payload | None) -> None:
        """One that was sent."""
        self._loads.append(value)

    def leaves(self, tau: Array, stamps: Iterable[int], known: Iterable[tuple[str, Payload | None]]) -> bool:
        """Whether efforts (7) do so at one of these states, with one of these robots and loads or the guard's."""
        if not tau.any():
            return True
        known = list(known)
        robots = {robot for robot, _ in known} | {*self._robots}
        loads = {payload for _, payload in known} | {*self._loads}
        likely = [self._last, *(each for each in product(robots, loads) if each != self._last)]
        for stamp in stamps:
            q, v = self._motion.state(stamp)
            for held in likely:
                model = oracle(*held)
                gravity = np.clip(model.gravity(q), -LIMITS, LIMITS)
                part = np.clip(tau @ gravity / max(float(gravity @ gravity), 1e-9), 0.0, 1.0)
                if (np.abs(tau - part * gravity) <= LARGEST_DAMPING * np.abs(model.mass_matrix(q) @ v) + MARGIN).all():
                    self._last = held
                    return True
        return False
