"""Round trip of the feedforward node against a node that only relays, in one run.

    scripts/run python -m benchmarks.node_latency [--rate 1000] [--seconds 1.5] [--rounds 12] [--executor auto]

Both nodes run all the time, in processes of their own, under the same executor, with the same quality of
service. This process sends joint states to one of them and then to the other, in turns, and measures the time
until the Float64MultiArray that answers each. The feedforward node has a Panda, a running trajectory, PD and
all terms; its named efforts have no subscriber.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

WARM_UP = 1.0  # s of each node's first turn that do not count
GAP = 0.3  # s between turns
BOUND = 1.15


@dataclass
class Turns:
    """What one node did in all its turns."""

    latencies: list[np.ndarray] = field(default_factory=list)
    sent: int = 0
    answered: int = 0
    processor: float = 0.0
    elapsed: float = 0.0

    @property
    def median(self) -> float:
        return float(np.median(np.concatenate(self.latencies)))

    def row(self) -> tuple[str, ...]:
        all_latencies = np.concatenate(self.latencies)
        medians = [np.median(turn) for turn in self.latencies]
        return (
            f"{self.median:.0f}", f"{min(medians):.0f} to {max(medians):.0f}",
            f"{np.percentile(all_latencies, 99):.0f}",
            f"{self.sent - self.answered}", f"{100 * self.processor / self.elapsed:.0f}",
        )  # fmt: skip


class Driver:
    """Sends joint states at a fixed rate and times the answers."""

    def __init__(self, names: list[str], executor: str) -> None:
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        from rbd_dynamics.nodes.process import choose_executor

        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("latency_driver")
        self._executor, self._spin = choose_executor(self.node, executor)
        self._sent: list[int] = []
        self._received: list[int] = []
        self._publishers: dict[str, Any] = {}
        self._position = np.linspace(-0.3, 0.3, len(names))
        self._make_message(names)

    def _make_message(self, names: list[str]) -> None:
        from sensor_msgs.msg import JointState

        self._message = JointState(name=names)
        self._message.velocity = [0.01] * len(names)

    def connect(self, space: str, answers: str) -> None:
        """To the node in that name space. Waits until it is there."""
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self.node.create_subscription(Float64MultiArray, f"/{space}/{answers}", self._on_answer, 100)
        topic = f"/{space}/joint_states"
        self._publishers[space] = self.node.create_publisher(JointState, topic, qos_profile_sensor_data)
        end = time.monotonic() + 120.0
        answer = f"/{space}/{answers}"
        while not self._publishers[space].get_subscription_count() or not self.node.count_publishers(answer):
            if time.monotonic() > end:
                raise SystemExit(f"the {space} node did not come up")
            self._spin(0.05)

    def send(self, space: str) -> None:
        message = self._message
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.position = (self._position + 1e-3 * (len(self._sent) % 100)).tolist()
        self._sent.append(time.perf_counter_ns())
        self._publishers[space].publish(message)

    def _on_answer(self, message: Any) -> None:
        self._received.append(time.perf_counter_ns())

    def turn(self, space: str, rate: float, seconds: float) -> tuple[np.ndarray, int, int]:
        """(round trips in us, sent, answered)."""
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
        self._spin(GAP)
        sent, received = np.array(self._sent), np.array(self._received)
        if len(sent) == len(received):  # answers come in order
            latency = received - sent
        else:  # some are lost: each answer belongs to the last message before it
            latency = received - sent[np.searchsorted(sent, received) - 1]
        return latency * 1e-3, len(sent), len(received)

    def close(self) -> None:
        import rclpy

        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()


def relay(executor: str) -> int:
    """The node to compare with: JointState in, its positions out as Float64MultiArray."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from rbd_dynamics.nodes.messages import JOINT_STATES
    from rbd_dynamics.nodes.process import choose_executor

    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("relay", namespace="relay")
    publisher = node.create_publisher(Float64MultiArray, "commands", 10)
    answer = Float64MultiArray()

    def on_state(message: JointState) -> None:
        answer.data = message.position
        publisher.publish(answer)

    node.create_subscription(JointState, "joint_states", on_state, JOINT_STATES)
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


