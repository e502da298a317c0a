# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes of their own, one of them a bare relay, get messages in turns and are timed by their answers."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measuring.quiet import Guard, NotMeasuredError
from benchmarks.measuring.results import Figure, Table
from benchmarks.measuring.timing import processor_time
from rbd_dynamics.demo.ros_domain import own_domain
from rbd_dynamics.model.model import Model

GAP = 0.3  # s between turns
HEADS = ("node", "round trip, µs", "ratio to relay", "99 % below, µs", "lost", "of a processor, %")


class Timed(NamedTuple):
    """One turn: times until the answers, us, and counts of messages."""

    latency: np.ndarray
    sent: int
    answered: int


class ProcessTime:
    """Processor time of a process from now on; `begin` is the time now, s."""

    def __init__(self, pid: int) -> None:
        self._pid, self._before, self.begin = pid, processor_time(pid), time.monotonic()

    def used(self) -> float:
        """Seconds."""
        return processor_time(self._pid) - self._before


@dataclass
class Turns:
    """What one node did in its turns. latencies: by the number of the turn, us; troubles: those of each, if any."""

    latencies: dict[int, np.ndarray] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    sent: int = 0
    answered: int = 0
    processor: float = 0.0
    elapsed: float = 0.0

    def take(self, number: int, turn: Timed, process: ProcessTime) -> None:
        """What one turn has found."""
        self.latencies[number] = turn.latency
        self.sent, self.answered = self.sent + turn.sent, self.answered + turn.answered
        self.processor += process.used()
        self.elapsed += time.monotonic() - process.begin - GAP

    def ratio(self, relay: Turns, wanted: float | None = None) -> Figure:
        """Of the median round trips in turns next to each other: what drifts meanwhile counts in both."""
        numbers = self.latencies.keys() & relay.latencies.keys()
        found = Figure.of([np.median(self.latencies[k]) / np.median(relay.latencies[k]) for k in numbers])
        return replace(found, wanted=wanted)

    def add_to(self, table: Table, name: str, relay: Turns, wanted: float | None = None) -> None:
        """A row of a table with HEADS; without figures where no turn was measured."""
        trouble = f"{len(self.troubles)} turns: {self.troubles[-1]}" if self.troubles else ""
        if not self.latencies or not relay.latencies:
            table.add(name, trouble=trouble or "not measured: the relay was not")
            return
        table.add(
            name,
            Figure.of([np.median(turn) for turn in self.latencies.values()]),
            None if self is relay else self.ratio(relay, wanted),
            Figure(float(np.percentile(np.concatenate([*self.latencies.values()]), 99))),
            self.sent - self.answered,
            Figure(100 * self.processor / self.elapsed),
            trouble=trouble,
        )


def in_turns(
    nodes: Sequence[str], turn: Callable[[str, int], tuple[Timed, ProcessTime]], rounds: int, guard: Guard
) -> dict[str, Turns]:
    """So many turns of each node; each goes first in turn. turn: of a node, given its number; 0 warms up.

    A turn that cannot be measured, however often it is tried, is left out.
    """
    results = {node: Turns() for node in nodes}
    for number in range(rounds + 1):
        for k in range(len(nodes)):
            node = nodes[(number + k) % len(nodes)]
            try:
                (timed, used), trouble = guard.run(f"{node}, turn {number}", partial(turn, node, number))
            except NotMeasuredError as error:
                results[node].troubles.append(f"not measured: {error}")
                continue
            if number:
                results[node].take(number, timed, used)
            if number and trouble:
                results[node].troubles.append(trouble)
    return results


class TurnDriver:
    """Sends messages at a fixed rate and times what is answered; subclasses say what is sent.

    Each answer to a message is one Float64MultiArray.
    """

    def __init__(self, executor: str) -> None:
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        from rbd_dynamics.nodes.process.run import choose_executor

        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("latency_driver")
        self._executor, self._spin = choose_executor(self.node, executor)
        self._sent: list[int] = []
        self._received: list[int] = []

    def send(self, space: str) -> None:
        """To the node in that name space. Notes in `_sent` when."""
        raise NotImplementedError

    def connect_to(self, kind: Any, topic: str, qos: Any, answers: str) -> Any:
        """A publisher for a node, which is waited for."""
        from std_msgs.msg import Float64MultiArray

        self.node.create_subscription(Float64MultiArray, answers, self._on_answer, 100)
        publisher = self.node.create_publisher(kind, topic, qos)
        end = time.monotonic() + 120.0
        while not publisher.get_subscription_count() or not self.node.count_publishers(answers):
            if time.monotonic() > end:
                raise NotMeasuredError(f"no node with {topic} and {answers}")
            self._spin(0.05)
        return publisher

    def _on_answer(self, message: Any) -> None:
        self._received.append(time.perf_counter_ns())

    def turn(self, space: str, rate: float, seconds: float) -> Timed:
        """The node's, with so many messages a second."""
        self._sent.clear()
        self._received.clear()
        count = round(rate * seconds)

        def tick() -> None:
            if len(self._sent) < count:
                self.send(space)

        timer = self.node.create_timer(1.0 / rate, tick)
        end = time.monotonic() + 2.0 * seconds + 2.0
        while len(self._received) < count and time.monotonic() < end:
            self._spin(0.05)
        self.node.destroy_timer(timer)
        self.rest(space)
        sent, received = np.array(self._sent), np.array(self._received)
        if len(sent) == len(received):  # answers come in order
            latency = received - sent
        else:  # some are lost: each answer belongs to the last message before it
            latency = received - sent[np.searchsorted(sent, received) - 1]
        return Timed(latency * 1e-3, len(sent), len(received))

    def rest(self, space: str) -> None:
        """After its turn."""
        self._spin(GAP)

    def close(self) -> None:
        import rclpy

        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()


def relay(executor: str, listen: Callable[[Any], None]) -> int:
    """The node to compare with, until a signal. listen: makes its topics."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from rbd_dynamics.nodes.process.run import choose_executor

    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("relay", namespace="relay")
    listen(node)
    stop: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.append(1))
    events, spin = choose_executor(node, executor)
    while not stop:
        spin(0.1)
    events.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


@contextmanager
def processes(commands: Callable[[str], Mapping[str, Sequence[str]]]) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Nodes on a network of this process's own. commands: by name, given a folder for their files."""
    with tempfile.TemporaryDirectory() as folder:
        if "ROS_DOMAIN_ID" not in os.environ:
            os.environ["ROS_DOMAIN_ID"] = str(own_domain())
        os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_LOG_DIR=folder)
        found = {
            name: subprocess.Popen(command, stderr=subprocess.DEVNULL) for name, command in commands(folder).items()
        }
        try:
            yield found
        finally:
            for process in found.values():
                process.send_signal(signal.SIGINT)
            for process in found.values():
                process.wait(30.0)


def robot() -> tuple[str, Model, np.ndarray]:
    """Description and model of the robot of this benchmark, and a position within its limits."""
    from rbd_dynamics.common.example_robots import robots
    from rbd_dynamics.model.urdf import load_urdf

    found = robots()
    if "panda" not in found:
        raise SystemExit("needs the package example-robot-data: pip install example-robot-data")
    model = load_urdf(found["panda"])
    middle = np.array([0.5 * (joint.limits.lower + joint.limits.upper) for joint in model.joints])
    return found["panda"].read_text(), model, middle
