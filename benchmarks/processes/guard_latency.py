# SPDX-License-Identifier: Apache-2.0
"""What the node guard costs: from a command to the same command behind it, against a node that only relays.

    scripts/run python -m benchmarks.processes.guard_latency [--quick] [--rate 1000] [--executor auto] [--json FILE]

Both run all the time, in processes of their own, under the same executor. This process sends commands for a Panda to
one of them and then to the other, in turns, each with a joint state, which the guard reads as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Table, deliver, parser
from benchmarks.processes.turns import HEADS, ProcessTime, Timed, TurnDriver, Turns, in_turns, processes, relay, robot

NODES = ("relay", "guard")


class Driver(TurnDriver):
    """Sends commands, each with a joint state."""

    def __init__(self, names: list[str], position: np.ndarray, executor: str) -> None:
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        super().__init__(executor)
        self._state = JointState(name=names, position=position.tolist(), velocity=[0.0] * len(names))
        self._command, self._zeros = (Float64MultiArray(data=[effort] * len(names)) for effort in (0.01, 0.0))
        self._topics: dict[str, tuple[Any, Any]] = {}

    def connect(self, node: str) -> None:
        """Waits until it is there."""
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        states = self.node.create_publisher(JointState, f"/{node}/joint_states", qos_profile_sensor_data)
        own = f"/{node}/{node}"
        commands = self.connect_to(Float64MultiArray, f"{own}/unguarded_commands", 10, f"{own}/commands")
        self._topics[node] = (commands, states)
        self._spin(1.0)

    def send(self, space: str) -> None:
        commands, states = self._topics[space]
        self._state.header.stamp = self.node.get_clock().now().to_msg()
        states.publish(self._state)
        self._sent.append(time.perf_counter_ns())
        commands.publish(self._command)

    def rest(self, space: str) -> None:
        answered = len(self._received)
        self._topics[space][0].publish(self._zeros)  # nothing is left to be held
        super().rest(space)
        del self._received[answered:]


def relay_commands(node: Any) -> None:
    """The bytes of a command in and out."""
    from std_msgs.msg import Float64MultiArray

    publisher = node.create_publisher(Float64MultiArray, "~/commands", 10)
    node.create_subscription(Float64MultiArray, "~/unguarded_commands", publisher.publish, 10, raw=True)


def command(node: str, executor: str, folder: str) -> list[str]:
    if node == "relay":
        return [sys.executable, "-m", "benchmarks.processes.guard_latency", "--relay", "--executor", executor]
    file = Path(folder, "guard.yaml")
    options = {"robot_description": robot()[0], "executor": executor, "most_silences": 1000}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": options}}))
    return [
        sys.executable, "-m", "rbd_dynamics.nodes.guard", "--ros-args", "-r", "__ns:=/guard", "--params-file", str(file)
    ]  # fmt: skip


def measure(rate: float, seconds: float, rounds: int, executor: str, guard: Guard) -> dict[str, Turns]:
    """Run both nodes and give each of them its turns."""
    _, model, position = robot()
    with processes(lambda folder: {node: command(node, executor, folder) for node in NODES}) as running:
        driver = Driver(model.joint_names, position, executor)

        def turn(node: str, number: int) -> tuple[Timed, ProcessTime]:
            used = ProcessTime(running[node].pid)
            return driver.turn(node, rate, seconds), used

        try:
            for node in NODES:
                driver.connect(node)
            return in_turns(NODES, turn, rounds, guard)
        finally:
            driver.close()


def main() -> int:
    options = parser("processes.guard_latency", __doc__)
    options.add_argument("--rate", type=float, default=1000.0, help="commands per second")
    options.add_argument("--executor", default="auto", help="of all processes")
    options.add_argument("--relay", action="store_true", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.relay:
        return relay(args.executor, relay_commands)
    seconds, rounds = (0.5, 2) if args.quick else (2.0, 8)
    results = measure(args.rate, seconds, rounds, args.executor, Guard.of(quick=args.quick))
    table = Table("guard", HEADS)
    for node, result in results.items():
        result.add_to(table, node, results["relay"])
    return deliver(args, [table], settings=f"{args.rate:g} Hz, {rounds} turns of {seconds:g} s")


if __name__ == "__main__":
    sys.exit(main())
