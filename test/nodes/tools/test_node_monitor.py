# SPDX-License-Identifier: Apache-2.0
"""Node `monitor` over real DDS: what the model gets wrong, and what touches the robot."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import Conversation, joint_state, needs_ros, others_run, wait_until

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros
STEP = 2_000_000  # ns
IN_FLIGHT = 50  # states that may wait for their answers: half of the queue that the node has for them
PARAMETERS = {
    "robot_description": ARM,
    "cutoff": 10.0,
    "observer_rate": 40.0,
    "contact_thresholds": [3.0],
    "contact_duration": 0.02,
}


class Talk(Conversation):
    """A robot on a smooth motion, sample by sample, and what the node says of it."""

    def __init__(self, ros, node, robot):
        from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Bool

        super().__init__(ros, node)
        self.robot = robot
        self.stamp = 1_000_000_000
        self.states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.residuals = ros.collect(JointState, f"{node.name}/residual", 5000)
        self.external = ros.collect(JointState, f"{node.name}/external_torque", 5000)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.contacts = ros.collect(Bool, f"{node.name}/contact", latched)

    def sample(self, push=0.0):
        """(q, v, tau) now; push: torque on the second joint from outside."""
        t, w = 1e-9 * self.stamp, np.array([1.0, 1.5, 2.0])
        q, v, a = 0.3 * np.sin(w * t), 0.3 * w * np.cos(w * t), -0.3 * w**2 * np.sin(w * t)
        tau = self.robot.inverse_dynamics(q, v, a)
        tau[1] -= push
        return q, v, tau

    def message(self, q, v, tau, names=JOINTS):
        return joint_state(names, q, v, tau, self.stamp)

    def stream(self, count, push=0.0, change=lambda message: message, pace=0.002):
        """So many joint states, at 500 Hz or as fast as a busy machine answers them."""
        begin, before = time.monotonic(), len(self.external)
        for k in range(count):
            self.stamp += STEP
            self.states.publish(change(self.message(*self.sample(push))))
            time.sleep(max(0.0, begin + (k + 1) * pace - time.monotonic()))
            wait_until(lambda sent=k: len(self.external) - before > sent - IN_FLIGHT, "answers", 5.0)
        return self

    def arrived(self, messages=None):
        """The last message, once the last state is answered."""
        messages = self.external if messages is None else messages
        stamp = divmod(self.stamp, 1_000_000_000)

        def there():
            return messages and (messages[-1].header.stamp.sec, messages[-1].header.stamp.nanosec) == stamp

        wait_until(there, "the answer to the last state", 5.0)
        return messages[-1]

    def touched(self):
        return self.contacts[-1].data if self.contacts else None


@pytest.fixture
def talk(ros, robot):
    with ros.start("monitor", PARAMETERS) as node:
        yield Talk(ros, node, robot)


def test_nothing_is_lost_at_500_hz_and_a_push_is_seen(talk):
    talk.stream(500)
    talk.arrived()
    others_run(0.2)
    assert len(talk.external) == 499, "messages were lost"  # the first one begins
    worst = np.abs([message.effort for message in talk.external[1:]]).max(axis=0)
    assert worst.max() < 0.05
    assert talk.residuals and np.abs(talk.arrived(talk.residuals).effort).max() < 0.5
    assert len(talk.residuals) < 480  # none before the filter has settled
    assert list(talk.external[-1].name) == list(JOINTS)
    wait_until(lambda: talk.touched() is False, "no contact")

    talk.stream(300, push=8.0)
    external = np.array(talk.arrived().effort)
    np.testing.assert_allclose(external, [0.0, 8.0, 0.0], atol=0.1)
    np.testing.assert_allclose(talk.arrived(talk.residuals).effort, [0.0, -8.0, 0.0], atol=0.5)
    wait_until(talk.touched, "contact")
    talk.stream(300)
    talk.arrived()
    wait_until(lambda: talk.touched() is False, "no contact any more")
    assert [message.data for message in talk.contacts] == [False, True, False]


def test_the_wrench_at_a_frame_with_what_is_not_told(talk, robot):
    """Three joints of a planar arm tell its forces in the plane and the moment about their axes, in the hand's axes."""
    from rbd_dynamics_interfaces.msg import WrenchEstimate

    (result,) = talk.ros.set_parameters(talk.node.name, wrench_frame="palm")
    assert result.successful  # it is built aside, and fails
    talk.diagnosed("parameter 'wrench_frame': ")
    talk.ros.set_parameters(talk.node.name, wrench_frame="base")
    talk.diagnosed("parameter 'wrench_frame': wrench frame 'base' is fixed to the world")
    assert talk.ros.set_parameters(talk.node.name, wrench_frame="hand")[0].successful
    wait_until(lambda: talk.node.log.count("ready for 'arm'") == 2, "the monitor of a wrench")
    wrenches = talk.ros.collect(WrenchEstimate, f"{talk.node.name}/external_wrench", 1000)
    talk.stream(300)
    wait_until(lambda: talk.stream(20) and wrenches, "a wrench")
    talk.stream(1500, push=8.0)
    q = talk.sample()[0]
    talk.arrived()
    wait_until(lambda: talk.stream(5, push=8.0) and len(wrenches) > 20, "wrenches")
    last = wrenches[-1]
    assert last.header.frame_id == "hand"
    assert list(last.told) == [True, False, True, False, True, False]
    stamp = last.header.stamp.sec + 1e-9 * last.header.stamp.nanosec
    t, w = stamp, np.array([1.0, 1.5, 2.0])
    q = 0.3 * np.sin(w * t)
    J = robot.jacobian(q, "hand")
    force, torque = last.wrench.force, last.wrench.torque
    np.testing.assert_allclose(J[[1, 3, 5]].T @ [torque.y, force.x, force.z], [0.0, 8.0, 0.0], atol=0.2)
    assert all(math.isnan(x) for x in (force.y, torque.x, torque.z))
    covariance = np.array(last.covariance).reshape(6, 6)
    told = np.array(last.told)
    assert np.isnan(covariance[~told]).all() and (np.linalg.eigvalsh(covariance[np.ix_(told, told)]) > 0.0).all()
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in wrenches])
    assert np.diff(stamps).min() > 0.0099


