# SPDX-License-Identifier: Apache-2.0
"""Action `~/follow_joint_trajectory` of `trajectory_proxy`: each goal becomes one of the controller behind it.

Whatever becomes of that controller, a goal ends with a result: it may be missing, reject, be silent or go.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from action_msgs.msg import GoalStatus
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from trajectory_msgs.msg import JointTrajectory

from rbd_dynamics.control.motion.trajectory import TrajectoryError, UnknownJointError
from rbd_dynamics.nodes.interface.trajectory_proxy import TrajectoryProxyParameters
from rbd_dynamics.nodes.managed.description_text import message_of
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.managed_node import ManagedNode
from rbd_dynamics.nodes.managed.messages import nanoseconds
from rbd_dynamics.nodes.managed.part import Part
from rbd_dynamics.nodes.proxy.rejection import Rejection

ACTION = "~/follow_joint_trajectory"
MOST_GOALS = 8  # at a time
LOOK = 0.05  # s: how often it is looked how goals are doing
FEEDBACK = 0.02  # s at least between two
FAREWELL = 0.2  # s that a result takes to be sent


@dataclass(frozen=True)
class Ready:
    """A trajectory for the controller, and which point of the original each of its points comes with or goes to."""

    message: JointTrajectory
    places: Sequence[int]
    slowdown: float

    @property
    def duration(self) -> float:
        """s."""
        return 1e-9 * nanoseconds(self.message.points[-1].time_from_start)

    def without_efforts(self) -> JointTrajectory:
        """The trajectory for a controller that refuses efforts."""
        for point in self.message.points:
            point.effort = []
        return self.message


class Goal:
    """One on its way through. Times are those of the steady clock, s."""

    def __init__(self, handle: ServerGoalHandle, ready: Ready) -> None:
        self.handle, self.ready, self.request = handle, ready, handle.request
        self.stage = "waiting"  # then asking (what the controller takes), sent, rejected or followed, over
        self.since = time.monotonic()  # in this stage
        self.seen = self.since  # the controller's server, last
        self.heard = 0.0  # feedback, last
        self.told = 0.0  # of feedback, last
        self.cancelled = 0.0  # when
        self.behind: Any = None  # the controller's goal handle
        self.result: Any = None
        self.status = GoalStatus.STATUS_ABORTED

    def enter(self, stage: str) -> None:
        self.stage, self.since = stage, time.monotonic()


class ProxyAction(Part):
    """The server in front, and the client of what is behind.

    Parameters:
        ready: makes of a trajectory what is passed on. Raises TrajectoryError.
    """

    def __init__(
        self, node: ManagedNode[TrajectoryProxyParameters, Any], ready: Callable[[JointTrajectory], Ready]
    ) -> None:
        self._node, self._make_ready = node, ready
        self.passed_on = 0
        self._open = False
        self._goals: dict[bytes, Goal] = {}
        self._ended: dict[bytes, Goal] = {}  # have a result that is not sent yet
        self._counts = {"reached": 0, "not reached": 0}
        self._farewell = 0.0  # until when results may be on their way

    def open(self) -> None:
        node = self._node
        try:
            kind = importlib.import_module("control_msgs.action").FollowJointTrajectory
        except ImportError:
            node.get_logger().info(f"no action {ACTION}: control_msgs is not installed")
            return
        controller = node.params.controller
        self._kind, self._behind = kind, f"{controller}/follow_joint_trajectory"
        self._client = ActionClient(node, kind, self._behind)
        self._parameters = node.create_client(GetParameters, f"{controller}/get_parameters")
        self._rejection = Rejection(node, node.resolve_service_name(controller))
        self._server = ActionServer(
            node, kind, ACTION, self._finish, goal_callback=self._on_goal, handle_accepted_callback=self._on_accepted,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )  # fmt: skip
        self.passed_on, self._counts, self._open = 0, dict.fromkeys(self._counts, 0), True
        node.entities.keep(self, ProxyAction.destroy)
        node.entities.every(LOOK, self._look)

    def destroy(self) -> None:
        """Goals under way get no result."""
        self._open = False
        self._server.destroy()
        self._client.destroy()
        self._node.destroy_client(self._parameters)
        self._goals.clear()
        self._ended.clear()

    def ends(self, reason: str) -> None:
        """Cancel all that is under way."""
        why = "was deactivated" if reason == "deactivated" else "ends"
        for goal in list(self._goals.values()):
            self._give_up(goal, f"the trajectory proxy {why}")

    @property
    def leaving(self) -> bool:
        """Results are on their way."""
        return time.monotonic() < self._farewell

    def report(self, status: Status) -> None:
        if not self._open:
            return
        status.values["goals under way"] = len(self._goals)
        for what, count in self._counts.items():
            status.values[f"goals {what}"] = count
        if self._node.active and not self._client.server_is_ready():
            status.warn(f"the action server {self._behind} is not there")

    # --- in front ---------------------------------------------------------------------------------

    def _on_goal(self, request: Any) -> GoalResponse:
        """Everything is accepted while there is a robot: what is wrong is said in the result."""
        if self._node.engine is None or not self._node.active:
            self._node.refuse("goal rejected: the node is not active or has no robot")
            return GoalResponse.REJECT
        if len(self._goals) >= MOST_GOALS:
            self._node.refuse(f"goal rejected: {MOST_GOALS} are under way")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        goal = Goal(handle, None)  # type: ignore[arg-type]  # until it is ready, just below
        try:
            if handle.request.multi_dof_trajectory.joint_names or handle.request.multi_dof_trajectory.points:
                raise TrajectoryError("multi_dof_trajectory: joints with several freedoms are not moved here")
            goal.ready = self._make_ready(handle.request.trajectory)
        except UnknownJointError as error:
            self._refuse(goal, message_of(error), "INVALID_JOINTS")
        except TrajectoryError as error:
            self._refuse(goal, message_of(error))
        else:
            self._goals[bytes(handle.goal_id.uuid)] = goal
            self._look()

    def _refuse(self, goal: Goal, reason: str, code: str = "INVALID_GOAL") -> None:
        if goal.stage == "over":
            return
        self._node.refuse(f"goal refused: {reason}")
        self._end(goal, GoalStatus.STATUS_ABORTED, self._result(reason, code))

    def _result(self, reason: str, code: str = "INVALID_GOAL") -> Any:
        result = self._kind.Result(error_string=reason)
        result.error_code = getattr(result, code)
        return result

    def _end(self, goal: Goal, status: int, result: Any) -> None:
        """The first result counts."""
        if goal.stage == "over":
            return
        goal.enter("over")
        goal.status, goal.result = status, result
        key = bytes(goal.handle.goal_id.uuid)
        self._goals.pop(key, None)
        self._ended[key] = goal
        self._counts["reached" if status == GoalStatus.STATUS_SUCCEEDED else "not reached"] += 1
        self._farewell = time.monotonic() + FAREWELL
        goal.handle.execute()  # has the executor call `_finish`; until then the goal's status is "accepted"

    def _finish(self, handle: ServerGoalHandle) -> Any:
        """Send the result of a goal that has ended."""
        goal = self._ended.pop(bytes(handle.goal_id.uuid))
        if goal.status == GoalStatus.STATUS_SUCCEEDED:
            handle.succeed()
        elif goal.status == GoalStatus.STATUS_CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return goal.result

    # --- behind -----------------------------------------------------------------------------------

    def _look(self) -> None:
        """What is due, and what has been waited for in vain."""
        for goal in list(self._goals.values()):
            self._look_at(goal, time.monotonic())

    def _look_at(self, goal: Goal, now: float) -> None:
        params, waited = self._node.params, now - goal.since
        if self._client.server_is_ready():
            goal.seen = now
        if goal.handle.is_cancel_requested and not goal.cancelled:
            self._cancel(goal)
        elif goal.cancelled and now - goal.cancelled > params.response_timeout:
            self._give_up(
                goal,
                f"{self._behind} has not ended in {params.response_timeout:g} s after a cancel: the robot may move on",
            )
        elif goal.stage in ("waiting", "asking") and now - goal.seen > params.server_timeout:
            self._give_up(goal, f"the action server {self._behind} is not there: waited {params.server_timeout:g} s")
        elif goal.stage == "waiting" and goal.seen == now:
            self._ask(goal)
        elif goal.stage == "asking" and waited > params.response_timeout:
            self._node.refuse(f"{params.controller} does not tell its command_interfaces: passed on without efforts")
            self._send(goal, efforts=False)
        elif goal.stage == "sent" and waited > params.response_timeout:
            self._give_up(goal, f"{self._behind} has not answered the goal in {params.response_timeout:g} s")
        elif goal.stage == "rejected" and waited > params.response_timeout:
            self._on_reason(goal, False, "")
        elif goal.stage == "followed":
            self._watch(goal, now)

    def _watch(self, goal: Goal, now: float) -> None:
        """Does the controller still live?"""
        params = self._node.params
        if now - goal.seen > params.server_timeout:
            self._give_up(goal, f"the action server {self._behind} has gone while it followed the trajectory")
        elif goal.heard and params.feedback_timeout and now - goal.heard > params.feedback_timeout:
            self._give_up(goal, f"{self._behind} has been silent for {params.feedback_timeout:g} s: is it still alive?")
        elif not goal.heard and params.result_timeout:
            late = now - goal.since - goal.ready.duration - self._starts_in(goal) - params.result_timeout
            if late > max(0.0, 1e-9 * nanoseconds(goal.request.goal_time_tolerance)):
                self._give_up(goal, f"{self._behind} has sent no result and no feedback: is it still alive?")

    def _starts_in(self, goal: Goal) -> float:
        """How long after the goal was accepted its trajectory starts, s."""
        stamp = nanoseconds(goal.request.trajectory.header.stamp)
        if not stamp:
            return 0.0
        waited = time.monotonic() - goal.since
        return max(0.0, 1e-9 * (stamp - self._node.get_clock().now().nanoseconds) + waited)

    def _ask(self, goal: Goal) -> None:
        """Does the controller take efforts?"""
        wanted = self._node.params.efforts
        if wanted != "auto":
            self._send(goal, efforts=wanted == "always")
            return
        goal.enter("asking")
        future = self._parameters.call_async(GetParameters.Request(names=["command_interfaces"]))
        future.add_done_callback(partial(self._on_interfaces, goal))

    def _on_interfaces(self, goal: Goal, future: Any) -> None:
        if goal.stage == "asking":
            values = future.result().values if future.exception() is None and future.result() else []
            self._send(goal, efforts=any("effort" in value.string_array_value for value in values))

    def _send(self, goal: Goal, *, efforts: bool) -> None:
        goal.enter("sent")
        request = self._kind.Goal(
            trajectory=goal.ready.message if efforts else goal.ready.without_efforts(),
            path_tolerance=goal.request.path_tolerance,
            goal_tolerance=goal.request.goal_tolerance,
            component_path_tolerance=goal.request.component_path_tolerance,
            component_goal_tolerance=goal.request.component_goal_tolerance,
            goal_time_tolerance=goal.request.goal_time_tolerance,
        )
        if goal.ready.slowdown > 1.0:
            self._node.get_logger().info(f"slowed down {goal.ready.slowdown:.3g} times to stay within the limits")
        self.passed_on += 1
        future = self._client.send_goal_async(request, feedback_callback=partial(self._on_feedback, goal))
        future.add_done_callback(partial(self._on_answer, goal, efforts))

    def _on_answer(self, goal: Goal, efforts: bool, future: Any) -> None:
        if future.exception() is not None:
            self._give_up(goal, f"{self._behind} could not be asked: {future.exception()}")
            return
        goal.behind = future.result()
        if not goal.behind.accepted:
            goal.enter("rejected")
            names = goal.request.trajectory.joint_names
            self._rejection.look_into(names, partial(self._on_reason, goal, efforts))
        elif goal.stage == "over":
            goal.behind.cancel_goal_async()  # nobody wants it any more
        else:
            goal.enter("followed")
            goal.behind.get_result_async().add_done_callback(partial(self._on_result, goal))
            if goal.cancelled:
                goal.behind.cancel_goal_async()

    def _on_reason(self, goal: Goal, efforts: bool, reason: str) -> None:
        """End a goal that was rejected: the reason, where one was found. efforts: it had some."""
        hint = " (efforts were in the trajectory: is it too old for them? efforts:=never)" if efforts else ""
        self._refuse(goal, f"{self._behind} rejected the goal: {reason or f'its log says why{hint}'}")

    def _on_feedback(self, goal: Goal, message: Any) -> None:
        now = goal.heard = time.monotonic()
        if goal.stage == "over" or now - goal.told < FEEDBACK:
            return
        goal.told = now
        feedback = message.feedback
        if hasattr(feedback, "index"):  # since control_msgs 6.3
            places = goal.ready.places
            feedback.index = places[min(max(feedback.index, 0), len(places) - 1)]
        goal.handle.publish_feedback(feedback)

    def _on_result(self, goal: Goal, future: Any) -> None:
        if future.exception() is not None:
            self._give_up(goal, f"{self._behind} gave no result: {future.exception()}")
            return
        answer = future.result()
        if answer.status == GoalStatus.STATUS_UNKNOWN:
            self._give_up(goal, f"{self._behind} does not know the goal any more: was it started anew?")
            return
        if answer.status == GoalStatus.STATUS_CANCELED and not goal.cancelled:
            answer.result.error_string = answer.result.error_string or f"{self._behind} was told to cancel by others"
        self._end(goal, answer.status, answer.result)

    def _cancel(self, goal: Goal) -> None:
        goal.cancelled = time.monotonic()
        if goal.stage in ("waiting", "asking"):
            self._end(goal, GoalStatus.STATUS_CANCELED, self._kind.Result())
        elif goal.behind is not None:
            goal.behind.cancel_goal_async()

    def _give_up(self, goal: Goal, reason: str) -> None:
        """End the goal, and what is behind as far as it can be reached."""
        if goal.behind is not None and goal.behind.accepted and goal.stage != "over":
            goal.behind.cancel_goal_async()
        self._refuse(goal, reason)
