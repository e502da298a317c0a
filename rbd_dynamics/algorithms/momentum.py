# SPDX-License-Identifier: Apache-2.0
"""Centroidal momentum: that of the whole robot about its centre of mass (theory.md sections 1 and 5)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.world_frame import WorldFrame, world_frame
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal
from rbd_dynamics.spatial.se3 import ZERO6, Vec6, add6, scale6
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, scale3, sub3


def centroidal_momentum_matrix(
    model: Model, inertias: Sequence[RigidInertia], fixed: RigidInertia, q: Sequence[Scalar]
) -> list[Vec6]:
    """Columns (nv) of A: A v = (angular momentum about the centre of mass, linear momentum), world axes.

    The point is that of `center_of_mass`: what is `fixed` to the world has no momentum, but its mass counts there.
    """
    world = world_frame(model, inertias, q, [0.0] * model.nv)
    columns: list[Vec6] = [ZERO6] * model.nv
    for own, subtree in zip(world.columns, world.subtrees):
        for column in own:
            columns[column.dof] = add6(columns[column.dof], subtree.inertia * column.s)
    _, point = center(model, world, fixed)
    return [about(point, column) for column in columns]


def momentum(
    model: Model, inertias: Sequence[RigidInertia], fixed: RigidInertia, q: Sequence[Scalar], v: Sequence[Scalar]
) -> Vec6:
    """A v."""
    world = world_frame(model, inertias, q, v)
    total: Vec6 = ZERO6
    for own, subtree in zip(world.columns, world.subtrees):
        for column in own:
            total = add6(total, scale6(v[column.dof], subtree.inertia * column.s))
    return about(center(model, world, fixed)[1], total)


def centroidal_momentum_bias(
    model: Model, inertias: Sequence[RigidInertia], fixed: RigidInertia, q: Sequence[Scalar], v: Sequence[Scalar]
) -> Vec6:
    """Adot v: the rate of the momentum at zero joint acceleration, from the wrenches without gravity.

    The centre of mass moves along the linear momentum, so that its own velocity adds nothing.
    """
    world = world_frame(model.with_gravity((0.0, 0.0, 0.0)), inertias, q, v)
    total: Vec6 = ZERO6
    for body, subtree in zip(model.bodies, world.subtrees):
        if body.parent < 0:
            total = add6(total, subtree.wrench)
    return about(center(model, world, fixed)[1], total)


def center(model: Model, world: WorldFrame, fixed: RigidInertia) -> tuple[Scalar, Vec3]:
    """Mass and centre of mass of the whole robot, what is fixed to the world included."""
    mass, moment = fixed.mass, fixed.moment
    for body, subtree in zip(model.bodies, world.subtrees):
        if body.parent < 0:
            mass, moment = mass + subtree.inertia.mass, add3(moment, subtree.inertia.moment)
    return mass, scale3(reciprocal(mass), moment)


def about(point: Vec3, wrench: Vec6) -> Vec6:
    """A wrench or momentum about the world's origin, moved to a point."""
    return sub3(wrench[:3], cross(point, wrench[3:])) + wrench[3:]
