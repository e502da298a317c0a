# SPDX-License-Identifier: Apache-2.0
"""Node trajectory_proxy over real DDS, between a client like MoveIt and a stand-in of joint_trajectory_controller."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.following import Follower, needs_control_msgs, seconds, tolerance
from helpers.nodes.ros_nodes import Conversation, joint_state, joint_trajectory, others_run, wait_until
from helpers.paths import ROOT

from rbd_dynamics.control.terms import WITHOUT_FRICTION, inverse_dynamics_terms
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_control_msgs
REST = [0.0, 0.0, 0.0]
GOAL = [0.2, -0.2, 0.02]
SCRIPT = ROOT / "test" / "stand_ins" / "joint_trajectory_controller.py"
PARAMETERS = {
    "robot_description": ARM, "controller": "/arm_controller", "server_timeout": 0.5, "response_timeout": 1.5,
    "feedback_timeout": 0.7, "result_timeout": 0.5,
}  # fmt: skip


class Talk(Conversation, Follower):
    def __init__(self, ros, node):
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory

        node.is_active()
        Conversation.__init__(self, ros, node)
        Follower.__init__(self, ros, f"/{node.name}/follow_joint_trajectory")
        self.received = []
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._subscription = ros.node.create_subscription(
            JointTrajectory, "/arm_controller/received", self.received.append, latched
        )
        self.trajectories = ros.publisher(JointTrajectory, f"{node.name}/joint_trajectory")
        self.states = ros.publisher(JointState, "joint_states")

    process = None

    def controller(self, mode="normal", *, interfaces=("effort",)):
        """The controller's process, once the proxy sees it."""
        if self.process is None:
            command = [sys.executable, str(SCRIPT), "--ros-args", "-r", "__node:=arm_controller"]
            self.process = subprocess.Popen(command)
            del self.reports[:]
            self.is_well()
        self.ros.set_parameters("/arm_controller", mode=mode, command_interfaces=list(interfaces))
        del self.received[:]

    def no_controller(self, number=signal.SIGINT):
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(number)
            process.wait()
            # one that could not say good-bye is known until its lease ends; what is sent meanwhile may reach it alone
            wait_until(lambda: not self.ros.node.count_publishers("/arm_controller/received"), "its end to be known")


@pytest.fixture(scope="module")
def talk(ros):
    with ros.start("trajectory_proxy", PARAMETERS) as node:
        talk = Talk(ros, node)
        yield talk
        talk.no_controller()
        talk.close()


@pytest.fixture
def followed(talk):
    """With a controller that has effort interfaces."""
    talk.controller()
    return talk


def arrays(trajectory):
    rows = ("positions", "velocities", "accelerations", "effort")
    times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in trajectory.points])
    return times, *(np.array([getattr(point, row) for point in trajectory.points]) for row in rows)


# --- what is passed on ----------------------------------------------------------------------------


def test_goal_is_filled_passed_on_and_its_result_comes_back(followed, robot):
    status = followed.run(JOINTS, (0.0, REST), (0.5, [0.1, -0.1, 0.01]), (1.0, GOAL))
    assert status == ("succeeded", "SUCCESSFUL", "Goal successfully reached!")
    trajectory = followed.received[-1]
    assert trajectory.joint_names == JOINTS
    times, q, v, a, tau = arrays(trajectory)
    np.testing.assert_allclose(q[[0, -1]], [REST, GOAL], atol=1e-12)
    assert np.diff(times).max() <= 0.02 + 1e-9
    np.testing.assert_allclose(tau, inverse_dynamics_terms(robot, q, v, a, WITHOUT_FRICTION), rtol=1e-10, atol=1e-10)
    h = np.diff(times)[:, None]
    np.testing.assert_allclose(np.diff(q, axis=0), h * (v[1:] + v[:-1]) / 2 - h**2 * np.diff(a, axis=0) / 12, atol=1e-8)


def test_feedback_comes_back_and_counts_the_points_that_were_sent(followed):
    assert followed.run(JOINTS, (0.0, REST), (0.5, [0.1, -0.1, 0.01]), (1.0, GOAL))[0] == "succeeded"
    assert len(followed.feedback) >= 5
    indices = [message.index for message in followed.feedback]
    assert indices == sorted(indices)
    assert set(indices) <= {0, 1, 2}
    assert {tuple(message.joint_names) for message in followed.feedback} == {tuple(JOINTS)}


def test_cancel_reaches_the_controller(followed):
    handle = followed.begin(JOINTS, (0.0, REST), (20.0, GOAL))
    wait_until(lambda: followed.feedback, "feedback")
    assert followed.cancel(handle) == 1
    assert followed.result(handle)[:2] == ("canceled", "SUCCESSFUL")
    del followed.feedback[:]
    others_run(0.3)
    assert not followed.feedback


