# SPDX-License-Identifier: Apache-2.0
"""A Panda of MuJoCo and a table in the test process, in lockstep with a `hybrid_controller` in one of its own."""

from __future__ import annotations

import math
import sys
import time
from contextlib import contextmanager

import numpy as np
from rigs import pressing

from helpers.nodes.ros_nodes import Conversation, SimulatedClock, joint_state, others_run, wait_until
from helpers.nodes.torque_talk import in_lockstep

TASK_ROWS = ["tool.rx", "tool.ry", "tool.rz", "tool.x", "tool.y"]
MS = 1_000_000
AHEAD = 0.3  # s: trajectories begin so much later, and are planned by then
SETTLED = 100  # readings that are alike while it presses
WAITS = 0.05  # s of ours for each millisecond of the robot's, until then
PARAMETERS = {
    "robot_description": pressing.robots()["panda"].read_text() if "panda" in pressing.robots() else "",
    "locked_joints": ["panda_finger_joint1"],
    "tool_frame": pressing.TOOL,
    "tool_orientation": [math.pi, 0.0, 0.0],
    "contact_offset": pressing.BALL,
    "desired_force": [10.0],
    "kp": [900.0],
    "kd": [60.0],
    "posture_kp": 25.0,
    "posture_kd": 10.0,
    "contact_force": 0.5,
    "use_sim_time": True,
    "state_timeout": 0.0,
    "plausible_velocity": 0.0,  # tests put the robot elsewhere
    "effort_rate_limits": [0.0],
    "transition_time": 0.0,
}


class Rig(Conversation):
    """The plant in this process, in lockstep with the node: states and wrench out, efforts in."""

    recent = 5
    nodes = 1

    def __init__(self, ros, node, plant, height):
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_srvs.srv import SetBool, Trigger
        from trajectory_msgs.msg import JointTrajectory

        super().__init__(ros, node)
        self.clock = SimulatedClock(ros, self.nodes)
        self.plant = plant
        self.height = height  # of the surface
        self.center = None  # of a sphere
        self.states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.wrenches = ros.publisher(WrenchStamped, "wrench", qos_profile_sensor_data)
        self.desired = ros.publisher(WrenchStamped, f"{node.name}/desired_wrench")
        self.trajectories = ros.publisher(JointTrajectory, f"{node.name}/joint_trajectory")
        self.efforts = ros.collect(JointState, f"{node.name}/effort", 1000)
        self._engage = ros.client(SetBool, f"{node.name}/engage")
        self.tare = ros.client(Trigger, f"{node.name}/tare")
        self.calibrate = ros.client(Trigger, f"{node.name}/calibrate_sensor")
        self.forget = ros.client(Trigger, f"{node.name}/forget_calibration")
        self.time = 1_000_000_000
        self.forces = []
        self.sensor_works = True
        self.soft = None  # a plant whose surface gives, in the other's place
        self.bias, self.noise = np.zeros(3), 0.0  # of the sensor, N
        self.weight = None  # (m, f) of a tool at the sensor's orientation; None: there is none
        self._rng = np.random.default_rng(0)
        self._reading = WrenchStamped()
        self._reading.header.frame_id = pressing.TOOL
        self._state = joint_state(pressing.ARM)

    @contextmanager
    def task(self):
        """States of the task, while they are asked for: node and test need a third more for a step with them."""
        from rbd_dynamics_interfaces.msg import TaskState

        there_were = self.ros.forget(sys.maxsize)
        told = self.ros.collect(TaskState, f"{self.node.name}/task_state", 1000)
        wait_until(lambda: self.step() is not None and told, "the state of the task")
        yield told
        self.ros.forget(there_were)

    def stamp(self, message):
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time, 1_000_000_000)
        return message

    def wrench(self, force, frame=pressing.TOOL, **parts):
        """Of a force on the tool along the surface's normal, in the tool's axes."""
        from geometry_msgs.msg import WrenchStamped

        message = self.stamp(WrenchStamped())
        message.header.frame_id = frame
        numbers = self._in_the_tool(force) if np.isfinite(force) else np.full(3, float(force))
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = numbers.tolist()
        for name, value in parts.items():
            setattr(message.wrench.force, name, value)
        return message

    def _in_the_tool(self, force):
        if self.soft is None:
            return float(force) * (self.normal() @ self.plant.data.body(pressing.TOOL).xmat.reshape(3, 3))
        return float(force) * (self.soft.normal @ self.soft.robot.pose(self.soft.q, pressing.TOOL)[:3, :3])

    def reading(self, force):
        """What the sensor tells of it; the same message each time, as it is sent at once."""
        message = self.stamp(self._reading)
        if self.soft is None:
            felt = self._in_the_tool(force)
        else:  # with friction
            felt = self.soft.force @ self.soft.robot.pose(self.soft.q, pressing.TOOL)[:3, :3]
        felt = felt + self.bias
        if self.noise:
            felt = felt + self.noise * self._rng.standard_normal(3)
        torque = np.zeros(3)
        if self.weight is not None:
            weight = self.weight(self.plant.data.body(pressing.TOOL).xmat.reshape(3, 3))
            torque, felt = weight[:3], felt + weight[3:]
        for vector, numbers in ((message.wrench.torque, torque), (message.wrench.force, felt)):
            vector.x, vector.y, vector.z = numbers.tolist()
        return message

    def state(self, q, v):
        """What the joints tell; the same message each time."""
        self._state.position, self._state.velocity = q.tolist(), v.tolist()
        return self.stamp(self._state)

    def stands(self, q, steps):
        """The robot stands still at q, whatever the efforts are, and touches nothing."""
        self.plant.reset(q)
        for _ in range(steps):
            self.clock.tell(self.time)
            self.wrenches.publish(self.reading(0.0))
            in_lockstep(self.states, self.state(q, 0.0 * q), self.efforts, self.node)
            self.time += MS

    def normal(self):
        """Of the surface where the tool is."""
        if self.center is None:
            return self.plant.data.geom("surface").xmat.reshape(3, 3)[:, 2]
        away = self.plant.data.body(pressing.TOOL).xpos - self.center
        return away / np.linalg.norm(away)

    def step(self):
        """One millisecond; the efforts that answered."""
        plant = self.plant if self.soft is None else self.soft
        q, v = self.plant.state if self.soft is None else (self.soft.q, self.soft.v)
        force = plant.normal_force
        self.forces.append(force)
        self.clock.tell(self.time)
        if self.sensor_works:
            self.wrenches.publish(self.reading(force))
        tau = in_lockstep(self.states, self.state(q, v), self.efforts, self.node)
        if self.soft is None:
            self.plant.advance(tau, 1e-3)
        else:
            self.soft.advance(tau)
        self.time += MS
        return tau

    def run(self, seconds):
        for _ in range(round(1000 * seconds)):
            self.step()
        return self

    def run_until_it_stops(self, seconds):
        """As long as it takes until the controller has stopped by itself, and then a little; at most so long."""
        stopped = f"[{self.node.name}]: hold: "
        before = self.node.log.count(stopped)
        for _ in range(round(10 * seconds)):
            self.run(0.1)
            if self.node.log.count(stopped) > before:
                return self.run(0.02)
        raise AssertionError(f"has not stopped within {seconds:g} s")

    def engage(self, on=True):
        return self._engage(data=on)

    def move(self, *points, names=TASK_ROWS):
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        message = JointTrajectory(joint_names=names)
        for t, x, y in points:
            point = JointTrajectoryPoint(positions=[0.0, 0.0, 0.0, x, y][-len(names) :])
            point.time_from_start.sec, point.time_from_start.nanosec = int(t), round(1e9 * (t % 1.0))
            message.points.append(point)
        if len(points) > 1:
            return self.send(message)
        self.trajectories.publish(self.stamp(message))
        others_run(0.1)

    def send(self, message):
        """A trajectory that begins in a while: states go on until then, and slowly until it is planned."""
        begin = self.time + round(1e9 * AHEAD)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin, 1_000_000_000)
        said = self._answers()
        self.trajectories.publish(message)
        while self.time < begin:
            self.step()
            if self._answers() == said:
                time.sleep(WAITS)

    def _answers(self):
        """How many trajectories were taken or refused."""
        return sum(self.node.log.count(words) for words in ("trajectory of ", "trajectory refused"))

    def pressed(self, height=0.001):
        """Pressing with 10 N, from above the surface, whatever was before; where it does already, nothing is done."""
        if self.forces and self.sensor_works and self.engage().message == "press":
            for _ in range(6):
                if np.allclose(self.run(0.05).forces[-50:], 10.0, rtol=0.02):
                    return self
        self.sensor_works = True
        self.engage(False)
        self.plant.reset(start(height))
        for _ in range(40):  # what the sensor felt before may have to fade
            self.run(0.05)
            answer = self.engage()
            if answer.success:
                break
        assert answer.success, answer.message
        for _ in range(32):
            self.run(0.05)
            if len(self.forces) > SETTLED and np.allclose(self.forces[-SETTLED:], 10.0, rtol=0.002):
                break
        np.testing.assert_allclose(self.forces[-50:], 10.0, rtol=0.02)
        return self

    def robot_height(self):
        """Of the tool, m."""
        return float(self.plant.data.body(pressing.TOOL).xpos[2])


