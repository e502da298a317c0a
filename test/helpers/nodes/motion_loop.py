# SPDX-License-Identifier: Apache-2.0
"""A robot that streams its states to a feedforward node, and reads from the torques where the node wants it."""

from __future__ import annotations

import threading
import time

import numpy as np

from helpers.models.arms import JOINTS
from helpers.nodes.ros_nodes import PATIENCE, Conversation, joint_state, joint_trajectory, wait_until

KP = 20.0
#: torque = gravity + kp (wanted - measured): the wanted position can be read from it
SEES_WANTED = {
    "terms": ["gravity"], "kp": [KP], "effort_limits": [1e6],
    "transition_time": 0.0, "effort_rate_limits": [0.0], "check_in_command": False,
}  # fmt: skip
PERIOD = 0.005  # s


class MotionLoop(Conversation):
    """States at 200 Hz. `follows`: the robot is always where it is wanted; else it stays at `q`."""

    def __init__(self, ros, node, robot):
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory

        super().__init__(ros, node)
        self.robot, self.q, self.follows, self.streams = robot, np.zeros(3), True, True
        self.wanted = []  # (stamp in s, wanted position), one for each answer
        self._sent = {}
        self._states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.trajectories = ros.publisher(JointTrajectory, f"{node.name}/joint_trajectory")
        self._efforts = ros.collect(JointState, f"{node.name}/effort", 1000)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._stream)
        self._thread.start()
        self.goes_on()

    def close(self):
        self._end.set()
        self._thread.join()

    def _stream(self):
        while not self._end.wait(PERIOD):
            while self._efforts:
                self._read(self._efforts.pop(0))
            if self.streams:
                stamp = time.time_ns()
                self._sent[stamp] = self.q.copy()
                self._states.publish(joint_state(JOINTS, self.q, np.zeros(3), stamp=stamp))

    def _read(self, effort):
        stamp = effort.header.stamp.sec * 10**9 + effort.header.stamp.nanosec
        q = self._sent.pop(stamp)
        wanted = q + (np.array(effort.effort) - self.robot.gravity(q)) / KP
        self.wanted.append((1e-9 * stamp, wanted))
        if self.follows:
            self.q = wanted

    def goes_on(self, answers=20):
        """Wait for that many more answers."""
        count = len(self.wanted)
        wait_until(lambda: len(self.wanted) >= count + answers, f"{answers} more efforts")

    def stand(self, q=(0.0, 0.0, 0.0)):
        """The robot stands at q and is wanted there; nothing is reported any more."""
        name, self.streams, self.follows = self.node.name, True, True
        usual = {"setpoint_tolerance": 0.05, "path_tolerance": [0.2], "state_timeout": PATIENCE}
        anything = dict.fromkeys(usual, 0.0) | {"path_tolerance": [0.0]}
        for result in self.ros.set_parameters(name, **anything):
            assert result.successful, result.reason
        self.goes_on(2)
        self.send(JOINTS, (0.0, q))
        wait_until(lambda: np.allclose(self.q, q, atol=1e-9), "the robot where it is to stand")
        self.send(JOINTS)  # hold
        self.goes_on()
        self.ros.set_parameters(name, **usual)
        self.goes_on(2)
        del self.wanted[:-1], self.reports[:]

    def send(self, names, *points, stamp=0):
        """Points are (s, positions, velocities, accelerations)."""
        self.trajectories.publish(joint_trajectory(names, points, stamp))

    def steps(self):
        """How far the wanted position went from each answer to the next (n, 3), and the times between them (n, 1)."""
        wanted = list(self.wanted)
        times = np.array([t for t, _ in wanted])[:, None]
        return np.diff([q for _, q in wanted], axis=0), np.diff(times, axis=0)

    def has_not_moved(self):
        np.testing.assert_allclose([q for _, q in self.wanted], [self.wanted[0][1]] * len(self.wanted), atol=1e-9)
