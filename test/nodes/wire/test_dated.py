# SPDX-License-Identifier: Apache-2.0
"""When a message was written reaches a callback, however this rclpy and its executors hand it over."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy")

from helpers.nodes.ros_nodes import needs_ros, wait_until

from rbd_dynamics.nodes.wire.rclpy_private import dated, events_executor

pytestmark = needs_ros

INFO = {"source_timestamp": 12, "received_timestamp": 34}


@pytest.mark.parametrize(
    ("arrived", "written"), [((b"x", INFO), 12), (((b"x", INFO),), 12), ((b"x",), 0), ((b"x", {}), 0)],
    ids=["two arguments", "a pair, by Jazzy's events executor", "Humble", "not told"],
)  # fmt: skip
def test_all_ways_to_hand_over_a_message_are_taken(arrived, written):
    taken = []
    dated(lambda data, at: taken.append((data, at)))(*arrived)
    assert taken == [(b"x", written)]


@pytest.mark.parametrize("events", [False, True], ids=["single-threaded", "events"])
def test_a_message_is_as_old_as_it_is(ros, events):
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.task import Future
    from std_msgs.msg import Float64MultiArray

    node, taken = Node("dated", context=ros.context), []
    executor = events_executor(node) if events else SingleThreadedExecutor(context=ros.context)
    if executor is None:
        node.destroy_node()
        pytest.skip("this rclpy has no events executor")
    if not events:
        executor.add_node(node)
    try:
        node.create_subscription(
            Float64MultiArray, "dated", dated(lambda data, at: taken.append((data, at))), 10, raw=True
        )
        publisher = node.create_publisher(Float64MultiArray, "dated", 10)
        wait_until(lambda: publisher.get_subscription_count() == 1, "the subscription")
        before = time.time_ns()
        publisher.publish(Float64MultiArray(data=[1.0]))
        after = time.time_ns()
        wait_until(lambda: executor.spin_until_future_complete(Future(), timeout_sec=0.05) or taken, "the message")
        (data, written), = taken  # fmt: skip
        assert isinstance(data, bytes) and before <= written <= after
    finally:
        executor.shutdown()
        node.destroy_node()
