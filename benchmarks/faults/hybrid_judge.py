# SPDX-License-Identifier: Apache-2.0
"""The verdict on hybrid_controller: exact while it holds, by bounds while it approaches and presses.

Which of the two it does follows from ~/task_state, which it publishes for the states at which it is engaged. When it
stops, the force fades, which counts by bounds as well; then it has to be exact again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.faults.judge import Judge
from benchmarks.faults.robot import Motion, oracle
from benchmarks.faults.situation import Settings, Situation

Array = NDArray[np.float64]

FADING = 3.0  # s: the largest force at force_rate
#: N m, beyond gravity, at the campaign's small motions: feedback of the task, posture, the largest force's share
MOST_BEYOND_GRAVITY = 60.0
HOLDING = Settings(kp=(400.0,), kd=(40.0,), law="computed_torque")  # hold_stiffness, hold_damping


class HybridJudge(Judge):
    """See the module."""

    NEW_ROBOT_HOLDS = True

    def __init__(self, motion: Motion, ring: Any, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(motion, ring, tell)
        self.now = self._start = Situation(settings=HOLDING)
        self.engaged: set[int] = set()  # stamps
        self._engaged_at = 0

    def task_state(self, stamp: int) -> None:
        self.engaged.add(stamp)
        if len(self.engaged) > 20_000:
            newest = max(self.engaged)
            self.engaged = {each for each in self.engaged if newest - each < 10**10}

    def explained(self, stamp: int, tau: Array, time: float) -> bool:
        engaged = stamp in self.engaged
        if engaged:
            self._engaged_at = max(stamp, self._engaged_at)
        elif stamp - self._engaged_at > FADING * 1e9:
            return super().explained(stamp, tau, time)
        elif self.now.desired is not None and self._fits(self.now, stamp, *self.motion.state(stamp), tau):
            self.counts.exact += 1
            return True
        self._unsettled = max(time + FADING, self._unsettled)
        q, _ = self.motion.state(stamp)
        for robot, payload, _ in self._combinations():
            if (np.abs(tau - oracle(robot, payload).gravity(q)) <= MOST_BEYOND_GRAVITY).all():
                self.counts.bounds += 1
                return True
        return False