def test_new_goal_preempts_the_one_under_way(followed):
    first = followed.begin(JOINTS, (0.0, REST), (20.0, GOAL))
    wait_until(lambda: followed.feedback, "feedback")
    second = followed.begin(JOINTS, (0.0, REST), (0.5, GOAL))
    assert followed.result(first) == ("aborted", "INVALID_GOAL", "Current goal preempted by new incoming action.")
    assert followed.result(second)[0] == "succeeded"


def test_tolerances_stamp_and_frame_are_passed_on(followed):
    start = time.time_ns() + 300_000_000
    handle = followed.begin(
        JOINTS, (0.0, REST), (0.4, GOAL), stamp=start, goal_time_tolerance=seconds(3.0),
        path_tolerance=[tolerance("shoulder", 0.5)], goal_tolerance=[tolerance("elbow", 0.5)],
    )  # fmt: skip
    assert followed.result(handle)[0] == "succeeded"
    assert time.time_ns() >= start + 400_000_000
    stamp = followed.received[-1].header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec == start


def test_joint_order_of_the_client_is_kept(followed):
    assert followed.run(["slide", "elbow", "shoulder"], (0.0, REST), (0.4, [0.01, 0.1, 0.2]))[0] == "succeeded"
    assert followed.received[-1].joint_names == ["slide", "elbow", "shoulder"]
    np.testing.assert_allclose(followed.received[-1].points[-1].positions, [0.01, 0.1, 0.2])


def test_trajectory_that_begins_later_gets_a_first_point_where_the_robot_is(followed, robot):
    followed.states.publish(joint_state(JOINTS, [0.05, 0.0, 0.01], REST, stamp=time.time_ns()))
    others_run(0.2)
    assert followed.run(JOINTS, (0.5, GOAL))[0] == "succeeded"
    times, q, v, a, tau = arrays(followed.received[-1])
    assert times[0] == 0.0
    np.testing.assert_allclose(q[0], [0.05, 0.0, 0.01])
    np.testing.assert_allclose(tau[0], robot.inverse_dynamics(q[0], v[0], a[0]), rtol=1e-9)
    assert {message.index for message in followed.feedback} <= {0}


def test_what_turns_for_ever_goes_to_the_first_point_by_the_short_way(followed):
    followed.states.publish(joint_state(JOINTS, [0.0, 2.0 * np.pi - 0.1, 0.0], REST, stamp=time.time_ns()))
    others_run(0.2)
    assert followed.run(JOINTS, (0.5, GOAL))[0] == "succeeded"
    _, q, *_ = arrays(followed.received[-1])
    np.testing.assert_allclose(q[0], [0.0, -0.1, 0.0], atol=1e-12)
    assert np.abs(q[:, 1]).max() < 0.21


def test_payload_counts(followed):
    from rbd_dynamics_interfaces.srv import SetPayload

    load = followed.ros.client(SetPayload, "trajectory_proxy/set_payload")
    request = SetPayload.Request()
    request.payload.header.frame_id, request.payload.inertia.m = "hand", 1.0
    assert load(request).success
    try:
        assert followed.run(JOINTS, (0.0, REST), (0.3, GOAL))[0] == "succeeded"
        _, q, v, a, tau = arrays(followed.received[-1])
        loaded = Robot(load_urdf(ARM))
        loaded.set_payload("hand", 1.0)
        np.testing.assert_allclose(tau, loaded.inverse_dynamics(q, v, a), rtol=1e-9, atol=1e-9)
    finally:
        request.payload.inertia.m = 0.0
        assert load(request).success


def test_topic_is_passed_on_without_efforts_unless_they_are_always_wanted(followed):
    message = joint_trajectory(JOINTS, [(0.0, REST), (0.3, GOAL)])
    for wanted, joints in (("auto", 0), ("always", 3)):
        assert followed.ros.set_parameters("trajectory_proxy", efforts=wanted)[0].successful
        count = len(followed.received)
        followed.trajectories.publish(message)
        wait_until(lambda count=count: len(followed.received) > count, "the trajectory")
        assert len(followed.received[-1].points[0].effort) == joints
        assert len(followed.received[-1].points[0].accelerations) == 3
    assert followed.ros.set_parameters("trajectory_proxy", efforts="auto")[0].successful


# --- what is refused or slowed down ---------------------------------------------------------------

FAST = [(0.0, REST), (0.3, [1.2, 0.0, 0.0])]


