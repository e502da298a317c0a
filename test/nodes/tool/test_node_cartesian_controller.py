# SPDX-License-Identifier: Apache-2.0
"""Node `cartesian_controller` over real DDS, with MuJoCo as the robot: a Panda with a peg."""

from __future__ import annotations

import functools
import math
import time

import numpy as np
import pytest
from helpers.nodes.ros_nodes import (
    PATIENCE,
    Conversation,
    SimulatedClock,
    joint_state,
    needs_ros,
    others_run,
    wait_until,
)
from helpers.nodes.torque_talk import in_lockstep
from scipy.spatial.transform import Rotation

pytest.importorskip("mujoco")
cartesian = pytest.importorskip("rigs.cartesian")

from rigs.cartesian_plant import ARM, FRAME, LENGTH, CartesianPlant, Surroundings  # noqa: E402

pytestmark = [
    *needs_ros,
    pytest.mark.skipif("panda" not in cartesian.robots(), reason="needs the Panda of example-robot-data"),
]
MS = 1_000_000
NAME = "cartesian"
ROOT = "panda_link0"
PARAMETERS = {
    "robot_description": cartesian.robots()["panda"].read_text() if "panda" in cartesian.robots() else "",
    "locked_joints": ["panda_finger_joint1"],
    "tool_frame": FRAME,
    "tool_position": [0.0, 0.0, LENGTH],
    "stiffness": [800.0],
    "rotational_stiffness": [40.0],
    "actuator_bandwidth": 0.0,  # the rig's torques act at once
    "sensor_delay": 0.0,
    "use_sim_time": True,
    "state_timeout": 0.0,
    "plausible_velocity": 0.0,
    "effort_rate_limits": [0.0],
    "transition_time": 0.0,
}


class Rig(Conversation):
    """The plant in this process, in lockstep with the node: states out, efforts in."""

    recent = 5

    def __init__(self, ros, node, plant):
        from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import MultiDOFJointTrajectory

        super().__init__(ros, node)
        self.clock = SimulatedClock(ros)
        self.plant = plant
        self.states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.efforts = ros.collect(JointState, f"{NAME}/effort", 1000)
        self.poses = ros.publisher(PoseStamped, f"{NAME}/target_pose")
        self.twists = ros.publisher(TwistStamped, f"{NAME}/target_twist")
        self.wrenches = ros.publisher(WrenchStamped, f"{NAME}/target_wrench")
        self.stiffness = ros.publisher(Float64MultiArray, f"{NAME}/target_stiffness")
        self.joints = ros.publisher(JointState, f"{NAME}/target_joint")
        self.trajectories = ros.publisher(MultiDOFJointTrajectory, f"{NAME}/cartesian_trajectory")
        self.current = ros.collect(PoseStamped, f"{NAME}/current_pose", 1000)
        self.wanted = ros.collect(PoseStamped, f"{NAME}/wanted_pose", 1000)
        self.time = time.time_ns()
        self.drives = True
        self.measured = ()  # efforts, where the driver reports them

    def step(self):
        """One millisecond; the efforts that answered. While the drives are off the brakes hold the robot."""
        q, v = self.plant.state
        self.time += MS
        self.clock.tell(self.time)
        state = joint_state(ARM, q, v, self.measured, stamp=self.time)
        tau = in_lockstep(self.states, state, self.efforts, self.node)
        if len(self.measured):
            self.measured = tau if self.drives else np.zeros(len(ARM))
        if self.drives:
            self.plant.advance(tau, 1e-3)
        return tau

    def runs_well(self):
        """Goes on until a report has no complaint."""
        del self.reports[:]
        try:
            wait_until(lambda: self.run(0.1).well(), "diagnostics without a complaint", 15.0)
        except AssertionError as error:
            said = [(status.name, status.message) for report in self.reports[-3:] for status in report.status]
            raise AssertionError(f"{error}: {said}") from None

    def run(self, seconds):
        for _ in range(round(1000 * seconds)):
            self.step()
        return self

    def until(self, condition, what, seconds=5.0):
        """At most so long, in the time of the rig; and on a slow machine for as long as messages may take."""
        end, latest = self.time + round(1e9 * seconds), time.monotonic() + PATIENCE
        while self.time < end or time.monotonic() < latest:
            self.run(0.01)
            if condition():
                return self
        raise AssertionError(f"waited {seconds:g} s in vain for {what}: {self.tip}\n{self.node.log}")

    @property
    def tip(self):
        return self.plant.tip

    @property
    def turned(self):
        return Rotation.from_matrix(self.plant.data.body(FRAME).xmat.reshape(3, 3))

    def pose(self, place, turn=None, frame=ROOT):
        from geometry_msgs.msg import PoseStamped

        message = PoseStamped()
        message.header.frame_id = frame
        p, o = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = map(float, place)
        o.x, o.y, o.z, o.w = (turn or self.turned).as_quat().tolist()
        return message

    def home(self):
        """Held where it began."""
        self.plant.reset(cartesian.START)
        self.run(0.02)
        self.goes(lambda: self.poses.publish(self.pose(HOME[0], HOME[1])), HOME[0], 1e-3)
        return self

    def goes(self, send, place, near):
        send()
        others_run(0.05)
        return self.until(lambda: np.linalg.norm(self.tip - place) < near, f"the tip at {place}")


