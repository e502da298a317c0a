# SPDX-License-Identifier: Apache-2.0
"""A robot that stands still, over real DDS: moved by hand, by others, with drives off; and what changes meanwhile.

States come at 100 Hz by their stamps, however fast this machine is.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS, MEASURED_ZERO
from helpers.nodes.ros_nodes import joint_state, needs_ros, wait_until
from helpers.nodes.torque_talk import Talk

pytestmark = needs_ros
REST = np.zeros(3)
PARAMETERS = {"robot_description": ARM, "state_timeout": 0.0}  # stamps are the robot's own
PERIOD = 0.01  # s
SMALL = 2.0  # N m: a step that is none
STIFF = {"kd": [15.0, 0.5, 10.0], "kp": [300.0, 20.0, 200.0]}  # as stiff as such states allow


class Clocked(Talk):
    """Each state is a period later than the one before."""

    def __init__(self, ros, node):
        super().__init__(ros, node)
        self.now = time.time_ns()

    def message(self, q, v, effort=()):
        self.now += round(1e9 * PERIOD)
        return joint_state(JOINTS, q if np.any(q) else MEASURED_ZERO, v, effort, self.now)

    def zeros(self, v=()):
        """Of a publisher that measures nothing."""
        return joint_state(JOINTS, REST, v, stamp=self.message(REST, REST).header.stamp)

    def is_well_at(self, q):
        """Its diagnostics have no complaint from now on, while it answers a robot that stands at q."""
        del self.reports[:]

        def said():
            self.ask(q, REST)
            return [s for report in list(self.reports) for s in report.status if self.node.name in s.name]

        wait_until(lambda: any(status.message == "ok" for status in said()), "diagnostics without a complaint")


@pytest.fixture
def talk(ros):
    with ros.start("feedforward", PARAMETERS, name="standing") as node:
        yield Clocked(ros, node)


def moved(talk, begin, end, seconds=0.6):
    """The robot goes evenly from one place to another, whatever is commanded; the answer to the last state."""
    begin, end = np.array(begin), np.array(end)
    for share in np.arange(0.0, 1.0, PERIOD / seconds):
        talk.ask(begin + share * (end - begin), (end - begin) / seconds)
    return talk.ask(end, REST)


def set_gains(talk, **values):
    for result in talk.ros.set_parameters(talk.node.name, **values):
        assert result.successful, result.reason


def test_a_robot_that_was_moved_by_hand_is_held_there_by_gains_that_come_later(talk, robot):
    talk.ask(REST, REST)
    there = np.array([0.8, -0.4, 0.05])
    np.testing.assert_allclose(moved(talk, REST, there), robot.gravity(there), atol=1e-9)
    for gains in ({"kd": STIFF["kd"]}, {"kp": [10.0]}, {"kp": STIFF["kp"]}):
        set_gains(talk, **gains)
        np.testing.assert_allclose(talk.ask(there, REST), robot.gravity(there), atol=1e-9)
    talk.is_well_at(there)


def test_a_robot_that_is_moved_while_it_is_held_is_held_where_it_is_then(talk, robot):
    set_gains(talk, **STIFF, check_in_command=False)
    talk.ask(REST, REST)
    there = np.array([0.8, 0.0, 0.0])
    moved(talk, REST, there)
    talk.diagnosed("the robot was moved while it was held: joint 'shoulder' is 0.2")
    # within the tolerance of the last time, never 0.8 from where it is: that would be 240 N m
    wait_until(
        lambda: abs(talk.ask(there, REST)[0] - robot.gravity(there)[0]) < 300.0 * 0.2, "what holds it about here"
    )
    talk.send(JOINTS, (1.0, there))
    talk.is_well_at(there)


def test_gains_and_terms_change_over_without_a_step(talk, robot):
    set_gains(
        talk, kd=[20.0, 0.5, 5.0], kp=[100.0, 0.0, 0.0], path_tolerance=[0.0], check_in_command=False
    )  # what holds it there is the test
    talk.ask(REST, REST)
    q = np.array([0.1, 0.0, 0.0])
    moved(talk, REST, q)
    before = robot.gravity(q) - [10.0, 0.0, 0.0]
    wait_until(lambda: np.allclose(talk.ask(q, REST), before, atol=1e-9), "what pulls it back")
    set_gains(talk, transition_time=2.0, kp=[400.0, 0.0, 0.0])
    first = talk.ask(q, REST)
    assert np.abs(first - before).max() < SMALL
    wait_until(lambda: np.allclose(talk.ask(q, REST), robot.gravity(q) - [40.0, 0.0, 0.0], atol=1e-9), "the new gain")
    stamps = np.array([e.header.stamp.sec % 1000 + 1e-9 * e.header.stamp.nanosec for e in talk.efforts])
    efforts = np.array([e.effort for e in talk.efforts])
    since = stamps >= stamps[-1] - 1.5  # of the change itself, the end
    rates = np.abs(np.diff(efforts[since], axis=0)).max(axis=1) / np.maximum(np.diff(stamps[since]), 1e-9)
    assert rates.max() < 15.0 * 1.05  # 30 N m in 2 s
    set_gains(talk, terms=["coriolis"])  # without gravity
    assert np.abs(talk.ask(q, REST) - efforts[-1]).max() < SMALL


def followed(talk, q, effort, seconds):
    """A driver that reports these efforts, or what was commanded last, for so long; the last answer."""
    last = REST
    for _ in range(round(seconds / PERIOD)):
        last = talk.ask(q, REST, effort=last if effort is None else effort)
    return last


def test_drives_that_are_off_are_no_command_and_taken_over_without_a_step(talk, robot):
    """The driver reports what its motors give: nothing, while they are off."""
    set_gains(talk, **STIFF)
    followed(talk, REST, None, 1.5)
    talk.is_well_at(REST)
    followed(talk, REST, REST, 0.8)
    talk.diagnosed("not in command: measured efforts no longer follow: effort 0 of joint 'shoulder'")
    talk.send(JOINTS, (1.0, [0.5, 0.0, 0.0]))
    followed(talk, REST, REST, 0.3)
    talk.diagnosed("trajectory refused: not in command")
    for share in np.linspace(0.0, 1.0, 60):  # by hand
        q = share * np.array([0.8, 0.0, 0.0])
        last = talk.ask(q, REST)
    np.testing.assert_allclose(last, robot.gravity(q), atol=1e-9)
    np.testing.assert_allclose(followed(talk, q, None, 1.0), robot.gravity(q), atol=1e-9)
    talk.send(JOINTS, (1.0, q))
    talk.is_well_at(q)


def test_another_controller_that_moves_the_robot_is_told(talk, robot):
    """It is stiff, and the node's efforts go nowhere: a switch back finds no old posture."""
    set_gains(talk, **STIFF)
    talk.ask(REST, REST)
    there = np.array([0.8, 0.0, 0.0])
    moved(talk, REST, there, 1.2)
    wait_until(lambda: np.allclose(talk.ask(there, REST), robot.gravity(there), atol=1e-9), "what holds it here")
    talk.diagnosed("not in command: the robot does not move as its efforts should move it")


