# SPDX-License-Identifier: Apache-2.0
"""An action server in public rclpy alone."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.serialization import serialize_message

from rbd_dynamics.nodes.wire.inputs import GoalCalls


class PlainGoalServer:
    """rclpy's action server. A goal counts as accepted, not as executing, until it ends: see `inputs.GoalServer`.

    rclpy tells a goal's identity only when it is accepted, so each is known by one of our own.
    """

    def __init__(self, node: Node, kind: Any, name: str, calls: GoalCalls) -> None:
        self._kind, self._calls = kind, calls
        self._accepted = b""  # by `begin`, just now
        self._handles: dict[bytes, ServerGoalHandle] = {}  # under way
        self._ended: dict[bytes, tuple[int, Any]] = {}  # status and result that are not sent yet, by rclpy's identity
        self._server = ActionServer(
            node, kind, name, self._finish, goal_callback=self._on_goal, handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )  # fmt: skip

    def destroy(self) -> None:
        self._handles.clear()
        self._server.destroy()

    def hand_over(self, work: Callable[[], Any]) -> Any:
        return work()  # the executor calls

    def feedback(self, identity: bytes, make: Callable[[], Any]) -> None:
        if (handle := self._handles.get(identity)) is not None:
            handle.publish_feedback(make())

    def end(self, identity: bytes, status: int, result: Any) -> None:
        if (handle := self._handles.pop(identity, None)) is not None:
            self._ended[bytes(handle.goal_id.uuid)] = status, result
            handle.execute()  # has the executor call `_finish`

    def _on_goal(self, goal: Any) -> GoalResponse:
        raw, most = serialize_message(self._kind.Impl.SendGoalService.Request(goal=goal)), self._calls.largest()
        if len(raw) > most:
            self._calls.refuse(f"goal rejected: {len(raw)} bytes are more than {most}")
            return GoalResponse.REJECT
        self._accepted = secrets.token_bytes(16)
        return GoalResponse.ACCEPT if self._calls.begin(self._accepted, raw) else GoalResponse.REJECT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        self._handles[self._accepted] = handle

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        identity = next((each for each, known in self._handles.items() if known is handle), None)
        if identity is None:
            return CancelResponse.REJECT
        self._calls.cancel(identity)
        self.end(identity, GoalStatus.STATUS_CANCELED, self._kind.Result())
        return CancelResponse.ACCEPT

    def _finish(self, handle: ServerGoalHandle) -> Any:
        status, result = self._ended.pop(bytes(handle.goal_id.uuid))
        if handle.is_cancel_requested:
            handle.canceled()
        elif status == GoalStatus.STATUS_SUCCEEDED:
            handle.succeed()
        else:
            handle.abort()
        return result
