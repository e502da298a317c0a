# SPDX-License-Identifier: Apache-2.0
"""A node that answers joint states watches whether it does: it refuses with a reason, is silent or ends the control."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from rbd_dynamics.nodes import heartbeat
from rbd_dynamics.nodes.commanding_node import CommandingNode
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import T
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.messages import SECOND

P = TypeVar("P", bound=TorqueParameters)
WATCH = 0.02  # s: how often it is looked whether states are still answered
PATIENCE = 5.0  # s without an answer that are silence where `state_timeout` is 0
QUEUE = SECOND // 10  # ns: after a standstill, states without a stamp may be old for so long


class WatchedNode(CommandingNode[P, T]):
    """Subclasses feed `watchdog` with each answer, and count it in `_answered`."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._answered = 0  # since the last report
        self._refusal = (0.0, "")  # the last: monotonic time, reason
        self._implausible = 0  # states in a row
        self._ended = ""  # why the control ended by itself

    def open(self) -> None:
        super().open()
        self.every(WATCH, self._watch)
        self.every(heartbeat.PERIOD, self._heartbeat.beat)

    def activated(self) -> None:
        super().activated()
        self._implausible, self._ended = 0, ""

    def report(self, status: Status) -> None:
        status.values["efforts published per second"] = self._answered
        super().report(status)
        if self._ended and not self.active:
            status.error(self._ended)
        if self.engine is not None and self.active and not self._answered and not self.lets_another_command:
            status.error("no effort published" + ("" if self._refused else ": no joint states arrive"))
        self._answered = 0

    @property
    def lets_another_command(self) -> bool:
        """It answers no states, as it should."""
        return False

    # --- states that are not answered -------------------------------------------------------------

    def _refuse_state(self, problem: str, implausible: bool = False) -> None:
        """Not answered; too many implausible ones in a row end the control."""
        self._refusal = (time.monotonic(), problem)
        self.refuse(problem)
        self._implausible += implausible
        if implausible and self.active and self._implausible == self.params.most_refused:
            self._ended = f"the control has ended: {self._implausible} implausible joint states in a row; {problem}"
            self.get_logger().fatal(f"{self._ended}; no torques until the node is activated again")
            self.fall_silent(self._ended)
            self.trigger_deactivate()
            self.active = False  # whatever became of the transition

    # --- no answers -------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Is any state answered? By the steady clock: stamps may be of another one."""
        now = time.monotonic()
        if not self.silence.owns or self.silence.reason or not self.active:
            return
        if self._heartbeat.since_stall(time.monotonic_ns()) < 2 * QUEUE or not self._barks(now, self.now()):
            return  # after a standstill, what waits in the queue comes first
        when, problem = self._refusal
        what = f"every joint state was refused: {problem}" if when > self.watchdog.done else "no joint states arrive"
        self.fall_silent(f"no answer for {now - self.watchdog.done:.3g} s: {what}", returns=True)

    def _barks(self, time: float, now: int) -> bool:
        timeout = self.params.state_timeout or PATIENCE
        return self.watchdog.barks(time, timeout, now if self._simulated_time else None)

    def _after_gap(self, engine: T, time: float) -> None:
        """A state that can be answered, before the gap was noticed: the node itself stood still, or they came late."""
        reason = f"no answer for {time - self.watchdog.done:.3g} s"
        self.silent(engine, reason)
        self.get_logger().warning(f"{reason}: held where it is now", throttle_duration_sec=1.0)
