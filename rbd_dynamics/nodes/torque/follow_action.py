# SPDX-License-Identifier: Apache-2.0
"""Action `~/follow_joint_trajectory` of a node whose robot follows trajectories, as joint_trajectory_controller has it.

The executor, which computes torques, begins and cancels motions and looks after them now and then; all else is done in
the thread of the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectoryPoint

from rbd_dynamics.control.motion.goal import MotionGoal, Outcome
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.nodes.managed.description_text import message_of
from rbd_dynamics.nodes.managed.messages import SECOND
from rbd_dynamics.nodes.wire.inputs import GoalCalls, Inputs

Array = NDArray[np.float64]
NAME = "~/follow_joint_trajectory"
FEEDBACK = 0.05  # s between two, as joint_trajectory_controller by default
#: names of the result's codes
CODES: dict[Outcome, str] = {
    "reached": "SUCCESSFUL",
    "path": "PATH_TOLERANCE_VIOLATED",
    "goal": "GOAL_TOLERANCE_VIOLATED",
    "joints": "INVALID_JOINTS",
    "over": "OLD_HEADER_TIMESTAMP",
}
REACHED = "Goal successfully reached!"


class Moment:
    """How a goal is doing: desired and measured states of the joints (3, n) and (2, n), at `stamp` (ns).

    time: since the start of the trajectory, s. index: of its point that is gone to.
    """

    def __init__(self, joints: tuple[str, ...], desired: Array, measured: Array, stamp: int) -> None:
        self.joints, self.desired, self.measured, self.stamp = joints, desired, measured, stamp
        self.time, self.index = 0.0, 0


class FollowAction:
    """The server of a node.

    Parameters:
        inputs: what takes its goals.
        kind: control_msgs.action.FollowJointTrajectory.
        begin: called by the executor with a serialised request and the goal that is told how it ends. Raises
            TrajectoryError where there is no motion to be had now, and then changes nothing.
        stop: called by the executor: hold the robot.
        moment: called by the executor while a goal is under way; None: there is nothing to be told.
        refuse: called with the reason where a goal is rejected.
        largest: bytes that a request may have now.
    """

    def __init__(
        self,
        inputs: Inputs,
        kind: Any,
        *,
        begin: Callable[[bytes, MotionGoal], None],
        stop: Callable[[MotionGoal], None],
        moment: Callable[[MotionGoal], Moment | None],
        refuse: Callable[[str], None],
        largest: Callable[[], int],
    ) -> None:
        self._kind, self._refuse = kind, refuse
        self._begin_motion, self._stop, self._moment = begin, stop, moment
        self._orders: dict[bytes, MotionGoal] = {}  # under way
        self._told, self._stamp = 0.0, 0  # when the last feedback was, s; the state that it told, ns
        self._server = inputs.offer_action(kind, NAME, GoalCalls(self._begin, self._cancel, largest, refuse))

    def destroy(self) -> None:
        """Goals under way get their result, if they have ended."""
        self.look()
        self._server.destroy()

    # --- in the server's thread -------------------------------------------------------------------

    def _begin(self, identity: bytes, raw: bytes) -> bool:
        def begin() -> bool:
            order = MotionGoal()
            try:
                self._begin_motion(raw, order)
            except TrajectoryError as error:
                self._refuse(f"goal rejected: {message_of(error)}")
                return False
            self._orders[identity] = order
            return True

        return bool(self._server.hand_over(begin))

    def _cancel(self, identity: bytes) -> None:
        def cancel() -> None:
            order = self._orders.pop(identity, None)
            if order is not None and not order.outcome:
                self._stop(order)

        self._server.hand_over(cancel)

    # --- by the executor --------------------------------------------------------------------------

    def look(self) -> None:
        """Now and then: what has become of the goals."""
        if not self._orders:
            return
        for identity, order in list(self._orders.items()):
            if order.outcome:
                del self._orders[identity]
                self._end(identity, order)
        now = time.monotonic()
        if now - self._told < FEEDBACK:
            return
        for identity, order in self._orders.items():
            moment = self._moment(order)
            if moment is not None and moment.stamp != self._stamp:  # a state is told once
                self._told, self._stamp = now, moment.stamp
                self._tell(identity, moment)

    def _end(self, identity: bytes, order: MotionGoal) -> None:
        result = self._kind.Result()
        result.error_code = getattr(result, CODES.get(order.outcome, "INVALID_GOAL"))
        reached = order.outcome == "reached"
        result.error_string = REACHED if reached else order.reason
        status = GoalStatus.STATUS_SUCCEEDED if reached else GoalStatus.STATUS_ABORTED
        self._server.end(identity, status, result)

    def _tell(self, identity: bytes, moment: Moment) -> None:
        def make() -> Any:
            feedback = self._kind.Feedback(joint_names=list(moment.joints))
            feedback.header.stamp.sec, feedback.header.stamp.nanosec = divmod(moment.stamp, SECOND)
            feedback.desired = _point(moment.desired, moment.time)
            feedback.actual = _point(moment.measured, moment.time)
            feedback.error = _point(moment.desired[:2] - moment.measured, moment.time)
            if hasattr(feedback, "index"):  # since control_msgs 6.3
                feedback.index = moment.index
            return feedback

        self._server.feedback(identity, make)


def _point(rows: Array, time: float) -> JointTrajectoryPoint:
    """Position, velocity and, if there is a third row, acceleration."""
    point = JointTrajectoryPoint(positions=rows[0].tolist(), velocities=rows[1].tolist())
    if len(rows) > 2:
        point.accelerations = rows[2].tolist()
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(time * SECOND), SECOND)
    return point
