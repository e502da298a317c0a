# SPDX-License-Identifier: Apache-2.0
"""`hybrid_controller` in a process of its own, with MuJoCo as the robot: what happens beside the force law."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros, others_run, wait_until
from helpers.wide import wide

pytest.importorskip("mujoco")
pressing = pytest.importorskip("rigs.pressing")
from helpers.nodes.pressing_rig import PARAMETERS, pressing_node, start  # noqa: E402

pytestmark = [
    *needs_ros,
    pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data"),
]

LIMITS = np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61])  # rad/s
DEFAULTS = {
    "task_position": None, "task_orientation": [0.0, 0.0, 0.0], "tool_position": [0.0, 0.0, 0.0],
    "velocity_limits": [0.2], "force_rate": 20.0, "largest_force": 50.0, "desired_force": [10.0], "reach": 0.5,
    "actuator_bandwidth": 30.0, "effort_rate_limits": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def node_and_rig(ros):
    with pressing_node(ros, velocity_limits=[0.2], effort_rate_limits=None) as rig:
        yield rig


@pytest.fixture
def rig(node_and_rig):
    """Pressing with 10 N at the origin of the task frame."""
    rig = node_and_rig
    rig.bias, rig.noise = np.zeros(3), 0.0
    scene = pressing.scene(pressing.Case())
    rig.plant, rig.place = scene.plant, list(scene.position)
    rig.engage(False)
    put(rig, **DEFAULTS | {"task_position": rig.place})
    rig.plant.reset(start(0.003))
    rig.step()
    return rig.pressed()


def put(rig, **parameters):
    results = rig.ros.set_parameters(rig.node.name, **parameters)
    assert all(r.successful for r in results), results


def refused(rig, **parameters):
    (result,) = rig.ros.set_parameters(rig.node.name, **parameters)
    assert not result.successful, parameters
    return result.reason


def watched(rig, seconds):
    """Speeds of joints as shares of their limits, heights and places of the tool, meanwhile."""
    shares, places = [], []
    for _ in range(round(1000 * seconds)):
        rig.step()
        shares.append(np.abs(rig.plant.state[1]) / LIMITS)
        places.append(rig.plant.data.body(pressing.TOOL).xpos.copy())
    return np.array(shares), np.array(places)


def test_a_task_frame_that_is_moved_takes_the_tool_along_within_the_limits(rig):
    before = rig.plant.data.body(pressing.TOOL).xpos.copy()
    x, y, z = rig.place
    del rig.forces[:]
    put(rig, task_position=[x + 0.05, y, z])
    shares, places = watched(rig, 1.5)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / 1e-3
    assert speeds.max() < 0.22 and shares.max() < 0.5
    np.testing.assert_allclose(places[-1][:2] - before[:2], [0.05, 0.0], atol=1e-3)
    assert 7.0 < min(rig.forces) and max(rig.forces) < 13.0
    put(rig, velocity_limits=[0.5, 0.5, 0.5, 0.2, 0.2])
    put(rig, task_orientation=[0.0, 0.0, 0.45])
    shares, _ = watched(rig, 2.5)
    assert shares.max() < 0.7
    turned = rig.plant.data.body(pressing.TOOL).xmat.reshape(3, 3)
    yaw = math.atan2(turned[1, 0], turned[0, 0])  # of a tool that points down: about the world's axis
    np.testing.assert_allclose(abs(yaw), 0.45, atol=5e-3)
    assert 7.0 < min(rig.forces) and max(rig.forces) < 13.0


def test_a_place_where_the_surface_or_the_tool_would_not_be_is_refused(rig):
    x, y, z = rig.place
    assert "press_tolerance" in refused(rig, task_position=[x, y, z + 0.05])
    # nor is the tool taken along to where no target may be
    assert "turn by 3.14 rad while it presses, more than 0.5" in refused(rig, task_orientation=[0.0, 0.0, math.pi])
    assert "would go 0.6 m while it presses" in refused(rig, task_position=[x - 0.6, y, z])
    del rig.forces[:]
    rig.run(0.2)
    np.testing.assert_allclose(rig.forces, 10.0, rtol=0.05)


def test_no_more_is_pressed_than_the_drives_can_let_go_and_that_is_said(rig):
    """By default they take 1000 N m/s, and are taken for ones of 30 Hz."""
    put(rig, force_rate=100.0)
    put(rig, desired_force=[45.0])
    rig.run(1.0)
    rig.diagnosed("of more the tool could not let go in time where contact or friction is lost (actuator_bandwidth")
    assert 30.0 < min(rig.forces[-50:]) and np.ptp(rig.forces[-50:]) < 0.5


def test_a_tool_that_loses_its_surface_moves_less_than_five_millimetres(rig):
    put(rig, actuator_bandwidth=0.0, effort_rate_limits=[3000.0])  # what the plant's drives can do
    put(rig, force_rate=100.0)
    put(rig, desired_force=[45.0])
    rig.run(1.0)
    np.testing.assert_allclose(rig.forces[-50:], 45.0, rtol=0.05)
    rig.plant.model.geom("surface").pos[2] -= 1.0
    before = rig.plant.data.body(pressing.TOOL).xpos[2]
    shares, places = watched(rig, 0.6)
    assert before - places[:, 2].min() < 5e-3
    assert shares.max() < 0.5
    rig.diagnosed("contact lost")
    heights = watched(rig, 0.3)[1][:, 2]
    assert np.ptp(heights) < 1e-3  # held


def test_what_pushes_from_the_side_stops_it_and_is_named(rig):
    rig.bias = np.array([0.0, 60.0, 0.0])
    rig.run(0.1)
    rig.diagnosed("force beside the constraints is 60")
    rig.bias = np.zeros(3)


def test_forces_are_checked_wherever_they_come_from(rig):
    assert "'desired_force': surface.normal = 80 is more than largest_force" in refused(rig, desired_force=[80.0])
    assert "'desired_force': surface.normal = -5 would pull" in refused(rig, desired_force=[-5.0])
    assert "wanted surface.normal = 10" in refused(rig, largest_force=5.0)
    assert "0.1" in refused(rig, force_rate=0.0)
    assert "below largest_force" in refused(rig, contact_force=60.0)
    # limits that cannot hold the robot are seen when they are tried
    assert not rig.ros.set_together(rig.node.name, desired_force=[20.0], effort_limits=[1e-3]).successful
    rig.desired.publish(rig.wrench(80.0))
    others_run(0.2)
    del rig.forces[:]
    rig.run(0.3)
    np.testing.assert_allclose(rig.forces, 10.0, rtol=0.05)


def turn(rig, angle, seconds=2.0):
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=["tool.rz"])
    for t, a in ((0.2, 0.0), (0.2 + seconds, angle)):
        point = JointTrajectoryPoint(positions=[a])
        point.time_from_start.sec, point.time_from_start.nanosec = int(t), round(1e9 * (t % 1.0))
        message.points.append(point)
    rig.send(message)


def test_turns_are_radians_and_what_no_angle_is_is_refused(rig):
    put(rig, reach=10.0, velocity_limits=[1.5])
    turn(rig, 0.8, seconds=1.2)
    with rig.task() as told:
        rig.run(1.8)
        assert abs(told[-1].positions[2] - 0.8) < 2e-3
    turned = rig.plant.data.body(pressing.TOOL).xmat.reshape(3, 3)
    np.testing.assert_allclose(abs(math.atan2(turned[1, 0], turned[0, 0])), 0.8, atol=2e-3)
    turn(rig, 4.0)
    shares, _ = watched(rig, 0.5)
    assert shares.max() < 0.05
    wait_until(lambda: "more than half a turn" in rig.node.log, "the refusal in the log")


def test_an_offset_of_the_sensor_to_the_side_is_nothing_in_the_way(rig):
    """As of a tool whose weight is not known: what is read on the way to the surface is its zero."""
    rig.engage(False)
    rig.bias = np.array([0.0, 60.0, 0.0])
    rig.plant.reset(start(0.003))
    rig.run(0.1)
    rig.pressed()
    rig.bias = np.array([0.0, 0.0, 0.0])  # 60 N the other way
    rig.run(0.1)
    rig.diagnosed("force beside the constraints is 60")


@wide  # the law itself: test_reachable_task.py
def test_a_motion_beyond_the_arms_reach_stops_in_front_and_the_force_is_held(rig):
    """0.6 m outwards, to where a stretched Panda does not get."""
    put(rig, reach=2.0, velocity_limits=[0.3], path_tolerance=[0.05])
    del rig.forces[:]
    rig.move((0.5, 0.0, 0.0), (4.5, 0.6, 0.0))
    shares, places = watched(rig, 5.5)
    assert shares.max() < 0.95
    assert 7.0 < min(rig.forces) and max(rig.forces) < 13.0
    assert np.ptp(places[-500:], axis=0).max() < 1e-3  # it stands
    assert any(text in rig.node.log for text in ("singular posture", "is at its limit")), rig.node.log[-3000:]
    put(rig, path_tolerance=[0.1])


def test_noise_above_what_counts_as_contact_is_none_and_the_surface_is_found_gently(rig):
    """2 N rms, with a `contact_force` of 0.5 N: what was taken for contact in the air struck with 36 N."""
    rig.engage(False)
    rig.noise = 2.0
    rig.plant.reset(start(0.006))
    rig.run(0.1)
    assert rig.engage().success
    del rig.forces[:]
    rig.run(0.45)
    assert not any(rig.forces) and rig.node.log.rstrip().split("[hybrid_controller]: ")[-1].startswith("approach")
    rig.run(1.6)
    assert max(rig.forces) < 13.0
    np.testing.assert_allclose(np.mean(rig.forces[-300:]), 10.0, rtol=0.05)


def test_a_sensor_that_drifts_is_told_by_what_joint_torques_press_with(rig):
    for k in range(1500):
        rig.bias = np.array([0.0, 0.0, -3e-3 * k])  # of a tool that points down: it reads more and more
        rig.step()
    rig.diagnosed("the sensor drifts or is turned, or the load is another")
    assert rig.forces[-1] < 7.0  # as it does


def test_a_joints_limit_along_the_surface_is_not_passed_and_the_force_is_held(rig):
    """The tool is turned by 2.9 rad about its axis, the way for which its last joint has 2.1 rad left."""
    put(rig, reach=10.0, velocity_limits=[2.0], path_tolerance=[0.3])
    last = rig.plant.state[0][6]
    del rig.forces[:]
    turn(rig, math.copysign(2.9, -last), seconds=3.0)
    rig.run(5.2)  # until its elbow is back where it was, too
    q, v = rig.plant.state
    assert -2.8973 < q[6] < 2.8973 and np.abs(v).max() < 0.02, v
    _, places = watched(rig, 0.05)
    assert np.ptp(places, axis=0).max() < 1e-4
    assert 7.0 < min(rig.forces) and max(rig.forces) < 13.0
    assert "'panda_joint7' is at its limit" in rig.node.log


def test_what_is_deactivated_and_activated_while_it_presses_holds_and_may_press_again(rig):
    from lifecycle_msgs.srv import ChangeState

    call = rig.ros.client(ChangeState, f"{rig.node.name}/change_state")
    before = rig.plant.data.body(pressing.TOOL).xpos.copy()
    for number in (4, 3):  # deactivate, activate
        request = ChangeState.Request()
        request.transition.id = number
        assert call(request).success
    del rig.forces[:]
    shares, places = watched(rig, 0.6)
    assert shares.max() < 0.3 and np.abs(places - before).max() < 3e-3
    assert max(rig.forces) < 12.0
    assert rig.engage().success
    rig.run(1.2)
    np.testing.assert_allclose(rig.forces[-50:], 10.0, rtol=0.05)


def test_a_load_that_nobody_told_of_is_made_up_for_while_it_holds(rig):
    """Half a kilogram at the tool, from the side of the world: with `hold_load` it sinks less than a third as far."""
    rig.engage(False)
    rig.plant.reset(start(0.05))
    rig.run(0.1)
    before, body = rig.robot_height(), rig.plant.model.body(pressing.TOOL).id
    sunk = []
    for parameters in ({}, {"hold_load": False}):
        put(rig, **parameters)
        rig.plant.data.xfrc_applied[body, 2] = -5.0
        shares, _ = watched(rig, 0.6)
        assert shares.max() < 0.2
        sunk.append(before - rig.robot_height())
    put(rig, hold_load=True)
    rig.plant.data.xfrc_applied[body, 2] = 0.0
    assert 0.0 < sunk[0] < 1.5e-3 and sunk[0] < 0.3 * sunk[1], sunk


def test_another_description_lets_the_force_fade_and_holds(rig):
    """With 0.1 g more at the hand: the force fell to nothing within 42 ms before, and the tool was at 0.14 m/s."""
    text = PARAMETERS["robot_description"]
    hand = re.search(r'<link name="panda_hand">.*?<mass value="([0-9.]+)"', text, re.DOTALL)
    heavier = text[: hand.start(1)] + str(float(hand[1]) + 1e-4) + text[hand.end(1) :]
    put(rig, robot_description=heavier)
    place = [rig.plant.data.body(pressing.TOOL).xpos.copy()]
    for _ in range(3000):  # it is built aside meanwhile
        others_run(0.02)
        rig.step()
        if rig.node.log.count("back to holding"):
            break
    else:
        raise AssertionError(rig.node.log[-3000:])
    begun = len(rig.forces)
    for _ in range(700):
        rig.step()
        place.append(rig.plant.data.body(pressing.TOOL).xpos.copy())
    forces, speeds = np.array(rig.forces[begun:]), np.linalg.norm(np.diff(place, axis=0), axis=1)[1:] / 1e-3
    assert (forces > 10.0 - 20.0 * 1e-3 * (np.arange(700) + 20) - 0.5).all() and forces[600:].max() < 0.5
    assert speeds.max() < 0.02
