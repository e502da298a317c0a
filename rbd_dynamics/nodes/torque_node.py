# SPDX-License-Identifier: Apache-2.0
"""What nodes that answer joint states by torques have in common: the way in, and the way out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes.description import message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import T
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.managed_node import ManagedNode
from rbd_dynamics.nodes.messages import JOINT_STATES, SECOND, nanoseconds, points_of
from rbd_dynamics.nodes.payload import Payloads, PayloadService
from rbd_dynamics.nodes.raw_joint_state import RawJointStates
from rbd_dynamics.nodes.samples import flat
from rbd_dynamics.nodes.silence import Silence

Array = NDArray[np.float64]
P = TypeVar("P", bound=TorqueParameters)
WATCH = 0.02  # s: how often it is looked whether states are still answered
PATIENCE = 1.0  # s without an answer that are silence where `state_timeout` is 0
QUEUE = 0.05  # s: after a standstill, states without a stamp may be old for so long


class TorqueNode(ManagedNode[P, T]):
    """Every complete joint state is answered by one effort message, or by none and a reason."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._payloads = Payloads()
        self._saturated = np.zeros(0, dtype=bool)
        self._answered = 0
        self._last_arrival = 0  # ns
        self.silence: Silence[T] = Silence(self)
        self._answering: T | None = None  # the engine of the last answer
        self._last_answer = self._awake = self._stood = 0.0  # monotonic time: of it, of the last sign of life, of a gap
        self._refusal = (0.0, "")  # the last: monotonic time, reason
        self._raw_states = RawJointStates()
        self._simulated_time = False

    # --- what a node says about itself ------------------------------------------------------------

    def respond(self, engine: T, reader: JointStateReader, now: int, efforts: Array) -> None:
        """Fill `efforts` for the state that was read.

        Raises ValueError or ArithmeticError where there is none to be given.
        """
        raise NotImplementedError

    def saturated(self, engine: T) -> NDArray[np.bool_]:
        """Which efforts were cut off at the last call of `respond`."""
        raise NotImplementedError

    def clock_was_set_back(self, engine: T) -> None:
        """Forget what was planned."""

    def end_motion(self, engine: T, reason: str) -> None:
        """Forget what was planned: the robot is held where it is seen next."""

    def take_motion(self, engine: T, message: JointTrajectory) -> None:
        """Begin what a trajectory message wants. Raises TrajectoryError, and then changes nothing."""
        raise NotImplementedError

    # --- life cycle -------------------------------------------------------------------------------

    def open(self) -> None:
        self.silence.open()
        self._commands = self.silence.publisher
        self._efforts = self.publish_on(JointState, "~/effort")
        states = self.create_subscription(JointState, "joint_states", self._on_joint_state, JOINT_STATES, raw=True)
        self.silence.keep(states, self.destroy_subscription)
        self.every(WATCH, self._watch)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory)
        PayloadService(self, self._payloads, lambda engine: [engine.robot])

    def activated(self) -> None:
        self.silence.activated()
        self._awake = time.monotonic()
        self._simulated_time = bool(self.get_parameter("use_sim_time").value)

    def prepare(self, engine: T, joints: Sequence[str]) -> None:
        """Loads, and the messages: both are made once, only their numbers change. For `adopt`."""
        for problem in self._payloads.apply_to([engine.robot]):
            self.get_logger().warning(problem)
        zeros = np.zeros(len(joints))
        self._command = Float64MultiArray(data=flat(zeros))
        self._named_effort = JointState(name=list(joints), effort=flat(zeros))
        # the memory of the messages' own arrays
        self._command_numbers = np.frombuffer(self._command.data)
        self._effort_numbers = np.frombuffer(self._named_effort.effort)
        self._saturated = np.zeros(len(joints), dtype=bool)

    def _deactivate(self) -> None:
        self.fall_silent("deactivated")
        super()._deactivate()

    def _clean_up(self) -> None:
        self.fall_silent("shut down" if self._finalized else "cleaned up")
        super()._clean_up()
        self._answering = None

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.fall_silent("a transition failed")
        return super().on_error(state)

    def leave(self) -> None:
        self.fall_silent("the process was asked to end")

    @property
    def leaving(self) -> bool:
        return self.silence.stopping

    def finish(self) -> None:
        self.fall_silent("the process ends")
        self.silence.cut()
        super().finish()

    # --- silence ----------------------------------------------------------------------------------

    def fall_silent(self, reason: str, *, returns: bool = False) -> None:
        """Answer no state any more, and leave the robot as `on_silence` says: whatever the cause.

        returns: until a state can be answered again, which then is held where it is; else until the node is activated
        anew. Nothing is published where nothing has been since the activation, and nothing twice.
        """
        engine = self._answering or self.engine
        if not self.active or engine is None:
            return
        if self.engine is not None:
            self.end_motion(self.engine, f"silent: {reason}")
        self.silence.begin(reason, engine, time.monotonic() - self._last_answer, returns)

    def _refuse_state(self, reason: str) -> None:
        self._refusal = (time.monotonic(), reason)
        self.refuse(reason)

    def _watch(self) -> None:
        """Is any state answered? By the steady clock: stamps and simulated time may stand still."""
        now = time.monotonic()
        if self._stands_still(now) or not self.silence.owns or self.silence.reason or not self.active:
            return
        missing, timeout = now - self._last_answer, self.params.state_timeout or PATIENCE
        if missing <= timeout:
            return
        if self._simulated_time and abs(self.now() - self._last_arrival) <= timeout * SECOND:
            return  # time stands still, or goes slowly, and so does the robot
        refused, problem = self._refusal
        what = f"every joint state was refused: {problem}" if refused > self._last_answer else "no joint states arrive"
        self.fall_silent(f"no answer for {missing:.3g} s: {what}", returns=True)

    def _stands_still(self, now: float) -> bool:
        """Note a sign of life; True: the process itself stood still before it, and what waits in queues may be old."""
        stood = now - self._awake > (self.params.state_timeout or PATIENCE)
        self._awake = now
        if stood:
            self._stood = now
        return stood

    # --- the hot path -----------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        if self.building:
            self.poll()
        engine = self.engine if self.active else self.silence.engine
        if engine is None:
            return
        steady = time.monotonic()
        if self._stands_still(steady) and self.silence.owns:
            self.fall_silent(f"the node itself stood still for {steady - self._last_answer:.3g} s", returns=True)
        now = self.now()
        state_time, names, position, velocity = self._raw_states.read(raw)
        timeout = self.params.state_timeout
        if state_time == 0:
            if steady - self._stood < QUEUE:
                return  # it may have waited since before
            state_time = now
        elif timeout and abs(now - state_time) > timeout * SECOND:
            late = (now - state_time) / SECOND
            which = "old" if late > 0.0 else "in the future"
            self._refuse_state(
                f"stale joint state: its stamp is more than {timeout:g} s {which}: is use_sim_time right?"
            )
            return
        reader = engine.reader
        if state_time < reader.stamp - SECOND:
            self.clock_was_set_back(engine)  # what was to come has no time any more
        if not reader.read(names, position, velocity, state_time):
            self._refuse_state(reader.problem)
            held = self.silence.engine
            if held is not None and held is not engine and held.reader.read(names, position, velocity, state_time):
                self.silence.answer(held.reader)
            return
        if self.silence.reason and not (self.active and self.silence.returns):
            return self.silence.answer(reader)
        try:
            self.respond(engine, reader, now, self._command_numbers)
        except (ValueError, ArithmeticError) as error:
            self._refuse_state(f"no torque: {error}")
            self.silence.answer(reader)
            return
        self._commands.publish(self._command)
        self._answering, self._last_answer, self.silence.owns = engine, steady, True
        if self.silence.reason:
            self.silence.speaks_again()
        self._after_publishing(engine, state_time, now)

    def _after_publishing(self, engine: T, state_time: int, now: int) -> None:
        """What the command need not wait for."""
        if self._efforts.get_subscription_count():
            self._effort_numbers[:] = self._command_numbers
            stamp = self._named_effort.header.stamp
            stamp.sec, stamp.nanosec = divmod(state_time, SECOND)
            self._efforts.publish(self._named_effort)
        self._saturated |= self.saturated(engine)
        self._last_arrival = now
        self._answered += 1

    def now(self) -> int:
        """Time of the node's clock in ns; without simulated time by the shortest way."""
        return self.get_clock().now().nanoseconds if self._simulated_time else time.time_ns()

    # --- desired motion ---------------------------------------------------------------------------

    def _on_trajectory(self, message: JointTrajectory) -> None:
        self.poll()
        engine = self.engine
        if engine is None or not self.active:
            self.refuse("trajectory ignored: the node is not active or has no robot")
            return
        if self.silence.reason:
            self.refuse(f"trajectory refused: the node is silent: {self.silence.reason}")
            return
        try:
            self.take_motion(engine, message)
        except TrajectoryError as error:
            self.refuse(f"trajectory refused: {message_of(error)}")
            return
        if len(message.points) > 1:
            end = 1e-9 * nanoseconds(message.points[-1].time_from_start)
            self.get_logger().info(f"trajectory of {len(message.points)} points, {end:.3f} s")

    def single_set_point(
        self, engine: T, message: JointTrajectory, limits: Mapping[str, tuple[float, float]]
    ) -> Waypoints | None:
        """No points: hold. One point: a set-point. Several: the waypoints, which are to be followed.

        Raises TrajectoryError, also for positions outside the limits.
        """
        if not message.points:
            engine.motion.hold()
            return None
        single = len(message.points) == 1
        waypoints = Waypoints.of(message.joint_names, points_of(message), positions=not single)
        waypoints.check_limits(limits)
        if single:
            engine.motion.set_point(waypoints, self.now())
            return None
        if not engine.reader.stamp or self.now() - self._last_arrival > SECOND:
            raise TrajectoryError("there are no joint states to start from")
        return waypoints

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        status.values["efforts published per second"] = self._answered
        self.silence.report(status, self.active)
        engine = self.engine
        if engine is None:
            return
        if self.active and not self._answered:
            status.error("no effort published" + ("" if self._refused else ": no joint states arrive"))
        if engine.reader.differentiated:
            joints = ", ".join(engine.reader.differentiated)
            status.warn(f"no measured velocity, found by differentiation: {joints}")
        if self._saturated.any():
            joints = ", ".join(np.array(self._named_effort.name)[self._saturated])
            status.warn(f"effort limit reached: {joints}")
        self._answered = 0
        self._saturated[:] = False
