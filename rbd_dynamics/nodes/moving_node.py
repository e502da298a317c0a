# SPDX-License-Identifier: Apache-2.0
"""What nodes whose robots follow trajectories have in common: messages in, plans taken over, motions that end."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.motion_limits import MotionLimits
from rbd_dynamics.control.trajectory import TrajectoryError
from rbd_dynamics.nodes.description import message_of
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.engines import T
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.messages import SECOND
from rbd_dynamics.nodes.motion_input import MotionInput, Scene
from rbd_dynamics.nodes.watched_node import WatchedNode

P = TypeVar("P", bound=TorqueParameters)
FRESH = SECOND // 2  # ns without a state after which no trajectory begins
LARGEST = 1 << 62  # bytes: trajectories are measured by their points


class MovingNode(WatchedNode[P, T]):
    """Subclasses call `_moved_on` after each answer."""

    def __init__(self, interface: Interface[P], **options: Any) -> None:
        super().__init__(interface, **options)
        self._motions = MotionInput(self.get_logger().info, self.refuse)
        self._last_arrival = 0  # of a state that was answered, ns
        self._said = ""  # the problem of the motion

    # --- what a node says about itself ------------------------------------------------------------

    def clock_was_set_back(self, engine: T) -> None:
        """Forget what was planned."""

    def moved(self, engine: T) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Measured position and velocity of what trajectories move. Raises TrajectoryError where there is none."""
        raise NotImplementedError

    def motion_limits(self, engine: T, now: int) -> MotionLimits:
        """What trajectories may not exceed."""
        raise NotImplementedError

    # --- life cycle -------------------------------------------------------------------------------

    def open(self) -> None:
        super().open()
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, raw=True, largest=lambda: LARGEST)
        self._motions.open()
        self.keep(self._motions, MotionInput.close)

    def activated(self) -> None:
        super().activated()
        self._motions.abandon()

    def silent(self, engine: T, reason: str) -> None:
        self._motions.abandon()

    def time_source_changed(self, simulated: bool) -> None:
        if simulated != self._simulated_time:
            super().time_source_changed(simulated)
            self._motions.abandon()
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
        if self.engine is None:
            return
        if self.engine.motion.problem:
            status.error(self.engine.motion.problem)
        if self._motions.planning:
            status.values["desired motion"] = "a trajectory is being planned"

    # --- motions ----------------------------------------------------------------------------------

    def _on_trajectory(self, raw: bytes) -> None:
        self.poll()
        engine = self.engine
        if engine is None or not self.active:
            self.refuse("trajectory ignored: the node is not active or has no robot")
            return
        if self.silence.reason:
            self.refuse(f"trajectory refused: the node is silent: {self.silence.reason}")
            return
        now = self.now()
        fresh = bool(engine.reader.stamp) and now - self._last_arrival <= FRESH
        try:
            self._motions.take(raw, self._scene(engine), self.params.largest_trajectory, now, fresh)
        except TrajectoryError as error:
            self.refuse(f"trajectory refused: {message_of(error)}")

    def _scene(self, engine: T) -> Scene:
        now = engine.reader.stamp
        q, v = self.moved(engine)
        return Scene(engine.motion, self.motion_limits(engine, now), q, v, now)

    def _take_plan(self, engine: T) -> None:
        """A trajectory was planned aside."""
        try:
            self._motions.poll(self._scene(engine))
        except TrajectoryError as error:
            self._motions.abandon()
            self.refuse(f"trajectory refused: {message_of(error)}")

    def _moved_on(self, engine: T, now: int) -> None:
        """A state was answered at `now` (ns): say what has become of the motion, take over what is planned."""
        self._last_arrival = now
        if engine.motion.problem != self._said:
            self._said = engine.motion.problem
            if self._said:
                self.get_logger().error(self._said)
        if self._motions.planning:
            self._take_plan(engine)
