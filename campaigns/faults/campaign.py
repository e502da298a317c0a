# SPDX-License-Identifier: Apache-2.0
"""The processes of a campaign: nodes, senders of states, the judge; and the threads that do the faults."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.processes.loopback import udp_on_this_machine
from campaigns.faults.faults import Client, Faults
from campaigns.faults.judging.hybrid_judge import TASK_INTEGRAL_LIMIT, TASK_KI, TASK_KP
from campaigns.faults.judging.tool_law import (
    LARGEST_ACCELERATIONS,
    LARGEST_ENERGY,
    LARGEST_FORCE,
    LARGEST_MOMENT,
    LARGEST_SPEEDS,
)
from campaigns.faults.memory import Memory
from campaigns.faults.robot import FINGERS, MIDDLE, TOOL, Motion, description, oracle
from campaigns.faults.sender import RING, send
from campaigns.faults.tool_faults import CartesianFaults, HybridFaults
from campaigns.faults.watching import judge, watch

NODES = {"feedforward": Faults, "hybrid_controller": HybridFaults, "cartesian_controller": CartesianFaults}
#: rad; the tool of hybrid_controller stays where the surface is
AMPLITUDE = {"feedforward": 0.02, "hybrid_controller": 0.001, "cartesian_controller": 0.02}
ENDING = 400.0  # s for the judge to come to an end, and as long as the campaign: it is not to keep up with it
START = 600.0  # s, at most, for a node to come up, its kernels compiled
MEASURED = 10.0  # s between two looks at the memory
LIVES = 5  # long ones of a node in a campaign, at most
BAD = ("wrong", "non_finite", "above_limits", "stale")


def parameters(kind: str) -> dict[str, Any]:
    common: dict[str, Any] = {"locked_joints": [FINGERS[0]], "state_timeout": 0.1}
    if kind == "guard":
        return common
    common |= {
        "transition_time": 0.0,  # what is in force is told from one effort to the next
        "check_in_command": False,  # the robot of a campaign moves whatever is commanded
    }
    if kind != "hybrid_controller":
        common["soften_unstable_gains"] = False  # they are told to the judge
    if kind == "feedforward":
        return {**common, "kp": [50.0], "kd": [5.0], "interpolation": "as_given", "missing_velocity": "refuse"}
    if kind == "cartesian_controller":
        return {
            **common, "tool_frame": TOOL, "missing_velocity": "refuse", "largest_force": LARGEST_FORCE,
            "largest_moment": LARGEST_MOMENT, "stiffness": [500.0], "rotational_stiffness": [30.0],
            "stiffness_time": 0.0, "tank_size": 0.0,  # springs become stiffer at once
            "actuator_bandwidth": 0.0, "sensor_delay": 0.0,  # torques act at once
            "largest_energy": LARGEST_ENERGY,
            "velocity_limits": LARGEST_SPEEDS.tolist(), "acceleration_limits": LARGEST_ACCELERATIONS.tolist(),
        }  # fmt: skip
    from scipy.spatial.transform import Rotation

    tool = oracle("panda", None).tool(MIDDLE)
    return {
        **common, "tool_frame": TOOL, "tool_orientation": [np.pi, 0.0, 0.0], "missing_velocity": "refuse",
        "hold_load": False,  # but for a while, now and then
        "task_position": tool.translation.tolist(),
        "task_orientation": Rotation.from_matrix(
            tool.rotation @ Rotation.from_euler("xyz", [np.pi, 0.0, 0.0]).as_matrix()
        ).as_euler("xyz").tolist(),
        "desired_force": [10.0], "kp": [TASK_KP], "kd": [20.0], "task_ki": TASK_KI,
        "task_integral_limit": TASK_INTEGRAL_LIMIT,
    }  # fmt: skip


def start_parameters(kind: str) -> dict[str, Any]:
    """All that a node has when it begins."""
    from rbd_dynamics.nodes.interface import INTERFACES

    (interface,) = (each for each in INTERFACES if each.executable == kind)
    return {each.name: each.default for each in interface.parameters} | parameters(kind)


class Node:
    """A node's process, which may be ended and started again; and how much memory it takes."""

    def __init__(
        self, kind: str, folder: Path, cache: Path, started: Callable[[int], None], guarding: str = ""
    ) -> None:
        self.kind, self._space, self._started = kind, guarding or kind, started
        self._environment = {**os.environ, "RBD_DYNAMICS_CACHE_DIR": str(cache)}
        self._remaps = ["-r", f"guard/unguarded_commands:={guarding}/commands"] if guarding else []
        self._file = folder / f"{guarding}{kind}.yaml"
        self._file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters(kind)}}))
        self._log = folder / f"{guarding}{kind}.log"
        self.memory = Memory()
        self.lock = threading.Lock()
        self.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        arguments = ["--ros-args", "-r", f"__ns:=/{self._space}", "--params-file", str(self._file), *self._remaps]
        command = [sys.executable, "-m", f"rbd_dynamics.nodes.{self.kind}", *arguments]
        with self.lock, self._log.open("ab") as log:
            self._from = log.tell()
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self._environment)
            self.memory.begin()
        self._started(self._process.pid)

    def wait_until_active(self) -> None:
        """And with a robot. Raises RuntimeError with what it said."""
        end = time.monotonic() + START
        while "ready for" not in (said := self.said()) or "active" not in said:
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError(f"{self.kind} does not come up:\n{said[-3000:]}")
            time.sleep(0.05)

    def said(self) -> str:
        """Of its present life, the last part."""
        with self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(self._from)
            text = log.read(1 << 20)
            if size - self._from > 2 << 20:
                log.seek(size - (1 << 20))
                text += log.read()
        return text.decode(errors="replace")

    def end(self, number: int) -> int:
        with self.lock:
            self._process.send_signal(number)
            try:
                return self._process.wait(20.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                return self._process.wait()

    @property
    def age(self) -> float:
        """s"""
        return self.memory.age

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def measure(self, settled: bool) -> None:
        with self.lock:
            self.memory.measure(self.pid, settled)


def run(
    kinds: list[str],
    seconds: float,
    rate: float,
    seed: int,
    pause: float = 0.5,
    guard: bool = False,
    record: Path | None = None,
) -> dict[str, Any]:
    """A campaign; its report, of which "good" says whether nothing was wrong."""
    from rbd_dynamics.demo.ros_domain import own_domain

    if "ROS_DOMAIN_ID" not in os.environ:
        os.environ["ROS_DOMAIN_ID"] = str(own_domain())
    with tempfile.TemporaryDirectory(prefix="faults_") as name:
        folder = Path(name)
        # in shared memory a process that is stopped while it holds a lock stops those that write to the same reader
        os.environ.update(udp_on_this_machine(folder), ROS_LOG_DIR=str(folder / "log"))
        return _Campaign(kinds, rate, seed, pause, folder, guard, record).run(seconds)


class _Campaign:
    def __init__(
        self, kinds: list[str], rate: float, seed: int, pause: float, folder: Path, guard: bool, record: Path | None
    ) -> None:
        self._guard = guard
        self._kinds, self._rate, self._seed, self._pause, self._folder = kinds, rate, seed, pause, folder
        context = multiprocessing.get_context("spawn")
        begin = time.time_ns() // 1000 * 1000
        self._motions = {kind: Motion(begin, AMPLITUDE[kind]) for kind in kinds}
        self._rings = {kind: context.Array("q", RING + 2, lock=False) for kind in kinds}
        self._controls = {kind: context.Array("d", 3, lock=False) for kind in kinds}
        theirs, self._events = context.Pipe(duplex=False)
        self._results, self._looks = (
            context.Queue(),
            context.Queue(),
        )  # kept: a process that starts looks for them by name
        arguments = (self._motions, self._rings, theirs, self._looks, record)
        self._watch = context.Process(target=watch, args=arguments, daemon=True)
        self._judge = context.Process(target=judge, args=(self._motions, self._looks, self._results), daemon=True)
        self._senders = [
            context.Process(
                target=send, daemon=True,
                args=(k, rate, self._motions[k], self._rings[k], self._controls[k], k == "hybrid_controller"),
            )
            for k in kinds
        ]  # fmt: skip
        self._lock = threading.Lock()
        self._violations: list[dict[str, Any]] = []
        self._problems: list[str] = []
        self._stop = threading.Event()

    def _tell(self, node: str, kind: str, value: Any) -> None:
        with self._lock:
            self._events.send((node, time.time(), kind, value))

    def run(self, seconds: float) -> dict[str, Any]:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from std_msgs.msg import String

        rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
        own = rclpy.create_node("faults")
        executor = SingleThreadedExecutor()
        executor.add_node(own)

        def spin() -> None:
            while not self._stop.is_set():
                executor.spin_once(timeout_sec=0.05)

        spinning = threading.Thread(target=spin, daemon=True)
        spinning.start()
        self._watch.start()
        self._judge.start()
        nodes: dict[str, Node] = {}
        guards: dict[str, Node] = {}
        threads = []
        faults: dict[str, Faults] = {}
        try:
            for kind in self._kinds:
                cache = self._folder / f"cache_{kind}"
                nodes[kind] = Node(kind, self._folder, cache, partial(self._tell, kind, "pid"))
                if self._guard:
                    guards[kind] = Node(
                        "guard", self._folder, self._folder / f"cache_guard_{kind}",
                        partial(self._tell, kind, "guard's pid"), kind,
                    )  # fmt: skip
                client = Client(own, kind)
                client.descriptions.publish(String(data=description("panda")))
                rng = random.Random(f"{self._seed} {kind}")
                faults[kind] = NODES[kind](
                    kind, client, nodes[kind], self._motions[kind], self._controls[kind], cache, rng,
                    lambda event, value, kind=kind: self._tell(kind, event, value), parameters=start_parameters(kind),
                    long_life=seconds / LIVES,
                )  # fmt: skip
            for node in (*nodes.values(), *guards.values()):
                node.wait_until_active()
            for sender in self._senders:
                sender.start()
            begin = time.monotonic()
            for kind in self._kinds:
                self._tell(kind, "excused", (0.0, time.time() + 3.0))
                thread = threading.Thread(target=self._do_faults, args=(faults[kind], nodes[kind], begin + seconds))
                thread.start()
                threads.append(thread)
            self._follow([*nodes.values(), *guards.values()], begin + seconds)
            for thread in threads:
                thread.join()
            return self._finish(nodes, guards, faults, time.monotonic() - begin)
        finally:
            self._stop.set()
            for control in self._controls.values():
                control[0] = 1.0
            for node in (*nodes.values(), *guards.values()):
                if node.alive:
                    with contextlib.suppress(OSError):
                        os.kill(node.pid, signal.SIGCONT)
                    code = node.end(signal.SIGINT)
                    if code != 0:
                        self._problems.append(f"{node.kind}: exit code {code} at SIGINT")
            for process in (*self._senders, self._watch, self._judge):
                if process.pid is not None:
                    process.join(5.0)
                    process.kill()
            spinning.join()
            executor.shutdown()
            own.destroy_node()
            rclpy.try_shutdown()

    def _do_faults(self, faults: Faults, node: Node, end: float) -> None:
        ring = self._rings[faults.kind]
        while ring[RING] < 200 and time.monotonic() < end:  # states come first
            time.sleep(0.1)
        try:
            while time.monotonic() < end - 3.0:
                if not node.alive:
                    self._problems.append(f"{node.kind} died; it said:\n{node.said()[-3000:]}")
                    self._tell(node.kind, "anew", None)
                    node.start()
                    node.wait_until_active()
                faults.one()
                time.sleep(min(faults.rng.expovariate(1.0 / self._pause), 5.0))
        except Exception as error:
            self._problems.append(f"{node.kind}: the campaign ended: {type(error).__name__}: {error}")

    def _follow(self, nodes: list[Node], end: float) -> None:
        """Measure memory, gather violations."""
        due = time.monotonic()
        while time.monotonic() < end:
            for process, name in ((self._watch, "watcher"), (self._judge, "judge")):
                if not process.is_alive():
                    raise RuntimeError(f"the {name} has died, exit code {process.exitcode}")
            if time.monotonic() >= due:
                due += MEASURED
                for node in nodes:
                    node.measure(settled=node.kind == "guard")  # which is never cleaned up
            with contextlib.suppress(queue.Empty):
                self._take(self._results.get(timeout=0.2))

    def _take(self, result: tuple[str, Any]) -> Any:
        kind, value = result
        if kind == "end":
            return value
        self._violations.append({"node": kind, "seed": self._seed, **value})
        print(json.dumps(self._violations[-1]), file=sys.stderr, flush=True)
        return None

    def _finish(
        self, nodes: dict[str, Node], guards: dict[str, Node], faults: dict[str, Faults], elapsed: float
    ) -> dict[str, Any]:
        for control in self._controls.values():
            control[0] = 1.0
        self._tell("", "end", None)
        counts = None
        limit = time.monotonic() + ENDING + elapsed
        while counts is None:
            if self._watch.exitcode:
                raise RuntimeError(f"the watcher has died, exit code {self._watch.exitcode}")
            lives = self._judge.is_alive()  # asked first: what it has said before its end is taken
            if time.monotonic() > limit:
                raise RuntimeError("the judge does not come to an end")
            try:
                counts = self._take(self._results.get(timeout=1.0))
            except queue.Empty:
                if not lives:
                    raise RuntimeError(f"the judge has died, exit code {self._judge.exitcode}") from None
        for kind, node in nodes.items():
            counts[kind] |= {
                **_memory_of(node), "lives": len(node.memory.lives),
                "faults": dict(sorted(faults[kind].done.items())), "notes": faults[kind].notes[:100],
            }  # fmt: skip
            if node.memory.flat is False:
                self._problems.append(f"{kind}: its memory grows: {node.memory.growths()} MB in the last thirds")
            if kind in guards:
                counts[kind] |= {f"guard's {what}": value for what, value in _memory_of(guards[kind]).items()}
                if not guards[kind].alive:
                    self._problems.append(f"the guard of {kind} died; it said:\n{guards[kind].said()[-3000:]}")
        good = all(counts[kind][bad] == 0 for kind in nodes for bad in BAD) and not self._problems
        return {
            "good": good, "seed": self._seed, "seconds": round(elapsed, 1), "rate": self._rate, "nodes": counts,
            "problems": self._problems, "violations": self._violations[:400],
        }  # fmt: skip


def _memory_of(node: Node) -> dict[str, Any]:
    """For the report."""
    lives = [[round(sample.private, 1) for sample in life if not sample.settled] for life in node.memory.lives]
    settled = [[round(sample.private, 1) for sample in life if sample.settled] for life in node.memory.lives]
    return {
        "private memory, MB": lives[-5:], "of the settled node, MB": settled[-5:],
        "memory slope, MB/h": node.memory.slope(), "memory flat": node.memory.flat,
        "memory growth in last thirds, MB": [round(growth, 2) for growth in node.memory.growths()],
    }  # fmt: skip