def start_trajectory(driver: Driver, joints: list[str], seconds: float) -> None:
    """Let the feedforward node follow a trajectory during its turn."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    driver.send("feedforward")
    driver._spin(0.1)
    publisher = driver.node.create_publisher(JointTrajectory, "/feedforward/feedforward/joint_trajectory", 1)
    message = JointTrajectory(joint_names=joints)
    for k in range(1, int(seconds) + 3):
        point = JointTrajectoryPoint(positions=[0.02 * (-1.0) ** k] * len(joints))
        point.time_from_start = Duration(sec=k)
        message.points.append(point)
    while not publisher.get_subscription_count():
        driver._spin(0.05)
    driver.send("feedforward")
    publisher.publish(message)
    driver._spin(0.2)
    driver.node.destroy_publisher(publisher)


def processor_time(pid: int) -> float:
    """Seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def robot() -> tuple[str, list[str]]:
    """Description and joint names of the robot of this benchmark."""
    from rbd_dynamics.example_robots import robots
    from rbd_dynamics.model.urdf import load_urdf

    found = robots()
    if "panda" not in found:
        raise SystemExit("needs the package example-robot-data: pip install example-robot-data")
    return found["panda"].read_text(), load_urdf(found["panda"]).joint_names


def measure(rate: float, seconds: float, rounds: int, executor: str) -> dict[str, Turns]:
    """Run both nodes and give each of them its turns."""
    description, joints = robot()
    results = {"relay": Turns(), "feedforward": Turns()}
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
        os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_LOG_DIR=folder)
        parameters = {
            "robot_description": description, "executor": executor, "kp": 50.0, "kd": 5.0, "start_tolerance": 10.0,
            "terms": ["inertia", "coriolis", "gravity", "friction"],
        }  # fmt: skip
        file = Path(folder, "parameters.yaml")
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
        relay = ["benchmarks.node_latency", "--relay", "--executor", executor]
        arguments = ["--ros-args", "-r", "__ns:=/feedforward", "--params-file", str(file)]
        feedforward = ["rbd_dynamics.nodes.feedforward", *arguments]
        processes = {
            "relay": subprocess.Popen([sys.executable, "-m", *relay]),
            "feedforward": subprocess.Popen([sys.executable, "-m", *feedforward], stderr=subprocess.DEVNULL),
        }
        driver = Driver(joints, executor)
        try:
            driver.connect("relay", "commands")
            driver.connect("feedforward", "feedforward/commands")
            for turn in range(2 * rounds + 2):  # the first two warm up; then each goes first in turn
                space = ("relay", "feedforward")[(turn + turn // 2) % 2]
                if space == "feedforward":
                    start_trajectory(driver, joints, seconds)
                before, begin = processor_time(processes[space].pid), time.monotonic()
                latency, sent, answered = driver.turn(space, rate, WARM_UP if turn < 2 else seconds)
                if turn >= 2:
                    result = results[space]
                    result.latencies.append(latency)
                    result.sent, result.answered = result.sent + sent, result.answered + answered
                    result.processor += processor_time(processes[space].pid) - before
                    result.elapsed += time.monotonic() - begin - GAP
        finally:
            driver.close()
            for process in processes.values():
                process.send_signal(signal.SIGINT)
            for process in processes.values():
                process.wait(10.0)
    return results


def table(title: str, results: dict[str, Turns]) -> None:
    heads = ("node", "median, us", "of the turns", "p99, us", "lost", "CPU, %")
    print(f"\n{title}\n\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name, result in results.items():
        print("| " + " | ".join((name, *result.row())) + " |")
    print(
        f"\nfeedforward / relay: {ratio(results):.3f} (median of the pairs of turns, bound {BOUND}); "
        f"load of the machine {os.getloadavg()[0]:.1f} of {os.cpu_count()}"
    )


def ratio(results: dict[str, Turns]) -> float:
    """Of the median round trips in turns next to each other, the median: what drifts meanwhile counts in both."""
    pairs = zip(results["feedforward"].latencies, results["relay"].latencies)
    return float(np.median([np.median(feedforward) / np.median(relay) for feedforward, relay in pairs]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states per second")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a turn")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each node")
    parser.add_argument("--executor", default="auto", choices=("auto", "events", "single_threaded"))
    parser.add_argument("--relay", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.relay:
        return relay(options.executor)
    results = measure(options.rate, options.seconds, options.rounds, options.executor)
    table(f"Round trip at {options.rate:g} Hz, executor {options.executor}", results)
    print(f"memory of the largest process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
    lost = sum(result.sent - result.answered for result in results.values())
    return 1 if lost or ratio(results) > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