HOME = (np.zeros(3), Rotation.identity())


@pytest.fixture(scope="module")
def rig(ros):
    plant = CartesianPlant(Surroundings())
    plant.reset(cartesian.START)
    with ros.start("cartesian_controller", PARAMETERS, name=NAME) as node:
        node.is_active()
        rig = Rig(ros, node, plant)
        global HOME
        HOME = (rig.tip.copy(), rig.turned)
        yield rig


def test_holds_goes_to_poses_and_says_where_it_is(rig):
    before = rig.plant.state[0]
    rig.run(0.1)
    np.testing.assert_allclose(rig.plant.state[0], before, atol=1e-4)
    place, turn = rig.tip + [0.05, -0.05, 0.08], Rotation.from_rotvec([0.0, 0.1, 0.3]) * rig.turned
    rig.goes(lambda: rig.poses.publish(rig.pose(place, turn)), place, 1e-4)
    rig.run(0.3)
    np.testing.assert_allclose((turn.inv() * rig.turned).magnitude(), 0.0, atol=1e-3)
    wait_until(lambda: rig.current, "a pose")
    p = rig.current[-1].pose.position
    np.testing.assert_allclose([p.x, p.y, p.z], rig.tip, atol=1e-4)
    assert rig.current[-1].header.frame_id == ROOT
    wait_until(lambda: rig.wanted and rig.wanted[-1].header.stamp == rig.current[-1].header.stamp, "its wanted pose")
    p, o = rig.wanted[-1].pose.position, rig.wanted[-1].pose.orientation
    np.testing.assert_allclose([p.x, p.y, p.z], place, atol=1e-9)
    np.testing.assert_allclose((turn.inv() * Rotation.from_quat([o.x, o.y, o.z, o.w])).magnitude(), 0.0, atol=1e-7)
    assert rig.wanted[-1].header.frame_id == ROOT
    rig.home()


def test_moves_with_twists_until_they_stop(rig):
    from geometry_msgs.msg import TwistStamped

    rig.home()
    begin = rig.tip.copy()
    message = TwistStamped()
    message.twist.linear.x = 0.1
    for _ in range(5):
        rig.twists.publish(message)
        rig.run(0.1)
    assert 0.015 < rig.tip[0] - begin[0] < 0.06
    rig.run(1.0)
    stopped = rig.tip.copy()
    rig.run(0.1)
    np.testing.assert_allclose(rig.tip, stopped, atol=1e-4)
    assert stopped[0] - begin[0] < 0.11


