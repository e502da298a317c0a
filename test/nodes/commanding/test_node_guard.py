# SPDX-License-Identifier: Apache-2.0
"""Node `guard` over real DDS: good commands pass as they are, and whatever stops them leaves the robot safe."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS, MEASURED_ZERO
from helpers.nodes.ros_nodes import (
    Conversation,
    change,
    in_this_process,
    joint_state,
    needs_ros,
    others_run,
    wait_until,
)
from helpers.nodes.silences import REST, A, B, Oracle, Stream, Watched, ends_in_one_zero, shares
from helpers.periodic import Periodic

from rbd_dynamics.joint_states.confirmation import AGREEING

pytest.importorskip("pinocchio")
pytestmark = needs_ros

GRAVITY = {"silence_duration": 0.8, "command_timeout": 0.3, "state_timeout": 0.4, "resume_after": 0.05}
OPTIONS = {"robot_description": ARM, **GRAVITY, "most_silences": 1000}
PATIENT = OPTIONS | {"command_timeout": 2.0, "state_timeout": 10.0}  # whatever else the machine does
EFFORTS = np.array([3.0, -2.0, 1.0])
BEHIND = ("-r", "feedforward/commands:=guard/unguarded_commands")


@pytest.fixture(scope="module")
def oracle():
    return Oracle()


class Commands(Periodic):
    """A torque node's: at 100 Hz, `efforts`, until the context is left; or the bytes of a message."""

    def __init__(self, ros, topic="guard/unguarded_commands"):
        from std_msgs.msg import Float64MultiArray

        super().__init__(0.01)
        self.publisher = ros.publisher(Float64MultiArray, topic)
        self.efforts, self.paused = EFFORTS, True

    def send(self, efforts):
        from std_msgs.msg import Float64MultiArray

        self.publisher.publish(Float64MultiArray(data=[float(effort) for effort in efforts]))

    def act(self):
        if not self.paused:
            self.send(self.efforts)


class Guarded(Watched):
    """A guard, and a torque node's commands from here."""

    def __init__(self, ros, node, commands, stream):
        super().__init__(ros, node)
        self.torques, self.stream = commands, stream

    def pass_on(self, efforts=EFFORTS):
        """Commands pass."""
        self.torques.efforts, self.torques.paused = efforts, False
        self.answers(efforts)

    def holds(self, q, oracle):
        """Wait until it has held the robot there and let go."""
        commands = self.until_zero()
        parts = shares(commands[-15:], oracle.gravity(q))
        assert parts[-1] == 0.0 and (np.diff(parts) <= 1e-9).all()
        return commands


@contextmanager
def started(ros, options, name):
    """A guard that is active."""
    with ros.start("guard", options, name=name) as node:
        node.is_active()
        yield node


@pytest.fixture(scope="module")
def process(ros):
    with started(ros, OPTIONS, "guard") as node:
        yield node


@pytest.fixture
def guard(ros, process):
    with Stream(ros, (A[0], REST)) as stream, Commands(ros) as commands:
        guarded = Guarded(ros, process, commands, stream)
        yield guarded
        commands.paused = True
        commands.send(REST)  # nothing is left to be held
        guarded.change("deactivate", "activate")


