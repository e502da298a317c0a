# SPDX-License-Identifier: Apache-2.0
"""Rotors that spin on moving bodies (theory.md section 11).

A rotor with the inertia J about its axis e, fixed in the body that carries it, spins with the speed s relative to it.
The body's inertia has all of it that does not spin, so what is left is the momentum J s e: kinetic energy
J s (e . w) + J s^2 / 2, w being the body's angular velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.frames import frame_jacobian
from rbd_dynamics.algorithms.kinematics import BodyState
from rbd_dynamics.model.model import WORLD, Frame, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Vec6, sub6
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, dot3, scale3

Vector = Sequence[Scalar]


class Rotor(NamedTuple):
    """What spins with `ratio` times the speed of its joint's degree of freedom `dof`, or of the motor behind it."""

    dof: int
    body: int  # that carries it, or WORLD
    axis: Vec3  # unit vector in that body's frame
    ratio: float
    inertia: float  # about the axis, kg m^2


def rotor_wrenches(
    model: Model, rotors: Sequence[Rotor], states: Sequence[BodyState], speeds: Vector, accelerations: Vector
) -> list[Vec6]:
    """(bodies) The couple with which rotors resist, on the body that carries them: -J (sdot e + w x s e)."""
    total: list[Vec6] = [(0.0,) * 6 for _ in model.bodies]
    for rotor, speed, acceleration in zip(rotors, speeds, accelerations):
        if rotor.body != WORLD:
            momentum = scale3(rotor.inertia * speed, rotor.axis)
            turned = cross(states[rotor.body].twist[:3], momentum)
            couple = add3(scale3(rotor.inertia * acceleration, rotor.axis), turned)
            total[rotor.body] = sub6(total[rotor.body], (*couple, 0.0, 0.0, 0.0))
    return total


def along_axis(rotor: Rotor, vectors: Sequence[Vec6]) -> Scalar:
    """Angular part of the carrier's twist, or rate of it, along the rotor's axis, from those of all bodies."""
    return 0.0 if rotor.body == WORLD else dot3(rotor.axis, vectors[rotor.body][:3])


def carrier_jacobian(model: Model, rotor: Rotor, q: Vector) -> list[Scalar]:
    """(nv) e . w of the carrier is this times v."""
    if rotor.body == WORLD:
        return [0.0] * model.nv
    columns = frame_jacobian(model, q, Frame("", rotor.body))
    return [dot3(rotor.axis, column[:3]) for column in columns]


def without_spin(inertias: Sequence[RigidInertia], rotors: Sequence[Rotor]) -> list[RigidInertia]:
    """The bodies' inertias less J e e^T: what they feel of a rotor that nothing turns about its axis."""
    found = list(inertias)
    for rotor in rotors:
        if rotor.body != WORLD:
            x, y, z = rotor.axis
            J = rotor.inertia
            spin = (-J * x * x, -J * x * y, -J * x * z, -J * y * y, -J * y * z, -J * z * z)
            found[rotor.body] = found[rotor.body] + RigidInertia(0.0, (0.0, 0.0, 0.0), spin)
    return found