def test_follows_a_trajectory(rig):
    from geometry_msgs.msg import Transform
    from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

    rig.home()
    for up in (0.004, 0.0):  # that it comes back tells that this was heard: later it would end the trajectory
        place = HOME[0] + [0.0, 0.0, up]
        rig.goes(functools.partial(rig.poses.publish, rig.pose(place, HOME[1])), place, 1e-3)
    message = MultiDOFJointTrajectory(joint_names=[FRAME])
    message.header.frame_id = ROOT
    for k in range(1, 9):
        angle = 2 * math.pi * k / 8
        point, transform = MultiDOFJointTrajectoryPoint(), Transform()
        place = HOME[0] + [0.03 * (1 - math.cos(angle)), 0.03 * math.sin(angle), 0.0]
        transform.translation.x, transform.translation.y, transform.translation.z = place.tolist()
        r = transform.rotation
        r.x, r.y, r.z, r.w = HOME[1].as_quat().tolist()
        point.transforms.append(transform)
        point.time_from_start.nanosec = k * 240_000_000 % 1_000_000_000
        point.time_from_start.sec = k * 240_000_000 // 1_000_000_000
        message.points.append(point)
    said, again = "trajectory of 8 points, 1.9", "trajectory refused: the motion changed while it was being planned"
    asked = rig.node.log.count(again)

    def taken():  # asked for again where the way home ends while it is planned, which takes long on a busy machine
        nonlocal asked
        if rig.node.log.count(again) >= asked:
            asked += 1
            rig.trajectories.publish(message)
        return said in rig.node.log

    rig.until(taken, said)
    path = []
    for _ in range(2100):
        rig.step()
        path.append(rig.tip)
    assert np.ptp(np.array(path)[:, 0]) > 0.05
    np.testing.assert_allclose(path[-1], HOME[0], atol=1e-3)


def test_presses_with_wanted_wrenches_and_is_as_stiff_as_wanted(rig):
    from geometry_msgs.msg import WrenchStamped
    from std_msgs.msg import Float64MultiArray

    rig.home()
    message = WrenchStamped()
    message.wrench.force.z = 16.0
    rig.goes(lambda: rig.wrenches.publish(message), HOME[0] + [0.0, 0.0, 0.02], 1e-3)  # 800 N/m
    rig.stiffness.publish(Float64MultiArray(data=[1600.0] * 3 + [60.0] * 3))
    others_run(0.05)
    rig.until(lambda: abs(rig.tip[2] - HOME[0][2] - 0.01) < 1e-3, "half of the way")
    message.wrench.force.z = 0.0
    rig.goes(lambda: rig.wrenches.publish(message), HOME[0], 1e-3)
    (result,) = rig.ros.set_parameters(NAME, stiffness=[900.0])
    assert result.successful, result.reason


