"""Node `feedforward`: joint states and a desired motion in, torques out, at the rate of the joint states."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.desired_motion import DesiredMotion, MotionOptions
from rbd_dynamics.control.feedforward import Feedforward
from rbd_dynamics.control.joint_state import JointStateReader
from rbd_dynamics.control.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes import process
from rbd_dynamics.nodes.description import Prefix, message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.interface import FEEDFORWARD, Interface
from rbd_dynamics.nodes.managed_node import ManagedNode, check_common
from rbd_dynamics.nodes.messages import JOINT_STATES, SECOND, nanoseconds, points_of
from rbd_dynamics.nodes.payload import Payloads, PayloadService
from rbd_dynamics.nodes.raw_joint_state import RawJointStates
from rbd_dynamics.nodes.samples import flat
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.simulation import start_position

TUNING = ("terms", "evaluate_at", "kp", "kd", "effort_limits")  # of the controller, may change while it runs


@dataclass
class Engine:
    """Everything about one robot model."""

    model: Model
    robot: Robot
    controller: Feedforward
    reader: JointStateReader
    motion: DesiredMotion
    prefix: Prefix
    controlled: slice | NDArray[np.intp]  # where the controlled joints are in q and v


class FeedforwardNode(ManagedNode):
    """Every complete joint state is answered by one effort message, or by none and a reason."""

    INTERFACE: ClassVar[Interface] = FEEDFORWARD

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._payloads = Payloads()
        self._saturated = np.zeros(0, dtype=bool)
        self._answered = 0
        self._last_arrival = 0  # ns
        self._raw_states = RawJointStates()
        self._simulated_time = False

    def check(self, values: dict[str, Any]) -> None:
        check_common(values)

    def build(self, model: Model, values: dict[str, Any], progress: Callable[..., None]) -> Engine:
        prefix = Prefix(values["tf_prefix"], model)
        robot = Robot(model)
        joints = [prefix.inside(name) for name in values["joints"]]
        progress("feedforward", 1, 1)
        controller = Feedforward(robot, joints, **{name: values[name] for name in TUNING})
        initial = start_position(model)
        outside = [prefix.outside(name) for name in model.joint_names]
        required = [prefix.outside(name) for name in controller.joints]
        reader = JointStateReader(outside, required, values["missing_velocity"], initial)
        motion = DesiredMotion(required, controller.continuous, _motion_options(values))
        controller.compute(reader.q, reader.v, motion.motion, motion.since)  # the first call, out of the way
        whole = controller.joints == tuple(model.joint_names)
        return Engine(model, robot, controller, reader, motion, prefix, slice(None) if whole else controller.index)

    def adopt(self, engine: Engine) -> None:
        old = self.engine
        if old is not None and old.motion.joints == engine.motion.joints:
            engine.motion = old.motion  # the same joints: go on with what they do
        if old is not None and old.reader.names == engine.reader.names:
            engine.reader = old.reader
        engine.controller.tune(*(self.values[name] for name in TUNING))  # they may have changed meanwhile
        for problem in self._payloads.apply_to(engine.robot):
            self.get_logger().warning(problem)
        self._prepare_messages(engine.motion.joints)

    def open(self) -> None:
        self._commands = self.publish_on(Float64MultiArray, "~/commands")
        self._efforts = self.publish_on(JointState, "~/effort")
        self.subscribe(JointState, "joint_states", self._on_joint_state, JOINT_STATES, raw=True)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory)
        PayloadService(self, self._payloads, lambda: [self.engine.robot])

    def activated(self) -> None:
        self._simulated_time = bool(self.get_parameter("use_sim_time").value)
        if self.engine is not None:
            self.engine.motion.release()

    def parameters_changed(self, values: dict[str, Any]) -> None:
        self.engine.controller.tune(*(values[name] for name in TUNING))
        self.engine.motion.options = _motion_options(values)

    # --- the hot path -----------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        if self._build is not None:
            self.poll()
        engine = self.engine
        if engine is None or not self.active:
            return
        now = self._now()
        state_time, names, position, velocity = self._raw_states.read(raw)
        timeout = self.values["state_timeout"]
        if state_time == 0:
            state_time = now
        elif timeout and abs(now - state_time) > timeout * SECOND:
            self.refuse(f"stale joint state: its stamp is off by more than {timeout:g} s")
            return
        reader = engine.reader
        if state_time < reader.stamp - SECOND:
            engine.motion.release()  # the clock was set back: what was to come has no time any more
        if not reader.read(names, position, velocity, state_time):
            self.refuse(reader.problem)
            return
        q, v, motion = reader.q, reader.v, engine.motion
        motion.update(state_time, q[engine.controlled], v[engine.controlled])
        try:
            engine.controller.compute(q, v, motion.motion, motion.since, self._command_numbers)
        except (ValueError, ArithmeticError) as error:
            self.refuse(f"no torque: {error}")
            return
        self._commands.publish(self._command)
        self._after_publishing(engine, state_time, now)

    def _after_publishing(self, engine: Engine, state_time: int, now: int) -> None:
        """What the command need not wait for."""
        if self._efforts.get_subscription_count():
            self._effort_numbers[:] = self._command_numbers
            stamp = self._named_effort.header.stamp
            stamp.sec, stamp.nanosec = divmod(state_time, SECOND)
            self._efforts.publish(self._named_effort)
        self._saturated |= engine.controller.saturated
        self._last_arrival = now
        self._answered += 1

    def _now(self) -> int:
        """Time of the node's clock in ns; without simulated time by the shortest way."""
        return self.get_clock().now().nanoseconds if self._simulated_time else time.time_ns()

    def _prepare_messages(self, joints: Sequence[str]) -> None:
        """Both messages are made once; only their numbers change."""
        zeros = np.zeros(len(joints))
        self._command = Float64MultiArray(data=flat(zeros))
        self._named_effort = JointState(name=list(joints), effort=flat(zeros))
        # the memory of the messages' own arrays
        self._command_numbers = np.frombuffer(self._command.data)
        self._effort_numbers = np.frombuffer(self._named_effort.effort)
        self._saturated = np.zeros(len(joints), dtype=bool)

    # --- desired motion ---------------------------------------------------------------------------

    def _on_trajectory(self, message: JointTrajectory) -> None:
        self.poll()
        engine = self.engine
        if engine is None or not self.active:
            self.refuse("trajectory ignored: the node is not active or has no robot")
            return
        try:
            self._take_motion(engine, message)
        except TrajectoryError as error:
            self.refuse(f"trajectory refused: {message_of(error)}")

    def _take_motion(self, engine: Engine, message: JointTrajectory) -> None:
        """No points: hold. One point: a set-point. Several: a trajectory."""
        motion, reader = engine.motion, engine.reader
        if not message.points:
            motion.hold()
            return
        now = self._now()
        single = len(message.points) == 1
        waypoints = Waypoints.of(message.joint_names, points_of(message), positions=not single)
        if single:
            motion.set_point(waypoints, now)
            return
        if not reader.stamp or now - self._last_arrival > SECOND:
            raise TrajectoryError("there are no joint states to start from")
        start = nanoseconds(message.header.stamp) or reader.stamp
        where = engine.controlled
        motion.follow(waypoints, start, reader.stamp, reader.q[where], reader.v[where])
        self.get_logger().info(f"trajectory of {len(message.points)} points, {waypoints.times[-1]:.3f} s")

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        status.values["efforts published per second"] = self._answered
        engine = self.engine
        if engine is None:
            return
        status.values["desired motion"] = engine.motion.mode
        if self.active and not self._answered:
            status.error("no effort published" + ("" if self._refused else ": no joint states arrive"))
        if engine.reader.differentiated:
            joints = ", ".join(engine.reader.differentiated)
            status.warn(f"no measured velocity, found by differentiation: {joints}")
        if self._saturated.any():
            joints = ", ".join(np.array(engine.motion.joints)[self._saturated])
            status.warn(f"effort limit reached: {joints}")
        self._answered = 0
        self._saturated[:] = False


def _motion_options(values: dict[str, Any]) -> MotionOptions:
    return MotionOptions(values["interpolation"], values["start_tolerance"], values["setpoint_timeout"])


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(process.run(FeedforwardNode, args))


if __name__ == "__main__":
    main()
