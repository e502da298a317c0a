# SPDX-License-Identifier: Apache-2.0
"""What has become of trajectories: for the log, and in the diagnostics for whoever has sent one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.motion.tolerances import difference
from rbd_dynamics.nodes.managed.diagnostics import Status

Array = NDArray[np.float64]
#: keys of the diagnostics
TAKEN, REFUSED, LATEST = "trajectories taken", "trajectories refused", "last trajectory"
REFUSAL = "last refusal of a trajectory"
MOTION, PLANNED = "desired motion", "a trajectory is being planned"
#: refusals by a node that may follow it soon
NO_STATES, NO_ROBOT = "there are no joint states to start from", "the node is not active or has no robot"
#: how the latest one begins, by how it is doing
UNDER_WAY, AT_ITS_END, EARLY = "under way", "at its end", "ended early"


class MotionRecord:
    """Counts trajectories, and sees when one has ended. say: for the log."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._taken = self._refused = 0
        self._refusal, self._latest = "", ""
        self._followed: int | None = None  # number of the motion, while it is a trajectory

    def take(self, what: str) -> None:
        """One will be followed."""
        self._taken += 1
        self._latest = f"{UNDER_WAY}: {what}"
        self._say(what)

    def refuse(self, reason: str) -> None:
        """One will not."""
        self._refused += 1
        self._refusal = reason

    def look(self, motion: DesiredMotion, measured: Callable[[], Array]) -> None:
        """See how the motion is doing, after each update of it. measured: asked for the positions of its joints."""
        number = motion.number if motion.mode == "trajectory" else None
        if number == self._followed:
            return
        was, self._followed = self._followed, number
        if was is None or number is not None:  # it begins, or another goes on from it
            return
        if motion.number == was and not motion.problem:
            off = np.abs(difference(motion.state()[0], measured(), motion.continuous))
            farthest = int(np.argmax(off))
            self._end(f"{AT_ITS_END}; {motion.joints[farthest]!r} is farthest from it, by {off[farthest]:.2g}")
        else:
            self.lose(motion.problem or "another motion has taken its place")

    def lose(self, why: str) -> None:
        """What is under way will not come to its end."""
        if self._latest.startswith(UNDER_WAY):
            self._end(f"{EARLY}: {why}")

    def report(self, status: Status, motion: DesiredMotion | None) -> None:
        """motion: None without a robot."""
        if motion is None or (not motion.moving and self._followed is None):
            self.lose("another motion has taken its place before it began")
        status.values[TAKEN], status.values[REFUSED] = self._taken, self._refused
        if self._refusal:
            status.values[REFUSAL] = self._refusal
        if self._latest:
            status.values[LATEST] = self._latest

    def _end(self, how: str) -> None:
        self._latest = how
        self._say(f"trajectory {how}")