def test_draws_joints_to_a_posture(rig):
    rig.home()
    target = cartesian.START + [0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    elbow = rig.plant.state[0][0]
    rig.joints.publish(joint_state(ARM[:1], target[:1]))
    others_run(0.05)
    rig.until(lambda: rig.plant.state[0][0] > elbow + 0.02, "the first joint")
    np.testing.assert_allclose(rig.tip, HOME[0], atol=2e-3)


def test_bad_wishes_are_refused_and_change_nothing(rig):
    from geometry_msgs.msg import Quaternion, WrenchStamped
    from std_msgs.msg import Float64MultiArray

    def wrench(force):
        message = WrenchStamped()
        message.wrench.force.x = force
        return message

    rig.run(0.01)
    before = rig.tip
    no_rotation = rig.pose(before)
    no_rotation.pose.orientation = Quaternion(w=0.0)
    for publisher, message, reason in (
        (rig.poses, rig.pose([math.nan, 0.0, 0.0]), "target pose refused: it is not finite"),
        (rig.poses, no_rotation, "its quaternion has the length 0, not one"),
        (rig.poses, rig.pose([0.3, 0.0, 0.3], frame="camera"), "it is in frame 'camera', expected 'panda_link0'"),
        (rig.wrenches, wrench(1e4), "its force is 1e+04 N, more than largest_force (100)"),
        (rig.wrenches, wrench(math.inf), "target wrench refused: it is not finite"),
        (rig.stiffness, Float64MultiArray(data=[100.0] * 5), "target stiffness has 5 numbers"),
        (rig.stiffness, Float64MultiArray(data=[-1.0] * 6), "a negative spring"),
        (rig.stiffness, Float64MultiArray(data=[1e4] * 6), "of translations, more than largest_stiffness (5000)"),
        (rig.joints, joint_state(ARM[3:4], [0.5]), "0.5 of joint 'panda_joint4' is beyond its limits"),
        (rig.joints, joint_state(ARM[:1], [0.1], stamp=1), "target joint refused: it was due"),
        (rig.joints, joint_state(["panda_joint9"], [0.0]), "'panda_joint9' is not one of"),
    ):
        publisher.publish(message)
        rig.until(lambda said=reason: said in rig.node.log, reason)
    rig.diagnosed("'panda_joint9' is not one of")
    np.testing.assert_allclose(rig.tip, before, atol=1e-3)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"stiffness": [1.0, 2.0]}, "stiffness has 2 values"),
        ({"path_tolerance": [0.1, 0.2]}, "path_tolerance has 2 values"),
        ({"tool_position": [0.0, 1.0]}, "must have 3 numbers"),
        (
            {"law": "operational_space", "stiffness": [1e5], "actuator_bandwidth": 30.0, "sensor_delay": 0.005},
            "is unstable with actuators of 30 Hz",
        ),
        ({"rotational_stiffness": [1e5]}, "N m/rad would be stable. Joint 'panda_joint7' has only 0.0067 kg m^2"),
        ({"actuator_bandwidth": 30.0, "sensor_delay": 0.005}, "a rotational stiffness of 22 N m/rad would be stable"),
        ({"workspace_lower": [1.0, 1.0, 1.0], "workspace_upper": [0.0, 0.0, 0.0]}, "above"),
        ({"posture": [0.0]}, "posture' has 1 values"),
        ({"posture": [9.0, *[0.0] * 6]}, "9 of joint 'panda_joint1' is beyond its limits"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_as_a_whole(rig, values, reason):
    answer = rig.ros.set_together(NAME, **values)
    assert not answer.successful
    assert reason in answer.reason, answer.reason
    rig.run(0.01)


def test_a_workspace_without_the_tool_is_diagnosed(rig):
    rig.home()
    (result,) = rig.ros.set_parameters(NAME, workspace_lower=[1.0, -1.0, -1.0])
    assert result.successful, result.reason
    rig.run(0.1)
    rig.diagnosed("the tool is outside its workspace: x 0.")
    (result,) = rig.ros.set_parameters(NAME, workspace_lower=[-10.0, -10.0, -10.0])
    assert result.successful, result.reason
    rig.runs_well()


def test_a_target_beyond_reach_is_not_reached_and_said(rig):
    rig.home()
    limits = np.array([2.175] * 4 + [2.61] * 3)
    rig.poses.publish(rig.pose(HOME[0] * [2.0, 1.0, 1.5], HOME[1]))
    others_run(0.05)
    fastest, said = 0.0, "the tool does not reach its target"
    for _ in range(9000):
        rig.step()
        fastest = max(fastest, float((np.abs(rig.plant.state[1]) / limits).max()))
        if said in rig.node.log:
            break
    assert said in rig.node.log and fastest <= 0.7
    rig.run(2.0)
    assert np.abs(rig.plant.state[1]).max() < 0.01
    rig.diagnosed(said)
    rig.goes(lambda: rig.poses.publish(rig.pose(*HOME)), HOME[0], 1e-3)


def test_drives_that_are_off_are_no_command_and_taken_over_without_a_step(rig):
    """Meanwhile the tool is moved by hand, by 0.15 m, and a target is refused."""
    rig.home()
    rig.measured = np.zeros(len(ARM))
    try:
        rig.run(1.0).runs_well()
        rig.drives = False
        rig.run(0.3)
        rig.diagnosed("not in command: measured efforts no longer follow")
        before = rig.tip
        rig.plant.reset(rig.plant.state[0] + [0.2, 0.2, 0.0, 0.4, 0.0, 0.0, 0.0])
        assert np.linalg.norm(rig.tip - before) > 0.15
        rig.poses.publish(rig.pose(*HOME))
        rig.run(0.1)
        rig.diagnosed("target refused: not in command")
        rig.drives, here = True, rig.tip.copy()
        fastest = 0.0
        for _ in range(1000):
            rig.step()
            fastest = max(fastest, float(np.abs(rig.plant.state[1]).max()))
        assert "in command again" in rig.node.log
        assert fastest < 0.02 and np.linalg.norm(rig.tip - here) < 2e-3
    finally:
        rig.drives, rig.measured = True, ()
    rig.goes(lambda: rig.poses.publish(rig.pose(*HOME)), HOME[0], 1e-3)


def test_stiffness_that_rises_from_zero_holds_the_tool_where_it_is(rig):
    """It is led by hand along what has none, by topic or by parameter, with the elbow; the other directions stay."""
    from std_msgs.msg import Float64MultiArray

    def by_topic(along, about):
        rig.stiffness.publish(Float64MultiArray(data=[along, along, 800.0, about, about, about]))
        others_run(0.05)

    def by_parameter(along, about):
        for result in rig.ros.set_parameters(NAME, stiffness=[along, along, 800.0], rotational_stiffness=[about]):
            assert result.successful, result.reason

    rig.home()
    for change, turn in ((by_topic, [0.15, 0, 0, 0, 0.05, 0, 0.1]), (by_parameter, [-0.15, 0, 0.1, 0, 0, 0, -0.1])):
        change(0.0, 0.0)
        rig.run(0.5)
        begin, there, said = rig.tip, rig.plant.state[0] + turn, rig.node.log.count("while it was held")
        for _ in range(150):
            q, v = rig.plant.state
            rig.plant.reset(q + 0.02 * (there - q))
            rig.step()
        rig.plant.reset(there)
        rig.step()
        here = rig.tip
        assert 0.02 < np.linalg.norm((here - begin)[:2]) and rig.node.log.count("while it was held") == said
        change(800.0, 40.0)
        fastest = max(float(np.abs(rig.run(0.01).plant.state[1]).max()) for _ in range(40))
        assert np.linalg.norm((rig.tip - here)[:2]) < 5e-3 and fastest < 0.2, (rig.tip - here, fastest)
    by_parameter(800.0, 40.0)
    rig.goes(lambda: rig.poses.publish(rig.pose(*HOME)), HOME[0], 1e-3)


def test_another_law_is_built_aside_and_taken_over_without_a_jolt(rig):
    from std_msgs.msg import Float64MultiArray

    rig.home()
    (result,) = rig.ros.set_parameters(NAME, law="operational_space", stiffness=[400.0], rotational_stiffness=[400.0])[
        :1
    ]
    assert result.successful, result.reason
    before = rig.node.log.count("ready for")
    for _ in range(3000):
        rig.run(0.01)
        if rig.node.log.count("ready for") > before:
            break
    tip = rig.tip
    rig.run(0.2)
    np.testing.assert_allclose(rig.tip, tip, atol=2e-3)
    # its stiffness has to be stable with the actuators: by topic as by parameter
    result, _ = rig.ros.set_parameters(NAME, actuator_bandwidth=10.0, sensor_delay=0.005)
    assert result.successful, result.reason
    rig.stiffness.publish(Float64MultiArray(data=[4900.0] * 3 + [400.0] * 3))
    said = "target stiffness refused: 4900 1/s^2 with 140 1/s of tool.x is unstable with actuators of 10 Hz"
    rig.until(lambda: said in rig.node.log, said)
    rig.run(0.2)
