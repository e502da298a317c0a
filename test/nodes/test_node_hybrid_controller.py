# SPDX-License-Identifier: Apache-2.0
"""Node `hybrid_controller` over real DDS, with MuJoCo as the robot: a Panda presses on a table."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from helpers.ros_nodes import Conversation, joint_state, needs_ros, wait_until

pytest.importorskip("mujoco")
pressing = pytest.importorskip("benchmarks.pressing")
pytestmark = [
    *needs_ros,
    pytest.mark.skipif("panda" not in pressing.robots(), reason="needs the Panda of example-robot-data"),
]

TASK_ROWS = ["tool.rx", "tool.ry", "tool.rz", "tool.x", "tool.y"]
MS = 1_000_000
AHEAD = 0.5  # s: trajectories begin so much later, and are planned by then


class Rig(Conversation):
    """The plant in this process, in lockstep with the node: states and wrench out, efforts in."""

    recent = 5

    def __init__(self, ros, node, plant, height):
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_srvs.srv import SetBool, Trigger
        from trajectory_msgs.msg import JointTrajectory

        super().__init__(ros, node)
        self.plant = plant
        self.height = height  # of the surface
        self.center = None  # of a sphere
        self.states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.wrenches = ros.publisher(WrenchStamped, "wrench", qos_profile_sensor_data)
        self.desired = ros.publisher(WrenchStamped, f"{node.name}/desired_wrench")
        self.trajectories = ros.publisher(JointTrajectory, f"{node.name}/joint_trajectory")
        self.efforts = ros.collect(JointState, f"{node.name}/effort", 1000)
        self.task = ros.collect(JointState, f"{node.name}/task_state", 1000)
        self._engage = ros.client(SetBool, f"{node.name}/engage")
        self.tare = ros.client(Trigger, f"{node.name}/tare")
        self.time = 1_000_000_000
        self.forces = []
        self.sensor_works = True

    def stamp(self, message):
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time, 1_000_000_000)
        return message

    def wrench(self, force, frame=pressing.TOOL, **parts):
        """Of a force on the tool, which points down, along the surface's normal."""
        from geometry_msgs.msg import WrenchStamped

        message = self.stamp(WrenchStamped())
        message.header.frame_id = frame
        x, y, z = (float(force) * float(n) if n else 0.0 for n in self.normal() * (1.0, -1.0, -1.0))
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = x, y, z
        for name, value in parts.items():
            setattr(message.wrench.force, name, value)
        return message

    def normal(self):
        """Of the surface where the tool is."""
        if self.center is None:
            return np.array([0.0, 0.0, 1.0])
        away = self.plant.data.body(pressing.TOOL).xpos - self.center
        return away / np.linalg.norm(away)

    def step(self):
        """One millisecond; the efforts that answered."""
        q, v = self.plant.state
        force = self.plant.normal_force
        self.forces.append(force)
        if self.sensor_works:
            self.wrenches.publish(self.wrench(force))
        state = joint_state(pressing.ARM, q, v, stamp=self.time)
        self.states.publish(state)
        begin = again = time.monotonic()
        while not self.efforts or self.efforts[-1].header.stamp != state.header.stamp:
            now = time.monotonic()
            assert now < begin + 5.0, f"waited 5 s in vain for an effort\n{self.node.log}"
            if now > again + 0.3:  # best effort: it may be lost
                self.states.publish(state)
                again = now
            time.sleep(5e-5)
        tau = np.array(self.efforts[-1].effort)
        self.plant.advance(tau, 1e-3)
        self.time += MS
        return tau

    def run(self, seconds):
        for _ in range(round(1000 * seconds)):
            self.step()
        return self

    def engage(self, on=True):
        return self._engage(data=on)

    def move(self, *points, names=TASK_ROWS):
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        message = JointTrajectory(joint_names=names)
        for t, x, y in points:
            point = JointTrajectoryPoint(positions=[0.0, 0.0, 0.0, x, y][-len(names) :])
            point.time_from_start.sec, point.time_from_start.nanosec = int(t), round(1e9 * (t % 1.0))
            message.points.append(point)
        ahead = AHEAD if len(points) > 1 else 0.0
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time + round(1e9 * ahead), 1_000_000_000)
        self.trajectories.publish(message)
        time.sleep(0.1)
        self.run(ahead)

    def pressed(self, height=0.003):
        """Pressing with 10 N, from above the surface, whatever was before."""
        self.sensor_works = True
        self.engage(False)
        self.plant.reset(start(height))
        self.run(0.05)
        answer = self.engage()
        assert answer.success, answer.message
        self.run(1.6)
        np.testing.assert_allclose(self.forces[-50:], 10.0, rtol=0.02)
        return self


def start(height):
    """A configuration with the tool so far above the surface."""
    robot, _, _, q, _ = pressing.scene(pressing.Case())
    J, R = robot.jacobian(q, pressing.TOOL), robot.pose(q, pressing.TOOL)[:3, :3]
    return q + np.linalg.pinv(J) @ np.concatenate([np.zeros(3), R.T @ [0.0, 0.0, height]])


