# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy, centre of mass (theory.md section 1)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.kinematics import body_poses, velocities
from rbd_dynamics.algorithms.passive_forces import spring_energy
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal
from rbd_dynamics.spatial.se3 import dot6
from rbd_dynamics.spatial.so3 import Vec3, add3, dot3, scale3


def kinetic_energy(model: Model, inertias: Sequence[RigidInertia], q: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    """v^T M v / 2 in J, with rotor inertia."""
    twice: Scalar = 0.0
    for inertia, state in zip(inertias, velocities(model, q, v)):
        twice = twice + dot6(state.twist, inertia * state.twist)
    for dof, rotor in enumerate(rotor_inertias(model)):
        twice = twice + rotor * v[dof] * v[dof]
    return 0.5 * twice


def potential_energy(
    model: Model, inertias: Sequence[RigidInertia], fixed: RigidInertia, q: Sequence[Scalar]
) -> Scalar:
    """-sum m g . c and what the springs hold, in J; zero at the world's origin with springs at rest.

    `fixed` is the inertia of what is fixed to the world, at its origin.
    """
    return -1.0 * dot3(model.gravity, _first_moment(model, inertias, fixed, q)) + spring_energy(model, q)


def center_of_mass(model: Model, inertias: Sequence[RigidInertia], fixed: RigidInertia, q: Sequence[Scalar]) -> Vec3:
    """Centre of mass of the whole robot in the world, in m; with what is fixed to the world."""
    mass = fixed.mass
    for inertia in inertias:
        mass = mass + inertia.mass
    return scale3(reciprocal(mass), _first_moment(model, inertias, fixed, q))


def _first_moment(model: Model, inertias: Sequence[RigidInertia], fixed: RigidInertia, q: Sequence[Scalar]) -> Vec3:
    """sum m c in the world."""
    total = fixed.moment
    for inertia, pose in zip(inertias, body_poses(model, q)):
        total = add3(total, add3(scale3(inertia.mass, pose.p), pose.rotate(inertia.moment)))
    return total
