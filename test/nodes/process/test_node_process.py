# SPDX-License-Identifier: Apache-2.0
"""The life of a node's process: both executors, simulated time, prefixes, and a clean end whatever happens."""

from __future__ import annotations

import itertools
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import PATIENCE, Conversation, joint_state, needs_ros, others_run, wait_until
from helpers.periodic import Periodic
from helpers.wide import table

pytestmark = needs_ros


POSITION = [0.1, 0.2, 0.05]


def at_rest(names=JOINTS, stamp=None):
    return joint_state(names, POSITION, [0.0] * 3, stamp=stamp)


@pytest.fixture(scope="module")
def gravity(robot):
    return robot.gravity(np.array(POSITION))


class Traffic(Periodic):
    """Joint states at 500 Hz, as long as the context lasts."""

    def __init__(self, ros):
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        super().__init__(0.002)
        self._publisher = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)

    def act(self):
        self._publisher.publish(at_rest())


@pytest.mark.parametrize(
    ("executor", "number"),
    table(
        itertools.product(["events", "single_threaded"], [signal.SIGINT, signal.SIGTERM]),
        [("events", signal.SIGTERM), ("single_threaded", signal.SIGINT)],
    ),
)
def test_signal_under_traffic_ends_it_with_exit_code_0(ros, gravity, executor, number):
    from sensor_msgs.msg import JointState

    for _ in range(2):
        options = {"robot_description": ARM, "executor": executor, "silence_duration": 0.3}
        node = ros.start("feedforward", options, name="leaving", afresh=True)
        efforts = ros.collect(JointState, "leaving/effort")
        with Traffic(ros):
            wait_until(lambda found=efforts: len(found) > 50, "efforts")
            node.process.send_signal(number)
            time.sleep(0.02)
            assert node.stop(number) == 0, node.log  # a second one, as launch sends it
        assert "Traceback" not in node.log
        np.testing.assert_allclose(efforts[-1].effort, gravity, rtol=1e-12)


def test_signal_while_it_waits_for_a_description_ends_it(ros):
    node = ros.start("dynamics_server", {}, name="waiting", afresh=True)
    node.says("waiting for robot_description")
    assert node.stop() == 0, node.log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("library", ["_multiarray_umath", "_rclpy_pybind11"])
def test_a_signal_while_it_still_imports_ends_it_quietly(ros, library, number):
    """At once when it has these on its way into memory."""
    node = ros.start("feedforward", {"robot_description": ARM}, name="importing", afresh=True)
    maps = Path(f"/proc/{node.process.pid}/maps")
    end = time.monotonic() + PATIENCE
    while library not in maps.read_text():  # no pause: it is there for some hundredths of a second
        assert node.alive and time.monotonic() < end, f"waited {PATIENCE:g} s in vain for {library}\n{node.log}"
    assert node.stop(number) == 0, node.log
    assert len(node.log.splitlines()) <= 1 and "Traceback" not in node.log, node.log


def test_every_one_of_many_requests_at_once_is_answered(ros):
    from rclpy.qos import QoSProfile
    from std_srvs.srv import Trigger

    with ros.start("guard", {"robot_description": ARM}, name="asked") as node:
        node.is_active()
        client = ros.node.create_client(Trigger, "asked/resume", qos_profile=QoSProfile(depth=1000))
        assert client.wait_for_service(PATIENCE), "waited in vain for the service"
        node.process.send_signal(signal.SIGSTOP)  # so that all of them wait
        try:
            futures = [client.call_async(Trigger.Request()) for _ in range(300)]
        finally:
            node.process.send_signal(signal.SIGCONT)
        wait_until(lambda: all(future.done() for future in futures), "300 answers")
        assert all(future.result().message.startswith("nothing to resume") for future in futures)
        ros.destroy(lambda: ros.node.destroy_client(client))


def test_simulated_time_is_the_one_that_counts(ros):
    from builtin_interfaces.msg import Time
    from rclpy.qos import qos_profile_sensor_data
    from rosgraph_msgs.msg import Clock
    from sensor_msgs.msg import JointState

    with ros.start("feedforward", {"robot_description": ARM, "use_sim_time": True}, name="simulated"):
        states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        clock = ros.publisher(Clock, "/clock")
        efforts = ros.collect(JointState, "simulated/effort")

        def answered(stamp):
            clock.publish(Clock(clock=Time(sec=50)))
            states.publish(at_rest(stamp=Time(sec=stamp)))
            others_run(0.05)
            return any(effort.header.stamp.sec == stamp for effort in efforts)

        wait_until(lambda: answered(50), "an effort at simulated time")
        assert not answered(49)
        states.publish(at_rest(stamp=ros.node.get_clock().now().to_msg()))
        others_run(0.2)
        assert {effort.header.stamp.sec for effort in efforts} == {50}


