# SPDX-License-Identifier: Apache-2.0
"""The longest gap between torques of the feedforward node at 1 kHz, idle and under every kind of heavy message.

    scripts/run python -m benchmarks.processes.torque_gaps [--quick] [--rate 1000] [--json FILE]

Joint states of a Panda are sent by one process, the heavy messages by another; gaps are between the arrivals of
torques here, and between those of the answers of a node that only relays, which gets the same states at the same time
and none of the messages: what both have is the machine's, and a column says how much a gap was longer than the relay's
at that time. The first one is the most processor time that the thread of the torques used between two of them in a
second, in the median of the seconds: that is the node's own, however busy the machine. Each message is sent once a
second. With --realtime the two nodes and this process, not the one that sends the messages, run under SCHED_FIFO, as
control loops do; that needs the right to do so, and takes out what else runs on the machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser
from benchmarks.processes.node_latency import command, parameters
from benchmarks.processes.turns import robot
from rbd_dynamics.demo.ros_domain import own_domain

KINDS = (
    "idle", "set-points, 500 Hz", "40 points", "10,000 points", "100,000 points", "100,001 points", "30,000 names",
    "10 MB trajectory", "joint state of 200 kB", "joint state of 10 MB", "description of 10 MB", "parameters of 1 MB",
    "payload, 10 MB", "parameter text of 0.5 MB", "parameter text of 10 MB", "set 70 parameters", "15,000 parameters",
    "parameter asked for 5,000 times", "all parameters", "label of 10 MB",
)  # fmt: skip
BOUND = 1.0  # ms beyond the relay's gaps: two between torques; in real-time priority, what else runs counts without it
PRIORITY = 10


def cdr(names: list[str], rows: np.ndarray, times: np.ndarray) -> bytes:
    """A serialised JointTrajectory of positions (n, joints) at times (n,) in ns; n > 1."""
    head = bytearray(struct.pack("<4xII", 1, 0) + b"\0" * 4)  # stamp zero, an empty frame
    head[:] = struct.pack("<iI", 0, 0) + struct.pack("<I", 1) + b"\0"
    for part in (None, *names):
        head += b"\0" * (-len(head) % 4)
        encoded = b"" if part is None else part.encode() + b"\0"
        head += struct.pack("<I", len(names) if part is None else len(encoded)) + encoded
    head += b"\0" * (-len(head) % 4) + struct.pack("<I", len(rows))
    if len(head) % 8 == 0:  # the first point's numbers are aligned: its count comes with four bytes of padding
        head += struct.pack("<I4x", rows.shape[1])
    else:
        head += struct.pack("<I", rows.shape[1])
    count, joints = rows.shape
    record = np.dtype([("q", "<f8", joints), ("empty", "<u4", 3), ("sec", "<i4"), ("nanosec", "<u4"), ("count", "<u4")])
    points = np.zeros(count, record)
    points["q"], points["count"] = rows, joints
    points["sec"], points["nanosec"] = times // 10**9, times % 10**9
    return b"\0\1\0\0" + bytes(head) + points.tobytes()[:-4]


class Sender:
    """Sends one kind of message, once a second, in a process of its own."""

    def __init__(self, kind: str) -> None:
        import rclpy

        rclpy.init()
        self.kind, self.node = kind, rclpy.create_node("heavy_sender")
        _, model, position = robot()
        self.names, self.position = list(model.joint_names), position
        self._send = self._prepare()

    def run(self, seconds: float) -> None:
        period = 0.002 if "500 Hz" in self.kind else 1.0
        begin = time.monotonic()
        for k in range(int(seconds / period)):
            time.sleep(max(0.0, begin + k * period - time.monotonic()))
            self._send()

    def _prepare(self) -> Any:
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState
        from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
        from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
        from rclpy.serialization import serialize_message
        from sensor_msgs.msg import JointState
        from std_msgs.msg import String
        from trajectory_msgs.msg import JointTrajectory

        from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD

        if self.kind.startswith("joint state"):
            state = JointState(name=[f"joint_{k}" for k in range(5000)], position=[0.0] * 5000)
            if "10 MB" in self.kind:
                state.effort = [0.0] * 1_250_000
            return self._publisher(JointState, "/feedforward/joint_states", serialize_message(state))
        if self.kind == "description of 10 MB":
            from rclpy.qos import DurabilityPolicy, QoSProfile

            latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
            text = String(data="<robot name='x'>" + " " * 10_000_100)
            return self._publisher(String, "/feedforward/robot_description", serialize_message(text), latched)
        if self.kind == "parameters of 1 MB":
            client = self.node.create_client(SetParameters, "/feedforward/feedforward/set_parameters")
            parameter = Parameter(name="kp")
            parameter.value.type = ParameterType.PARAMETER_DOUBLE_ARRAY
            parameter.value.double_array_value = [1.0] * 125_000
            return self._caller(client, SetParameters.Request(parameters=[parameter]))
        if self.kind.startswith("parameter text") or self.kind == "15,000 parameters":
            client = self.node.create_client(SetParameters, "/feedforward/feedforward/set_parameters")
            value = ParameterValue(type=ParameterType.PARAMETER_STRING)
            if "text" in self.kind:
                value.string_value = "x" * int(1e6 * float(self.kind.split()[-2]))
            parameter = Parameter(name="robot_description", value=value)
            count = 1 if "text" in self.kind else 15_000
            return self._caller(client, SetParameters.Request(parameters=[parameter] * count))
        if self.kind == "parameter asked for 5,000 times":
            client = self.node.create_client(GetParameters, "/feedforward/feedforward/get_parameters")
            return self._caller(client, GetParameters.Request(names=["kp"] * 5000))
        if self.kind == "set 70 parameters":
            parameter = Parameter(name="kp", value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE_ARRAY))
            parameter.value.double_array_value = [10.0]
            client = self.node.create_client(SetParameters, "/feedforward/feedforward/set_parameters")
            return self._caller(client, SetParameters.Request(parameters=[parameter] * 70))
        if self.kind == "all parameters":
            names = [each.name for each in FEEDFORWARD.parameters]
            get = self._caller(
                self.node.create_client(GetParameters, "/feedforward/feedforward/get_parameters"),
                GetParameters.Request(names=names),
            )
            describe = self._caller(
                self.node.create_client(DescribeParameters, "/feedforward/feedforward/describe_parameters"),
                DescribeParameters.Request(names=names),
            )
            return lambda: (get(), describe())
        if self.kind == "label of 10 MB":
            client = self.node.create_client(ChangeState, "/feedforward/feedforward/change_state")
            return self._caller(client, ChangeState.Request(transition=Transition(label="x" * 10_000_000)))
        if self.kind == "payload, 10 MB":
            from rbd_dynamics_interfaces.srv import SetPayload

            client = self.node.create_client(SetPayload, "/feedforward/feedforward/set_payload")
            request = SetPayload.Request()
            request.payload.header.frame_id = "x" * 10_000_000
            return self._caller(client, request)
        return self._publisher(JointTrajectory, "/feedforward/feedforward/joint_trajectory", self._trajectory())

    def _trajectory(self) -> bytes:
        count, names, seconds = {
            "set-points, 500 Hz": (1, self.names, 0.0), "40 points": (40, self.names, 4.0),
            "10,000 points": (10_000, self.names, 10.0), "100,000 points": (100_000, self.names, 100.0),
            "100,001 points": (100_001, self.names, 100.0), "10 MB trajectory": (75_000, ["foreign"] * 9, 100.0),
            "30,000 names": (2, [f"joint_{k}" for k in range(30_000)], 1.0),
        }[self.kind]  # fmt: skip
        if count == 1:
            from rclpy.serialization import serialize_message
            from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

            point = JointTrajectoryPoint(positions=self.position.tolist())
            return bytes(serialize_message(JointTrajectory(joint_names=names, points=[point])))
        s = np.arange(1, count + 1) / count
        bump = 0.1 * (16 * s**2 * (1 - s) ** 2)[:, None]
        base = self.position if len(names) == len(self.position) else np.zeros(len(names))
        return cdr(names, base + bump, np.round(1e9 * seconds * s).astype(np.int64))

    def _publisher(self, kind: type, topic: str, raw: bytes, qos: Any = 1) -> Any:
        publisher = self.node.create_publisher(kind, topic, qos)
        while not publisher.get_subscription_count():
            time.sleep(0.05)
        time.sleep(0.3)
        return lambda: publisher.publish(raw)

    def _caller(self, client: Any, request: Any) -> Any:
        while not client.service_is_ready():
            time.sleep(0.05)
        return lambda: client.call_async(request)


class Gauge:
    """Sends joint states at a fixed rate to both nodes and notes when their answers come."""

    def __init__(self, notes: Path) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from rbd_dynamics.nodes.managed.messages import JOINT_STATES

        rclpy.init()
        self.node = rclpy.create_node("gauge")
        self.arrivals: dict[str, list[int]] = {"feedforward": [], "relay": []}
        self._notes = notes
        _, model, position = robot()
        self._message = JointState(name=model.joint_names, position=position.tolist(), velocity=[0.0] * len(position))
        self._publishers = []
        for space, topic in (("feedforward", "feedforward/commands"), ("relay", "commands")):
            self._publishers.append(self.node.create_publisher(JointState, f"/{space}/joint_states", JOINT_STATES))
            self.node.create_subscription(
                Float64MultiArray, f"/{space}/{topic}",
                lambda _, found=self.arrivals[space]: found.append(time.perf_counter_ns()), 1000,
            )  # fmt: skip
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._end = threading.Event()

    def _used(self, since: int) -> np.ndarray:
        """The most processor time between two torques, ms, in each second that has some.

        since: a time of the steady clock, ns.
        """
        times, used = np.fromfile(self._notes, np.int64).reshape(-1, 2).T
        gaps, seconds = 1e-6 * np.diff(used), (times[1:] - since) // 10**9
        whole = [k for k in range(int(seconds.max(initial=0))) if np.any(seconds == k)]
        return np.array([gaps[seconds == k].max() for k in whole])

    def _send(self, rate: float) -> None:
        begin, k = time.perf_counter(), 0
        while not self._end.is_set():
            k += 1
            time.sleep(max(0.0, begin + k / rate - time.perf_counter()))
            self._message.header.stamp = self.node.get_clock().now().to_msg()
            for publisher in self._publishers:
                publisher.publish(self._message)

    def run(self, rate: float, until: Any) -> dict[str, np.ndarray]:
        """Gaps in ms between the answers of each node, while `until` is False."""
        self._end.clear()
        sender = threading.Thread(target=self._send, args=(rate,))
        sender.start()
        self._spin(time.monotonic() + 1.0, lambda: False)
        for found in self.arrivals.values():
            found.clear()
        begin = time.monotonic_ns()
        self._spin(time.monotonic() + 300.0, until)
        self._end.set()
        sender.join()
        own, relay = (np.array(self.arrivals[space]) * 1e-6 for space in ("feedforward", "relay"))
        return {
            "feedforward": np.diff(own), "relay": np.diff(relay), "own": beyond(own, relay),
                 "used": self._used(begin),
        }  # fmt: skip

    def _spin(self, end: float, until: Any) -> None:
        while time.monotonic() < end and not until():
            self._executor.spin_once(timeout_sec=0.05)

    def wait(self) -> None:
        while not all(publisher.get_subscription_count() for publisher in self._publishers):
            time.sleep(0.05)


def measure(rate: float, seconds: float, kinds: list[str], guard: Guard, table: Table, wanted: float | None) -> None:
    """Adds a row for each kind of message. wanted: the longest gap beyond the relay's, ms."""
    with tempfile.TemporaryDirectory() as folder:
        if "ROS_DOMAIN_ID" not in os.environ:
            os.environ["ROS_DOMAIN_ID"] = str(own_domain())
        os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_LOG_DIR=folder)
        own = {**parameters("auto")["feedforward"], "path_tolerance": [0.0]}  # this robot stands still
        text = Path(folder, "robot.urdf")
        text.write_text(own.pop("robot_description"))
        node = command("feedforward", "auto", folder)
        Path(folder, "feedforward.yaml").write_text(yaml.safe_dump({"/**": {"ros__parameters": own}}))
        notes = Path(folder, "notes")
        node[node.index("rbd_dynamics.nodes.feedforward")] = "benchmarks.processes.timed_feedforward"
        os.environ["NOTES"] = str(notes)
        processes = [subprocess.Popen(each) for each in (node, command("relay", "auto", folder))]
        gauge = Gauge(notes)
        try:
            describe(gauge, text.read_text())
            gauge.wait()
            for kind in kinds:
                found, trouble = guard.run(kind, partial(under, gauge, kind, rate, seconds))
                add_row(table, kind, found, trouble, wanted)
        finally:
            for process in processes:
                process.send_signal(signal.SIGINT)
            for process in processes:
                process.wait(20.0)


