# SPDX-License-Identifier: Apache-2.0
"""The verdict on hybrid_controller: exact while it holds, by bounds while it approaches and presses.

Which of the two it does follows from ~/task_state, which it publishes for the states at which it is engaged. When it
stops, the force fades, which counts by bounds as well; then it has to be exact again.

The robot of a campaign moves whatever is commanded, so that what the tool is away from its task stays, and the
controller's integral of it grows for as long as it is engaged. That is counted, and belongs to the bounds. So does what
it makes up for while it holds (`hold_load`), as it finds a load in a robot that does not answer it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from campaigns.faults.judging.judge import Judge
from campaigns.faults.judging.situation import Settings, Situation
from campaigns.faults.robot import LIMITS, Motion, Oracle, oracle

Array = NDArray[np.float64]

FADING = 3.0  # s: the largest force at force_rate
#: N m, beyond gravity, at the campaign's small motions: feedback of the task, posture, the largest force's share
MOST_BEYOND_GRAVITY = 60.0
TASK_KP, TASK_KI, TASK_INTEGRAL_LIMIT = 100.0, 8.0, 20.0  # of the controlled directions; the last m/s^2 and rad/s^2
DISENGAGED = 0.25  # s without a task state
LONGEST_STEP = 0.05  # s, of the integral
LOAD = 0.1  # of the effort limits, that hold_load makes up for
MARGIN = 1.0  # N m, of Coriolis terms
LETS_GO = 10.0  # s after it was switched off, in which a node that waits for a processor has done so, and it has faded
MOST_OF_INTEGRAL = 1.2  # times what it is here: when exactly it was engaged is not known
HOLDING = Settings(kp=(400.0,), kd=(40.0,), law="computed_torque")  # hold_stiffness, hold_damping


class HybridJudge(Judge):
    """See the module."""

    NEW_ROBOT_HOLDS = True

    def __init__(self, motion: Motion, ring: Any, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(motion, ring, tell)
        self.now = self._start = Situation(settings=HOLDING)
        self.engaged: set[int] = set()  # stamps
        self._engaged_at = 0
        self._task: Any = None  # the tool's placement when it was engaged
        self._integral = np.zeros(6)  # of the task's error since then
        self._load_until = -np.inf  # s, until when it may make up for one; infinite: it does

    def event(self, time: float, kind: str, value: Any) -> None:
        if kind == "holds load":
            self._load_until = np.inf if value else time + LETS_GO
        super().event(time, kind, value)

    def task_state(self, stamp: int) -> None:
        self.engaged.add(stamp)
        if len(self.engaged) > 20_000:
            newest = max(self.engaged)
            self.engaged = {each for each in self.engaged if newest - each < 10**10}

    def explained(self, stamp: int, tau: Array, time: float) -> bool:
        engaged = stamp in self.engaged
        if engaged:
            self._integrate(stamp)
            self._engaged_at = max(stamp, self._engaged_at)
        elif stamp - self._engaged_at > FADING * 1e9:
            return self._holds_a_load(stamp, tau, time) or super().explained(stamp, tau, time)
        elif self.now.desired is not None and self._fits(self.now, stamp, *self.motion.state(stamp), tau):
            self.counts.exact += 1
            return True
        self._unsettled = max(time + FADING, self._unsettled)
        q, _ = self.motion.state(stamp)
        for robot, payload, _ in self._combinations():
            beyond = tau - oracle(robot, payload).gravity(q)
            if (np.abs(beyond) <= MOST_BEYOND_GRAVITY).all() or self._by_integral(oracle(robot, payload), q, beyond):
                self.counts.bounds += 1
                return True
        return False

    def _holds_a_load(self, stamp: int, tau: Array, time: float) -> bool:
        """Whether it may make up for one now, beyond what holds it somewhere near."""
        if time > self._load_until:
            return False
        q, v = self.motion.state(stamp)
        if self.now.desired is not None and self._fits(self.now, stamp, q, v, tau):
            self.counts.exact += 1
            return True
        for robot, payload, settings in self._combinations():
            model = oracle(robot, payload)
            kp, kd = settings.gains
            M = np.abs(model.mass_matrix(q))
            feedback = M @ (kp * 2.0 * self.motion.amplitude + kd * np.abs(v))
            beyond = np.abs(tau - model.gravity(q)) - LOAD * LIMITS - feedback - MARGIN
            if (beyond <= 0.0).all():
                self._unsettled = max(time + FADING, self._unsettled)  # then it has to be exact again
                self.counts.bounds += 1
                return True
        return False

    def _integrate(self, stamp: int) -> None:
        """The task's error up to this stamp, at which it is engaged."""
        tool = oracle("panda", None).tool(self.motion.state(stamp)[0])
        passed = 1e-9 * (stamp - self._engaged_at)
        if self._task is None or passed > DISENGAGED:
            self._task, self._integral = tool.copy(), np.zeros(6)
        turned = Rotation.from_matrix(tool.rotation @ self._task.rotation.T).as_rotvec()
        error = np.concatenate([turned, tool.translation - self._task.translation])
        self._integral += min(max(passed, 0.0), LONGEST_STEP) * error

    def _by_integral(self, model: Oracle, q: Array, beyond: Array) -> bool:
        """Whether a share of what the integral adds, which may be cut off, leaves no more than the bound."""
        J = model.jacobian(q)
        inertia = np.linalg.inv(J @ np.linalg.solve(model.mass_matrix(q), J.T))
        limit = TASK_INTEGRAL_LIMIT
        added = J.T @ inertia @ np.clip(-MOST_OF_INTEGRAL * TASK_KP * TASK_KI * self._integral, -limit, limit)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.sort([(beyond - MOST_BEYOND_GRAVITY) / added, (beyond + MOST_BEYOND_GRAVITY) / added], axis=0)
        return bool(max(0.0, ends[0].max()) <= min(1.0, ends[1].min()))
