# SPDX-License-Identifier: Apache-2.0
"""Mass matrix, its partial derivatives and Christoffel symbols in closed form (theory.md section 3; 001 section 3).

Definitions to check against and to explain with; `Robot` has the fast recursions. With A_li the
adjoint that carries a twist from where joint i's own motion ends to body l, all at the zero
configuration, and M'_l the inertia of body l there, in the world frame,

    M_ij       = sum_l xi_i^T A_li^T M'_l A_lj xi_j                     l outboard of both i and j
    dM_ij/dq_k = sum_l [A_ki xi_i, xi_k]^T A_lk^T M'_l A_lj xi_j + (the same with i and j exchanged)
    Gamma_ijk  = (dM_ij/dq_k + dM_ik/dq_j - dM_kj/dq_i) / 2,   C_ij = sum_k Gamma_ijk v_k

The source writes A_{k-1,i} in the bracket, which fails numerically; A_ki is right. Derivatives by q_k
are along the tangent, as `Model.integrate` moves q. Joints with several degrees of freedom are
covered: d(A_li xi_i) is the bracket for k strictly outboard of i, and the joint's own dS for k in the same joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.model.model import Body, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import ad, adjoint, pose_inverse
from rbd_dynamics.spatial.rank import pseudoinverse, size_of
from rbd_dynamics.theory.closed_forms.arguments import configuration, velocity
from rbd_dynamics.theory.closed_forms.matrices import add_columns, as_columns, inertia_matrices, motion_of
from rbd_dynamics.theory.closed_forms.product_of_exponentials import PoeKinematics, joint_screws

Array = NDArray[np.float64]


class BodyTerms(NamedTuple):
    """What one body l adds to the sums, over the k columns of all joints that move it."""

    dofs: NDArray[np.intp]  # (k)
    joint: NDArray[np.intp]  # (k) number of the joint on the path, from the base
    inertia: Array  # M'_l (6, 6)
    screws: Array  # A_li xi_i (6, k)
    own_rates: Array  # A_li dxi_i/dq_j for i and j in the same joint (6, k, k)

    def derivatives(self) -> Array:
        """d(A_li xi_i)/dq_k (6, k, k), the direction last."""
        # A_lk [A_ki xi_i, xi_k] = [A_li xi_i, A_lk xi_k]: Ad preserves brackets
        brackets = np.einsum("iab,bk->aik", ad(self.screws.T), self.screws)
        outboard = self.joint[:, None] < self.joint[None, :]
        return np.where(outboard, brackets, 0.0) + self.own_rates


def mass_matrix(robot: Robot, q: ArrayLike) -> Array:
    """M (nv, nv) by the sum xi_i^T A_li^T M'_l A_lj xi_j, with rotor inertia."""
    M = np.diag(rotor_inertias(robot.model)).astype(float)
    for body in body_terms(robot, q):
        own = body.screws.T @ body.inertia @ body.screws
        np.add.at(M, np.ix_(body.dofs, body.dofs), own)
    return M


def congruence_sum(robot: Robot, q: ArrayLike) -> Array:
    """M (nv, nv) = sum_i J_i^T M_i J_i with the bodies' own Jacobians and inertias, and rotor inertia.

    J_i = Ad_{g_i(0)^-1} [A_i1 xi_1 ... A_ii xi_i 0 ... 0] (001 section 3).
    """
    poe = PoeKinematics(robot.model)
    M = np.diag(rotor_inertias(robot.model)).astype(float)
    inertias = inertia_matrices(robot.inertial_parameters)
    for body, home, inertia in zip(body_terms(robot, q), poe.home, inertias):
        J = np.zeros((6, robot.model.nv))
        add_columns(J, body.dofs.tolist(), adjoint(pose_inverse(home)) @ body.screws)
        M += J.T @ inertia @ J
    return M


def mass_matrix_derivatives(robot: Robot, q: ArrayLike) -> Array:
    """dM_ij/dq_k (nv, nv, nv) by the bracket formula, the direction k last."""
    nv = robot.model.nv
    dM = np.zeros((nv, nv, nv))
    for body in body_terms(robot, q):
        half = np.einsum("aik,aj->ijk", body.derivatives(), body.inertia @ body.screws)
        np.add.at(dM, np.ix_(body.dofs, body.dofs, body.dofs), half + half.transpose(1, 0, 2))
    return dM


