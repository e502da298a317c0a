# SPDX-License-Identifier: Apache-2.0
"""A node that commands a robot does not take another one's description for its own, and what it takes it can hold."""

from __future__ import annotations

import time
from contextlib import contextmanager

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import in_this_process, joint_state, needs_ros, wait_until
from helpers.nodes.torque_talk import Talk

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros
POSITION, REST = [0.1, 0.2, 0.05], [0.0] * 3
OTHER = ARM.replace('<robot name="arm">', '<robot name="crane">')
HEAVIER = ARM.replace('value="2.0"', 'value="8.0"')  # 12 N m more at the shoulder, whose limit is 80
LIGHTER = ARM.replace('value="2.0"', 'value="2.2"')
TWICE = ARM.replace('value="1.2"', 'value="1.25"')


def gravity(text):
    return Robot(load_urdf(text)).gravity(np.array(POSITION))


@contextmanager
def publishing(ros, name=""):
    """A latched topic robot_description, of the tester or of a node of that name."""
    import rclpy
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    node = rclpy.create_node(name, context=ros.context) if name else ros.node
    publisher = node.create_publisher(
        String, "robot_description", QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    )
    try:
        yield lambda text: publisher.publish(String(data=text))
    finally:
        ros.destroy(lambda: node.destroy_publisher(publisher))
        if name:
            node.destroy_node()


@pytest.fixture
def talk(ros):
    """A feedforward node with the arm of the topic, in command; it has `publish`."""
    parameters = {"joints": JOINTS, "state_timeout": 10.0, "transition_time": 0.2}
    with publishing(ros) as publish, ros.start("feedforward", parameters, name="doubting") as node:
        node.is_there()
        publish(ARM)
        talk = Talk(ros, node)
        talk.publish = publish
        np.testing.assert_allclose(talk.ask(POSITION, REST), gravity(ARM), rtol=1e-9)
        yield talk


def called(talk, service="accept_description"):
    from std_srvs.srv import Trigger

    return talk.ros.client(Trigger, f"{talk.node.name}/{service}")()


def becomes(talk, expected):
    """Its answers become these efforts."""
    wait_until(lambda: np.allclose(talk.ask(POSITION, REST), expected, rtol=1e-9), "efforts of another description")


def is_refused(talk, why):
    """Said as an error, and the efforts are as before."""
    from diagnostic_msgs.msg import DiagnosticStatus

    def said():
        np.testing.assert_allclose(talk.ask(POSITION, REST), gravity(ARM), rtol=1e-9)
        found = [s for report in list(talk.reports) for s in report.status if talk.node.name in s.name]
        return any(why in s.message and s.level == DiagnosticStatus.ERROR for s in found)

    wait_until(said, f"an error that says {why!r}")


def test_another_robot_is_refused_until_somebody_agrees(talk):
    assert not called(talk).success
    for text, why in (
        (OTHER, "it is of robot 'crane', the one in use of 'arm'"),
        (HEAVIER, "the effort that holds joint 'shoulder' would change from"),
    ):
        del talk.reports[:]
        talk.publish(text)
        is_refused(talk, why)
    del talk.reports[:]
    answer = called(talk)
    assert answer.success, answer.message
    becomes(talk, gravity(HEAVIER))
    assert not called(talk).success
    talk.publish(HEAVIER.replace('value="8.0"', 'value="8.1"'))  # the same robot, a little heavier
    becomes(talk, gravity(HEAVIER.replace('value="8.0"', 'value="8.1"')))


def test_descriptions_of_two_publishers_are_refused_and_both_are_named(talk):
    with publishing(talk.ros, "impostor") as publish:
        talk.diagnosed("2 nodes publish robot_description: /impostor, /tester")
        publish(TWICE)
        is_refused(talk, "2 nodes publish descriptions: /impostor, /tester")
        publish(ARM)  # what is in use is no other
        wait_until(lambda: talk.ask(POSITION, REST) is not None and called(talk).success is False, "nothing refused")
    np.testing.assert_allclose(talk.ask(POSITION, REST), gravity(ARM), rtol=1e-9)


