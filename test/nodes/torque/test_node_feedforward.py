# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward` over real DDS: the right torque for every joint state, nothing for a bad one."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import PATIENCE, joint_state, needs_ros, others_run, wait_until
from helpers.nodes.torque_talk import Talk, answered

from benchmarks.measuring.timing import processor_time
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros
# so soft that they are stable at any rate at which a busy machine asks
GAINS = {"kp": [5.0, 3.0, 2.0], "kd": [0.2, 0.1, 0.05]}
#: these tests jump about: set-points and states need not follow from each other
ANYWHERE = {
    "setpoint_timeout": 0.0, "setpoint_tolerance": 0.0, "path_tolerance": 0.0, "state_timeout": 0.0,
    "plausible_velocity": 0.0, "transition_time": 0.0, "effort_rate_limits": [0.0], "check_in_command": False,
}  # fmt: skip
RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def talk(ros):
    # one state now and then is no silence here
    patient = {"state_timeout": 60.0}
    with ros.start("feedforward", {"robot_description": ARM, **GAINS, **ANYWHERE, **patient}) as node:
        yield Talk(ros, node)


def torque(robot, q, v, desired):
    """The node's law, by the library; hot path and reference share no code here."""
    kp, kd = np.array(GAINS["kp"]), np.array(GAINS["kd"])
    pd = kp * (desired[0] - q) + kd * (desired[1] - v)
    return robot.inverse_dynamics(q, v, desired[2]) + pd


def random_state():
    return RNG.uniform(-0.2, 0.2, 3), RNG.uniform(-0.5, 0.5, 3)


def random_motion():
    """Position, velocity, acceleration (3, 3) within the limits of the joints."""
    return np.vstack([RNG.uniform([-0.3, -0.3, -0.1], [0.3, 0.3, 0.2]), RNG.uniform(-0.3, 0.3, (2, 3))])


def set_point(talk, desired):
    talk.send(JOINTS, (0.0, *desired))


