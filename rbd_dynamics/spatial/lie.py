# SPDX-License-Identifier: Apache-2.0
"""Exponential, logarithm and their Jacobians on SO(3) and SE(3), over generic scalars.

Nothing here branches: every function is one formula, well-conditioned from 0 on, so it also runs
on batches and on tracing scalars. With t the rotation angle and x = t^2 all coefficients come from
Stumpff's functions c_k(x) = sum_j (-x)^j / (k + 2 j)!, which are analytic in x: c0 = cos t,
c1 = sin t / t, c2 = (1 - cos t) / t^2 and so on; nothing special happens at t = 0.

A Jacobian of exp says how it moves: d/dt exp(x) = [J_l(x) xdot] exp(x) = exp(x) [J_r(x) xdot], and
J_r(x) = J_l(-x). The inverses exist for t < 2 pi and grow like 1 / (2 pi - t) towards 2 pi; the
logarithms return t <= pi. At t = pi exactly two logarithms are right, w and -w; one is returned.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rbd_dynamics.spatial.quaternions import quaternion_from_rotation, quaternion_log
from rbd_dynamics.spatial.scalar import Scalar, cos, less, sin, sqrt, where
from rbd_dynamics.spatial.se3 import Transform, Vec6, ad, add6, scale6
from rbd_dynamics.spatial.so3 import Mat3, Vec3, add3, cross, dot3, scale3

#: below this square of the angle the high Stumpff functions come from their series
_SERIES_LIMIT = 9.0
_SERIES_TERMS = 13


class Stumpff(NamedTuple):
    """c_k(x) for k = 0 to 6, at the square x of an angle."""

    c0: Scalar
    c1: Scalar
    c2: Scalar
    c3: Scalar
    c4: Scalar
    c5: Scalar
    c6: Scalar


def stumpff(x: Scalar) -> Stumpff:
    """Stumpff's functions of x >= 0 [rad^2], each to a few units in the last place."""
    angle = sqrt(where(x, x, 1.0))
    half = 0.5 * angle
    s, c = sin(half), cos(half)
    chord = s / angle
    c0 = where(x, 1.0 - 2.0 * s * s, 1.0)
    c1 = where(x, 2.0 * chord * c, 1.0)
    c2 = where(x, 2.0 * chord * chord, 0.5)

    near = less(x, _SERIES_LIMIT)
    low, high = where(near, x, 0.0), where(near, _SERIES_LIMIT, x)
    c5, c6 = _series(5, low), _series(6, low)
    c3, c4 = 1.0 / 6.0 - low * c5, 1.0 / 24.0 - low * c6
    # farther out by the recurrence c_k = (1 / (k - 2)! - c_{k-2}) / x
    far3, far4 = (1.0 - c1) / high, (0.5 - c2) / high
    far5, far6 = (1.0 / 6.0 - far3) / high, (1.0 / 24.0 - far4) / high
    return Stumpff(
        c0,
        c1,
        c2,
        where(near, c3, far3),
        where(near, c4, far4),
        where(near, c5, far5),
        where(near, c6, far6),
    )


def _series(k: int, x: Scalar) -> Scalar:
    total: Scalar = 0.0
    for j in reversed(range(_SERIES_TERMS)):
        total = total * x + (-1.0) ** j / math.factorial(k + 2 * j)
    return total


def _inverse_coefficient(x: Scalar, c: Stumpff) -> Scalar:
    """(1 - (t / 2) cot(t / 2)) / t^2, which is 1 / 12 at 0 and has its pole at t = 2 pi."""
    near = less(x, _SERIES_LIMIT)
    series = (c.c3 - 2.0 * c.c4) / (2.0 * c.c2)
    direct = (1.0 - c.c1 / (2.0 * c.c2)) / where(near, 1.0, x)
    return where(near, series, direct)


# --- SO(3) ----------------------------------------------------------------------------------------


def exp_so3(w: Vec3) -> Mat3:
    """Rotation matrix of a rotation vector w [rad]: 1 + c1 [w] + c2 [w]^2 (Rodrigues)."""
    c = stumpff(dot3(w, w))
    x, y, z = w
    xx, yy, zz = c.c2 * (x * x), c.c2 * (y * y), c.c2 * (z * z)
    xy, xz, yz = c.c2 * (x * y), c.c2 * (x * z), c.c2 * (y * z)
    sx, sy, sz = c.c1 * x, c.c1 * y, c.c1 * z
    return (
        1.0 - (yy + zz),
        xy - sz,
        xz + sy,
        xy + sz,
        1.0 - (xx + zz),
        yz - sx,
        xz - sy,
        yz + sx,
        1.0 - (xx + yy),
    )


