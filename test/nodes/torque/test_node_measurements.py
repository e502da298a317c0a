# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward` over DDS: what cannot have been measured, or is too old, is not answered; rates of efforts."""

from __future__ import annotations

import math
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS, MEASURED_ZERO
from helpers.nodes.ros_nodes import Ros, change, in_this_process, joint_state, needs_ros, others_run, wait_until
from helpers.nodes.silences import Oracle
from helpers.nodes.torque_talk import Talk
from helpers.periodic import Periodic

from rbd_dynamics.joint_states.confirmation import AGREEING

pytestmark = needs_ros
REST = np.zeros(3)
GAINS = {"kp": [50.0, 30.0, 20.0], "kd": [2.0, 1.0, 0.5]}
#: an effort tells the state that it answers, whatever was held; and only answers are published
BARE = {"kp": [0.0], "kd": [0.0], "on_silence": "nothing"}
PARAMETERS = {"robot_description": ARM, **GAINS, "setpoint_timeout": 0.0}
PATIENT = {**PARAMETERS, "state_timeout": 5.0}  # what a busy machine delays is no other thing that is wrong


def law(robot, q, v):
    """Holding at zero, by the library."""
    return robot.inverse_dynamics(q, v, REST) - np.multiply(GAINS["kp"], q) - np.multiply(GAINS["kd"], v)


def begin_at_zero(talk):
    """The first state is held."""
    talk.ask(REST, REST)


@pytest.fixture(scope="module")
def ros(tmp_path_factory):
    """By the executor that tells when a message was sent."""
    with Ros(tmp_path_factory.mktemp("ros"), "single_threaded") as ros:
        yield ros


@pytest.fixture(scope="module")
def talk(ros):
    with ros.start("feedforward", {**PATIENT, "most_refused": 0}, name="measured") as node:
        talk = Talk(ros, node)
        begin_at_zero(talk)
        yield talk


