# SPDX-License-Identifier: Apache-2.0
"""Joint states on their way to a torque: read, and refused with a reason; too many that cannot be end the control."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.commanding.heartbeat import PERIOD, Heartbeat
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import SECOND, staleness
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.managed.state_publishers import StatePublishers
from rbd_dynamics.nodes.wire.raw_joint_state import RawJointStates

LOOKED_BACK, CONTRADICTING = 100, 20  # states: of the last so many, so many that cannot be beside the others
QUEUE = SECOND // 10  # ns: after a standstill, states without a stamp may be old for so long
#: a state: stamp (ns), names, positions, velocities, efforts
State = tuple[int, list[str], Sequence[float], Sequence[float], Sequence[float]]


class StateInput(Part):
    """The joint states of a torque node.

    Parameters:
        end: called with the reason when the control shall end.

    Attributes:
        refusal: the last: monotonic time, reason.
        heartbeat: of this process.
        publishers: of the states; a part of its own.
    """

    def __init__(self, node: ManagedNode[Any, Any], end: Callable[[str], None]) -> None:
        self._node, self._end = node, end
        self.refusal = (0.0, "")
        self.heartbeat, self.publishers = Heartbeat(), StatePublishers(node)
        self._raw = RawJointStates()
        self._implausible = 0  # states in a row
        self._recent: deque[bool] = deque(maxlen=LOOKED_BACK)  # which states were implausible
        self._ended = ""  # why the control ended by itself

    def open(self) -> None:
        self._node.entities.every(PERIOD, self.heartbeat.beat)

    def activated(self) -> None:
        self._implausible, self._ended = 0, ""
        self._recent.clear()

    def stamp_of(self, raw: bytes) -> int:
        """The time at which a state was measured, ns; 0: it does not say. It is not answered."""
        try:
            return self._raw.read(raw)[0]
        except RuntimeError:  # it is cut off, or none
            return 0

    def fresh(self, reader: JointStateReader, raw: bytes, begin: int, now: int, timeout: float) -> State | None:
        """What a message says; None where it is too old, or may be: then the reader heeds it at most.

        begin: when it came, by the steady clock; now: the same by the node's, both ns. timeout: s.
        """
        state = self._raw.read(raw)
        if problem := staleness(state[0], now, timeout):
            self.refuse(problem)
            reader.heed(state[1], state[2], state[3], state[0], (now - state[0]) / SECOND)
            return None
        if state[0]:
            return state
        if self.heartbeat.since_stall(begin) < min(round(timeout * SECOND), QUEUE):
            self.refuse("joint state without a stamp: it may be old, for this process stood still")
            return None
        return now, *state[1:]

    def whole(self, reader: JointStateReader, state: State) -> bool:
        """Whether the reader has a new complete state, all of which can have been measured."""
        stamp, names, position, velocity, _ = state
        if reader.read(names, position, velocity, stamp):
            return True
        if reader.doubted and not reader.implausible:  # the next states will tell
            self.refusal = (time.monotonic(), reader.problem)
        else:
            self.refuse(reader.problem, reader.implausible)
        return False

    def refuse(self, problem: str, implausible: bool = False) -> None:
        """Not answered; too many implausible ones in a row end the control."""
        node = self._node
        self.refusal = (time.monotonic(), problem)
        node.refuse(problem)
        self._implausible += implausible
        self._recent.append(implausible)
        if not implausible or not node.active:
            return
        if self._implausible == node.params.most_refused:
            several = f"; several nodes publish them: {self.publishers.now}" if self.publishers.several() else ""
            self._end_control(f"{self._implausible} implausible joint states in a row; {problem}{several}")
        elif self._recent.count(True) >= CONTRADICTING and node.params.most_refused and (two := self.publishers.now):
            self._end_control(f"joint states of several publishers contradict each other: {two}; {problem}")

    def _end_control(self, reason: str) -> None:
        self._recent.clear()
        self._ended = f"the control has ended: {reason}"
        self._node.get_logger().fatal(f"{self._ended}; no torques until the node is activated again")
        self._end(self._ended)

    def answered(self, now: int) -> None:
        self._implausible = 0
        self._recent.append(False)

    def report(self, status: Status) -> None:
        if self._ended and not self._node.active:
            status.error(self._ended)
        if self._node.active and any(self._recent.copy()) and (several := self.publishers.now):
            status.warn(f"joint states contradict each other, which come from {several}")
        engine = self._node.engine
        if engine is not None and engine.reader.differentiated:
            joints = ", ".join(engine.reader.differentiated)
            status.warn(f"no measured velocity, found by differentiation: {joints}")
