# SPDX-License-Identifier: Apache-2.0
"""The life of a node's process: start, spin, and a clean end at SIGINT and SIGTERM."""

from __future__ import annotations

import gc
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from rbd_dynamics.nodes.rclpy_private import events_executor
from rbd_dynamics.nodes.stopping import request_stop, stop_at_once, stop_requested

if TYPE_CHECKING:
    from rbd_dynamics.nodes.managed_node import ManagedNode

SPIN_PERIOD = 0.1  # s: the longest that a signal waits
LEAVE_PERIOD = 0.02  # s: the longest that a second one waits
TRIAL_PERIOD = 0.5  # s: the longest that an executor may take to show that it works


def run(make_node: Callable[[], ManagedNode[Any, Any]], args: Sequence[str] | None = None) -> int:
    """Spin a managed node until a signal comes. The exit code: 0, or 1 where the node could not start."""
    _handle_signals()
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    node, spin, executor = None, None, None
    try:
        node = make_node()
        executor, spin = choose_executor(node, node.params.executor)
        node.start()
        gc.collect()
        gc.freeze()  # what there is now stays: the collector need not look at it in the loop
        while not stop_requested.is_set() and rclpy.ok():
            try:
                spin(SPIN_PERIOD)
            except ExternalShutdownException:
                break
            except Exception:  # a fault in a callback: say so, and live on
                node.get_logger().error(traceback.format_exc(), throttle_duration_sec=1.0)
        _leave(node, spin)
        return 0
    except (ValueError, ParameterException) as error:
        print(f"cannot start: {error}", file=sys.stderr)
        return 1
    finally:
        _ignore_signals()
        if node is not None:
            node.finish()
        if executor is not None:
            executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()


def choose_executor(node: Node, kind: str) -> tuple[Executor, Callable[[float], None]]:
    """An executor that has shown that it works, with its function to spin for some seconds.

    The events executor takes half the processor time; where it is missing or does not dispatch, the
    single-threaded one is taken. The multi-threaded one loses messages at these rates.
    """
    if kind in ("auto", "events"):
        events = events_executor(node)
        if events is not None:
            # its `spin` does not dispatch in some distributions, this does in all
            def spin_events(seconds: float) -> None:
                events.spin_until_future_complete(Future(), timeout_sec=seconds)

            if _dispatches(node, spin_events):
                return events, spin_events
            events.remove_node(node)
            events.shutdown()
        if kind == "events":
            node.get_logger().warning("the events executor does not work here, the single-threaded one is used")
    single = SingleThreadedExecutor(context=node.context)
    single.add_node(node)

    def spin_single(seconds: float) -> None:
        end = time.monotonic() + seconds
        while not stop_at_once.is_set() and (left := end - time.monotonic()) > 0.0:
            single.spin_once(timeout_sec=left)

    return single, spin_single


def _dispatches(node: Node, spin: Callable[[float], None]) -> bool:
    """Does a timer of the node fire under this executor?"""
    fired: list[float] = []
    timer = node.create_timer(0.001, lambda: fired.append(0.0), clock=Clock(clock_type=ClockType.STEADY_TIME))
    end = time.monotonic() + TRIAL_PERIOD
    try:
        while len(fired) < 2 and time.monotonic() < end:
            spin(0.01)
    finally:
        node.destroy_timer(timer)
    return len(fired) >= 2


def _leave(node: ManagedNode[Any, Any], spin: Callable[[float], None]) -> None:
    """Let the node end what it does, unless a second signal comes."""
    node.leave()
    while node.leaving and not stop_at_once.is_set() and rclpy.ok():
        spin(LEAVE_PERIOD)


def _handle_signals() -> None:
    stop_requested.clear()
    stop_at_once.clear()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: request_stop())


def _ignore_signals() -> None:
    """Nothing is left to be cut short."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
