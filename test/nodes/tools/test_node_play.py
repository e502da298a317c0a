# SPDX-License-Identifier: Apache-2.0
"""A motion of a file, sent to node `feedforward` and followed."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import PATIENCE, needs_ros, wait_until
from helpers.nodes.torque_talk import Talk

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.replay import excitation

pytestmark = needs_ros
ONE_POINT = "joint_names: [a]\npoints: [{{positions: [{}], time_from_start: {{sec: 1}}}}]\n"


@pytest.fixture(scope="module")
def talk(ros):
    patient = {"state_timeout": 60.0, "path_tolerance": 0.0, "plausible_velocity": 0.0}
    with ros.start("feedforward", {"robot_description": ARM, "kp": [1.0], **patient}) as node:
        talk = Talk(ros, node)
        talk.topic = f"{node.name}/joint_trajectory"
        yield talk


def begin(*arguments):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "rbd_dynamics", "play", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip


def one_point(seconds, names=JOINTS):
    return (
        f"joint_names: [{', '.join(names)}]\n"
        f"points: [{{positions: {[0.1] * len(names)}, time_from_start: {{sec: {seconds}}}}}]\n"
    )


def until_it_ends(played, talk, q=(0.0, 0.0, 0.0)):
    """Joint states of a robot that stands, until the command has ended: (its output, its errors, the efforts)."""
    efforts, before = [], len(talk.efforts)

    def ended():  # whether an answer came or was lost: trajectories begin only where states have come of late
        talk.states.publish(talk.message(q, np.zeros(3)))
        if len(talk.efforts) > before:
            efforts.append(np.array(talk.efforts[-1].effort))
        return bool(efforts) and played.poll() is not None

    wait_until(ended, "the command's end")
    return *played.communicate(), efforts


def test_a_designed_motion_is_sent_and_followed_to_its_end(talk, tmp_path):
    robot = Robot(load_urdf(ARM))
    limits = excitation.ExcitationLimits.of(robot.model, share=0.5, acceleration=2.0)
    motion = excitation.design(robot, limits, excitation.Fourier(period=3.0, harmonics=2))
    motion.save(tmp_path / "motion.yaml")
    assert (motion.waypoints.positions[-1] == motion.waypoints.positions[0]).all()
    first = motion.waypoints.positions[0] + [0.0, 0.02, 0.0]  # where the robot stands all the time
    at_rest = talk.ask(first, np.zeros(3))
    played = begin(tmp_path / "motion.yaml", "--topic", talk.topic)
    output, errors, efforts = until_it_ends(played, talk, first)
    assert played.returncode == 0, errors
    assert "points of 3 joints" in output
    assert f"at its end; {JOINTS[1]!r} is farthest from it, by 0.02\n" in output
    assert np.abs(np.array(efforts) - at_rest).max() > 0.05  # the torques of a motion
    talk.node.says("trajectory at its end")


def test_it_is_enough_that_it_is_taken_where_nobody_waits(talk, tmp_path):
    (path := tmp_path / "motion.yaml").write_text(one_point(600))
    talk.ask(np.zeros(3), np.zeros(3))
    played = begin(path, "--topic", talk.topic, "--no-wait")
    output, errors, _ = until_it_ends(played, talk)
    assert played.returncode == 0, errors
    assert output.endswith("under way: trajectory of 1 points, 600.000 s\n")


def test_a_refusal_is_told_with_its_reason_and_an_exit_code(talk, tmp_path):
    (path := tmp_path / "motion.yaml").write_text(one_point(600, (*JOINTS, "knee")))
    played = begin(path, "--topic", talk.topic)
    output, errors, _ = until_it_ends(played, talk)
    assert played.returncode == 1 and output == ""
    assert errors.startswith(f"rbd_dynamics: {talk.topic}: refused: ") and "'knee'" in errors
    begun = len(talk.reports)
    wait_until(lambda: len(talk.reports) > begun + 2, "later reports")
    values = {each.key: each.value for each in talk.reports[-1].status[0].values}
    assert "'knee'" in values["last refusal of a trajectory"] and values["trajectories refused"] == "1"
    ago, reason = values["last refusal"].split(" s ago: ")
    assert int(ago) >= 2 and reason.startswith("trajectory refused: ") and "'knee'" in reason


def test_a_set_point_is_not_waited_for(talk, tmp_path):
    """A single point that is due at once: it is no trajectory, and nobody counts it."""
    (path := tmp_path / "motion.yaml").write_text(one_point(0).replace("0.1", "0.001"))
    talk.ask(np.zeros(3), np.zeros(3))
    played = begin(path, "--topic", talk.topic)
    output, errors, _ = until_it_ends(played, talk)
    assert played.returncode == 0, errors
    assert output.endswith("whether it is followed is said by the node's log and in /diagnostics\n")


def test_a_node_without_a_robot_refuses(ros, tmp_path):
    (path := tmp_path / "motion.yaml").write_text(one_point(600))
    with ros.start("feedforward", {}, name="robotless"):
        played = begin(path, "--topic", "robotless/joint_trajectory", "--patience", "8")
        output, errors = played.communicate(timeout=PATIENCE)
    assert played.returncode == 1 and output == ""
    assert errors.startswith(
        "rbd_dynamics: robotless/joint_trajectory: refused: the node is not active or has no robot, after 8 s as well"
    )


def test_a_node_that_has_just_been_started_is_given_time(ros, tmp_path):
    """To build its robot, and to hear joint states, which come once it has refused the motion."""
    (path := tmp_path / "motion.yaml").write_text(one_point(600))
    patient = {"state_timeout": 60.0, "path_tolerance": 0.0, "plausible_velocity": 0.0}
    with ros.start("feedforward", {"robot_description": ARM, "kp": [1.0], **patient}, name="fresh") as node:
        talk = Talk(ros, node)
        played = begin(path, "--topic", "fresh/joint_trajectory", "--patience", "60", "--no-wait")
        wait_until(lambda: "trajectory refused: " in node.log, "a first refusal")
        output, errors, _ = until_it_ends(played, talk)
        assert played.returncode == 0, errors
        assert output.endswith("under way: trajectory of 1 points, 600.000 s\n")


def test_a_motion_that_another_ends_has_ended_early(talk, tmp_path):
    (path := tmp_path / "motion.yaml").write_text(one_point(601))
    talk.ask(np.zeros(3), np.zeros(3))
    played = begin(path, "--topic", talk.topic)

    def taken():
        talk.ask(np.zeros(3), np.zeros(3))
        return "601.000 s" in talk.node.log

    wait_until(taken, "the motion")
    talk.send([])  # hold
    output, errors, _ = until_it_ends(played, talk)
    assert played.returncode == 1 and output == ""
    assert "ended early: another motion has taken its place" in errors


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


def test_a_topic_that_nobody_listens_to_is_told_with_those_that_somebody_does(ros):
    from trajectory_msgs.msg import JointTrajectory

    from rbd_dynamics.nodes.tools.listening import visitor
    from rbd_dynamics.nodes.tools.play import others

    with visitor("look") as (node, _):
        subscription = ros.node.create_subscription(JointTrajectory, "heard", lambda message: None, 10)
        wait_until(lambda: "/heard" in others(node).removeprefix("; subscribed are ").split(", "), "its name")
        ros.destroy(lambda: ros.node.destroy_subscription(subscription))
        wait_until(lambda: "/heard" not in others(node), "its end")


@pytest.mark.parametrize(
    ("text", "topic", "reason"),
    [
        (ONE_POINT.format(".nan"), "nowhere", "motion.yaml"),
        (ONE_POINT.format("0.0"), "nowhere", "in vain for a subscriber of /nowhere(; subscribed|: is the node)"),
        (ONE_POINT.format("0.0"), "no such topic", "no such topic"),
    ],
)
def test_what_cannot_be_sent_is_said(tmp_path, capsys, text, topic, reason):
    (tmp_path / "motion.yaml").write_text(text)
    assert main(["play", str(tmp_path / "motion.yaml"), "--topic", topic, "--patience", "0.2"]) == 2
    error = capsys.readouterr().err
    assert re.search(reason, error) and "Traceback" not in error and error.count("\n") == 1
