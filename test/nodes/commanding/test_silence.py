# SPDX-License-Identifier: Apache-2.0
"""A torque node that stops answering leaves the robot safe first: whatever the cause, judged by Pinocchio."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import needs_ros, others_run
from helpers.nodes.silences import LIMITS, REST, A, B, Oracle, Stream, Watched, ends_in_one_zero, shares
from helpers.periodic import Periodic

from campaigns.faults.judging.waits import Waits

pytest.importorskip("pinocchio")
pytestmark = needs_ros

#: a loaded machine is no silence, nor does it matter how the robot came to another state
PATIENT = {"silence_duration": 0.8, "state_timeout": 0.4, "plausible_velocity": 0.0}
OPTIONS = {"robot_description": ARM, **PATIENT, "kp": 20.0, "kd": 2.0}
AT_REST = {**OPTIONS, "state_timeout": 5.0}  # a silence for want of states is another test's


class Waited(Periodic):
    """For how long the kernel lets a process's main thread wait for a processor meanwhile."""

    def __init__(self, pid):
        super().__init__(0.02)
        self._waits = Waits()
        self._waits.follow(pid)
        self.act()

    def act(self):
        self._waits.sample(time.monotonic())

    @property
    def seconds(self):
        return self._waits.in_all


@pytest.fixture(scope="module")
def oracle():
    return Oracle()


@pytest.fixture(scope="module")
def node(ros):
    with ros.start("feedforward", OPTIONS, name="silent") as node:
        node.is_active()
        yield Watched(ros, node)


@pytest.fixture
def stream(ros, node):
    """States that are answered; afterwards the node is active and has published nothing."""
    with Stream(ros) as stream:
        node.forget()
        node.answers()
        yield stream
    node.ros.set_parameters("silent", on_silence="zero")
    state(node)
    node.change(
        *{"active": ("deactivate", "activate"), "inactive": ("activate",)}.get(state(node), ("configure", "activate"))
    )
    node.ros.set_parameters("silent", on_silence="gravity")


def state(node):
    from lifecycle_msgs.srv import GetState

    return node.ros.client(GetState, "silent/get_state")().current_state.label


def held_and_let_go(commands, whole):
    """At first the whole of it, ever less, then zero, once."""
    ends_in_one_zero(commands)
    parts = shares(commands, whole)
    assert parts[0] == pytest.approx(1.0, abs=1e-6)
    assert (np.diff(parts) <= 1e-9).all()


def test_deactivated_it_holds_and_damps_each_state_and_then_lets_go(node, stream, oracle):
    count = len(node.commands)
    node.change("deactivate")
    stream.state = B
    commands = node.until_zero(count)
    assert "silent: deactivated; commanded: gravity and damping for 0.8 s, then zero" in node.node.log
    node.node.says("silent: deactivated; commanded: zero")
    ends_in_one_zero(commands)
    whole, gravity = oracle.held(*B), oracle.gravity(B[0])
    damped = [command for command in commands if np.allclose(command, whole, rtol=1e-6)]
    assert len(damped) > 10
    # and where a state came late, less damping
    for command in commands[1:]:
        part = command @ gravity / (gravity @ gravity)
        assert 0.0 <= part <= 1.5
    count = len(node.commands)
    others_run(0.5)
    assert len(node.commands) == count


@pytest.mark.parametrize("transitions", [("deactivate", "cleanup"), ("active_shutdown",)])
def test_cleaned_up_and_shut_down_it_holds_and_lets_go(ros, oracle, transitions):
    """Also right after it was deactivated."""
    with ros.start("feedforward", AT_REST, name="leaving") as process, Stream(ros, (B[0], REST)):
        node = Watched(ros, process)
        node.answers(oracle.gravity(B[0]))
        count = len(node.commands)
        node.change(*transitions)
        held_and_let_go(node.until_zero(count), oracle.gravity(B[0]))


