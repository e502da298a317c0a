# SPDX-License-Identifier: Apache-2.0
"""All that the nodes use of rclpy and that is not its public interface: each with the reason, and what is done without.

Everything else in this room is public in Humble, Jazzy, Kilted and Rolling.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.service import Service

#: where the events executor may be: it is experimental in Jazzy and Kilted, and Humble has none
EVENTS_EXECUTOR = ("rclpy.executors", "rclpy.experimental", "rclpy.experimental.events_executor")


def events_executor(node: Node) -> Executor | None:
    """An events executor with the node in it; None: there is none here, or it does not take the node.

    Experimental, but it takes half the processor time of the single-threaded one.
    """
    for name in EVENTS_EXECUTOR:
        try:
            executor: Executor = importlib.import_module(name).EventsExecutor(context=node.context)
            executor.add_node(node)
        except (ImportError, AttributeError, RuntimeError, TypeError) as error:
            node.get_logger().debug(f"no events executor in {name}: {error}")
        else:
            return executor
    return None


def dated(callback: Callable[[bytes, int], None]) -> Callable[..., None]:
    """The callback of a raw subscription that is given besides when a message was written: ns, 0 where rclpy does not
    say.

    Public in Iron and later, and Humble passes the message alone; but the events executor of Jazzy calls with one pair
    of both what takes two arguments.
    """

    def take(*arrived: Any) -> None:
        data, info = arrived if len(arrived) == 2 else arrived[0] if isinstance(arrived[0], tuple) else (*arrived, {})
        callback(data, info.get("source_timestamp", 0))

    take.__signature__ = inspect.signature(lambda data, info: None)  # type: ignore[attr-defined]
    return take


def bare_subscription(node: Node, kind: type, topic: str, qos: QoSProfile) -> Any:
    """The middleware's side of a subscription, which no executor knows: `pointer` is its rcl_subscription_t.

    Raises ImportError, AttributeError or TypeError where rclpy makes it otherwise.
    """
    importlib.import_module("rclpy.type_support").check_for_type_support(kind)
    make = importlib.import_module("rclpy.impl.implementation_singleton").rclpy_implementation.Subscription
    with node.handle:
        handle = make(node.handle, kind, topic, qos.get_c_qos_profile())
    handle.pointer  # noqa: B018
    return handle


def ready(entities: Sequence[Any], wake: GuardCondition, seconds: float, context: Context) -> list[Any]:
    """Those of some services and subscriptions that something has come for, once it has; none after a while or a wake.

    Private: in public only an executor waits, and it takes as well.
    """
    wait_set = importlib.import_module("rclpy.impl.implementation_singleton").rclpy_implementation.WaitSet
    with ExitStack() as used:
        places: dict[str, list[Any]] = {"service": [], "subscription": []}
        for entity in entities:
            with suppress(InvalidHandle):  # destroyed meanwhile
                used.enter_context(entity.handle)
                places["service" if isinstance(entity, Service) else "subscription"].append(entity)
        used.enter_context(wake.handle)
        counts = len(places["subscription"]), 1, 0, 0, len(places["service"]), 0
        waits = wait_set(*counts, context.handle)
        used.enter_context(waits)
        waits.clear_entities()
        waits.add_guard_condition(wake.handle)
        for kind, found in places.items():
            for entity in found:
                getattr(waits, f"add_{kind}")(entity.handle)
        waits.wait(round(1e9 * seconds))
        return [entity for kind, found in places.items() for k, entity in enumerate(found) if waits.is_ready(kind, k)]


def check_waiting(services: Sequence[Service], context: Context) -> None:
    """Raise AttributeError or TypeError where `ready` does not work with this rclpy."""
    wake = GuardCondition(None, None, context=context)
    ready(services, wake, 0.0, context)
    wake.destroy()
    for service in services:
        service.handle.pointer  # noqa: B018


def given_parameters(node: Node) -> list[str]:
    """Names of the parameters that the command line and parameter files give this node; empty where that is unknown.

    Private: rclpy passes over names that no parameter has, and nothing public tells them; a misspelt one would go
    unnoticed.
    """
    overrides: dict[str, Any] = getattr(node, "_parameter_overrides", None) or {}
    return list(overrides)
