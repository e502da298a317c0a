# SPDX-License-Identifier: Apache-2.0
"""Node `cartesian_controller`: a tool follows poses, twists and trajectories, compliantly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import MultiDOFJointTrajectory

from rbd_dynamics.control.cartesian.pose_trajectory_message import PoseDecoder
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.motion.trajectory_message import Decoder
from rbd_dynamics.control.safety.softening import ALL, Shares
from rbd_dynamics.control.terms import GRAVITY, SPRING, inverse_dynamics_terms
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.cartesian_controller import CARTESIAN_CONTROLLER, CartesianControllerParameters
from rbd_dynamics.nodes.managed.description_text import Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.messages import SECOND, nanoseconds
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.nodes.tool.cartesian_engine import (
    CartesianEngine,
    apply,
    beyond_limits,
    build_engine,
    draw_to_posture,
    instability,
    limits_of,
    outside_workspace,
    tool_of,
    tuning_of,
)
from rbd_dynamics.nodes.tool.tool_messages import (
    pose_message,
    pose_of,
    stiffness_of,
    twist_message,
    twist_of,
    wrench_message,
    wrench_of,
)
from rbd_dynamics.nodes.torque.torque_node import TorqueNode
from rbd_dynamics.nodes.torque.trial import Feedback
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


class CartesianControllerNode(TorqueNode[CartesianControllerParameters, CartesianEngine]):
    """Holds the tool until it is told where to go; every joint state is answered by efforts."""

    BUILT: ClassVar = {
        "law": ("stiffness", "rotational_stiffness", "damping", "rotational_damping", "largest_stiffness")
    }
    GAINS: ClassVar = (
        "stiffness", "rotational_stiffness", "damping", "rotational_damping", "damping_ratio", "posture_kp",
        "posture_kd",
    )  # fmt: skip
    meets_contact = True
    trajectories = (MultiDOFJointTrajectory, "~/cartesian_trajectory")

    def __init__(self, **options: Any) -> None:
        super().__init__(CARTESIAN_CONTROLLER, **options)
        self.offer_hand_over(lambda: self.params.standby)
        self._errors = [0.0, 0.0]  # largest of place and orientation since the last report

    @staticmethod
    def build(model: Model, params: CartesianControllerParameters, progress: Progress) -> CartesianEngine:
        return build_engine(model, params, progress)

    def adopt(self, engine: CartesianEngine) -> None:
        old = self.engine
        engine.shares = old.shares if old is not None else ALL
        apply(engine, self.params, attempt=False)  # they may have changed meanwhile
        draw_to_posture(engine, self.params)
        engine.controller.reset()
        if old is not None and old.reader.names == engine.reader.names:
            engine.reader = old.reader
        if engine.softened and (old is None or old.softened != engine.softened):
            self.get_logger().warning(engine.softened)
        names = engine.reader.names
        self.prepare(engine, [names[k] for k in engine.joints])

    def open(self) -> None:
        self._pose = self.entities.publish_on(PoseStamped, "~/current_pose")
        self._wanted = self.entities.publish_on(PoseStamped, "~/wanted_pose")
        self._twist = self.entities.publish_on(TwistStamped, "~/current_twist")
        self._pressed = self.entities.publish_on(WrenchStamped, "~/current_wrench")
        for kind, topic, take in (
            (PoseStamped, "~/target_pose", self._on_pose),
            (TwistStamped, "~/target_twist", self._on_twist),
            (WrenchStamped, "~/target_wrench", self._on_wrench),
            (Float64MultiArray, "~/target_stiffness", self._on_stiffness),
            (JointState, "~/target_joint", self._on_joint),
        ):
            self.entities.subscribe(kind, topic, self._wish(take))

    def activated(self) -> None:
        if self.engine is not None:
            self.engine.motion.release()
            self.engine.forget()
            if self.engine.shares != ALL:
                self.soften(self.engine, ALL)

    def soften(self, engine: CartesianEngine, shares: Shares) -> None:
        engine.shares = shares
        apply(engine, self.params, attempt=False)
        engine.controller.settle_stiffness()

    def tune(self, engine: CartesianEngine, new: CartesianControllerParameters) -> None:
        another = self.needs_another(new)
        if not another and not self.building:
            apply(engine, new)
            return
        tuning_of(engine, new)  # what is wrong is said now
        limits_of(new)
        if not another:  # else all of it is built aside
            self.tuning.apply_meanwhile(new, partial(apply, engine))

    def tuned(self, engine: CartesianEngine, new: CartesianControllerParameters) -> None:
        if self.needs_another(new):  # which has all of it
            return
        if new.posture != self.params.posture:
            draw_to_posture(engine, new)
        tool = tool_of(new)
        if (tool != tool_of(self.params)).any() and (tool == engine.controller.tool).all():
            engine.motion.release()  # held where the new tool is

    def changes_together(self, engine: CartesianEngine) -> bool:
        return True  # where efforts come late, gains are softer

    def lets_go(self, engine: CartesianEngine) -> bool:
        return engine.controller.in_haste

    def holding(self, engine: CartesianEngine, robot: Robot) -> tuple[Array, Array]:
        still = np.zeros(engine.model.nv)
        held = inverse_dynamics_terms(robot, engine.reader.q, still, still, {GRAVITY, SPRING} & set(self.params.terms))
        return held[engine.joints], engine.effort_limits

    def feedback(self, engine: CartesianEngine, robot: Robot) -> Feedback:
        params, names = self.params, ("stiffness", "damping")
        return Feedback(*engine.feedback(), params.actuator_bandwidth, params.sensor_delay, names)

    # --- the hot path -----------------------------------------------------------------------------

    def respond(self, engine: CartesianEngine, reader: JointStateReader, now: int, efforts: Array) -> None:
        engine.ease(self.safeguards.behind, self.safeguards.rates)
        out = engine.step(self.params.wrench_rate, planning=self.motions.planning)
        efforts[:] = out.tau[engine.joints]
        self._errors[0] = max(self._errors[0], float(np.linalg.norm(out.error[3:])))
        self._errors[1] = max(self._errors[1], float(np.linalg.norm(out.error[:3])))
        frame, stamp = engine.frames[0], reader.stamp
        if self._pose.get_subscription_count():
            self._pose.publish(pose_message(out.pose, frame, stamp))
        if self._twist.get_subscription_count():
            self._twist.publish(twist_message(out.twist, frame, stamp))
        if self._pressed.get_subscription_count():
            self._pressed.publish(wrench_message(out.wrench, frame, stamp))

    def answered(self, engine: CartesianEngine) -> None:
        if self._wanted.get_subscription_count():
            pose = engine.wanted
            numbers = np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])
            self._wanted.publish(pose_message(numbers, engine.frames[0], engine.reader.stamp))

    def silent(self, engine: CartesianEngine, reason: str) -> None:
        engine.motion.release(why=reason)
        engine.forget()

    def clock_was_set_back(self, engine: CartesianEngine) -> None:
        engine.motion.release()
        engine.forget()

    # --- taking over from another node ------------------------------------------------------------

    def may_take_over(self) -> None:
        if self.engine is None or not self.active:
            raise ValueError("the node is not active or has no robot")
        if not self.motions.seen_of_late:
            raise ValueError("joint states are silent")

    def stands_by(self, engine: CartesianEngine) -> None:
        engine.motion.release()
        engine.forget()

    def continue_from(self, engine: CartesianEngine, last: Array, efforts: Array) -> Array:
        """The wrench that the other presses with goes on, until another one is wanted."""
        difference = np.zeros(engine.model.nv)
        difference[engine.joints] = last - efforts
        return difference[engine.joints] - engine.go_on_with(difference)[engine.joints]

    # --- wishes -----------------------------------------------------------------------------------

    def _wish(self, take: Callable[[CartesianEngine, Any, int], None]) -> Callable[[Any], None]:
        """A callback that refuses what cannot be taken, with the reason."""

        def callback(message: Any) -> None:
            self.poll()
            engine = self.engine
            try:
                if engine is None or not self.active:
                    raise ValueError("target ignored: the node is not active or has no robot")
                try:
                    self.may_move()
                except TrajectoryError as error:
                    raise ValueError(f"target refused: {error}") from None
                take(engine, message, engine.reader.stamp)
            except (ValueError, ArithmeticError) as error:
                self.refuse(message_of(error))

        return callback

    def _fresh(self, message: Any, what: str) -> None:
        """Raise ValueError where the message was due long ago, or the robot has not been seen of late."""
        now, stamp, timeout = self.clock.now(), nanoseconds(message.header.stamp), self.params.setpoint_timeout
        if stamp and timeout and now - stamp > timeout * SECOND:
            late = 1e-9 * (now - stamp)
            raise ValueError(f"{what} refused: it was due {late:.3g} s ago, more than setpoint_timeout ({timeout:g} s)")
        if not self.motions.seen_of_late:
            raise ValueError(f"{what} refused: there are no joint states to start from")

    def _on_pose(self, engine: CartesianEngine, message: PoseStamped, now: int) -> None:
        pose = pose_of(message, engine.frames)
        self._fresh(message, "target pose")
        self.motions.abandon()
        engine.motion.go_to(pose, now)

    def _on_twist(self, engine: CartesianEngine, message: TwistStamped, now: int) -> None:
        twist, own = twist_of(message, engine.frames, engine.tool_names)
        self._fresh(message, "target twist")
        if own and engine.output is not None:
            R = engine.output.pose[:9].reshape(3, 3)
            twist = np.concatenate([R @ twist[:3], R @ twist[3:]])
        self.motions.abandon()
        engine.motion.drive(twist, now)

    def _on_wrench(self, engine: CartesianEngine, message: WrenchStamped, now: int) -> None:
        params = self.params
        wrench = wrench_of(
            message, engine.frames, engine.tool_names, force=params.largest_force, moment=params.largest_moment
        )
        self._fresh(message, "target wrench")
        engine.wanted_wrench[:] = wrench
        engine.wrench_until = now + round(params.wrench_timeout * SECOND) if params.wrench_timeout else 0

    def _on_stiffness(self, engine: CartesianEngine, message: Float64MultiArray, now: int) -> None:
        stiffness = stiffness_of(message, self.params.largest_stiffness)
        if problem := instability(engine, stiffness, self.params):
            raise ValueError(f"target stiffness refused: {problem}")
        before = engine.controller.wanted_stiffness.copy()
        engine.controller.want_stiffness(stiffness)
        engine.gains_have_risen(before, engine.controller.gains.posture_kp)

    def _on_joint(self, engine: CartesianEngine, message: JointState, now: int) -> None:
        place = {name: k for k, name in enumerate(engine.reader.names)}
        wanted = engine.wanted_posture.copy()
        if len(message.name) != len(message.position) or not message.name:
            raise ValueError(f"target joint refused: {len(message.position)} positions for {len(message.name)} names")
        for name, position in zip(message.name, message.position):
            if name not in place:
                raise ValueError(f"target joint refused: {name!r} is not one of {', '.join(place)}")
            if not np.isfinite(position):
                raise ValueError(f"target joint refused: the position of joint {name!r} is {position}")
            if problem := beyond_limits(engine.model, place[name], position):
                raise ValueError(f"target joint refused: {problem}")
            wanted[place[name]] = position
        self._fresh(message, "target joint")
        engine.wanted_posture[:] = wanted

    # --- desired motion and diagnostics -----------------------------------------------------------

    def decoder(self, engine: CartesianEngine) -> Decoder:
        if not self.motions.planning:  # what is being planned is in the chart that there is
            engine.motion.recentre(engine.controller.pose(engine.reader.q))
        return PoseDecoder(engine.motion.chart, engine.frames, engine.tool_names)

    def moved(self, engine: CartesianEngine) -> tuple[Array, Array]:
        return engine.measured()

    def motion_limits(self, engine: CartesianEngine, now: int) -> MotionLimits:
        return engine.motion.limits

    def report(self, status: Status) -> None:
        engine = self.engine
        if engine is None:
            return
        status.values.setdefault("desired motion", engine.motion.mode)
        out = engine.output
        if out is not None:
            status.values["manipulability"] = f"{out.manipulability[0]:.4g}"
            status.values["pace"] = f"{engine.reference.pace:.0%}"
            if out.braking[0]:
                status.warn("joints are kept from going faster than their velocity limits")
            status.values["energy in the tank"] = f"{out.tank[0]:.3g} J"
            status.values["largest error"] = f"{1e3 * self._errors[0]:.3g} mm, {self._errors[1]:.3g} rad"
            if outside := outside_workspace(engine, out.theta):
                status.warn(f"the tool is outside its workspace: {outside}")
        self._errors = [0.0, 0.0]


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(CartesianControllerNode, CARTESIAN_CONTROLLER, args))


if __name__ == "__main__":
    main()
