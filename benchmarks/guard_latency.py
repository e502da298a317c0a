# SPDX-License-Identifier: Apache-2.0
"""What the node guard costs: from a command to the same command behind it, against a node that only relays.

    scripts/run python -m benchmarks.guard_latency [--rate 1000] [--seconds 2] [--rounds 8] [--executor auto]

Both run all the time, in processes of their own, under the same executor. This process sends commands for a Panda to
one of them and then to the other, in turns, each with a joint state, which the guard reads as well.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.node_latency import GAP, Turns, processor_time, robot
from rbd_dynamics.demo.ros_domain import own_domain

NODES = ("relay", "guard")


class Driver:
    """Sends commands at a fixed rate and times when they come back."""

    def __init__(self, names: list[str], position: np.ndarray, executor: str) -> None:
        import rclpy
        from rclpy.signals import SignalHandlerOptions
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from rbd_dynamics.nodes.process import choose_executor

        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("latency_driver")
        self._executor, self._spin = choose_executor(self.node, executor)
        self._state = JointState(name=names, position=position.tolist(), velocity=[0.0] * len(names))
        self._command = Float64MultiArray(data=[0.01] * len(names))
        self._sent: list[int] = []
        self._received: list[int] = []
        self._publishers: dict[str, tuple[Any, Any]] = {}

    def connect(self, node: str) -> None:
        """Waits until it is there."""
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self.node.create_subscription(Float64MultiArray, f"/{node}/{node}/commands", self._on_command, 100)
        commands = self.node.create_publisher(Float64MultiArray, f"/{node}/{node}/unguarded_commands", 10)
        states = self.node.create_publisher(JointState, f"/{node}/joint_states", qos_profile_sensor_data)
        self._publishers[node] = (commands, states)
        end = time.monotonic() + 120.0
        while not commands.get_subscription_count() or not self.node.count_publishers(f"/{node}/{node}/commands"):
            if time.monotonic() > end:
                raise SystemExit(f"the {node} node did not come up")
            self._spin(0.05)
        self._spin(1.0)

    def _on_command(self, message: Any) -> None:
        self._received.append(time.perf_counter_ns())

    def turn(self, node: str, rate: float, seconds: float) -> tuple[np.ndarray, int, int]:
        """(times in us, sent, answered)."""
        self._sent.clear()
        self._received.clear()
        count = round(rate * seconds)
        commands, states = self._publishers[node]

        def tick() -> None:
            if len(self._sent) < count:
                self._state.header.stamp = self.node.get_clock().now().to_msg()
                states.publish(self._state)
                self._sent.append(time.perf_counter_ns())
                commands.publish(self._command)

        timer = self.node.create_timer(1.0 / rate, tick)
        end = time.monotonic() + 2.0 * seconds + 2.0
        while len(self._received) < count and time.monotonic() < end:
            self._spin(0.05)
        self.node.destroy_timer(timer)
        self._command.data = [0.0] * len(self._command.data)  # the turn ends, and nothing is left to be held
        commands.publish(self._command)
        self._command.data = [0.01] * len(self._command.data)
        sent, received = np.array(self._sent), np.array(self._received)
        self._spin(GAP)
        shortest = min(len(sent), len(received))
        latency = (
            received - sent if len(sent) == len(received) else received - sent[np.searchsorted(sent, received) - 1]
        )
        return latency * 1e-3, len(sent), shortest

    def close(self) -> None:
        import rclpy

        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()


def relay(executor: str) -> int:
    """The node to compare with: the bytes of a command in and out."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    from std_msgs.msg import Float64MultiArray

    from rbd_dynamics.nodes.process import choose_executor

    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("relay", namespace="relay")
    publisher = node.create_publisher(Float64MultiArray, "~/commands", 10)
    node.create_subscription(Float64MultiArray, "~/unguarded_commands", publisher.publish, 10, raw=True)
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


def measure(rate: float, seconds: float, rounds: int, executor: str) -> dict[str, Turns]:
    """Run both nodes and give each of them its turns."""
    description, model, position = robot()
    results = {node: Turns() for node in NODES}
    with tempfile.TemporaryDirectory() as folder:
        if "ROS_DOMAIN_ID" not in os.environ:
            os.environ["ROS_DOMAIN_ID"] = str(own_domain())
        os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_LOG_DIR=folder)
        file = Path(folder, "guard.yaml")
        options = {"robot_description": description, "executor": executor, "most_silences": 1000}
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": options}}))
        guard = ["rbd_dynamics.nodes.guard", "--ros-args", "-r", "__ns:=/guard", "--params-file", str(file)]
        commands = {"relay": ["benchmarks.guard_latency", "--relay", "--executor", executor], "guard": guard}
        processes = {
            node: subprocess.Popen([sys.executable, "-m", *commands[node]], stderr=subprocess.DEVNULL) for node in NODES
        }
        driver = Driver(model.joint_names, position, executor)
        try:
            for node in NODES:
                driver.connect(node)
            for turn in range(rounds + 1):  # the first warms up; then each goes first in turn
                for node in NODES if turn % 2 else reversed(NODES):
                    before, begin = processor_time(processes[node].pid), time.monotonic()
                    latency, sent, answered = driver.turn(node, rate, seconds)
                    if turn:
                        result = results[node]
                        result.latencies.append(latency)
                        result.sent, result.answered = result.sent + sent, result.answered + answered
                        result.processor += processor_time(processes[node].pid) - before
                        result.elapsed += time.monotonic() - begin - GAP
        finally:
            driver.close()
            for process in processes.values():
                process.send_signal(signal.SIGINT)
            for process in processes.values():
                process.wait(30.0)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1000.0, help="commands per second")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=8, help="turns of each")
    parser.add_argument("--executor", default="auto", help="of all processes")
    parser.add_argument("--relay", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.relay:
        return relay(args.executor)
    results = measure(args.rate, args.seconds, args.rounds, args.executor)
    heads = ("node", "median, us", "of the turns", "p99, us", "lost", "CPU, %")
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name, result in results.items():
        print("| " + " | ".join((name, *result.row())) + " |")
    print(f"\nload of the machine {os.getloadavg()[0]:.1f} of {os.cpu_count()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
