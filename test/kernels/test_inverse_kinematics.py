# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: what is found is there by an independent library, within limits, or as near as it can be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.models.robots import load_robot, needs_pinocchio, robot_file

import rbd_dynamics as rbd
from rbd_dynamics import Robot

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
ARMS = {"ur5_robot": "tool0", "panda": "panda_hand", "z1": "gripperMover", "baxter": "left_gripper", "kinova": ""}


@needs_pinocchio
@pytest.mark.parametrize("name", ARMS)
def test_random_poses_are_reached_within_the_limits(name):
    import pinocchio as pin

    model = load_robot(name)
    frame = ARMS[name] or model.body_names[-1]
    robot, rng = Robot(model), np.random.default_rng(3)
    wanted = robot.pose(np.array([model.random(rng) for _ in range(60)]), frame)
    found = robot.inverse_kinematics(frame, wanted)
    assert found.reached.all() and found.q.shape == (60, model.nq)
    assert np.all(found.q >= model.lower) and np.all(found.q <= model.upper)
    theirs = pin.buildModelFromUrdf(str(robot_file(name)))
    data, index = theirs.createData(), theirs.getFrameId(frame)
    for q, pose in zip(found.q[:10], wanted):
        pin.framesForwardKinematics(theirs, data, pinocchio_position(theirs, model, q))
        np.testing.assert_allclose(data.oMf[index].homogeneous, pose, atol=3e-6)
    one = robot.inverse_kinematics(frame, wanted[0], found.q[0])
    assert one.reached.shape == () and np.array_equal(one.q, found.q[0])
    near = robot.inverse_kinematics(frame, wanted, np.clip(found.q + 0.02, model.lower, model.upper), restarts=0)
    assert near.reached.mean() > 0.9 and np.median(np.abs(near.q - found.q).max(axis=1)) < 0.1


def pinocchio_position(theirs, model, q):
    """Continuous joints have cosine and sine there."""
    import pinocchio as pin

    found = pin.neutral(theirs)
    for name, position in zip(model.joint_names, q):
        joint = theirs.joints[theirs.getJointId(name)]
        found[joint.idx_q : joint.idx_q + joint.nq] = (
            position if joint.nq == 1 else (np.cos(position), np.sin(position))
        )
    return found


def test_threads_share_it():
    robot = Robot(load_robot("ur5_robot"))
    rng = np.random.default_rng(5)
    wanted = robot.pose(np.array([robot.model.random(rng) for _ in range(40)]), "tool0")
    alone = [robot.inverse_kinematics("tool0", pose).q for pose in wanted]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda pose: robot.inverse_kinematics("tool0", pose).q, wanted))
    np.testing.assert_array_equal(together, alone)


def test_out_of_reach_the_nearest_is_found_and_said():
    model = rbd.load_urdf(
        """<robot name="planar"><link name="base"/>
        <link name="a"><inertial><mass value="1"/>{0}</inertial></link>
        <link name="b"><inertial><mass value="1"/>{0}</inertial></link><link name="tip"/>
        <joint name="one" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/>
          <limit lower="-0.2" upper="0.5" effort="1" velocity="1"/></joint>
        <joint name="two" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
        <joint name="end" type="fixed"><parent link="b"/><child link="tip"/></joint></robot>""".format(
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        )
    )
    robot = Robot(model)
    wanted = np.eye(4)
    wanted[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    wanted[0, 3], wanted[2, 3] = 0.9, 0.1
    found = robot.inverse_kinematics("tip", wanted)
    assert not found.reached
    np.testing.assert_allclose(np.mod(found.q, 2.0 * np.pi), [0.5, 0.5 * np.pi], atol=1e-6)
    assert found.distance == pytest.approx(np.hypot(0.4, 0.1), abs=1e-9) and found.rotation_error < 1e-6
    free = robot.inverse_kinematics("tip", wanted, limits=False)
    assert free.q[0] == pytest.approx(0.9, abs=1e-6) and free.distance == pytest.approx(0.1, abs=1e-9)


def test_what_is_no_pose_and_joints_without_plain_positions_are_refused():
    robot = Robot(load_robot("ur5_robot"))
    with pytest.raises(ValueError, match=r"pose: expected \(\.\.\., 4, 4\), got \(3, 3\)"):
        robot.inverse_kinematics("tool0", np.eye(3))
    for bad in (2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.nan)):
        with pytest.raises(ValueError, match="pose: not a homogeneous matrix"):
            robot.inverse_kinematics("tool0", bad)
    with pytest.raises(KeyError, match="tol0"):
        robot.inverse_kinematics("tol0", np.eye(4))
    with pytest.raises(ValueError, match="joint 'root_joint' is not one of plain positions: lock it"):
        Robot(load_robot("ur5_robot", "floating")).inverse_kinematics("tool0", np.eye(4))
    with pytest.raises(TypeError, match="needs a robot in double precision"):
        Robot(load_robot("ur5_robot"), dtype=np.float32).inverse_kinematics("tool0", np.eye(4))
