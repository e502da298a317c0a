# SPDX-License-Identifier: Apache-2.0
"""What is done to the nodes that control a tool, besides what is done to every torque node."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from campaigns.faults import hostile, hostile_tool
from campaigns.faults.faults import Faults, Weighted
from campaigns.faults.judging.tool_law import ToolSettings, Wish
from campaigns.faults.robot import JOINTS, oracle
from campaigns.faults.tool_messages import pose_message, stamped, tool_trajectory, twist_message, wrench_message

AGAIN = 3  # times that a pose is wanted after a motion that ends anywhere


class HybridFaults(Faults):
    """Of hybrid_controller."""

    judged = frozenset[str]()  # it does not change them
    holds_new_robots = True

    def own(self) -> Weighted:
        return [(self.engage, 6.0), (self.hostile_wrench, 5.0), (self.lost_contact, 1.0), (self.hold_load, 0.5)]

    def hostile_wrench(self) -> None:
        kind, message = hostile.wrench(self.rng)
        self.tell("note", f"wrench: {kind}")
        (self.client.wrenches if self.rng.random() < 0.6 else self.client.wishes["desired_wrench"]).publish(message)

    def engage(self) -> None:
        from std_srvs.srv import SetBool, Trigger

        choice = self.rng.random()
        if choice < 0.15:
            self.tell("note", "tare")
            self.client.call("tare", Trigger.Request())
            return
        on = choice < 0.8
        self.tell("unsettled")
        self.control[2] = self.rng.choice((0.0, 8.0, 10.0)) if on else 0.0
        self.client.call("engage", SetBool.Request(data=on))
        time.sleep(0.5)
        self.control[2] = 10.0 if on else 0.0
        time.sleep(self.rng.uniform(0.2, 2.0))

    def lost_contact(self) -> None:
        self.tell("unsettled")
        self.control[2] = self.rng.choice((0.0, 100.0))
        time.sleep(0.3)
        self.control[2] = 0.0

    def hold_load(self) -> None:
        """For a while it makes up for loads; what it finds in a robot that does not answer is judged by bounds."""
        self.tell("holds load", True)
        self._set({"hold_load": True})
        time.sleep(self.rng.uniform(1.0, 5.0))
        self._set({"hold_load": False})
        self.tell("holds load", False)


class CartesianFaults(Faults):
    """Of cartesian_controller."""

    judged = frozenset(field.name for field in fields(ToolSettings))
    holds_new_robots = True

    def own(self) -> Weighted:
        return [
            (self.poses, 4.0), (self.twists, 1.5), (self.tool_trajectory, 3.0), (self.wrench, 2.0),
            (self.posture, 1.0), (self.parameters, 4.0),
        ]  # fmt: skip

    def settings_to_choose(self) -> Sequence[tuple[str, Any]]:
        return (
            ("stiffness", [self.rng.uniform(200.0, 800.0)]),
            ("stiffness", [self.rng.uniform(200.0, 800.0) for _ in range(3)]),
            ("rotational_stiffness", [self.rng.uniform(5.0, 40.0)]), ("damping_ratio", self.rng.uniform(0.3, 1.5)),
            ("posture_kp", self.rng.uniform(0.0, 40.0)), ("posture_kd", self.rng.uniform(1.0, 15.0)),
            ("effort_limits", [self.rng.uniform(50.0, 80.0)] * 4 + [self.rng.uniform(10.0, 12.0)] * 3),
            ("terms", ["inertia", "coriolis", "gravity"]), ("terms", ["gravity"]), ("terms", ["inertia", "coriolis"]),
            # joints move at up to 0.24 rad/s, with up to 0.06 J: braked, or nearly
            ("joint_velocity_limits", [self.rng.uniform(0.2, 0.5) for _ in range(7)]),
            ("joint_velocity_limits", [self.rng.uniform(0.2, 0.5)]), ("joint_velocity_limits", [2.0]),
            ("largest_energy", self.rng.uniform(0.01, 0.1)), ("largest_energy", 20.0),
        )  # fmt: skip

    def hostile_wish(self) -> None:
        topic, kind, message = hostile_tool.wish(self.rng)
        self.tell("note", f"{topic}: {kind}")
        self.client.wishes[topic].publish(message)

    def _wanted(self) -> Any:
        """A pose near the tool's."""
        return oracle("panda", None).tool(self.near())

    def _want(self, pose: Any) -> None:
        self.tell("desired", Wish(pose=(pose.rotation.copy(), pose.translation.copy())))
        self.client.wishes["target_pose"].publish(pose_message(pose, self.rng.choice((0, time.time_ns()))))

    def poses(self) -> None:
        """Some, one after the other."""
        for _ in range(self.rng.randrange(1, 10)):
            self._want(self._wanted())
            time.sleep(self.rng.choice((0.01, 0.2)))

    def _come_back(self) -> None:
        """After a motion that may have ended anywhere."""
        pose = self._wanted()
        for _ in range(AGAIN):
            self._want(pose)
            time.sleep(0.1)

    def twists(self) -> None:
        self.tell("moves", 2.0)
        twist = np.array([self.rng.uniform(-0.05, 0.05) for _ in range(6)])
        for _ in range(self.rng.randrange(1, 20)):
            self.client.wishes["target_twist"].publish(twist_message(twist, time.time_ns()))
            time.sleep(0.02)
        self._come_back()

    def tool_trajectory(self) -> None:
        count = self.rng.randrange(1, 5)
        times = np.cumsum([self.rng.randrange(5, 15) * 10**8 for _ in range(count)])
        poses = [self._wanted() for _ in range(count)]
        self.tell("moves", 1e-9 * float(times[-1]))
        self.tell("desired", Wish(pose=(poses[-1].rotation.copy(), poses[-1].translation.copy())))
        start = time.time_ns() + self.rng.choice((0, 10**8)) if self.rng.random() < 0.5 else 0
        self.client.wishes["cartesian_trajectory"].publish(tool_trajectory(poses, times.tolist(), start))
        time.sleep(self.rng.uniform(0.1, 2.0))
        if self.rng.random() < 0.2:
            self.client.wishes["cartesian_trajectory"].publish(tool_trajectory([], [], 0))  # hold
            self._come_back()

    def wrench(self) -> None:
        found = np.array([self.rng.uniform(-1.0, 1.0) for _ in range(3)] + [self.rng.uniform(-8, 8) for _ in range(3)])
        wanted = found * self.rng.choice((0.0, 1.0, 1.0))
        self.tell("desired", Wish(wrench=wanted))
        self.client.wishes["target_wrench"].publish(wrench_message(wanted, self.rng.choice((0, time.time_ns()))))
        time.sleep(0.2)

    def posture(self) -> None:
        from sensor_msgs.msg import JointState

        wanted = self.near()
        self.tell("desired", Wish(posture=wanted))
        message = stamped(JointState, "", 0)
        message.name, message.position = list(JOINTS), wanted.tolist()
        self.client.wishes["target_joint"].publish(message)
        time.sleep(0.2)
