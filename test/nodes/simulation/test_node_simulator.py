# SPDX-License-Identifier: Apache-2.0
"""Node `simulator` over real DDS: it moves as the library says, in real time, and never publishes a false state."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS, LINK
from helpers.nodes.ros_nodes import PATIENCE, Conversation, needs_ros, others_run, wait_until

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions

pytestmark = needs_ros


class Talk(Conversation):
    """Commands to a simulator, its states, its services."""

    def __init__(self, ros, node):
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from std_srvs.srv import SetBool, Trigger

        from rbd_dynamics_interfaces.srv import Step

        node.is_active()
        super().__init__(ros, node)
        self.commands = ros.publisher(Float64MultiArray, f"{node.name}/commands")
        self.efforts = ros.publisher(JointState, f"{node.name}/effort")
        self.states = ros.collect(JointState, "joint_states", 1000)
        self._reset = ros.client(Trigger, f"{node.name}/reset")
        self._pause = ros.client(SetBool, f"{node.name}/pause")
        self._step = ros.client(Step, f"{node.name}/step")

    def pause(self, on=True):
        assert self._pause(data=on).success

    def step(self, steps):
        """Steps of a paused simulation, and the state after them."""
        count = len(self.states)
        answer = self._step(steps=steps)
        if answer.success:
            wait_until(lambda: len(self.states) > count, "the state after the steps")
        return answer

    def start_anew(self):
        """Paused at the start."""
        self.pause()
        assert self._reset().success
        others_run(0.05)
        del self.states[:]

    def command(self, efforts):
        from std_msgs.msg import Float64MultiArray

        self.commands.publish(Float64MultiArray(data=list(map(float, efforts))))
        others_run(0.1)

    def command_by_name(self, names, efforts):
        from sensor_msgs.msg import JointState

        self.efforts.publish(JointState(name=names, effort=list(map(float, efforts))))
        others_run(0.1)


PARAMETERS = {
    "robot_description": ARM, "initial_joints": ["elbow"], "initial_positions": [0.5], "publish_rate": 200.0,
    "inertia_error": 0.0,
}  # fmt: skip
START = np.array([0.0, 0.5, 0.0])


@pytest.fixture(scope="module")
def talk(ros):
    with ros.start("simulator", PARAMETERS) as node:
        yield Talk(ros, node)


def library(efforts, steps, **options):
    simulation = Simulation(load_urdf(ARM), q=START, options=SimulationOptions(**options))
    simulation.command(np.array(efforts), np.arange(3))
    simulation.advance(steps)
    return simulation


def test_steps_are_those_of_the_library(talk):
    talk.start_anew()
    talk.command([5.0, -3.0, 2.0])
    for steps in (0, 1):  # none is one
        assert talk.step(steps).steps == 1
    answer = talk.step(38)
    assert answer.success, answer.message
    assert answer.steps == 38
    expected = library([5.0, -3.0, 2.0], 40)
    state = talk.states[-1]
    assert list(state.name) == JOINTS
    np.testing.assert_allclose(state.position, expected.q, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(state.velocity, expected.v, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(state.effort, [5.0, -3.0, 2.0])
    assert state.header.stamp == answer.time


def test_efforts_by_name_do_the_same(talk):
    talk.start_anew()
    talk.command_by_name(["slide", "shoulder"], [2.0, 5.0])
    talk.command_by_name(["elbow"], [-3.0])
    talk.step(40)
    np.testing.assert_allclose(talk.states[-1].position, library([5.0, -3.0, 2.0], 40).q, rtol=1e-12, atol=1e-14)


SLIDE = """
  <joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>
    <limit lower="-1" upper="1" effort="100" velocity="9"/></joint>"""
PRESS = (
    '<robot name="press"><link name="base"/><link name="tip"/>'
    + LINK.format(name="carriage", x=0.0, z=0.0, m=1.0)
    + LINK.format(name="load", x=0.1, z=0.0, m=2.0)
    + SLIDE.format(name="x", parent="base", child="carriage", axis="1 0 0")
    + SLIDE.format(name="z", parent="carriage", child="load", axis="0 0 1")
    + '<joint name="end" type="fixed"><origin xyz="0.3 0 0"/><parent link="load"/><child link="tip"/></joint></robot>'
)
HELD = "constraints: [{name: held, type: frame, frame: load, directions: [x]}]\n"
SCENES = {
    "contacts": "contacts: [{name: floor, frame: tip, surface: plane, radius: 0.05}]\n",
    "collisions": """collisions:
  shapes:
    - {name: floor, type: box, size: [9.0, 9.0, 0.2], placement: {xyz: [0.0, 0.0, -0.1]}}
    - {name: ball, frame: tip, type: sphere, size: [0.05]}
