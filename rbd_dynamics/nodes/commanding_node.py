# SPDX-License-Identifier: Apache-2.0
"""What nodes that command a robot have in common: joint states in, commands out, and no end that leaves it unsafe."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState

from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import S
from rbd_dynamics.nodes.heartbeat import Heartbeat
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.common import CommonParameters
from rbd_dynamics.nodes.managed_node import ManagedNode
from rbd_dynamics.nodes.messages import JOINT_STATES
from rbd_dynamics.nodes.raw_joint_state import RawJointStates
from rbd_dynamics.nodes.silence import Silence
from rbd_dynamics.nodes.watchdog import Watchdog

P = TypeVar("P", bound=CommonParameters)
TEXTS = 500_000  # bytes that texts in requests to set parameters may have while it commands: rclpy sends them on


class CommandingNode(ManagedNode[P, S]):
    """Falls silent on deactivation and at every end; subclasses call `fall_silent` for causes of their own."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self.silence: Silence[S] = Silence(self)
        self.watchdog = Watchdog()
        self.commanding: S | None = None  # the engine of the last command
        self._heartbeat = Heartbeat()
        self._raw_states = RawJointStates()
        self._simulated_time = False
        self.take_aside(lambda: TEXTS if self.active or self.silence.stopping else self.params.largest_description)

    # --- what a node says about itself ------------------------------------------------------------

    def silent(self, engine: S, reason: str) -> None:
        """The node falls silent: forget what was planned."""

    def state_age(self, now: float) -> float:
        """Of the last good state, s."""
        return now - self.watchdog.done

    def _on_joint_state(self, raw: bytes) -> None:
        """A serialised JointState, of at most `largest_message` bytes."""
        raise NotImplementedError

    # --- states and commands ----------------------------------------------------------------------

    def open(self) -> None:
        self.silence.open()
        self._commands = self.silence.publisher
        take = self.bounded(JointState, "joint_states", self._on_joint_state, raw=True)
        states = self.create_subscription(JointState, "joint_states", take, JOINT_STATES, raw=True)
        self.silence.keep(states, self.destroy_subscription)

    def now(self) -> int:
        """Time of the node's clock in ns; without simulated time by the shortest way."""
        return self.get_clock().now().nanoseconds if self._simulated_time else time.time_ns()

    def time_source_changed(self, simulated: bool) -> None:
        self._simulated_time = simulated

    # --- silence ----------------------------------------------------------------------------------

    def fall_silent(self, reason: str, *, returns: bool = False) -> None:
        """Command nothing in answer any more, and leave the robot as `on_silence` says: whatever the cause.

        returns: until that is possible again, and the robot then is held where it is; else until the node is activated
        anew. Nothing is published where nothing has been since the activation, and nothing twice.
        """
        engine = self.commanding or self.engine
        if not self.active or engine is None:
            return
        if self.engine is not None:
            self.silent(self.engine, reason)
        self.silence.begin(reason, engine, self.state_age(time.monotonic()), returns)

    # --- life cycle -------------------------------------------------------------------------------

    def activated(self) -> None:
        self.silence.activated()
        self._simulated_time = bool(self.get_parameter("use_sim_time").value)

    def _deactivate(self) -> None:
        self.fall_silent("deactivated")
        super()._deactivate()

    def _clean_up(self) -> None:
        self.fall_silent("shut down" if self._finalized else "cleaned up")
        super()._clean_up()
        self.commanding = None

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.fall_silent("a transition failed")
        return super().on_error(state)

    def leave(self) -> None:
        self.fall_silent("the process was asked to end")

    @property
    def leaving(self) -> bool:
        return self.silence.stopping

    def finish(self) -> None:
        self.close_aside()
        self.fall_silent("the process ends")
        self.silence.cut()
        super().finish()

    def report(self, status: Status) -> None:
        self.silence.report(status, self.active)
