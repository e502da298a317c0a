# SPDX-License-Identifier: Apache-2.0
"""Running the package's nodes as processes of their own, and talking to them over DDS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import yaml

from helpers.nodes.warm_start import STARTER
from helpers.paths import ROOT
from rbd_dynamics.demo.ros_domain import own_domain

try:
    import rclpy
    import rclpy.qos

    from rbd_dynamics.nodes.process.run import choose_executor
except ImportError:
    rclpy = None

needs_ros = [
    pytest.mark.ros,
    pytest.mark.skipif(rclpy is None, reason="needs ROS 2: rclpy is not installed"),
]

OTHER_SIDE = 0.2  # s that the other side gets to see us, when we see it
SLICE = 0.02  # s: of such a wait
PATIENCE = 60.0  # s, for discovery and a first compilation on a busy machine


class Ros:
    """A ROS domain of this test process's own: a node to talk with, spun in a thread, and other processes."""

    def __init__(self, folder: Path, executor: str = "auto") -> None:
        self.folder, self._kind = folder, executor
        self._entities: list[tuple[Any, Callable[[Any], Any]]] = []
        self._gone: deque[Callable[[], Any]] = deque()  # what destroys
        self._setters: dict[str, tuple[Any, Callable[..., Any]]] = {}  # of parameters: {node: (its client, call)}
        os.environ.update(
            ROS_DOMAIN_ID=str(own_domain()),
            ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
            ROS_LOG_DIR=str(folder / "log"),
            ROS_PYTHON_CHECK_FIELDS="1",
            PYTHONUNBUFFERED="1",
        )
        if os.environ.get("ROS_DISTRO") == "humble":
            os.environ["ROS_LOCALHOST_ONLY"] = "1"

    def __enter__(self) -> Ros:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("tester", context=self.context)
        self._executor, self._spin_for = choose_executor(self.node, self._kind)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)

    def _keep(self, entity: Any, destroy: Callable[[Any], Any]) -> Any:
        self._entities.append((entity, destroy))
        return entity

    def forget(self, count: int) -> int:
        """Destroy all publishers, subscriptions and clients but the first `count`; how many there were."""
        there_were = len(self._entities)
        gone, self._entities = self._entities[count:], self._entities[:count]
        left = {id(entity) for entity, _ in self._entities}
        self._setters = {node: setter for node, setter in self._setters.items() if id(setter[0]) in left}
        self.destroy(*(partial(destroy, entity) for entity, destroy in reversed(gone)))
        return there_were

    def destroy(self, *calls: Callable[[], Any]) -> None:
        """Do so in the executor's thread: otherwise it may be about to wait for what is gone, which ends it."""
        self._gone.extend(calls)
        wait_until(lambda: not self._gone or not self._thread.is_alive(), "the end of publishers and subscriptions")

    def within(self, call: Callable[[], Any]) -> Any:
        """What the call returns, made in the executor's thread."""
        if threading.current_thread() is self._thread:
            return call()
        found: list[Any] = []
        self.destroy(lambda: found.append(call()))
        return found[0]

    def action_client(self, kind: Any, name: str) -> Any:
        """A client of an action that is there; destroy it.

        rclpy notes a request after it has sent it: an answer that the executor takes in between is lost ("Ignoring
        unexpected goal response"). So the executor's own thread sends.
        """
        from rclpy.action import ActionClient

        within = self.within

        class Client(ActionClient):  # type: ignore[misc, type-arg]
            def send_goal_async(self, *parts: Any, **named: Any) -> Any:
                return within(partial(super().send_goal_async, *parts, **named))

            def _cancel_goal_async(self, *parts: Any) -> Any:
                return within(partial(super()._cancel_goal_async, *parts))

            def _get_result_async(self, *parts: Any) -> Any:
                return within(partial(super()._get_result_async, *parts))

        client = Client(self.node, kind, name)
        assert client.wait_for_server(PATIENCE), f"waited {PATIENCE:g} s in vain for action {name}"
        return client

    def _spin(self) -> None:
        while not self._stop.is_set():
            self._spin_for(0.05)
            while self._gone:
                self._gone[0]()
                self._gone.popleft()

    def start(
        self,
        executable: str,
        parameters: dict[str, Any],
        *arguments: str,
        name: str = "",
        package: Path = ROOT,
        afresh: bool = False,
    ) -> NodeProcess:
        """Start a node with parameters; use it as a context, which ends it. package: the folder that holds it.

        afresh: by a new interpreter, in place of a fork of one that has imported the package.
        """
        return NodeProcess(self, executable, parameters, arguments, name or executable, package, afresh)

    def publisher(self, kind: Any, topic: str, qos: Any = 10, matched: int = 1) -> Any:
        """A publisher that somebody listens to."""
        publisher = self._keep(self.node.create_publisher(kind, topic, qos), self.node.destroy_publisher)
        wait_until(lambda: publisher.get_subscription_count() >= matched, f"a subscriber of {topic}")
        others_run(OTHER_SIDE)
        return publisher

    def collect(self, kind: Any, topic: str, qos: Any = 100) -> Heard:
        """A list that fills with the messages of a topic, which somebody publishes."""
        messages = Heard()
        self.hear(kind, topic, messages.append, qos)
        return messages

    def hear(self, kind: Any, topic: str, callback: Callable[..., Any], qos: Any = 100) -> None:
        """Call a function with the messages of a topic, which somebody publishes."""
        self._keep(self.node.create_subscription(kind, topic, callback, qos), self.node.destroy_subscription)
        wait_until(lambda: self.node.count_publishers(topic) > 0, f"a publisher of {topic}")
        others_run(OTHER_SIDE)

    def client(self, kind: Any, name: str, again: float = PATIENCE / 3.0) -> Callable[..., Any]:
        """A function that calls a service: fields of the request in, response out.

        again: s without a response after which the request is sent once more; where that does no harm.
        """
        client = self._keep(self.node.create_client(kind, name), self.node.destroy_client)
        assert client.wait_for_service(PATIENCE), f"waited {PATIENCE:g} s in vain for service {name}"
        others_run(OTHER_SIDE)  # a response to whom the server does not know is lost

        def call(request: Any = None, **fields: Any) -> Any:
            request = request or kind.Request(**fields)
            futures, due = [client.call_async(request)], time.monotonic() + again

            def answered() -> bool:
                nonlocal due
                if time.monotonic() > due:
                    futures.append(client.call_async(request))
                    due += again
                return any(future.done() for future in futures)

            wait_until(answered, f"an answer of {name}")
            return next(future.result() for future in futures if future.done())

        return call

    def set_parameters(self, node: str, **values: Any) -> list[Any]:
        """Set parameters of another node; the results (successful, reason)."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        messages = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        if node not in self._setters:  # one for all: each client of a service gets all of its answers
            call = self.client(SetParameters, f"{node}/set_parameters", again=5.0)
            self._setters[node] = (self._entities[-1][0], call)
        return list(self._setters[node][1](parameters=messages).results)

    def set_together(self, node: str, **values: Any) -> Any:
        """All of them or none: the result (successful, reason)."""
        from rcl_interfaces.srv import SetParametersAtomically
        from rclpy.parameter import Parameter

        messages = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        return self.client(SetParametersAtomically, f"{node}/set_parameters_atomically")(parameters=messages).result


class Heard(list[Any]):
    """Messages in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self._came = threading.Event()

    def append(self, message: Any) -> None:
        super().append(message)
        self._came.set()

    def wakes(self, other: Heard) -> None:
        """Whoever waits for the other's messages looks whenever one comes here, too."""
        self._came = other._came

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Look whenever another one comes, and never in between: polling costs as much as the answers themselves."""
        end = time.monotonic() + seconds
        while True:
            self._came.clear()  # before the look: one that comes during it wakes us
            if condition():
                return True
            if not self._came.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                return condition()


class NodeProcess:
    """A node of the package in a process of its own.

    Leaving the context ends it, which must be clean, and what was made meanwhile to talk to it.
    """

    def __init__(
        self,
        ros: Ros,
        executable: str,
        parameters: dict[str, Any],
        arguments: Any,
        name: str,
        package: Path,
        afresh: bool,
    ) -> None:
        self._ros, self.name = ros, name
        self._before = ros.forget(sys.maxsize)
        file = ros.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
        module, given = f"rbd_dynamics.nodes.{executable}", ["--ros-args", "-r", f"__node:={name}"]
        given += [*(["--params-file", str(file)] if parameters else []), *arguments]
        self._log = ros.folder / f"{name}.log"
        self._log.write_bytes(b"")
        forked = None if afresh or package != ROOT else STARTER.start(module, given, self._log)
        self.process = forked or self._begun(module, given, package)

    def _begun(self, module: str, arguments: list[str], package: Path) -> subprocess.Popen[bytes]:
        with open(self._log, "wb") as log:
            command = [sys.executable, "-m", module, *arguments]
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=package)

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = self.stop(hurry=True)
        self._ros.forget(self._before)
        if kind is None:
            assert code == 0, f"exit code {code}:\n{self.log}"
        else:
            print(f"--- what {self.name} said:\n{self.log}")

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self, number: int = signal.SIGINT, hurry: bool = False) -> int:
        """The exit code. hurry: a second signal ends what a node does after the first one."""
        if self.alive:
            self.process.send_signal(number)
        try:
            if hurry:
                try:
                    return self.process.wait(0.5)
                except subprocess.TimeoutExpired:
                    self.process.send_signal(number)
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def is_there(self) -> None:
        """Wait until it has begun, active or not."""
        topic = f"/{self.name}/transition_event"
        wait_until(
            lambda: self._ros.node.count_publishers(topic) or not self.alive, f"node {self.name}", 2.0 * PATIENCE
        )
        assert self.alive, self.log

    def is_active(self) -> None:
        """Wait until it is active, its kernels compiled."""
        self.says("active", 2.0 * PATIENCE)

    def says(self, text: str, timeout: float = PATIENCE) -> None:
        """Wait until the log has that text."""
        wait_until(lambda: text in self.log or not self.alive, f"{text!r} in the log", timeout)
        assert text in self.log, self.log


class Conversation:
    """A node, a way to talk to it, and its diagnostics; tests of one node add its topics."""

    recent = 0  # the last so many reports count; 0: all

    def __init__(self, ros: Ros, node: NodeProcess) -> None:
        from diagnostic_msgs.msg import DiagnosticArray

        self.ros, self.node = ros, node
        self.reports = ros.collect(DiagnosticArray, "/diagnostics")

    def get(self, name: str) -> Any:
        """A parameter of the node."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        found = self.ros.client(GetParameters, f"{self.node.name}/get_parameters")(names=[name]).values[0]
        value = parameter_value_to_python(found)
        return list(value) if hasattr(value, "tolist") else value

    def diagnosed(self, text: str, since: int | None = None) -> None:
        """Wait until the node's diagnostics say that text; since: of this report on, in place of recent ones."""
        wait_until(lambda: self.was_diagnosed(text, since), f"{text!r} in the diagnostics")

    def was_diagnosed(self, text: str, since: int | None = None) -> bool:
        """Whether they have said it."""
        return any(text in message for message in self._said(-self.recent if since is None else since))

    def ends_to_say(self, text: str, meanwhile: Callable[[], Any] = lambda: None) -> None:
        """Wait until the node's diagnostics from now on come without that text."""
        since = len(self.reports)

        def without() -> bool:
            meanwhile()
            return any(text not in message for message in self._said(since))

        wait_until(without, f"diagnostics without {text!r}", 30.0)

    def _said(self, since: int) -> list[str]:
        statuses = [status for report in self.reports[since:] for status in report.status]
        return [status.message for status in statuses if self.node.name in status.name]

    def well(self) -> bool:
        """Whether all of the node's diagnostics of a recent report are ok."""
        from diagnostic_msgs.msg import DiagnosticStatus

        levels = [
            [status.level for status in report.status if self.node.name in status.name]
            for report in self.reports[-self.recent :]
        ]
        return any(own and set(own) == {DiagnosticStatus.OK} for own in levels)

    def is_well(self) -> None:
        """Wait until it is."""
        wait_until(self.well, "diagnostics without a complaint", 30.0)