def test_messages_as_they_come_in_the_wild(talk):
    """Another order, extra joints, a joint without effort, a few bad ones between."""

    def scrambled(message):
        order = [2, 0, 1]
        message.name = [*(JOINTS[k] for k in order), "head"]
        for field in ("position", "velocity", "effort"):
            values = getattr(message, field)
            setattr(message, field, [*(values[k] for k in order), 0.1])
        return message

    talk.stream(300, change=scrambled)
    np.testing.assert_allclose(talk.arrived().effort, 0.0, atol=0.05)

    def silent(message):
        message.effort = [message.effort[0], math.nan, message.effort[2]]
        return message

    talk.stream(100, change=silent)
    message = talk.arrived()
    assert list(message.name) == [JOINTS[0], JOINTS[2]] and len(message.effort) == 2
    talk.diagnosed(f"no efforts of {JOINTS[1]}")
    before = len(talk.external)
    bad = talk.message(*talk.sample())
    for field, value in (
        ("position", [math.nan] * 3),
        ("effort", [1.0]),
        ("velocity", [1.0]),
        ("name", ["a", "b", "c"]),
    ):
        bad = talk.message(*talk.sample())
        setattr(bad, field, value)
        talk.states.publish(bad)
    bad = talk.message(*talk.sample())
    bad.header.stamp.sec = bad.header.stamp.nanosec = 0
    talk.states.publish(bad)
    others_run(0.3)
    assert len(talk.external) == before
    talk.diagnosed("without a stamp")
    for what in ("velocities", "efforts"):
        talk.diagnosed(f"joint state has 1 {what} for 3 joints")
    talk.stream(50)
    assert len(talk.arrived().effort) == 3
    assert all(np.isfinite(message.effort).all() for message in talk.external + talk.residuals)


