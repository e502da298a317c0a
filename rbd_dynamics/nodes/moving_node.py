# SPDX-License-Identifier: Apache-2.0
"""What nodes whose robots follow trajectories have in common: messages in, plans taken over, motions that end."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.motion.goal import MotionGoal
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.motion.trajectory_message import Decoder, decoded
from rbd_dynamics.nodes import follow_action
from rbd_dynamics.nodes.description import message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import T
from rbd_dynamics.nodes.follow_action import Moment
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.messages import SECOND
from rbd_dynamics.nodes.motion_input import MotionInput, Scene, most_bytes
from rbd_dynamics.nodes.motion_record import MOTION, PLANNED, MotionRecord
from rbd_dynamics.nodes.watched_node import WatchedNode

P = TypeVar("P", bound=TorqueParameters)
FRESH = SECOND // 2  # ns without a state after which no trajectory begins
TOLERANCES = 1024  # bytes of a goal's tolerances, for each joint
LARGEST = 1 << 62  # bytes: trajectories are measured by their points


class MovingNode(WatchedNode[P, T]):
    """Subclasses call `_moved_on` after each answer."""

    #: where trajectories come, and as what
    trajectories: tuple[type, str] = (JointTrajectory, "~/joint_trajectory")

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._record = MotionRecord(self.get_logger().info)
        self._motions = MotionInput(self._record.take, self._refuse_trajectory)
        self._last_arrival = 0  # of a state that was answered, ns
        self._said = ""  # the problem of the motion
        self._action: follow_action.FollowAction | None = None

    # --- what a node says about itself ------------------------------------------------------------

    def clock_was_set_back(self, engine: T) -> None:
        """Forget what was planned."""

    def moved(self, engine: T) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Measured position and velocity of what trajectories move. Raises TrajectoryError where there is none."""
        raise NotImplementedError

    def decoder(self, engine: T) -> Decoder:
        """What reads trajectories, for a motion that begins now."""
        return decoded

    def motion_limits(self, engine: T, now: int) -> MotionLimits:
        """What trajectories may not exceed."""
        raise NotImplementedError

    # --- life cycle -------------------------------------------------------------------------------

    def open(self) -> None:
        super().open()
        self.subscribe(*self.trajectories, self._on_trajectory, raw=True, largest=lambda: LARGEST)
        self._motions.open()
        self.keep(self._motions, MotionInput.close)

    def activated(self) -> None:
        super().activated()
        self._motions.abandon()

    def silent(self, engine: T, reason: str) -> None:
        self._abandon(reason)
        self._record.lose(reason)

    def time_source_changed(self, simulated: bool) -> None:
        if simulated != self._simulated_time:
            super().time_source_changed(simulated)
            self._abandon("the clock has changed")
            if self.engine is not None:
                self.clock_was_set_back(self.engine)  # what was to come has no time any more

    def finish(self) -> None:
        super().finish()
        self._motions.close()

    def poll(self) -> None:
        super().poll()
        if self._motions.planning and self.engine is not None and self.active:
            self._take_plan(self.engine)

    def report(self, status: Status) -> None:
        super().report(status)
        self._record.report(status, self.engine.motion if self.engine is not None else None)
        if self.engine is None:
            return
        if self.engine.motion.problem:
            status.error(self.engine.motion.problem)
        if self._motions.planning:
            status.values[MOTION] = PLANNED

    # --- motions ----------------------------------------------------------------------------------

    def _on_trajectory(self, raw: bytes) -> None:
        self.poll()
        try:
            engine, now, fresh = self.ready_to_move()
            decode = self.decoder(engine)
            self._motions.take(raw, self.scene(engine), self.params.largest_trajectory, now, fresh, decode=decode)
        except TrajectoryError as error:
            self._refuse_trajectory(message_of(error))

    def _refuse_trajectory(self, why: str) -> None:
        self._record.refuse(why)
        self.refuse(f"trajectory refused: {why}")

    def _abandon(self, why: str) -> None:
        """What is being planned will not be followed."""
        if self._motions.planning:
            self._refuse_trajectory(why)
        self._motions.abandon(why)

    def ready_to_move(self) -> tuple[T, int, bool]:
        """The engine, the time in ns, and whether the robot has been seen of late. Raises TrajectoryError."""
        engine = self.engine
        if engine is None or not self.active:
            raise TrajectoryError("the node is not active or has no robot")
        if self.lets_another_command:
            raise TrajectoryError("another node commands")
        if self.silence.reason:
            raise TrajectoryError(f"the node is silent: {self.silence.reason}")
        now = self.now()
        return engine, now, bool(engine.reader.stamp) and now - self._last_arrival <= FRESH

    def scene(self, engine: T) -> Scene:
        now = engine.reader.stamp
        q, v = self.moved(engine)
        return Scene(engine.motion, self.motion_limits(engine, now), q, v, now)

    # --- goals of an action -----------------------------------------------------------------------

    def offer_action(self) -> None:
        """Trajectories also come as goals, where control_msgs is installed."""
        if self._arrivals is None:
            self.get_logger().warning(f"no action {follow_action.NAME} with this ROS: trajectories come by topic alone")
            return
        try:
            kind = importlib.import_module("control_msgs.action").FollowJointTrajectory
        except ImportError:
            self.get_logger().info(f"no action {follow_action.NAME}: control_msgs is not installed")
            return
        self._action = follow_action.FollowAction(
            self, self._arrivals, kind, begin=self._begin_goal, stop=self._stop_goal, moment=self._moment_of,
            largest=self._largest_goal,
        )  # fmt: skip
        self.keep(self._action, follow_action.FollowAction.destroy)

    def _watch(self) -> None:
        super()._watch()
        if self._action is not None:
            self._action.look()

    def _begin_goal(self, raw: bytes, goal: MotionGoal) -> None:
        """Raises TrajectoryError."""
        self.poll()
        engine, _, fresh = self.ready_to_move()
        self._motions.take_goal(raw, self.scene(engine), self.params.largest_trajectory, fresh, goal)

    def _clean_up(self) -> None:
        super()._clean_up()
        self._action = None

    def _stop_goal(self, goal: MotionGoal) -> None:
        self._motions.cancel(goal)
        if self.engine is not None:
            self.engine.motion.cancel(goal)

    def _moment_of(self, goal: MotionGoal) -> Moment | None:
        engine = self.engine
        if engine is None or engine.motion.goal is not goal:
            return None
        motion, measured = engine.motion, np.array(self.moved(engine))
        moment = Moment(motion.joints, motion.state(), measured, engine.reader.stamp)
        moment.time, to_come = motion.elapsed()
        moment.index = max(0, min(goal.points - to_come, goal.points - 1))
        return moment

    def _largest_goal(self) -> int:
        joints = len(self.engine.motion.joints) if self.engine is not None else 0
        return most_bytes(joints, self.params.largest_trajectory) + TOLERANCES * (joints + 1)

    def _take_plan(self, engine: T) -> None:
        """A trajectory was planned aside."""
        try:
            self._motions.poll(self.scene(engine))
        except TrajectoryError as error:
            self._abandon(message_of(error))

    def _moved_on(self, engine: T, now: int) -> None:
        """A state was answered at `now` (ns): say what has become of the motion, take over what is planned."""
        self._last_arrival = now
        self._record.look(engine.motion, lambda: self.moved(engine)[0])
        if engine.motion.problem != self._said:
            self._said = engine.motion.problem
            if self._said:
                self.get_logger().error(self._said)
        if self._motions.planning:
            self._take_plan(engine)
