# SPDX-License-Identifier: Apache-2.0
"""The demo's own part in the ROS graph: it publishes the robot, plays the motion, records, calls services."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbd_dynamics.demo.motion import ARM, Motion
from rbd_dynamics.demo.processes import Processes
from rbd_dynamics.demo.recording import Recording
from rbd_dynamics.nodes.managed.messages import LATCHED
from rbd_dynamics.nodes.process.run import choose_executor

#: reliable, and a queue that holds all of it: a busy machine makes the recording late, never thin
RECORDED = QoSProfile(depth=100_000)
COMPILED = 300.0  # s of wall time until a node has its kernels: simulated time may run three times as fast
PATIENCE = 60.0  # s, for anything else, on a slow machine


class DemoError(RuntimeError):
    """Something did not work; the message is for the user."""


class Client:
    """A node of this process, spun in a thread of its own; a context.

    Parameters:
        processes: the nodes; every wait ends at once when one of them has died.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.recording = Recording()
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("demo", parameter_overrides=[Parameter("use_sim_time", value=True)])
        self._executor, self._spin_for = choose_executor(self._node, "auto")
        self._stop = threading.Event()
        self._clients: dict[str, Any] = {}
        self._description = self._node.create_publisher(String, "robot_description", LATCHED)
        self._trajectory = self._node.create_publisher(JointTrajectory, "/feedforward/joint_trajectory", 10)
        self._thread = threading.Thread(target=self._spin, name="demo client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown()

    def _spin(self) -> None:
        while not self._stop.is_set():
            self._spin_for(0.1)

    # --- topics -----------------------------------------------------------------------------------

    def publish_description(self, text: str) -> None:
        message = String(data=text)
        self._description.publish(message)
        self.recording.add_topic("/robot_description", String)
        self.recording.add("/robot_description", serialize_message(message))

    def record(self, topic: str, ros_type: Any) -> None:
        """Keep every message of a topic from now on, as it came over the wire.

        What is missing shows by the stamps. (An event callback for lost messages may stop this process for ever: Fast
        DDS reports one with a lock that whoever takes the event waits for, and the other way round.)
        """
        self.recording.add_topic(topic, ros_type)
        self._node.create_subscription(
            ros_type, topic, lambda data: self.recording.add(topic, data), RECORDED, raw=True
        )

    def wait_for_joint_states(self) -> None:
        """Until the simulated robot is there: with each joint state comes the time."""
        self.wait(self.now, "joint_states and /clock of the simulator")

    def publisher(self, ros_type: Any, topic: str) -> Any:
        """A publisher that somebody listens to."""
        publisher = self._node.create_publisher(ros_type, topic, 10)
        self.wait(lambda: publisher.get_subscription_count() > 0, f"a subscriber of {topic}")
        return publisher

    def play(self, motion: Motion, start: int) -> None:
        """Send the motion as a trajectory that starts at `start` (ns)."""
        self._trajectory.publish(trajectory_message(motion, start))

    def now(self) -> int:
        """Simulated time, ns."""
        return int(self._node.get_clock().now().nanoseconds)

    # --- the nodes ----------------------------------------------------------------------------------

    def activate(self, node: str) -> None:
        self._change_state(node, Transition.TRANSITION_ACTIVATE)

    def deactivate(self, node: str) -> None:
        self._change_state(node, Transition.TRANSITION_DEACTIVATE)

    def wait_for_active(self, node: str) -> None:
        """Until it has its robot: with a cold cache of kernels that takes a while."""
        state, request = f"/{node}/get_state", GetState.Request()
        active = State.PRIMARY_STATE_ACTIVE
        self.wait(
            lambda: self.call(GetState, state, request).current_state.id == active,
            f"node {node} to be active",
            COMPILED,
        )

    def _change_state(self, node: str, transition: int) -> None:
        request = ChangeState.Request(transition=Transition(id=transition))
        if not self.call(ChangeState, f"/{node}/change_state", request).success:
            raise DemoError(f"node {node} refuses its transition {transition}")

    def reset_simulator(self) -> None:
        """Start position, at rest, brakes on."""
        if not self.call(Trigger, "/simulator/reset", Trigger.Request()).success:
            raise DemoError("the simulator has no robot")

    def check(self) -> None:
        """Raises NodeDied where a node has ended."""
        self._processes.check()

    # --- services ---------------------------------------------------------------------------------

    def wait(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        """Raises DemoError where it takes too long, NodeDied where a node has ended."""
        end = time.monotonic() + patience
        while not condition():
            self._processes.check()
            if time.monotonic() > end:
                raise DemoError(f"waited {patience:.0f} s in vain for {what}")
            time.sleep(0.01)

    def wait_simulated(self, condition: Callable[[], Any], what: str, seconds: float) -> None:
        """Wait as `wait`, at most so many simulated seconds: on a busy machine they take longer.

        Raises DemoError also where simulated time stands still.
        """
        begin = latest = self.now()
        end = time.monotonic() + PATIENCE
        while not condition():
            self._processes.check()
            now = self.now()
            if now != latest:
                latest, end = now, time.monotonic() + PATIENCE
            if now - begin > 1e9 * seconds:
                raise DemoError(f"waited {seconds:g} simulated seconds in vain for {what}")
            if time.monotonic() > end:
                raise DemoError(f"waited for {what}, and simulated time has stood still for {PATIENCE:.0f} s")
            time.sleep(0.01)

    def call(self, ros_type: Any, name: str, request: Any, patience: float = PATIENCE) -> Any:
        """The response of a service. Raises DemoError."""
        if name not in self._clients:
            self._clients[name] = self._node.create_client(ros_type, name)
        client = self._clients[name]
        self.wait(client.service_is_ready, f"service {name}", patience)
        future = client.call_async(request)
        self.wait(future.done, f"an answer of {name}", patience)
        return future.result()

    def set_parameters(self, node: str, **values: Any) -> None:
        """Raises DemoError with the node's reason where it refuses."""
        request = SetParameters.Request()
        request.parameters = [_parameter(name, value).to_parameter_msg() for name, value in values.items()]
        for result in self.call(SetParameters, f"/{node}/set_parameters", request).results:
            if not result.successful:
                raise DemoError(f"node {node} refuses its parameters: {result.reason}")


def _parameter(name: str, value: Any) -> Parameter:
    """An empty list is one of strings: rclpy cannot tell."""
    return Parameter(name, Parameter.Type.STRING_ARRAY, []) if value == [] else Parameter(name, value=value)


def trajectory_message(
    motion: Motion, start: int = 0, period: float = 0.05, derivatives: int = 2, joints: Sequence[str] = ARM
) -> JointTrajectory:
    """Points every `period` seconds, with so many derivatives of the position. start: ns, 0 is at once."""
    message = JointTrajectory(joint_names=list(joints))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(start, 1_000_000_000)
    times = np.linspace(0.0, motion.duration, round(motion.duration / period) + 1)
    for time_from_start, sample in zip(times, motion.sample(times).transpose(1, 0, 2)):
        point = JointTrajectoryPoint(positions=sample[0].tolist())
        if derivatives > 0:
            point.velocities = sample[1].tolist()
        if derivatives > 1:
            point.accelerations = sample[2].tolist()
        seconds = int(time_from_start)
        point.time_from_start.sec = seconds
        point.time_from_start.nanosec = round((float(time_from_start) - seconds) * 1e9)
        message.points.append(point)
    return message
