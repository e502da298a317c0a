# SPDX-License-Identifier: Apache-2.0
"""What a robot is wanted to do, by trajectories and goals: messages in, plans taken over, motions that end."""

from __future__ import annotations

import importlib
from typing import Any, Generic, Protocol

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.goal import MotionGoal
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.trajectory import Point, TrajectoryError, Waypoints
from rbd_dynamics.control.motion.trajectory_message import Decoder
from rbd_dynamics.nodes.commanding.node_clock import NodeClock
from rbd_dynamics.nodes.managed.description_text import message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.engines import T
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import SECOND
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.torque import follow_action
from rbd_dynamics.nodes.torque.follow_action import Moment
from rbd_dynamics.nodes.torque.motion_input import MotionInput, Scene, most_bytes
from rbd_dynamics.nodes.torque.motion_record import MOTION, NO_ROBOT, PLANNED, MotionRecord

Array = NDArray[np.float64]
FRESH = SECOND // 2  # ns without a state after which no trajectory begins
LOOK = 0.02  # s: how often it is looked what has become of goals
TOLERANCES = 1024  # bytes of a goal's tolerances, for each joint
LARGEST = 1 << 62  # bytes: trajectories are measured by their points


class Mover(Protocol):
    """What is asked of the node."""

    trajectories: tuple[type, str]  # where trajectories come, and as what

    def may_move(self) -> None:
        """Raise TrajectoryError where no motion may begin now."""

    def moved(self, engine: Any) -> tuple[Array, Array]:
        """Measured position and velocity of what trajectories move. Raises TrajectoryError where there is none."""

    def decoder(self, engine: Any) -> Decoder:
        """What reads trajectories, for a motion that begins now."""

    def motion_limits(self, engine: Any, now: int) -> MotionLimits:
        """What trajectories may not exceed."""


