# SPDX-License-Identifier: Apache-2.0
"""A motion of a file, sent to node `feedforward` and followed."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.arms import ARM
from helpers.ros_nodes import PATIENCE, needs_ros, wait_until
from helpers.torque_talk import Talk

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.replay import excitation

pytestmark = needs_ros


@pytest.fixture(scope="module")
def talk(ros):
    patient = {"state_timeout": 60.0, "path_tolerance": 0.0, "plausible_velocity": 0.0}
    with ros.start("feedforward", {"robot_description": ARM, "kp": [1.0], **patient}) as node:
        yield Talk(ros, node)


def begin(*arguments):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "rbd_dynamics", "play", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip


def test_a_designed_motion_is_sent_and_followed(talk, tmp_path):
    robot = Robot(load_urdf(ARM))
    limits = excitation.ExcitationLimits.of(robot.model, share=0.5, acceleration=2.0)
    motion = excitation.design(robot, limits, excitation.Fourier(period=3.0, harmonics=2))
    motion.save(tmp_path / "motion.yaml")
    first = motion.waypoints.positions[0]
    at_rest = talk.ask(first, np.zeros(3))
    played = begin(tmp_path / "motion.yaml", "--topic", f"{talk.node.name}/joint_trajectory")
    wait_until(lambda: talk.ask(first, np.zeros(3)) is not None and played.poll() is not None, "the command's end")
    output, errors = played.communicate()
    assert played.returncode == 0, errors
    assert "points of 3 joints" in output

    def moves():
        found = talk.ask(first, np.zeros(3))
        return found is not None and np.abs(found - at_rest).max() > 0.05

    wait_until(moves, "the torques of a motion")


def test_what_is_sent_is_what_the_file_says(ros, tmp_path):
    from trajectory_msgs.msg import JointTrajectory

    path = tmp_path / "motion.yaml"
    path.write_text(
        "joint_names: [b, a]\npoints:\n"
        "- {positions: [0.1, 0.2], velocities: [0.0, 0.0], time_from_start: {sec: 2, nanosec: 500000000}}\n"
        "- {positions: [0.3, 0.4], time_from_start: {sec: 3, nanosec: 1}}\n"
    )
    came = []
    subscription = ros.node.create_subscription(JointTrajectory, "played", came.append, 10)
    output, errors = (played := begin(path, "--topic", "played")).communicate(timeout=PATIENCE)
    assert played.returncode == 0, errors
    followed = "whether it is followed is said by the node's log and in /diagnostics"
    assert output == f"sent to played: 2 points of 2 joints, 3 s\n{followed}\n"
    wait_until(lambda: came, "the trajectory")
    ros.destroy(lambda: ros.node.destroy_subscription(subscription))
    (message,) = came
    assert message.joint_names == ["b", "a"] and message.header.stamp.sec == 0
    assert [list(point.positions) for point in message.points] == [[0.1, 0.2], [0.3, 0.4]]
    assert [list(point.velocities) for point in message.points] == [[0.0, 0.0], []]
    times = [(point.time_from_start.sec, point.time_from_start.nanosec) for point in message.points]
    assert times == [(2, 500_000_000), (3, 1)]


def test_a_topic_that_nobody_listens_to_is_told_with_those_that_somebody_does(ros, tmp_path):
    from trajectory_msgs.msg import JointTrajectory

    path = tmp_path / "motion.yaml"
    path.write_text("joint_names: [a]\npoints: [{positions: [0.0], time_from_start: {sec: 1}}]\n")
    subscription = ros.node.create_subscription(JointTrajectory, "heard", lambda message: None, 10)
    _, errors = (played := begin(path, "--topic", "herd", "--patience", "3")).communicate(timeout=PATIENCE)
    ros.destroy(lambda: ros.node.destroy_subscription(subscription))
    assert played.returncode == 2 and "in vain for a subscriber of /herd; subscribed are" in errors
    assert "/heard" in errors


@pytest.mark.parametrize(
    ("text", "topic", "reason"),
    [
        ("joint_names: [a]\npoints: [{positions: [.nan], time_from_start: {sec: 1}}]\n", "nowhere", "motion.yaml"),
        ("joint_names: [a]\npoints: [{positions: [0.0], time_from_start: {sec: 1}}]\n", "nowhere", "in vain"),
        (
            "joint_names: [a]\npoints: [{positions: [0.0], time_from_start: {sec: 1}}]\n",
            "no such topic",
            "no such topic",
        ),
    ],
)
def test_what_cannot_be_sent_is_said(tmp_path, capsys, text, topic, reason):
    (tmp_path / "motion.yaml").write_text(text)
    assert main(["play", str(tmp_path / "motion.yaml"), "--topic", topic, "--patience", "0.2"]) == 2
    error = capsys.readouterr().err
    assert reason in error and "Traceback" not in error and error.count("\n") == 1
