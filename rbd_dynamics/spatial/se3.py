# SPDX-License-Identifier: Apache-2.0
"""Rigid transforms, twists and wrenches (theory.md section 0).

A twist is the 6-tuple (w, v), a wrench (m, f): angular part first, in the body frame.
`T_{a,b} = (R, p)` is the pose of frame b seen from frame a.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.so3 import (
    IDENTITY3,
    ZERO3,
    Mat3,
    Vec3,
    add3,
    cross,
    matmul,
    matvec,
    sub3,
    transpose,
)

Vec6 = tuple[Scalar, ...]  # 6 entries

ZERO6: Vec6 = (0.0,) * 6


class Transform(NamedTuple):
    """Pose (R, p) of a frame.

    The rotation is kept as a product of factors that are applied one after the other: a joint's
    rotation about a coordinate axis and a fixed rotation are mostly zeros each, their product is
    not, so this is what costs the fewest operations in specialised code.
    """

    factors: tuple[Mat3, ...]
    p: Vec3

    @classmethod
    def of(cls, rotation: Mat3 = IDENTITY3, p: Vec3 = ZERO3) -> Transform:
        known = all(isinstance(entry, (float, int)) for entry in rotation)
        return cls(() if known and rotation == IDENTITY3 else (rotation,), p)

    @property
    def rotation(self) -> Mat3:
        """The nine entries of R, row by row."""
        product = IDENTITY3
        for factor in self.factors:
            product = matmul(product, factor) if product is not IDENTITY3 else factor
        return product

    def rotate(self, a: Vec3) -> Vec3:
        """R a."""
        for factor in reversed(self.factors):
            a = matvec(factor, a)
        return a

    def rotate_back(self, a: Vec3) -> Vec3:
        """R^T a."""
        for factor in self.factors:
            a = matvec(transpose(factor), a)
        return a

    def __matmul__(self, other: Transform) -> Transform:
        """Composition T_{a,c} = T_{a,b} T_{b,c}."""
        return Transform(self.factors + other.factors, add3(self.p, self.rotate(other.p)))

    def inverse(self) -> Transform:
        factors = tuple(transpose(factor) for factor in reversed(self.factors))
        x, y, z = self.rotate_back(self.p)
        return Transform(factors, (-x, -y, -z))


IDENTITY = Transform((), ZERO3)


def add6(a: Vec6, b: Vec6) -> Vec6:
    return tuple(x + y for x, y in zip(a, b))


def sub6(a: Vec6, b: Vec6) -> Vec6:
    return tuple(x - y for x, y in zip(a, b))


def scale6(k: Scalar, a: Vec6) -> Vec6:
    return tuple(k * x for x in a)


def dot6(a: Vec6, b: Vec6) -> Scalar:
    """Power of a wrench on a twist, or any product of a 6-vector with a dual one."""
    total: Scalar = 0.0
    for x, y in zip(a, b):
        total = total + x * y
    return total


def twist_to_child(t: Transform, twist: Vec6) -> Vec6:
    """Ad_{T^-1} V: a twist seen in the parent frame, expressed in the child frame."""
    w, v = twist[:3], twist[3:]
    return t.rotate_back(w) + t.rotate_back(sub3(v, cross(t.p, w)))


def twist_to_parent(t: Transform, twist: Vec6) -> Vec6:
    """Ad_T V: a twist seen in the child frame, expressed in the parent frame."""
    w = t.rotate(twist[:3])
    return w + add3(t.rotate(twist[3:]), cross(t.p, w))


def wrench_to_parent(t: Transform, wrench: Vec6) -> Vec6:
    """Ad*_{T^-1} F: a wrench seen in the child frame, expressed in the parent frame."""
    f = t.rotate(wrench[3:])
    return add3(t.rotate(wrench[:3]), cross(t.p, f)) + f


def wrench_to_child(t: Transform, wrench: Vec6) -> Vec6:
    """Ad*_T F: a wrench seen in the parent frame, expressed in the child frame."""
    f = wrench[3:]
    return t.rotate_back(sub3(wrench[:3], cross(t.p, f))) + t.rotate_back(f)


def ad(twist: Vec6, other: Vec6) -> Vec6:
    """ad_V X, the Lie bracket of two twists: [[ [w], 0 ], [ [v], [w] ]] X."""
    w, v = twist[:3], twist[3:]
    return cross(w, other[:3]) + add3(cross(v, other[:3]), cross(w, other[3:]))


def ad_dual(twist: Vec6, wrench: Vec6) -> Vec6:
    """ad*_V F = ad_V^T F: [[ -[w], -[v] ], [ 0, -[w] ]] F."""
    w, v = twist[:3], twist[3:]
    return add3(cross(wrench[:3], w), cross(wrench[3:], v)) + cross(wrench[3:], w)
