# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: what is found is there by an independent library, within limits, or as near as it can be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.optimize
from helpers.models.robots import load_robot, needs_pinocchio, robot_file
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics import Robot
from rbd_dynamics.constraints import placement

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
    for own in model.joints:
        joint, position = theirs.joints[theirs.getJointId(own.name)], q[own.q_index : own.q_index + own.kind.nq]
        continuous = joint.nq == 2
        found[joint.idx_q : joint.idx_q + joint.nq] = (*np.cos(position), *np.sin(position)) if continuous else position
    return found


@pytest.mark.parametrize("frame", ["tool0", ["tool0", "forearm_link"]])
def test_without_machine_code_it_is_the_same(frame):
    """As where llvmlite is not installed: one pose, and a batch."""
    model, q = load_robot("ur5_robot"), np.array([0.1, -1.0, 1.0, 0.2, 0.3, 0.4])
    own, plain = Robot(model), Robot(model, backend="reference")
    names = [frame] if isinstance(frame, str) else frame
    poses = np.stack([own.pose(q + [[0.2], [-0.3]], name) for name in names], axis=1)
    poses = poses[:, 0] if isinstance(frame, str) else poses
    for wanted in (poses, poses[0]):
        found, expected = (robot.inverse_kinematics(frame, wanted, q) for robot in (plain, own))
        assert np.all(found.reached)
        np.testing.assert_allclose(found.q, expected.q, atol=1e-9)


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


def test_what_is_no_pose_and_what_names_no_frame_is_refused():
    robot = Robot(load_robot("ur5_robot"))
    with pytest.raises(ValueError, match=r"pose: expected \(\.\.\., 4, 4\), got \(3, 3\)"):
        robot.inverse_kinematics("tool0", np.eye(3))
    for bad in (2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.nan)):
        with pytest.raises(ValueError, match="pose: not a homogeneous matrix"):
            robot.inverse_kinematics("tool0", bad)
    with pytest.raises(KeyError, match="tol0"):
        robot.inverse_kinematics("tol0", np.eye(4))
    for none in ([], ["tool0", "tool0"]):
        with pytest.raises(ValueError, match="expected different frames, at least one"):
            robot.inverse_kinematics(none, np.zeros((len(none), 4, 4)))
    with pytest.raises(ValueError, match=r"pose: expected \(\.\.\., 2, 4, 4\), got \(4, 4\)"):
        robot.inverse_kinematics(["tool0", "wrist_1_link"], np.eye(4))
    with pytest.raises(TypeError, match="frame: expected the name of a frame, or several of them, not 3"):
        robot.inverse_kinematics(3, np.eye(4))
    with pytest.raises(TypeError, match="needs a robot in double precision"):
        Robot(load_robot("ur5_robot"), dtype=np.float32).inverse_kinematics("tool0", np.eye(4))


TOGETHER = {
    ("baxter", "fixed"): ("left_gripper", "right_gripper"),
    ("solo12", "floating"): ("FL_FOOT", "HR_FOOT"),
    ("talos_reduced", "floating"): ("left_sole_link", "right_sole_link", "gripper_left_base_link"),
}


@needs_pinocchio
@pytest.mark.parametrize(("name", "base"), table(list(TOGETHER), lambda case: case == ("solo12", "floating")))
def test_several_frames_are_brought_to_their_poses_at_once(name, base):
    """Of a floating base, too; where each frame then is says Pinocchio."""
    import pinocchio as pin

    frames = TOGETHER[name, base]
    model = load_robot(name, base)
    robot, rng = Robot(model), np.random.default_rng(2)
    states = np.array([model.random(rng) for _ in range(20)])
    wanted = np.stack([robot.pose(states, frame) for frame in frames], axis=1)
    near = model.integrate(states, 0.1 * rng.normal(size=(20, model.nv)))
    inside = np.clip(near, model.lower, model.upper)
    found = robot.inverse_kinematics(frames, wanted, inside, restarts=5)
    assert found.reached.mean() > 0.9 and found.rotation_error.shape == found.distance.shape == (20, len(frames))
    assert np.all(found.q >= model.lower) and np.all(found.q <= model.upper)
    root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
    theirs = pin.buildModelFromUrdf(str(robot_file(name)), *root)
    data = theirs.createData()
    for q, poses in zip(found.q[found.reached][:5], wanted[found.reached]):
        position = pinocchio_position(theirs, model, q)
        pin.framesForwardKinematics(theirs, data, position)
        for frame, pose in zip(frames, poses):
            np.testing.assert_allclose(data.oMf[theirs.getFrameId(frame)].homogeneous, pose, atol=3e-6)
    one = robot.inverse_kinematics(frames, wanted[0], inside[0], restarts=5)
    assert one.reached.shape == () and one.distance.shape == (len(frames),) and bool(one.reached) == found.reached[0]