@pytest.mark.parametrize(
    ("names", "points", "code", "reason"),
    [
        (JOINTS, [], "INVALID_GOAL", "the trajectory has no points"),
        (
            [*JOINTS[:2], "nobody"],
            [(0.5, GOAL)],
            "INVALID_JOINTS",
            "joint 'nobody' is not one of shoulder, elbow, slide",
        ),
        (JOINTS, FAST, "INVALID_GOAL", "of joint 'shoulder' at"),
        (JOINTS, [(0.0, REST), (1.0, [0.0, 0.0, 0.9])], "INVALID_GOAL", "position 0.9 of joint 'slide' at 1 s is"),
        (JOINTS, [(0.0, REST), (0.5, [float("nan"), 0.0, 0.0])], "INVALID_GOAL", "positions of joint 'shoulder' has"),
        (JOINTS, [(0.5, GOAL), (0.5, GOAL)], "INVALID_GOAL", "does not come after point"),
    ],
    ids=["empty", "joints", "fast", "range", "nan", "times"],
)
def test_what_cannot_be_followed_is_refused_before_the_controller_sees_it(followed, names, points, code, reason):
    count = len(followed.received)
    status = followed.run(names, *points)
    assert status[:2] == ("aborted", code)
    assert reason in status[2]
    assert len(followed.received) == count


def test_efforts_beyond_the_limits_are_refused_with_joint_time_and_number(followed):
    assert followed.ros.set_parameters("trajectory_proxy", effort_limits=[5.0, 40.0, 30.0])[0].successful
    try:
        text = followed.run(JOINTS, (0.0, REST), (2.0, GOAL))[2]
        assert "of joint 'shoulder' at" in text
        assert "is more than its limit of 5" in text
    finally:
        followed.ros.set_parameters("trajectory_proxy", effort_limits=[])


@pytest.mark.parametrize("retime", ["slower", "fastest"])
def test_trajectory_is_slowed_down_or_timed_anew_where_that_is_wanted(followed, retime):
    assert followed.ros.set_parameters("trajectory_proxy", retime=retime)[0].successful
    try:
        assert followed.run(JOINTS, *FAST)[0] == "succeeded"
        times, q, v, _, tau = arrays(followed.received[-1])
        np.testing.assert_allclose(q[-1], FAST[-1][1])
        assert 0.3 < times[-1] < 3.0
        used = max(np.abs(v / [3.0, 3.0, 1.0]).max(), np.abs(tau / [80.0, 40.0, 30.0]).max())
        assert 0.9 < used <= 1.0 + 1e-6
        text = followed.run(JOINTS, (0.0, REST), (1.0, [0.0, 0.0, 0.9]))[2]
        again = {"slower": "10 times as slow: point 1: position 0.9", "fastest": "timed anew: .*'slide'"}[retime]
        assert re.search(again, text), text
    finally:
        followed.ros.set_parameters("trajectory_proxy", retime="never")


def test_limits_of_another_count_are_refused(followed):
    answer = followed.ros.set_parameters("trajectory_proxy", velocity_limits=[1.0, 1.0])[0]
    assert not answer.successful
    assert "velocity_limits has 2 values for 3 joints" in answer.reason


# --- what becomes of the controller ---------------------------------------------------------------


def test_absent_controller_is_named(talk):
    talk.no_controller()
    begin = time.monotonic()
    status = talk.run(JOINTS, (0.0, REST), (1.0, GOAL))
    assert status == (
        "aborted", "INVALID_GOAL",
        "the action server /arm_controller/follow_joint_trajectory is not there: waited 0.5 s",
    )  # fmt: skip
    assert time.monotonic() - begin < 10.0
    talk.diagnosed("the action server /arm_controller/follow_joint_trajectory is not there")


def test_controller_without_effort_interfaces_gets_no_efforts(talk):
    talk.controller(interfaces=("position",))
    assert talk.run(JOINTS, (0.0, REST), (0.3, GOAL))[0] == "succeeded"
    assert not talk.received[-1].points[0].effort
    assert len(talk.received[-1].points[0].accelerations) == 3
    assert talk.ros.set_parameters("trajectory_proxy", efforts="always")[0].successful
    status, code, text = talk.run(JOINTS, (0.0, REST), (0.3, GOAL))
    assert (status, code) == ("aborted", "INVALID_GOAL")
    assert "/arm_controller/follow_joint_trajectory rejected the goal: its log says why (efforts" in text
    talk.ros.set_parameters("trajectory_proxy", efforts="auto")


