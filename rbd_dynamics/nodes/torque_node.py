# SPDX-License-Identifier: Apache-2.0
"""What nodes that answer joint states by torques have in common: the way in, and the way out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.joint_states.plausibility import Plausibility
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes import heartbeat
from rbd_dynamics.nodes.description import BuildError, message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import T
from rbd_dynamics.nodes.heartbeat import Heartbeat
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.managed_node import ManagedNode
from rbd_dynamics.nodes.messages import JOINT_STATES, SECOND, nanoseconds, points_of
from rbd_dynamics.nodes.payload import Payloads, PayloadService
from rbd_dynamics.nodes.raw_joint_state import RawJointStates
from rbd_dynamics.nodes.safeguards import Safeguards
from rbd_dynamics.nodes.samples import flat

Array = NDArray[np.float64]
P = TypeVar("P", bound=TorqueParameters)
CLOCKS = "is use_sim_time right?"


class TorqueNode(ManagedNode[P, T]):
    """Every complete joint state is answered by one effort message, or by none and a reason."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._payloads = Payloads()
        self._saturated, self._rate_limited = np.zeros((2, 0), dtype=bool)
        self._safeguards: Safeguards
        self._command, self._named_effort = Float64MultiArray(), JointState()
        self._answered = 0
        self._last_arrival = 0  # ns
        self._implausible = 0  # states in a row
        self._ended = ""  # why the control ended by itself
        self._raw_states = RawJointStates()
        self._heartbeat = Heartbeat()
        self._simulated_time = False

    # --- what a node says about itself ------------------------------------------------------------

    def tune(self, engine: T, new: P) -> None:
        """Apply dynamic parameters to the engine there is. Raises ValueError, and then changes nothing."""
        raise NotImplementedError

    def commanded_joints(self, engine: T) -> slice | NDArray[np.intp]:
        """Where the commanded joints are in the robot's order."""
        raise NotImplementedError

    def effort_limits(self, engine: T) -> Array:
        """Of the commanded joints, in the order of the efforts."""
        raise NotImplementedError

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

    def take_motion(self, engine: T, message: JointTrajectory) -> None:
        """Begin what a trajectory message wants. Raises TrajectoryError, and then changes nothing."""
        raise NotImplementedError

    # --- life cycle -------------------------------------------------------------------------------

    def open(self) -> None:
        self._commands = self.publish_on(Float64MultiArray, "~/commands")
        self._efforts = self.publish_on(JointState, "~/effort")
        self.subscribe(JointState, "joint_states", self._on_joint_state, JOINT_STATES, raw=True)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory)
        PayloadService(self, self._payloads, lambda engine: [engine.robot])
        self.every(heartbeat.PERIOD, self._heartbeat.beat)

    def activated(self) -> None:
        self._simulated_time = bool(self.get_parameter("use_sim_time").value)
        self._implausible, self._ended = 0, ""
        if self.engine is not None:
            self._safeguards.reset()

    def parameters_changed(self, engine: T, new: P) -> None:
        safeguards = Safeguards(new, self._named_effort.name)
        safeguards.continues(self._safeguards)
        self.tune(engine, new)
        self._safeguards = safeguards
        if engine.reader.plausibility is not None:
            engine.reader.plausibility.factor = new.plausible_velocity

    def prepare(self, engine: T, joints: Sequence[str]) -> None:
        """What watches, loads, and the messages, which are made once: only their numbers change. For `adopt`."""
        try:
            safeguards = Safeguards(self.params, joints)
        except ValueError as error:
            raise BuildError(f"parameter {error}") from None
        if self.engine is not None:
            safeguards.continues(self._safeguards)
        self._safeguards = safeguards
        engine.reader.plausibility = Plausibility(
            engine.reader.names,
            [joint.limits for joint in engine.model.joints],
            [joint.kind.name == "continuous" for joint in engine.model.joints],
            factor=self.params.plausible_velocity,
        )
        for problem in self._payloads.apply_to([engine.robot]):
            self.get_logger().warning(problem)
        zeros = np.zeros(len(joints))
        self._command = Float64MultiArray(data=flat(zeros))
        self._named_effort = JointState(name=list(joints), effort=flat(zeros))
        # the memory of the messages' own arrays
        self._command_numbers = np.frombuffer(self._command.data)
        self._effort_numbers = np.frombuffer(self._named_effort.effort)
        self._saturated, self._rate_limited = np.zeros((2, len(joints)), dtype=bool)

    # --- the hot path -----------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        begin = time.monotonic_ns()
        if self.building:
            self.poll()
        engine = self.engine
        if engine is None or not self.active:
            return
        now = self.now()
        state_time, names, position, velocity, effort = self._raw_states.read(raw)
        timeout = round(self.params.state_timeout * SECOND)
        late = now - state_time if state_time else 0
        if timeout and abs(late) > timeout:
            which = "old" if late > 0 else "in the future"
            self.refuse(f"stale joint state: its stamp is more than {timeout / SECOND:g} s {which}: {CLOCKS}")
            return
        if not state_time:
            if self._heartbeat.since_stall(begin) < timeout:
                self.refuse("joint state without a stamp: it may be old, for this process stood still")
                return
            state_time = now
        reader, safeguards = engine.reader, self._safeguards
        if state_time < reader.stamp - SECOND:
            self.clock_was_set_back(engine)  # what was to come has no time any more
            safeguards.reset()
        if not reader.read(names, position, velocity, state_time):
            self._refuse_state(reader.problem, reader.implausible)
            return
        if safeguards.watches_efforts:
            measured = reader.arranged(effort)[self.commanded_joints(engine)]
            if problem := safeguards.implausible(measured, state_time):
                self._refuse_state(f"joint state refused: {problem}", True)
                return
        efforts = self._command_numbers
        try:
            self.respond(engine, reader, now, efforts)
        except (ValueError, ArithmeticError) as error:
            self.refuse(f"no torque: {error}")
            return
        if safeguards.limits_rates:
            safeguards.limit(efforts, state_time, self.effort_limits(engine))
        # the process may have been stopped meanwhile
        if timeout and late + time.monotonic_ns() - begin > timeout:
            self.refuse(f"stale torque: it was ready more than {self.params.state_timeout:g} s after its joint state")
            return
        self._commands.publish(self._command)
        self._implausible = 0
        safeguards.commanded(efforts, state_time)
        self._after_publishing(engine, state_time, now)

    def _refuse_state(self, problem: str, implausible: bool) -> None:
        """Not answered; too many implausible ones in a row end the control."""
        self.refuse(problem)
        self._implausible += implausible
        if implausible and self._implausible == self._safeguards.most_refused:
            self._ended = f"the control has ended: {self._implausible} implausible joint states in a row; {problem}"
            self.get_logger().fatal(self._ended)
            self.trigger_deactivate()
            self.active = False  # whatever became of the transition

    def _after_publishing(self, engine: T, state_time: int, now: int) -> None:
        """What the command need not wait for."""
        if self._efforts.get_subscription_count():
            self._effort_numbers[:] = self._command_numbers
            stamp = self._named_effort.header.stamp
            stamp.sec, stamp.nanosec = divmod(state_time, SECOND)
            self._efforts.publish(self._named_effort)
        self._saturated |= self.saturated(engine)
        self._rate_limited |= self._safeguards.limited
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
        if self._ended and not self.active:
            status.error(self._ended)
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
        if self._rate_limited.any():
            joints = ", ".join(np.array(self._named_effort.name)[self._rate_limited])
            status.warn(f"rate limit of the effort reached: {joints}")
        self._answered = 0
        self._saturated[:] = self._rate_limited[:] = False
