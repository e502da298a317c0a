# SPDX-License-Identifier: Apache-2.0
"""The same as `InputThreads`, in public rclpy alone: the node's executor takes everything, between two torques."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription

from rbd_dynamics.nodes.wire.inputs import GoalCalls, GoalServer


class PlainInputs:
    """Nothing is `in` it. Sizes are looked at by callbacks, when Python has the message already."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __contains__(self, entity: object) -> bool:
        return False

    def serve(self, service: Service) -> None:
        """The executor does."""

    def subscribe(self, subscription: Subscription, largest: Callable[[], int]) -> None:
        """The executor does."""

    def remove(self, entity: Service | Subscription) -> None:
        """Nothing was taken."""

    def close(self) -> None:
        """Nothing was opened."""

    def offer_action(self, kind: Any, name: str, calls: GoalCalls) -> GoalServer:
        from rbd_dynamics.nodes.wire.plain_goal_server import PlainGoalServer  # few nodes need it

        return PlainGoalServer(self._node, kind, name, calls)