""",
}


@pytest.mark.parametrize("kind", SCENES)
def test_its_sensor_reads_constraints_and_contacts(ros, tmp_path, kind):
    """A load that is pushed against a stop with 5 N lies on a floor, which it touches 0.3 m beside the sensor."""
    from geometry_msgs.msg import WrenchStamped

    if kind == "collisions":
        pytest.importorskip("coal")
    (tmp_path / "scene.yaml").write_text(HELD + SCENES[kind])
    parameters = {
        "robot_description": PRESS, "scene_file": str(tmp_path / "scene.yaml"), "wrench_frame": "load",
        "inertia_error": 0.0, "publish_clock": True, "initial_joints": ["z"], "initial_positions": [0.08],
    }  # fmt: skip
    with ros.start("simulator", parameters, name="pressing") as node:
        talk = Talk(ros, node)
        wrenches = ros.collect(WrenchStamped, "pressing/wrench", 1000)
        talk.start_anew()
        talk.command([5.0, 0.0])
        answer = talk.step(1000)
        assert answer.success, answer.message
        wait_until(lambda: wrenches and wrenches[-1].header.stamp == answer.time, "the wrench after the steps")
        np.testing.assert_allclose(talk.states[-1].position, [0.0, 0.05], atol=1e-5)
    force, torque, weight = wrenches[-1].wrench.force, wrenches[-1].wrench.torque, 2.0 * 9.81
    np.testing.assert_allclose([force.x, force.y, force.z], [-5.0, 0.0, weight], atol=1e-6)
    np.testing.assert_allclose([torque.x, torque.y, torque.z], [0.0, -0.3 * weight, 0.0], atol=1e-6)
    assert wrenches[-1].header.frame_id == "load"


def test_brakes_hold_it_until_a_command_comes_and_time_goes_on(talk):
    talk.start_anew()
    talk.pause(False)
    wait_until(lambda: len(talk.states) > 50, "states")
    np.testing.assert_array_equal([state.position for state in talk.states], np.tile(START, (len(talk.states), 1)))
    talk.command([0.0, 0.0, 0.0])
    others_run(0.2)
    assert abs(talk.states[-1].position[0]) > 0.01


def test_it_runs_in_real_time(talk):
    talk.start_anew()
    talk.pause(False)
    others_run(0.1)
    begin = time.monotonic()
    first = len(talk.states)
    others_run(2.0)
    elapsed = time.monotonic() - begin
    states = talk.states[first:]
    stamps = np.array([state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in states])
    assert (np.diff(stamps) > 0).all()
    assert stamps[-1] - stamps[0] == pytest.approx(elapsed, rel=0.05)
    assert len(states) < 230 * elapsed  # 200; a busy machine does some steps at once
    steps = np.diff(stamps)
    assert steps[steps < 2 / 200].mean() == pytest.approx(1 / 200, rel=0.3)
    now = talk.ros.node.get_clock().now().nanoseconds * 1e-9
    assert abs(now - (talk.states[-1].header.stamp.sec + 1e-9 * talk.states[-1].header.stamp.nanosec)) < 0.1


def test_pause_stops_it(talk):
    talk.start_anew()
    others_run(0.2)
    assert not talk.states
    talk.pause(False)
    wait_until(lambda: talk.states, "states after the pause")
    assert not talk.step(1).success


@pytest.mark.parametrize(
    ("efforts", "reason"),
    [([1.0, 2.0], "2 efforts for 3 joints"), ([], "0 efforts"), ([1.0, math.nan, 0.0], "not finite")],
)
def test_bad_command_is_refused(talk, efforts, reason):
    talk.start_anew()
    talk.command([1.0, 0.0, 0.0])
    talk.command(efforts)
    talk.diagnosed(reason)
    talk.step(10)
    np.testing.assert_array_equal(talk.states[-1].effort, [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("names", "efforts", "reason"),
    [(["wrist"], [1.0], "'wrist'"), (["elbow"], [], "0 efforts for 1 joints"), (["elbow"], [math.inf], "not finite")],
)
def test_bad_effort_is_refused(talk, names, efforts, reason):
    talk.start_anew()
    talk.command([1.0, 0.0, 0.0])
    talk.command_by_name(names, efforts)
    talk.diagnosed(reason)
    talk.step(10)
    np.testing.assert_array_equal(talk.states[-1].effort, [1.0, 0.0, 0.0])


def test_malformed_description_at_run_time_changes_nothing(talk):
    talk.start_anew()
    talk.ros.set_parameters("simulator", robot_description="<robot>")
    talk.diagnosed("the one before stays in use")
    talk.command([5.0, -3.0, 2.0])
    talk.step(40)
    np.testing.assert_allclose(talk.states[-1].position, library([5.0, -3.0, 2.0], 40).q, rtol=1e-12, atol=1e-14)


def test_clock_timeout_and_another_order(ros):
    from rosgraph_msgs.msg import Clock

    parameters = {
        "robot_description": ARM, "joints": ["slide", "elbow", "shoulder"], "publish_clock": True,
        "command_timeout": 0.02, "integrator": "rk4", "step": 0.002, "friction": False,
    }  # fmt: skip
    with ros.start("simulator", parameters, "-r", "joint_states:=sim/joint_states", name="clocked") as node:
        from sensor_msgs.msg import JointState

        states = ros.collect(JointState, "sim/joint_states", 1000)
        clocks = ros.collect(Clock, "/clock", 1000)
        node.is_active()
        wait_until(lambda: len(clocks) > 10 and len(states) > 10, "the clock")
        from std_msgs.msg import Float64MultiArray
        from std_srvs.srv import SetBool, Trigger

        from rbd_dynamics_interfaces.srv import Step

        ros.client(SetBool, "clocked/pause")(data=True)
        ros.client(Trigger, "clocked/reset")()
        commands = ros.publisher(Float64MultiArray, "clocked/commands")
        commands.publish(Float64MultiArray(data=[3.0, 2.0, 1.0]))
        others_run(0.2)
        before = len(states)
        assert ros.client(Step, "clocked/step")(steps=10).success
        wait_until(lambda: len(states) > before, "the state after the steps")
        np.testing.assert_array_equal(states[-1].effort, [3.0, 2.0, 1.0])
        assert list(states[-1].name) == ["slide", "elbow", "shoulder"]
        simulation = Simulation(load_urdf(ARM), options=SimulationOptions(step=2e-3, integrator="rk4", friction=False))
        simulation.command(np.array([1.0, 2.0, 3.0]), np.arange(3))
        simulation.advance(10)
        np.testing.assert_allclose(states[-1].position, simulation.q[::-1], rtol=1e-12, atol=1e-14)
        wait_until(lambda: clocks[-1].clock == states[-1].header.stamp, "the clock of the last state")
        assert states[-1].header.stamp.sec < 60
        ros.client(Step, "clocked/step")(steps=1)
        wait_until(lambda: not np.any(states[-1].effort), "no effort after the time-out")


def test_diverged_state_is_not_published_and_reset_helps(ros):
    wild = {
        "robot_description": ARM, "effort_limits": False, "position_limits": False, "friction": False,
        "publish_rate": 500.0, "payload_frame": "hand", "payload_mass": 1.0, "inertia_error": 0.2,
    }  # fmt: skip
    with ros.start("simulator", wild, name="wild") as node:
        talk = Talk(ros, node)
        talk.command([1e9, 0.0, 0.0])
        talk.diagnosed("simulation stopped: joint")
        assert all(np.isfinite([*s.position, *s.velocity, *s.effort]).all() for s in talk.states)
        del talk.states[:]
        others_run(0.2)
        assert not talk.states
        assert talk._reset().success
        wait_until(lambda: len(talk.states) > 5, "states after the reset")
        np.testing.assert_array_equal(talk.states[-1].position, np.zeros(3))


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [({"step": 0.0}, "step"), ({"integrator": "magic"}, "magic"), ({"publish_rate": 2000.0}, "publish_rate"),
     ({"initial_joints": ["elbow"], "initial_positions": [1.0, 2.0]}, "initial_positions")],
)  # fmt: skip
def test_wrong_parameter_ends_the_start_with_a_clear_message(ros, parameters, culprit):
    node = ros.start("simulator", parameters, name="wrong")
    assert node.process.wait(PATIENCE) == 1
    assert culprit in node.log
    assert "Traceback" not in node.log