@pytest.mark.parametrize(
    ("q", "v", "reason"),
    [
        ([0, 0, 0], [1e100, 0, 0], "velocity 1e+100 of joint 'shoulder' is not plausible"),
        ([0, 0, 0], [0, 0, 2.1], "velocity 2.1 of joint 'slide' is not plausible"),
        ([0, 0, 0], [0, math.inf, 0], "infinite velocity of joint 'elbow'"),
        ([2, 0, 0], [0, 0, 0], "position 2 of joint 'shoulder' is not plausible: it cannot have moved there"),
        ([0, 0, 0.8], [0, 0, 0], "position 0.8 of joint 'slide' is not plausible"),
        ([0, 1e300, 0], [0, 0, 0], "position 1e+300 of joint 'elbow' is not plausible"),
    ],
)
def test_what_cannot_have_been_measured_is_not_answered(talk, robot, q, v, reason):
    time.sleep(0.001)
    np.testing.assert_allclose(talk.ask(REST, REST), law(robot, REST, REST), rtol=1e-12, atol=1e-12)
    last = talk.efforts[-1].header.stamp
    bad = talk.message(q, v, stamp=10**9 * last.sec + last.nanosec + 2_000_000)
    talk.states.publish(bad)
    talk.diagnosed(reason)
    assert talk.answer(bad.header.stamp, timeout=0.0) is None
    np.testing.assert_allclose(talk.ask(REST, REST), law(robot, REST, REST), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("before", ["nothing", "elsewhere"])
def test_a_robot_that_is_found_elsewhere_is_believed_once_some_states_agree(ros, robot, before):
    """Zeros of a publisher that knows nothing, beside the robot's states: none of them is answered."""
    with ros.start("feedforward", {**PATIENT, **BARE, "most_refused": 0}, name=f"found_{before}") as node:
        talk, there = Talk(ros, node), np.array([1.0, -0.8, 0.2])
        if before == "elsewhere":
            talk.ask([-1.0, 0.5, 0.4], REST)
        begin = time.time_ns() + 10**8  # s later
        for k in range(20):
            talk.states.publish(talk.message(there if k % 2 else REST, REST, stamp=begin + k * 10**6))
        talk.diagnosed("where 3 states in a row must agree, and 1 did")
        doubted = len(talk.efforts)
        found = talk.ask(there, REST)
        np.testing.assert_allclose(found, robot.inverse_dynamics(there, REST, REST), rtol=1e-12)
        assert doubted == (before == "elsewhere")
        assert all(abs(effort.effort[0] - found[0]) < 1e-9 for effort in talk.efforts[doubted:])


def test_zeros_that_come_alone_at_first_are_not_answered_before_the_robot_is_heard(ros, robot):
    """Of another publisher, while the robot's has not been discovered yet; and a robot at zero is believed later."""
    with ros.start("feedforward", {**PATIENT, **BARE, "most_refused": 0}, name="begun_by_zeros") as node:
        talk, there = Talk(ros, node), np.array([1.0, -0.8, 0.2])
        begin = time.time_ns() - 10**9
        for k in range(60):
            talk.states.publish(talk.message(REST, REST, stamp=begin + k * 10**7))
            time.sleep(0.002)
        for k in range(60, 80):
            talk.states.publish(talk.message(there if k % 2 else REST, REST, stamp=begin + k * 10**7))
        talk.diagnosed("where 3 states in a row must agree, and 1 did")
        assert not talk.efforts
        found = talk.ask(there, REST)
        np.testing.assert_allclose(found, robot.inverse_dynamics(there, REST, REST), rtol=1e-12)
    with ros.start("feedforward", {**PATIENT, **BARE}, name="at_zero") as node:
        talk = Talk(ros, node)
        np.testing.assert_allclose(talk.ask(REST, REST), robot.gravity(REST), rtol=1e-12)


def test_an_effort_far_from_what_was_commanded_is_not_answered(ros, robot):
    with ros.start("feedforward", {**PATIENT, "plausible_effort": [5.0, 0.0, 0.0]}, name="weighed") as node:
        talk = Talk(ros, node)

        def ask(effort):
            message = joint_state(JOINTS, REST, REST, effort, talk.ros.node.get_clock().now().to_msg())
            talk.states.publish(message)
            return message.header.stamp

        begin_at_zero(talk)
        commanded = law(robot, REST, REST)
        for known in (commanded + [4.0, 1000.0, 0.0], [math.nan] * 3, []):
            talk.ask(REST, REST)
            assert talk.answer(ask(known)) is not None
        talk.ask(REST, REST)
        stamp = ask(commanded + [6.0, 0.0, 0.0])
        talk.diagnosed("of joint 'shoulder' is not plausible: commanded were")
        assert talk.answer(stamp, timeout=0.0) is None


def test_too_many_implausible_states_in_a_row_end_the_control(ros):
    from lifecycle_msgs.srv import ChangeState

    with ros.start("feedforward", {**PATIENT, "most_refused": 5}, name="ending") as node:
        talk = Talk(ros, node)
        begin_at_zero(talk)
        for _ in range(3):  # never five in a row
            for _ in range(4):
                talk.states.publish(talk.message(REST, [99.0, 0, 0]))
            talk.ask(REST, REST)
        for _ in range(5):
            talk.states.publish(talk.message(REST, [99.0, 0, 0]))
        talk.diagnosed("the control has ended: 5 implausible joint states in a row; joint state refused: velocity 99")
        good = talk.message(REST, REST)
        talk.states.publish(good)
        assert talk.answer(good.header.stamp, timeout=0.5) is None
        transition = ChangeState.Request()
        transition.transition.id = 3  # activate
        assert ros.client(ChangeState, "ending/change_state")(transition).success
        begin_at_zero(talk)


def test_a_robot_that_is_too_fast_is_damped_in_the_silence(ros):
    """Its states are refused, but go where their velocities say: it is the robot that is fast."""
    with ros.start("feedforward", {**PATIENT, "most_refused": 5, "silence_duration": 4.0}, name="fast") as node:
        talk, oracle, q = Talk(ros, node), Oracle(), np.array([0.3, 0.0, 0.1])
        v, slow = np.array([0.0, 8.0, 0.0]), np.array([0.0, 3.0, 0.0])
        talk.ask(q, REST)
        stamp, held = time.time_ns(), []

        def damped():
            nonlocal stamp
            stamp += 10_000_000
            q[:] += 0.01 * v
            held.append(oracle.held(q, slow))
            talk.states.publish(talk.message(q, v, stamp=stamp))
            time.sleep(0.01)
            commands = [each.data for each in list(talk.commands)[-5:]]
            return any(np.allclose(each, wanted, rtol=1e-9) for each in commands for wanted in held[-20:])

        wait_until(damped, "what damps it")
        assert "the control has ended: 5 implausible joint states in a row" in node.log


class Stream(Periodic):
    """States, each another, sent at a rate by a thread; what was published and when the node sent it."""

    def __init__(self, talk, ros, rate, stamped):
        from std_msgs.msg import Float64MultiArray

        super().__init__(1.0 / rate)
        self.sent = {}  # position of the shoulder: when, ns
        self.published = []  # efforts, when the node sent them

        def on_command(message, info):
            self.published.append((np.array(message.data), info["source_timestamp"]))

        ros.hear(Float64MultiArray, f"{talk.node.name}/commands", on_command, 1000)
        self._talk, self._stamped = talk, stamped
        self.paused = False

    def more_answers(self):
        answered = len(self.published)
        wait_until(lambda: len(self.published) > answered + 5, "answers")

    def act(self):
        if self.paused:
            return
        q = 1e-6 * (len(self.sent) + 1)
        self.sent[q] = time.time_ns()
        self._talk.states.publish(joint_state(JOINTS, [q, 0, 0], REST, stamp=self.sent[q] * self._stamped))

    def ages(self, robot):
        """Of every state at the time that its answer was sent, s. The node is one of BARE parameters."""
        sent = list(self.sent)
        expected = np.array([robot.gravity(np.array([q, 0.0, 0.0])) for q in sent])
        found = []
        for efforts, when in self.published:
            near = np.abs(expected - efforts).max(axis=1)
            if near.min() < 1e-9:
                found.append(1e-9 * (when - self.sent[sent[int(near.argmin())]]))
        return np.array(found)


@pytest.mark.parametrize("stamped", [True, False])
def test_a_process_that_was_stopped_answers_no_state_of_that_time(ros, robot, stamped):
    """Old states wait in its queue; the age is looked at when they are read and again before publishing."""
    stops, timeout = 6, 0.1
    with ros.start(
        "feedforward", {**PARAMETERS, **BARE, "state_timeout": timeout}, name=f"stopped{int(stamped)}"
    ) as node:
        talk = Talk(ros, node)
        begin_at_zero(talk)
        with Stream(talk, ros, 100.0, stamped) as stream:
            for _ in range(stops):
                stream.more_answers()
                node.process.send_signal(signal.SIGSTOP)
                others_run(2 * timeout)
                stream.paused = True  # a state about as old as it may be would be too old by the time it is sent
                others_run(2 * timeout)
                node.process.send_signal(signal.SIGCONT)
                stream.paused = False
            stream.more_answers()
        ages = stream.ages(robot)
        assert len(ages) > 5 * stops
        # a stop may fall between the last look at the clock and the sending, some microseconds
        assert (ages > timeout).sum() <= 1, np.sort(ages)[-10:]
        talk.diagnosed(
            "stale joint state" if stamped else "without a stamp: it may be old, for this process stood still"
        )


def test_each_effort_has_its_own_limit_of_change():
    from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters
    from rbd_dynamics.nodes.torque.safeguards import Bounds, Safeguards

    guards = Safeguards()
    most, second = np.array([9.0, 9.0, 5.0]), 10**9
    guards.use(Bounds.of(JOINTS, FeedforwardParameters.of({"effort_rate_limits": [0.5, 0.0, 4.0]})), most)
    assert guards.limits_rates and not guards.watches_efforts

    def limited(time, *wanted, together=False):
        efforts = np.array(wanted)
        guards.limit(efforts, time, most, together=together)
        return efforts.tolist()

    assert limited(second, 7.0, 7.0, 7.0) == [7.0, 7.0, 7.0]  # the first is not limited
    guards.commanded(np.array([0.0, 1.0, 4.5]), second)
    assert limited(3 * second, 2.0, -8.0, -9.0) == [1.0, -8.0, -3.5]
    assert guards.limited.tolist() == [True, False, True]
    # half of 2 N m: of 13.5 N m, 8 may be, which is more
    assert limited(3 * second, 2.0, -8.0, -9.0, together=True) == [1.0, -3.5, -2.25]
    assert guards.limited.tolist() == [True, False, True]
    assert guards.behind == pytest.approx(2.0)  # s: the first has 1 N m to go, at 0.5 N m/s
    assert limited(3 * second, 0.5, 8.0, 0.0) == [0.5, 8.0, 0.0] and not guards.limited.any()
    assert limited(second // 2, 0.5, 8.0, 4.0) == [0.0, 8.0, 4.5]  # a state of before: no change at all
    guards.reset()
    assert limited(3 * second, 2.0, -8.0, -9.0) == [2.0, -8.0, -9.0]


def test_a_rate_that_is_not_given_is_that_of_the_effort_limit_within_a_tenth_of_a_second():
    from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters
    from rbd_dynamics.nodes.torque.safeguards import Bounds, Safeguards

    guards, most = Safeguards(), np.array([9.0, 330.0, np.inf])
    guards.use(Bounds.of(JOINTS, FeedforwardParameters.of({})), most)
    guards.commanded(np.zeros(3), 10**9)
    efforts = np.array([5.0, -5.0, 0.5])
    guards.limit(efforts, 10**9 + 10**6, most)
    np.testing.assert_allclose(efforts, [0.09, -1.0, 0.5], rtol=1e-6)
    guards.use(Bounds.of(JOINTS, FeedforwardParameters.of({"effort_rate_limits": [0.0]})), most)
    assert not guards.limits_rates


def test_efforts_change_no_faster_than_allowed(ros, robot):
    rate = 4.0
    with ros.start(
        "feedforward", {**PARAMETERS, "effort_rate_limits": rate, "state_timeout": 60.0}, name="gradual"
    ) as node:
        talk = Talk(ros, node)
        begin_at_zero(talk)
        target = robot.inverse_dynamics(REST, REST, [4.0, 0.0, 0.0])
        talk.send(JOINTS, (0.0, REST, REST, [4.0, 0.0, 0.0]))

        def arrived():
            talk.ask(REST, REST)
            return np.allclose(talk.efforts[-1].effort, target, atol=1e-9)

        wait_until(arrived, "the wanted effort")
        stamps = np.array([e.header.stamp.sec + 1e-9 * e.header.stamp.nanosec for e in talk.efforts])
        efforts = np.array([e.effort for e in talk.efforts])
        changes = np.abs(np.diff(efforts, axis=0)).max(axis=1)
        assert (changes <= rate * np.diff(stamps) + 1e-5).all()
        assert len(efforts) > 3
        assert np.abs(target - efforts[0]).max() > 1.0
        talk.diagnosed("rate limit of the effort reached: shoulder")


@pytest.fixture
def near(ros):
    """The node in this process."""
    from rbd_dynamics.nodes.feedforward import FeedforwardNode

    with in_this_process(ros, FeedforwardNode, {**PARAMETERS, **BARE, "state_timeout": 5.0}) as node:
        for _ in range(AGREEING - 1):  # the next is believed
            tell(node)
        yield node


def tell(node, age=0.0):
    """A state at rest, measured so many seconds ago."""
    from rclpy.serialization import serialize_message

    state = joint_state(JOINTS, MEASURED_ZERO, REST, stamp=time.time_ns() - round(1e9 * age))
    node.on_joint_state(serialize_message(state))
    return state


def test_another_description_does_not_free_the_rate_of_efforts(near, monkeypatch):
    sent, first = [], near.engine
    monkeypatch.setattr(near.silence.publisher, "publish", sent.append)

    def answer():
        tell(near)
        return np.array(sent[-1].data)

    rate = 0.01  # N m/s: what is heavier by half a kilogram takes 0.98 N m
    change(
        near, effort_rate_limits=[rate], transition_time=0.0, state_timeout=60.0
    )  # a build that takes longer than that is a silence
    begin, before = time.monotonic(), answer()
    change(near, robot_description=ARM.replace('value="2.0"', 'value="2.5"'))
    wait_until(lambda: near.poll() or near.engine is not first, "the other robot")
    assert np.abs(answer() - before).max() <= rate * (time.monotonic() - begin)
    change(near, effort_rate_limits=[0.0])
    assert np.abs(answer() - before).max() > 0.9


def test_a_named_effort_that_would_come_too_late_is_left_out(ros, near, monkeypatch):
    """The command is on its way first; the middleware may take long to write it."""
    from sensor_msgs.msg import JointState

    heard, sent = ros.collect(JointState, "feedforward/effort"), []
    wait_until(lambda: near.output.is_heard, "a subscription")

    def answered(slow):
        publish = near.silence.publisher.publish

        def late(message):
            sent.append(publish(message))
            others_run(slow)  # longer than the state counts

        with monkeypatch.context() as patch:
            patch.setattr(near.silence.publisher, "publish", late)
            return tell(near).header.stamp

    first, _, last = (answered(slow) for slow in (0.0, 6.0, 0.0))
    wait_until(lambda: any(effort.header.stamp == last for effort in heard), "the last effort")
    assert len(sent) == 3
    assert [effort.header.stamp for effort in heard] == [first, last]


def test_a_torque_that_is_ready_too_late_is_not_commanded(near, monkeypatch):
    """As where the process was stopped while it computed."""
    from rbd_dynamics.nodes.torque import torque_node

    sent, passed, respond = [], [0.0], near.respond
    clock = SimpleNamespace(monotonic_ns=lambda: time.monotonic_ns() + round(1e9 * passed[0]))
    monkeypatch.setattr(torque_node, "time", clock)
    monkeypatch.setattr(near.silence.publisher, "publish", sent.append)
    for slow, age in ((0.0, 0.0), (6.0, 0.0), (2.0, 0.0), (2.0, 4.0)):  # s; a state counts for five

        def slowly(*state, slow=slow):
            respond(*state)
            passed[0] += slow

        monkeypatch.setattr(near, "respond", slowly)
        before = len(sent)
        tell(near, age)
        assert len(sent) - before == (slow + age < 5.0), (slow, age)
        assert near.states.refusal[1].startswith("stale torque") == (slow + age > 5.0)
        near.states.refusal = (0.0, "")


def test_a_node_that_was_cleaned_up_has_no_robot_to_leave_alone(near):
    from rclpy.parameter import Parameter

    tell(near)
    assert near.silence.commanding is near.engine is not None
    near.trigger_deactivate()
    near.trigger_cleanup()
    near.set_parameters([Parameter("robot_description", value=""), Parameter("description_timeout", value=0.0)])
    near.trigger_configure()  # it waits for another
    near.trigger_activate()
    assert near.configured and not near.active and near.engine is near.silence.commanding is None
    near.silence.fall("nobody is there")
    assert near.silence.reason == "deactivated" and not near.silence.stopping


def test_a_report_counts_the_efforts_since_the_last_one(near):
    from rbd_dynamics.nodes.managed.diagnostics import Status

    for count in (3, 0, 1):
        for _ in range(count):
            tell(near)
        status = Status()
        near.report_all(status)
        assert status.values["efforts published per second"] == count
        assert ("no effort published: no joint states arrive" in status.messages) == (count == 0)
