# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of hybrid and forward dynamics (theory.md section 6; 000 section 4).

At the solution, differentiating M qdd + b = tau gives every derivative from those of inverse
dynamics: M_vv dqdd_v = -dID_v, dtau_u = dID_u + M_uv dqdd_v. The partition is kept in place: in
the matrix that is factorised the rows and columns of prescribed coordinates are the identity's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.inverse_dynamics_derivatives import derivatives_in_world_frame
from rbd_dynamics.algorithms.passive_forces import add_passive_slopes, add_passive_torque
from rbd_dynamics.algorithms.tree_factor import Matrix, TreeFactor, factorise
from rbd_dynamics.algorithms.world_frame import WorldFrame, world_frame
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.row_sweeps import Step, Sweep, Unfinished, flat, terms_of
from rbd_dynamics.spatial.scalar import Scalar, dot, where
from rbd_dynamics.spatial.se3 import Vec6, dot6


class HybridDerivatives(NamedTuple):
    """Derivatives, each (nv, nv), of the complete acceleration and torque of hybrid dynamics.

    By q (along the tangent), v, and the input: the prescribed acceleration or the given torque,
    whichever it is for that degree of freedom.
    """

    a_dq: Matrix
    a_dv: Matrix
    a_dinput: Matrix
    tau_dq: Matrix
    tau_dv: Matrix
    tau_dinput: Matrix


def forward_dynamics_derivatives(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
    friction: bool = False,
) -> Unfinished:
    """d qdd / dq, d qdd / dv and d qdd / dtau = M^-1, each (nv, nv)."""
    unused, free = [0.0] * model.nv, [False] * model.nv
    _, factor, dq, dv = _at_solution(model, inertias, q, v, unused, tau, free, f_ext, friction)
    matrices = [dq, dv, factor.inverse_upper(sign=-1.0)]
    return Unfinished([flat(matrix) for matrix in matrices], 3, factor.sweeps(2, 3, sign=-1.0), symmetric=2)


def hybrid_dynamics_derivatives(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    tau: Sequence[Scalar],
    prescribed: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
    friction: bool = False,
) -> Unfinished:
    """Derivatives at the solution of `hybrid_dynamics` with the same arguments: `HybridDerivatives`."""
    n = range(model.nv)
    M, factor, dq, dv = _at_solution(model, inertias, q, v, a, tau, prescribed, f_ext, friction)
    accelerations = [[[where(prescribed[i], 0.0, d[i][k]) for k in n] for i in n] for d in (dq, dv)]
    # by the input: qdd_v = M_vv^-1 (tau_v - M_vu qdd_u); and tau_u = M_u qdd. The sign of all that comes with the
    # last sweep of the factor, which costs a few operations for all entries
    by_input = [
        [
            where(prescribed[i], -float(i == k), where(prescribed[k], M[i][k], -float(i == k)))
            for k in n
        ]
        for i in n
    ]  # fmt: skip
    torques = [[[where(prescribed[i], d[i][k], 0.0) for k in n] for i in n] for d in (dq, dv)]
    given_torque = [[where(prescribed[i], 0.0, 1.0) if i == k else 0.0 for k in n] for i in n]
    multiply = [Step(len(n) + i, 1.0, terms_of((where(prescribed[i], M[i][k], 0.0), k) for k in n)) for i in n]
    matrices = [*accelerations, by_input, *torques, given_torque]
    sweeps = [*factor.sweeps(3, 3, sign=-1.0), Sweep(multiply, 3)]
    return Unfinished([flat(matrix) for matrix in matrices], 3, sweeps)


def _at_solution(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    tau: Sequence[Scalar],
    prescribed: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None,
    friction: bool,
) -> tuple[Matrix, TreeFactor, Matrix, Matrix]:
    """M, the factor of its part of free coordinates, and derivatives of inverse dynamics by q and v there."""
    n = range(model.nv)
    free = [where(p, 0.0, 1.0) for p in prescribed]
    at_rest = world_frame(model, inertias, q, v, f_ext=f_ext)
    M, bias = mass_and_bias(model, at_rest)
    bias = add_passive_torque(model, bias, q, v if friction else None)

    # the acceleration: identity rows for what is prescribed
    given = [where(p, x, 0.0) for p, x in zip(prescribed, a)]
    known = [dot(M[i], given) for i in n]
    partition = [[where(prescribed[i], 1.0, M[i][i]) if i == j else free[i] * free[j] * M[i][j] for j in n] for i in n]
    factor = factorise(partition)
    qdd = factor.solve([where(prescribed[i], a[i], tau[i] - bias[i] - known[i]) for i in n])

    world = world_frame(model, inertias, q, v, qdd, f_ext)
    dq, dv, _ = derivatives_in_world_frame(model, world)
    add_passive_slopes(model, dq, dv, q, v if friction else None)
    return M, factor, dq, dv


def mass_and_bias(model: Model, world: WorldFrame) -> tuple[Matrix, list[Scalar]]:
    """M (nv, nv), with rotor inertia, and the torque (nv) of a world-frame state, without passive forces."""
    M: Matrix = [[0.0] * model.nv for _ in range(model.nv)]
    for other, own in world.pairs(model):
        value = dot6(other.s, world.subtrees[own.body].inertia * own.s)
        M[other.dof][own.dof] = M[other.dof][own.dof] + value
        if other.body != own.body:
            M[own.dof][other.dof] = M[own.dof][other.dof] + value
    bias: list[Scalar] = [0.0] * model.nv
    for columns, subtree in zip(world.columns, world.subtrees):
        for column in columns:
            bias[column.dof] = bias[column.dof] + dot6(column.s, subtree.wrench)
    for dof, rotor in enumerate(rotor_inertias(model)):
        M[dof][dof] = M[dof][dof] + rotor
    return M, bias
