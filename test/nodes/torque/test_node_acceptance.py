# SPDX-License-Identifier: Apache-2.0
"""Nothing is accepted that would stop the torques: parameters, loads and descriptions are tried before they count."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.models.shapes import described
from helpers.nodes.ros_nodes import Conversation, joint_state, needs_ros, wait_until
from helpers.nodes.torque_talk import answered

pytestmark = needs_ros
GAINS = {"kp": [50.0, 30.0, 20.0], "kd": [2.0, 1.0, 0.5]}
POSITION = [0.1, 0.2, 0.05]
#: a description that has other joints, and one that has none
OTHER_JOINTS = ARM.replace('"elbow"', '"wrist"')
NO_JOINTS = "<robot name='statue'><link name='base'/></robot>"


class Talk(Conversation):
    """Joint states at one position, and what answers them."""

    def __init__(self, ros, node):
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        node.is_active()
        super().__init__(ros, node)
        self.states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.efforts = ros.collect(JointState, f"{node.name}/effort", 1000)
        self.ask()

    def ask(self, position=POSITION):
        """The effort that answers a state at rest."""
        clock = self.ros.node.get_clock()
        return answered(
            self.states,
            lambda: joint_state(JOINTS, position, [0.0] * 3, stamp=clock.now().to_msg()),
            self.efforts,
        )


@pytest.fixture(scope="module")
def talk(ros):
    with ros.start("feedforward", {"robot_description": ARM, **GAINS}, name="accepting") as node:
        yield Talk(ros, node)


@pytest.fixture(scope="module")
def gravity(robot):
    return robot.gravity(np.array(POSITION))


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("kp", [INF], "parameter 'kp' must be finite"),
        ("kp", [NAN], "parameter 'kp' is not a number"),
        ("kp", [1e308], "parameter 'kp' is 1e+308: too large"),
        ("kd", [1.0, 2.0], "kd has 2 values for 3 joints"),
        ("kd", [-1.0], "parameter 'kd' must be at least 0"),
        ("effort_limits", [NAN, 1.0, 1.0], "parameter 'effort_limits' is not a number"),
        ("effort_limits", [-INF], "parameter 'effort_limits' must be at least 0"),
        ("state_timeout", INF, "state_timeout"),
        ("setpoint_timeout", NAN, "setpoint_timeout"),
        ("start_tolerance", INF, "parameter 'start_tolerance' must be finite"),
        ("gravity", [0.0, 0.0, 1e300], "parameter 'gravity' is 1e+300: too large"),
        ("gravity", [0.0, 0.0, 9.0], "only while the node is not configured"),
        ("terms", ["inertia", "magic"], "parameter 'terms' must be any of"),
        ("robot_description", "", "robot_description: it is empty"),
        ("robot_description", "robot.urdf", "robot_description: it is not XML"),
    ],
)
def test_parameter_that_would_stop_the_torques_is_refused(talk, gravity, name, value, reason):
    before = talk.get(name)
    result = talk.ros.set_parameters(talk.node.name, **{name: value})[0]
    assert not result.successful and reason in result.reason
    assert talk.get(name) == before
    np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)


def test_several_parameters_of_one_call_are_all_set_or_none(talk, gravity):
    for bad in ({"kd": [1.0, 2.0]}, {"robot_description": "garbage"}, {"tf_prefix": "a"}, {"law": "none"}):
        given = {"terms": ["inertia"], "effort_limits": [0.1]} | bad
        assert not talk.ros.set_together(talk.node.name, **given).successful
        assert talk.get("effort_limits") == [] and "gravity" in talk.get("terms")
        np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)


def test_infinite_effort_limit_means_none(talk, gravity):
    assert talk.ros.set_parameters(talk.node.name, effort_limits=[INF])[0].successful
    np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)
    assert talk.ros.set_parameters(talk.node.name, effort_limits=[])[0].successful
    assert talk.get("effort_limits") == []


def load(frame, mass, com=(0.0, 0.0, 0.0), moments=(0.0,) * 6):
    from geometry_msgs.msg import InertiaStamped

    message = InertiaStamped()
    message.header.frame_id, message.inertia.m = frame, mass
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = com
    for name, value in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), moments):
        setattr(message.inertia, name, value)
    return message


LOADS = [
    (("hand", 1e308), "mass 1e+308"),
    (("hand", 1e7), "mass 1e+07"),
    (("hand", INF), "not finite"),
    (("hand", NAN), "not finite"),
    (("hand", -1.0), "negative"),
    (("hand", 1.0, (1e300, 0.0, 0.0)), "com 1e+300"),
    (("hand", 1.0, (NAN, 0.0, 0.0)), "not finite"),
    (("hand", 1.0, (0.0, 0.0, 0.0), (1e300, 0.0, 0.0, 1e300, 0.0, 1e300)), "inertia 1e+300"),
    (("hand", 1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 5.0)), "principal moments"),
    (("hand", 0.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)), "no mass"),
    (("nowhere", 1.0), "nowhere"),
    (("", 1.0), "frame_id"),
]


@pytest.mark.parametrize(("given", "reason"), [*LOADS, (("hand", 500.0), "to hold still where it is; its limit is")])
def test_load_that_cannot_be_held_is_refused(talk, gravity, given, reason):
    SetPayload = pytest.importorskip("rbd_dynamics_interfaces.srv").SetPayload
    set_payload = talk.ros.client(SetPayload, f"{talk.node.name}/set_payload")
    response = set_payload(payload=load(*given))
    assert not response.success and reason in response.message
    np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)
    response = set_payload(payload=load("hand", 0.0))
    assert response.success and response.total_mass == pytest.approx(3.7)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (NO_JOINTS, "'statue' has no joint that moves"),
        ("<robot name='x'/>", "the one before stays in use"),
        ("<robot", "the one before stays in use"),
        (ARM.replace('value="2.0"', 'value="1e300"'), "the one before stays in use"),
        (ARM.replace('value="2.0"', 'value="1e30"'), "to hold still where it is"),
        (ARM.replace('value="2.0"', 'value="200"'), "joint 'shoulder' would need"),
        (ARM.replace('value="2.0"', 'value="nan"'), "the one before stays in use"),
        (ARM.replace('value="2.0"', 'value="1e308"').replace('value="1.2"', 'value="1e308"'), "stays in use"),
    ],
)
def test_description_that_cannot_be_used_goes_back(talk, gravity, text, reason):
    del talk.reports[:]
    assert talk.ros.set_parameters(talk.node.name, robot_description=text)[0].successful  # so far
    wait_until(lambda: talk.get("robot_description") == ARM, "the old description")
    del talk.reports[:]
    talk.diagnosed(reason)
    talk.diagnosed("set back: robot_description")
    assert talk.get("robot_description") == ARM
    np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)


def test_description_without_the_named_joints_goes_back_with_all_of_its_call(ros, gravity):
    parameters = {"robot_description": ARM, "joints": JOINTS, "kd": [2.0]}
    with ros.start("feedforward", parameters, name="named") as node:
        talk = Talk(ros, node)
        given = {"robot_description": OTHER_JOINTS, "kd": [3.0]}
        assert ros.set_together(node.name, **given).successful
        talk.diagnosed("set back: robot_description, kd")
        assert talk.get("robot_description") == ARM and talk.get("kd") == [2.0]
        np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)


def test_refused_description_of_the_topic_is_forgotten(ros, gravity):
    """What is built next is built of the description in use."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    texts = ros.node.create_publisher(
        String, "robot_description", QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    )
    try:
        with ros.start("feedforward", {"joints": JOINTS}, name="latched") as node:
            node.is_there()
            texts.publish(String(data=ARM))
            talk = Talk(ros, node)
            for text in (NO_JOINTS, OTHER_JOINTS, "garbage"):
                del talk.reports[:]
                texts.publish(String(data=text))
                talk.diagnosed("the one before stays in use")
                np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)
            assert ros.set_parameters("latched", robot_description=ARM)[0].successful
            texts.publish(String(data=ARM.replace('value="2.0"', 'value="2.5"')))
            talk.diagnosed("topic robot_description ignored")
            np.testing.assert_allclose(talk.ask(), gravity, rtol=1e-9)
    finally:
        ros.destroy(lambda: ros.node.destroy_publisher(texts))


