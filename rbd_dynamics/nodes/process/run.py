# SPDX-License-Identifier: Apache-2.0
"""The life of a node's process: start, spin, and a clean end at SIGINT and SIGTERM."""

from __future__ import annotations

import gc
import os
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
from rclpy.logging import LoggingSeverity, get_logger_effective_level, set_logger_level
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.compiler import notice
from rbd_dynamics.nodes.interface import Interface
from rbd_dynamics.nodes.managed.answering import one_line
from rbd_dynamics.nodes.process.own_arguments import OwnArguments
from rbd_dynamics.nodes.process.parameter_files import of_others, readable
from rbd_dynamics.nodes.process.stopping import request_stop, stop_at_once, stop_requested
from rbd_dynamics.nodes.process.usage import help_text, reads_urdf, usage
from rbd_dynamics.nodes.wire import allocator
from rbd_dynamics.nodes.wire.rclpy_private import events_executor

if TYPE_CHECKING:
    from rbd_dynamics.nodes.managed.managed_node import ManagedNode

SPIN_PERIOD = 0.1  # s: the longest that a signal waits
LEAVE_PERIOD = 0.02  # s: the longest that a second one waits
TRIAL_PERIOD = 0.5  # s: the longest that an executor may take to show that it works
#: what rclpy raises for arguments after --ros-args that it does not know; no public module has it
UNKNOWN = ("UnknownROSArgsError",)


def run(
    make_node: Callable[[], ManagedNode[Any, Any]], interface: Interface[Any], args: Sequence[str] | None = None
) -> int:
    """Spin a managed node until a signal comes.

    The exit code: 0; 1 where the node could not start, for one reason in one line; 2 for unknown arguments.
    """
    _handle_signals()
    allocator.give_back()
    notice.turn_off()  # a node tells of its progress itself
    node, spin, executor = None, None, None
    started = False
    try:
        texts = [each.name for each in interface.parameters if each.kind == "string"]
        given = sys.argv if args is None else args
        code = _told(interface, given)
        if code is not None:
            return code
        for_ros = OwnArguments(given).for_ros(texts)
        with readable(for_ros, texts) as arguments:
            _initialise(arguments)
        node = make_node()
        for sentence in of_others(for_ros, node.get_fully_qualified_name()):
            node.get_logger().warning(sentence)
        executor, spin = choose_executor(node, node.params.executor)
        node.get_logger().info(f"callbacks are run by rclpy's {type(executor).__name__}")
        started = True
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
    except Exception as error:
        if started:
            raise
        return _refuse(f"cannot start: {_in_one_line(error)}", 2 if type(error).__name__ in UNKNOWN else 1)
    finally:
        _ignore_signals()
        if node is not None:
            node.finish()
        if executor is not None:
            executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()


def _told(interface: Interface[Any], args: Sequence[str]) -> int | None:
    """Look at what is not for ROS: the exit code where the process shall end, None where it shall go on."""
    try:
        own = OwnArguments(args)
    except ValueError as error:
        return _refuse(f"{error}; {usage(interface)}", 2)
    if own.wants_help:
        try:
            print(help_text(interface), flush=True)
        except BrokenPipeError:  # the reader has seen enough, as in `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if own.unknown or (own.urdf is not None and not reads_urdf(interface)):
        return _refuse(f"unknown argument {excerpt((own.unknown or ['--urdf'])[0])}; {usage(interface)}", 2)
    return None


def _initialise(args: Sequence[str]) -> None:
    """rclpy, without the lines that its lower layers log of an argument that the error tells as well."""
    set_logger_level("rcl", LoggingSeverity.FATAL)
    rclpy.init(args=list(args), signal_handler_options=SignalHandlerOptions.NO)
    if get_logger_effective_level("rcl") == LoggingSeverity.FATAL:  # unless an argument has set it
        set_logger_level("rcl", LoggingSeverity.UNSET)


def _refuse(reason: str, code: int) -> int:
    print(reason, file=sys.stderr)
    return code


def _in_one_line(error: Exception) -> str:
    """What is wrong; the kind of error besides where it is not one of those that name a culprit."""
    text = one_line(error)
    if type(error).__name__ in UNKNOWN:
        return f"unknown arguments after --ros-args: {text}"
    named = isinstance(error, (ValueError, ParameterException, RuntimeError))
    return text if named and text else f"{type(error).__name__}: {text}"


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
