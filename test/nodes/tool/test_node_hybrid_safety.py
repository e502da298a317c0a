# SPDX-License-Identifier: Apache-2.0
"""The contract of `hybrid_controller` in docs/safety.md: what it does on its way to a surface, and on which surfaces.

The node runs in a process of its own; MuJoCo is the robot, and what it measures is what counts.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from helpers.models.robots import robot_file
from helpers.nodes.ros_nodes import Conversation, joint_state, needs_ros, wait_until
from helpers.wide import table

pytest.importorskip("mujoco")
pressing = pytest.importorskip("rigs.pressing")
from helpers.nodes.pressing_rig import Rig, error_on_a_circle, pressing_node, start  # noqa: E402
from rigs.compliant_plant import CompliantPlant, Surroundings  # noqa: E402

pytestmark = [
    *needs_ros,
    pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data"),
]

DEFAULTS = {
    "task_ki": 8.0, "approach_speed": 0.01, "approach_distance": 0.1, "approach_timeout": 30.0,
    "approach_force": 20.0, "press_tolerance": 0.03, "estimate_normal": False, "largest_force": 50.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def node_and_rig(ros):
    with pressing_node(ros, kp=None, kd=None) as rig:
        yield rig


@pytest.fixture
def rig(node_and_rig):
    """With the table where it should be, hard and level, a sound sensor and the defaults."""
    rig = node_and_rig
    rig.plant = pressing.scene(pressing.Case()).plant
    rig.soft = None
    rig.bias, rig.noise, rig.sensor_works = np.zeros(3), 0.0, True
    put(rig, **DEFAULTS)
    placed(rig, rig.plant, 0.005)
    rig.forces.clear()
    return rig


def placed(rig, plant, height):
    """So high above the surface, held there: holding is from where the node was disengaged."""
    rig.engage(False)
    rig.plant.reset(start(0.01))
    rig.step()
    answer = rig.engage()
    assert answer.success, answer.message
    rig.engage(False)
    plant.reset(start(height))
    rig.soft = plant if plant is not rig.plant else None
    rig.run(0.05)


def put(rig, **parameters):
    results = rig.ros.set_parameters(rig.node.name, **parameters)
    assert all(r.successful for r in results), results


def engaged(rig, seconds):
    answer = rig.engage()
    assert answer.success, answer.message
    return rig.run(seconds)


def is_pressed_with_ten_newton(rig, rtol=0.02):
    np.testing.assert_allclose(rig.forces[-50:], 10.0, rtol=rtol)


def is_told(rig, key):
    """As a value of the diagnostics."""

    def found():
        statuses = [s for report in rig.reports[-5:] for s in report.status if rig.node.name in s.name]
        return any(key == pair.key for status in statuses for pair in status.values)

    wait_until(found, f"{key!r} among the values of the diagnostics")


def on_a_surface(rig, **surroundings):
    """That gives, is tilted or rough, from 3 mm above it; the actuators lag by 30 Hz."""
    robot = pressing.scene(pressing.Case()).robot
    x, y, z = pressing.scene(pressing.Case()).position
    around = Surroundings(sensor_delay=0.0, state_delay=0.0, **surroundings)
    soft = CompliantPlant(robot, pressing.TOOL, pressing.BALL, np.array([x, y, z]), around, 4.0)
    placed(rig, soft, 0.003)


@pytest.mark.parametrize("arm", table(["ur5_robot", "ur10_robot"], ["ur5_robot"]))
def test_a_singular_start_configures_and_engaging_says_so(ros, arm):
    from geometry_msgs.msg import WrenchStamped
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    from std_srvs.srv import SetBool

    parameters = {"robot_description": robot_file(arm).read_text(), "tool_frame": "tool0", "state_timeout": 0.0}
    names = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
    with ros.start("hybrid_controller", parameters) as node:
        node.is_active()  # it may have to compile for another arm
        talk = Conversation(ros, node)
        states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        wrenches = ros.publisher(WrenchStamped, "wrench", qos_profile_sensor_data)
        efforts = ros.collect(JointState, f"{node.name}/effort")
        engage = ros.client(SetBool, f"{node.name}/engage")
        state = joint_state([f"{name}_joint" for name in names], [1e-12] * 6, [0.0] * 6, stamp=2_000_000_000)
        wrench = WrenchStamped(header=state.header)
        wrench.header.frame_id = "tool0"

        def held():
            wrenches.publish(wrench)
            states.publish(state)
            time.sleep(0.01)
            return efforts

        wait_until(held, "an effort")
        assert np.isfinite(efforts[-1].effort).all()
        wait_until(lambda: held() and "no wrench" not in engage(data=True).message, "the wrench")
        answer = engage(data=True)
        assert not answer.success and answer.message.startswith("cannot engage: singular"), answer.message
        assert talk is not None and node.alive


@pytest.mark.parametrize("missing", [-1.0, 1.0])
def test_a_model_that_is_a_kilogram_wrong_touches_at_the_wanted_speed(rig, missing):
    """The robot is lighter or heavier than the node believes."""
    tool = rig.plant.model.body(pressing.TOOL if missing > 0.0 else "panda_hand")
    if missing > 0.0:
        tool.mass[0], tool.inertia[:] = 1.0, 1e-3
    else:
        links = [rig.plant.model.body(f"panda_link{k}") for k in (7, 6)]
        assert sum(float(link.mass[0]) for link in links) > 1.0
        lighter = 1.0 / float(links[0].mass[0])
        links[0].mass[0] *= max(0.0, 1.0 - min(1.0, lighter))
        left = 1.0 - min(1.0, 1.0 / lighter)
        links[1].mass[0] -= max(0.0, left)
    placed(rig, rig.plant, 0.012)
    rig.run(0.4)  # holding, it sinks or rises
    assert rig.forces[-1] == 0.0
    answer = rig.engage()
    assert answer.success, answer.message
    heights = []
    for _ in range(4000):
        rig.step()
        heights.append(rig.robot_height())
        if rig.forces[-1] > 0.0:
            break
    assert rig.forces[-1] > 0.0
    speed = (heights[-50] - heights[-2]) / 0.048
    assert 0.008 < speed < 0.012
    rig.run(1.2)
    assert max(rig.forces) < 14.0
    is_pressed_with_ten_newton(rig)


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        ({"approach_distance": 0.002}, "more than approach_distance (0.002)"),
        ({"approach_timeout": 0.2}, "more than approach_timeout (0.2)"),
        ({"approach_force": 4.0}, "it needs more than approach_force (4 N)"),
    ],
)
def test_an_approach_that_finds_nothing_ends_with_a_reason(rig, bound, reason):
    put(rig, **bound)
    if "approach_force" in bound:  # the table is there, the sensor does not feel it
        real = Rig.reading
        rig.reading = lambda force: real(rig, 0.0)
    try:
        engaged(rig, 0.0).run_until_it_stops(2.5)
    finally:
        rig.__dict__.pop("reading", None)
    rig.diagnosed(reason)
    assert max(rig.forces) < 4.0 + 2.0  # what the damping adds at 0.01 m/s
    before = rig.robot_height()
    rig.run(0.3)
    assert abs(rig.robot_height() - before) < 1e-3


def test_a_sensor_of_the_opposite_sign_is_named(rig):
    """It reads what the robot exerts: at the first touch a pull."""
    put(rig, wrench_of_robot=True)
    try:
        engaged(rig, 0.0).run_until_it_stops(1.5)
        rig.diagnosed("wrench that the robot exerts, not the one on it (wrench_of_robot: true)")
        assert max(rig.forces) < 20.0
    finally:
        put(rig, wrench_of_robot=False)


def test_an_activation_clears_what_stopped_it(rig):
    from lifecycle_msgs.srv import ChangeState

    put(rig, approach_timeout=0.1)
    engaged(rig, 0.0).run_until_it_stops(2.5)
    rig.diagnosed("stopped: ")
    call = rig.ros.client(ChangeState, f"{rig.node.name}/change_state")
    for number in (4, 3):  # deactivate, activate
        request = ChangeState.Request()
        request.transition.id = number
        assert call(request).success
    rig.run(0.05)
    del rig.reports[:]
    wait_until(lambda: len(rig.reports) > 1, "reports after the activation")
    said = [status.message for report in rig.reports for status in report.status if rig.node.name in status.name]
    assert said and not any("stopped" in message for message in said)


@pytest.mark.parametrize(
    ("gains", "reason"),
    [
        ({"ki": 30.0}, "parameter ki = 30 is not below normal_damping = 30"),
        ({"ki": 100.0}, "parameter ki = 100 is not below"),
        ({"normal_damping": 1000.0}, "parameter normal_damping = 1000 is unstable"),
        ({"kp": [20000.0]}, "parameter kp = 20000"),
        ({"task_ki": 500.0}, "parameter task_ki = 500"),
        ({"hold_stiffness": 50000.0}, "parameter hold_stiffness = 50000"),
        ({"posture_kp": 50000.0}, "parameter posture_kp = 50000"),
    ],
)
def test_gains_that_are_not_stable_are_refused(node_and_rig, gains, reason):
    rig = node_and_rig
    (result,) = rig.ros.set_parameters(rig.node.name, **gains)
    assert not result.successful and reason in result.reason and "\n" not in result.reason, result.reason


def test_friction_of_a_third_costs_less_than_three_millimetres(rig):
    on_a_surface(rig, stiffness=1e5, friction=0.3)
    engaged(rig, 1.4)
    is_pressed_with_ten_newton(rig, rtol=0.1)
    with rig.task() as told:
        worst = error_on_a_circle(rig, told, turns=0.5)
    assert worst < 3e-3
    assert 5.0 < min(rig.forces[-1500:]) and max(rig.forces[-1500:]) < 15.0


def test_a_soft_surface_is_pressed_and_one_that_gives_too_much_is_told(rig):
    on_a_surface(rig, stiffness=1e3)
    engaged(rig, 2.5)
    is_pressed_with_ten_newton(rig, rtol=0.05)
    with rig.task() as told:
        rig.run(0.02)
        assert told[-1].violations[-1] < -0.008  # it gives 10 mm
    put(rig, press_tolerance=0.005)
    rig.run_until_it_stops(0.1)
    rig.diagnosed("the surface is not where it should be")
    rig.diagnosed("or soft (")


def test_a_tilted_surface_is_told(rig):
    on_a_surface(rig, stiffness=1e5, tilt=math.radians(10.0), friction=0.2)
    put(rig, press_tolerance=0.01)
    engaged(rig, 1.2)
    rig.move((0.1, 0.0, 0.0), (2.1, 0.1, 0.0))
    rig.run_until_it_stops(2.5)
    rig.diagnosed("the surface is not where it should be")
    rig.diagnosed("or tilted (")


def test_a_tilted_surface_is_followed_when_its_normal_is_estimated(rig):
    on_a_surface(rig, stiffness=1e5, tilt=math.radians(10.0), friction=0.2)
    put(rig, press_tolerance=0.01, estimate_normal=True)
    engaged(rig, 1.2)
    rig.move((0.1, 0.0, 0.0), (3.1, 0.1, 0.0))
    rig.run(3.38)  # 17 mm down or up
    with rig.task() as told:
        rig.run(0.02)
        np.testing.assert_allclose(math.degrees(told[-1].surface_tilt[0]), 10.0, atol=0.5)
        assert abs(told[-1].positions[3] - 0.1) < 3e-3
    is_pressed_with_ten_newton(rig, rtol=0.1)
    is_told(rig, "estimated tilt")


@pytest.mark.parametrize("bias", table([2.0, -2.0], [2.0]))
def test_an_offset_of_the_sensor_is_no_contact(rig, bias):
    rig.bias[:] = 0.5, -0.5, -bias  # the tool points down
    rig.noise = 0.2
    rig.run(0.05)
    answer = rig.engage()
    assert answer.success and answer.message == "approach"
    rig.run(0.3)
    assert "press" not in rig.node.log.rsplit("approach", 1)[-1]  # it has not touched
    rig.run(1.7)
    assert abs(np.mean(rig.forces[-200:]) - 10.0) < 0.3
    is_told(rig, "force in free motion")