def christoffel_symbols(robot: Robot, q: ArrayLike) -> Array:
    """Gamma_ijk (nv, nv, nv), of the first kind: the Coriolis torque is sum_jk Gamma_ijk v_j v_k.

    Symmetric in j and k for joints with coordinates. For joint groups, whose velocities are not
    rates of coordinates, Koszul's formula adds the structure constants c of the joint,
    (c_kji - c_kij - c_jik) / 2 with c_kji = [e_k, e_j] . M e_i, and then C stays the one with
    Mdot - 2 C skew. Rotor inertia is constant and adds nothing.
    """
    model = robot.model
    dM = mass_matrix_derivatives(robot, q)
    Gamma = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0))
    structure = structure_constants(model, q)
    if structure.any():
        M = mass_matrix(robot, q) - np.diag(rotor_inertias(model))
        c = np.einsum("mkj,mi->kji", structure, M)  # c_kji
        Gamma += 0.5 * (np.einsum("kji->ijk", c) - np.einsum("kij->ijk", c) - np.einsum("jik->ijk", c))
    return Gamma


def coriolis_matrix(robot: Robot, q: ArrayLike, v: ArrayLike) -> Array:
    """C (nv, nv) = sum_k Gamma_ijk v_k: Mdot - 2 C is skew-symmetric."""
    return christoffel_symbols(robot, q) @ velocity(robot.model, v)


def structure_constants(model: Model, q: ArrayLike) -> Array:
    """c^m_kj (nv, nv, nv), indices (m, k, j): the directions of velocity bracket as [e_k, e_j] = c^m_kj e_m.

    Zero but inside joints whose velocity is not the rate of coordinates: planar, spherical, floating.
    From S: S_m c^m_kj = [S_k, S_j] + dS_j/dq_k - dS_k/dq_j.
    """
    q = configuration(model, q)
    c = np.zeros((model.nv,) * 3)
    for body in model.bodies:
        if body.joint.kind.nv > 1:
            dofs = list(motion_of(body, q).dofs)
            S, dS = _columns_and_derivatives(model, body, q)
            bracket = np.einsum("kab,bj->akj", ad(S.T), S) + dS.transpose(0, 2, 1) - dS
            c[np.ix_(dofs, dofs, dofs)] = np.einsum("ma,akj->mkj", pseudoinverse(S, scale=size_of(S)), bracket)
    return c


def body_terms(robot: Robot, q: ArrayLike) -> Iterator[BodyTerms]:
    """The terms of every body, in the order of the bodies. Raises ValueError as `arguments.configuration`."""
    model = robot.model
    q = configuration(model, q)
    poe = PoeKinematics(model)
    displacements = poe.displacements(q)
    joints = [_JointTerms.of(poe, index, q) for index in range(len(model.bodies))]
    matrices = inertia_matrices(robot.inertial_parameters)
    for body, (home, matrix) in enumerate(zip(poe.home, matrices)):
        path = poe.supports[body]
        to_home = adjoint(pose_inverse(home))
        carry = adjoint(pose_inverse(displacements[body]) @ displacements[path])  # A_li
        sizes = [len(joints[index].dofs) for index in path]
        rates = np.zeros((6, sum(sizes), sum(sizes)))
        start = 0
        for A, index, size in zip(carry, path, sizes):
            own = slice(start, start + size)
            rates[:, own, own] = np.einsum("ab,bjk->ajk", A, joints[index].derivatives)
            start += size
        yield BodyTerms(
            np.concatenate([joints[index].dofs for index in path]),
            np.repeat(np.arange(len(path)), sizes),
            to_home.T @ matrix @ to_home,
            np.hstack([A @ joints[index].screws for A, index in zip(carry, path)]),
            rates,
        )


class _JointTerms(NamedTuple):
    """A joint at the zero configuration, in the world frame."""

    dofs: NDArray[np.intp]
    screws: Array  # (6, n_i)
    derivatives: Array  # of the screws by the joint's own motion (6, n_i, n_i), the direction last

    @classmethod
    def of(cls, poe: PoeKinematics, index: int, q: Array) -> _JointTerms:
        body = poe.model.bodies[index]
        dofs, screws = joint_screws(poe, index, q)
        derivatives = np.zeros((6, len(dofs), len(dofs)))
        if not body.joint.kind.has_constant_columns:
            dS = _columns_and_derivatives(poe.model, body, q)[1]
            derivatives = np.einsum("ab,bjk->ajk", adjoint(poe.home[index]), dS)
        return cls(np.array(dofs, dtype=np.intp), screws, derivatives)


def _columns_and_derivatives(model: Model, body: Body, q: Array) -> tuple[Array, Array]:
    """S (6, n_i) and dS_j/dq_k (6, n_i, n_i), the direction k last, in the body frame."""
    motion = motion_of(body, q)
    slopes = [as_columns(motion_of(body, q, np.eye(model.nv)[dof]).rates) for dof in motion.dofs]
    return as_columns(motion.columns), np.stack(slopes, axis=-1)
