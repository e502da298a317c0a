# SPDX-License-Identifier: Apache-2.0
"""A model from MJCF beside MuJoCo's own, with states, torques and matrices carried from one to the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.formats.mjcf_names import Names
from rbd_dynamics.model import Model
from rbd_dynamics.spatial import rotation_from_quaternion

Array = NDArray[np.float64]


class MujocoTwin:
    """`m`, whole, or without what our models leave out and say: tendons' forces, media, and so on."""

    def __init__(self, model: Model, m: Any, *, whole: bool = False) -> None:
        import mujoco

        self.mujoco, self.model, self.m, self.whole = mujoco, model, m, whole
        if not whole:
            _leave_out(m)
        self.d = mujoco.MjData(m)
        bodies = {body.joint.name: body.joint for body in model.bodies}
        names = Names(m)
        self.joints = [bodies.get(names.joint(j)) for j in range(m.njnt)]  # None: held by an equality
        self.held = np.array(m.qpos0)
        for k in range(m.neq):
            if m.eq_type[k] == mujoco.mjtEq.mjEQ_JOINT and (m.eq_obj2id[k] < 0 or not any(m.eq_data[k][1:5])):
                self.held[m.jnt_qposadr[m.eq_obj1id[k]]] += m.eq_data[k][0]

    def move(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Puts MuJoCo there; G and gamma, with which its acceleration is G a + gamma."""
        G, gamma = np.zeros((self.m.nv, self.model.nv)), np.zeros(self.m.nv)
        self.d.qpos[:] = self.held
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

    @property
    def springs(self) -> Array:
        """Their forces where it is; MuJoCo 3.0 has only all passive forces together."""
        if hasattr(self.d, "qfrc_spring"):
            return np.array(self.d.qfrc_spring)
        return self.d.qfrc_passive + self.m.dof_damping * self.d.qvel

    def mass_matrix(self) -> Array:
        columns = np.zeros((self.m.nv, self.m.nv))
        for column, unit in zip(columns, np.eye(self.m.nv)):
            self.mujoco.mj_mulM(self.m, self.d, column, unit)
        return columns

    def mass_matrix_and_bias(self, q: Array, v: Array) -> tuple[Array, Array]:
        """As `Robot.mass_matrix` and `Robot.bias` have them, springs included."""
        G, gamma = self.move(q, v)
        M = self.mass_matrix()
        force = M @ gamma + self.d.qfrc_bias - self.springs
        return G.T @ M @ G, G.T @ force

    def friction_and_bias(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Mass matrix; bias with springs and dampers, with all passive forces if `whole`; levels of dry friction."""
        G, gamma = self.move(q, v)
        M = self.mass_matrix()
        known = hasattr(self.d, "qfrc_spring") and not self.whole  # without it there are no plugins
        passive = self.d.qfrc_spring + self.d.qfrc_damper if known else self.d.qfrc_passive
        off = self.mujoco.mjtDisableBit
        acts = not self.m.opt.disableflags & (off.mjDSBL_FRICTIONLOSS | off.mjDSBL_CONSTRAINT)
        moved = M @ gamma
        if not self.whole:  # a free joint's armature moves along with the body's axes here
            free = [dof + k for dof in self.m.jnt_dofadr[self.m.jnt_type == 0] for k in range(3)]
            moved[free] -= self.m.dof_armature[free] * gamma[free]
        return G.T @ M @ G, G.T @ (moved + self.d.qfrc_bias - passive), acts * np.array(self.m.dof_frictionloss)


def _leave_out(m: Any) -> None:
    tendon = ("stiffness", "damping", "armature", "stiffnesspoly", "dampingpoly", "frictionloss")
    flex = ("edgestiffness", "edgedamping", "stiffness", "bending", "damping")
    for key in (*(f"tendon_{key}" for key in tendon), *(f"flex_{key}" for key in flex)):
        if hasattr(m, key):
            getattr(m, key)[:] = 0.0
    m.opt.density = m.opt.viscosity = 0.0
    m.body_gravcomp[:] = 0.0
    balls = np.flatnonzero(m.jnt_type < 2)
    for key in ("jnt_stiffness", "jnt_stiffnesspoly"):
        if hasattr(m, key):
            getattr(m, key)[balls] = 0.0
    for k in range(len(m.actuator_trntype)):
        if hasattr(m, "actuator_armature") and m.actuator_trntype[k] > 1:
            m.actuator_armature[k] = m.actuator_damping[k] = m.actuator_dampingpoly[k] = 0.0
