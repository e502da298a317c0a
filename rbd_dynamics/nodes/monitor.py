# SPDX-License-Identifier: Apache-2.0
"""Node `monitor`: joint states in; what the model gets wrong, external torques and contact out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from rbd_dynamics.control.contact.detector import BREAKAWAY
from rbd_dynamics.control.contact.residual_monitor import ResidualMonitor
from rbd_dynamics.control.contact.wrench_monitor import WrenchMonitor
from rbd_dynamics.control.feedforward import per_joint, single_freedom_indices
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.monitor import MONITOR, MonitorParameters
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import LATCHED, OBSERVED_STATES, RECORDED, nanoseconds
from rbd_dynamics.nodes.managed.payload import PayloadService
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
WRENCH_PERIOD = 10_000_000  # ns, of the external wrench


@dataclass
class MonitorEngine:
    """Everything about one robot model."""

    model: Model
    robot: Robot
    monitor: ResidualMonitor
    reader: JointStateReader
    prefix: Prefix
    monitored: NDArray[np.intp]  # degrees of freedom, in the order of `joints`
    names: list[str]  # of these
    wrench: WrenchMonitor | None  # at the parameter `wrench_frame`, where there is one


class MonitorNode(ManagedNode[MonitorParameters, MonitorEngine]):
    """Every complete joint state is answered by residuals and external torques, once there are any."""

    BUILT: ClassVar = dict.fromkeys(
        (
            "terms", "cutoff", "observer_rate", "contact_thresholds", "contact_breakaway", "contact_duration",
            "longest_gap", "wrench_frame",
        ),
        (),
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__(MONITOR, **options)
        self.payload: PayloadService[MonitorEngine] = PayloadService(self, lambda engine: [engine.robot])
        self.parts.append(self.payload)
        self._states = 0  # since the last report
        self._restarts = 0
        self._said: bool | None = None  # about contact
        self._effort_names: list[str] | None = None

    @staticmethod
    def build(model: Model, params: MonitorParameters, progress: Progress) -> MonitorEngine:
        prefix = Prefix(params.tf_prefix, model)
        robot = Robot(model)
        names = [prefix.inside(name) for name in params.joints] or list(model.joint_names)
        monitored = single_freedom_indices(robot, names)
        thresholds, breakaway = np.full(model.nv, np.inf), np.zeros(model.nv)
        thresholds[monitored] = _thresholds(params, names)
        breakaway[monitored] = _breakaway(params, model, names)
        progress("residual_monitor", 1, 1)
        monitor = ResidualMonitor(
            robot, terms=params.terms, cutoff=params.cutoff, observer_rate=params.observer_rate,
            thresholds=thresholds, breakaway=breakaway, contact_duration=params.contact_duration,
            longest_gap=params.longest_gap,
        )  # fmt: skip
        # the first calls, out of the way
        rest = np.zeros(model.nv)
        for time in (0.0, 1e-3):
            monitor.update(model.start_position(), rest, rest, time)
        monitor.reset()
        outside = [prefix.outside(name) for name in model.joint_names]
        required = [prefix.outside(name) for name in names]
        reader = JointStateReader(
            outside, required, missing_velocity=params.missing_velocity, initial=model.start_position(),
            longest_age=params.longest_gap,
        )  # fmt: skip
        wrench = None
        if params.wrench_frame:
            counts = np.zeros(model.nv, dtype=bool)
            counts[monitored] = True
            try:
                wrench = WrenchMonitor(robot, prefix.inside(params.wrench_frame), counts=counts)
            except (KeyError, ValueError) as error:
                raise ValueError(f"parameter 'wrench_frame': {message_of(error)}") from None
        return MonitorEngine(model, robot, monitor, reader, prefix, monitored, required, wrench)

    def adopt(self, engine: MonitorEngine) -> None:
        self.payload.move_to(engine)
        self._efforts = np.full(engine.model.nv, np.nan)
        self._squares, self._samples = np.zeros(engine.model.nv), np.zeros(engine.model.nv)
        self._effort_names = None
        self._restarts = 0

    def open(self) -> None:
        self._residual = self.entities.publish_on(JointState, "~/residual", RECORDED)
        self._external = self.entities.publish_on(JointState, "~/external_torque", RECORDED)
        self._contact = self.entities.publish_on(Bool, "~/contact", LATCHED)
        self._open_wrench()
        self._said = None
        self.entities.subscribe(JointState, "joint_states", self._on_joint_state, OBSERVED_STATES)

    def _open_wrench(self) -> None:
        self._wrench: Publisher | None = None
        self._wrench_stamp = self._torque_stamp = 0  # ns, of the last one, and of the last torques
        try:
            from rbd_dynamics_interfaces.msg import WrenchEstimate
        except ImportError:  # the node works without it
            self.get_logger().warning("rbd_dynamics_interfaces is not built: no topic external_wrench")
        else:
            self._wrench = self.entities.publish_on(WrenchEstimate, "~/external_wrench", RECORDED)

    def parameters_changed(self, engine: MonitorEngine, new: MonitorParameters) -> None:
        _thresholds(new, engine.names)  # what is wrong is said now; the rest is built aside
        _breakaway(new, engine.model, [engine.prefix.inside(name) for name in engine.names])

    def activated(self) -> None:
        if self.engine is not None:
            self.engine.monitor.reset()

    # --- the hot path -----------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState) -> None:
        if self.building:
            self.poll()
        engine = self.engine
        if engine is None or not self.active:
            return
        stamp = nanoseconds(message.header.stamp)
        if stamp == 0:
            self.refuse("joint state without a stamp: when it was measured must be known")
            return
        if not self._take_efforts(engine, message):
            return
        reader = engine.reader
        if not reader.read(message.name, message.position, message.velocity, stamp):
            self.refuse(reader.problem)
            return
        if not np.isfinite(self._efforts[engine.monitored]).any():
            self.refuse("joint state has no efforts of the monitored joints")
            return
        try:
            valid = engine.monitor.update(reader.q, reader.v, self._efforts, 1e-9 * stamp)
        except (ValueError, ArithmeticError) as error:
            self.refuse(f"no residual: {error}")
            return
        self._states += 1
        if valid:
            self._publish(engine, message)
        if engine.wrench is not None:
            self._tell_wrench(engine, engine.wrench, stamp)
        self._say_contact(engine.monitor)

    def _take_efforts(self, engine: MonitorEngine, message: JointState) -> bool:
        """Sort measured efforts by name into robot order; they count until the next message that names the joint."""
        if message.name != self._effort_names:
            index = {name: k for k, name in enumerate(engine.reader.names)}
            found = [(k, index[name]) for k, name in enumerate(message.name) if name in index]
            self._sources = np.array([source for source, _ in found], dtype=np.intp)
            self._targets = np.array([target for _, target in found], dtype=np.intp)
            self._effort_names = list(message.name)
        count = len(message.effort)
        if count not in (0, len(message.name)):
            self.refuse(f"joint state has {count} efforts for {len(message.name)} joints")
            return False
        efforts = np.asarray(message.effort, dtype=float)[self._sources] if count else np.nan
        self._efforts[self._targets] = np.where(np.isfinite(efforts), efforts, np.nan)
        return True

    def _publish(self, engine: MonitorEngine, state: JointState) -> None:
        monitor, where = engine.monitor, engine.monitored
        if monitor.ready:
            residual = monitor.residual[where]
            known = np.isfinite(residual)
            self._squares[where] += np.where(known, residual, 0.0) ** 2
            self._samples[where] += known
            self._send(self._residual, engine, state, residual)
        self._send(self._external, engine, state, monitor.external[where])

    def _send(self, publisher: Publisher, engine: MonitorEngine, state: JointState, values: Array) -> None:
        """Publish the numbers of the joints that have one, under the stamp of the state."""
        known = np.isfinite(values)
        message = JointState()
        message.header.stamp = state.header.stamp
        message.name = [name for name, there in zip(engine.names, known) if there]
        message.effort = values[known].tolist()
        publisher.publish(message)

    def _tell_wrench(self, engine: MonitorEngine, wrench: WrenchMonitor, stamp: int) -> None:
        """The external wrench, where anybody listens and external torques are valid."""
        monitor = engine.monitor
        if not monitor.settled:
            wrench.reset()
            self._wrench_stamp = self._torque_stamp = stamp
            return
        wrench.take(engine.reader.q, monitor.external, 1e-9 * (stamp - self._torque_stamp))
        self._torque_stamp = stamp
        topic, due = self._wrench, stamp - self._wrench_stamp >= WRENCH_PERIOD
        if topic is None or not due or not topic.get_subscription_count():
            return
        self._wrench_stamp = stamp
        try:
            found = wrench.wrench(engine.reader.q, monitor.external)
        except (ValueError, ArithmeticError) as error:
            return self.refuse(f"no external wrench: {error}")
        order = [3, 4, 5, 0, 1, 2]  # as messages have it: forces first
        message = topic.msg_type()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        message.header.frame_id = engine.prefix.outside(wrench.frame)
        moment, force = found.wrench[:3].tolist(), found.wrench[3:].tolist()
        message.wrench.torque.x, message.wrench.torque.y, message.wrench.torque.z = moment
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
        message.told = found.told[order].tolist()
        message.covariance = found.covariance[np.ix_(order, order)].ravel()
        topic.publish(message)

    def _say_contact(self, monitor: ResidualMonitor) -> None:
        """Say on change, and once at the beginning; never where there are no thresholds."""
        if not detects(monitor) or monitor.contact == self._said:
            return
        self._said = monitor.contact
        self._contact.publish(Bool(data=monitor.contact))

    # --- diagnostics ------------------------------------------------------------------------------

    def report(self, status: Status) -> None:
        status.values["joint states per second"] = self._states
        engine = self.engine
        if engine is None:
            return
        monitor = engine.monitor
        if self.active and not self._states:
            status.error("nothing to monitor" + ("" if self.entities.refused else ": no joint states arrive"))
        silent = [name for name, k in zip(engine.names, engine.monitored) if not np.isfinite(self._efforts[k])]
        if self._states and silent:
            status.warn(f"no efforts of {', '.join(silent)}")
        if engine.reader.differentiated:
            status.warn(f"no measured velocity, found by differentiation: {', '.join(engine.reader.differentiated)}")
        if monitor.restarts > self._restarts:
            gaps = monitor.restarts - self._restarts
            status.warn(
                f"began anew {gaps} times: gaps of more than {monitor.longest_gap:g} s, the clock was set back, the "
                "state jumped, or brakes held"
            )
        self._restarts = monitor.restarts
        status.values["contact"] = monitor.contact if detects(monitor) else "unknown: no contact_thresholds are given"
        status.values["brakes hold"] = monitor.braked
        status.values["residual's delay, s"] = f"{monitor.delay:.3g}"
        rms = np.sqrt(self._squares / np.maximum(self._samples, 1.0))
        for name, k in zip(engine.names, engine.monitored):
            if self._samples[k]:
                status.values[f"{name}: rms residual"] = f"{rms[k]:.4g}"
            if np.isfinite(monitor.external[k]):
                status.values[f"{name}: external torque"] = f"{monitor.external[k]:.4g}"
        self._squares[:], self._samples[:], self._states = 0.0, 0.0, 0


def detects(monitor: ResidualMonitor) -> bool:
    """Whether some joint has a threshold of contact."""
    return bool(np.isfinite(monitor.detector.thresholds).any())


def _thresholds(params: MonitorParameters, names: Sequence[str]) -> Array:
    """Thresholds of the monitored joints; infinite where none is given. Raises ValueError."""
    given = per_joint("contact_thresholds", params.contact_thresholds, names)
    return np.where(given > 0.0, given, np.inf)


def _breakaway(params: MonitorParameters, model: Model, names: Sequence[str]) -> Array:
    """Breakaway torques of the monitored joints. Raises ValueError."""
    if params.contact_breakaway:
        return per_joint("contact_breakaway", params.contact_breakaway, names)
    joints = {joint.name: joint for joint in model.joints}
    return BREAKAWAY * np.array([joints[name].friction for name in names])


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(MonitorNode, MONITOR, args))


if __name__ == "__main__":
    main()
