# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of inverse dynamics (theory.md section 6; 000 section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.passive_forces import add_passive_slopes
from rbd_dynamics.algorithms.world_frame import Column, CoriolisInertia, Subtree, WorldFrame, world_frame
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Vec6, ad_dual, add6, dot6, scale6, sub6
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, matvec, scale3, transpose

Matrix = list[list[Scalar]]


def inverse_dynamics_derivatives(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
    friction: bool = False,
) -> tuple[Matrix, Matrix, Matrix]:
    """d tau / dq, d tau / dv and d tau / da = M, each (nv, nv), with passive forces.

    The derivative by q is along the tangent: column k is the rate of tau as the configuration moves
    with body velocity e_k (`Model.integrate`), v and a kept as they are. External wrenches (`f_ext`, one on each
    body, in its frame) turn with their bodies.

    Moving joint j turns its whole subtree. A torque inside the subtree turns along, so only the
    gained velocity and acceleration count; a torque below it also sees the subtree's wrench turn. Where
    S depends on q, the joint's own columns S(q) change as well and meet the subtree's wrench.
    """
    dq, dv, da = derivatives_in_world_frame(model, world_frame(model, inertias, q, v, a, f_ext))
    add_passive_slopes(model, dq, dv, q, v if friction else None)
    return dq, dv, da


class WrenchChanges(NamedTuple):
    """Changes of a subtree's wrench per unit of a joint's position, velocity and acceleration.

    by_q is seen from the subtree, as it turns along; turned: by_q, seen from the world.
    """

    by_q: Vec6
    by_v: Vec6
    by_a: Vec6
    turned: Vec6


def subtree_wrench_changes(own: Column, subtree: Subtree) -> WrenchChanges:
    """Changes of the wrench as the subtree's own joint, or one towards the base, moves along its column."""
    inertia, coriolis, wrench = subtree
    by_q = add6(inertia * own.gained_acceleration, scale6(2.0, coriolis * own.gained_velocity))
    by_v = add6(inertia * add6(own.rate, own.gained_velocity), scale6(2.0, coriolis * own.s))
    return WrenchChanges(by_q, by_v, inertia * own.s, sub6(by_q, ad_dual(own.s, wrench)))


def derivatives_in_world_frame(model: Model, world: WorldFrame) -> tuple[Matrix, Matrix, Matrix]:
    """The same from a world-frame state at the acceleration in question, without passive forces."""
    dq, dv, da = ([[0.0] * model.nv for _ in range(model.nv)] for _ in range(3))

    def add(matrix: Matrix, row: Column, column: Column, value: Scalar) -> None:
        matrix[row.dof][column.dof] = matrix[row.dof][column.dof] + value

    for index, body in enumerate(model.bodies):
        subtree = world.subtrees[index]
        for own in world.columns[index]:
            by_q, by_v, by_a, turned = subtree_wrench_changes(own, subtree)
            for other in world.columns[index]:
                add(dq, other, own, dot6(other.s, by_q))
                add(dv, other, own, dot6(other.s, by_v))
                add(da, other, own, dot6(other.s, by_a))
            for other, slope in zip(world.columns[index], own.slopes):
                add(dq, other, own, dot6(slope, subtree.wrench))
            # this joint's torque, by the joints towards the base: S^T (I x + 2 B y) = x . (I S) + ...
            coriolis_part = _angular_row(own.s, subtree.coriolis)
            at = body.parent
            while at != WORLD:
                for other in world.columns[at]:
                    add(dq, other, own, dot6(other.s, turned))
                    add(dv, other, own, dot6(other.s, by_v))
                    add(da, other, own, dot6(other.s, by_a))
                    turn = dot6(other.gained_acceleration, by_a)
                    add(dq, own, other, turn + _angular(other.gained_velocity, coriolis_part))
                    rate = dot6(add6(other.rate, other.gained_velocity), by_a)
                    add(dv, own, other, rate + _angular(other.s, coriolis_part))
                    add(da, own, other, dot6(other.s, by_a))
                at = model.bodies[at].parent

    for dof, rotor in enumerate(rotor_inertias(model)):
        da[dof][dof] = da[dof][dof] + rotor
    return dq, dv, da


def _angular_row(s: Vec6, coriolis: CoriolisInertia) -> Vec3:
    """2 s^T B, whose linear part is zero: three numbers."""
    m, f = s[:3], s[3:]
    row = matvec(transpose(coriolis.top), m)
    # f . (x cross l) = x . (l cross f)
    return scale3(2.0, add3(row, cross(coriolis.momentum, f)))


def _angular(x: Vec6, row: Vec3) -> Scalar:
    return x[0] * row[0] + x[1] * row[1] + x[2] * row[2]
