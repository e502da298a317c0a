# SPDX-License-Identifier: Apache-2.0
"""The end of a step of time of robots on floating bases: each keeps its momentum exactly (theory.md section 5).

The base's momentum mu = (M v)_b, in coordinates of the base, changes by the forces on it and by the motion of these
coordinates: mu' = Ad*_D (mu + h f). The displacement D turns by the mean angular velocity, that of the middle of the
step, and moves such that the centre of mass goes as fast as the linear momentum says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.tree_factor import MassFactor
from rbd_dynamics.model.joints import Floating, Spherical
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.quaternions import Vec4, quaternion_exp, quaternion_product, rotate_by_quaternion
from rbd_dynamics.spatial.scalar import Scalar, dot
from rbd_dynamics.spatial.so3 import Vec3, cross

Vector = Sequence[Scalar]
Exponential = Callable[[Vec3], Vec4]  # the unit quaternion of a rotation vector
ITERATIONS = 6  # each gains a factor of |h w| / 2
TINY = 1e-30
BASE = 6  # degrees of freedom of a base


class FreeBaseStep(NamedTuple):
    """Position and velocity after the step, and the square of the last change of the base's mean velocity, relative."""

    q: list[Scalar]
    v: list[Scalar]
    change: Scalar


def free_base_step(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Vector,
    v: Vector,
    reached_velocity: Vector,
    velocity_torque: Vector,
    h: Scalar,
    *,
    exponential: Exponential = quaternion_exp,
) -> FreeBaseStep:
    """One step of a model of which some joints float on the world, and whose other joints `moved` knows.

    reached_velocity: v + h a. velocity_torque: C v, which is not a force on the base: its turning says the same.
    exponential: of rotation vectors; that of `quaternion_exp` has no second derivative where nothing turns.
    """
    M = mass_matrix(model, inertias, q)
    bases = [joint for joint in model.joints if isinstance(joint.kind, Floating)]
    turned = [
        _turned(M, joint.v_index, v, reached_velocity, velocity_torque, h, exponential=exponential) for joint in bases
    ]
    reached = moved(model, q, reached_velocity, h, exponential=exponential)
    for joint, base in zip(bases, turned):
        at = joint.q_index + 3
        attitude = (q[at], q[at + 1], q[at + 2], q[at + 3])
        reached[at : at + 4] = quaternion_product(attitude, exponential(tuple(h * x for x in base.mean)))
    after = mass_matrix(model, inertias, reached)  # where a base is makes no difference to it
    velocity = list(reached_velocity)
    for joint, base in zip(bases, turned):
        first, at = joint.v_index, joint.q_index
        turn, back = (exponential(tuple(sign * h * x for x in base.mean)) for sign in (1.0, -1.0))
        arrived = _center(after, first)
        way = [
            x - y + h / M[first + 3][first + 3] * p
            for x, y, p in zip(_center(M, first), rotate_by_quaternion(turn, arrived), base.pushed)
        ]
        attitude = (q[at + 3], q[at + 4], q[at + 5], q[at + 6])
        reached[at : at + 3] = [x + y for x, y in zip(q[at : at + 3], rotate_by_quaternion(attitude, tuple(way)))]
        linear = rotate_by_quaternion(back, tuple(base.pushed))
        angular = rotate_by_quaternion(back, tuple(base.spin))
        momentum = [*(x + y for x, y in zip(angular, cross(arrived, linear))), *linear]
        own = slice(first, first + BASE)
        rest = [x - _share(row, first, reached_velocity) for x, row in zip(momentum, after[own])]
        factor = MassFactor.of([row[own] for row in after[own]])
        velocity[own] = factor.solve_transposed(factor.solve(rest))
    change = turned[0].change
    for base in turned[1:]:
        change = change + base.change
    return FreeBaseStep(reached, velocity, change)


class _Turned(NamedTuple):
    """A base in a step: its mean angular velocity, its linear momentum and the angular one about the centre of mass
    before it turns, and the square of the last change of the velocity, relative."""

    mean: Vector
    pushed: Vector
    spin: Vector
    change: Scalar


def _turned(
    M: Sequence[Vector],
    first: int,
    v: Vector,
    reached_velocity: Vector,
    velocity_torque: Vector,
    h: Scalar,
    *,
    exponential: Exponential,
) -> _Turned:
    """How the base turns whose degrees of freedom are those from `first` on."""
    own = range(first, first + BASE)
    pushed = [dot(M[i], reached_velocity) + h * velocity_torque[i] for i in own]
    share = [_share(M[i], first, reached_velocity) for i in own]
    body, center = M[first + 3][first + 3], _center(M, first)
    straight = slice(first + 3, first + BASE)
    inertia = [[M[i][j] - dot(M[i][straight], M[j][straight]) / body for j in own[:3]] for i in own[:3]]
    factor = MassFactor.of(inertia)
    spin = _minus(pushed[:3], cross(center, tuple(pushed[3:])))  # angular momentum about the centre of mass
    share = _minus(share[:3], cross(center, tuple(share[3:])))
    mean: Vector = [0.5 * (v[i] + reached_velocity[i]) for i in own[:3]]
    change: Scalar = 0.0
    for _ in range(ITERATIONS):
        carried = rotate_by_quaternion(exponential(tuple(-0.5 * h * x for x in mean)), tuple(spin))
        found = factor.solve_transposed(factor.solve(_minus(carried, share)))
        last = _minus(found, mean)
        change = dot(last, last) / (dot(found, found) + TINY)
        mean = found
    return _Turned(mean, pushed[3:], spin, change)


def _share(row: Vector, first: int, velocity: Vector) -> Scalar:
    """Momentum along one row of the mass matrix that what moves on a base makes, without the base's own motion."""
    others = [k for k in range(len(row)) if not first <= k < first + BASE]
    return dot([row[k] for k in others], [velocity[k] for k in others])


def moved(model: Model, q: Vector, v: Vector, h: Scalar, *, exponential: Exponential = quaternion_exp) -> list[Scalar]:
    """Positions after the time h at constant velocities, of ball joints and of those whose rate of position v is.

    What floats stays where it is.
    """
    after = list(q)
    for joint in model.joints:
        if isinstance(joint.kind, Floating):
            continue
        own, rates = (
            slice(joint.q_index, joint.q_index + joint.kind.nq),
            v[joint.v_index : joint.v_index + joint.kind.nv],
        )
        if isinstance(joint.kind, Spherical):
            after[own] = quaternion_product(tuple(q[own]), exponential(tuple(h * x for x in rates)))
        else:
            after[own] = [x + h * y for x, y in zip(q[own], rates)]
    return after


def _center(M: Sequence[Vector], first: int) -> tuple[Scalar, Scalar, Scalar]:
    """The centre of mass in the base's coordinates: the mass matrix couples turning and moving by m c x."""
    body = M[first + 3][first + 3]
    return M[first + 2][first + 4] / body, M[first][first + 5] / body, M[first + 1][first + 3] / body


def _minus(a: Vector, b: Vector) -> list[Scalar]:
    return [x - y for x, y in zip(a, b)]
