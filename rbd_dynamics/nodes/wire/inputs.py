# SPDX-License-Identifier: Apache-2.0
"""How what arrives at a node is taken from the middleware: one interface, two implementations (`chosen_inputs.py`).

`InputThreads` calls rcl by ctypes, so that nothing that arrives delays the torques. `PlainInputs` is public rclpy
alone: the executor takes everything, and what is large delays the torques. docs/benchmarks.md has by how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rclpy.service import Service
from rclpy.subscription import Subscription


@dataclass(frozen=True)
class GoalCalls:
    """What an action server calls when goals arrive.

    Parameters:
        begin: called with an identity of the goal and the serialised request: is it accepted?
        cancel: called with the identity of a goal that shall end; it then counts as cancelled.
        largest: bytes that a request may have now. refuse: called with the reason where one is not looked at.
    """

    begin: Callable[[bytes, bytes], bool]
    cancel: Callable[[bytes], None]
    largest: Callable[[], int]
    refuse: Callable[[str], None]


class GoalServer(Protocol):
    """An action server. Accepted goals are under way until `end` or a cancel ends them."""

    def destroy(self) -> None:
        """Take no more goals. Those under way get no result."""

    def hand_over(self, work: Callable[[], Any]) -> Any:
        """Have something done in the executor's thread, from `begin` and `cancel`, and return what it returns."""

    def feedback(self, identity: bytes, make: Callable[[], Any]) -> None:
        """Publish the feedback of a goal, which `make` returns."""

    def end(self, identity: bytes, status: int, result: Any) -> None:
        """The goal has ended with an `action_msgs/GoalStatus`, unless it had before."""


class Inputs(Protocol):
    """What takes messages, requests and goals; those that are `in` it are none of the executor's."""

    def __contains__(self, entity: object) -> bool: ...

    def serve(self, service: Service) -> None:
        """A service whose requests are taken here, where that is possible."""

    def subscribe(self, subscription: Subscription, largest: Callable[[], int]) -> None:
        """A raw subscription; a message of more bytes than `largest()` is refused."""

    def remove(self, entity: Service | Subscription) -> None:
        """Take nothing more from an entity, before it is destroyed."""

    def close(self) -> None:
        """Take nothing more."""

    def offer_action(self, kind: Any, name: str, calls: GoalCalls) -> GoalServer:
        """An action server."""
