# SPDX-License-Identifier: Apache-2.0
"""An arm in MuJoCo behind a stand-in of ros2_control's controller manager, in a process of its own."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys

import numpy as np
import pytest
import yaml

from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import joint_trajectory, needs_ros, wait_until
from helpers.paths import ROOT

needs_controller_manager = [
    *needs_ros,
    pytest.mark.skipif(
        importlib.util.find_spec("controller_manager_msgs") is None,
        reason="needs controller_manager_msgs, or its stand-in: make setup-tests",
    ),
]
SCRIPT = ROOT / "test" / "stand_ins" / "controller_manager.py"
TO_COMMANDS = ("-r", "~/commands:=/effort_controller/commands")


class ManagedArm:
    """The process, its states, and requests to its manager; use it as a context. Parameters are the stand-in's."""

    def __init__(self, ros, **parameters):
        self.ros, folder = ros, ros.folder
        (folder / "managed.urdf").write_text(ARM)
        file = folder / "managed.yaml"
        file.write_text(yaml.safe_dump({"controller_manager": {"ros__parameters": {"joints": JOINTS, **parameters}}}))
        self._log = folder / "managed.log"
        command = [sys.executable, str(SCRIPT), str(folder / "managed.urdf"), "--ros-args", "--params-file", str(file)]
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def __enter__(self):
        from sensor_msgs.msg import JointState

        wait_until(lambda: "active" in self._log.read_text() or self.process.poll() is not None, "the manager")
        assert self.process.poll() is None, self._log.read_text()
        self.states = self.ros.collect(JointState, "/joint_states")
        return self

    def __exit__(self, kind, error, trace):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if kind is not None:
            print(f"--- what the manager said:\n{self._log.read_text()}")

    def switch(self, on, off):
        from controller_manager_msgs.srv import SwitchController

        switch = self.ros.client(SwitchController, "/controller_manager/switch_controller")
        answer = switch(activate_controllers=on, deactivate_controllers=off, strictness=2)
        assert answer.ok, answer.message

    def passes(self, seconds):
        """Wait for so much of the robot's time; its positions and velocities meanwhile (states, joints)."""
        begin = len(self.states)
        wait_until(lambda: len(self.states) > begin and self._time(-1) - self._time(begin) >= seconds, "states")
        found = self.states[begin:]
        return np.array([each.position for each in found]), np.array([each.velocity for each in found])

    def _time(self, k):
        stamp = self.states[k].header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    def goes(self, *positions):
        """By arm_controller, in one second."""
        from trajectory_msgs.msg import JointTrajectory

        self.ros.publisher(JointTrajectory, "/arm_controller/joint_trajectory").publish(
            joint_trajectory(JOINTS, [(1.0, positions)])
        )
        wait_until(lambda: np.allclose(self.states[-1].position, positions, atol=2e-3), "the arm to be there")