def test_set_point_is_answered_by_the_torque_of_the_library(talk, robot):
    for _ in range(5):
        desired = random_motion()
        set_point(talk, desired)
        q, v = random_state()
        np.testing.assert_allclose(talk.ask(q, v), torque(robot, q, v, desired), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(talk.commands[-1].data, talk.efforts[-1].effort)
        assert list(talk.efforts[-1].name) == JOINTS


def test_who_listens_is_told_how_far_the_robot_is_from_where_it_is_wanted(talk, ros):
    from sensor_msgs.msg import JointState

    desired = random_motion()
    set_point(talk, desired)
    talk.ask(*random_state())
    errors = ros.collect(JointState, f"{talk.node.name}/tracking_error", 1000)
    q, v = random_state()
    wait_until(lambda: len(talk.ask(q, v)) and errors, "an error")
    wait_until(lambda: errors[-1].header.stamp == talk.efforts[-1].header.stamp, "the error of the last answer")
    assert list(errors[-1].name) == JOINTS and not errors[-1].effort
    np.testing.assert_allclose(errors[-1].position, desired[0] - q, atol=1e-12)
    np.testing.assert_allclose(errors[-1].velocity, desired[1] - v, atol=1e-12)


def test_states_in_any_order_with_other_joints_and_without_velocity(talk, robot):
    desired = np.zeros((3, 3))
    set_point(talk, desired)
    q, v = random_state()
    expected = torque(robot, q, v, desired)
    order = [2, 0, 1]
    names = [JOINTS[k] for k in order]
    np.testing.assert_allclose(talk.ask(q[order], v[order], names=names), expected)
    mixed = ["gripper", *names]
    np.testing.assert_allclose(talk.ask([9.0, *q[order]], [math.nan, *v[order]], names=mixed), expected)
    first = talk.message(q, [])
    talk.states.publish(first)
    others_run(0.05)
    second = talk.message(q + [0.01, 0.0, 0.0], [])
    talk.states.publish(second)
    elapsed = (second.header.stamp.sec - first.header.stamp.sec) + 1e-9 * (
        second.header.stamp.nanosec - first.header.stamp.nanosec
    )
    speed = np.array([0.01 / elapsed, 0.0, 0.0])
    expected = torque(robot, q + [0.01, 0.0, 0.0], speed, desired)
    np.testing.assert_allclose(talk.answer(second.header.stamp), expected, rtol=1e-6)
    talk.diagnosed("found by differentiation: shoulder, elbow, slide")


def test_trajectory_is_followed_in_time(talk, robot):
    set_point(talk, np.zeros((3, 3)))
    at_rest, ahead = np.zeros(3), 3_000_000_000  # ns: it is planned by then
    talk.ask(at_rest, at_rest)
    talk.send(JOINTS, (0.1, at_rest))  # whoever plans it has started then
    said = "trajectory of 1 points, 0.100 s"
    wait_until(lambda: len(talk.ask(at_rest, at_rest)) and said in talk.node.log, said)
    set_point(talk, np.zeros((3, 3)))
    start = time.time_ns() + ahead
    talk.ask(at_rest, at_rest, stamp=stamp_of(start - ahead))
    goal = np.array([0.4, -0.3, 0.1])
    points = [(t, q, at_rest, at_rest) for t, q in ((0.0, at_rest), (1.0, goal), (2.0, at_rest))]
    talk.send(JOINTS, *points, stamp=stamp_of(start))
    checked = 0
    t = -1.0
    while t < 2.3:
        now = time.time_ns()
        t = 1e-9 * (now - start)
        tau = talk.ask(at_rest, at_rest, stamp=stamp_of(now))
        if t >= 0.0:
            s, begin, way = (t, at_rest, goal) if t < 1.0 else (min(t - 1.0, 1.0), goal, -goal)
            quintic = [10 * s**3 - 15 * s**4 + 6 * s**5, 30 * (s - s**2) ** 2, 60 * s - 180 * s**2 + 120 * s**3]
            desired = np.outer(quintic, way) + [begin, at_rest, at_rest]
            np.testing.assert_allclose(tau, torque(robot, at_rest, at_rest, desired), atol=1e-6)
            checked += 1
        time.sleep(0.02)
    assert checked > 20


def stamp_of(ns):
    from builtin_interfaces.msg import Time

    return Time(sec=ns // 10**9, nanosec=ns % 10**9)


def test_of_many_states_in_a_row_none_is_lost(talk, robot):
    """At 600 Hz, fewer under way than the node's queue holds: states are best effort, and a machine may stand still.
    Each costs the node less time of a processor than there is between two at 500 Hz."""
    from rbd_dynamics.nodes.managed.messages import JOINT_STATES

    desired = random_motion()
    set_point(talk, desired)
    count, under_way, period = 1500, 10, 1.0 / 600.0
    assert under_way < JOINT_STATES.depth
    del talk.commands[:], talk.efforts[:]
    sent = {}
    due, spent = time.monotonic(), processor_time(talk.node.process.pid)
    for k in range(count):
        wait_until(lambda k=k: len(talk.efforts) > k - under_way, f"the answer to state {k - under_way}")
        due = max(due + period, time.monotonic() - period)
        time.sleep(max(0.0, due - time.monotonic()))
        message = talk.message(*random_state())
        sent[message.header.stamp.sec, message.header.stamp.nanosec] = message
        talk.states.publish(message)
    wait_until(lambda: len(talk.efforts) == len(talk.commands) == count, "the last answers")
    assert processor_time(talk.node.process.pid) - spent < count / 500.0
    others_run(0.1)  # any surplus
    assert len(talk.efforts) == len(talk.commands) == count
    for (stamp, state), effort, command in zip(sent.items(), talk.efforts, talk.commands):
        assert (effort.header.stamp.sec, effort.header.stamp.nanosec) == stamp
        expected = torque(robot, np.array(state.position), np.array(state.velocity), desired)
        np.testing.assert_allclose(effort.effort, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(command.data, effort.effort)


def bad_states():
    zero = [0.0] * 3
    return {
        "NaN position": (JOINTS, [0.0, math.nan, 0.0], zero, "no finite position for joint 'elbow'"),
        "infinite position": (JOINTS, [math.inf, 0.0, 0.0], zero, "no finite position for joint 'shoulder'"),
        "short": (JOINTS, zero[:2], zero, "2 positions for 3 joints"),
        "velocities short": (JOINTS, zero, zero[:2], "2 velocities for 3 joints"),
        "no names": ([], [], [], "none of the robot's joints"),
        "unknown joints": (["x", "y", "z"], zero, zero, "none of the robot's joints"),
        "a joint missing": (JOINTS[:2], zero[:2], zero[:2], "no joint 'slide'"),
        "a joint twice": (["elbow", "elbow", "slide"], zero, zero, "'elbow' twice"),
        "too large": (JOINTS, zero, [1e300, 1e300, 1e300], "no torque"),
    }


@pytest.mark.parametrize("case", bad_states())
def test_bad_state_gets_no_answer_and_a_reason(talk, robot, case):
    from sensor_msgs.msg import JointState

    names, q, v, reason = bad_states()[case]
    message = JointState(name=names, position=q, velocity=v)
    message.header.stamp = talk.ros.node.get_clock().now().to_msg()
    assert talk.silent_for(message)
    talk.diagnosed(reason)
    set_point(talk, np.zeros((3, 3)))
    q, v = random_state()
    np.testing.assert_allclose(talk.ask(q, v), torque(robot, q, v, np.zeros((3, 3))))


def test_stale_state_gets_no_answer(talk):
    from builtin_interfaces.msg import Time

    now = talk.ros.node.get_clock().now().to_msg()
    assert talk.silent_for(talk.message([0.0] * 3, [0.0] * 3, stamp=Time(sec=now.sec - 62, nanosec=now.nanosec)))
    talk.diagnosed("stale joint state")


def test_unstamped_state_counts_as_new(talk):
    from builtin_interfaces.msg import Time

    def asked():  # again: best effort
        talk.states.publish(talk.message([0.0] * 3, [0.0] * 3, stamp=Time()))
        others_run(0.05)
        return len(talk.efforts) > before

    before = len(talk.efforts)
    wait_until(asked, "an effort")


@pytest.mark.parametrize(
    ("names", "points", "reason"),
    [
        (JOINTS, [(1.0, [1.0, 2.0]), (2.0, [0.0] * 3)], "point 0 has 2 positions for 3 joints"),
        (JOINTS, [(1.0, [0.0, math.nan, 0.0]), (2.0, [0.0] * 3)], "positions of joint 'elbow' has the value nan"),
        (JOINTS, [(2.0, [0.0] * 3), (1.0, [0.0] * 3)], "point 1"),
        (["shoulder", "wrist"], [(1.0, [0.0] * 2), (2.0, [0.0] * 2)], "'wrist' is not one of"),
        (["shoulder"], [(0.0, [0.0])], "'elbow' is missing"),
        (JOINTS, [(0.0, [1.0, 0.0, 0.0]), (2.0, [0.0] * 3)], "start tolerance"),
        ([], [(0.0, [])], "names no joints"),
        (JOINTS, [(1.0, [0.0, 0.0, 0.0]), (2.0, [0.0, 0.0, 99.0])], "outside its limits"),
        (JOINTS, [(0.0, [0.0, 0.0, 99.0])], "position 99 of joint 'slide' is outside its limits"),
    ],
)
def test_bad_trajectory_is_refused_and_the_motion_goes_on(talk, robot, names, points, reason):
    set_point(talk, np.zeros((3, 3)))
    talk.ask(np.zeros(3), np.zeros(3))
    talk.send(names, *points)
    talk.diagnosed(reason)
    q, v = random_state()
    np.testing.assert_allclose(talk.ask(q, v), torque(robot, q, v, np.zeros((3, 3))))


def test_malformed_description_at_run_time_changes_nothing(talk, robot):
    set_point(talk, np.zeros((3, 3)))
    for text in ("<robot", "<robot name='x'/>", ARM.replace('value="2.0"', 'value="-2.0"')):
        assert talk.ros.set_parameters(talk.node.name, robot_description=text)[0].successful
        talk.diagnosed("the one before stays in use")
        del talk.reports[:]
        q, v = random_state()
        np.testing.assert_allclose(talk.ask(q, v), torque(robot, q, v, np.zeros((3, 3))))


def test_new_description_is_taken_over_whole(talk, robot):
    heavier = ARM.replace('value="2.0"', 'value="2.5"')
    other = Robot(load_urdf(heavier))
    set_point(talk, np.zeros((3, 3)))
    q = np.array([0.1, 0.2, 0.05])
    old, new = (torque(r, q, np.zeros(3), np.zeros((3, 3))) for r in (robot, other))
    talk.ros.set_parameters(talk.node.name, robot_description=heavier)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        tau = talk.ask(q, np.zeros(3))
        is_old, is_new = np.allclose(tau, old, atol=1e-9), np.allclose(tau, new, atol=1e-9)
        assert is_old or is_new
        if is_new:
            break
        time.sleep(0.005)
    assert is_new
    talk.ros.set_parameters(talk.node.name, robot_description=ARM)
    wait_until(lambda: np.allclose(talk.ask(q, np.zeros(3)), old, atol=1e-9), "the old description again")


def test_payload_counts(talk, robot):
    from geometry_msgs.msg import InertiaStamped

    from rbd_dynamics_interfaces.srv import SetPayload

    set_point(talk, np.zeros((3, 3)))
    call = talk.ros.client(SetPayload, "feedforward/set_payload")
    load = InertiaStamped()
    load.header.frame_id = "hand"
    load.inertia.m = 1.5
    load.inertia.com.z = 0.1
    assert call(payload=load).success
    loaded = Robot(robot.model)
    loaded.set_payload("hand", 1.5, com=(0.0, 0.0, 0.1))
    q, v = random_state()
    np.testing.assert_allclose(talk.ask(q, v), torque(loaded, q, v, np.zeros((3, 3))))
    load.inertia.m = 0.0
    assert call(payload=load).success
    np.testing.assert_allclose(talk.ask(q, v), torque(robot, q, v, np.zeros((3, 3))))
    load.header.frame_id = "foot"
    answer = call(payload=load)
    assert not answer.success
    assert "foot" in answer.message


def test_gains_change_at_once_and_wrong_ones_are_refused(talk, robot):
    set_point(talk, np.zeros((3, 3)))
    q, v = random_state()
    (result,) = talk.ros.set_parameters("feedforward", kp=[0.0, 0.0, 0.0])
    assert result.successful, result.reason
    expected = robot.inverse_dynamics(q, v, np.zeros(3)) - np.array(GAINS["kd"]) * v
    np.testing.assert_allclose(talk.ask(q, v), expected)
    for name, value, culprit in (
        ("kp", [-1.0, 0.0, 0.0], "kp"),
        ("kp", [1.0, 2.0], "kp has 2 values for 3 joints"),
        ("terms", ["inertia", "magic"], "magic"),
        ("joints", ["elbow"], "only while the node is not configured"),
        ("setpoint_timeout", -1.0, "setpoint_timeout"),
    ):
        (result,) = talk.ros.set_parameters("feedforward", **{name: value})
        assert not result.successful
        assert culprit in result.reason
    np.testing.assert_allclose(talk.ask(q, v), expected)
    talk.ros.set_parameters("feedforward", kp=GAINS["kp"])


def test_empty_trajectory_means_hold(talk, robot):
    desired = random_motion()
    set_point(talk, desired)
    talk.send(JOINTS)
    desired[1:] = 0.0
    q, v = random_state()
    np.testing.assert_allclose(talk.ask(q, v), torque(robot, q, v, desired))


def test_description_comes_by_topic_and_only_some_joints_are_controlled(ros, robot):
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    parameters = {"joints": ["slide", "shoulder"], "terms": ["gravity"], "effort_limits": [1.0, 1000.0]} | ANYWHERE
    with ros.start("feedforward", parameters, "-r", "__ns:=/left", name="some_joints") as node:
        node.says("waiting for robot_description")
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        publisher = ros.node.create_publisher(String, "/left/robot_description", latched)
        publisher.publish(String(data="<robot name='nonsense'>"))
        node.says("robot_description:")
        publisher.publish(String(data=ARM))
        node.says("ready for 'arm'")
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        states = ros.publisher(JointState, "/left/joint_states", qos_profile_sensor_data)
        efforts = ros.collect(JointState, "/left/some_joints/effort")
        now = ros.node.get_clock().now
        q = np.array([0.5, 0.4, 0.1])
        for position in ([0.0] * 3, q):  # first where these limits can hold it
            found = answered(
                states, lambda q=position: joint_state(JOINTS, q, [0.0] * 3, stamp=now().to_msg()), efforts
            )
        gravity = robot.gravity(q)
        assert list(efforts[-1].name) == ["slide", "shoulder"]
        np.testing.assert_allclose(found, [np.clip(gravity[2], -1.0, 1.0), gravity[0]])
        ros.destroy(lambda: ros.node.destroy_publisher(publisher))


def test_life_cycle_manager_starts_and_stops_it(ros):
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState, GetState
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    with ros.start("feedforward", {"robot_description": ARM, "autostart": False, **ANYWHERE}, name="managed"):
        change = ros.client(ChangeState, "managed/change_state")
        state = ros.client(GetState, "managed/get_state")
        assert state().current_state.label == "unconfigured"

        def go(transition):
            return change(transition=Transition(id=transition)).success

        def at_zero():
            return joint_state(JOINTS, [0.0] * 3, [0.0] * 3, stamp=ros.node.get_clock().now().to_msg())

        for _ in range(2):
            assert go(Transition.TRANSITION_CONFIGURE)
            assert go(Transition.TRANSITION_ACTIVATE)
            states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
            efforts = ros.collect(JointState, "managed/effort")
            answered(states, at_zero, efforts)
            assert go(Transition.TRANSITION_DEACTIVATE)
            count = len(efforts)
            states.publish(at_zero())
            others_run(0.3)
            assert len(efforts) == count
            assert go(Transition.TRANSITION_CLEANUP)
            assert state().current_state.label == "unconfigured"


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [
        ({"kp": -1.0}, "kp"),
        ({"evaluate_at": "yesterday"}, "evaluate_at"),
        ({"terms": ["magic"]}, "magic"),
        ({"gravity": [0.0, 0.0]}, "gravity"),
        ({"locked_joints": ["a"], "locked_positions": [1.0, 2.0]}, "locked_positions"),
    ],
)
def test_wrong_parameter_ends_the_start_with_a_clear_message(ros, parameters, culprit):
    node = ros.start("feedforward", parameters, name="wrong")
    assert node.process.wait(PATIENCE) == 1
    assert "cannot start" in node.log
    assert culprit in node.log
    assert "Traceback" not in node.log