def test_what_could_not_hold_the_robot_is_refused(talk, robot):
    """Where it stands the shoulder needs 15 N m; afterwards it is commanded as before."""
    talk.ask(REST, REST)
    (result,) = talk.ros.set_parameters(talk.node.name, effort_limits=[12.0])
    assert not result.successful
    assert "joint 'shoulder' would need -1" in result.reason and "its limit is 12" in result.reason
    np.testing.assert_allclose(talk.ask(REST, REST), robot.gravity(REST), atol=1e-9)
    set_gains(talk, effort_limits=[40.0])


def test_gains_that_are_unstable_at_this_rate_are_refused_with_those_that_are_not(talk, robot):
    set_gains(talk, **STIFF)
    for _ in range(100):
        talk.ask(REST, REST)
    talk.is_well_at(REST)
    (result,) = talk.ros.set_parameters(talk.node.name, kd=[150.0, 5.0, 100.0])
    assert not result.successful
    assert result.reason.startswith("kp and kd are unstable at this posture, with states at 100 Hz")
    assert "swings of joint 'elbow' grow" in result.reason or "swings of joint 'shoulder' grow" in result.reason
    assert 0.0 < float(result.reason.split("; ")[1].split()[0]) < 1.0
    talk.is_well_at(REST)


def test_another_node_on_its_topic_of_commands_is_told(talk):
    """Of a launch file that starts one twice, or two that remap to one controller."""
    talk.ask(REST, REST)
    with talk.ros.start("feedforward", PARAMETERS, "-r", "~/commands:=/standing/commands", name="beside") as other:
        other.is_active()
        talk.diagnosed("not alone: /beside may command on /standing/commands, too")
    talk.is_well_at(REST)