@contextmanager
def pressing_node(ros, **parameters):
    """A rig with the node, the tool 5 mm above the table. parameters: in place of `PARAMETERS`; None: the default."""
    _, plant, _, _, position = pressing.scene(pressing.Case())
    given = PARAMETERS | {"task_position": list(position)} | parameters
    given = {name: value for name, value in given.items() if value is not None}
    with ros.start("hybrid_controller", given) as node:
        rig = Rig(ros, node, plant, position[2])
        plant.reset(start(0.005))
        rig.step()
        yield rig


def start(height):
    """A configuration with the tool so far above the surface."""
    robot, _, _, q, _ = pressing.scene(pressing.Case())
    J, R = robot.jacobian(q, pressing.TOOL), robot.pose(q, pressing.TOOL)[:3, :3]
    return q + np.linalg.pinv(J) @ np.concatenate([np.zeros(3), R.T @ [0.0, 0.0, height]])


def smooth(s):
    return 10 * s**3 - 15 * s**4 + 6 * s**5


def circle(radius, seconds, turns=1.0, points=60):
    """Points of a circle, close enough together for a spline through them."""
    for k in range(points + 1):
        angle = 2 * math.pi * turns * smooth(k / points)
        yield seconds * k / points, radius * (1.0 - math.cos(angle)), radius * math.sin(angle)


def error_on_a_circle(rig, told, turns=1.0):
    """Of 4 cm, at 3 s a turn: how far from it the node tells that the tool is, m. told: as `Rig.task` tells it."""
    rig.move(*circle(0.04, 3.0 * turns, turns))
    worst, count = 0.0, round(3000 * turns)
    for k in range(count):
        rig.step()
        x, y = told[-1].positions[3:5]
        angle = 2 * math.pi * turns * smooth((k + 1) / count)
        worst = max(worst, math.hypot(x - 0.04 * (1.0 - math.cos(angle)), y - 0.04 * math.sin(angle)))
    return worst