def test_a_posture_is_come_near_to_where_the_frame_leaves_a_choice():
    """No motion that keeps the pose, and goes beyond no limit, leads nearer."""
    model = load_robot("panda")
    robot, rng = Robot(model), np.random.default_rng(4)
    wanted = robot.pose(np.array([model.random(rng) for _ in range(40)]), "panda_hand")
    home = model.start_position()
    plain = robot.inverse_kinematics("panda_hand", wanted, home)
    found = robot.inverse_kinematics("panda_hand", wanted, posture=home)
    assert found.reached.all() and found.distance.max() <= 1e-6 and found.rotation_error.max() <= 1e-6
    assert np.all(found.q >= model.lower) and np.all(found.q <= model.upper)
    assert np.all(np.linalg.norm(found.q - home, axis=1) <= np.linalg.norm(plain.q - home, axis=1) + 1e-12)
    gains = []
    for q in found.q:  # the best change by linear programming: first order, within the limits, the pose kept
        J, way = robot.jacobian(q, "panda_hand"), home - q
        bounds = np.stack([np.maximum(model.lower - q, -1.0), np.minimum(model.upper - q, 1.0)], axis=1)
        best = scipy.optimize.linprog(-way, A_eq=J, b_eq=np.zeros(6), bounds=bounds)
        assert best.success
        gains.append(-best.fun)
    assert np.median(gains) < 1e-3 and np.mean(np.array(gains) < 0.01) >= 0.95
    one = robot.inverse_kinematics("panda_hand", wanted[0], posture=home)
    np.testing.assert_allclose(one.q, found.q[0], atol=1e-9)


def test_ball_joints_are_turned():
    builder = rbd.ModelBuilder("balls")
    for k, parent in enumerate((None, "link0", "link1")):
        builder.add_body(
            f"link{k}", parent, rbd.joints.Spherical(), placement=placement((0.0, 0.0, 0.3 * bool(k))),
            mass=1.0, com=(0.0, 0.0, 0.1), inertia=(0.01, 0.0, 0.0, 0.01, 0.0, 0.01),
        )  # fmt: skip
    model = builder.build()
    robot, rng = Robot(model), np.random.default_rng(0)
    wanted = robot.pose(np.array([model.random(rng) for _ in range(20)]), "link2")
    found = robot.inverse_kinematics("link2", wanted)
    assert found.reached.all()
    np.testing.assert_allclose(robot.pose(found.q, "link2"), wanted, atol=2e-6)


def test_held_joints_stay_and_others_that_move_nothing_do():
    """Also where the search begins anew; one that stands beyond its limit is not moved either."""
    model = load_robot("baxter")
    robot, rng = Robot(model), np.random.default_rng(1)
    begin = model.random(rng)
    states = np.array([model.random(rng) for _ in range(20)])
    arm = [k for k, name in enumerate(model.joint_names) if name.startswith("left")]
    shoulder = model.joint("left_s0").q_index
    states[:, shoulder] = begin[shoulder] = model.upper[shoulder] + 0.1
    wanted = robot.pose(states, "left_gripper")
    found = robot.inverse_kinematics("left_gripper", wanted, begin, held=["left_s0"])
    assert found.reached.mean() > 0.9
    others = np.setdiff1d(np.arange(model.nq), [k for k in arm if k != shoulder])
    assert np.all(found.q[:, others] == begin[others])
    one = robot.inverse_kinematics("left_gripper", wanted[0], begin, held=["left_s0"])
    assert one.q[shoulder] == begin[shoulder]
    with pytest.raises(ValueError, match="held: joint 'left_s0' is not in one place in all of q0"):
        robot.inverse_kinematics("left_gripper", wanted, states + rng.random((20, 1)), held=["left_s0"])
    with pytest.raises(KeyError, match="left_s9"):
        robot.inverse_kinematics("left_gripper", wanted, held=["left_s9"])
