# SPDX-License-Identifier: Apache-2.0
"""Robots on a floating base: kinematics, manipulator form and Hamel's equations (theory.md section 5; source 004).

The package's base velocity is the body twist (w, v). Source 004 has the base's velocity rdot in world
axes, then the body's w, and scalar-first quaternions; here quaternions are (x, y, z, w). Its K(q),
from v to the velocities of all bodies, is G xi of `stacked`, and its M = K^T Mbar K `congruence_sum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.model.joints import Floating, JointKind, Planar, Spherical
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import hat, quaternion_attitude, rotation_from_quaternion
from rbd_dynamics.theory.closed_forms.arguments import configuration, velocity
from rbd_dynamics.theory.closed_forms.lagrange import mass_matrix_derivatives, structure_constants

Array = NDArray[np.float64]


# --- kinematics -----------------------------------------------------------------------------------


def kinematics_jacobian(model: Model, q: ArrayLike) -> Array:
    """E (nq, nv) with qdot = E v: G(Q) / 2 for quaternions, R for a base position, 1 for coordinates.

    Source: source 004, the kinematics Jacobian; v = E^+ qdot turns back (w = 2 G^T Qdot) for unit
    quaternions. Other kinds than the source's say it themselves (`JointKind.rates`).
    """
    q = configuration(model, q)
    E = np.zeros((model.nq, model.nv))
    for joint in model.joints:
        rows = slice(joint.q_index, joint.q_index + joint.kind.nq)
        columns = slice(joint.v_index, joint.v_index + joint.kind.nv)
        E[rows, columns] = _joint_kinematics(joint.kind, q[rows])
    return E


def configuration_rate(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """qdot (nq) = E v. To move q itself use `Model.integrate`, which stays on the group."""
    return kinematics_jacobian(model, q) @ velocity(model, v)


def _joint_kinematics(kind: JointKind, q: Array) -> Array:
    if type(kind) is Spherical:
        return 0.5 * quaternion_attitude(q)
    if type(kind) is Floating:
        E = np.zeros((7, 6))
        E[:3, 3:] = rotation_from_quaternion(q[3:])
        E[3:, :3] = 0.5 * quaternion_attitude(q[3:])
        return E
    if type(kind) is Planar:
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.array([kind.rates(q.tolist(), unit)[0] for unit in np.eye(kind.nv).tolist()], dtype=float).T


# --- manipulator form -----------------------------------------------------------------------------


class ManipulatorForm(NamedTuple):
    """M a + C v + N = B u + J^T F at one state, v with the base's body twist (source 004, last equation)."""

    mass_matrix: Array  # M (nv, nv)
    coriolis_matrix: Array  # C (nv, nv), Mdot - 2 C skew-symmetric
    gravity: Array  # N (nv)
    input_matrix: Array  # B (nv, inputs), selects the actuated degrees of freedom

    def acceleration(self, v: ArrayLike, u: ArrayLike, *, force: ArrayLike = 0.0) -> Array:
        """a (nv) under the actuators' u (inputs) and any other generalised force (nv), such as J^T F."""
        v, u = np.asarray(v, dtype=float), np.asarray(u, dtype=float)
        rest = self.input_matrix @ u + np.asarray(force) - self.coriolis_matrix @ v - self.gravity
        return np.linalg.solve(self.mass_matrix, rest)


def manipulator_form(
    robot: Robot, q: ArrayLike, v: ArrayLike, *, actuated: Sequence[str] | None = None
) -> ManipulatorForm:
    """The four matrices. actuated: names of joints; default all but floating ones. KeyError: unknown joint."""
    model = robot.model
    joints = [joint for joint in model.joints if not isinstance(joint.kind, Floating)]
    if actuated is not None:
        joints = [model.joint(name) for name in actuated]
    dofs = [dof for joint in joints for dof in range(joint.v_index, joint.v_index + joint.kind.nv)]
    return ManipulatorForm(
        robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity(q), np.eye(model.nv)[:, dofs]
    )


# --- Hamel's equations ----------------------------------------------------------------------------


class HamelTerms(NamedTuple):
    """Left-hand sides of source 004's equations (1) to (4): the generalised forces of a motion."""

    force: Array  # (1): on the base (3), axes in which q has its position
    torque: Array  # (2): of the joints (nv - 6)
    angular_momentum: Array  # (3): l = dL/dw of the base (3), body axes
    moment: Array  # (4): on the base (3), body axes


def hamel_equations(robot: Robot, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> HamelTerms:
    """The forces of a motion (q, v, a) from the Lagrangian L(q, nu) alone, nu = (rdot, w, joints' v).

        (1)  d/dt dL/drdot - dL/dr                             (3)  l = dL/dw
        (2)  d/dt dL/dthetadot - dL/dtheta                     (4)  ldot + w x l - G(Q)^T dL/dQ / 2

    Independent of the recursions: partial derivatives of M are those of the bracket formula. Joints
    of `theta` that are groups have their own -c^m_ki v_k dL/dv_m in (2), as w x l is in (4). They
    agree with inverse dynamics tau: (4) is tau[:3], (1) is R tau[3:6], (2) is tau[6:].
    Raises ValueError unless the first joint, and no other on the world, is floating.
    """
    model = robot.model
    roots = [body.joint for body in model.bodies if body.parent == WORLD]
    if len(roots) != 1 or not isinstance(roots[0].kind, Floating) or roots[0].v_index != 0:
        raise ValueError("Hamel's equations are for a robot on one floating base")
    q, v, a = configuration(model, q), velocity(model, v), velocity(model, a, "a")
    nv, base, turn = model.nv, slice(3, 6), slice(0, 3)  # of v = (w, R^T rdot, ...)
    R = rotation_from_quaternion(q[3:7])

    # v = K nu, with nu in the order (w, rdot, ...); K turns with w only
    K = np.eye(nv)
    K[base, base] = R.T
    dK = np.zeros((nv, nv, nv))  # the direction first
    dK[turn, base, base] = [-hat(axis) @ R.T for axis in np.eye(3)]
    nu = np.linalg.solve(K, v)
    Kdot = np.einsum("k,kij->ij", v, dK)
    nudot = np.linalg.solve(K, a - Kdot @ nu)

    # kinetic energy nu^T Mbar nu / 2 and its derivatives along the directions of v
    rotors = np.array(rotor_inertias(model))
    M = robot.mass_matrix(q) - np.diag(rotors)
    dM = mass_matrix_derivatives(robot, q).transpose(2, 0, 1)
    Mbar = K.T @ M @ K
    half = np.swapaxes(dK, 1, 2) @ (M @ K)
    dMbar = K.T @ dM @ K + half + np.swapaxes(half, 1, 2)
    momentum = Mbar @ nu  # dL/dnu; equation (3) in its first rows
    rate = Mbar @ nudot + np.einsum("k,kij,j->i", v, dMbar, nu)
    slope = 0.5 * np.einsum("kij,i,j->k", dMbar, nu, nu)

    # potential energy -m g . c, and m cdot is the linear momentum
    slope += np.array(model.gravity) @ robot.centroidal_momentum_matrix(q)[3:]
    slope = K.T @ slope  # along the directions of nu

    # groups: -c^m_ki v_k dL/dv_m; for the base only its rotation, as rdot is a rate of coordinates
    structure = structure_constants(model, q)
    structure[:6, :6, :6] = 0.0
    structure[:3, :3, :3] = [hat(axis).T for axis in np.eye(3)]
    turned = np.einsum("mki,k,m->i", structure, nu, momentum)
    force = rate - turned - slope + rotors * nudot
    return HamelTerms(force[base], force[6:], momentum[turn], force[turn])
