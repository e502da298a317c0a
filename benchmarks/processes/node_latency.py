# SPDX-License-Identifier: Apache-2.0
"""Round trip of the nodes that give torques against a node that only relays, in one run.

    scripts/run python -m benchmarks.processes.node_latency [--quick] [--rate 1000] [--executor auto] [--json FILE]

All nodes run all the time, in processes of their own, under the same executor, with the same quality of
service. This process sends joint states to one of them and then to the next, in turns, and measures the time
until the Float64MultiArray that answers each. All have a Panda. The feedforward node has a running trajectory,
PD and all terms; hybrid_controller presses with 10 N, and gets a wrench with each joint state;
cartesian_controller is on the way to a pose. Their named efforts have no subscriber.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from benchmarks.measuring.quiet import Guard, NotMeasuredError
from benchmarks.measuring.results import Table, deliver, parser
from benchmarks.processes.turns import HEADS, ProcessTime, Timed, TurnDriver, Turns, in_turns, processes, relay, robot

#: and what they should do
NODES = {"relay": None, "feedforward": "trajectory", "hybrid_controller": "press", "cartesian_controller": "pose"}
TOOL = "panda_hand_tcp"
FORCE = 10.0  # N
SETTLING = 0.5  # s before and after the tool touches
SEEN = 0.5  # s in which the other side gets to see a publisher
WARM_UP = 1.0  # s of each node's first turn that do not count
BOUND = 1.10


class Driver(TurnDriver):
    """Sends joint states, and to hybrid_controller wrenches."""

    def __init__(self, names: list[str], position: np.ndarray, executor: str) -> None:
        from diagnostic_msgs.msg import DiagnosticArray

        super().__init__(executor)
        self._publishers: dict[str, Any] = {}
        self.names, self.position = names, position
        self.modes: set[str] = set()  # of the nodes, as they report them
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_report, 10)
        self._make_messages(names)

    def _make_messages(self, names: list[str]) -> None:
        from geometry_msgs.msg import WrenchStamped
        from sensor_msgs.msg import JointState

        self._message = JointState(name=names)
        self._message.velocity = [0.0] * len(names)
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = TOOL

    def connect(self, space: str, answers: str) -> None:
        """To the node in that name space. Waits until it is there."""
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        topic = f"/{space}/joint_states"
        self._publishers[space] = self.connect_to(JointState, topic, qos_profile_sensor_data, f"/{space}/{answers}")

    def wishes(self, kind: Any, topic: str) -> Any:
        """A publisher for what a node shall do, which stays: the node has to see it before it hears anything."""
        if topic not in self._publishers:
            self._publishers[topic] = publisher = self.node.create_publisher(kind, topic, 1)
            while not publisher.get_subscription_count():
                self._spin(0.05)
            self._spin(SEEN)
        return self._publishers[topic]

    def connect_sensor(self) -> None:
        """Of hybrid_controller."""
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import qos_profile_sensor_data

        topic = "/hybrid_controller/wrench"
        self._sensor = self.node.create_publisher(WrenchStamped, topic, qos_profile_sensor_data)
        while not self._sensor.get_subscription_count():
            self._spin(0.05)

    def send(self, space: str) -> None:
        message = self._message
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.position = (self.position + 1e-6 * (len(self._sent) % 100)).tolist()
        self._sent.append(time.perf_counter_ns())
        self._publishers[space].publish(message)
        if space == "hybrid_controller":
            self._wrench.header.stamp = message.header.stamp
            self._sensor.publish(self._wrench)

    def feels(self, force: float) -> None:
        """What the sensor reads along the tool's axis from now on, N."""
        self._wrench.wrench.force.z = force

    def _on_report(self, message: Any) -> None:
        values = {entry.key: entry.value for status in message.status for entry in status.values}
        self.modes.add(values.get("mode", values.get("desired motion", "")))


def relay_states(node: Any) -> None:
    """JointState in, its positions out as Float64MultiArray."""
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from rbd_dynamics.nodes.managed.messages import JOINT_STATES

    publisher = node.create_publisher(Float64MultiArray, "commands", 10)
    answer = Float64MultiArray()

    def on_state(message: JointState) -> None:
        answer.data = message.position
        publisher.publish(answer)

    node.create_subscription(JointState, "joint_states", on_state, JOINT_STATES)


