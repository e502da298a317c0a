# SPDX-License-Identifier: Apache-2.0
"""Node `trajectory_proxy`: trajectories on their way to a joint_trajectory_controller are checked and completed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.motion.tolerances import difference
from rbd_dynamics.control.motion.trajectory import Point, TrajectoryError, UnknownJointError, Waypoints
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.trajectory_proxy import TRAJECTORY_PROXY, TrajectoryProxyParameters
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress, message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import JOINT_STATES, SECOND, flat, points_of
from rbd_dynamics.nodes.managed.payload import PayloadService
from rbd_dynamics.nodes.process.run import run
from rbd_dynamics.nodes.proxy.proxy_action import ProxyAction, Ready
from rbd_dynamics.nodes.torque.motions import LARGEST
from rbd_dynamics.robot import Robot
from rbd_dynamics.trajectories.prepared import Prepared, TrajectoryPreparer

KERNELS = ("inverse_dynamics", "gravity", "springs", "friction", "mass_matrix")


@dataclass
class ProxyEngine:
    """Everything about one robot model."""

    model: Model
    robot: Robot
    prefix: Prefix
    reader: JointStateReader


class TrajectoryProxyNode(ManagedNode[TrajectoryProxyParameters, ProxyEngine]):
    """Each trajectory is passed on, complete and within the limits, or refused with a reason."""

    def __init__(self, **options: Any) -> None:
        super().__init__(TRAJECTORY_PROXY, **options)
        self.payload: PayloadService[ProxyEngine] = PayloadService(self, lambda engine: [engine.robot])
        self.action = ProxyAction(self, self.ready)
        self.parts += [self.payload, self.action]
        self._passed_on = 0  # of the topic

    @staticmethod
    def build(model: Model, params: TrajectoryProxyParameters, progress: Progress) -> ProxyEngine:
        robot = Robot(model)
        robot.compile(*KERNELS, progress=progress)
        prefix = Prefix(params.tf_prefix, model)
        outside = [prefix.outside(name) for name in model.joint_names]
        reader = JointStateReader(outside, [], initial=model.start_position())
        engine = ProxyEngine(model, robot, prefix, reader)
        _preparer(engine, params, outside, model.start_position())  # are the limits of so many joints?
        return engine

    def adopt(self, engine: ProxyEngine) -> None:
        self.payload.move_to(engine)
        if self.engine is not None and self.engine.reader.names == engine.reader.names:
            engine.reader = self.engine.reader  # the same joints: they stand where they stood

    def parameters_changed(self, engine: ProxyEngine, new: TrajectoryProxyParameters) -> None:
        _preparer(engine, new, [engine.prefix.outside(name) for name in engine.model.joint_names], engine.reader.q)

    def open(self) -> None:
        controller = self.params.controller
        self._topic = self.entities.publish_on(JointTrajectory, f"{controller}/joint_trajectory")
        self.entities.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, largest=lambda: LARGEST)
        self.entities.subscribe(JointState, "joint_states", self._on_joint_state, JOINT_STATES)

    # --- trajectories -----------------------------------------------------------------------------

    def ready(self, trajectory: JointTrajectory) -> Ready:
        """What is passed on of a trajectory. Raises TrajectoryError."""
        self.poll()
        engine, params = self.engine, self.params
        if engine is None or not self.active:
            raise TrajectoryError("the node is not active or has no robot")
        if len(trajectory.points) > params.largest_trajectory:
            raise TrajectoryError(
                f"the trajectory has {len(trajectory.points)} points: more than largest_trajectory "
                f"({params.largest_trajectory})"
            )
        names = list(trajectory.joint_names)
        known = set(engine.reader.names)
        for name in names:
            if name not in known:
                raise UnknownJointError(f"joint {name!r} is not one of {', '.join(engine.reader.names)}")
        points = points_of(trajectory)
        measured = self._starts_later(engine, names, points)
        if measured is not None:
            points.insert(0, measured)
        waypoints = Waypoints.of(names, points)
        try:
            prepared = _preparer(engine, params, names, _where(engine, names)).prepare(waypoints)
        except ArithmeticError as error:
            raise TrajectoryError(message_of(error)) from None
        return _ready(trajectory, prepared, added=measured is not None)

    @staticmethod
    def _starts_later(engine: ProxyEngine, names: Sequence[str], points: Sequence[Point]) -> Point | None:
        """The robot's point at time zero, if the trajectory has none: the controller's own has no efforts."""
        reader = engine.reader
        index = [reader.names.index(name) for name in names]
        if not points or points[0].time <= 0.0 or not reader.seen[index].all():
            return None
        complete = len(points[0].velocities) == len(names)
        velocities = reader.v[index].tolist() if complete else ()
        here = reader.q[index]
        if len(points[0].positions) == len(names):  # what turns for ever goes to its first point by the short way
            turning = np.array(
                [engine.model.joint(engine.prefix.inside(name)).kind.name == "continuous" for name in names]
            )
            first = np.array(points[0].positions)
            here = first - difference(first, here, turning)
        return Point(0.0, here.tolist(), velocities)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            ready = self.ready(message)
        except TrajectoryError as error:
            self.refuse(f"trajectory refused: {message_of(error)}")
            return
        efforts = self.params.efforts == "always"  # nobody waits: the controller is not asked
        self._topic.publish(ready.message if efforts else ready.without_efforts())
        self._passed_on += 1

    def _on_joint_state(self, message: JointState) -> None:
        """Remember where joints are that a trajectory does not name."""
        if self.engine is not None:
            now = self.get_clock().now().nanoseconds
            self.engine.reader.read(message.name, message.position, message.velocity, now)

    def report(self, status: Status) -> None:
        status.values["trajectories passed on"] = self._passed_on + self.action.passed_on


def _preparer(
    engine: ProxyEngine, params: TrajectoryProxyParameters, names: Sequence[str], q: Any
) -> TrajectoryPreparer:
    """A preparer for joints as messages name them. Raises ValueError."""
    joints = [engine.prefix.inside(name) for name in names]
    options = params.preparation
    if len(names) < len(engine.reader.names):  # limits are of all joints
        place = [engine.reader.names.index(name) for name in names]
        some: dict[str, Any] = {
            what: tuple(given[k] for k in place)
            for what in ("velocity_limits", "acceleration_limits", "effort_limits")
            if len(given := getattr(options, what)) == len(engine.reader.names) > 1
        }
        options = replace(options, **some)
    return TrajectoryPreparer(engine.robot, joints, names, q, options)


def _where(engine: ProxyEngine, names: Sequence[str]) -> Any:
    """Positions of the joints that a trajectory does not move. Raises TrajectoryError for one that was never seen."""
    reader = engine.reader
    missing = [name for k, name in enumerate(reader.names) if name not in names and not reader.seen[k]]
    if missing:
        raise TrajectoryError(f"joint {missing[0]!r} is not in the trajectory, and no joint state has told where it is")
    return np.array(reader.q)


def _ready(trajectory: JointTrajectory, prepared: Prepared, *, added: bool) -> Ready:
    """added: the first point is not one of the original's."""
    points = prepared.waypoints
    message = JointTrajectory(header=trajectory.header, joint_names=trajectory.joint_names)
    kind = type(trajectory.points[0])
    for k, time in enumerate(points.times):
        point = kind(
            positions=flat(points.positions[k]), velocities=flat(points.velocities[k]),
            accelerations=flat(points.accelerations[k]), effort=flat(prepared.efforts[k]),
        )  # fmt: skip
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(float(time) * SECOND), SECOND)
        message.points.append(point)
    places = np.maximum(prepared.places - added, 0).tolist()
    return Ready(message, places, prepared.slowdown)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(run(TrajectoryProxyNode, TRAJECTORY_PROXY, args))


if __name__ == "__main__":
    main()