@pytest.mark.parametrize("executor", ["events", "single_threaded"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_after_the_robot_was_let_go(ros, oracle, number, executor):
    process = ros.start("feedforward", {**AT_REST, "executor": executor}, name="ending")
    node = Watched(ros, process)
    with Stream(ros, (B[0], REST)):
        node.answers(oracle.gravity(B[0]))
        count = len(node.commands)
        with Waited(process.process.pid) as waited:
            began = time.monotonic()
            process.process.send_signal(number)
            time.sleep(0.02)
            assert process.stop(number) == 0, process.log  # twice at once: from the terminal, and from launch
            took = time.monotonic() - began
        assert took - waited.seconds < 5.0  # then launch sends SIGTERM; for what others kept it waiting it cannot
        commands = node.until_zero(count)
    held_and_let_go(commands, oracle.gravity(B[0]))
    assert len(commands) > 10
    assert "silent: the process was asked to end; commanded: zero" in process.log


def test_a_second_signal_cuts_to_zero(ros):
    process = ros.start("feedforward", {**OPTIONS, "silence_duration": 4.0}, name="hurried")
    node = Watched(ros, process)
    with Stream(ros):
        node.answers()
        began = time.monotonic()
        process.process.send_signal(signal.SIGINT)
        process.says("silent: the process was asked to end")
        others_run(0.3)
        assert process.alive
        assert process.stop() == 0, process.log
        assert time.monotonic() - began < 3.5
    commands = node.commands
    assert commands[-2].any() and not commands[-1].any()


def test_states_that_stop_leave_it_held_where_it_was_last_seen(node, stream, oracle):
    trajectory(node, stream)
    count = len(node.commands)
    stream.paused = True
    node.node.says("silent: no answer for")
    node.diagnosed("silent: no answer for")
    commands = node.until_zero(count)
    ends_in_one_zero(commands)
    # the damping of an old velocity is at most what 0.4 s leave of half the momentum
    gravity, damping = oracle.gravity(A[0]), oracle.held(*A) - oracle.gravity(A[0])
    most = 0.5 * np.exp(-4.0) * np.abs(damping) + 1e-9
    silent = [command for command in commands if (np.abs(command - gravity) <= most).all()]
    assert len(silent) > 10
    # it dies out, before the robot is let go
    assert any((np.abs(command - gravity) <= 0.1 * most + 1e-6).all() for command in silent)
    node.diagnosed("no joint states arrive; commanded: zero")
    # states come again: held where it is now, without the motion that was under way
    stream.state, stream.paused = (B[0], REST), False
    node.node.says("answers joint states again; it was silent: no answer for")
    node.answers(oracle.gravity(B[0]))


def trajectory(node, stream):
    """Begin a long motion."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    publisher = node.ros.publisher(JointTrajectory, "silent/joint_trajectory")
    message = JointTrajectory(joint_names=JOINTS)
    for k in (1, 2):
        point = JointTrajectoryPoint(positions=(stream.state[0] + 0.01 * k).tolist(), velocities=[0.0] * 3)
        point.time_from_start = Duration(sec=60 * k)
        message.points.append(point)
    publisher.publish(message)
    node.node.says("trajectory of 2 points")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [({"shift": -5.0}, "stale joint state"), ({"state": (np.full(3, np.nan), REST)}, "no finite position"),
     ({"names": ["other", "joints", "here"]}, "none of the robot's joints")],
    ids=["stale", "not finite", "other joints"],
)  # fmt: skip
def test_states_that_are_refused_for_long_are_a_silence(node, stream, oracle, broken, reason):
    stream.state = (A[0], REST)
    node.answers(oracle.gravity(A[0]))
    count = len(node.commands)
    whole = vars(stream).copy()
    for name, value in broken.items():
        setattr(stream, name, value)
    node.diagnosed("every joint state was refused: ")
    node.diagnosed(reason)
    commands = node.until_zero(count)
    parts = shares(commands[-15:], oracle.gravity(A[0]))
    assert parts[-1] == 0.0 and (np.diff(parts) <= 1e-9).all()
    for name in broken:
        setattr(stream, name, whole[name])
    node.answers(oracle.gravity(A[0]))


def test_zero_is_commanded_once_where_that_is_wanted(node, stream):
    node.ros.set_parameters("silent", on_silence="zero")
    node.change("deactivate")
    commands = node.until_zero()
    assert all(command.any() for command in commands[-10:-1])
    assert not commands[-1].any()
    node.node.says("silent: deactivated; commanded: zero")


def test_nothing_is_commanded_where_that_is_wanted(node, stream):
    node.ros.set_parameters("silent", on_silence="nothing")
    node.change("deactivate")
    node.node.says("silent: deactivated; commanded: nothing (on_silence)")
    others_run(0.2)
    count = len(node.commands)
    others_run(0.5)
    assert len(node.commands) == count
    assert node.commands[-1].any()


def test_no_effort_ever_where_none_was_published_before(ros):
    process = ros.start("feedforward", OPTIONS, name="unheard")
    process.is_active()
    node = Watched(ros, process)
    node.change("deactivate", "activate")
    assert process.stop(signal.SIGTERM) == 0, process.log
    assert node.commands == []


def test_a_payload_is_held_too(node, stream):
    srv = pytest.importorskip("rbd_dynamics_interfaces.srv")
    oracle = Oracle()
    oracle.payload(1.5)
    call = node.ros.client(srv.SetPayload, "silent/set_payload")
    request = srv.SetPayload.Request()
    request.payload.header.frame_id, request.payload.inertia.m = "hand", 1.5
    assert call(request).success
    stream.state = (A[0], REST)
    node.answers(oracle.gravity(A[0]))
    count = len(node.commands)
    node.change("deactivate")
    held_and_let_go(node.until_zero(count)[1:], oracle.gravity(A[0]))
    request.payload.inertia.m = 0.0
    assert call(request).success


def test_after_a_standstill_no_old_state_is_answered_and_the_motion_has_ended(node, stream, oracle):
    """SIGSTOP, and SIGCONT: what waits in the queue is of another time."""
    stream.stamped = False
    trajectory(node, stream)
    process = node.node.process
    process.send_signal(signal.SIGSTOP)
    others_run(0.3)
    stream.state = (B[0], REST)
    others_run(0.7)
    count = len(node.commands)
    process.send_signal(signal.SIGCONT)
    node.answers(oracle.gravity(B[0]))
    # at most what had been sent before it stopped
    assert sum(not np.allclose(command, oracle.gravity(B[0])) for command in node.commands[count:]) <= 1
    node.node.says("held where it is now")


def test_a_description_of_another_robot_leaves_the_old_one_held(ros, oracle):
    renamed = ARM
    for name in JOINTS:
        renamed = renamed.replace(f'"{name}"', f'"other_{name}"')
    with ros.start("feedforward", OPTIONS, name="replaced") as process, Stream(ros, (A[0], REST)) as stream:
        node = Watched(ros, process)
        node.answers(oracle.gravity(A[0]))
        (result,) = ros.set_parameters("replaced", robot_description=renamed)
        assert result.successful
        stream.state = (B[0], REST)
        process.says("silent: no answer for")
        commands = node.until_zero()
        parts = shares(commands[-15:], oracle.gravity(B[0]))
        assert parts[-1] == 0.0 and (np.diff(parts) <= 1e-9).all()
        node.diagnosed("none of the robot's joints")


def test_a_simulation_that_stands_still_is_no_silence(ros, oracle):
    from builtin_interfaces.msg import Time
    from rosgraph_msgs.msg import Clock

    options = {**OPTIONS, "use_sim_time": True}
    with ros.start("feedforward", options, name="simulated") as process:
        clock = ros.publisher(Clock, "/clock")
        with Stream(ros, (A[0], REST)) as stream:
            stream.stamped = False
            clock.publish(Clock(clock=Time(sec=50)))
            node = Watched(ros, process)
            node.answers(oracle.gravity(A[0]))
            stream.paused = True
            others_run(1.0)  # of wall time only
            assert "silent" not in process.log
            clock.publish(Clock(clock=Time(sec=51)))
            process.says("silent: no answer for")
            shares(node.until_zero()[-20:], oracle.gravity(A[0]))


def test_no_effort_was_beyond_the_limits(node):
    """Of all that these tests have seen."""
    assert all((np.abs(command) <= LIMITS).all() for command in node.commands)
