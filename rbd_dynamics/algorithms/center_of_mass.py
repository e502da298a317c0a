# SPDX-License-Identifier: Apache-2.0
"""Jacobian of the centre of mass and its rate (theory.md section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.world_frame import world_frame
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal
from rbd_dynamics.spatial.so3 import ZERO3, Vec3, add3, cross, scale3


def center_of_mass_jacobian(
    model: Model, inertias: Sequence[RigidInertia], fixed: RigidInertia, q: Sequence[Scalar]
) -> list[Vec3]:
    """Columns (nv) of J: the velocity of the whole robot's centre of mass is J v, in world axes.

    A column is the linear momentum of the subtree that the joint carries, over the total mass;
    the mass `fixed` to the world counts, as it does in `center_of_mass`.
    """
    world = world_frame(model, inertias, q, [0.0] * model.nv)
    J: list[Vec3] = [ZERO3] * model.nv
    for own, subtree in zip(world.columns, world.subtrees):
        for column in own:
            J[column.dof] = add3(J[column.dof], (subtree.inertia * column.s)[3:])
    return _over_mass([*inertias, fixed], J)


def center_of_mass_jacobian_dot(
    model: Model,
    inertias: Sequence[RigidInertia],
    fixed: RigidInertia,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
) -> list[Vec3]:
    """Columns (nv) of dJ/dt: the acceleration of the centre of mass is J a + Jdot v, in world axes.

    The linear momentum of a subtree on the twist s = (w, u) is m u + w x h, with h its first
    moment about the world's origin; hdot is its linear momentum.
    """
    world = world_frame(model, inertias, q, v)
    J: list[Vec3] = [ZERO3] * model.nv
    for own, subtree in zip(world.columns, world.subtrees):
        for column in own:
            rate = (subtree.inertia * column.rate)[3:]
            moved = cross(column.s[:3], subtree.coriolis.momentum)
            J[column.dof] = add3(J[column.dof], add3(rate, moved))
    return _over_mass([*inertias, fixed], J)


def _over_mass(inertias: Sequence[RigidInertia], columns: Sequence[Vec3]) -> list[Vec3]:
    mass: Scalar = 0.0
    for inertia in inertias:
        mass = mass + inertia.mass
    return [scale3(reciprocal(mass), column) for column in columns]