def joint_state(names: Any, position: Any = (), velocity: Any = (), effort: Any = (), stamp: Any = None) -> Any:
    """A JointState of any sequences of numbers; its stamp is a message or in ns, none: zero."""
    from sensor_msgs.msg import JointState

    message = JointState(name=list(names))
    message.position, message.velocity, message.effort = (list(map(float, x)) for x in (position, velocity, effort))
    if isinstance(stamp, int):
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    elif stamp is not None:
        message.header.stamp = stamp
    return message


def joint_trajectory(names: Any, points: Any, stamp: Any = None) -> Any:
    """A JointTrajectory; points are (s, positions, velocities, accelerations), the stamp is a message or in ns."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=list(names))
    if isinstance(stamp, int):
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    elif stamp is not None:
        message.header.stamp = stamp
    for t, *rows in points:
        rows = [list(map(float, row)) for row in rows] + [[]] * (3 - len(rows))
        duration = Duration(sec=int(t), nanosec=round((t - int(t)) * 1e9))
        message.points.append(
            JointTrajectoryPoint(positions=rows[0], velocities=rows[1], accelerations=rows[2], time_from_start=duration)
        )
    return message


def wait_until(condition: Callable[[], Any], what: str, timeout: float = PATIENCE) -> None:
    """Wait for a condition. AssertionError after the time-out."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited {timeout:g} s in vain for {what}"
        time.sleep(0.005)


