# SPDX-License-Identifier: Apache-2.0
"""A node that commands a robot falls silent: publisher and timer around `control/safety/safe_stop.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rbd_dynamics.control.safety.safe_stop import StopOptions
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.engines import S
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import COMMANDS, JOINT_STATES, flat
from rbd_dynamics.nodes.managed.part import Part

TICK = 0.01  # s: between commands where no states come
FRESH = 0.03  # s: as long after a state the next one is waited for
DELIVERY = 0.2  # s: the longest that the last command before the end may take
ARRIVAL = 0.5  # s: as long a publisher is kept for what is still under way; a launch file waits 5 s for all of the end
TEXTS = 500_000  # bytes that texts in requests to set parameters may have while a node commands: rclpy sends them on
T = TypeVar("T")


class Silence(Part, Generic[S]):
    """Why a node is silent, and what it still commands: whoever takes part in it falls silent at every end.

    Parameters:
        on_state: called with each serialised JointState, of at most `largest_message` bytes, also while a node that
            was cleaned up still holds the robot.
        state_age: of the last good state at a monotonic time, s.
        forget: the node falls silent for a reason: what was planned is off.

    Attributes:
        owns: the node has published efforts since its activation and zero was not commanded yet: without that nothing
            ever is published here.
        reason: why the node is silent; empty: it is not.
        returns: it ends by itself as soon as states can be answered.
        stopping: the robot is being held.
        engine: the one whose robot is being held; None where none is.
        commanding: the engine of the last command.
    """

    def __init__(
        self,
        node: ManagedNode[Any, S],
        *,
        on_state: Callable[[bytes], None],
        state_age: Callable[[float], float],
        forget: Callable[[str], None],
    ) -> None:
        self._node, self._on_state, self._state_age, self._forget = node, on_state, state_age, forget
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Timer | None = None
        self._left: list[Callable[[], object]] = []  # destroys what the stop still needs
        self._answered = 0.0  # monotonic time of the last command in answer to a state
        self._options = StopOptions()
        self.owns = self.returns = self.stopping = False
        self.reason = self.commanded = ""
        self.engine: S | None = None
        self.commanding: S | None = None

    def open(self) -> None:
        """Make the publisher, for `~/commands`, and listen to joint states.

        What a stop that is under way has used until now is not needed any more.
        """
        node = self._node
        self.publisher = node.create_publisher(Float64MultiArray, "~/commands", COMMANDS)
        self._destroy_left()
        self._keep(self.publisher, self._destroy_publisher)
        take = node.entities.bounded(JointState, "joint_states", self._on_state, raw=True)
        states = node.create_subscription(JointState, "joint_states", take, JOINT_STATES, raw=True)
        self._keep(states, node.destroy_subscription)
        node.entities.keep(self, Silence._forget_engine)

    def _destroy_publisher(self, publisher: Publisher[Float64MultiArray]) -> None:
        """Once all has arrived: what is under way when it is destroyed, as the zero at the end, is lost."""
        publisher.wait_for_all_acked(Duration(seconds=ARRIVAL))
        self._node.destroy_publisher(publisher)

    def _forget_engine(self) -> None:
        self.commanding = None

    def _keep(self, entity: T, destroy: Callable[[T], object]) -> T:
        """An entity that is destroyed when the node is cleaned up, or as soon as the robot is left alone after that."""
        return self._node.entities.keep(entity, partial(self._leave, destroy))

    def _leave(self, destroy: Callable[[T], object], entity: T) -> None:
        if self.stopping:
            self._left.append(partial(destroy, entity))
        else:
            destroy(entity)

    # --- silence begins and ends ------------------------------------------------------------------

    def fall(self, reason: str, *, returns: bool = False) -> None:
        """Command nothing in answer any more, and leave the robot as `on_silence` says: whatever the cause.

        returns: until that is possible again, and the robot then is held where it is; else until the node is activated
        anew. Nothing is published where nothing has been since the activation, and nothing twice.
        """
        engine = self.commanding or self._node.engine
        if not self._node.active or engine is None:
            return
        if self._node.engine is not None:
            self._forget(reason)
        self._begin(reason, engine, self._state_age(time.monotonic()), returns)

    def ends(self, reason: str) -> None:
        self.fall(reason)

    @property
    def leaving(self) -> bool:
        return self.stopping

    def close(self) -> None:
        """Zero at once, where the robot is held; waits until it has arrived."""
        if self.stopping:
            self._finish(wait=True)

    def _begin(self, reason: str, engine: S, age: float, returns: bool) -> None:
        """Hold the robot, whose state is `age` s old, or let it go: as the engine's options say."""
        if self.reason:
            if self.returns and not returns:  # another cause, that does not end by itself; nothing is done twice
                self.reason, self.returns = reason, False
            return
        self.reason, self.returns = reason, returns
        if not self.owns:
            self.commanded = "nothing: no effort was published before"
            return
        stop, reader = engine.safe_stop, engine.reader
        self._options = stop.options
        if self._options.on_silence == "nothing":
            self.owns, self.commanded = False, "nothing (on_silence)"
            return self._say(self.commanded)
        now = time.monotonic()
        known = reader.stamp > 0
        stop.begin(now, reader.q if known else None, reader.v if known else None, age=age)
        self.engine, self.stopping, self._answered = engine, True, 0.0
        if stop.over(now):
            lacks = "" if self._options.on_silence == "zero" else " at once: there is no state to hold the robot at"
            return self._finish(f"zero{lacks}")
        self.commanded = f"gravity and damping for {self._options.duration:g} s, then zero"
        self._say(self.commanded)
        self._timer = self._node.create_timer(TICK, self._tick, clock=self._clock)
        self._publish(stop.answer(now, reader.q, reader.v) if age < FRESH else stop.blind(now))

    def send(self, engine: S, command: Any, *, owns: bool = True) -> None:
        """A command of the node itself. owns: it is not zero for all joints, which would leave the robot alone."""
        self.publisher.publish(command)
        self.commanding, self.owns = engine, owns
        if self.reason:
            self.speaks_again()

    def answer(self, reader: JointStateReader) -> None:
        """A good state has come while the robot is held."""
        self.damp(reader.q, reader.v)

    def damp(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """The same of a state (nv) by which nothing else is commanded."""
        if not self.stopping or self.engine is None:
            return
        now, stop = time.monotonic(), self.engine.safe_stop
        if stop.over(now):
            return self._finish()
        self._answered = now
        self._publish(stop.answer(now, q, v))

    def answer_also(self, engine: S, names: list[str], position: Any, velocity: Any, stamp: int) -> None:
        """A state (as `JointStateReader.read` takes it) that does not fit this engine: maybe that which is held."""
        held = self.engine
        if held is not None and held is not engine and held.reader.read(names, position, velocity, stamp):
            self.answer(held.reader)

    def speaks_again(self) -> None:
        """The node answers states again."""
        if self.reason:
            self._node.get_logger().info(f"answers joint states again; it was silent: {self.reason}")
        self.reason = self.commanded = ""
        self.returns = False
        self._end_stop()

    def activated(self) -> None:
        """The node may command: at once, and where a stop is under way, until then by it."""
        if self.stopping:
            self.returns = True
        else:
            self.reason, self.commanded, self.returns, self.owns = "", "", False, False

    def report(self, status: Status) -> None:
        if self.reason:
            status.values["silent"] = self.reason
            status.values["commanded"] = self.commanded
            if self._node.active or self.stopping:
                status.error(f"silent: {self.reason}; commanded: {self.commanded}")

    def largest_text(self) -> int:
        """Bytes that texts in requests to set parameters may have now."""
        return TEXTS if self._node.active or self.stopping else int(self._node.params.largest_description)

    # --- in between -------------------------------------------------------------------------------

    def _tick(self) -> None:
        if not self.stopping or self.engine is None:
            return
        now, stop = time.monotonic(), self.engine.safe_stop
        if stop.over(now):
            self._finish()
        elif now - self._answered > FRESH:
            self._publish(stop.blind(now))

    def _finish(self, what: str = "zero", wait: bool = False) -> None:
        """Zero, once, and no more."""
        assert self.engine is not None
        self._publish(np.zeros(len(self.engine.safe_stop.joints)))
        if wait:
            self.publisher.wait_for_all_acked(Duration(seconds=DELIVERY))
        self.owns, self.commanded = False, what
        self._say(what)
        self._end_stop()

    def _end_stop(self) -> None:
        self.stopping, self.engine = False, None
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None
        self._destroy_left()

    def _destroy_left(self) -> None:
        left, self._left = self._left, []
        for destroy in left:
            destroy()

    def _publish(self, efforts: NDArray[np.float64]) -> None:
        self.publisher.publish(Float64MultiArray(data=flat(efforts)))

    def _say(self, what: str) -> None:
        self._node.get_logger().warning(f"silent: {self.reason}; commanded: {what}")
