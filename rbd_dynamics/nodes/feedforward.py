# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: joint states and a desired motion in, torques out, at the rate of the joint states."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rbd_dynamics.common.joint_numbers import OFFSETS, check_offsets, numbers_by_joint
from rbd_dynamics.control.feedforward import Feedforward, Tuning
from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.motion.joint_limits import JointMotionLimits
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.tolerances import difference
from rbd_dynamics.control.motion.trajectory import Point, TrajectoryError
from rbd_dynamics.control.safety.safe_stop import SafeStop
from rbd_dynamics.control.safety.softening import ALL, Shares, Softening, fastest_decay
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD, FeedforwardParameters
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.messages import SECOND, flat
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.nodes.torque.torque_node import TorqueNode
from rbd_dynamics.nodes.torque.trial import Feedback
from rbd_dynamics.robot import Robot

SET_POINTS = QoSProfile(depth=1)  # the newest counts
NARROWER = "the limits became narrower than those of the motion: it is ended, the robot held where it is"


@dataclass
class FeedforwardEngine:
    """Everything about one robot model."""

    model: Model
    robot: Robot
    controller: Feedforward
    reader: JointStateReader
    motion: DesiredMotion
    safe_stop: SafeStop
    prefix: Prefix
    commanded: slice | NDArray[np.intp]  # where the controlled joints are in q and v
    limits: JointMotionLimits
    offsets: dict[str, float]  # efforts that joints need beside the model
    bandwidth: float = 0.0  # of the actuators, Hz; 0: no lag
    shares: Shares = ALL  # of stiffness and damping, that are in use
    softening: Softening = field(init=False)  # of these, while efforts cannot follow
    seen: int = 0  # state that was answered last, ns

    def __post_init__(self) -> None:
        self.softening = Softening(len(self.controller.joints))

    @property
    def effort_limits(self) -> NDArray[np.float64]:
        return self.controller.effort_limits

    @property
    def saturated(self) -> NDArray[np.bool_]:
        return self.controller.saturated


