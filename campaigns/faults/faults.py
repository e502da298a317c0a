# SPDX-License-Identifier: Apache-2.0
"""What is done to a node, with numbers that follow from the seed. Each is told to the judge before it is done."""

from __future__ import annotations

import os
import random
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from campaigns.faults import hostile
from campaigns.faults.beginnings import Beginnings
from campaigns.faults.judging.desired import Points, SetPoint, Wanted
from campaigns.faults.judging.situation import Settings
from campaigns.faults.robot import FRAME, JOINTS, MIDDLE, Motion, description
from campaigns.faults.sender import OTHER

NEAR = 0.03  # rad from the middle of the robot's motion, of what is wanted
ANSWER = 10.0  # s for a service
ATTEMPTS = 10  # to set a parameter back
SETTLING = 3.0  # s after a clean-up, until its memory is looked at: so long it hears states, to leave the robot safe
CONFIGURED = 60.0  # s for a configuration, which may have to compile


Weighted = list[tuple[Callable[[], None], float]]


class Client:
    """Of one node: publishers and services."""

    def __init__(self, node: Any, kind: str) -> None:
        from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
        from lifecycle_msgs.srv import ChangeState
        from rcl_interfaces.srv import SetParameters
        from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray, String
        from std_srvs.srv import SetBool, Trigger
        from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

        prefix = f"/{kind}/{kind}"
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.states = node.create_publisher(JointState, f"/{kind}/joint_states", qos_profile_sensor_data)
        self.wrenches = node.create_publisher(WrenchStamped, f"/{kind}/wrench", qos_profile_sensor_data)
        self.trajectories = node.create_publisher(JointTrajectory, f"{prefix}/joint_trajectory", 10)
        self.wishes = {
            name: node.create_publisher(ros_type, f"{prefix}/{name}", 10)
            for name, ros_type in (
                ("desired_wrench", WrenchStamped), ("target_pose", PoseStamped), ("target_twist", TwistStamped),
                ("target_wrench", WrenchStamped), ("target_joint", JointState), ("target_stiffness", Float64MultiArray),
                ("cartesian_trajectory", MultiDOFJointTrajectory),
            )
        }  # fmt: skip
        self.descriptions = node.create_publisher(String, f"/{kind}/robot_description", latched)
        self._services = {
            "set_parameters": node.create_client(SetParameters, f"{prefix}/set_parameters"),
            "change_state": node.create_client(ChangeState, f"{prefix}/change_state"),
            "engage": node.create_client(SetBool, f"{prefix}/engage"),
            "tare": node.create_client(Trigger, f"{prefix}/tare"),
            "accept_description": node.create_client(Trigger, f"{prefix}/accept_description"),
            "resume": node.create_client(Trigger, f"/{kind}/guard/resume"),
        }
        try:
            from rbd_dynamics_interfaces.srv import SetPayload
        except ImportError:
            pass
        else:
            self._services["set_payload"] = node.create_client(SetPayload, f"{prefix}/set_payload")
            self._services["guard's set_payload"] = node.create_client(SetPayload, f"/{kind}/guard/set_payload")

    def call(self, service: str, request: Any, patience: float = ANSWER) -> Any:
        """The response, None where none came within so many s."""
        client = self._services.get(service)
        if client is None or not client.wait_for_service(0.0 if service in ("resume", "guard's set_payload") else 2.0):
            return None
        future = client.call_async(request)
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        if not done.wait(patience):
            client.remove_pending_request(future)
            return None
        return future.result()