def test_good_commands_pass_at_once_and_unchanged(guard):
    from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

    sent = np.random.default_rng(3).uniform(-1.0, 1.0, (20, 3)) * [80.0, 40.0, 30.0]
    for count, efforts in enumerate(sent, 1):
        guard.torques.send(efforts)
        wait_until(lambda: len(guard.commands) >= count, "the command")  # noqa: B023
    np.testing.assert_array_equal(guard.commands, sent)
    layout = MultiArrayLayout(dim=[MultiArrayDimension(label="joints", size=3, stride=3)])
    since = len(guard.commands)  # before it is sent: the answer may be quicker than this thread
    guard.torques.publisher.publish(Float64MultiArray(layout=layout, data=EFFORTS.tolist()))
    guard.answers(EFFORTS, since)
    assert guard._messages[-1].layout == layout
    guard.pass_on()
    guard.is_well()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [([3.0, np.nan, 1.0], "joint 'elbow' is nan"), ([np.inf, 0.0, 0.0], "joint 'shoulder' is inf"),
     ([3.0, -2.0], "2 efforts for 3 joints"), ([3.0, -2.0, 1.0, 0.0], "4 efforts for 3 joints"), ([], "0 efforts"),
     ([3.0, -40.1, 1.0], "joint 'elbow' is -40.1, its limit 40")],
    ids=["nan", "infinite", "too few", "too many", "none", "beyond the limit"],
)  # fmt: skip
def test_commands_that_are_not_good_do_not_pass_and_count_as_silence(guard, oracle, bad, reason):
    guard.pass_on()
    guard.torques.efforts = bad
    guard.diagnosed("none was good: ")
    guard.diagnosed(reason)
    for command in guard.holds(A[0], oracle):
        assert len(command) == 3 and np.isfinite(command).all() and abs(command[1]) <= 40.0
    guard.pass_on()


def test_commands_that_stop_leave_the_robot_held_where_it_is(guard, oracle):
    guard.pass_on()
    count = len(guard.commands)
    guard.stream.state = (B[0], REST)
    guard.torques.paused = True
    guard.diagnosed("silent: no good command for")
    commands = guard.until_zero(count)
    ends_in_one_zero(commands)
    assert sum(np.allclose(command, oracle.gravity(B[0]), rtol=1e-9) for command in commands) > 10
    guard.diagnosed("they have stopped; commanded: zero")
    guard.pass_on()
    guard.node.says("it was silent: no good command for")


def test_zeros_of_another_publisher_beside_the_robot_are_no_robot_to_hold(guard, oracle):
    guard.pass_on()
    count = len(guard.commands)
    with Stream(guard.ros, (REST, REST)):
        guard.diagnosed("position 0 of joint 'shoulder' is not plausible")
        guard.torques.paused = True
        commands = guard.until_zero(count)
    assert sum(np.allclose(command, oracle.gravity(A[0]), rtol=1e-9) for command in commands) > 10
    assert not any(np.allclose(command, oracle.gravity(REST), rtol=1e-6) for command in commands)


def test_zeros_that_come_alone_while_the_robots_states_are_late_are_no_robot_to_hold(guard, oracle):
    guard.stream.state = (np.array([1.5, -1.5, 0.2]), REST)  # farther than a joint gets in 0.1 s
    others_run(0.2)
    guard.pass_on()
    count = len(guard.commands)
    with Stream(guard.ros, (REST, REST), name="joint_state_publisher") as zeros:
        guard.diagnosed("position 0 of joint 'shoulder' is not plausible")  # they are heard
        zeros.paused = guard.stream.paused = True
        others_run(0.2)  # nothing vouches for where the robot is
        guard.torques.paused, zeros.paused = True, False
        others_run(0.5)
        zeros.paused, guard.stream.paused = True, False
        commands = guard.until_zero(count)
    at_zero = oracle.gravity(REST) / np.linalg.norm(oracle.gravity(REST))
    along = [command @ at_zero * at_zero for command in commands]
    wrong = [command for command, part in zip(commands, along) if command.any() and np.allclose(command, part)]
    assert not wrong, (len(commands), len(wrong), wrong[:2])


@pytest.mark.parametrize(("mode", "last"), [("zero", REST), ("nothing", EFFORTS)])
def test_it_does_what_on_silence_says(guard, mode, last):
    guard.ros.set_parameters("guard", on_silence=mode)
    guard.pass_on()
    guard.torques.paused = True
    guard.diagnosed(f"commanded: {mode}")
    count = len(guard.commands)
    others_run(0.3)
    assert len(guard.commands) == count
    np.testing.assert_array_equal(guard.commands[-1], last)
    guard.ros.set_parameters("guard", on_silence="gravity")


