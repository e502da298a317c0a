# SPDX-License-Identifier: Apache-2.0
"""Which effort commands may pass to a controller, and when again after they had stopped. No ROS, no clock."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.feedforward import per_joint

Array = NDArray[np.float64]
MINUTE = 60.0  # s
ROUNDING = 1e-9  # relative: a torque node cuts off at a limit that it read from another text


class CommandCheck:
    """Efforts in the order of `joints`, finite and within limits (N m or N)."""

    def __init__(self, joints: Sequence[str], limits: ArrayLike) -> None:
        self.joints = tuple(joints)
        self.limits = per_joint("effort_limits", limits, self.joints)
        self._most = np.minimum(self.limits * (1.0 + ROUNDING), np.finfo(float).max)  # infinite is never good

    def problem(self, efforts: Array) -> str:
        """What is wrong with them; empty: nothing."""
        if len(efforts) != len(self.joints):
            return f"it has {len(efforts)} efforts for {len(self.joints)} joints: {', '.join(self.joints)}"
        size = np.abs(efforts)
        if (size <= self._most).all():
            return ""
        k = int(np.flatnonzero(~(size <= self._most))[0])
        if not math.isfinite(efforts[k]):
            return f"the effort of joint {self.joints[k]!r} is {efforts[k]}"
        return f"the effort of joint {self.joints[k]!r} is {efforts[k]:.4g}, its limit {self.limits[k]:.4g}"


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Times in s.

    Attributes:
        timeout: without a good command for longer, they have stopped.
        resume_after: how long they must have come without a gap before they pass again.
        most_silences: when they stop more often within a minute, they pass again only on request.
    """

    timeout: float = 0.05
    resume_after: float = 0.1
    most_silences: int = 3


class CommandGate:
    """Open, closed since commands stopped, or shut until somebody asks; by the times of good commands (s)."""

    def __init__(self, *, options: GateOptions | None = None) -> None:
        self.options = options or GateOptions()
        self.shut = False
        self._last = self._since = -math.inf
        self._silences: deque[float] = deque()

    def good(self, time: float) -> bool:
        """A good command has come. True: others begin with it, after a gap or at all."""
        begins = time - self._last > self.options.timeout
        if begins:
            self._since = time
        self._last = time
        return begins

    def stopped(self, time: float) -> bool:
        """Commands have stopped: noted. True: so often that the gate is shut."""
        while self._silences and time - self._silences[0] > MINUTE:
            self._silences.popleft()
        self._silences.append(time)
        self._last = self._since = -math.inf
        self.shut = len(self._silences) > self.options.most_silences
        return self.shut

    def opens(self, time: float) -> bool:
        """May the good command of this time pass, and those after it?"""
        return not self.shut and time - self._since >= self.options.resume_after

    def reset(self) -> None:
        """Forget what was, on request."""
        self.shut = False
        self._silences.clear()
