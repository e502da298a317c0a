# SPDX-License-Identifier: Apache-2.0
"""Publishers, subscriptions, services and timers of a node: bounded, answered always, destroyed together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.service import Service
from rclpy.subscription import Subscription

from rbd_dynamics.nodes.managed.answering import always
from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.messages import COMMANDS, WISHES, queue_of
from rbd_dynamics.nodes.managed.refusals import Refusals
from rbd_dynamics.nodes.wire import rclpy_private
from rbd_dynamics.nodes.wire.chosen_inputs import IMPOSSIBLE, choose_inputs
from rbd_dynamics.nodes.wire.inputs import Inputs
from rbd_dynamics.nodes.wire.plain_inputs import PlainInputs
from rbd_dynamics.nodes.wire.slow_services import Begin, Read, SlowServices, at_once

T = TypeVar("T")


class Entities:
    """What a node has made since its configuration.

    Parameters:
        largest: bytes that a message or request may have now, unless something else is said where it is made.
    """

    def __init__(self, node: LifecycleNode, largest: Callable[[], int]) -> None:
        self._node, self._most = node, largest
        self.inputs: Inputs = PlainInputs(node)
        self.refused = Refusals(lambda reason: node.get_logger().warning(reason))
        self._slow: dict[str, SlowServices] = {}  # what takes those requests whose answers take long, by name
        self._kept: list[tuple[Callable[[Any], object], Any]] = []

    def publish_on(self, kind: type, topic: str, qos: QoSProfile = COMMANDS) -> Publisher:
        return self.keep(self._node.create_publisher(kind, topic, qos), self._node.destroy_publisher)

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[..., None],
        qos: QoSProfile = WISHES,
        raw: bool = False,
        largest: Callable[[], int] | None = None,
        urgent: bool = False,
        dated: bool = False,
    ) -> None:
        """Messages of at most `largest()` bytes, by default `largest_message`; raw: as these bytes.

        What is larger is refused before a Python object is made of it, which takes longer than all else.
        urgent: the executor itself takes them, whatever else does not.
        dated, where urgent: the callback is given besides when the message was written (ns since 1970, by the clock
        of the writer's computer; 0: rclpy or the middleware does not say).
        """
        most = partial(self._largest, largest)
        take: Callable[..., None] = self.bounded(kind, topic, callback, raw=raw, largest=most)
        subscription = self.keep(
            self._node.create_subscription(kind, topic, rclpy_private.dated(take) if dated else take, qos, raw=True),
            self._node.destroy_subscription,
        )
        if not urgent:
            self.inputs.subscribe(subscription, most)

    def _largest(self, largest: Callable[[], int] | None) -> int:
        return self._most() if largest is None else largest()

    def bounded(
        self,
        kind: type,
        topic: str,
        callback: Callable[..., None],
        *,
        raw: bool = False,
        largest: Callable[[], int] | None = None,
    ) -> Callable[..., None]:
        """A callback of a raw subscription, which does what `subscribe` says."""

        def take(data: bytes, *written: int) -> None:
            most = self._largest(largest)
            if len(data) > most:
                self.refuse(f"message on {topic} refused: more than {most} bytes")
                return
            if raw:
                callback(data, *written)
                return
            try:
                message = deserialize_message(data, kind)
            except (RuntimeError, ValueError, MemoryError) as error:
                self.refuse(f"message on {topic} refused: it cannot be read: {type(error).__name__}")
                return
            callback(message, *written)

        return take

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        answer = always(self._node, callback, faults=True)
        service = self.keep(
            self._node.create_service(kind, name, answer, qos_profile=queue_of(kind)), self._node.destroy_service
        )
        self.inputs.serve(service)

    def serve_slow(self, kind: type, name: str, begin: Begin, *, thread: str, read: Read | None = None) -> None:
        """A service whose answers take long: computed in the thread of that name, if `compute_in_thread` made it."""
        answer = always(self._node, at_once(begin, read), faults=True)
        service = self.keep(
            self._node.create_service(kind, name, answer, qos_profile=queue_of(kind)), self._node.destroy_service
        )
        if thread in self._slow:
            self._slow[thread].serve(service, begin, read)

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """A timer of wall time, whatever use_sim_time says."""
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.keep(self._node.create_timer(period, callback, clock=clock), self._node.destroy_timer)

    def keep(self, entity: T, destroy: Callable[[T], object]) -> T:
        """An entity that is destroyed when the node is cleaned up."""
        self._kept.append((destroy, entity))
        return entity

    def refuse(self, reason: str) -> None:
        """Note that some input was not used: see `Refusals`."""
        self.refused.add(reason)

    def destroy(self) -> None:
        """All that was kept, the last one first."""
        for destroy, entity in reversed(self._kept):
            destroy(entity)
        self._kept.clear()

    def report(self, status: Status) -> None:
        """Add to the diagnostics what was refused since the last report, and what was the last."""
        found = self.refused.take()
        for reason, count in found:
            status.warn(f"{reason} ({count} times)")
        status.values["refused inputs"] = sum(count for _, count in found)
        if self.refused.last:
            status.values["last refusal"] = self.refused.last

    # --- what the executor does not take ----------------------------------------------------------

    def take_in_threads(self, texts: Callable[[], int]) -> None:
        """Take messages and requests in threads of their own from now on, where that is possible with this ROS.

        texts: bytes that texts in requests to set parameters may have.
        """
        self.inputs, why_not = choose_inputs(self._node, largest=self._most, texts=texts, refuse=self.refuse)
        logger = self._node.get_logger()
        if why_not:
            logger.warning(f"large messages and requests may delay torques here: {why_not}")
        else:
            logger.info("messages and requests are taken in threads of their own")
        for service in list(self._node.services):
            self.inputs.serve(service)

    def compute_in_thread(self, name: str, *, largest: Callable[[], int], bound: str) -> None:
        """Have a thread of that name for `serve_slow` from now on, where that is possible with this ROS.

        largest: bytes that a request may have, as set by `bound`.
        """
        try:
            self._slow[name] = SlowServices(self._node, name, largest=largest, bound=bound)
        except IMPOSSIBLE as error:
            self._node.get_logger().warning(f"long requests may delay other answers here: {error}")

    def close(self) -> None:
        """Nothing is taken any more."""
        for taker in self._takers:
            taker.close()

    def takes(self, entity: object) -> bool:
        """It is not one of the executor's."""
        return any(entity in taker for taker in self._takers)

    def release(self, entity: Service | Subscription) -> None:
        """Take nothing more from an entity, before it is destroyed."""
        for taker in self._takers:
            taker.remove(entity)

    @property
    def _takers(self) -> list[Inputs | SlowServices]:
        return [self.inputs, *self._slow.values()]
