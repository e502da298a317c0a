# SPDX-License-Identifier: Apache-2.0
"""The longest gap between torques while another robot description is read, compiled for and taken over.

    scripts/run python -m benchmarks.processes.description_gaps [--quick] [--rate 1000] [--case NAME ...] [--json FILE]

A feedforward node has a Panda; this process sends joint states and notes when the efforts arrive, others send it
descriptions on its topic. The cache of kernels is empty at first. A node that only relays gets the same states: what
keeps both from answering is the machine. Where the system allows it, both and the driver get real-time priority; the
process that compiles never has it.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from std_msgs.msg import Float64MultiArray

from benchmarks.measuring.quiet import Guard, NotMeasuredError
from benchmarks.measuring.results import Cell, Figure, Table, deliver, parser
from benchmarks.processes.long_descriptions import description
from benchmarks.processes.node_latency import Driver
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.compiler.cache import ENVIRONMENT_VARIABLE
from rbd_dynamics.demo.ros_domain import own_domain

NODE, RELAY = "feedforward", "relay"
BOUND = 2.0  # ms
LONG_CHAIN, LARGE = 1000, 20_000_000  # joints; characters
PATIENCE = 120.0  # s for a description to be taken over or refused
AFTER = 1.0  # s that are measured after that
PRIORITIES = {"driver": 50, "node": 40}


def descriptions() -> dict[str, tuple[str, str]]:
    """Each case: the text, and what the node says when it is done with it; nothing: it is left at work."""
    panda, talos = (robots()[name].read_text() for name in ("panda", "talos_reduced"))
    end = panda.rindex("</robot>")
    visual = (
        '<link name="more{}"><visual><geometry><mesh filename="package://nowhere/{}.dae"/></geometry></visual></link>'
    )
    visual += '<joint name="fix{}" type="fixed"><parent link="panda_link0"/><child link="more{}"/></joint>'
    comment = "<!-- " + "nothing that matters to dynamics. " * (LARGE // 34) + "-->"
    many = "".join(visual.replace("{}", str(k)) for k in range(LARGE // 20 // len(visual)))
    return {
        "Panda, another mass": (panda.replace('<mass value="', '<mass value="1', 1), "ready for"),
        "Talos": (talos, "ready for 'talos'"),
        "Panda again": (panda, "ready for 'panda'"),
        f"chain of {LONG_CHAIN} joints": (description(range(LONG_CHAIN)), ""),
        f"Panda in {LARGE / 1e6:g} MB": (panda[:end] + comment + panda[end:], "ready for 'panda'"),
        f"Panda with {LARGE // 20 // len(visual)} links more": (panda[:end] + many + panda[end:], "ready for 'panda'"),
        "malformed": (panda[: len(panda) // 2], "not well-formed"),
        "malformed at the end of 20 MB": (panda[:end] + comment, "not well-formed"),
        "100 MB, too large": (panda + " " * 100_000_000, "largest_description"),
    }


def priority(who: str) -> list[str]:
    """Words before a command; none where real-time priority is not allowed."""
    words = ["chrt", "-f", str(PRIORITIES[who])]
    try:
        allowed = subprocess.run([*words, "true"], capture_output=True).returncode == 0
    except OSError:
        allowed = False
    return words if allowed else []


@contextmanager
def described(text: str) -> Iterator[None]:
    """Another process that publishes the description, latched."""
    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(text)
        file.flush()
        plain = ["chrt", "-o", "0", "nice", "-n", "5"] if priority("driver") else []
        command = [*plain, sys.executable, "-m", "benchmarks.processes.description_gaps", "--publish", file.name]
        process = subprocess.Popen(command)
        try:
            yield
        finally:
            process.kill()
            process.wait()


def publish(file: str) -> int:
    """Be that process."""
    import rclpy
    from rclpy.executors import ExternalShutdownException
    from std_msgs.msg import String

    from rbd_dynamics.nodes.managed.messages import LATCHED

    rclpy.init()
    node = rclpy.create_node(f"describer{os.getpid()}")
    publisher = node.create_publisher(String, f"/{NODE}/robot_description", LATCHED)
    publisher.publish(String(data=Path(file).read_text()))
    try:
        rclpy.spin(node)
    except ExternalShutdownException:
        pass
    return 0


class Measurement:
    """A driver that sends the states to both nodes, and the node's log."""

    def __init__(self, driver: Driver, log: Path, rate: float) -> None:
        self._driver, self._log = driver, log
        self._received: dict[str, list[int]] = {NODE: driver._received, RELAY: []}
        relayed = self._received[RELAY]
        driver.node.create_subscription(
            Float64MultiArray, f"/{RELAY}/commands", lambda message: relayed.append(time.perf_counter_ns()), 100
        )
        driver.node.create_timer(1.0 / rate, self._send)

    def _send(self) -> None:
        self._driver.send(NODE)
        self._driver._publishers[RELAY].publish(self._driver._message)

    def said(self, begin: int) -> str:
        return self._log.read_text(errors="replace")[begin:]

    def arrivals(self, until: Callable[[float], bool]) -> dict[str, np.ndarray]:
        """When answers arrive, in ms, of both nodes, until the condition of the time holds."""
        for times in self._received.values():
            times.clear()
        begin = time.monotonic()
        while not until(time.monotonic() - begin):
            self._driver._spin(0.05)
        return {node: np.array(times) * 1e-6 for node, times in self._received.items()}

    def case(self, text: str | None, reply: str, seconds: float) -> tuple[dict[str, np.ndarray], float]:
        """Gaps while a description is dealt with, and how many seconds that took; None: while there is none."""
        if text is None:
            return self.arrivals(lambda now: now > seconds), float("nan")
        begin = len(self.said(0))
        done: list[float] = []

        def over(now: float) -> bool:
            if not done and reply and reply in self.said(begin):
                done.append(now)
            if now > PATIENCE:
                print(self.said(begin)[-2000:], file=sys.stderr)
                raise NotMeasuredError(f"the node did not say {reply!r} in {PATIENCE:g} s")
            return now > done[0] + AFTER if done else not reply and now > 2.0 * seconds + 5.0

        with described(text):
            found = self.arrivals(over)
        return found, done[0] if done else float("nan")


