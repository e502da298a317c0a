# SPDX-License-Identifier: Apache-2.0
"""Coriolis matrix of Christoffel symbols (theory.md section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.world_frame import world_frame
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import add6, dot6


def coriolis_matrix(
    model: Model, inertias: Sequence[RigidInertia], q: Sequence[Scalar], v: Sequence[Scalar]
) -> list[list[Scalar]]:
    """C (nv, nv): C v is the Coriolis and centrifugal torque, and Mdot - 2 C is skew-symmetric.

    C = sum_k J_k^T (I_k Jdot_k + B_k J_k) over the bodies. For joints with one degree of freedom
    these are the Christoffel symbols times v; on joint groups it is the same sum with body velocities.
    """
    world = world_frame(model, inertias, q, v)
    C: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for other, own in world.pairs(model):
        inertia, coriolis, _ = world.subtrees[own.body]
        wrench = add6(inertia * own.rate, coriolis * own.s)
        C[other.dof][own.dof] = C[other.dof][own.dof] + dot6(other.s, wrench)
        if other.body != own.body:
            wrench = add6(inertia * other.rate, coriolis * other.s)
            C[own.dof][other.dof] = C[own.dof][other.dof] + dot6(own.s, wrench)
    return C
