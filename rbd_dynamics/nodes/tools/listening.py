# SPDX-License-Identifier: Apache-2.0
"""What goes on in a ROS graph: topics, their messages, what nodes say of themselves. For where `ros2` is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from rbd_dynamics.nodes.tools.message_values import message_class

Spin = Callable[[float], None]
DISCOVERY = (1.5, 6.0)  # s without anything new, after which all is taken to be found; s at most
FIRST, OTHERS = 5.0, 1.5  # s for a first report, and for those of other nodes after it: each speaks once in one
LEVELS = {DiagnosticStatus.OK: "ok", DiagnosticStatus.WARN: "warning", DiagnosticStatus.ERROR: "error"}
STALE = "stale"  # any other level


class Topic(NamedTuple):
    name: str
    kind: str  # as "sensor_msgs/msg/JointState"
    publishers: int
    subscriptions: int


class Report(NamedTuple):
    """The last that a node has said in /diagnostics."""

    node: str
    level: str  # ok, warning, error or stale
    message: str
    values: dict[str, str]


@contextmanager
def visitor(name: str) -> Iterator[tuple[Node, Spin]]:
    """A node without services, and what spins it for some seconds. SIGINT stays Python's."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(name, context=context, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def spin(seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)

    try:
        yield node, spin
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown(context=context)


def topics(node: Node, spin: Spin) -> list[Topic]:
    """All that others than this visitor publish or subscribe to."""
    known: list[Any] = []
    begun = changed = time.monotonic()
    while (now := time.monotonic()) < min(changed + DISCOVERY[0], begun + DISCOVERY[1]):
        if known != (known := _endpoints(node)):
            changed = now
        spin(0.05)
    own = {name for name, _ in node.get_publisher_names_and_types_by_node(node.get_name(), node.get_namespace())}
    found = [
        Topic(name, ", ".join(kinds), node.count_publishers(name) - (name in own), node.count_subscribers(name))
        for name, kinds in node.get_topic_names_and_types()
    ]
    return [each for each in found if each.publishers or each.subscriptions]


def messages(node: Node, spin: Spin, topic: str, patience: float) -> Iterator[tuple[float, Any]]:
    """Those that come from now on, and what is latched, each with the time when it came, s of the monotonic clock.

    Raises ValueError for a topic without a publisher, or with messages of a kind that is not installed.
    """
    name = node.resolve_topic_name(topic)
    end = time.monotonic() + patience
    while not (publishers := node.get_publishers_info_by_topic(name)):
        if time.monotonic() > end:
            others = ", ".join(each.name for each in topics(node, spin) if each.publishers)
            raise ValueError(
                f"nobody publishes {name}"
                + (f"; published are {others}" if others else ", nor anything else in this ROS_DOMAIN_ID")
            )
        spin(0.05)
    came: list[tuple[float, Any]] = []
    kind = message_class(publishers[0].topic_type)
    node.create_subscription(kind, name, lambda message: came.append((time.monotonic(), message)), matching(publishers))
    while True:
        spin(0.05)
        yield from came
        came.clear()


def matching(publishers: list[Any]) -> QoSProfile:
    """A quality of service that hears all of these publishers, by what `get_publishers_info_by_topic` tells."""
    profiles = [info.qos_profile for info in publishers]
    reliable = all(each.reliability == ReliabilityPolicy.RELIABLE for each in profiles)
    latched = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in profiles)
    return QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def reports(node: Node, spin: Spin) -> list[Report]:
    """Reports of all nodes that speak; one that publishes diagnostics and says nothing in time is stale."""
    found: dict[str, Report] = {}

    def take(message: DiagnosticArray) -> None:
        for status in message.status:
            values = {each.key: each.value for each in status.values}
            found[status.name] = Report(status.name, LEVELS.get(status.level, STALE), status.message, values)

    def silent() -> set[str]:
        publishers = node.get_publishers_info_by_topic("/diagnostics")
        names = {f"{each.node_namespace.rstrip('/')}/{each.node_name}"[1:] for each in publishers}
        return names - {name.split(":")[0] for name in found}

    node.create_subscription(DiagnosticArray, "/diagnostics", take, 100)
    begun = time.monotonic()
    while time.monotonic() < begun + FIRST and not found:
        spin(0.05)
    if found:
        spin(OTHERS)
    while silent() and time.monotonic() < begun + FIRST + OTHERS:
        spin(0.05)
    waited = time.monotonic() - begun
    for name in silent():
        found[name] = Report(name, STALE, f"has said nothing for {waited:.0f} s: busy, or stopped", {})
    return [found[name] for name in sorted(found)]


def _endpoints(node: Node) -> list[tuple[str, int, int]]:
    names = (name for name, _ in node.get_topic_names_and_types())
    return [(name, node.count_publishers(name), node.count_subscribers(name)) for name in names]
