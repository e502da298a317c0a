# SPDX-License-Identifier: Apache-2.0
"""What nodes that answer joint states by torques have in common: the way in, and the way out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.motion_limits import MotionLimits
from rbd_dynamics.control.trajectory import TrajectoryError
from rbd_dynamics.joint_states.plausibility import Plausibility
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.nodes import heartbeat
from rbd_dynamics.nodes.commanding_node import CommandingNode
from rbd_dynamics.nodes.description import BuildError, message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import T
from rbd_dynamics.nodes.heartbeat import Heartbeat
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.messages import JOINT_STATES, SECOND, staleness
from rbd_dynamics.nodes.motion_input import MotionInput, Scene
from rbd_dynamics.nodes.payload import Payloads, PayloadService, check_holding
from rbd_dynamics.nodes.raw_joint_state import RawJointStates
from rbd_dynamics.nodes.safeguards import Safeguards
from rbd_dynamics.nodes.samples import flat
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
P = TypeVar("P", bound=TorqueParameters)
WATCH = 0.02  # s: how often it is looked whether states are still answered
PATIENCE = 5.0  # s without an answer that are silence where `state_timeout` is 0
QUEUE = SECOND // 10  # ns: after a standstill, states without a stamp may be old for so long
FRESH = SECOND // 2  # ns without a state after which no trajectory begins
LARGEST = 1 << 62  # bytes: trajectories are measured by their points


class TorqueNode(CommandingNode[P, T]):
    """Every complete joint state is answered by one effort message, or by none and a reason."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._payloads = Payloads()
        self._saturated, self._rate_limited = np.zeros((2, 0), dtype=bool)
        self._safeguards: Safeguards
        self._command, self._named_effort = Float64MultiArray(), JointState()
        self._answered = 0
        self._last_arrival = 0  # ns
        self._refusal = (0.0, "")  # the last: monotonic time, reason
        self._implausible = 0  # states in a row
        self._ended = ""  # why the control ended by itself
        self._raw_states = RawJointStates()
        self._heartbeat = Heartbeat()
        self._simulated_time = False
        self._motions = MotionInput(self.get_logger().info, self.refuse)
        self._said = ""  # the problem of the motion

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

    def holding(self, engine: T, robot: Robot) -> tuple[Array, Array]:
        """Efforts that hold a robot still where this one is, and their limits, both as messages order them.

        robot: the engine's, or one with another load. Raises ArithmeticError where they are not finite.
        """
        raise NotImplementedError

    def moved(self, engine: T) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Measured position and velocity of what trajectories move. Raises TrajectoryError where there is none."""
        raise NotImplementedError

    def motion_limits(self, engine: T, now: int) -> MotionLimits:
        """What trajectories may not exceed."""
        raise NotImplementedError

    # --- life cycle -------------------------------------------------------------------------------

    def open(self) -> None:
        self.silence.open()
        self._commands = self.silence.publisher
        self._efforts = self.publish_on(JointState, "~/effort")
        take = self.bounded(JointState, "joint_states", self._on_joint_state, raw=True)
        states = self.create_subscription(JointState, "joint_states", take, JOINT_STATES, raw=True)
        self.silence.keep(states, self.destroy_subscription)
        self.every(WATCH, self._watch)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, raw=True, largest=lambda: LARGEST)
        self._motions.open()
        self.keep(self._motions, MotionInput.close)
        PayloadService(self, self._payloads, lambda engine: [engine.robot], self._try_load)
        self.every(heartbeat.PERIOD, self._heartbeat.beat)

    def activated(self) -> None:
        super().activated()
        self._motions.abandon()
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

    def time_source_changed(self, simulated: bool) -> None:
        if simulated != self._simulated_time:
            self._simulated_time = simulated
            self._motions.abandon()
            if self.engine is not None:
                self.clock_was_set_back(self.engine)  # what was to come has no time any more

    def _try_load(self, engine: T, robot: Robot) -> None:
        """Raise ValueError where the robot could hold itself before, but not with this load."""
        before = self.holding(engine, engine.robot)[0].copy()
        names = list(self._named_effort.name)
        check_holding(names, before, *self.holding(engine, robot))

    def prepare(self, engine: T, joints: Sequence[str]) -> None:
        """What watches, loads, and the messages, which are made once: only their numbers change. For `adopt`.

        Raises ValueError, and then changes nothing, for parameters that do not fit the joints, and where the robot
        could hold itself still so far and cannot with this engine.
        """
        try:
            safeguards = Safeguards(self.params, joints)
        except ValueError as error:
            raise BuildError(f"parameter {error}") from None
        dropped = self._payloads.apply_to([engine.robot])
        efforts, limits = self.holding(engine, engine.robot)
        if self.engine is not None and list(self._named_effort.name) == list(joints):
            check_holding(joints, self.holding(self.engine, self.engine.robot)[0], efforts, limits)
        else:  # nothing is known of what the limits are worth
            check_holding(joints, np.zeros(len(joints)), efforts, np.full(len(joints), np.inf))
        if self.engine is not None:
            safeguards.continues(self._safeguards)
        self._safeguards = safeguards
        engine.reader.plausibility = Plausibility(
            engine.reader.names,
            [(each.limits.lower, each.limits.upper, each.limits.velocity) for each in engine.model.joints],
            [joint.kind.name == "continuous" for joint in engine.model.joints],
            factor=self.params.plausible_velocity,
        )
        self._motions.abandon()
        for problem in dropped.values():
            self.get_logger().warning(problem)
        self._payloads.forget(dropped)
        zeros = np.zeros(len(joints))
        self._command = Float64MultiArray(data=flat(zeros))
        self._named_effort = JointState(name=list(joints), effort=flat(zeros))
        # the memory of the messages' own arrays
        self._command_numbers = np.frombuffer(self._command.data)
        self._effort_numbers = np.frombuffer(self._named_effort.effort)
        self._saturated, self._rate_limited = np.zeros((2, len(joints)), dtype=bool)

    def silent(self, engine: T, reason: str) -> None:
        self._motions.abandon()
        self._safeguards.reset()

    # --- silence ----------------------------------------------------------------------------------

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
        return self.watchdog.barks(time, self._timeout(), now if self._simulated_time else None)

    def _after_gap(self, engine: T, time: float) -> None:
        """A state that can be answered, before the gap was noticed: the node itself stood still, or they came late."""
        reason = f"no answer for {time - self.watchdog.done:.3g} s"
        self.silent(engine, reason)
        self.get_logger().warning(f"{reason}: held where it is now", throttle_duration_sec=1.0)

    def _timeout(self) -> float:
        return self.params.state_timeout or PATIENCE

    def finish(self) -> None:
        super().finish()
        self._motions.close()

    # --- the hot path -----------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        begin = time.monotonic_ns()
        if self.building:
            self.poll()
        engine = self.engine if self.active else self.silence.engine
        if engine is None:
            return
        steady, now = 1e-9 * begin, self.now()
        state_time, names, position, velocity, effort = self._raw_states.read(raw)
        timeout = round(self.params.state_timeout * SECOND)
        late = now - state_time if state_time else 0
        if problem := staleness(state_time, now, self.params.state_timeout):
            self._refuse_state(problem)
            return
        if not state_time:
            if self._heartbeat.since_stall(begin) < min(timeout, QUEUE):
                self._refuse_state("joint state without a stamp: it may be old, for this process stood still")
                return
            state_time = now
        reader, safeguards = engine.reader, self._safeguards
        if state_time < reader.stamp - SECOND:
            self._motions.abandon()
            self.clock_was_set_back(engine)  # what was to come has no time any more
            safeguards.reset()
        if not reader.read(names, position, velocity, state_time):
            self._refuse_state(reader.problem, reader.implausible)
            held = self.silence.engine
            if held is not None and held is not engine and held.reader.read(names, position, velocity, state_time):
                self.silence.answer(held.reader)
            return
        if self.silence.reason and not (self.active and self.silence.returns):
            return self.silence.answer(reader)
        if self.silence.owns and not self.silence.reason and self._barks(steady, now):
            self._after_gap(engine, steady)
        if safeguards.watches_efforts:
            measured = reader.arranged(effort)[self.commanded_joints(engine)]
            if problem := safeguards.implausible(measured, state_time):
                self._refuse_state(f"joint state refused: {problem}", True)
                return
        efforts = self._command_numbers
        try:
            self.respond(engine, reader, now, efforts)
        except (ValueError, ArithmeticError) as error:
            self._refuse_state(f"no torque: {error}")
            self.silence.answer(reader)
            return
        if safeguards.limits_rates:
            safeguards.limit(efforts, state_time, self.effort_limits(engine))
        # the process may have been stopped meanwhile
        if timeout and late + time.monotonic_ns() - begin > timeout:
            self._refuse_state(
                f"stale torque: it was ready more than {self.params.state_timeout:g} s after its joint state"
            )
            return
        self._commands.publish(self._command)
        self.commanding, self.silence.owns = engine, True
        self.watchdog.feed(steady, now)
        if self.silence.reason:
            self.silence.speaks_again()
        self._implausible = 0
        safeguards.commanded(efforts, state_time)
        self._after_publishing(engine, state_time, now)
        if self._motions.planning:
            self._take_plan(engine)

    def _refuse_state(self, problem: str, implausible: bool = False) -> None:
        """Not answered; too many implausible ones in a row end the control."""
        self._refusal = (time.monotonic(), problem)
        self.refuse(problem)
        self._implausible += implausible
        if implausible and self.active and self._implausible == self._safeguards.most_refused:
            self._ended = f"the control has ended: {self._implausible} implausible joint states in a row; {problem}"
            self.get_logger().fatal(self._ended)
            self.fall_silent(self._ended)
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
        if engine.motion.problem != self._said:
            self._say_problem(engine.motion.problem)

    def now(self) -> int:
        """Time of the node's clock in ns; without simulated time by the shortest way."""
        return self.get_clock().now().nanoseconds if self._simulated_time else time.time_ns()

    # --- desired motion ---------------------------------------------------------------------------

    def poll(self) -> None:
        super().poll()
        if self._motions.planning and self.engine is not None and self.active:
            self._take_plan(self.engine)

    def _on_trajectory(self, raw: bytes) -> None:
        self.poll()
        engine = self.engine
        if engine is None or not self.active:
            self.refuse("trajectory ignored: the node is not active or has no robot")
            return
        if self.silence.reason:
            self.refuse(f"trajectory refused: the node is silent: {self.silence.reason}")
            return
        now = self.now()
        fresh = bool(engine.reader.stamp) and now - self._last_arrival <= FRESH
        try:
            self._motions.take(raw, self._scene(engine), self.params.largest_trajectory, now, fresh)
        except TrajectoryError as error:
            self.refuse(f"trajectory refused: {message_of(error)}")

    def _scene(self, engine: T) -> Scene:
        now = engine.reader.stamp
        q, v = self.moved(engine)
        return Scene(engine.motion, self.motion_limits(engine, now), q, v, now)

    def _take_plan(self, engine: T) -> None:
        """A trajectory was planned aside."""
        try:
            self._motions.poll(self._scene(engine))
        except TrajectoryError as error:
            self._motions.abandon()
            self.refuse(f"trajectory refused: {message_of(error)}")

    def _say_problem(self, problem: str) -> None:
        self._said = problem
        if problem:
            self.get_logger().error(problem)

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        status.values["efforts published per second"] = self._answered
        super().report(status)
        if self._ended and not self.active:
            status.error(self._ended)
        engine = self.engine
        if engine is None:
            return
        if self.active and not self._answered:
            status.error("no effort published" + ("" if self._refused else ": no joint states arrive"))
        if engine.motion.problem:
            status.error(engine.motion.problem)
        if self._motions.planning:
            status.values["desired motion"] = "a trajectory is being planned"
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
