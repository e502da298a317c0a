# SPDX-License-Identifier: Apache-2.0
"""A model from MJCF beside MuJoCo's own, with states, torques and matrices carried from one to the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model import Model
from rbd_dynamics.spatial import rotation_from_quaternion

Array = NDArray[np.float64]


class MujocoTwin:
    """`m` without what our models leave out: tendons' forces, media, gravity compensation."""

    def __init__(self, model: Model, m: Any) -> None:
        import mujoco

        self.mujoco, self.model, self.m = mujoco, model, m
        for key in ("stiffness", "damping", "armature", "stiffnesspoly", "dampingpoly", "frictionloss"):
            if hasattr(m, f"tendon_{key}"):
                getattr(m, f"tendon_{key}")[:] = 0.0
        m.opt.density = m.opt.viscosity = 0.0
        m.body_gravcomp[:] = 0.0
        self.d = mujoco.MjData(m)
        bodies = {body.joint.name: body.joint for body in model.bodies}
        names = [m.joint(j).name or f"{m.body(m.jnt_bodyid[j]).name}_joint" for j in range(m.njnt)]
        self.joints = [bodies.get(name) for name in names]  # None: held by an equality

    def move(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Puts MuJoCo there; G and gamma, with which its acceleration is G a + gamma."""
        G, gamma = np.zeros((self.m.nv, self.model.nv)), np.zeros(self.m.nv)
        for j, joint in enumerate(self.joints):
            if joint is None:
                continue
            at, dof = self.m.jnt_qposadr[j], self.m.jnt_dofadr[j]
            own, speed = q[joint.q_index : joint.q_index + joint.kind.nq], slice(joint.v_index, joint.v_index + 6)
            if joint.kind.name == "floating":
                R = rotation_from_quaternion(own[3:])
                self.d.qpos[at : at + 7] = [*own[:3], own[6], *own[3:6]]
                G[dof : dof + 3, joint.v_index + 3 : joint.v_index + 6] = R
                G[dof + 3 : dof + 6, joint.v_index : joint.v_index + 3] = np.eye(3)
                gamma[dof : dof + 3] = R @ np.cross(v[speed][:3], v[speed][3:])
            elif joint.kind.name == "spherical":
                self.d.qpos[at : at + 4] = [own[3], *own[:3]]
                G[dof : dof + 3, joint.v_index : joint.v_index + 3] = np.eye(3)
            else:
                multiplier, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
                self.d.qpos[at] = multiplier * own[0] + offset
                G[dof, joint.v_index] = multiplier
        self.d.qvel[:] = G @ v
        self.mujoco.mj_forward(self.m, self.d)
        return G, gamma

    def mass_matrix(self) -> Array:
        columns = []
        for unit in np.eye(self.m.nv):
            column = np.zeros(self.m.nv)
            self.mujoco.mj_mulM(self.m, self.d, column, unit)
            columns.append(column)
        return np.array(columns).reshape(self.m.nv, self.m.nv)

    def mass_matrix_and_bias(self, q: Array, v: Array) -> tuple[Array, Array]:
        """As `Robot.mass_matrix` and `Robot.bias` have them, springs included."""
        G, gamma = self.move(q, v)
        M = self.mass_matrix()
        force = M @ gamma + self.d.qfrc_bias - self.d.qfrc_spring
        return G.T @ M @ G, G.T @ force