def test_why_the_controller_has_rejected_a_goal_is_asked(talk):
    """Of its manager where there is one, and of its parameters, before efforts are blamed."""
    talk.controller()
    talk.states.publish(joint_state(JOINTS, REST, REST, stamp=time.time_ns()))
    status, _, text = talk.run(JOINTS[:2], (0.0, REST[:2]), (0.3, GOAL[:2]))
    assert status == "aborted" and "lacks its joint 'slide', and its parameter allow_partial_joints_goal" in text
    if importlib.util.find_spec("controller_manager_msgs"):
        talk.controller("inactive")
        status, _, text = talk.run(JOINTS, (0.0, REST), (0.3, GOAL))
        assert status == "aborted" and text.endswith("rejected the goal: the controller is inactive")


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("deaf", "/arm_controller/follow_joint_trajectory has not answered the goal in 1.5 s"),
        ("mute", "/arm_controller/follow_joint_trajectory has sent no result and no feedback: is it still alive?"),
    ],
)
def test_controller_that_does_not_answer_is_named(talk, mode, reason):
    talk.controller(mode)
    try:
        status, code, text = talk.run(JOINTS, (0.0, REST), (0.3, GOAL))
        assert (status, code, text) == ("aborted", "INVALID_GOAL", reason)
    finally:
        talk.no_controller(signal.SIGKILL)


def test_controller_that_dies_under_way_is_named(talk):
    talk.controller()
    handle = talk.begin(JOINTS, (0.0, REST), (20.0, GOAL))
    wait_until(lambda: talk.feedback, "feedback")
    talk.no_controller(signal.SIGKILL)
    status, code, text = talk.result(handle)
    assert (status, code) == ("aborted", "INVALID_GOAL")
    assert "has been silent for 0.7 s" in text or "has gone while it followed the trajectory" in text


def test_cancel_that_the_controller_does_not_heed_is_named(talk):
    talk.controller("stubborn")
    handle = talk.begin(JOINTS, (0.0, REST), (20.0, GOAL))
    wait_until(lambda: talk.feedback, "feedback")
    assert talk.cancel(handle) == 1
    status, _, text = talk.result(handle)
    assert status == "aborted"
    assert "has not ended in 1.5 s after a cancel: the robot may move on" in text


def test_violations_that_the_controller_finds_come_back(talk):
    talk.controller("stuck")
    status = talk.run(JOINTS, (0.0, REST), (1.0, GOAL), path_tolerance=[tolerance("shoulder", 0.05)])
    assert status == ("aborted", "PATH_TOLERANCE_VIOLATED", "Aborted due to path tolerance violation")
    status = talk.run(
        JOINTS, (0.0, REST), (0.3, GOAL), goal_tolerance=[tolerance("shoulder", 0.05)],
        goal_time_tolerance=seconds(0.2),
    )  # fmt: skip
    assert status[:2] == ("aborted", "GOAL_TOLERANCE_VIOLATED")


def test_goals_end_when_the_proxy_is_deactivated(talk):
    from lifecycle_msgs.srv import ChangeState

    change = talk.ros.client(ChangeState, "trajectory_proxy/change_state")
    talk.controller()
    handle = talk.begin(JOINTS, (0.0, REST), (20.0, GOAL))
    wait_until(lambda: talk.feedback, "feedback")
    request = ChangeState.Request()
    request.transition.id = 4
    assert change(request).success
    assert talk.result(handle) == ("aborted", "INVALID_GOAL", "the trajectory proxy was deactivated")
    future = talk.send(JOINTS, (1.0, GOAL))
    wait_until(future.done, "an answer to the goal")
    assert not future.result().accepted
    request.transition.id = 3
    assert change(request).success


def test_proxy_that_is_stopped_cancels_what_is_under_way(ros, talk):
    talk.controller()
    with ros.start("trajectory_proxy", PARAMETERS, name="leaving") as node:
        Conversation(ros, node).is_well()  # it sees the controller
        client = Follower(ros, "/leaving/follow_joint_trajectory")
        handle = client.begin(JOINTS, (0.0, REST), (20.0, GOAL))
        wait_until(lambda: client.feedback, "feedback")
        future = handle.get_result_async()
        assert node.stop() == 0
        wait_until(future.done, "the result")
        assert future.result().result.error_string == "the trajectory proxy ends"
        # the controller is free: its goal was cancelled
        assert talk.run(JOINTS, (0.0, REST), (0.3, GOAL))[0] == "succeeded"
        client.close()


def test_without_control_msgs_the_topic_is_passed_on(ros, tmp_path, monkeypatch):
    from trajectory_msgs.msg import JointTrajectory

    (tmp_path / "control_msgs.py").write_text("raise ImportError('control_msgs')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    with ros.start("trajectory_proxy", PARAMETERS, name="plain") as node:
        node.is_active()
        lines = [line for line in node.log.splitlines() if "control_msgs" in line]
        assert len(lines) == 1
        assert "no action ~/follow_joint_trajectory: control_msgs is not installed" in lines[0]
        received = ros.collect(JointTrajectory, "/arm_controller/joint_trajectory")
        trajectories = ros.publisher(JointTrajectory, "plain/joint_trajectory")
        trajectories.publish(joint_trajectory(JOINTS, [(0.0, REST), (1.0, GOAL)]))
        wait_until(lambda: received, "the trajectory")
        assert len(received[0].points[-1].velocities) == 3