def test_commands_that_flap_pass_again_only_on_request(guard):
    from std_srvs.srv import Trigger

    guard.ros.set_parameters("guard", most_silences=1)
    for reason in ("they have stopped; commanded", "call ~/resume"):
        guard.pass_on()
        guard.torques.paused = True
        guard.diagnosed(reason)
    guard.torques.efforts, guard.torques.paused = 2.0 * EFFORTS, False
    guard.until_zero()
    others_run(0.3)
    assert not guard.commands[-1].any()
    answer = guard.ros.client(Trigger, "guard/resume")()
    assert answer.success, answer.message
    guard.answers(2.0 * EFFORTS)
    guard.ros.set_parameters("guard", most_silences=1000)


def test_after_zeros_there_is_nothing_to_hold(guard):
    """A torque node that has left the robot safe itself."""
    guard.pass_on()
    guard.torques.efforts = REST
    guard.answers(REST)
    guard.torques.paused = True
    others_run(0.1)
    count = len(guard.commands)
    others_run(0.7)
    assert len(guard.commands) == count


def test_without_states_there_is_zero(guard):
    guard.pass_on()
    guard.stream.paused = True
    guard.diagnosed("no joint state for")
    guard.torques.paused = True
    commands = guard.until_zero()
    assert not commands[-1].any()
    np.testing.assert_array_equal(commands[-2], EFFORTS)
    guard.node.says("there is no state to hold the robot at")


@pytest.mark.parametrize("kind", ["guard", "feedforward"])
def test_simulated_time_that_stands_still_is_said(ros, kind):
    from rclpy.time import Time
    from rosgraph_msgs.msg import Clock

    with ros.start(kind, {"robot_description": ARM, "use_sim_time": True}, name=f"still_{kind}") as node:
        talk = Conversation(ros, node)
        talk.diagnosed("simulated time stands still at zero: there is no /clock yet")
        clock = ros.publisher(Clock, "/clock")

        def tick():
            clock.publish(Clock(clock=Time(nanoseconds=time.monotonic_ns()).to_msg()))

        talk.ends_to_say("stands still", tick)
        talk.diagnosed("simulated time stands still for", len(talk.reports))


def test_it_never_commands_before_a_command_has_passed(ros, process):
    watched = Watched(ros, process)
    watched.change("deactivate", "activate")
    others_run(0.5)
    assert watched.commands == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
def test_a_torque_node_that_dies_or_hangs_leaves_the_robot_held_and_may_come_back(ros, oracle, number):
    options = {"robot_description": ARM, "state_timeout": 0.4, "plausible_velocity": 0.0, "kp": 5.0}
    with (
        ros.start("guard", OPTIONS, name="watching") as process,
        ros.start("feedforward", options, "-r", "~/commands:=/watching/unguarded_commands", name="dying") as torques,
        Stream(ros, (A[0], REST)) as stream,
    ):
        guard = Guarded(ros, process, None, stream)
        guard.answers(oracle.gravity(A[0]))
        torques.process.send_signal(number)
        stream.state = (B[0], REST)
        process.says("silent: no good command for")
        # a process that is stopped may keep states from the others: then it is held where it was seen last
        for command in guard.until_zero()[-15:]:
            assert any(
                np.allclose(command @ whole / (whole @ whole) * whole, command, rtol=1e-6, atol=1e-6)
                for whole in (oracle.gravity(A[0]), oracle.gravity(B[0]))
            )
        assert not guard.commands[-1].any()
        if number == signal.SIGSTOP:
            torques.process.send_signal(signal.SIGCONT)
            guard.answers(oracle.gravity(B[0]))
            return
        torques.process.wait()
        torques.process.returncode = 0  # that was wanted
        with ros.start(
            "feedforward", options, "-r", "~/commands:=/watching/unguarded_commands", name="again"
        ):  # as launch's respawn does
            guard.answers(oracle.gravity(B[0]))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ended"])