def test_what_was_refused_is_taken_while_the_node_commands_nothing(talk):
    from lifecycle_msgs.srv import ChangeState

    talk.publish(OTHER.replace('value="2.0"', 'value="2.2"'))
    is_refused(talk, "it is of robot 'crane'")
    change = talk.ros.client(ChangeState, f"{talk.node.name}/change_state")
    request = ChangeState.Request()
    for number in (4, 3):  # deactivate, activate
        request.transition.id = number
        assert change(request).success
        if number == 4:
            talk.node.says("ready for 'crane'")
    becomes(talk, gravity(LIGHTER))


def test_nobody_agrees_to_what_was_refused_before_the_latest_description(ros):
    """Its own description comes again, and is not built yet: the other robot's is not what counts any more."""
    from std_srvs.srv import Trigger

    from rbd_dynamics.nodes.feedforward import FeedforwardNode

    with publishing(ros) as publish:
        publish(ARM)
        with in_this_process(ros, FeedforwardNode, {"joints": JOINTS}) as node:
            description = node.description
            publish(OTHER)
            wait_until(lambda: node.poll() or description.refused, "a refusal")
            description._take_published(ARM)  # as it comes, between two cycles
            assert not node.acceptance._on_request(Trigger.Request(), Trigger.Response()).success
            wait_until(lambda: node.poll() or not description.building, "its own")
            assert (node.engine.model.name, description.refused, description.problem) == ("arm", "", "")


def test_the_guard_of_a_robot_keeps_it_too(ros):
    parameters = {"joints": JOINTS, "state_timeout": 10.0}
    with publishing(ros) as publish, ros.start("guard", parameters, name="keeping") as node:
        node.is_there()
        publish(ARM)
        node.says("ready for 'arm'")
        with ros.start("feedforward", {"robot_description": ARM}, name="feeding"):  # for joint states to go to
            for text, why in ((OTHER, "it is of robot 'crane'"), (HEAVIER, "that holds joint 'shoulder'")):
                publish(text)
                node.says(why)
        assert "ready for 'crane'" not in node.log and node.log.count("ready for") == 1


def test_a_load_changes_over_in_the_time_of_its_request(talk):
    from rbd_dynamics_interfaces.srv import SetPayload

    call = talk.ros.client(SetPayload, f"{talk.node.name}/set_payload")
    request = SetPayload.Request()
    request.payload.header.frame_id, request.payload.inertia.m = "hand", 3.0
    for wrong in (-1.0, float("nan"), 61.0):
        request.transition_time = wrong
        answer = call(request)
        assert not answer.success and "transition_time must be from 0 to 60 s" in answer.message
    np.testing.assert_allclose(talk.ask(POSITION, REST), gravity(ARM), rtol=1e-9)
    request.transition_time = 3.0
    assert call(request).success
    loaded = Robot(load_urdf(ARM))
    loaded.set_payload("hand", 3.0)
    becomes(talk, loaded.gravity(np.array(POSITION)))
    stamps = np.array([e.header.stamp.sec % 10000 + 1e-9 * e.header.stamp.nanosec for e in talk.efforts])
    shoulder = np.array([e.effort[0] for e in talk.efforts])
    between = np.flatnonzero(np.abs(shoulder - gravity(ARM)[0]) > 1e-6)
    last = np.flatnonzero(np.abs(shoulder - shoulder[-1]) > 1e-6)[-1]
    assert stamps[last] - stamps[between[0]] > 2.5  # of 3 s, as far as states came
    assert np.abs(np.diff(shoulder)).max() < 0.5 * abs(shoulder[-1] - shoulder[0])


def test_a_robot_that_cannot_be_held_is_not_taken_into_command(ros):
    """Its shoulder needs more than it may give: activation ends before the first command."""
    parameters = {"robot_description": ARM, "effort_limits": [5.0, 40.0, 30.0], "state_timeout": 10.0}
    with ros.start("feedforward", parameters, name="weak") as node:
        node.is_active()
        talk = Talk(ros, node)
        needed = gravity(ARM)[0]
        assert abs(needed) > 5.0

        def said():
            talk.states.publish(joint_state(JOINTS, POSITION, REST, stamp=time.time_ns()))
            return "not begun: joint 'shoulder' would need" in node.log

        wait_until(said, "a refusal")
        assert f"{needed:.4g} to hold still where it is; its limit is 5" in node.log
        talk.diagnosed("not begun: joint 'shoulder' would need")
        assert not talk.commands and not talk.efforts