def add_row(table: Table, name: str, arrivals: dict[str, np.ndarray], seconds: float, trouble: str) -> None:
    """Of arrival times in ms."""
    gaps = {node: np.diff(times) for node, times in arrivals.items()}
    cells: list[Cell] = []
    for node, other in ((NODE, RELAY), (RELAY, NODE)):
        own = of_its_own(arrivals[node], arrivals[other])
        longest = [Figure(float(x)) for x in (gaps[node].max(), np.percentile(gaps[node], 99.9))]
        cells += *longest, int(np.sum(gaps[node] > BOUND)), len(own)
        if node == NODE:
            cells.append(Figure(max(own)) if own else None)
    table.add(name, *cells, None if np.isnan(seconds) else Figure(seconds), trouble=trouble)


def of_its_own(times: np.ndarray, others: np.ndarray) -> list[float]:
    """Gaps of one node beyond the bound, at which the other had none: the machine gave both time to answer."""
    long = np.flatnonzero(np.diff(others) > BOUND)
    begins, ends = others[long], others[long + 1]
    return [
        float(times[k + 1] - times[k])
        for k in np.flatnonzero(np.diff(times) > BOUND)
        if not np.any((begins < times[k + 1] + 1.0) & (ends > times[k] - 1.0))
    ]


def measure(rate: float, seconds: float, chosen: list[str], guard: Guard, table: Table) -> None:
    """Adds a row for each description, and one without any before and after."""
    cases = descriptions()
    panda = cases["Panda again"][0]
    from rbd_dynamics.model.urdf import load_urdf

    models = [load_urdf(panda), load_urdf(cases["Talos"][0])]
    names = [name for model in models for name in model.joint_names]
    position = np.concatenate([model.start_position() for model in models])
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("ROS_DOMAIN_ID", str(own_domain()))
        os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_LOG_DIR=folder)
        os.environ[ENVIRONMENT_VARIABLE] = folder
        command = [*priority("node"), sys.executable, "-m", f"rbd_dynamics.nodes.{NODE}", "--ros-args"]
        command += ["-r", f"__ns:=/{NODE}"]
        relayed = [sys.executable, "-m", "benchmarks.processes.node_latency", "--relay", "--executor", "auto"]
        relay = subprocess.Popen([*priority("node"), *relayed])
        log = Path(folder, "node.log")
        with open(log, "wb") as stream:
            process = subprocess.Popen(command, stderr=stream, stdout=stream)
        if priority("driver"):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITIES["driver"]))
        driver = Driver(names, position, "auto")
        try:
            driver.connect(RELAY, "commands")
            driver.node.destroy_subscription(list(driver.node.subscriptions)[-1])
            measurement = Measurement(driver, log, rate)
            with described(panda):
                driver.connect(NODE, f"{NODE}/commands")
                while "ready for" not in measurement.said(0):
                    driver._spin(0.1)
            gc.collect()
            gc.freeze()
            gc.disable()
            measurement.arrivals(lambda now: now > 1.0)  # warms up
            idle = partial(measurement.case, None, "", seconds)
            runs = {name: partial(measurement.case, *case, seconds) for name, case in cases.items()}
            chosen = chosen or list(runs)
            for name in ("none", *chosen, "none, at the end"):
                try:
                    (found, done), trouble = guard.run(name, runs.get(name, idle))
                except NotMeasuredError as error:
                    table.add(name, trouble=f"not measured: {error}")
                else:
                    add_row(table, name, found, done, trouble)
        finally:
            driver.close()
            relay.send_signal(signal.SIGINT)
            relay.wait(10.0)
            process.send_signal(signal.SIGINT)
            print(f"exit code of the node: {process.wait(20.0)}", file=sys.stderr)


def main() -> int:
    options = parser("processes.description_gaps", __doc__)
    options.add_argument("--rate", type=float, default=1000.0, help="Hz of the joint states")
    options.add_argument("--case", action="append", default=[], help="only this description")
    options.add_argument("--publish", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.publish:
        return publish(args.publish)
    heads = (
        "description", "longest gap, ms", "99.9 % below, ms", "above 2 ms", "of its own", "longest of its own, ms",
        "relay: longest, ms", "99.9 % below, ms", "above 2 ms", "of its own", "done after, s",
    )  # fmt: skip
    table = Table("descriptions", heads)
    seconds, cases = (1.0, args.case or ["malformed"]) if args.quick else (5.0, args.case)
    measure(args.rate, seconds, cases, Guard.of(quick=args.quick), table)
    kind = "real-time priority" if priority("node") else "without real-time priority"
    return deliver(args, [table], settings=f"{args.rate:g} Hz, {kind}")


if __name__ == "__main__":
    sys.exit(main())