def test_a_torque_node_that_was_started_again_without_its_load_is_kept_out(ros, oracle, number):
    SetPayload = pytest.importorskip("rbd_dynamics_interfaces.srv").SetPayload
    from geometry_msgs.msg import InertiaStamped
    from std_srvs.srv import Trigger

    load = InertiaStamped()
    load.header.frame_id, load.inertia.m = "hand", 1.0
    loaded = Oracle()
    loaded.payload(1.0)
    options = {"robot_description": ARM, "state_timeout": 10.0, "silence_duration": 0.3}
    behind = ("-r", "~/commands:=/loaded/unguarded_commands")

    def attach(node):
        answer = ros.client(SetPayload, f"{node}/set_payload")(payload=load)
        assert answer.success, answer.message

    with started(ros, PATIENT, "loaded") as process, Stream(ros, (A[0], REST)) as stream:
        guard = Guarded(ros, process, None, stream)
        with ros.start("feedforward", options, *behind, name="carrier") as torques:
            guard.answers(oracle.gravity(A[0]))
            attach("carrier")
            attach("loaded")
            guard.answers(loaded.gravity(A[0]))
            torques.process.send_signal(number)
            torques.process.wait()
            torques.process.returncode = 0
        guard.until_zero()
        guard.forget()
        with ros.start("feedforward", options, *behind, name="carrier"):
            guard.diagnosed("commands come from a new process")
            guard.diagnosed("1 kg at 'hand'")
            others_run(0.5)
            assert not any(command.any() for command in guard.commands)
            attach("carrier")
            answer = ros.client(Trigger, "loaded/resume")()
            assert answer.success, answer.message
            guard.answers(loaded.gravity(A[0]))
            wait_until(lambda: not any("new process" in s.message for s in guard.reports[-1].status), "no error")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_guard_that_is_started_again_while_its_torque_node_commands_passes_that_on(ros, oracle, number):
    """Killed, it commands nothing more; ended, it has held the robot; the next one says nothing else than the node."""
    options = {"robot_description": ARM, "state_timeout": 10.0}
    behind = ("-r", "~/commands:=/renewed/unguarded_commands")
    with ros.start("feedforward", options, *behind, name="steady"), Stream(ros, (A[0], REST)) as stream:
        with ros.start("guard", PATIENT, name="renewed") as process:
            guard = Guarded(ros, process, None, stream)
            guard.answers(oracle.gravity(A[0]))
            process.process.send_signal(number)
            process.process.wait()
            process.process.returncode = 0
        guard.forget()
        with ros.start("guard", PATIENT, name="renewed") as process:
            again = Guarded(ros, process, None, stream)
            again.answers(oracle.gravity(A[0]))
            assert all(np.allclose(each, oracle.gravity(A[0]), rtol=1e-9) for each in again.commands)


def test_its_gate_has_the_options_that_it_was_started_with(ros):
    with started(ros, PATIENT | {"most_silences": 0}, "strict") as process, Stream(ros, (A[0], REST)) as stream:
        with Commands(ros, "strict/unguarded_commands") as commands:
            guard = Guarded(ros, process, commands, stream)
            guard.pass_on()
            commands.paused = True
            guard.diagnosed("more than 0 times within a minute: call ~/resume")


def test_asked_to_end_it_holds_the_robot_and_lets_go(ros, oracle):
    process = ros.start("guard", OPTIONS, name="ending")
    with Stream(ros, (A[0], REST)) as stream:
        process.is_active()
        with Commands(ros, "ending/unguarded_commands") as commands:
            guard = Guarded(ros, process, commands, stream)
            guard.pass_on()
            process.process.send_signal(signal.SIGTERM)
            guard.holds(A[0], oracle)
            assert process.process.wait(10.0) == 0, process.log


def test_its_joints_are_in_the_order_of_the_torque_node(ros, oracle):
    options = {**OPTIONS, "joints": ["slide", "shoulder"], "effort_limits": [5.0, 10.0]}
    with ros.start("guard", options, name="ordered") as process, Stream(ros, (A[0], REST)) as stream:
        process.is_active()
        with Commands(ros, "ordered/unguarded_commands") as commands:
            guard = Guarded(ros, process, commands, stream)
            guard.pass_on(np.array([4.0, -9.0]))
            commands.efforts = [6.0, 0.0]
            guard.diagnosed("joint 'slide' is 6, its limit 5")
            whole = np.clip(oracle.gravity(A[0])[[2, 0]], [-5.0, -10.0], [5.0, 10.0])
            parts = shares(guard.until_zero()[-15:], whole)
            assert parts[-1] == 0.0
    assert JOINTS == ["shoulder", "elbow", "slide"]


