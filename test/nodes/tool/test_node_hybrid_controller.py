# SPDX-License-Identifier: Apache-2.0
"""Node `hybrid_controller` over real DDS, with MuJoCo as the robot: a Panda presses on a table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros, others_run, wait_until
from scipy.spatial.transform import Rotation

pytest.importorskip("mujoco")
pressing = pytest.importorskip("rigs.pressing")
from helpers.nodes.pressing_rig import PARAMETERS, TASK_ROWS, Rig, error_on_a_circle, start  # noqa: E402

pytestmark = [
    *needs_ros,
    pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data"),
]


@pytest.fixture(scope="module")
def rig(ros):
    _, plant, _, _, position = pressing.scene(pressing.Case())
    parameters = PARAMETERS | {"task_position": list(position)}
    with ros.start("hybrid_controller", parameters) as node:
        rig = Rig(ros, node, plant, position[2])
        plant.reset(start(0.01))
        yield rig


def test_holds_finds_the_table_presses_and_draws_a_circle(rig):
    before = rig.plant.state[0]
    rig.run(0.1)
    np.testing.assert_allclose(rig.plant.state[0], before, atol=1e-4)
    answer = rig.engage()
    assert answer.success and answer.message == "approach"
    rig.run(2.0)
    np.testing.assert_allclose(rig.forces[-100:], 10.0, rtol=0.02)
    assert max(rig.forces) < 13.0
    with rig.task() as told:
        worst = error_on_a_circle(rig, told)
        assert worst < 1e-3, rig.node.log[-2000:]
        np.testing.assert_allclose(rig.forces[-3000:], 10.0, rtol=0.02)
        assert len(told) > 2900
        last = told[-1]
    assert (list(last.controlled_names), list(last.constraint_names)) == ([*TASK_ROWS], ["surface.normal"])
    np.testing.assert_allclose([*last.forces, *last.desired_forces], 10.0, rtol=0.02)


def test_efforts_come_twice_and_alike(rig):
    from std_msgs.msg import Float64MultiArray

    commands = rig.ros.collect(Float64MultiArray, f"{rig.node.name}/commands")
    tau = rig.step()
    wait_until(lambda: commands, "a command")
    np.testing.assert_array_equal(commands[-1].data, tau)
    assert list(rig.efforts[-1].name) == pressing.ARM


def test_who_listens_is_told_the_point_that_touches_and_the_normal_there(rig):
    from geometry_msgs.msg import PoseStamped

    arrows = rig.ros.collect(PoseStamped, f"{rig.node.name}/surface_normal", 1000)
    rig.pressed()
    wait_until(lambda: rig.step() is not None and arrows, "an arrow")
    assert arrows[-1].header.frame_id == "panda_link0"
    p, o = arrows[-1].pose.position, arrows[-1].pose.orientation
    np.testing.assert_allclose(Rotation.from_quat([o.x, o.y, o.z, o.w]).apply([1, 0, 0]), [0, 0, 1], atol=1e-12)
    assert p.z == pytest.approx(rig.height + pressing.BALL, abs=1e-3)  # the table gives a little
    rig.engage(False)
    rig.run(0.05)
    count = len(arrows)
    rig.run(0.1)
    assert len(arrows) == count, "nothing is pressed"


def test_desired_force_by_message_and_by_parameter(rig):
    rig.pressed()
    rig.desired.publish(rig.wrench(6.0))
    others_run(0.1)
    rig.run(0.8)
    np.testing.assert_allclose(rig.forces[-50:], 6.0, rtol=0.02)
    (result,) = rig.ros.set_parameters(rig.node.name, contact_timeout=0.2)  # another one leaves the message's force
    assert result.successful
    rig.run(0.3)
    np.testing.assert_allclose(rig.forces[-50:], 6.0, rtol=0.02)
    (result,) = rig.ros.set_parameters(rig.node.name, desired_force=[12.0])
    assert result.successful
    rig.run(1.0)
    np.testing.assert_allclose(rig.forces[-50:], 12.0, rtol=0.02)
    (result,) = rig.ros.set_parameters(rig.node.name, desired_force=[10.0])
    assert result.successful


def test_silent_sensor_stops_and_says_so(rig):
    rig.pressed()
    rig.sensor_works = False
    rig.run(0.2)
    rig.diagnosed("sensor is silent")
    answer = rig.engage()
    assert not answer.success and "sensor is silent" in answer.message
    where = rig.plant.state[0]
    rig.run(0.5)
    np.testing.assert_allclose(rig.plant.state[0], where, atol=0.01)


def test_lost_contact_stops(rig):
    rig.pressed()
    rig.plant.model.geom("surface").pos[2] -= 0.3
    try:
        rig.run(0.3)
        rig.diagnosed("stopped:")
        assert rig.robot_height() > rig.height - 0.05
    finally:
        rig.plant.model.geom("surface").pos[2] += 0.3


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("wrench", {"force": math.nan}, "wrench is not finite"),
        ("wrench", {"force": 1.0, "frame": "panda_link0"}, "wrench is in frame 'panda_link0', expected"),
        ("desired", {"force": math.inf}, "desired wrench is not finite"),
        ("desired", {"force": -5.0}, "would pull"),
        ("desired", {"force": 500.0}, "more than largest_force"),
    ],
)
def test_bad_wrenches_are_refused(rig, kind, fields, reason):
    rig.pressed()
    before = len(rig.reports)
    for _ in range(500):  # wrenches are best effort, and the next one may take its place before it is read
        (rig.wrenches if kind == "wrench" else rig.desired).publish(rig.wrench(**fields))
        rig.run(0.02)
        if rig.was_diagnosed(reason, before):
            break
    rig.diagnosed(reason, before)
    rig.run(0.1)
    np.testing.assert_allclose(rig.forces[-50:], 10.0, rtol=0.02)  # nothing has changed


def test_bad_trajectories_are_refused(rig):
    rig.pressed()
    before = len(rig.reports)  # a motion of the rig takes many reports on a busy machine
    rig.move((1.0, 0.0, 0.0), (2.0, 0.0, 0.0), names=["tool.x", "tool.z"])
    rig.diagnosed("'tool.z' is not one of tool.rx", since=before)
    rig.engage(False)
    rig.step()
    rig.move((1.0, 0.0, 0.0), (2.0, 0.0, 0.0))
    rig.diagnosed("not engaged", since=before)


def test_tare(rig):
    rig.pressed()
    answer = rig.tare()
    assert not answer.success and "not while engaged" in answer.message
    rig.engage(False)
    rig.plant.reset(start(0.005))
    rig.run(0.02)
    answer = rig.tare()
    assert answer.success, answer.message


def calibrated(rig, q):
    """Answer to ~/calibrate_sensor where the robot has stood at q for long enough."""
    for _ in range(20):  # wrenches are best effort
        rig.stands(q, 60)
        answer = rig.calibrate()
        if "readings since then" not in answer.message:
            return answer
    raise AssertionError(answer.message)


def test_the_tool_on_the_sensor_is_found_and_taken_off(rig):
    """With `tare_on_engage: false`, a weight that is not taken off would be contact at once."""
    mass, center = 0.9, np.array([0.01, -0.02, 0.05])
    bias = np.array([0.1, -0.2, 0.05, 3.0, -2.0, 1.0])

    def weight(R):
        force = mass * R.T @ [0.0, 0.0, -9.81]
        return np.concatenate([np.cross(center, force), force]) + bias

    rig.pressed()
    assert "not while engaged" in rig.calibrate().message
    assert "not while engaged" in rig.forget().message
    rig.engage(False)
    rig.weight = weight
    try:
        first = start(0.05)
        answer = calibrated(rig, first)
        assert answer.success and "poses: 1; one direction of gravity" in answer.message
        answer = rig.calibrate()  # no reading counts twice
        assert not answer.success and "are needed" in answer.message
        answer = calibrated(rig, first + [0, 0, 0, 0, 0, 1.0, 0])
        assert answer.success and "poses: 2; two directions" in answer.message
        for turn in ([0, 0, 0, 0, 1.2, 0.6, 0], [0, 0, 0, 0, -1.2, 0.9, 0], [0, 0, 0, 0, 0.0, -1.2, 0]):
            answer = calibrated(rig, first + turn)
            assert answer.success, answer.message
        assert "taken off: mass 0.9 kg" in answer.message and "(0.01, -0.02, 0.05) m" in answer.message
        rig.stands(first + [0, 0, 0, 0, 0.3, 0.2, 0], 5)
        assert rig.tare().success
        found = rig.tare().message
        assert np.abs([float(x) for x in found.split("[")[1].rstrip("]").split(",")]).max() < 0.01, found
        (result,) = rig.ros.set_parameters(rig.node.name, tare_on_engage=False)
        assert result.successful
        rig.pressed()
        rig.engage(False)
        assert rig.forget().success
        rig.stands(first, 5)
        found = rig.tare().message
        np.testing.assert_allclose(
            [float(x) for x in found.split("[")[1].rstrip("]").split(",")],
            weight(rig.plant.data.body(pressing.TOOL).xmat.reshape(3, 3)),
            atol=0.01,
        )
    finally:
        rig.weight = None
        rig.ros.set_parameters(rig.node.name, tare_on_engage=True)
        rig.engage(False)
        rig.forget()


def test_a_sphere(rig):
    _, ball, _, _, center = pressing.scene(pressing.Case(surface=pressing.Sphere(0.3)))
    table, place = rig.plant, [float(x) for x in pressing.scene(pressing.Case()).position]
    rig.pressed()
    change(rig, surface="sphere", surface_radius=0.3, task_position=[float(x) for x in center])
    rig.plant, rig.center = ball, np.array(center)
    try:
        rig.pressed()
        with rig.task() as told:
            assert error_on_a_circle(rig, told) < 1e-3, rig.node.log[-2000:]
        np.testing.assert_allclose(rig.forces[-3000:], 10.0, rtol=0.02)
    finally:
        change(rig, surface="plane", task_position=place)
        rig.plant, rig.center = table, None


def change(rig, **parameters):
    """Parameters of which another task is built, aside."""
    before = rig.node.log.count("back to holding")
    results = rig.ros.set_parameters(rig.node.name, **parameters)
    assert [r.successful for r in results] == [True] * len(parameters), results
    wait_until(lambda: rig.step() is not None and rig.node.log.count("back to holding") > before, "another task")


def test_table_moves_while_it_runs_and_other_directions_are_built_aside(rig):
    rig.pressed()
    x, y, z = (float(v) for v in pressing.scene(pressing.Case()).position)
    with rig.task() as told:
        (result,) = rig.ros.set_parameters(rig.node.name, task_position=[x, y, z - 0.002])
        assert result.successful
        rig.run(0.1)
        assert abs(told[-1].violations[-1] - 0.002) < 3e-4  # the surface seems violated by so much
        (result,) = rig.ros.set_parameters(rig.node.name, task_position=[x, y, z])
        assert result.successful
        rig.run(0.1)
        change(rig, controlled=["x", "y"])
        assert rig.engage().success
        rig.run(1.0)
        assert list(told[-1].controlled_names) == ["tool.x", "tool.y"]
        assert list(told[-1].constraint_names) == ["surface.normal"]
    np.testing.assert_allclose(rig.forces[-50:], 10.0, rtol=0.03)
    (result,) = rig.ros.set_parameters(rig.node.name, controlled=["x", "y", "z", "z"])
    assert not result.successful and "directions" in result.reason
    (result,) = rig.ros.set_parameters(rig.node.name, kp=[1.0, 2.0, 3.0])
    assert not result.successful and "kp has 3 values for 2 task rows" in result.reason