def log_so3(rotation: Mat3) -> Vec3:
    """Rotation vector [rad], at most pi long; through the quaternion, so accurate at 0 and at pi."""
    return quaternion_log(quaternion_from_rotation(rotation))


def left_jacobian_so3(w: Vec3, a: Vec3) -> Vec3:
    """J_l(w) a = a + c2 w x a + c3 w x (w x a). Of a velocity v: the way along (w, v) in unit time."""
    c = stumpff(dot3(w, w))
    wa = cross(w, a)
    return add3(a, add3(scale3(c.c2, wa), scale3(c.c3, cross(w, wa))))


def left_jacobian_inverse_so3(w: Vec3, a: Vec3) -> Vec3:
    """J_l(w)^-1 a, for |w| < 2 pi."""
    x = dot3(w, w)
    wa = cross(w, a)
    second = scale3(_inverse_coefficient(x, stumpff(x)), cross(w, wa))
    return add3(a, add3(scale3(-0.5, wa), second))


def right_jacobian_so3(w: Vec3, a: Vec3) -> Vec3:
    """J_r(w) a: the body angular velocity of exp(w) as w moves at the rate a."""
    return left_jacobian_so3(scale3(-1.0, w), a)


def right_jacobian_inverse_so3(w: Vec3, a: Vec3) -> Vec3:
    """J_r(w)^-1 a: the rate of w at the body angular velocity a, for |w| < 2 pi."""
    return left_jacobian_inverse_so3(scale3(-1.0, w), a)


# --- SE(3) ----------------------------------------------------------------------------------------


def exp_se3(twist: Vec6) -> Transform:
    """Pose reached from the identity along the constant twist (w, v) in unit time."""
    w, v = twist[:3], twist[3:]
    return Transform((exp_so3(w),), left_jacobian_so3(w, v))


def log_se3(pose: Transform) -> Vec6:
    """The twist (w, v) with exp_se3(twist) = pose and |w| <= pi."""
    w = log_so3(pose.rotation)
    return w + left_jacobian_inverse_so3(w, pose.p)


def left_jacobian_se3(twist: Vec6, other: Vec6) -> Vec6:
    """J_l(V) X = X + sum_k a_k ad_V^k X, k = 1 to 4: sum ad^k / (k + 1)! by (ad^2 + t^2)^2 ad = 0."""
    c = stumpff(dot3(twist[:3], twist[:3]))
    coefficients = (
        0.5 * (4.0 * c.c2 - c.c1),
        0.5 * (5.0 * c.c3 - c.c2),
        0.5 * (c.c3 - 2.0 * c.c4),
        0.5 * (c.c4 - 3.0 * c.c5),
    )
    total, power = other, other
    for coefficient in coefficients:
        power = ad(twist, power)
        total = add6(total, scale6(coefficient, power))
    return total


def left_jacobian_inverse_se3(twist: Vec6, other: Vec6) -> Vec6:
    """J_l(V)^-1 X = X - ad_V X / 2 + b_2 ad_V^2 X + b_4 ad_V^4 X, for |w| < 2 pi."""
    x = dot3(twist[:3], twist[:3])
    c = stumpff(x)
    fourth = (4.0 * c.c6 - c.c5) / (4.0 * c.c2)
    second = _inverse_coefficient(x, c) + x * fourth
    once = ad(twist, other)
    twice = ad(twist, once)
    even = add6(scale6(second, twice), scale6(fourth, ad(twist, ad(twist, twice))))
    return add6(add6(other, scale6(-0.5, once)), even)


def right_jacobian_se3(twist: Vec6, other: Vec6) -> Vec6:
    """J_r(V) X: the body twist of exp(V) as V moves at the rate X."""
    return left_jacobian_se3(scale6(-1.0, twist), other)


def right_jacobian_inverse_se3(twist: Vec6, other: Vec6) -> Vec6:
    """J_r(V)^-1 X: the rate of V at the body twist X, for |w| < 2 pi."""
    return left_jacobian_inverse_se3(scale6(-1.0, twist), other)