def test_a_description_of_the_same_joints_does_not_make_it_forget_the_last_state(ros):
    """Velocities are differences of positions here: without the last state the next one would be refused."""
    from rclpy.serialization import serialize_message

    from rbd_dynamics.nodes.guard import GuardNode

    stamp = time.time_ns()
    with in_this_process(ros, GuardNode, PATIENT | {"missing_velocity": "differentiate"}) as node:

        def refused(q):
            """Of states that are never farther apart than velocities are found from, even where this process stalls."""
            nonlocal stamp
            stamp = min(time.time_ns(), stamp + 500_000_000)
            node.on_joint_state(serialize_message(joint_state(JOINTS, q, [], stamp=stamp)))
            return [reason for reason, _ in node.entities.refused.take()]

        def refused_until_it_has_another(text):
            """States come all the time, however long it takes: of an old one nobody finds a velocity."""
            before, found = node.engine, []
            change(node, robot_description=text)

            def has_another():
                node.poll()
                found.append(refused(MEASURED_ZERO))
                return node.engine is not before

            wait_until(has_another, "the other robot")
            return found

        for _ in range(AGREEING - 1):
            assert not refused(MEASURED_ZERO)  # nor believed yet
        assert any("no velocity" in reason for reason in refused(MEASURED_ZERO))
        assert not refused(MEASURED_ZERO)
        assert not any(refused_until_it_has_another(ARM.replace('value="2.0"', 'value="2.5"')))
        assert not refused(MEASURED_ZERO)
        assert not any(refused_until_it_has_another(ARM.replace("shoulder", "hip")))
        for _ in range(AGREEING - 2):  # one was read already
            assert not refused(MEASURED_ZERO)
        assert any("no velocity" in reason for reason in refused(MEASURED_ZERO))


def test_a_command_that_was_on_its_way_for_longer_than_others_does_not_pass(ros, monkeypatch):
    """As one that was lost and sent again; by the times that the middleware tells, of a writer on another computer."""
    from rclpy.serialization import serialize_message
    from std_msgs.msg import Float64MultiArray

    from rbd_dynamics.nodes.commanding.heartbeat import Heartbeat
    from rbd_dynamics.nodes.guard import GuardNode
    from rbd_dynamics.nodes.managed.diagnostics import Status

    monkeypatch.setattr(Heartbeat, "since_stall", lambda self, now: 10**9)  # whose timer nobody runs here
    apart = 5 * 10**9  # ns, of the clocks

    with in_this_process(ros, GuardNode, PATIENT) as node:
        raw = serialize_message(Float64MultiArray(data=EFFORTS.tolist()))

        def passed(*ages):
            """How many commands do that were written so long ago (s)."""
            for age in ages:
                node.on_command(raw, time.time_ns() + apart - round(1e9 * age))
            status = Status()
            node.report(status)
            return status.values["commands passed on per second"]

        assert passed(0.001) == 1
        assert passed(0.001, 0.321, 0.251, 0.181, 0.002) == 2
        reasons = [reason for reason, _ in node.entities.refused.take()]
        assert any(
            reason.startswith("command not passed on: it came 0.") and reason.endswith(" s late") for reason in reasons
        )


def test_states_that_come_before_there_is_a_robot_are_left_alone(ros):
    from rclpy.serialization import serialize_message

    from rbd_dynamics.nodes.guard import GuardNode
    from rbd_dynamics.nodes.managed.diagnostics import Status

    node = GuardNode(context=ros.context)
    try:
        assert node.engine is None
        node.on_joint_state(serialize_message(joint_state(JOINTS, REST, REST, stamp=time.time_ns())))
        status = Status()
        node.report_all(status)
        assert not any("refused" in message for message in status.messages)
    finally:
        node.entities.close()
        node.destroy_node()
