# SPDX-License-Identifier: Apache-2.0
"""An action server whose requests are taken, looked at and answered in a thread of its own, as bytes.

rclpy's own is one of the executor's entities: it makes Python objects of each goal there, which takes longer for a long
trajectory than a robot may wait for its next torque. What an action is made of is public (design.ros2.org, "Actions"):
services send_goal, cancel_goal and get_result, topics feedback and status.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message

from rbd_dynamics.control.motion.trajectory_goal import IDENTITY
from rbd_dynamics.nodes.managed.messages import LATCHED, SECOND, nanoseconds
from rbd_dynamics.nodes.wire.entity_thread import EntityThread
from rbd_dynamics.nodes.wire.inputs import GoalCalls
from rbd_dynamics.nodes.wire.middleware import Middleware, Serialised

#: requests of any size: the middleware keeps as much room for each place as the largest one took
GOALS = QoSProfile(depth=2)
SMALL = QoSProfile(depth=10)
KEPT = 32  # goals that have ended, whose results can still be asked for
NOBODY = bytes(16)  # an identity that means any goal


@dataclass
class Goal:
    """One that was accepted."""

    identity: bytes
    stamp: int  # when, ns
    status: int = GoalStatus.STATUS_EXECUTING
    result: Any = None  # once it has ended
    waiting: list[Any] = field(default_factory=list)  # who asks for it

    @property
    def info(self) -> GoalInfo:
        info = GoalInfo()
        info.goal_id.uuid = list(self.identity)
        info.stamp.sec, info.stamp.nanosec = divmod(self.stamp, SECOND)
        return info


class RawActionServer:
    """Accepted goals are executing until `end` or a cancel ends them. `end` and `feedback` are for any thread.

    Parameters:
        thread: the server's own. drop: ends it.
        kind: the action. name: its name.
        calls: `begin` and `cancel` in the server's thread, `refuse` by the executor.
    """

    def __init__(
        self,
        node: Node,
        thread: EntityThread,
        middleware: Middleware,
        drop: Callable[[EntityThread], None],
        kind: Any,
        name: str,
        calls: GoalCalls,
    ) -> None:
        self._node, self._thread, self._middleware, self._drop = node, thread, middleware, drop
        self._kind, self._calls = kind, calls
        self._goals: dict[bytes, Goal] = {}
        self._services = []
        for service, end, answer, qos in (
            (kind.Impl.SendGoalService, "send_goal", self._on_goal, GOALS),
            (kind.Impl.CancelGoalService, "cancel_goal", self._on_cancel, SMALL),
            (kind.Impl.GetResultService, "get_result", self._on_result, SMALL),
        ):
            made = node.create_service(service, f"{name}/_action/{end}", _never, qos_profile=qos)
            self._thread.add(made, partial(self._take, made, answer))
            self._services.append(made)
        self._feedback = node.create_publisher(kind.Impl.FeedbackMessage, f"{name}/_action/feedback", SMALL)
        self._status = node.create_publisher(GoalStatusArray, f"{name}/_action/status", LATCHED)

    def destroy(self) -> None:
        """Take no more goals. Those under way get no result."""
        self._drop(self._thread)
        for service in self._services:
            self._node.destroy_service(service)
        self._node.destroy_publisher(self._feedback)
        self._node.destroy_publisher(self._status)

    def hand_over(self, work: Callable[[], Any]) -> Any:
        """Have something done in the executor's thread, from `begin` and `cancel`."""
        return self._thread.hand_over(work)

    def feedback(self, identity: bytes, make: Callable[[], Any]) -> None:
        """Publish what `make` returns, which is called in the server's thread."""

        def publish() -> None:
            message = self._kind.Impl.FeedbackMessage(feedback=make())
            message.goal_id.uuid = list(identity)
            self._feedback.publish(message)

        self._thread.soon(publish)

    def end(self, identity: bytes, status: int, result: Any) -> None:
        """The goal has ended, unless it had before."""
        self._thread.soon(partial(self._end, identity, status, result))

    # --- in the server's thread -------------------------------------------------------------------

    def _take(self, service: Any, answer: Callable[[Any, Any, Serialised], Any]) -> None:
        with self._middleware.request(service) as taken:
            if taken is None:
                return
            client, raw = taken
            response = answer(service, client, raw)
        if response is not None:
            self._middleware.respond(service, client, serialize_message(response))

    def _on_goal(self, service: Any, client: Any, raw: Serialised) -> Any:
        identity, most = raw.part(IDENTITY.start, IDENTITY.stop), self._calls.largest()
        if raw.length > most:
            self.hand_over(partial(self._calls.refuse, f"goal rejected: {raw.length} bytes are more than {most}"))
            return self._kind.Impl.SendGoalService.Response(accepted=False)
        accepted = identity not in self._goals and self._calls.begin(identity, raw.part(0))
        response = self._kind.Impl.SendGoalService.Response(accepted=accepted)
        if accepted:
            goal = self._goals[identity] = Goal(identity, self._node.get_clock().now().nanoseconds)
            response.stamp = goal.info.stamp
            self._publish_status()
        return response

    def _on_cancel(self, service: Any, client: Any, raw: Serialised) -> Any:
        wanted = deserialize_message(raw.part(0), CancelGoal.Request).goal_info
        identity, before = bytes(wanted.goal_id.uuid), nanoseconds(wanted.stamp)
        response = CancelGoal.Response()
        if identity != NOBODY and not before and identity not in self._goals:
            response.return_code = CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID
            return response
        chosen = [
            goal
            for goal in self._goals.values()
            if goal.identity == identity or (identity == NOBODY and not before) or (before and goal.stamp <= before)
        ]
        under_way = [goal for goal in chosen if goal.result is None]
        if chosen and not under_way and identity != NOBODY:
            response.return_code = CancelGoal.Response.ERROR_GOAL_TERMINATED
        for goal in under_way:
            goal.status = GoalStatus.STATUS_CANCELING
            response.goals_canceling.append(goal.info)
            self._calls.cancel(goal.identity)
            self._thread.soon(partial(self._end, goal.identity, GoalStatus.STATUS_CANCELED, self._kind.Result()))
        if under_way:
            self._publish_status()
        return response

    def _on_result(self, service: Any, client: Any, raw: Serialised) -> Any:
        goal = self._goals.get(raw.part(IDENTITY.start, IDENTITY.stop))
        if goal is None:
            return self._kind.Impl.GetResultService.Response(status=GoalStatus.STATUS_UNKNOWN)
        if goal.result is None:
            goal.waiting.append(client)
            return None
        return self._response(goal)

    def _end(self, identity: bytes, status: int, result: Any) -> None:
        goal = self._goals.get(identity)
        if goal is None or goal.result is not None:
            return
        if goal.status == GoalStatus.STATUS_CANCELING:
            status = GoalStatus.STATUS_CANCELED
        goal.status, goal.result = status, result
        self._publish_status()
        response = serialize_message(self._response(goal))
        for client in goal.waiting:
            self._middleware.respond(self._services[2], client, response)
        goal.waiting.clear()
        ended = [each.identity for each in self._goals.values() if each.result is not None]
        for old in ended[:-KEPT]:
            del self._goals[old]

    def _response(self, goal: Goal) -> Any:
        return self._kind.Impl.GetResultService.Response(status=goal.status, result=goal.result)

    def _publish_status(self) -> None:
        message = GoalStatusArray()
        message.status_list = [GoalStatus(goal_info=goal.info, status=goal.status) for goal in self._goals.values()]
        self._status.publish(message)


def _never(request: Any, response: Any) -> Any:
    """No executor calls it."""
    return response