class Motions(Part, Generic[T]):
    """The motions of a torque node.

    Attributes:
        last_arrival: of a state that was answered, ns.
    """

    def __init__(self, node: ManagedNode[Any, T], mover: Mover, clock: NodeClock) -> None:
        self._node, self._mover, self._clock = node, mover, clock
        self._record = MotionRecord(lambda text: node.get_logger().info(text))
        self._input = MotionInput(self._record.take, self._refuse)
        self.last_arrival = 0
        self._said = ""  # the problem of the motion

    # --- the life of the node ---------------------------------------------------------------------

    def open(self) -> None:
        entities, (kind, topic) = self._node.entities, self._mover.trajectories
        entities.subscribe(kind, topic, self._on_trajectory, raw=True, largest=lambda: LARGEST)
        self._input.open()
        entities.keep(self._input, MotionInput.close)

    def activated(self) -> None:
        self._input.abandon()

    def answered(self, now: int) -> None:
        """Say what has become of the motion, and take over what is planned."""
        self.last_arrival = now
        engine = self._node.description.engine
        if engine is None:
            return
        self._record.look(engine.motion, lambda: self._mover.moved(engine)[0])
        if engine.motion.problem != self._said:
            self._said = engine.motion.problem
            if self._said:
                self._node.get_logger().error(self._said)
        if self._input.planning:
            self._take_plan(engine)

    def silent(self, reason: str) -> None:
        self.refuse_plan(reason)
        self._record.lose(reason)

    def close(self) -> None:
        self._input.close()

    def poll(self) -> None:
        """Take over what is planned, where no states come."""
        engine = self._node.engine
        if self._input.planning and engine is not None and self._node.active:
            self._take_plan(engine)

    def report(self, status: Status) -> None:
        engine = self._node.engine
        self._record.report(status, engine.motion if engine is not None else None)
        if engine is None:
            return
        if engine.motion.problem:
            status.error(engine.motion.problem)
        if self._input.planning:
            status.values[MOTION] = PLANNED

    # --- trajectories and set-points --------------------------------------------------------------

    @property
    def planning(self) -> bool:
        """A trajectory is being planned."""
        return self._input.planning

    @property
    def seen_of_late(self) -> bool:
        """There are joint states to start from."""
        return self._clock.now() - self.last_arrival <= FRESH

    def abandon(self) -> None:
        """What is being planned is not wanted any more."""
        self._input.abandon()

    def refuse_plan(self, why: str) -> None:
        """What is being planned will not be followed."""
        if self._input.planning:
            self._refuse(why)
        self._input.abandon(why)

    def set_point(self, point: Point) -> None:
        """Go to a point of all joints at once. Raises TrajectoryError, and then changes nothing."""
        self._node.poll()
        engine, now, fresh = self._ready()
        self._input.take_set_point(Waypoints.of(engine.motion.joints, [point]), self._scene(engine), now, fresh)

    def _on_trajectory(self, raw: bytes) -> None:
        self._node.poll()
        try:
            engine, now, fresh = self._ready()
            decode, largest = self._mover.decoder(engine), self._node.params.largest_trajectory
            self._input.take(raw, self._scene(engine), largest, now, fresh, decode=decode)
        except TrajectoryError as error:
            self._refuse(message_of(error))

    def _refuse(self, why: str) -> None:
        self._record.refuse(why)
        self._node.refuse(f"trajectory refused: {why}")

    def _ready(self) -> tuple[T, int, bool]:
        """The engine, the time in ns, and whether the robot has been seen of late. Raises TrajectoryError."""
        engine = self._node.engine
        if engine is None or not self._node.active:
            raise TrajectoryError(NO_ROBOT)
        self._mover.may_move()
        return engine, self._clock.now(), bool(engine.reader.stamp) and self.seen_of_late

    def _scene(self, engine: T) -> Scene:
        now = engine.reader.stamp
        q, v = self._mover.moved(engine)
        return Scene(engine.motion, self._mover.motion_limits(engine, now), q, v, now)

    def _take_plan(self, engine: T) -> None:
        """A trajectory was planned aside."""
        try:
            self._input.poll(self._scene(engine))
        except TrajectoryError as error:
            self.refuse_plan(message_of(error))

    # --- goals of an action -----------------------------------------------------------------------

    def offer_action(self) -> None:
        """Trajectories also come as goals, where control_msgs is installed."""
        node = self._node
        try:
            kind = importlib.import_module("control_msgs.action").FollowJointTrajectory
        except ImportError:
            node.get_logger().info(f"no action {follow_action.NAME}: control_msgs is not installed")
            return
        action = follow_action.FollowAction(
            node.entities.inputs, kind, begin=self._begin_goal, stop=self._stop_goal, moment=self._moment_of,
            refuse=node.refuse, largest=self._largest_goal,
        )  # fmt: skip
        node.entities.keep(action, follow_action.FollowAction.destroy)
        node.entities.every(LOOK, action.look)

    def _begin_goal(self, raw: bytes, goal: MotionGoal) -> None:
        """Raises TrajectoryError."""
        self._node.poll()
        engine, _, fresh = self._ready()
        self._input.take_goal(raw, self._scene(engine), self._node.params.largest_trajectory, fresh, goal)

    def _stop_goal(self, goal: MotionGoal) -> None:
        self._input.cancel(goal)
        if self._node.engine is not None:
            self._node.engine.motion.cancel(goal)

    def _moment_of(self, goal: MotionGoal) -> Moment | None:
        engine = self._node.engine
        if engine is None or engine.motion.goal is not goal:
            return None
        motion, measured = engine.motion, np.array(self._mover.moved(engine))
        moment = Moment(motion.joints, motion.state(), measured, engine.reader.stamp)
        moment.time, to_come = motion.elapsed()
        moment.index = max(0, min(goal.points - to_come, goal.points - 1))
        return moment

    def _largest_goal(self) -> int:
        engine = self._node.engine
        joints = len(engine.motion.joints) if engine is not None else 0
        return most_bytes(joints, self._node.params.largest_trajectory) + TOLERANCES * (joints + 1)