class Faults(Beginnings):
    """All faults of one node.

    tell: kind and value of an event for the judge, see `Judge.event`. parameters: at the start, by name.
    long_life: s that every other process lives at least, by chance, so that its memory can be watched.
    judged: parameters of which the judge is told.
    """

    judged = frozenset(field.name for field in fields(Settings))
    holds_new_robots = False  # also while nothing ends its motion

    def __init__(
        self, kind: str, client: Client, process: Any, motion: Motion, control: Any, cache: Path, rng: random.Random,
        tell: Callable[[str, Any], None], *, parameters: Mapping[str, Any], long_life: float = 0.0,
    ) -> None:  # fmt: skip
        self.kind, self.client, self.process, self.motion, self.control = kind, client, process, motion, control
        self.cache, self.rng, self._tell = cache, rng, tell
        self._start, self._parameters, self._long_life = parameters, dict(parameters), long_life
        self.done: dict[str, int] = {}
        self.notes: list[str] = []
        self._loaded, self._shortest_life = False, long_life
        self._all: Weighted = [
            (self.hostile_state, 12.0), (self.hostile_wish, 5.0), (self.flood, 1.0), (self.stopped, 2.0),
            (self.silence, 1.5), (self.another_description, 1.5), (self.malformed_description, 2.0), (self.load, 2.0),
            (self.absurd_load, 2.0), (self.absurd_parameters, 3.0), (self.deactivated, 1.0), (self.cleaned_up, 1.0),
            (self.broken_cache, 1.5), (self.full_disk, 0.7), (self.ended, 0.25), (self.killed, 0.25),
            (self.half_states, 1.5), (self.two_publishers, 1.0), (self.another_robot, 1.5), *self.own(),
        ]  # fmt: skip

    def own(self) -> Weighted:
        """What is done to this node alone."""
        return [(self.set_points, 5.0), (self.trajectory, 5.0), (self.parameters, 4.0), (self.hand_guiding, 2.0)]

    def one(self) -> None:
        """The next one."""
        fault = self.rng.choices([each for each, _ in self._all], [weight for _, weight in self._all])[0]
        self.done[fault.__name__] = self.done.get(fault.__name__, 0) + 1
        fault()
        if self.rng.random() < 0.3:
            self._resume()
            self._transition(3)  # where too many implausible states in a row ended the control

    def _resume(self) -> None:
        """Let the guard pass commands on again, if there is one."""
        from std_srvs.srv import Trigger

        self.client.call("resume", Trigger.Request())

    def tell(self, kind: str, value: Any = None) -> None:
        self._tell(kind, value)

    def _begins(self) -> float:
        """From now on states may stay unanswered."""
        begin = time.time() - 0.2
        self.tell("excused", (begin, begin + 300.0))
        return begin

    def _excused(self, begin: float, after: float = 1.0) -> None:
        self.tell("excused", (begin, time.time() + after))

    # --- messages ---------------------------------------------------------------------------------

    def hostile_state(self) -> None:
        kind, messages = hostile.joint_state(self.rng, self.motion)
        self.tell("note", f"joint state: {kind}")
        self._publish_states(messages)

    def _publish_states(self, messages: list[Any]) -> None:
        """The stamps of those that are good are told."""
        stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages if not isinstance(m, bytes)]
        self.tell("stamps", [stamp for stamp in stamps if stamp % 1000 == OTHER])
        for message in messages:
            self.client.states.publish(message)

    def hostile_wish(self) -> None:
        """A motion that must be refused."""
        kind, message = hostile.trajectory(self.rng)
        self.tell("note", f"trajectory: {kind}")
        self.client.trajectories.publish(message)

    def flood(self) -> None:
        what = self.rng.choice(("states", "wishes", "descriptions"))
        self.tell("note", f"flood of {what}")
        begin = self._begins()
        for _ in range(self.rng.choice((200, 1000))):
            if what == "states":
                kind, messages = hostile.joint_state(self.rng, self.motion)
                # damaged ones, or parts of which one is lost, may make a whole state
                if kind not in ("garbage", "in two parts"):
                    self._publish_states(messages[:2])
            elif what == "wishes":
                self.hostile_wish()
            else:
                self._publish_description(self.rng.choice(("<a/>", "", "x")), None)
        if what == "descriptions":
            self._publish_description(description("panda"), "panda")
        self.deactivated()  # and active anew: what cannot be, too often in a row, ends the control
        self._excused(begin, 2.0)

    # --- desired motion ---------------------------------------------------------------------------

    def near(self) -> Any:
        """Positions near the middle."""
        return MIDDLE + np.array([self.rng.uniform(-NEAR, NEAR) for _ in range(7)])

    def set_points(self) -> None:
        """Some, one after the other."""
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        for _ in range(self.rng.randrange(1, 30)):
            q = self.near()
            v = np.array([self.rng.uniform(-0.05, 0.05) for _ in range(7)]) * self.rng.choice((0.0, 1.0))
            self.tell("desired", SetPoint(Wanted(q, v, np.zeros(7))))
            point = JointTrajectoryPoint(positions=q.tolist(), velocities=v.tolist())
            self.client.trajectories.publish(JointTrajectory(joint_names=list(JOINTS), points=[point]))
            time.sleep(0.02)

    def trajectory(self) -> None:
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        count = self.rng.randrange(2, 6)
        times = np.cumsum([self.rng.randrange(4, 15) * 10**8 for _ in range(count)])
        q = np.array([self.near() for _ in range(count)])
        v = np.array([[self.rng.uniform(-0.02, 0.02) for _ in range(7)] for _ in range(count)])
        v[-1] = 0.0
        a = np.zeros((count, 7))
        start = time.time_ns() + self.rng.choice((0, 10**8)) if self.rng.random() < 0.5 else 0
        self.tell("points", Points(times.astype(np.int64), q, v, a, start))
        message = JointTrajectory(joint_names=list(JOINTS))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(start, 10**9)
        for at, *rows in zip(times.tolist(), q, v, a):
            point = JointTrajectoryPoint(
                **dict(zip(("positions", "velocities", "accelerations"), (r.tolist() for r in rows)))
            )
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(at, 10**9)
            message.points.append(point)
        self.client.trajectories.publish(message)
        time.sleep(self.rng.uniform(0.1, 2.0))
        if self.rng.random() < 0.2:
            self.tell("unsettled")
            self.client.trajectories.publish(JointTrajectory())  # hold

    # --- parameters, loads, descriptions ----------------------------------------------------------

    def _set(self, values: dict[str, Any]) -> Any:
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        messages = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        return self.client.call("set_parameters", SetParameters.Request(parameters=messages))

    def parameters(self) -> None:
        self._change(*self.rng.choice(self.settings_to_choose()))

    def _change(self, name: str, value: Any) -> None:
        sent = {name: tuple(value) if isinstance(value, list) else value}
        self.tell("settings", sent)
        answer = self._set({name: value})
        if answer is not None and not all(result.successful for result in answer.results):
            self.tell("refused", ("settings", sent))
        else:
            self._parameters[name] = value

    def settings_to_choose(self) -> Sequence[tuple[str, Any]]:
        """Parameters that may change while the node runs, some of them by chance."""
        return (
            ("kp", [self.rng.uniform(10.0, 80.0)]), ("kd", [self.rng.uniform(1.0, 8.0)]),
            ("kp", [self.rng.uniform(10.0, 80.0) for _ in range(7)]), ("effort_limits", [self.rng.uniform(5.0, 60.0)]),
            ("effort_limits", [60.0] * 4 + [10.0] * 3), ("law", "feedforward"), ("law", "computed_torque"),
            ("evaluate_at", "measured"), ("evaluate_at", "desired"), ("terms", ["inertia", "coriolis", "gravity"]),
            ("terms", ["inertia", "gravity"]), ("terms", ["inertia", "coriolis"]),
        )  # fmt: skip

    def absurd_parameters(self) -> None:
        values = self.rng.choice(hostile.PARAMETERS)
        self.tell("note", f"parameters {values}")
        answer = self._set(values)
        if answer is None:
            self._set_back(values)
        elif any(result.successful for result in answer.results):  # each of them is set by itself
            if all(result.successful for result in answer.results):
                self.notes.append(f"taken: parameters {values}")
            if "robot_description" not in values:  # a node without a robot cannot know; a description goes by itself
                self._set_back(values)

    def _set_back(self, names: Iterable[str]) -> None:
        """These parameters were taken, or may have been or will be; they would count for all that follows."""
        before = {name: self._parameters[name] for name in names if name in self._parameters}
        if not before:
            return
        judged = {name: tuple(v) if isinstance(v, list) else v for name, v in before.items() if name in self.judged}
        if judged:
            self.tell("settings", judged)
        for _ in range(ATTEMPTS):
            answer = self._set(before)
            if answer is not None and all(result.successful for result in answer.results):
                return
        self.notes.append(f"not set back: parameters {before}")

    def _attach(self, load: Any) -> Any:
        from rbd_dynamics_interfaces.srv import SetPayload

        mass, com, inertia = load
        request = SetPayload.Request()
        request.payload.header.frame_id = FRAME
        own = request.payload.inertia
        own.m = mass
        own.com.x, own.com.y, own.com.z = com
        own.ixx, own.ixy, own.ixz, own.iyy, own.iyz, own.izz = inertia
        self.client.call("guard's set_payload", request)
        return self.client.call("set_payload", request)

    def load(self) -> None:
        if "set_payload" not in self.client._services:
            return
        if self.rng.random() < 0.4:
            load: Any = (0.0, (0.0, 0.0, 0.0), (0.0,) * 6)
            self.tell("payload", None)
        else:
            x = self.rng.uniform(0.001, 0.004)
            load = (
                self.rng.uniform(0.1, 2.0),
                (0.01, self.rng.uniform(-0.05, 0.05), 0.1),
                (x, 0.0, 0.0, 1.2 * x, 0.0, x),
            )
            self.tell("payload", load)
        answer = self._attach(load)
        if answer is not None and not answer.success:
            self.tell("refused", ("payload", load if load[0] else None))

    def absurd_load(self) -> None:
        if "set_payload" not in self.client._services:
            return
        load = self.rng.choice(hostile.LOADS)
        self.tell("note", f"load {load}")
        answer = self._attach(load)
        if answer is not None and answer.success:
            self.notes.append(f"taken: load {load}")

    def _publish_description(self, text: str, key: str | None) -> None:
        from std_msgs.msg import String

        if key is not None:
            self.tell("robot", key)
        self.client.descriptions.publish(String(data=text))

    def another_description(self) -> None:
        kind = self.rng.choice(("panda", "masses", "masses", "offset", "heavy"))
        number = {"panda": "", "masses": self.rng.randrange(-30, 40), "offset": self.rng.randrange(1, 4), "heavy": 300}[
            kind
        ]
        key = f"{kind} {number}".strip()
        begin = self._begins()
        self._publish_description(description(key), key)
        time.sleep(self.rng.choice((0.0, 1.0)))
        if self.holds_new_robots:
            self.tell("unsettled")
        self._excused(begin, 3.0)

    def malformed_description(self) -> None:
        kind = self.rng.choice(sorted(hostile.DESCRIPTIONS))
        self.tell("note", f"description: {kind}")
        self._publish_description(hostile.DESCRIPTIONS[kind], None)
        time.sleep(0.5)
        self._publish_description(description("panda"), "panda")
        if self.holds_new_robots:
            self.tell("unsettled")

    # --- processes, files -------------------------------------------------------------------------

    def stopped(self) -> None:
        begin = self._begins()
        self.tell("note", "SIGSTOP")
        os.kill(self.process.pid, signal.SIGSTOP)
        time.sleep(self.rng.choice((0.02, 0.08, 0.3, 1.0, 2.5)))
        self.tell("continued")
        os.kill(self.process.pid, signal.SIGCONT)
        self._excused(begin)

    def silence(self) -> None:
        begin = self._begins()
        self.tell("unsettled")
        self.control[1] = 1.0
        time.sleep(self.rng.choice((0.05, 0.3, 1.2, 3.0)))
        self.tell("unsettled")
        self.control[1] = 0.0
        self._excused(begin)

    def _transition(self, number: int, patience: float = ANSWER) -> bool:
        """Whether it is known to have succeeded."""
        from lifecycle_msgs.srv import ChangeState

        request = ChangeState.Request()
        request.transition.id = number
        answer = self.client.call("change_state", request, patience)
        return answer is not None and bool(answer.success)

    def deactivated(self) -> None:
        begin = self._begins()
        self.tell("unsettled")
        self._transition(4)
        time.sleep(self.rng.choice((0.0, 0.3)))
        self.tell("unsettled")
        self._transition(3)
        self.tell("unsettled")
        self._excused(begin)

    def cleaned_up(self) -> None:
        begin = self._begins()
        self.tell("unsettled")
        self._transition(4)
        if self._transition(2):
            self.tell("cleaned")
            time.sleep(SETTLING)
            self.process.measure(settled=True)
        for _ in range(2):  # a description that fails here is set back
            if self._transition(1, CONFIGURED):
                break
        self._transition(3)
        self.tell("cleaned")
        self._excused(begin, 4.0)

    def broken_cache(self) -> None:
        files = [file for file in self.cache.rglob("*") if file.is_file()]
        if not files:
            return
        kind = self.rng.choice(("bits", "cut off", "removed", "emptied"))
        self.tell("note", f"cache: {kind}")
        for file in self.rng.sample(files, min(len(files), 3)):
            try:
                if kind == "bits":
                    data = bytearray(file.read_bytes())
                    for _ in range(3):
                        data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
                    file.write_bytes(data)
                elif kind == "removed":
                    file.unlink()
                else:
                    os.truncate(file, 0 if kind == "emptied" else file.stat().st_size // 2)
            except (OSError, ValueError):
                continue
        if self.rng.random() < 0.5:
            self.another_description()

    def full_disk(self) -> None:
        """No file that it writes may grow, for a while in which it gets another description."""
        begin = self._begins()
        self.tell("note", "full disk")
        before = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        key = f"offset {self.rng.randrange(4, 100)}"
        self._publish_description(description(key), key)
        if self.holds_new_robots:
            self.tell("unsettled")
        time.sleep(1.5)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, before)
        self._excused(begin, 3.0)

    def ended(self) -> None:
        self._restart(signal.SIGTERM)

    def killed(self) -> None:
        self._restart(signal.SIGKILL)

    def _restart(self, number: int) -> None:
        if self.process.age < self._shortest_life:
            return
        begin = self._begins()
        self.tell("anew")
        code = self.process.end(number)
        if number == signal.SIGTERM and code != 0:
            self.notes.append(f"exit code {code} at SIGTERM")
        self._parameters = dict(self._start)
        self._shortest_life = self.rng.choice((0.0, self._long_life))
        self.process.start()
        self.process.wait_until_active()
        self._excused(begin, 2.0)