def test_two_publishers_that_contradict_each_other_end_the_control_and_are_named(talk):
    """A joint_state_publisher's zeros beside the robot, never so many in a row that this alone ends it."""
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    zeros = talk.ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
    there = np.array([1.5, 0.0, 0.0])
    talk.ask(REST, REST)
    end = time.monotonic() + 30.0
    while "contradict" not in talk.node.log and time.monotonic() < end:
        for _ in range(5):
            talk.states.publish(talk.message(there, REST))
            time.sleep(0.002)
        zeros.publish(talk.zeros(REST))
        time.sleep(0.002)
    assert "joint states of several publishers contradict each other: /" in talk.node.log
    talk.diagnosed("the control has ended: joint states of several publishers")


def test_zeros_that_come_alone_once_the_driver_is_dead_are_no_robot(talk, robot):
    """A joint_state_publisher's, farther apart from the last state than any joint needs to get to zero."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    there = np.array([1.5, -0.7, 0.15])
    talk.ask(there, REST)
    node = rclpy.create_node("joint_state_publisher", context=talk.ros.context)
    zeros = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
    try:
        wait_until(zeros.get_subscription_count, "a subscriber of zeros")

        def beside():  # too few in a hundred to end the control
            zeros.publish(talk.zeros())
            for _ in range(9):
                talk.ask(there, REST)
            return talk.was_diagnosed("contradict each other, which come from /joint_state_publisher, /tester")

        wait_until(beside, "both publishers in the diagnostics")
        np.testing.assert_allclose(talk.ask(there, REST), robot.gravity(there), atol=1e-9)
        talk.ros.destroy(lambda: talk.ros.node.destroy_publisher(talk.states))
        count = len(talk.efforts)

        def alone():
            talk.now += 100_000_000
            zeros.publish(talk.zeros())
            time.sleep(0.01)
            return talk.was_diagnosed("all joints are exactly at zero, and at rest, but 'shoulder' was last at 1.5")

        wait_until(alone, "a refusal of zeros")
        for _ in range(20):
            alone()
        assert len(talk.efforts) == count and "the control has ended" not in talk.node.log

        from lifecycle_msgs.srv import ChangeState

        change = talk.ros.client(ChangeState, f"{talk.node.name}/change_state")
        for number in (4, 3):  # deactivate, activate: somebody has looked at the robot
            request = ChangeState.Request()
            request.transition.id = number
            assert change(request).success
        wait_until(lambda: alone() is None or len(talk.efforts) > count, "an answer to zeros")
        np.testing.assert_allclose(talk.efforts[-1].effort, robot.gravity(REST), atol=1e-9)
    finally:
        talk.ros.destroy(lambda: node.destroy_publisher(zeros))
        node.destroy_node()