def start_trajectory(driver: Driver, seconds: float) -> None:
    """Let the feedforward node follow a trajectory during its turn."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    driver.send("feedforward")
    driver._spin(0.1)
    publisher = driver.wishes(JointTrajectory, "/feedforward/feedforward/joint_trajectory")
    message = JointTrajectory(joint_names=driver.names)
    for k in range(1, int(seconds) + 3):
        point = JointTrajectoryPoint(positions=(driver.position + 0.01 * (-1.0) ** k).tolist())
        point.time_from_start = Duration(sec=k)
        message.points.append(point)
    driver.send("feedforward")
    publisher.publish(message)
    driver._spin(0.2)


def go_to_a_pose(driver: Driver, side: float) -> None:
    """Let cartesian_controller be on its way to a pose, above or below: so slowly that it is during the whole turn."""
    from geometry_msgs.msg import PoseStamped

    space = "cartesian_controller"
    publisher = driver.wishes(PoseStamped, f"/{space}/{space}/target_pose")
    message = PoseStamped()
    pose = tool_pose()
    place = message.pose.position
    place.x, place.y, place.z = (pose[:3, 3] + [0.0, 0.0, 0.1 * side]).tolist()
    turned = message.pose.orientation
    turned.x, turned.y, turned.z, turned.w = Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()
    for _ in range(20):
        driver.send(space)
        driver._spin(0.005)
    publisher.publish(message)
    driver._spin(0.1)


def tool_pose() -> np.ndarray:
    """(4, 4) where the robot is."""
    from rbd_dynamics.robot import Robot

    _, model, position = robot()
    return np.asarray(Robot(model, backend="reference").pose(position, TOOL))


def engage(driver: Driver) -> None:
    """Let hybrid_controller press during its turn: it stopped when the last one ended."""
    from std_srvs.srv import SetBool

    client = driver.node.create_client(SetBool, "/hybrid_controller/hybrid_controller/engage")
    while not client.service_is_ready():
        driver._spin(0.05)
    driver.feels(0.0)
    for on in (False, True):
        answer = client.call_async(SetBool.Request(data=on))
        while not answer.done():
            driver.send("hybrid_controller")
            driver._spin(0.002)
    driver.node.destroy_client(client)
    # contact is a change of the reading: nothing for a while, in which the sensor's zero is found, then the surface
    for force in (0.0, FORCE):
        driver.feels(force)
        end = time.perf_counter() + SETTLING
        while time.perf_counter() < end:
            driver.send("hybrid_controller")
            driver._spin(0.002)
    if not answer.result().success:
        raise NotMeasuredError(f"it does not engage: {answer.result().message}")


def parameters(executor: str) -> dict[str, dict[str, Any]]:
    """Of each node. hybrid_controller's surface is where the tool is."""
    description, _, _ = robot()
    pose = tool_pose()
    # the pauses between turns are no silence
    common = {"robot_description": description, "executor": executor, "state_timeout": 60.0}
    return {
        "feedforward": {
            **common, "kp": 50.0, "kd": 5.0, "start_tolerance": 10.0,
            "terms": ["inertia", "coriolis", "gravity", "friction"],
        },
        "hybrid_controller": {
            **common, "tool_frame": TOOL, "task_position": pose[:3, 3].tolist(),
            "task_orientation": Rotation.from_matrix(pose[:3, :3]).as_euler("xyz").tolist(),
            "tool_orientation": [0.0, 0.0, 0.0], "desired_force": [FORCE],
        },
        "cartesian_controller": {**common, "tool_frame": TOOL, "velocity_limits": [0.01], "path_tolerance": [0.0]},
    }  # fmt: skip


def command(node: str, executor: str, folder: str) -> list[str]:
    if node == "relay":
        return [sys.executable, "-m", "benchmarks.processes.node_latency", "--relay", "--executor", executor]
    file = Path(folder, f"{node}.yaml")
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters(executor)[node]}}))
    arguments = ["--ros-args", "-r", f"__ns:=/{node}", "--params-file", str(file)]
    return [sys.executable, "-m", f"rbd_dynamics.nodes.{node}", *arguments]


def measure(rate: float, seconds: float, rounds: int, executor: str, guard: Guard) -> dict[str, Turns]:
    """Run all nodes and give each of them its turns."""
    _, model, position = robot()
    with processes(lambda folder: {node: command(node, executor, folder) for node in NODES}) as running:
        driver = Driver(model.joint_names, position, executor)

        def turn(node: str, number: int) -> tuple[Timed, ProcessTime]:
            if node == "feedforward":
                start_trajectory(driver, seconds)
            elif node == "hybrid_controller":
                engage(driver)
            elif node == "cartesian_controller":
                go_to_a_pose(driver, (-1.0) ** number)
            driver.modes.clear()
            used = ProcessTime(running[node].pid)
            timed = driver.turn(node, rate, seconds if number else WARM_UP)
            if (mode := NODES[node]) and mode not in driver.modes:
                raise NotMeasuredError(f"{' '.join(sorted(driver.modes)) or 'no word'} in place of {mode}")
            return timed, used

        try:
            for node in NODES:
                driver.connect(node, "commands" if node == "relay" else f"{node}/commands")
            driver.connect_sensor()
            return in_turns(list(NODES), turn, rounds, guard)
        finally:
            driver.close()


def main() -> int:
    options = parser("processes.node_latency", __doc__)
    options.add_argument("--rate", type=float, default=1000.0, help="joint states per second")
    options.add_argument("--executor", default="auto", choices=("auto", "events", "single_threaded"))
    options.add_argument("--relay", action="store_true", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.relay:
        return relay(args.executor, relay_states)
    # a node reports once a second what it does
    seconds, rounds = (1.1, 2) if args.quick else (1.5, 12)
    results = measure(args.rate, seconds, rounds, args.executor, Guard.of(quick=args.quick))
    table = Table("nodes", HEADS)
    for node, result in results.items():
        result.add_to(table, node, results["relay"], BOUND if node == "feedforward" else None)
    print(f"memory of the largest process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
    return deliver(args, [table], settings=f"{args.rate:g} Hz, {rounds} turns of {seconds:g} s, {args.executor}")


if __name__ == "__main__":
    sys.exit(main())