@pytest.fixture(scope="module")
def robotless(ros):
    """A node without a robot, and the topic of descriptions, on which nobody has said anything yet."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with ros.start("feedforward", {}, name="robotless") as node:
        node.says("waiting for robot_description")
        topic = ros.publisher(String, "robot_description", latched)
        yield Conversation(ros, node), lambda text: topic.publish(String(data=text))


def transitions(talk, *numbers):
    """Whether each of them succeeded."""
    from lifecycle_msgs.srv import ChangeState

    call, done = talk.ros.client(ChangeState, f"{talk.node.name}/change_state"), []
    for number in numbers:
        request = ChangeState.Request()
        request.transition.id = number
        done.append(call(request).success)
    return done


def described_by(talk, **values):
    (result,) = talk.ros.set_parameters(talk.node.name, **values)
    return result.successful, result.reason


@pytest.mark.parametrize("ended_by", ["its failure", "the empty text"])
def test_a_parameter_that_fails_leaves_the_robot_to_the_topic(robotless, gravity, ended_by):
    """What the topic said while the parameter was set counts then: no node stays without a robot."""
    talk, publish = robotless
    transitions(talk, 4, 2)  # it forgets its robot, where it has one
    assert described_by(talk, description_timeout=0.0)[0]
    assert transitions(talk, 1) == [True]
    text = NO_JOINTS if ended_by == "its failure" else described("chain", 300)  # compiled for minutes
    del talk.reports[:]
    assert described_by(talk, robot_description=text)[0]
    publish(ARM)
    if ended_by != "its failure":
        talk.diagnosed("topic robot_description ignored")
        assert described_by(talk, robot_description="")[0]
    wait_until(lambda: transitions(talk, 3) == [True], "a robot")
    np.testing.assert_allclose(Talk(talk.ros, talk.node).ask(), gravity, rtol=1e-9)


def test_an_unconfigured_node_takes_no_description_that_it_cannot_leave(robotless, gravity):
    """Malformed ones are refused; one that cannot be used is gone after the configuration that failed by it."""
    talk, publish = robotless
    publish(ARM)
    wait_until(lambda: transitions(talk, 4) == [True], "a robot")
    assert transitions(talk, 2) == [True]
    assert described_by(talk, description_timeout=60.0)[0]
    for text in ("<a", "<a></b>", "robot.urdf"):
        taken, reason = described_by(talk, robot_description=text)
        assert not taken and reason.startswith("robot_description: it is not ")
    assert described_by(talk, largest_description=1000)[0]
    taken, reason = described_by(talk, robot_description=ARM)
    assert not taken and "more than parameter 'largest_description' (1000)" in reason
    assert described_by(talk, largest_description=30_000_000)[0]
    assert described_by(talk, robot_description="<a/>") == (True, "")
    del talk.reports[:]
    assert transitions(talk, 1, 3) == [False, False]
    talk.diagnosed("cannot configure: robot_description: ")
    talk.diagnosed("set back: robot_description")
    assert transitions(talk, 1, 3) == [True, True]
    np.testing.assert_allclose(Talk(talk.ros, talk.node).ask(), gravity, rtol=1e-9)


def test_task_that_cannot_be_built_goes_back(ros):
    """Of hybrid_controller: the gauge-invariant law needs one kd, which only the build finds out."""
    parameters = {
        "robot_description": ARM, "tool_frame": "hand", "controlled": ["x", "rx"], "kp": [100.0], "kd": [20.0, 30.0],
        "task_ki": 0.0,
    }  # fmt: skip
    with ros.start("hybrid_controller", parameters, name="task") as node:
        talk = Talk(ros, node)
        before = talk.ask()
        assert ros.set_parameters("task", law="gauge_invariant")[0].successful
        talk.diagnosed("set back: law")
        assert talk.get("law") == "geometric"
        assert not ros.set_parameters("task", kp=[1.0, 2.0, 3.0])[0].successful
        assert not ros.set_parameters("task", tool_position=[INF, 0.0, 0.0])[0].successful
        np.testing.assert_allclose(talk.ask(), before, rtol=1e-6)


@pytest.mark.parametrize("executable", ["dynamics_server", "monitor", "simulator", "hybrid_controller"])
def test_every_node_keeps_its_robot_and_refuses_impossible_loads(ros, executable):
    SetPayload = pytest.importorskip("rbd_dynamics_interfaces.srv").SetPayload
    from rbd_dynamics.nodes.managed.messages import LATCHED

    interfaces = pytest.importorskip("rbd_dynamics_interfaces.msg")
    own = {"tool_frame": "hand", "controlled": ["x", "rx"]} if executable == "hybrid_controller" else {}
    with ros.start(executable, {"robot_description": ARM} | own, name=f"keeping_{executable}") as node:
        node.is_active()
        talk = Conversation(ros, node)
        set_payload = ros.client(SetPayload, f"{node.name}/set_payload")
        for given, reason in LOADS:
            response = set_payload(payload=load(*given))
            assert not response.success and reason in response.message
        assert set_payload(payload=load("hand", 0.1)).total_mass == pytest.approx(3.8)
        told = ros.collect(interfaces.Payloads, f"{node.name}/payloads", LATCHED)  # comes later, and is told
        wait_until(lambda: told, "the load that acts")
        assert told[-1].payloads == [load("hand", 0.1)] and told[-1].total_mass == pytest.approx(3.8)
        assert ros.set_parameters(node.name, robot_description=NO_JOINTS)[0].successful
        talk.diagnosed("there is nothing to compute; the one before stays in use; set back: robot_description")
        assert set_payload(payload=load("hand", 0.0)).total_mass == pytest.approx(3.7)
        wait_until(lambda: not told[-1].payloads, "that there is no load any more")
        assert told[-1].total_mass == pytest.approx(3.7)
