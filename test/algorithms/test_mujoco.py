# SPDX-License-Identifier: Apache-2.0
"""Dynamics against MuJoCo, which shares neither code nor conventions with us."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close
from helpers.models.robots import load_robot, needs_pinocchio, random_state, robot_file
from helpers.wide import table

from rbd_dynamics import Robot

mujoco = pytest.importorskip("mujoco")
pytestmark = needs_pinocchio

ROBOTS = [
    ("ur5_robot", "fixed"),
    ("panda", "fixed"),  # mimic
    ("double_pendulum_continuous", "fixed"),
    ("xarm7", "fixed"),
    ("z1", "floating"),
    ("solo12", "floating"),
    ("hextilt_flying_arm_5", "floating"),
    ("go2", "floating"),
    ("g1_29dof_rev_1_0", "floating"),
]


class Twin:
    """One of our models in MuJoCo, with v_theirs = T(q) v.

    A free joint there has its linear velocity in the world and its angular one in the body; mimic
    joints are free joints.
    """

    def __init__(self, name, base):
        self.model = load_robot(name, base)
        from rigs.mujoco_plant import bare_description

        spec = mujoco.MjSpec.from_string(bare_description(robot_file(name)))
        if base == "floating":
            spec.worldbody.first_body().add_freejoint(name="root_joint")
        self.mujoco = spec.compile()
        self.mujoco.opt.gravity = self.model.gravity
        self.mujoco.dof_damping[:] = self.mujoco.dof_frictionloss[:] = 0
        self.mujoco.dof_armature[:] = 0
        self.mujoco.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_LIMIT
        self.data = mujoco.MjData(self.mujoco)

    def set(self, q, v):
        """Put their data into our state; returns T."""
        T = np.zeros((self.mujoco.nv, self.model.nv))
        for body in self.model.bodies:
            joint = body.joint
            theirs = self.mujoco.joint(joint.name)
            own = q[joint.q_index : joint.q_index + joint.kind.nq]
            if joint.kind.name == "floating":
                x, y, z, w = own[3:]
                self.data.qpos[:7] = [*own[:3], w, x, y, z]
                R = np.zeros(9)
                mujoco.mju_quat2Mat(R, self.data.qpos[3:7])
                self.R = R.reshape(3, 3)
                T[:3, 3:6], T[3:6, :3] = self.R, np.eye(3)
            else:
                ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
                self.data.qpos[theirs.qposadr[0]] = ratio * own[0] + offset
                T[theirs.dofadr[0], joint.v_index] = ratio
        self.data.qvel[:] = T @ v
        mujoco.mj_forward(self.mujoco, self.data)
        return T

    def rate(self, v):
        """Tdot v: the base's linear velocity turns with it."""
        extra = np.zeros(self.mujoco.nv)
        if self.model.base == "floating":
            extra[:3] = self.R @ np.cross(v[:3], v[3:6])
        return extra

    def mass_matrix(self):
        M = np.eye(self.mujoco.nv)
        for column in np.eye(self.mujoco.nv):
            mujoco.mj_mulM(self.mujoco, self.data, M[np.argmax(column)], column)
        return M


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda case: "-".join(case))
def twin(request):
    return Twin(*request.param)


def test_both_have_the_same_mass_and_joints(twin):
    assert sum(twin.mujoco.body_mass) == pytest.approx(twin.model.mass, rel=1e-12)
    assert twin.mujoco.nv == sum(body.joint.kind.nv for body in twin.model.bodies)


def test_dynamics_agree(twin):
    check_dynamics(twin, "reference")


@pytest.mark.parametrize(("name", "base"), table(ROBOTS, [("panda", "fixed"), ("solo12", "floating")]))
def test_machine_code_agrees(name, base):
    check_dynamics(Twin(name, base), "llvm")


def check_dynamics(twin, backend):
    robot = Robot(twin.model, backend=backend)
    rng = np.random.default_rng(11)
    for _ in range(5):
        q, v, a = random_state(twin.model, rng)
        T = twin.set(q, v)
        M_theirs, bias_theirs = twin.mass_matrix(), np.array(twin.data.qfrc_bias)
        M = T.T @ M_theirs @ T
        bias = T.T @ (bias_theirs + M_theirs @ twin.rate(v))
        assert_close(robot.mass_matrix(q), M, 1e-9)
        assert_close(robot.bias(q, v), bias, 1e-9)
        assert_close(robot.inverse_dynamics(q, v, a), M @ a + bias, 1e-9)
        tau = rng.normal(size=twin.model.nv)
        assert_close(robot.forward_dynamics(q, v, tau), np.linalg.solve(M, tau - bias), 1e-9)


def test_their_forward_dynamics_is_ours(twin):
    """qacc under applied forces; not where a mimic couples joints that are free there."""
    if any(body.joint.mimic for body in twin.model.bodies):
        return
    robot = Robot(twin.model, backend="reference")
    rng = np.random.default_rng(12)
    for _ in range(5):
        q, v, tau = random_state(twin.model, rng)
        T = twin.set(q, v)
        twin.data.qfrc_applied[:] = np.linalg.solve(T.T, tau)
        mujoco.mj_forward(twin.mujoco, twin.data)
        theirs = np.linalg.solve(T, twin.data.qacc - twin.rate(v))
        twin.data.qfrc_applied[:] = 0
        assert_close(robot.forward_dynamics(q, v, tau), theirs, 1e-9)


def test_energies_center_of_mass_and_frames_agree(twin):
    robot = Robot(twin.model, backend="reference")
    twin.mujoco.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    rng = np.random.default_rng(13)
    for _ in range(3):
        q, v, _ = random_state(twin.model, rng)
        T = twin.set(q, v)
        potential, kinetic = twin.data.energy
        assert_close(robot.kinetic_energy(q, v), kinetic, 1e-9)
        assert abs(robot.potential_energy(q) - potential) <= 1e-9 * (1 + abs(potential))
        np.testing.assert_allclose(robot.center_of_mass(q), twin.data.subtree_com[0], atol=1e-9)
        for body in range(1, twin.mujoco.nbody):
            name = twin.mujoco.body(body).name
            if name not in twin.model.frame_names:
                continue
            pose = robot.pose(q, name)
            np.testing.assert_allclose(pose[:3, 3], twin.data.xpos[body], atol=1e-9)
            np.testing.assert_allclose(pose[:3, :3], twin.data.xmat[body].reshape(3, 3), atol=1e-9)
            linear, angular = np.zeros((3, twin.mujoco.nv)), np.zeros((3, twin.mujoco.nv))
            mujoco.mj_jacBody(twin.mujoco, twin.data, linear, angular, body)
            in_body = np.vstack([pose[:3, :3].T @ angular, pose[:3, :3].T @ linear]) @ T
            np.testing.assert_allclose(robot.jacobian(q, name), in_body, atol=1e-8)
