# SPDX-License-Identifier: Apache-2.0
"""Is any joint state answered? A torque node looks at that all the time, and falls silent where none is."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rbd_dynamics.nodes.commanding.node_clock import NodeClock
from rbd_dynamics.nodes.commanding.silence import Silence
from rbd_dynamics.nodes.commanding.watchdog import Watchdog
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.torque.state_input import QUEUE, StateInput

WATCH = 0.02  # s: how often it is looked whether states are still answered
LONGEST = 1.0  # s: longer is a gap, and no period
AVERAGED = 50  # periods
LATEST, FEW = 9, 3  # periods whose median tells the rate early, also of a machine that stalls; and how few tell it
PATIENCE = 5.0  # s without an answer that are silence where `state_timeout` is 0


class Watching(Part):
    """A look at whether a torque node answers.

    Parameters:
        needless: the node answers no states, as it should: another one commands.

    Attributes:
        count: answers since the last report.
    """

    def __init__(
        self,
        node: ManagedNode[Any, Any],
        clock: NodeClock,
        states: StateInput,
        silence: Silence[Any],
        needless: Callable[[], bool],
    ) -> None:
        self._node, self._clock, self._states, self._silence = node, clock, states, silence
        self._needless = needless
        self._watchdog = Watchdog()
        self._stamp, self._period, self._periods = 0, 0.0, 0
        self._latest: deque[float] = deque(maxlen=LATEST)
        self._heard = 0  # ns: stamp of the last state
        self.count = 0

    def open(self) -> None:
        self._node.entities.every(WATCH, self._look)

    def heard(self, stamp: int) -> None:
        """A state of a time (ns) has come, whether it is answered or not."""
        passed, self._heard = 1e-9 * (stamp - self._heard), stamp
        if 0.0 < passed < LONGEST:
            self._latest.append(passed)

    def feed(self, steady: float, now: int, stamp: int) -> None:
        """A state of a time `stamp` (ns) was answered that came at a steady time (s), and a time of the node (ns)."""
        self.heard(stamp)
        passed, self._stamp = 1e-9 * (stamp - self._stamp), stamp
        if 0.0 < passed < LONGEST:
            self._periods += 1
            self._period += (passed - self._period) / min(self._periods, AVERAGED)
        self._watchdog.feed(steady, now)
        self.count += 1

    @property
    def period(self) -> float:
        """Mean time from a state that was answered to the next, of late and by their clock, s; 0: not known yet."""
        return self._period if self._periods >= AVERAGED else 0.0

    @property
    def first_period(self) -> float:
        """Median time from one of the latest states to the next, s; 0: not known yet."""
        return statistics.median(self._latest) if len(self._latest) >= FEW else 0.0

    def since_answer(self, steady: float) -> float:
        """s."""
        return steady - self._watchdog.done

    def too_late(self, steady: float, now: int, timeout: float) -> bool:
        """The last answer was too long ago, for a `state_timeout` (s)."""
        return self._watchdog.barks(steady, timeout or PATIENCE, now if self._clock.simulated else None)

    def _look(self) -> None:
        """Look, by the steady clock: stamps may be of another one."""
        now, silence = time.monotonic(), self._silence
        if not silence.owns or silence.reason or not self._node.active:
            return
        stalled = self._states.heartbeat.since_stall(time.monotonic_ns())
        if stalled < 2 * QUEUE or not self.too_late(now, self._clock.now(), self._node.params.state_timeout):
            return  # after a standstill, what waits in the queue comes first
        when, problem = self._states.refusal
        what = f"every joint state was refused: {problem}" if when > self._watchdog.done else "no joint states arrive"
        silence.fall(f"no answer for {self.since_answer(now):.3g} s: {what}", returns=True)

    def report(self, status: Status) -> None:
        node = self._node
        status.values["efforts published per second"] = self.count
        if node.engine is not None and node.active and not self.count and not self._needless():
            status.error("no effort published" + ("" if node.entities.refused else ": no joint states arrive"))
        self.count = 0