def under(gauge: Gauge, kind: str, rate: float, seconds: float) -> dict[str, np.ndarray]:
    """What the gauge finds while another process sends messages of that kind."""
    command = [sys.executable, "-m", "benchmarks.processes.torque_gaps", "--send", kind, "--seconds", str(seconds)]
    with subprocess.Popen(command) as sender:
        return gauge.run(rate, lambda: sender.poll() is not None)


def beyond(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of each gap between times `own`, how much longer it is than the longest of the other's gaps that overlap it."""
    if len(own) < 2 or len(other) < 2:
        return np.diff(own)
    gaps = np.diff(other)
    first = np.clip(np.searchsorted(other, own[:-1]) - 1, 0, len(gaps) - 1)
    last = np.clip(np.searchsorted(other, own[1:]), first + 1, len(gaps))
    longest = [gaps[a:b].max() for a, b in zip(first, last)]
    return np.diff(own) - longest


def describe(gauge: Gauge, text: str) -> None:
    """Give the node its description by the topic, as others do, and wait until it answers."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = gauge.node.create_publisher(String, "/feedforward/robot_description", latched)
    publisher.publish(String(data=text))
    answers = gauge.arrivals["feedforward"]
    gauge.wait()
    gauge.run(50.0, lambda: len(answers) > 5)


def add_row(table: Table, kind: str, gaps: dict[str, np.ndarray], trouble: str, wanted: float | None) -> None:
    """Of gaps and processor times in ms; the former are compared, the latter are the node's own."""
    longest = [Figure(float(gaps[name].max(initial=0.0))) for name in ("feedforward", "relay")]
    most = Figure(float(gaps["own"].max(initial=0.0)), wanted=wanted)
    table.add(kind, Figure.of(gaps["used"]) if len(gaps["used"]) else None, *longest, most, trouble=trouble)


def main() -> int:
    options = parser("processes.torque_gaps", __doc__)
    options.add_argument("--rate", type=float, default=1000.0, help="joint states per second")
    options.add_argument("--kinds", nargs="*", choices=KINDS, metavar="KIND")
    options.add_argument("--realtime", action="store_true", help="under SCHED_FIFO")
    options.add_argument("--send", choices=KINDS, help=argparse.SUPPRESS)
    options.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    if args.send:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if args.send == "idle":
            time.sleep(args.seconds)
        else:
            Sender(args.send).run(args.seconds)
        return 0
    heads = (
        "message, once a second",
        "processor time, ms",
        "longest gap, ms",
        "relay: longest, ms",
        "beyond the relay, ms",
    )
    table = Table("gaps", heads)
    seconds, kinds = (3.0, KINDS[:2]) if args.quick else (9.0, KINDS)
    wanted = BOUND if args.realtime else None
    measure(args.rate, seconds, list(args.kinds or kinds), Guard.of(quick=args.quick), table, wanted)
    kind = "real-time priority" if args.realtime else "without real-time priority"
    return deliver(args, [table], settings=f"{args.rate:g} Hz, {seconds:g} s each, {kind}")


if __name__ == "__main__":
    sys.exit(main())
