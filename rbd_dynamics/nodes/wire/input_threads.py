# SPDX-License-Identifier: Apache-2.0
"""What arrives at a node that computes torques, but for joint states: taken in threads of their own, without the lock.

One for messages and one for requests, which may wait for each other for long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription

from rbd_dynamics.nodes.wire.entity_thread import EntityThread
from rbd_dynamics.nodes.wire.inputs import GoalCalls, GoalServer
from rbd_dynamics.nodes.wire.middleware import Middleware
from rbd_dynamics.nodes.wire.parameter_requests import check_form
from rbd_dynamics.nodes.wire.rclpy_private import check_waiting
from rbd_dynamics.nodes.wire.requests import Requests


class InputThreads:
    """Services and subscriptions that are `in` it are none of the executor's, which only runs their callbacks.

    Parameters:
        largest: bytes that a request may have now.
        texts: bytes that the texts of parameters which are set may have besides.
        refuse: called by the executor with the reason where a message or request is not looked at.
    """

    def __init__(
        self, node: Node, *, largest: Callable[[], int], texts: Callable[[], int], refuse: Callable[[str], None]
    ) -> None:
        """Raises what ctypes and rclpy do where this is not possible with this ROS."""
        self._refuse = refuse
        self._node = node
        self.middleware = Middleware()
        check_form(self.middleware.serialised)
        check_waiting(list(node.services), node.context)
        self._messages, self._answers = EntityThread(node, "messages"), EntityThread(node, "requests")
        self._others: list[EntityThread] = []
        self._requests = Requests(self._answers, self.middleware, largest=largest, texts=texts, refused=refuse)

    def __contains__(self, entity: object) -> bool:
        return any(entity in each for each in self._all)

    @property
    def _all(self) -> tuple[EntityThread, ...]:
        return self._messages, self._answers, *self._others

    def _drop(self, thread: EntityThread) -> None:
        """End the thread of an action server."""
        thread.close()
        self._others.remove(thread)

    def serve(self, service: Service) -> None:
        """A service whose requests are taken here."""
        self._requests.serve(service)

    def subscribe(self, subscription: Subscription, largest: Callable[[], int]) -> None:
        """A raw subscription; a message of more bytes than `largest()` is not handed over."""
        self._messages.add(subscription, partial(self._take, subscription, largest))

    def remove(self, entity: Service | Subscription) -> None:
        """Take nothing more from an entity, before it is destroyed."""
        for each in self._all:
            each.remove(entity)

    def close(self) -> None:
        """Take nothing more."""
        for each in self._all:
            each.close()

    def offer_action(self, kind: Any, name: str, calls: GoalCalls) -> GoalServer:
        """See `inputs.Inputs`. `begin` and `cancel` are called in a thread of their own."""
        from rbd_dynamics.nodes.wire.raw_action_server import RawActionServer  # few nodes need it

        thread = EntityThread(self._node, "goals")
        self._others.append(thread)
        return RawActionServer(self._node, thread, self.middleware, self._drop, kind, name, calls)

    def _take(self, subscription: Subscription, largest: Callable[[], int]) -> None:
        with self.middleware.message(subscription.handle) as message:
            if message is None:
                return
            size, most = message.length, largest()
            data = message.part(0) if size <= most else b""
        if size > most:
            name = subscription.topic_name.rpartition("/")[2]
            self._messages.hand_over(partial(self._refuse, f"message on {name} refused: more than {most} bytes"))
        else:
            self._messages.hand_over(partial(subscription.callback, data))
