# SPDX-License-Identifier: Apache-2.0
"""Publishers, subscriptions, services and timers of a node: bounded, answered always, destroyed together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.service import Service
from rclpy.subscription import Subscription

from rbd_dynamics.nodes.answering import always, answer_always
from rbd_dynamics.nodes.apart import Apart, Begin, Read, at_once
from rbd_dynamics.nodes.arrivals import Arrivals
from rbd_dynamics.nodes.description import P
from rbd_dynamics.nodes.diagnostics import Status
from rbd_dynamics.nodes.messages import COMMANDS, WISHES, queue_of
from rbd_dynamics.nodes.refusals import Refusals

T = TypeVar("T")


class EntityNode(LifecycleNode, Generic[P]):
    """A life-cycle node whose entities live from configuration to cleanup; options are rclpy's."""

    params: P
    _arrivals: Arrivals | None = None  # what takes messages and requests instead of the executor

    def __init__(self, executable: str, **options: Any) -> None:
        self._aparts: dict[str, Apart] = {}  # what takes those requests whose answers take long, by name
        super().__init__(executable, **options)
        answer_always(self)
        self._entities: list[tuple[Callable[[Any], object], Any]] = []
        self._refused = Refusals(lambda reason: self.get_logger().warning(reason))

    def publish_on(self, kind: type, topic: str, qos: QoSProfile = COMMANDS) -> Publisher:
        return self.keep(self.create_publisher(kind, topic, qos), self.destroy_publisher)

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile = WISHES,
        raw: bool = False,
        largest: Callable[[], int] | None = None,
        urgent: bool = False,
    ) -> None:
        """Messages of at most `largest()` bytes, by default `largest_message`; raw: as these bytes.

        What is larger is refused before a Python object is made of it, which takes longer than all else.
        urgent: the executor itself takes them, whatever else does not.
        """
        most = partial(self._largest, largest)
        take = self.bounded(kind, topic, callback, raw=raw, largest=most)
        subscription = self.keep(self.create_subscription(kind, topic, take, qos, raw=True), self.destroy_subscription)
        if self._arrivals is not None and not urgent:
            self._arrivals.subscribe(subscription, most)

    def _largest(self, largest: Callable[[], int] | None) -> int:
        return self.params.largest_message if largest is None else largest()

    def bounded(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        *,
        raw: bool = False,
        largest: Callable[[], int] | None = None,
    ) -> Callable[[bytes], None]:
        """A callback of a raw subscription, which does what `subscribe` says."""

        def take(data: bytes) -> None:
            most = self._largest(largest)
            if len(data) > most:
                self.refuse(f"message on {topic} refused: more than {most} bytes")
                return
            if raw:
                callback(data)
                return
            try:
                message = deserialize_message(data, kind)
            except (RuntimeError, ValueError, MemoryError) as error:
                self.refuse(f"message on {topic} refused: it cannot be read: {type(error).__name__}")
                return
            callback(message)

        return take

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        answer = always(self, callback, faults=True)
        service = self.keep(self.create_service(kind, name, answer, qos_profile=queue_of(kind)), self.destroy_service)
        if self._arrivals is not None:
            self._arrivals.serve(service)

    def serve_apart(self, kind: type, name: str, begin: Begin, *, thread: str, read: Read | None = None) -> None:
        """A service whose answers take long: computed in the thread of that name, if `work_apart` has made it."""
        answer = always(self, at_once(begin, read), faults=True)
        service = self.keep(self.create_service(kind, name, answer, qos_profile=queue_of(kind)), self.destroy_service)
        if thread in self._aparts:
            self._aparts[thread].serve(service, begin, read)

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """A timer of wall time, whatever use_sim_time says."""
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.keep(self.create_timer(period, callback, clock=clock), self.destroy_timer)

    def keep(self, entity: T, destroy: Callable[[T], object]) -> T:
        """An entity that is destroyed when the node is cleaned up."""
        self._entities.append((destroy, entity))
        return entity

    def refuse(self, reason: str) -> None:
        """Note that some input was not used: see `Refusals`."""
        self._refused.add(reason)

    def destroy_entities(self) -> None:
        """All that was kept, the last one first."""
        for destroy, entity in reversed(self._entities):
            destroy(entity)
        self._entities.clear()

    def report_refused(self, status: Status) -> None:
        """For the diagnostics: what was refused since the last report, and what was the last."""
        found = self._refused.take()
        for reason, count in found:
            status.warn(f"{reason} ({count} times)")
        status.values["refused inputs"] = sum(count for _, count in found)
        if self._refused.last:
            status.values["last refusal"] = self._refused.last

    # --- what the executor does not take ----------------------------------------------------------

    def take_aside(self, texts: Callable[[], int]) -> None:
        """From now on messages and requests are taken in threads of their own, where that is possible with this ROS.

        texts: bytes that texts in requests to set parameters may have.
        """
        try:
            self._arrivals = Arrivals(
                self, largest=lambda: self.params.largest_message, texts=texts, refuse=self.refuse
            )
        except (OSError, ImportError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            self.get_logger().warning(f"large messages and requests may delay torques here: {error}")
        else:
            for service in list(self.services):
                self._arrivals.serve(service)

    def work_apart(self, name: str, *, largest: Callable[[], int], bound: str) -> None:
        """From now on `serve_apart` has a thread of that name, where that is possible with this ROS.

        largest: bytes that a request may have, as set by `bound`.
        """
        try:
            self._aparts[name] = Apart(self, name, largest=largest, bound=bound)
        except (OSError, ImportError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            self.get_logger().warning(f"long requests may delay other answers here: {error}")

    def close_aside(self) -> None:
        """Nothing is taken any more."""
        for taker in self._takers:
            taker.close()

    @property
    def _takers(self) -> list[Arrivals | Apart]:
        return [*([self._arrivals] if self._arrivals is not None else []), *self._aparts.values()]

    @property
    def services(self) -> Iterator[Service]:
        """Those of the executor."""
        return (each for each in super().services if not any(each in taker for taker in self._takers))

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Those of the executor."""
        return (each for each in super().subscriptions if self._arrivals is None or each not in self._arrivals)

    def destroy_service(self, service: Service) -> bool:
        for taker in self._takers:
            taker.remove(service)
        return bool(super().destroy_service(service))

    def destroy_subscription(self, subscription: Subscription) -> bool:
        if self._arrivals is not None:
            self._arrivals.remove(subscription)
        return bool(super().destroy_subscription(subscription))
