# SPDX-License-Identifier: Apache-2.0
"""A node in a process of its own, in lockstep with the arm: however long an answer takes, the arm's time waits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from helpers.nodes.ros_nodes import NodeProcess, Ros, SimulatedClock, joint_state
from helpers.nodes.torque_talk import answer_in_time
from numpy.typing import NDArray

from campaigns.faults.closed_loop.arm import PERIOD, Arm
from campaigns.faults.robot import FINGERS, JOINTS, LIMITS, SPEEDS, TOOL, description

Array = NDArray[np.float64]

LOWER = np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])  # rad
UPPER = np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
RATES = np.minimum(LIMITS / 0.1, 1000.0)  # N m/s: effort_rate_limits by default
HASTE, FORESEEN = 0.5, 0.02  # of a velocity limit; s
ANSWERS = 2.0  # s of this machine's time
GIVES_UP = 2  # states without an answer
REPORTS = 20.0  # s of this machine's time, in which its diagnostics come
LATER = 10.0  # s, that pass while an arm is put elsewhere
PARAMETERS: dict[str, dict[str, Any]] = {
    "feedforward": {},
    "cartesian_controller": {"tool_frame": TOOL, "velocity_limits": [1.0] * 3 + [0.5] * 3},
    "hybrid_controller": {"tool_frame": TOOL, "tool_orientation": [math.pi, 0.0, 0.0]},  # in the air: it holds
}


@dataclass
class Seen:
    """Of a stretch of time. fastest: largest speed of a joint, of its limit. beyond: rad, past a limit of position.

    step: N m, the largest change of an effort beyond the rate that is allowed. unanswered: states.
    """

    fastest: float = 0.0
    beyond: float = -np.inf
    step: float = 0.0
    unanswered: int = 0
    strange: int = 0  # efforts that are not finite or above their limits
    cycles: int = 0
    speeds: list[float] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        found = [f"a joint at {self.fastest:.2f} of its velocity limit"] if self.fastest > 1.0 else []
        found += [f"a joint {self.beyond:.3f} rad past its limit"] if self.beyond > 0.0 else []
        found += [f"an effort stepped by {self.step:.2f} N m more than it may"] if self.step > 1e-6 else []
        found += [f"{self.unanswered} states were not answered"] if self.unanswered else []
        found += [f"{self.strange} efforts not finite or above their limits"] if self.strange else []
        return found


class Loop:
    """The node, which ends with the context, and all that is done to it."""

    def __init__(self, ros: Ros, kind: str, arm: Arm) -> None:
        self.kind, self.arm, self._ros, self.refusals = kind, arm, ros, list[str]()
        parameters = {
            "locked_joints": [FINGERS[0]], "use_sim_time": True, "state_timeout": 0.0, "silence_duration": 0.1,
            **PARAMETERS[kind],
        }  # fmt: skip
        self._descriptions = self._latched(ros)
        self.describe("panda")
        self.node: NodeProcess = ros.start(kind, parameters)
        self._now = time.time_ns()

    @staticmethod
    def _latched(ros: Ros) -> Any:
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from std_msgs.msg import String

        qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        return ros.node.create_publisher(String, "robot_description", qos)

    def __enter__(self) -> Loop:
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        self.node.__enter__()
        self.node.is_active()
        self.node.says("ready for")
        self._clock = SimulatedClock(self._ros)
        self.states = self._ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self._reports = self._ros.collect(DiagnosticArray, "/diagnostics")
        self._efforts = self._ros.collect(JointState, f"{self.kind}/effort", 1000)
        self._sensor = self._wrenches() if self.kind == "hybrid_controller" else None
        self._tau, self._before = self.arm.gravity, np.zeros(7)
        self._told = 0
        return self

    def _wrenches(self) -> Any:
        """Where the sensor says that nothing is felt, at each state."""
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import qos_profile_sensor_data

        self._felt = WrenchStamped()
        self._felt.header.frame_id = TOOL
        return self._ros.publisher(WrenchStamped, "wrench", qos_profile_sensor_data)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.node.__exit__(kind, error, trace)
        self._ros.destroy(lambda: self._ros.node.destroy_publisher(self._descriptions))

    # --- cycles -----------------------------------------------------------------------------------

    def run(
        self, seconds: float, pulled: Array | Callable[[float], Array] | None = None, *, carried: Any = None,
        with_efforts: bool = True,
    ) -> Seen:  # fmt: skip
        """So much of the arm's time. pulled: where hands draw it; carried: where it is put, drives off; by the time."""
        seen = Seen()
        for k in range(round(seconds / PERIOD)):
            at = k * PERIOD
            if carried is not None:
                self.arm.carry(carried(at))
            self._cycle(seen, pulled(at) if callable(pulled) else pulled, with_efforts)
            if seen.unanswered >= GIVES_UP:
                break
        return seen

    def _cycle(self, seen: Seen, pulled: Array | None, with_efforts: bool) -> None:
        q, v = self.arm.measured()
        self._now += round(1e9 * PERIOD)
        self._clock.tell(self._now)
        if self._sensor is not None:
            self._felt.header.stamp.sec, self._felt.header.stamp.nanosec = divmod(self._now, 1_000_000_000)
            self._sensor.publish(self._felt)
        tau = self._ask(q, v, self.arm.acts if with_efforts else ())
        seen.cycles += 1
        if tau is None:
            seen.unanswered += 1
        else:
            if not np.isfinite(tau).all() or (np.abs(tau) > LIMITS * (1.0 + 1e-12)).any():
                seen.strange += 1
            if seen.cycles > 1 and not seen.unanswered:  # the first one may follow a silence
                seen.step = max(seen.step, float((np.abs(tau - self._tau) - self._rates(v) * PERIOD).max()))
            self._tau = tau
        self._before = v
        self.arm.advance(self._tau if tau is not None else self.arm.gravity, pulled)
        if self.arm.drives:
            at, moves = self.arm.state
            share = float((np.abs(moves) / SPEEDS).max())
            seen.fastest, seen.beyond = max(seen.fastest, share), max(seen.beyond, float((at - UPPER).max()))
            seen.beyond = max(seen.beyond, float((LOWER - at).max()))
            seen.speeds.append(share)

    def _rates(self, v: Array) -> Array:
        """How fast efforts may change: where a tool's joints come near their velocity limits, as a robot takes it."""
        soon = np.abs(v) + FORESEEN * np.abs(v - self._before) / PERIOD
        return np.full(7, 1000.0) if self.kind != "feedforward" and (soon > HASTE * SPEEDS).any() else RATES

    def _ask(self, q: Array, v: Array, efforts: Any) -> Array | None:
        """The effort that answers this state; None: nothing does."""
        state = joint_state(JOINTS, q, v, efforts, stamp=self._now)
        found: Array | None = answer_in_time(self.states, state, self._efforts, ANSWERS)
        del self._efforts[:-5]
        return found

    def place(self, q: Array) -> None:
        """Put the arm there, at rest, while time passes."""
        self.arm.stand(q)
        self._now += round(1e9 * LATER)

    @property
    def tau(self) -> Array:
        """The last effort."""
        return self._tau

    # --- what is done to the node -----------------------------------------------------------------

    def set(self, **values: Any) -> bool:
        """Whether all of them were taken."""
        results = self._ros.set_parameters(self.kind, **values)
        self.refusals += [result.reason for result in results if not result.successful]
        return all(result.successful for result in results)

    def transition(self, number: int) -> bool:
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        call = self._ros.client(ChangeState, f"{self.kind}/change_state")
        return bool(call(transition=Transition(id=number)).success)

    def trigger(self, service: str) -> Any:
        from std_srvs.srv import Trigger

        return self._ros.client(Trigger, f"{self.kind}/{service}")()

    def describe(self, key: str, *, name: str = "") -> None:
        """Publish another description. name: of the robot."""
        from std_msgs.msg import String

        text = description(key)
        if name:
            text = text.replace('<robot name="panda"', f'<robot name="{name}"', 1)
        self._descriptions.publish(String(data=text))

    def want(self, pose: Any) -> None:
        """A pose of the tool, Pinocchio's."""
        from geometry_msgs.msg import PoseStamped

        from campaigns.faults.tool_messages import pose_message

        self._ros.publisher(PoseStamped, f"{self.kind}/target_pose").publish(pose_message(pose, 0))

    def said(self) -> str:
        """By its log, since the last call."""
        log = self.node.log
        new, self._told = log[self._told :], len(log)
        return new

    def complains(self, of: str) -> bool:
        """Whether the next reports of its diagnostics, or its log since `said`, have that text."""
        del self._reports[:]
        end = time.monotonic() + REPORTS
        while time.monotonic() < end:
            statuses = [status for report in list(self._reports) for status in report.status]
            if any(of in each.message for each in statuses) or of in self.node.log[self._told :]:
                return True
            time.sleep(0.02)
        return False
