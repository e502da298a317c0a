# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the momentum, its rate, and the centre of mass's motion (theory.md section 6).

As joint k moves, its subtree turns with what it carries: seen from the world, the subtree's momentum changes by
I g_k - ad*_{s_k} h, and its wrench, which is the rate of momentum, as in inverse dynamics. About the centre of mass c,
h_G = h - c x p and the same for the rate, whatever c does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.inverse_dynamics_derivatives import subtree_wrench_changes
from rbd_dynamics.algorithms.momentum import about, center
from rbd_dynamics.algorithms.world_frame import WorldFrame, world_frame
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal
from rbd_dynamics.spatial.se3 import ZERO6, Vec6, ad_dual, add6, scale6, sub6
from rbd_dynamics.spatial.so3 import ZERO3, Vec3, add3, cross, scale3, sub3


class MomentumDerivatives(NamedTuple):
    """Columns (nv) of dh/dq, dhdot/dq and dhdot/dv; the others are the momentum's matrix: dh/dv = dhdot/da = A."""

    momentum_dq: list[Vec6]
    rate_dq: list[Vec6]
    rate_dv: list[Vec6]


def centroidal_momentum_derivatives(
    model: Model,
    inertias: Sequence[RigidInertia],
    fixed: RigidInertia,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> MomentumDerivatives:
    """Derivatives of h = A v about `center_of_mass` and hdot = A a + Adot v, world axes; by q along the tangent."""
    world = world_frame(model.with_gravity((0.0, 0.0, 0.0)), inertias, q, v, a)
    found = _about_the_origin(model, world, v)
    mass, c = center(model, world, fixed)
    h = _whole(model, _momenta(model, world, v))
    rate = _whole(model, [subtree.wrench for subtree in world.subtrees])
    moves = [ZERO3] * model.nv  # of the centre of mass, by q
    for own, subtree in zip(world.columns, world.subtrees):
        for column in own:
            linear = (subtree.inertia * column.s)[3:]
            moves[column.dof] = add3(moves[column.dof], scale3(reciprocal(mass), linear))
    return MomentumDerivatives(
        [_carried(c, column, move, h) for column, move in zip(found.momentum_dq, moves)],
        [_carried(c, column, move, rate) for column, move in zip(found.rate_dq, moves)],
        [about(c, column) for column in found.rate_dv],
    )


def center_of_mass_derivatives(
    model: Model,
    inertias: Sequence[RigidInertia],
    fixed: RigidInertia,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> tuple[list[Vec3], list[Vec3], list[Vec3]]:
    """Columns (nv) of the derivatives of its velocity by q and of its acceleration by q and v, world axes.

    Linear momentum is the mass, all of it, times the centre's velocity. The others are the Jacobian.
    """
    world = world_frame(model.with_gravity((0.0, 0.0, 0.0)), inertias, q, v, a)
    mass, _ = center(model, world, fixed)
    by_q, rate_q, rate_v = (
        [scale3(reciprocal(mass), column[3:]) for column in columns] for columns in _about_the_origin(model, world, v)
    )
    return by_q, rate_q, rate_v


def _about_the_origin(model: Model, world: WorldFrame, v: Sequence[Scalar]) -> MomentumDerivatives:
    found = MomentumDerivatives(*([ZERO6] * model.nv for _ in range(3)))
    for own, subtree, h in zip(world.columns, world.subtrees, _momenta(model, world, v)):
        for column in own:
            changes = subtree_wrench_changes(column, subtree)
            by_q = sub6(subtree.inertia * column.gained_velocity, ad_dual(column.s, h))
            for columns, value in zip(found, (by_q, changes.turned, changes.by_v)):
                columns[column.dof] = add6(columns[column.dof], value)
    return found


def _momenta(model: Model, world: WorldFrame, v: Sequence[Scalar]) -> list[Vec6]:
    """Momentum of every subtree: what it has as one rigid body, and what the joints inside it add."""
    inside: list[Vec6] = [ZERO6] * len(model.bodies)
    for index in reversed(range(len(model.bodies))):
        parent = model.bodies[index].parent
        if parent != WORLD:
            inside[parent] = add6(inside[parent], inside[index])
            for column in world.columns[index]:
                own = world.subtrees[index].inertia * column.s
                inside[parent] = add6(inside[parent], scale6(v[column.dof], own))
    return [add6(s.inertia * twist, more) for s, twist, more in zip(world.subtrees, world.twists, inside)]


def _whole(model: Model, of_subtrees: Sequence[Vec6]) -> Vec6:
    """Sum of the subtrees on the world: the whole robot's."""
    total: Vec6 = ZERO6
    for body, value in zip(model.bodies, of_subtrees):
        if body.parent == WORLD:
            total = add6(total, value)
    return total


def _carried(c: Vec3, column: Vec6, move: Vec3, whole: Vec6) -> Vec6:
    """d(m - c x f, f), of which (m, f) is `whole`, from d(m, f) and dc."""
    m, f = about(c, column)[:3], column[3:]
    return sub3(m, cross(move, whole[3:])) + f
