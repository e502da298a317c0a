# SPDX-License-Identifier: Apache-2.0
"""Two torque nodes take over a robot from each other without a jump: who commands, and from which effort on.

A node that stands by hears the other's efforts. Asked to take over, it begins with the last of them and marks its own
for a while; the other hears that and commands no more. So somebody commands all the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from rbd_dynamics.control.safety.effort_continuation import EffortContinuation
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.engines import TorqueEngine
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import COMMANDS, nanoseconds
from rbd_dynamics.nodes.managed.part import Part

Array = NDArray[np.float64]
MARK = "took over"  # in header.frame_id of efforts
RECENT = 0.1  # s: an effort that is older does not act any more
WAITS = 0.5  # s: with a state that comes later after the other's last effort, nothing is taken over
GRACE = 0.5  # s after taking over, in which the other may still be heard


class Successor(Protocol):
    """What is asked of the node: of its law."""

    def may_take_over(self) -> None:
        """Raise ValueError with the reason where the node cannot go on with another's efforts."""

    def take_over(self, engine: Any, last: Array, efforts: Array) -> Array:
        """Go on with another's last efforts; of them, what the law does not go on with itself (joints).

        efforts: what the law gives for the state that was read. Raises ValueError or ArithmeticError.
        """

    def stands_by(self, engine: Any) -> None:
        """A state is not answered, because another node commands."""

    def yields(self) -> None:
        """Another node has taken over: command nothing, and nothing in place of it."""


class HandOver(Part):
    """Which of two nodes commands, as one of them knows it.

    Parameters:
        node: whose topics and service these are.
        successor: the node's law.
        standby: whether the node starts on standby when activated.

    Attributes:
        standing_by: the node answers no state.
        taking: with the next state it begins.
    """

    def __init__(self, node: ManagedNode[Any, Any], successor: Successor, standby: Callable[[], bool]) -> None:
        self._node, self._successor, self._standby = node, successor, standby
        self.standing_by = self.taking = False
        self._continuation = EffortContinuation(0)
        self._names: list[str] = []
        self._last: Array | None = None  # efforts of the other, in our order
        self._heard = self._taken = -GRACE  # monotonic, s

    def open(self) -> None:
        entities = self._node.entities
        entities.subscribe(JointState, "~/continued_effort", self._on_effort, COMMANDS, urgent=True)
        entities.serve(Trigger, "~/hand_over", self._on_request)

    def activated(self) -> None:
        self._begin(self._names, self._standby())

    def silent(self, reason: str) -> None:
        self._continuation.end()

    def report(self, status: Status) -> None:
        if self.standing_by:
            status.values["standby"] = "another node commands"
            if time.monotonic() - self._heard > WAITS:
                status.values["standby"] = "no other node commands"
                status.warn("on standby, and no other node commands: no efforts arrive on ~/continued_effort")

    def use(self, names: Sequence[str], *, first: bool) -> None:
        """Continue efforts of these joints from now on. first: there was no robot before."""
        self._begin(names, self._standby() if first else self.standing_by)

    def _begin(self, names: Sequence[str], standing_by: bool) -> None:
        self._names, self.standing_by, self.taking = list(names), standing_by, False
        self._continuation, self._last = EffortContinuation(len(names)), None
        self._taken = -GRACE

    def commands(self, engine: TorqueEngine, efforts: Array, time: int) -> bool:
        """Whether this node commands; changes efforts where it takes over. Raises ValueError or ArithmeticError.

        efforts: of the law, for the state of this time (ns).
        """
        if self.taking:
            last = self.last()
            rest = self._successor.take_over(engine, last, efforts)  # where it raises, the other goes on
            self.take()
            self._continuation.begin(rest, time)
            efforts[:] = np.clip(last, -engine.effort_limits, engine.effort_limits)
            self._node.get_logger().info("has taken over")
        elif self.standing_by:
            self._successor.stands_by(engine)
            return False
        elif self._continuation.active:
            self._continuation.add(efforts, time, engine.effort_limits)
        return True

    @property
    def mark(self) -> str:
        """The mark of efforts that are published now."""
        return MARK if time.monotonic() - self._taken < GRACE else ""

    def last(self) -> Array:
        """The other's last efforts, where the node is about to take over. Raises ValueError: it goes on standing by."""
        self.taking = False
        if self._last is None or time.monotonic() - self._heard > WAITS:
            raise ValueError("it cannot take over: the other's efforts have stopped meanwhile")
        return self._last

    def take(self) -> None:
        """The node commands from now on."""
        self.standing_by, self._taken = False, time.monotonic()

    def _on_effort(self, message: JointState) -> None:
        numbers = dict(zip(message.name, message.effort))
        if len(message.effort) != len(message.name) or any(name not in numbers for name in self._names):
            self._node.refuse("continued effort ignored: it lacks joints of this robot")
            return
        efforts = np.array([numbers[name] for name in self._names])
        if not np.isfinite(efforts).all() or not nanoseconds(message.header.stamp):
            self._node.refuse("continued effort ignored: it is not finite, or has no stamp")
            return
        self._last, self._heard = efforts, time.monotonic()
        if self.standing_by:
            return
        ours = self._heard - self._taken < GRACE
        if message.header.frame_id == MARK and not ours:
            self.standing_by = True
            self._node.get_logger().info("another node has taken over: standing by")
            self._successor.yields()
        elif not ours and self._taken > 0.0:
            self._node.refuse("another node commands as well: it does not hear ours (~/continued_effort)")

    def _on_request(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if not self.standing_by:
                raise ValueError("this node commands already")
            if self._last is None or time.monotonic() - self._heard > RECENT:
                raise ValueError("no efforts arrive on ~/continued_effort: no other node is commanding")
            self._successor.may_take_over()
            self.taking = True
            response.success, response.message = True, "takes over with the next joint state"
        except ValueError as error:
            response.success, response.message = False, f"cannot take over: {error}"
        return response
