# SPDX-License-Identifier: Apache-2.0
"""Node `hybrid_controller`: presses against surfaces with a wanted force and moves along them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from std_srvs.srv import SetBool

from rbd_dynamics.control.hybrid.checks import one_sided
from rbd_dynamics.control.hybrid.supervisor import AT_EASE
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.motion.trajectory_message import Decoder
from rbd_dynamics.control.safety.softening import ALL, Shares
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER, HybridControllerParameters
from rbd_dynamics.nodes.managed.description_text import Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.messages import RECORDED
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.nodes.tool.hybrid_engine import (
    HybridEngine,
    TaskDecoder,
    apply,
    build_engine,
    check_force,
    check_gains,
    check_wanted,
    limits_of_task,
    task_of,
)
from rbd_dynamics.nodes.tool.task_state import fill_task_state
from rbd_dynamics.nodes.tool.tool_messages import arrow
from rbd_dynamics.nodes.tool.wrench_input import WrenchInput
from rbd_dynamics.nodes.torque.torque_node import TorqueNode
from rbd_dynamics.nodes.torque.trial import Feedback
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
PLACE = ("tool_position", "tool_orientation", "task_position", "task_orientation", "surface_radius", "contact_offset")
TASK_GAINS = ("kp", "kd")


class HybridControllerNode(TorqueNode[HybridControllerParameters, HybridEngine]):
    """Holds the robot until `~/engage`, then presses and moves; every joint state is answered by efforts."""

    BUILT: ClassVar = {
        "surface": PLACE,
        "constrained": (*PLACE, "desired_force"),
        "controlled": (*PLACE, *TASK_GAINS, "velocity_limits", "acceleration_limits"),
        "law": TASK_GAINS,
    }
    GAINS: ClassVar = ("hold_stiffness", "hold_damping")
    meets_contact = True

    def __init__(self, **options: Any) -> None:
        super().__init__(HYBRID_CONTROLLER, **options)
        self.offer_hand_over(lambda: self.params.standby)
        self.wrench = WrenchInput(self, self.clock)
        self.parts.append(self.wrench)
        self._errors = [0.0, 0.0]  # largest of force and tracking since the last report

    @staticmethod
    def build(model: Model, params: HybridControllerParameters, progress: Progress) -> HybridEngine:
        return build_engine(model, params, progress)

    def adopt(self, engine: HybridEngine) -> None:
        old = self.engine
        self.soften(engine, old.shares if old is not None else ALL)
        apply(engine, self.params)  # they may have changed meanwhile
        if old is not None:
            if old.reader.names == engine.reader.names:
                engine.reader = old.reader
            if old.supervisor.engaged:
                self.get_logger().warning("another robot or task: back to holding")
            if old.controller.constraints.row_names == engine.controller.constraints.row_names:
                engine.supervisor.fade_from(old.supervisor)
        if old is not None and old.controller.constraints.row_names == engine.controller.constraints.row_names:
            engine.supervisor.desired[:] = old.supervisor.desired
            engine.supervisor.offset[:] = old.supervisor.offset
        else:
            engine.supervisor.desired[:] = self.params.desired_force or 0.0
        self.wrench.adopt(engine)
        names = engine.reader.names
        self.prepare(engine, [names[k] for k in engine.joints])

    def open(self) -> None:
        self._open_task_state()
        self._surface = self.entities.publish_on(PoseStamped, "~/surface_normal")
        self.entities.serve(SetBool, "~/engage", self._on_engage)

    def _open_task_state(self) -> None:
        self._task_state: Publisher | None = None
        try:
            from rbd_dynamics_interfaces.msg import TaskState
        except ImportError:  # the node works without it
            self.get_logger().warning("rbd_dynamics_interfaces is not built: no topic task_state")
        else:
            self._task_state = self.entities.publish_on(TaskState, "~/task_state", RECORDED)

    def activated(self) -> None:
        if self.engine is not None:
            self.engine.supervisor.begin_anew()
            self.soften(self.engine, ALL)

    def feedback(self, engine: HybridEngine, robot: Robot) -> Feedback | None:
        """Gains of holding; gains of the task and of the force are judged when they are given, and when it engages."""
        if engine.supervisor.engaged:
            return None
        params, shares, place = self.params, engine.shares, np.ix_(engine.joints, engine.joints)
        M = robot.mass_matrix(engine.reader.q)[place]
        return Feedback(
            shares.stiffness * params.hold_stiffness * M, shares.damping * params.hold_damping * M,
            params.actuator_bandwidth, params.sensor_delay, self.GAINS,
        )  # fmt: skip

    def soften(self, engine: HybridEngine, shares: Shares) -> None:
        engine.shares = engine.supervisor.hold_shares = shares

    def tune(self, engine: HybridEngine, new: HybridControllerParameters) -> None:
        check_gains(new)
        check_wanted(engine, new, self.params)
        another = self.needs_another(new)
        if not another and not self.building:
            apply(engine, new)
        else:
            constraints, _ = task_of(new, engine.prefix).sets(engine.model)
            check_force(new, constraints, one_sided(constraints))  # what is wrong is said now
            if not another:  # else all of it is built aside
                self.tuning.apply_meanwhile(new, partial(apply, engine))

    def tuned(self, engine: HybridEngine, new: HybridControllerParameters) -> None:
        if new.wrench_of_robot != self.params.wrench_of_robot and self.wrench.carried.begun:
            self.wrench.forget_tool("wrench_of_robot has changed")
        if new.desired_force != self.params.desired_force:
            constraints, _ = task_of(new, engine.prefix).sets(engine.model)
            if constraints.row_names == engine.controller.constraints.row_names:  # else it goes with what is built
                engine.supervisor.desired[:] = new.desired_force or 0.0

    def lets_go(self, engine: HybridEngine) -> bool:
        return engine.supervisor.lets_go

    def changes_together(self, engine: HybridEngine) -> bool:
        return not engine.supervisor.engaged  # where gains fall until efforts can follow

    def holding(self, engine: HybridEngine, robot: Robot) -> tuple[Array, Array]:
        still = np.zeros(engine.model.nv)
        held = np.asarray(robot.inverse_dynamics(engine.reader.q, still, still))
        return held[engine.joints], engine.effort_limits

    # --- the hot path -----------------------------------------------------------------------------

    def respond(self, engine: HybridEngine, reader: JointStateReader, now: int, efforts: Array) -> None:
        q, v = reader.q, reader.v
        engine.sensor.constraints = engine.controller.constraints  # the task frame may be on its way
        measured = self.wrench.multipliers(engine, q, v)
        was, before = (engine.supervisor.mode, engine.supervisor.reason), engine.supervisor.last
        engine.supervisor.contact.behind = self.safeguards.behind
        if (last := self.transition.last) is not None:
            engine.supervisor.hold.commanded[engine.joints] = last
        beside = None if measured is None else engine.sensor.beside
        tau = engine.supervisor.torque(reader.stamp, q, v, measured, self.wrench.stamp, beside=beside)
        efforts[:] = tau[engine.joints]
        if (engine.supervisor.mode, engine.supervisor.reason) != was:
            self._say_mode(engine)
        normal = engine.normal
        if normal is not None and self.params.estimate_normal:
            normal.update(q, v, self.wrench.reading, 1e-9 * (reader.stamp - before))
        out = engine.supervisor.output
        if out is None or measured is None:
            return
        felt = measured - engine.supervisor.offset
        self._errors[0] = max(self._errors[0], float(np.abs(felt - engine.supervisor.force).max()))
        error = out.theta - engine.supervisor.motion.state()[0]
        self._errors[1] = max(self._errors[1], float(np.abs(error).max()))
        topic = self._task_state
        if topic is not None and topic.get_subscription_count():
            topic.publish(fill_task_state(topic.msg_type(), engine, felt, tilt=self.params.estimate_normal))

    def answered(self, engine: HybridEngine) -> None:
        if engine.normal is not None and engine.supervisor.engaged and self._surface.get_subscription_count():
            point, normal = engine.normal.touching(engine.reader.q)
            self._surface.publish(arrow(point, normal, engine.root, engine.reader.stamp))

    def silent(self, engine: HybridEngine, reason: str) -> None:
        engine.supervisor.hold_anew(f"silent: {reason}")

    def clock_was_set_back(self, engine: HybridEngine) -> None:
        engine.supervisor.stop("the clock was set back")
        self.wrench.stamp = 0

    # --- taking over from another node ------------------------------------------------------------

    def may_take_over(self) -> None:
        engine = self.engine
        if engine is None or not self.active:
            raise ValueError("the node is not active or has no robot")
        measured = self.wrench.multipliers(engine, engine.reader.q, engine.reader.v)
        engine.supervisor.may_continue(engine.reader.stamp, measured, self.wrench.stamp)

    def stands_by(self, engine: HybridEngine) -> None:
        engine.supervisor.hold_anew("standing by")

    def continue_from(self, engine: HybridEngine, last: Array, efforts: Array) -> Array:
        """Go on with another's last efforts: where the tool touches, it presses."""
        other = np.zeros(engine.model.nv)
        other[engine.joints] = last
        reader = engine.reader
        measured = self.wrench.multipliers(engine, reader.q, reader.v)
        rest = engine.supervisor.continue_from(reader.stamp, other, measured, self.wrench.stamp)
        self._say_mode(engine)
        return np.asarray(rest[engine.joints])

    # --- engaging ---------------------------------------------------------------------------------

    def _on_engage(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.poll()
        engine = self.engine
        try:
            if engine is None or not self.active:
                raise ValueError("the node is not active or has no robot")
            if self.lets_another_command:
                raise ValueError("another node commands: call ~/hand_over")
            if request.data:
                if self.in_command.reason:
                    raise ValueError(f"cannot engage: not in command: {self.in_command.reason}")
                check_gains(self.params, self.watching.period)
                now = engine.reader.stamp
                if abs(self.clock.now() - now) > 1e9 * self.params.state_timeout > 0.0:
                    raise ValueError("cannot engage: joint states are silent")
                measured = self.wrench.multipliers(engine, engine.reader.q, engine.reader.v)
                engine.supervisor.engage(now, measured, self.wrench.stamp)
            else:
                engine.supervisor.stop("by request")
            self._say_mode(engine)
            response.success, response.message = True, engine.supervisor.mode
        except (ValueError, ArithmeticError) as error:
            response.success, response.message = False, message_of(error)
        return response

    def _say_mode(self, engine: HybridEngine) -> None:
        supervisor = engine.supervisor
        text = supervisor.mode + (f": {supervisor.reason}" if supervisor.reason else "")
        if supervisor.engaged or supervisor.reason in ("by request", "standing by"):
            self.get_logger().info(text)
        else:  # a line of its own: a logger keeps to one severity a line
            self.get_logger().error(text)

    # --- desired motion and diagnostics -----------------------------------------------------------

    def moved(self, engine: HybridEngine) -> tuple[Array, Array]:
        out = engine.supervisor.output
        if not engine.supervisor.engaged or out is None:
            raise TrajectoryError("not engaged: call ~/engage first")
        return out.theta, out.rate

    def decoder(self, engine: HybridEngine) -> Decoder:
        return TaskDecoder()

    def motion_limits(self, engine: HybridEngine, now: int) -> MotionLimits:
        return limits_of_task(engine, self.params)

    def report(self, status: Status) -> None:
        engine = self.engine
        if engine is None:
            return
        supervisor = engine.supervisor
        status.values["mode"] = supervisor.mode
        status.values["task rows"] = ", ".join(engine.controller.task.row_names)
        if supervisor.offset.any():
            status.values["force in free motion"] = ", ".join(f"{x:.3g}" for x in supervisor.offset)
        if engine.normal is not None and self.params.estimate_normal:
            status.values["estimated normal"] = ", ".join(f"{x:.4f}" for x in engine.normal.normal)
            status.values["estimated tilt"] = f"{np.degrees(engine.normal.tilt):.2f} degrees"
        status.values["desired force"] = ", ".join(f"{x:.3g}" for x in supervisor.desired)
        if supervisor.engaged:
            for doubt in supervisor.contact.doubts():
                status.warn(doubt)
            status.values["desired motion"] = supervisor.motion.mode
            status.values["largest force error"] = f"{self._errors[0]:.3g}"
            status.values["largest tracking error"] = f"{self._errors[1]:.3g}"
        elif supervisor.reason not in AT_EASE:
            status.error(f"stopped: {supervisor.reason}")
        self._errors = [0.0, 0.0]


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(HybridControllerNode, HYBRID_CONTROLLER, args))


if __name__ == "__main__":
    main()
