# SPDX-License-Identifier: Apache-2.0
"""Node `hybrid_controller`: presses against surfaces with a wanted force and moves along them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.trajectory import TrajectoryError
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes import process
from rbd_dynamics.nodes.description import Progress, message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.hybrid_engine import Engine, apply, build_engine, check_force, task_of
from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER, HybridControllerParameters
from rbd_dynamics.nodes.messages import JOINT_STATES, nanoseconds
from rbd_dynamics.nodes.torque_node import TorqueNode

Array = NDArray[np.float64]


class Wrench:
    """The latest reading of the sensor."""

    def __init__(self) -> None:
        self.numbers = np.zeros(6)
        self.bias = np.zeros(6)
        self.stamp = 0  # ns
        self.problem = "no wrench received"

    def multipliers(self, engine: Engine, q: Array) -> Array | None:
        """Of the constraints; None before the first reading."""
        return engine.sensor.multipliers(q, self.numbers - self.bias) if self.stamp else None


class HybridControllerNode(TorqueNode[HybridControllerParameters, Engine]):
    """Holds the robot until `~/engage`, then presses and moves; every joint state is answered by efforts."""

    def __init__(self, **options: Any) -> None:
        self._wrench = Wrench()
        self._errors = [0.0, 0.0]  # largest of force and tracking since the last report
        super().__init__(HYBRID_CONTROLLER, **options)

    def build(self, model: Model, params: HybridControllerParameters, progress: Progress) -> Engine:
        return build_engine(model, params, progress)

    def adopt(self, engine: Engine) -> None:
        old = self.engine
        apply(engine, self.params)  # they may have changed meanwhile
        if old is not None:
            if old.reader.names == engine.reader.names:
                engine.reader = old.reader
            if old.supervisor.engaged:
                self.get_logger().warning("another robot or task: back to holding")
        if old is not None and old.controller.constraints.row_names == engine.controller.constraints.row_names:
            engine.supervisor.desired[:] = old.supervisor.desired
        else:
            engine.supervisor.desired[:] = self.params.desired_force or 0.0
        names = engine.reader.names
        self.prepare(engine, [names[k] for k in engine.joints])

    def open(self) -> None:
        super().open()
        self._task_state = self.publish_on(JointState, "~/task_state")
        self.subscribe(WrenchStamped, "wrench", self._on_wrench, JOINT_STATES)
        self.subscribe(WrenchStamped, "~/desired_wrench", self._on_desired_wrench)
        self.serve(SetBool, "~/engage", self._on_engage)
        self.serve(Trigger, "~/tare", self._on_tare)

    def activated(self) -> None:
        super().activated()
        if self.engine is not None:
            self.engine.supervisor.stop("activated anew")

    def needs_another(self, new: HybridControllerParameters) -> bool:
        old = self.params
        return (new.surface, new.constrained, new.controlled, new.law) != (
            old.surface, old.constrained, old.controlled, old.law,
        )  # fmt: skip

    def tune(self, engine: Engine, new: HybridControllerParameters) -> None:
        if self.building or self.needs_another(new):
            constraints, _ = task_of(new, engine.prefix).sets(engine.model)
            check_force(new.desired_force, constraints)  # what is wrong is said now; the rest is built aside
            if constraints.row_names != engine.controller.constraints.row_names:
                return
        else:
            apply(engine, new)
        if new.desired_force != self.params.desired_force:
            engine.supervisor.desired[:] = new.desired_force or 0.0

    # --- the hot path -----------------------------------------------------------------------------

    def commanded_joints(self, engine: Engine) -> slice | NDArray[np.intp]:
        return engine.joints

    def effort_limits(self, engine: Engine) -> Array:
        return engine.controller.effort_limits[engine.joints]

    def respond(self, engine: Engine, reader: JointStateReader, now: int, efforts: Array) -> None:
        q, v = reader.q, reader.v
        measured = self._wrench.multipliers(engine, q)
        was = engine.supervisor.mode
        tau = engine.supervisor.torque(reader.stamp, q, v, measured, self._wrench.stamp)
        efforts[:] = tau[engine.joints]
        if engine.supervisor.mode != was:
            self._say_mode(engine)
        out = engine.supervisor.output
        if out is None or measured is None:
            return
        self._errors[0] = max(self._errors[0], float(np.abs(measured - engine.supervisor.force).max()))
        error = out.theta - engine.supervisor.motion.state()[0]
        self._errors[1] = max(self._errors[1], float(np.abs(error).max()))
        if self._task_state.get_subscription_count():
            self._publish_task_state(engine, measured)

    def saturated(self, engine: Engine) -> NDArray[np.bool_]:
        out = engine.supervisor.output
        return np.zeros(len(engine.joints), dtype=bool) if out is None else (out.tau != out.wanted)[engine.joints]

    def clock_was_set_back(self, engine: Engine) -> None:
        engine.supervisor.stop("the clock was set back")
        self._wrench.stamp = 0

    def _publish_task_state(self, engine: Engine, measured: Array) -> None:
        """Task rows: value, velocity; constraint rows: violation, its rate, and multiplier as effort."""
        out, controller = engine.supervisor.output, engine.controller
        assert out is not None
        message = JointState(name=[*controller.task.row_names, *controller.constraints.row_names])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(engine.reader.stamp, 1_000_000_000)
        message.position = [*out.theta.tolist(), *out.h.tolist()]
        message.velocity = [*out.rate.tolist(), *out.drift.tolist()]
        message.effort = [*[0.0] * controller.k, *measured.tolist()]
        self._task_state.publish(message)

    # --- wrenches, engaging -----------------------------------------------------------------------

    def _on_wrench(self, message: WrenchStamped) -> None:
        numbers = self._numbers_of(message, "wrench")
        if numbers is not None:
            self._wrench.numbers[:] = numbers
            self._wrench.stamp = nanoseconds(message.header.stamp) or self.now()

    def _on_desired_wrench(self, message: WrenchStamped) -> None:
        engine = self.engine
        numbers = self._numbers_of(message, "desired wrench")
        if engine is None or numbers is None:
            return
        wanted = engine.sensor.multipliers(engine.reader.q, numbers).copy()
        problem = self._force_problem(engine, wanted)
        if problem:
            self.refuse(f"desired wrench refused: {problem}")
            return
        engine.supervisor.desired[:] = wanted

    def _numbers_of(self, message: WrenchStamped, what: str) -> Array | None:
        """(m, f) on the robot, in the sensor's frame; None, and a reason, where it cannot be used."""
        force, torque, frame = message.wrench.force, message.wrench.torque, message.header.frame_id
        numbers = np.array([torque.x, torque.y, torque.z, force.x, force.y, force.z])
        if not np.isfinite(numbers).all():
            self.refuse(f"{what} is not finite")
            return None
        if self.engine is not None and frame:
            expected = self.engine.prefix.outside(self.engine.sensor.frame)
            if frame != expected:
                self.refuse(f"{what} is in frame {frame!r}, expected {expected!r} (parameter sensor_frame)")
                return None
        return -numbers if self.params.wrench_of_robot else numbers

    @staticmethod
    def _force_problem(engine: Engine, wanted: Array) -> str:
        names = engine.controller.constraints.row_names
        most = engine.supervisor.limits.largest_force
        for k, value in enumerate(wanted):
            if abs(value) > most:
                return f"{names[k]} = {value:.3g} is more than largest_force ({most:g})"
            if engine.supervisor.unilateral[k] and value < 0.0:
                return f"{names[k]} = {value:.3g} would pull: a surface only pushes"
        return ""

    def _on_engage(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.poll()
        engine = self.engine
        try:
            if engine is None or not self.active:
                raise ValueError("the node is not active or has no robot")
            if request.data:
                now = engine.reader.stamp
                if abs(self.now() - now) > 1e9 * self.params.state_timeout > 0.0:
                    raise ValueError("cannot engage: joint states are silent")
                measured = self._wrench.multipliers(engine, engine.reader.q)
                engine.supervisor.engage(now, measured, self._wrench.stamp)
            else:
                engine.supervisor.stop("by request")
            self._say_mode(engine)
            response.success, response.message = True, engine.supervisor.mode
        except (ValueError, ArithmeticError) as error:
            response.success, response.message = False, message_of(error)
        return response

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._wrench.stamp:
            response.success, response.message = False, "no wrench received"
        elif self.engine is not None and self.engine.supervisor.engaged:
            response.success, response.message = False, "not while engaged"
        else:
            self._wrench.bias[:] = self._wrench.numbers
            response.success, response.message = True, f"zero is now {self._wrench.bias.round(3).tolist()}"
        return response

    def _say_mode(self, engine: Engine) -> None:
        supervisor = engine.supervisor
        text = supervisor.mode + (f": {supervisor.reason}" if supervisor.reason else "")
        if supervisor.engaged or supervisor.reason == "by request":
            self.get_logger().info(text)
        else:  # a line of its own: a logger keeps to one severity a line
            self.get_logger().error(text)

    # --- desired motion and diagnostics -----------------------------------------------------------

    def take_motion(self, engine: Engine, message: JointTrajectory) -> None:
        supervisor = engine.supervisor
        out = supervisor.output
        if not supervisor.engaged or out is None:
            raise TrajectoryError("not engaged: call ~/engage first")
        waypoints = self.single_set_point(engine, message, {})
        if waypoints is not None:
            stamp = engine.reader.stamp
            start = nanoseconds(message.header.stamp) or stamp
            supervisor.motion.follow(waypoints, start, stamp, out.theta, out.rate)

    def report(self, status: Status) -> None:
        super().report(status)
        engine = self.engine
        if engine is None:
            return
        supervisor = engine.supervisor
        status.values["mode"] = supervisor.mode
        status.values["task rows"] = ", ".join(engine.controller.task.row_names)
        status.values["desired force"] = ", ".join(f"{x:.3g}" for x in supervisor.desired)
        if supervisor.engaged:
            status.values["desired motion"] = supervisor.motion.mode
            status.values["largest force error"] = f"{self._errors[0]:.3g}"
            status.values["largest tracking error"] = f"{self._errors[1]:.3g}"
        elif supervisor.reason not in ("not engaged", "by request", "activated anew"):
            status.error(f"stopped: {supervisor.reason}")
        self._errors = [0.0, 0.0]


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(process.run(HybridControllerNode, args))


if __name__ == "__main__":
    main()