def test_a_gap_begins_anew(talk):
    talk.stream(200)
    talk.arrived()
    talk.stamp += 2_000_000_000
    before = len(talk.residuals)
    talk.stream(20)
    talk.arrived()
    assert len(talk.residuals) == before
    talk.diagnosed("began anew")
    talk.stream(200)
    np.testing.assert_allclose(talk.arrived(talk.residuals).effort, 0.0, atol=0.5)


def load_of(mass):
    """A point mass above the hand."""
    from geometry_msgs.msg import InertiaStamped

    payload = InertiaStamped()
    payload.header.frame_id = "hand"
    payload.inertia.m, payload.inertia.com.z = mass, 0.1
    return payload


def test_load_that_is_told_is_no_contact(talk, robot):
    from rbd_dynamics_interfaces.srv import SetPayload

    loaded = Robot(load_urdf(ARM))
    loaded.set_payload("hand", 2.0, com=(0.0, 0.0, 0.1))
    talk.robot = loaded
    talk.stream(300)
    assert np.abs(talk.arrived().effort).max() > 1.0  # its weight
    call = talk.ros.client(SetPayload, f"{talk.node.name}/set_payload")
    answer = call(payload=load_of(2.0))
    assert answer.success, answer.message
    talk.stream(300)
    np.testing.assert_allclose(talk.arrived().effort, 0.0, atol=0.05)


def test_thresholds_change_while_it_runs(talk):
    talk.stream(100)
    (result,) = talk.ros.set_parameters(talk.node.name, contact_thresholds=[1.0, 2.0])
    assert not result.successful and "contact_thresholds has 2 values for 3 joints" in result.reason
    (result,) = talk.ros.set_parameters(talk.node.name, contact_thresholds=[1.0, 50.0, 1.0])
    assert result.successful
    talk.node.says("ready for", 10.0)
    wait_until(lambda: talk.node.log.count("ready for") == 2, "another threshold")
    talk.stream(300, push=8.0)
    np.testing.assert_allclose(talk.arrived().effort, [0.0, 8.0, 0.0], atol=0.1)
    others_run(0.2)
    assert not talk.touched()
    talk.ros.set_parameters(talk.node.name, contact_thresholds=[0.0])
    wait_until(lambda: talk.node.log.count("ready for") == 3, "no threshold")

    since = len(talk.reports)

    def told():
        pairs = [pair for report in talk.reports[since:] for status in report.status for pair in status.values]
        return [pair.value for pair in pairs if pair.key == "contact"]

    wait_until(lambda: "unknown: no contact_thresholds are given" in told(), "that nothing tells contact")


def test_what_the_simulator_carries_is_seen(ros):
    """Two nodes of the package: an unknown load on the simulated robot, friction and all."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Bool, Float64MultiArray

    from rbd_dynamics_interfaces.srv import SetPayload

    parameters = {**PARAMETERS, "terms": ["inertia", "coriolis", "gravity", "friction"], "contact_thresholds": [0.5]}
    with ros.start("simulator", {"robot_description": ARM}) as simulator, ros.start("monitor", parameters) as monitor:
        commands = ros.publisher(Float64MultiArray, f"{simulator.name}/commands")
        external = ros.collect(JointState, f"{monitor.name}/external_torque", 5000)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        contacts = ros.collect(Bool, f"{monitor.name}/contact", latched)
        load = ros.client(SetPayload, f"{simulator.name}/set_payload")

        def largest():
            return np.abs(external[-1].effort).max() if external else np.nan

        states = ros.collect(JointState, "joint_states", 5000)
        wait_until(lambda: len(states) > 50, "a robot that its brakes carry")
        assert not external and not any(message.data for message in contacts)
        robot = Robot(load_urdf(ARM))
        hold = Float64MultiArray(data=robot.gravity(robot.model.start_position()).tolist())
        commands.publish(hold)  # brakes off
        wait_until(lambda: largest() < 0.4, "a robot that carries itself")
        assert load(payload=load_of(3.0)).success
        wait_until(lambda: largest() > 5.0, "the load")
