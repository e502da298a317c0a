# SPDX-License-Identifier: Apache-2.0
"""The end of a step of time of a robot on a floating base: its momentum is carried over exactly (theory.md section 5).

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
BASE = 6  # degrees of freedom of the base, the first ones


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
    """One step of a model whose first joint floats and whose other joints `moved` knows.

    reached_velocity: v + h a. velocity_torque: C v, which is not a force on the base: its turning says the same.
    exponential: of rotation vectors; that of `quaternion_exp` has no second derivative where nothing turns.
    """
    M = mass_matrix(model, inertias, q)
    others = list(reached_velocity[BASE:])
    pushed = [dot(M[i], reached_velocity) + h * velocity_torque[i] for i in range(BASE)]
    share = [dot(M[i][BASE:], others) for i in range(BASE)]
    body, center = M[3][3], _center(M)
    own = MassFactor.of([[M[i][j] - dot(M[i][3:6], M[j][3:6]) / body for j in range(3)] for i in range(3)])
    spin = _minus(pushed[:3], cross(center, tuple(pushed[3:])))  # angular momentum about the centre of mass
    share = _minus(share[:3], cross(center, tuple(share[3:])))
    mean: Vector = [0.5 * (x + y) for x, y in zip(v[:3], reached_velocity[:3])]
    change: Scalar = 0.0
    for _ in range(ITERATIONS):
        carried = rotate_by_quaternion(exponential(tuple(-0.5 * h * x for x in mean)), tuple(spin))
        found = own.solve_transposed(own.solve(_minus(carried, share)))
        last = _minus(found, mean)
        change = dot(last, last) / (dot(found, found) + TINY)
        mean = found
    turn, back = tuple(h * x for x in mean), tuple(-h * x for x in mean)
    attitude = (q[3], q[4], q[5], q[6])
    reached = moved(model, q, reached_velocity, h, exponential=exponential)
    reached[3:7] = quaternion_product(attitude, exponential(turn))
    after = mass_matrix(model, inertias, reached)  # where the base is makes no difference to it
    arrived = _center(after)
    way = [
        x - y + h / body * p for x, y, p in zip(center, rotate_by_quaternion(exponential(turn), arrived), pushed[3:])
    ]
    reached[:3] = [x + y for x, y in zip(q[:3], rotate_by_quaternion(attitude, tuple(way)))]
    linear = rotate_by_quaternion(exponential(back), tuple(pushed[3:]))
    angular = rotate_by_quaternion(exponential(back), tuple(spin))
    momentum = [*(x + y for x, y in zip(angular, cross(arrived, linear))), *linear]
    rest = [x - dot(row[BASE:], others) for x, row in zip(momentum, after)]
    base = MassFactor.of([row[:BASE] for row in after[:BASE]])
    return FreeBaseStep(reached, [*base.solve_transposed(base.solve(rest)), *others], change)


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


def _center(M: Sequence[Vector]) -> tuple[Scalar, Scalar, Scalar]:
    """The centre of mass in the base's coordinates: the mass matrix couples turning and moving by m c x."""
    return M[2][4] / M[3][3], M[0][5] / M[3][3], M[1][3] / M[3][3]


def _minus(a: Vector, b: Vector) -> list[Scalar]:
    return [x - y for x, y in zip(a, b)]