@pytest.mark.parametrize("in_description", [False, True])
def test_prefix_goes_before_joint_names_once(ros, gravity, in_description):
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    names = [f"left_{name}" for name in JOINTS]
    description = ARM
    if in_description:
        for name in JOINTS:
            description = description.replace(f'"{name}"', f'"left_{name}"')
    parameters = {"robot_description": description, "tf_prefix": "left_", "joints": names[:2]}
    with ros.start("feedforward", parameters, name=f"prefixed{int(in_description)}") as node:
        states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        efforts = ros.collect(JointState, f"{node.name}/effort")
        wait_until(lambda: states.publish(at_rest(names)) or time.sleep(0.1) or efforts, "an effort")
        assert list(efforts[0].name) == names[:2]
        np.testing.assert_allclose(efforts[0].effort, gravity[:2], rtol=1e-12)


def test_simulator_in_lockstep_waits_for_its_controller(ros):
    """Every state is answered by its own command, however slow the controller is."""
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    parameters = {"robot_description": ARM, "lockstep": True, "publish_clock": True, "publish_rate": 100.0}
    with ros.start("simulator", parameters, name="lockstep") as node:
        node.is_active()
        commands = ros.publisher(Float64MultiArray, "lockstep/commands")
        states = ros.collect(JointState, "joint_states")
        command = Float64MultiArray(data=[0.0] * 3)
        wait_until(
            lambda: commands.publish(command) or time.sleep(0.1) or (states and any(states[-1].velocity)),
            "the brakes to go off",
        )
        count = -1
        while count != len(states):  # until it waits
            count = len(states)
            others_run(0.3)
        del states[:]
        commands.publish(command)
        for k in range(30):
            wait_until(lambda k=k: len(states) > k, "the next state")
            time.sleep(0.03)  # slower than the period
            assert len(states) == k + 1
            commands.publish(Float64MultiArray(data=[float(k), 0.0, 0.0]))
        stamps = [state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in states]
        np.testing.assert_allclose(np.diff(stamps), 0.01, atol=1e-9)
        np.testing.assert_array_equal([state.effort[0] for state in states[1:]], np.arange(len(states) - 1))

        talk = Conversation(ros, node)  # the controller stops: it is not the machine that is slow
        talk.diagnosed("no command came within 2 s of the last joint state")
        assert not talk.was_diagnosed("too slow", 0)
        talk.ends_to_say("no command came", lambda: commands.publish(command))


def test_controller_holds_the_simulated_robot(ros):
    """Simulator and feedforward node together: gravity compensation and PD keep it where it is."""
    from diagnostic_msgs.msg import DiagnosticArray
    from sensor_msgs.msg import JointState

    start = [0.4, -0.6, 0.05]
    # in lockstep: a busy machine would make the control late, and the robot run away
    simulated = {
        "robot_description": ARM, "initial_joints": JOINTS, "initial_positions": start, "inertia_error": 0.05,
        "lockstep": True, "publish_clock": True,
    }  # fmt: skip
    # stable at 60 Hz, too: a busy machine misses states, and the node says so of gains that need them all
    gains = {"kp": [50.0, 25.0, 75.0], "kd": [5.0, 2.5, 7.5]}
    controlled = {"robot_description": ARM, "use_sim_time": True, "state_timeout": 1.0, **gains}
    with (
        ros.start("simulator", simulated) as simulator,
        ros.start("feedforward", controlled, "-r", "~/commands:=simulator/commands") as controller,
    ):
        simulator.is_active()
        controller.is_active()
        states = ros.collect(JointState, "joint_states", 1000)
        reports = ros.collect(DiagnosticArray, "/diagnostics")
        wait_until(lambda: states and np.any(states[-1].effort), "a command", 60.0)
        begin = states[-1].header.stamp.sec
        wait_until(lambda: states[-1].header.stamp.sec >= begin + 3, "three simulated seconds", 60.0)
        off = np.abs(np.array(states[-1].position) - start)
        assert (off < [0.05, 0.05, 0.02]).all(), off
        assert (np.abs(states[-1].velocity) < 1e-2).all()
        since = len(reports)  # three simulated seconds are less than one on a fast machine: of now on, once a second

        def said():
            return {status.name: status.message for report in reports[since:] for status in report.status}

        names = {"feedforward: feedforward", "simulator: simulator"}
        wait_until(lambda: names <= said().keys(), "diagnostics of both")
        messages = said()
        assert messages["feedforward: feedforward"] == "ok"
        assert messages["simulator: simulator"].partition(":")[0] in ("ok", "too slow for real time")