def others_run(seconds: float) -> None:
    """Sleep so long, little by little: a time in which the whole machine stood still counts as one of many slices."""
    for _ in range(max(1, round(seconds / SLICE))):
        time.sleep(SLICE)


class SimulatedClock:
    """/clock of what a test simulates, for a node with `use_sim_time`: while the machine stands still it does, too."""

    EVERY = 10_000_000  # ns

    def __init__(self, ros: Ros, nodes: int = 1) -> None:
        from rclpy.qos import qos_profile_sensor_data
        from rosgraph_msgs.msg import Clock

        self._kind, self._told = Clock, 0
        self._clock = ros.publisher(Clock, "/clock", qos_profile_sensor_data, matched=nodes)

    def tell(self, now: int) -> None:
        """It is so late, ns."""
        if now - self._told >= self.EVERY:
            message = self._kind()
            message.clock.sec, message.clock.nanosec = divmod(now, 1_000_000_000)
            self._clock.publish(message)
            self._told = now


@contextmanager
def in_this_process(ros: Any, kind: Any, values: dict[str, Any]) -> Iterator[Any]:
    """A node of that class, active with these parameters, which spins only where its methods are called."""
    node = kind(context=ros.context)
    try:
        change(node, **values)
        node.trigger_configure()
        wait_until(lambda: node.poll() or node.engine is not None, "a robot")
        node.trigger_activate()
        yield node
    finally:
        node.entities.close()
        node.destroy_node()


def change(node: Any, **values: Any) -> None:
    """Parameters of a node in this process."""
    from rclpy.parameter import Parameter

    for result in node.set_parameters([Parameter(name, value=value) for name, value in values.items()]):
        assert result.successful, result.reason