@pytest.fixture(scope="module")
def rig(ros):
    _, plant, _, _, position = pressing.scene(pressing.Case())
    parameters = {
        "robot_description": pressing.robots()["panda"].read_text(),
        "locked_joints": ["panda_finger_joint1"],
        "tool_frame": pressing.TOOL,
        "tool_orientation": [math.pi, 0.0, 0.0],
        "task_position": list(position),
        "contact_offset": pressing.BALL,
        "desired_force": [10.0],
        "kp": [900.0],
        "kd": [60.0],
        "posture_kp": 25.0,
        "posture_kd": 10.0,
        "contact_force": 0.5,
        "state_timeout": 0.0,
    }
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
    begin = len(rig.task)
    draws_a_circle(rig)
    assert len(rig.task) - begin > 2900
    assert list(rig.task[-1].name) == [*TASK_ROWS, "surface.normal"]
    np.testing.assert_allclose(rig.task[-1].effort[-1], 10.0, rtol=0.02)


def draws_a_circle(rig):
    """With at most 1 mm and 2 % of error."""
    rig.move(*circle(0.04, 3.0))
    worst = 0.0
    for k in range(3000):
        rig.step()
        x, y = rig.task[-1].position[3:5]
        angle = 2 * math.pi * smooth(min((k + 1) / 3000, 1.0))
        wanted = 0.04 * (1.0 - math.cos(angle)), 0.04 * math.sin(angle)
        worst = max(worst, math.hypot(x - wanted[0], y - wanted[1]))
    assert worst < 1e-3
    np.testing.assert_allclose(rig.forces[-3000:], 10.0, rtol=0.02)


def smooth(s):
    return 10 * s**3 - 15 * s**4 + 6 * s**5


def circle(radius, seconds, points=60):
    """Points of a circle, close enough together for a spline through them."""
    for k in range(points + 1):
        angle = 2 * math.pi * smooth(k / points)
        yield seconds * k / points, radius * (1.0 - math.cos(angle)), radius * math.sin(angle)


def test_efforts_come_twice_and_alike(rig):
    from std_msgs.msg import Float64MultiArray

    commands = rig.ros.collect(Float64MultiArray, f"{rig.node.name}/commands")
    tau = rig.step()
    wait_until(lambda: commands, "a command")
    np.testing.assert_array_equal(commands[-1].data, tau)
    assert list(rig.efforts[-1].name) == pressing.ARM


def test_desired_force_by_message_and_by_parameter(rig):
    rig.pressed()
    rig.desired.publish(rig.wrench(6.0))
    time.sleep(0.1)
    rig.run(0.8)
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
    rig.pressed()


def test_lost_contact_stops(rig):
    rig.pressed()
    rig.plant.model.geom("surface").pos[2] -= 0.3
    try:
        rig.run(0.3)
        rig.diagnosed("stopped:")
        assert rig.robot_height() > rig.height - 0.05
    finally:
        rig.plant.model.geom("surface").pos[2] += 0.3


Rig.robot_height = lambda self: float(self.plant.data.body(pressing.TOOL).xpos[2])


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
    (rig.wrenches if kind == "wrench" else rig.desired).publish(rig.wrench(**fields))
    rig.run(0.2)
    rig.diagnosed(reason)
    np.testing.assert_allclose(rig.forces[-50:], 10.0, rtol=0.02)  # nothing has changed


def test_bad_trajectories_are_refused(rig):
    rig.pressed()
    rig.move((1.0, 0.0, 0.0), (2.0, 0.0, 0.0), names=["tool.x", "tool.z"])
    rig.diagnosed("'tool.z' is none of tool.rx")
    rig.engage(False)
    rig.step()
    rig.move((1.0, 0.0, 0.0), (2.0, 0.0, 0.0))
    rig.diagnosed("not engaged")


def test_tare(rig):
    rig.pressed()
    answer = rig.tare()
    assert not answer.success and "not while engaged" in answer.message
    rig.engage(False)
    rig.plant.reset(start(0.005))
    rig.run(0.02)
    answer = rig.tare()
    assert answer.success, answer.message


def test_a_sphere(rig):
    _, ball, _, _, center = pressing.scene(pressing.Case(surface=pressing.Sphere(0.3)))
    table, place = rig.plant, [float(x) for x in pressing.scene(pressing.Case()).position]
    rig.pressed()
    change(rig, surface="sphere", surface_radius=0.3, task_position=[float(x) for x in center])
    rig.plant, rig.center = ball, np.array(center)
    try:
        rig.pressed()
        draws_a_circle(rig)
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
    (result,) = rig.ros.set_parameters(rig.node.name, task_position=[x, y, z - 0.002])
    assert result.successful
    rig.run(0.1)
    assert abs(rig.task[-1].position[-1] - 0.002) < 3e-4  # the surface seems violated by so much
    (result,) = rig.ros.set_parameters(rig.node.name, task_position=[x, y, z])
    assert result.successful
    rig.run(0.1)
    change(rig, controlled=["x", "y"])
    assert rig.engage().success
    rig.run(1.0)
    assert list(rig.task[-1].name) == ["tool.x", "tool.y", "surface.normal"]
    np.testing.assert_allclose(rig.forces[-50:], 10.0, rtol=0.03)
    (result,) = rig.ros.set_parameters(rig.node.name, controlled=["x", "y", "z", "z"])
    assert not result.successful and "directions" in result.reason
    (result,) = rig.ros.set_parameters(rig.node.name, kp=[1.0, 2.0, 3.0])
    assert not result.successful and "kp has 3 values for 2 task rows" in result.reason