class FeedforwardNode(TorqueNode[FeedforwardParameters, FeedforwardEngine]):
    """Every complete joint state is answered by one effort message, or by none and a reason."""

    GAINS: ClassVar = ("kp", "kd", "law")

    def __init__(self, **options: Any) -> None:
        super().__init__(FEEDFORWARD, **options)
        self._narrower = False  # the latest limits of motions, than those before

    @staticmethod
    def build(model: Model, params: FeedforwardParameters, progress: Progress) -> FeedforwardEngine:
        prefix = Prefix(params.tf_prefix, model)
        robot = Robot(model)
        joints = [prefix.inside(name) for name in params.joints]
        progress("feedforward", 1, 1)
        controller = Feedforward(robot, joints=joints)
        safe_stop = SafeStop(robot, joints=joints)
        offsets = _offsets(params.effort_offsets_file, prefix)
        safe_stop.check(params.stop_options)
        controller.use(_tuning(controller, params, offsets, ALL))
        safe_stop.tune(params.stop_options, terms=params.terms, effort_limits=params.effort_limits)
        initial = model.start_position()
        outside = [prefix.outside(name) for name in model.joint_names]
        required = [prefix.outside(name) for name in controller.joints]
        reader = JointStateReader(outside, required, missing_velocity=params.missing_velocity, initial=initial)
        motion = DesiredMotion(required, continuous=controller.continuous, options=params.motion_options)
        controller.compute(reader.q, reader.v, motion.motion, motion.since)  # the first call, out of the way
        whole = controller.joints == tuple(model.joint_names)
        limits = JointMotionLimits(robot, controller.joints, required)
        limits.tune(velocity=params.velocity_limits, acceleration=params.acceleration_limits)
        commanded = slice(None) if whole else controller.index
        return FeedforwardEngine(
            model, robot, controller, reader, motion, safe_stop, prefix, commanded, limits, offsets
        )

    def open(self) -> None:
        self._errors = self.entities.publish_on(JointState, "~/tracking_error")
        self.entities.subscribe(Float64MultiArray, "~/set_points", self._on_set_points, SET_POINTS)
        self.motions.offer_action()

    def _on_set_points(self, message: Float64MultiArray) -> None:
        """Positions of all joints, as a forward_position_controller takes them."""
        try:
            self.motions.set_point(Point(0.0, message.data))
        except TrajectoryError as error:
            self.refuse(f"set-point refused: {message_of(error)}")

    def adopt(self, engine: FeedforwardEngine) -> None:
        old = self.engine
        if old is not None and old.motion.joints != engine.motion.joints:
            old.motion.release(why="the joints have changed")
        if old is not None and old.motion.joints == engine.motion.joints:
            engine.motion = old.motion  # the same joints: go on with what they do
        if old is not None and old.reader.names == engine.reader.names:
            engine.reader = old.reader
        engine.shares = old.shares if old is not None else ALL
        # they may have changed meanwhile
        engine.motion.options = self.params.motion_options
        engine.limits.tune(velocity=self.params.velocity_limits, acceleration=self.params.acceleration_limits)
        self._tune(engine, self.params)
        self.prepare(engine, engine.motion.joints)
        if old is not None and old.motion is engine.motion and engine.limits.given.narrower_than(old.limits.given):
            engine.motion.revoke(self.moved(old)[0], NARROWER)

    def activated(self) -> None:
        if (engine := self.engine) is not None:
            engine.motion.release()
            if engine.shares != ALL:
                self.soften(engine, ALL)

    def soften(self, engine: FeedforwardEngine, shares: Shares) -> None:
        engine.shares = shares
        engine.controller.use(_tuning(engine.controller, self.params, engine.offsets, shares))

    def wanted_rates(self, engine: FeedforwardEngine) -> NDArray[np.float64] | None:
        return None if engine.motion.mode == "hold" else engine.motion.state()[1]

    def tune(self, engine: FeedforwardEngine, new: FeedforwardParameters) -> None:
        options = engine.motion.options
        engine.motion.options = new.motion_options
        try:
            self._narrower = engine.limits.tune(velocity=new.velocity_limits, acceleration=new.acceleration_limits)
            self._tune(engine, new)
        except (ValueError, ArithmeticError):
            engine.motion.options = options
            engine.limits.tune(velocity=self.params.velocity_limits, acceleration=self.params.acceleration_limits)
            raise

    def tuned(self, engine: FeedforwardEngine, new: FeedforwardParameters) -> None:
        if self._narrower:
            engine.motion.revoke(self.moved(engine)[0], NARROWER)

    @staticmethod
    def _tune(engine: FeedforwardEngine, params: FeedforwardParameters) -> None:
        """What may change while it runs, once it has given a torque. Raises ValueError, and then changes nothing."""
        controller, reader, motion = engine.controller, engine.reader, engine.motion
        engine.safe_stop.check(params.stop_options)
        tuning = _tuning(controller, params, engine.offsets, engine.shares)
        controller.attempt(reader.q, reader.v, motion.motion, motion.since, tuning)
        controller.use(tuning)
        engine.bandwidth = params.actuator_bandwidth
        motion.slack = controller.gains[0] == 0.0
        engine.safe_stop.tune(params.stop_options, terms=params.terms, effort_limits=params.effort_limits)

    def holding(self, engine: FeedforwardEngine, robot: Robot) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return engine.controller.holding(engine.reader.q, robot.inertia_input), engine.controller.effort_limits

    def feedback(self, engine: FeedforwardEngine, robot: Robot) -> Feedback:
        K, D = (np.diag(gains) for gains in engine.controller.gains)
        if engine.controller.law == "computed_torque":
            joints = np.ix_(engine.controller.index, engine.controller.index)
            M = robot.mass_matrix(engine.reader.q)[joints]
            K, D = M @ K, M @ D
        return Feedback(K, D, engine.bandwidth)

    def respond(
        self, engine: FeedforwardEngine, reader: JointStateReader, now: int, efforts: NDArray[np.float64]
    ) -> None:
        q, v, motion = reader.q, reader.v, engine.motion
        motion.update(reader.stamp, q[engine.commanded], v[engine.commanded])
        if self.safeguards.behind or engine.softening.share < 1.0:
            self._ease(engine, reader)
        engine.seen = reader.stamp
        engine.controller.compute(q, v, motion.motion, motion.since, added=motion.efforts(), out=efforts)

    def _ease(self, engine: FeedforwardEngine, reader: JointStateReader) -> None:
        """Softer gains where efforts, which change no faster than their rates, come later than those want them.

        Braked as hard as a slow robot, a fast one swings by them, ever farther: a push of 0.15 rad/s did that to a
        Panda with the gains that it bears at 1 kHz.
        """
        softening, feedback = engine.softening, self.feedback(engine, engine.robot)
        softening.rates = self.safeguards.rates
        M = engine.robot.mass_matrix(reader.q)[np.ix_(engine.controller.index, engine.controller.index)]
        decay = fastest_decay(M, feedback.damping)
        away = self.moved(engine)[1] - engine.motion.state()[1]
        momentum = feedback.damping @ away / max(decay, 1e-9)
        dt = max(1e-9 * (reader.stamp - engine.seen), 0.0)
        softening.update(momentum, decay, dt, behind=self.safeguards.behind)
        engine.controller.soften(ALL.softer(softening.share))

    def changes_together(self, engine: FeedforwardEngine) -> bool:
        return True

    def answered(self, engine: FeedforwardEngine) -> None:
        if self._errors.get_subscription_count():
            self._errors.publish(self._tracking_error(engine))

    def _tracking_error(self, engine: FeedforwardEngine) -> JointState:
        """Wanted less measured, of the state that was answered."""
        (wanted, rate, _), (q, v) = engine.motion.state(), self.moved(engine)
        error = difference(wanted, q, engine.motion.continuous)
        message = JointState(name=[*engine.motion.joints], position=flat(error), velocity=flat(rate - v))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(engine.reader.stamp, SECOND)
        return message

    def silent(self, engine: FeedforwardEngine, reason: str) -> None:
        engine.motion.release(why=reason)

    def clock_was_set_back(self, engine: FeedforwardEngine) -> None:
        engine.motion.release()

    def moved(self, engine: FeedforwardEngine) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return engine.reader.q[engine.commanded], engine.reader.v[engine.commanded]

    def motion_limits(self, engine: FeedforwardEngine, now: int) -> MotionLimits:
        return engine.limits.at(engine.reader.q, now)

    def report(self, status: Status) -> None:
        if self.engine is not None:
            status.values.setdefault("desired motion", self.engine.motion.mode)


def _offsets(file: str, prefix: Prefix) -> dict[str, float]:
    """{joint: N m or N} of a file, none without one; joints may have the prefix. Raises ValueError that names it."""
    if not file:
        return {}
    found = numbers_by_joint(file, OFFSETS)
    check_offsets(f"effort_offsets_file: {file}: offset", found)
    return {prefix.inside(name): float(offset) for name, offset in found.items()}


def _tuning(
    controller: Feedforward, params: FeedforwardParameters, offsets: Mapping[str, float], shares: Shares
) -> Tuning:
    """What may change while it runs, with shares of the gains. Raises ValueError."""
    return controller.tuning(
        params.terms,
        evaluate_at=params.evaluate_at,
        kp=[shares.stiffness * kp for kp in params.kp],
        kd=[shares.damping * kd for kd in params.kd],
        effort_limits=params.effort_limits,
        effort_offsets=offsets,
        law=params.law,
    )


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(FeedforwardNode, FEEDFORWARD, args))


if __name__ == "__main__":
    main()
