# SPDX-License-Identifier: Apache-2.0
"""How configurations move, with derivatives of every order: on groups no formula has a special case at rest.

Where a formula chooses by the size of an angle, both choices are analytic there; at zero itself the derivatives are
right, which those of a formula with an exception for zero are not. As `Model.integrate` and `Model.difference`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import Floating, Planar, Spherical
from rbd_dynamics.model.joints.base import JointKind
from rbd_dynamics.model.model import Joint, Model
from rbd_dynamics.spatial.lie import stumpff
from rbd_dynamics.spatial.quaternions import (
    quaternion_conjugate,
    quaternion_normalized,
    quaternion_product,
    rotate_by_quaternion,
)
from rbd_dynamics.spatial.scalar import Scalar, atan2, cos, less, sin, sqrt, where
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, dot3, scale3

Vector = Sequence[Scalar]
NEAR = 9.0  # rad^2: to here Stumpff's high functions come from their series
SMALL = 0.1  # square of the sine of half an angle, to which the arc sine comes from its series
TERMS = 18


def coefficients(x: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """cos t, sin t / t, (1 - cos t) / t^2, (t - sin t) / t^3 at x = t^2, analytic in x."""
    c = stumpff(x)
    near = less(x, NEAR)
    c2 = where(near, 0.5 - x * c.c4, c.c2)
    return where(near, 1.0 - x * c2, c.c0), where(near, 1.0 - x * c.c3, c.c1), c2, c.c3


def smooth_exponential(w: Vec3) -> tuple[Scalar, ...]:
    """Quaternion (x, y, z, w) of a rotation vector, rad."""
    c0, c1, _, _ = coefficients(0.25 * dot3(w, w))
    return (*scale3(0.5 * c1, w), c0)


def smooth_logarithm(q: Vector) -> Vec3:
    """Rotation vector, at most pi long, of a unit quaternion."""
    sign = where(less(q[3], 0.0), -1.0, 1.0)
    vector, scalar = scale3(sign, (q[0], q[1], q[2])), sign * q[3]
    square = dot3(vector, vector)
    small = less(square, SMALL)
    low, high = where(small, square, 0.0), where(small, 1.0, square)
    series: Scalar = 0.0
    for k in reversed(range(TERMS)):
        series = series * low + math.comb(2 * k, k) / (4.0**k * (2 * k + 1))
    norm = sqrt(high)
    return scale3(2.0 * where(small, series, atan2(norm, scalar) / norm), vector)


def _left_jacobian_times(w: Vec3, v: Vec3) -> Vec3:
    _, _, c2, c3 = coefficients(dot3(w, w))
    once = cross(w, v)
    return add3(v, add3(scale3(c2, once), scale3(c3, cross(w, once))))


def _left_jacobian_inverse_times(w: Vec3, p: Vec3) -> Vec3:
    x = dot3(w, w)
    _, c1, c2, c3 = coefficients(x)
    near = less(x, NEAR)
    c4 = stumpff(x).c4
    factor = where(near, (c3 - 2.0 * c4) / (2.0 * c2), (1.0 - c1 / (2.0 * c2)) / where(near, 1.0, x))
    once = cross(w, p)
    return add3(p, add3(scale3(-0.5, once), scale3(factor, cross(w, once))))


def _planar_means(turn: Scalar) -> tuple[Scalar, Scalar]:
    """sin t / t, (1 - cos t) / t."""
    _, c1, c2, _ = coefficients(turn * turn)
    return c1, c2 * turn


def _own(joint: Joint, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    return q[joint.q_index : joint.q_index + joint.kind.nq], v[joint.v_index : joint.v_index + joint.kind.nv]


def _vec3(x: Vector) -> Vec3:
    return x[0], x[1], x[2]


def require_motion(model: Model) -> None:
    """Raise ModelError that names a joint whose kind moves in a way of its own, as functions of NumPy arrays say."""
    for joint in model.joints:
        kind = joint.kind
        if not isinstance(kind, (Floating, Planar, Spherical)) and type(kind).integrate is not JointKind.integrate:
            raise ModelError(f"joint {joint.name!r}: kind {kind.name!r} has an `integrate` without derivatives")


def moved_configuration(model: Model, q: Vector, dv: Vector) -> list[Scalar]:
    """Configuration (nq) that moves along the constant velocity dv (nv) for unit time."""
    after = list(q)
    for joint in model.joints:
        kind, (own, move) = joint.kind, _own(joint, q, dv)
        if isinstance(kind, Spherical):
            new: Vector = quaternion_product(tuple(own), smooth_exponential(_vec3(move)))
        elif isinstance(kind, Floating):
            turn, attitude = _vec3(move), tuple(own[3:7])
            place = rotate_by_quaternion(attitude, _left_jacobian_times(turn, _vec3(move[3:])))
            new = [*add3(_vec3(own), place), *quaternion_product(attitude, smooth_exponential(turn))]
        elif isinstance(kind, Planar):
            along, across = _planar_means(move[2])
            dx, dy = along * move[0] - across * move[1], across * move[0] + along * move[1]
            c, s = cos(own[2]), sin(own[2])
            new = [own[0] + c * dx - s * dy, own[1] + s * dx + c * dy, own[2] + move[2]]
        else:
            new = [x + y for x, y in zip(own, move)]
        after[joint.q_index : joint.q_index + kind.nq] = new
    return after


def configuration_difference(model: Model, start: Vector, end: Vector) -> list[Scalar]:
    """The shortest dv (nv) that moves the first configuration to the second."""
    found: list[Scalar] = [0.0] * model.nv
    for joint in model.joints:
        kind, (old, _), (new, _) = joint.kind, _own(joint, start, found), _own(joint, end, found)
        if isinstance(kind, Spherical):
            dv: Vector = _turn_between(old, new)
        elif isinstance(kind, Floating):
            turn = _turn_between(old[3:7], new[3:7])
            way = _vec3([y - x for x, y in zip(old[:3], new[:3])])
            back = rotate_by_quaternion(quaternion_conjugate(tuple(old[3:7])), way)
            dv = [*turn, *_left_jacobian_inverse_times(turn, back)]
        elif isinstance(kind, Planar):
            angle = new[2] - old[2]
            turn_by = atan2(sin(angle), cos(angle))
            x, y = new[0] - old[0], new[1] - old[1]
            c, s = cos(old[2]), sin(old[2])
            dx, dy = c * x + s * y, c * y - s * x
            along, across = _planar_means(turn_by)
            norm = along * along + across * across
            dv = [(along * dx + across * dy) / norm, (along * dy - across * dx) / norm, turn_by]
        else:
            dv = [y - x for x, y in zip(old, new)]
        found[joint.v_index : joint.v_index + kind.nv] = dv
    return found


def _turn_between(old: Vector, new: Vector) -> Vec3:
    return smooth_logarithm(quaternion_product(quaternion_conjugate(tuple(old)), quaternion_normalized(tuple(new))))
