# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: joint states and a desired motion in, torques out, at the rate of the joint states."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.desired_motion import DesiredMotion
from rbd_dynamics.control.feedforward import Feedforward
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes import process
from rbd_dynamics.nodes.description import Prefix, Progress
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD, FeedforwardParameters
from rbd_dynamics.nodes.messages import nanoseconds
from rbd_dynamics.nodes.torque_node import TorqueNode
from rbd_dynamics.robot import Robot


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
    limits: dict[str, tuple[float, float]]  # of their positions


class FeedforwardNode(TorqueNode[FeedforwardParameters, Engine]):
    """Every complete joint state is answered by one effort message, or by none and a reason."""

    def __init__(self, **options: Any) -> None:
        super().__init__(FEEDFORWARD, **options)

    def build(self, model: Model, params: FeedforwardParameters, progress: Progress) -> Engine:
        prefix = Prefix(params.tf_prefix, model)
        robot = Robot(model)
        joints = [prefix.inside(name) for name in params.joints]
        progress("feedforward", 1, 1)
        controller = Feedforward(robot, joints=joints)
        _tune(controller, params)
        initial = model.start_position()
        outside = [prefix.outside(name) for name in model.joint_names]
        required = [prefix.outside(name) for name in controller.joints]
        reader = JointStateReader(outside, required, missing_velocity=params.missing_velocity, initial=initial)
        motion = DesiredMotion(required, continuous=controller.continuous, options=params.motion_options)
        controller.compute(reader.q, reader.v, motion.motion, motion.since)  # the first call, out of the way
        whole = controller.joints == tuple(model.joint_names)
        limits = {
            prefix.outside(joint.name): (joint.limits.lower, joint.limits.upper)
            for joint in map(model.joint, controller.joints)
            if joint.kind.name != "continuous"
        }
        controlled = slice(None) if whole else controller.index
        return Engine(model, robot, controller, reader, motion, prefix, controlled, limits)

    def adopt(self, engine: Engine) -> None:
        old = self.engine
        if old is not None and old.motion.joints == engine.motion.joints:
            engine.motion = old.motion  # the same joints: go on with what they do
        if old is not None and old.reader.names == engine.reader.names:
            engine.reader = old.reader
        _tune(engine.controller, self.params)  # they may have changed meanwhile
        self.prepare(engine, engine.motion.joints)

    def activated(self) -> None:
        super().activated()
        if self.engine is not None:
            self.engine.motion.release()

    def tune(self, engine: Engine, new: FeedforwardParameters) -> None:
        _tune(engine.controller, new)
        engine.motion.options = new.motion_options

    def commanded_joints(self, engine: Engine) -> slice | NDArray[np.intp]:
        return engine.controlled

    def effort_limits(self, engine: Engine) -> NDArray[np.float64]:
        return engine.controller.effort_limits

    def respond(self, engine: Engine, reader: JointStateReader, now: int, efforts: NDArray[np.float64]) -> None:
        q, v, motion = reader.q, reader.v, engine.motion
        motion.update(reader.stamp, q[engine.controlled], v[engine.controlled])
        engine.controller.compute(q, v, motion.motion, motion.since, out=efforts)

    def saturated(self, engine: Engine) -> NDArray[np.bool_]:
        return engine.controller.saturated

    def clock_was_set_back(self, engine: Engine) -> None:
        engine.motion.release()

    def take_motion(self, engine: Engine, message: JointTrajectory) -> None:
        reader, where = engine.reader, engine.controlled
        waypoints = self.single_set_point(engine, message, engine.limits)
        if waypoints is not None:
            start = nanoseconds(message.header.stamp) or reader.stamp
            engine.motion.follow(waypoints, start, reader.stamp, reader.q[where], reader.v[where])

    def report(self, status: Status) -> None:
        super().report(status)
        if self.engine is not None:
            status.values["desired motion"] = self.engine.motion.mode


def _tune(controller: Feedforward, params: FeedforwardParameters) -> None:
    """What may change while it runs. Raises ValueError, and then changes nothing."""
    controller.tune(
        params.terms,
        evaluate_at=params.evaluate_at,
        kp=params.kp,
        kd=params.kd,
        effort_limits=params.effort_limits,
        law=params.law,
    )


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the executable."""
    sys.exit(process.run(FeedforwardNode, args))


if __name__ == "__main__":
    main()
