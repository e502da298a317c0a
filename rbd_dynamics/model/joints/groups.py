# SPDX-License-Identifier: Apache-2.0
"""Joints that move on a group: in the plane, about a point, freely. Their velocity is the body twist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rbd_dynamics.model.joints.base import Z_AXIS, Array, JointKind, direction_of
from rbd_dynamics.spatial import (
    left_jacobian_inverse_times,
    left_jacobian_times,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    random_quaternion,
    rotate_by_quaternion,
)
from rbd_dynamics.spatial.lie import right_jacobian_inverse_se3, right_jacobian_inverse_so3
from rbd_dynamics.spatial.scalar import Scalar, cos, sin
from rbd_dynamics.spatial.se3 import Transform, Vec6
from rbd_dynamics.spatial.so3 import Vec3, cross, matvec, rotation_about, rotation_from_quaternion


@dataclass(frozen=True)
class Planar(JointKind):
    """Motion in the plane normal to an axis, normalised: q = (x, y, angle), v = body velocity (vx, vy, w).

    x and y run along two fixed directions of the joint frame that span the plane; for the axis z
    they are the frame's own x and y. The velocity is that of the moved frame, expressed in it, so
    S is constant.
    """

    axis: Vec3 = Z_AXIS
    name: ClassVar[str] = "planar"
    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", direction_of(self.axis))

    @property
    def directions(self) -> tuple[Vec3, Vec3]:
        """The in-plane x and y directions: the frame's x and y turned by the shortest rotation z -> axis."""
        ax, ay, az = self.axis
        if az < -1.0 + 1e-12:  # half a turn about x
            return (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)
        k = 1.0 / (1.0 + az)
        return (1.0 - k * ax * ax, -k * ax * ay, -ax), (-k * ax * ay, 1.0 - k * ay * ay, -ay)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        ex, ey = self.directions
        p = tuple(q[0] * a + q[1] * b for a, b in zip(ex, ey))
        return Transform((rotation_about(self.axis, q[2]),), p)

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        ex, ey = self.directions
        return (0.0, 0.0, 0.0, *ex), (0.0, 0.0, 0.0, *ey), (*self.axis, 0.0, 0.0, 0.0)

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        c, s = cos(q[2]), sin(q[2])
        dx, dy, w = c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]
        return (dx, dy, w), (-w * dy, w * dx, 0.0)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        return np.append(rng.uniform(-1.0, 1.0, 2), rng.uniform(-np.pi, np.pi))

    def integrate(self, q: Array, dv: Array) -> Array:
        angle, turn = q[..., 2], dv[..., 2]
        # mean of the rotated frame over the motion: (sin t / t, (1 - cos t) / t)
        along, across = np.sinc(turn / np.pi), np.sin(turn / 2) * np.sinc(turn / (2 * np.pi))
        dx = along * dv[..., 0] - across * dv[..., 1]
        dy = across * dv[..., 0] + along * dv[..., 1]
        c, s = np.cos(angle), np.sin(angle)
        return np.stack([q[..., 0] + c * dx - s * dy, q[..., 1] + s * dx + c * dy, angle + turn], axis=-1)

    def difference(self, q0: Array, q1: Array) -> Array:
        turn = np.remainder(q1[..., 2] - q0[..., 2] + np.pi, 2 * np.pi) - np.pi
        step = q1[..., :2] - q0[..., :2]
        c, s = np.cos(q0[..., 2]), np.sin(q0[..., 2])
        dx, dy = c * step[..., 0] + s * step[..., 1], -s * step[..., 0] + c * step[..., 1]
        along, across = np.sinc(turn / np.pi), np.sin(turn / 2) * np.sinc(turn / (2 * np.pi))
        norm = along**2 + across**2
        return np.stack([(along * dx + across * dy) / norm, (along * dy - across * dx) / norm, turn], axis=-1)

    def displacement_rate(self, x: Array, v: Array) -> Array:
        (x0, x1, x2), (v0, v1, v2) = _floats(x), _floats(v)
        # twists of the same group, its plane normal to z
        moved = right_jacobian_inverse_se3((0.0, 0.0, x2, x0, x1, 0.0), (0.0, 0.0, v2, v0, v1, 0.0))
        return np.array([moved[3], moved[4], moved[2]])


@dataclass(frozen=True)
class Spherical(JointKind):
    """Ball joint: q = unit quaternion (x, y, z, w), v = body angular velocity."""

    name: ClassVar[str] = "spherical"
    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3
    quaternion: ClassVar[slice | None] = slice(0, 4)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return Transform((rotation_from_quaternion(tuple(q)),), (0.0, 0.0, 0.0))

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        return _identity6()[:3]

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        return _quaternion_rates(q, v)

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0])

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        return random_quaternion(rng)

    def integrate(self, q: Array, dv: Array) -> Array:
        return quaternion_product(q, quaternion_exp(dv))

    def difference(self, q0: Array, q1: Array) -> Array:
        return quaternion_log(quaternion_product(quaternion_conjugate(q0), q1))

    def displacement_rate(self, x: Array, v: Array) -> Array:
        return np.array(right_jacobian_inverse_so3(_floats(x), _floats(v)))


@dataclass(frozen=True)
class Floating(JointKind):
    """Free motion: q = (position, quaternion (x, y, z, w)), v = body twist (w, v)."""

    name: ClassVar[str] = "floating"
    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6
    quaternion: ClassVar[slice | None] = slice(3, 7)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return Transform((rotation_from_quaternion(tuple(q[3:7])),), tuple(q[:3]))

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        return _identity6()

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        rotation = rotation_from_quaternion(tuple(q[3:7]))
        w, u = tuple(v[:3]), tuple(v[3:])
        turned, turned_again = _quaternion_rates(q[3:7], w)
        return (*matvec(rotation, u), *turned), (*matvec(rotation, cross(w, u)), *turned_again)

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        return np.append(rng.uniform(-1.0, 1.0, 3), random_quaternion(rng))

    def integrate(self, q: Array, dv: Array) -> Array:
        w, v = dv[..., :3], dv[..., 3:]
        p = q[..., :3] + rotate_by_quaternion(q[..., 3:], left_jacobian_times(w, v))
        return np.concatenate([p, quaternion_product(q[..., 3:], quaternion_exp(w))], axis=-1)

    def difference(self, q0: Array, q1: Array) -> Array:
        inverse = quaternion_conjugate(q0[..., 3:])
        w = quaternion_log(quaternion_product(inverse, q1[..., 3:]))
        p = rotate_by_quaternion(inverse, q1[..., :3] - q0[..., :3])
        return np.concatenate([w, left_jacobian_inverse_times(w, p)], axis=-1)

    def displacement_rate(self, x: Array, v: Array) -> Array:
        return np.array(right_jacobian_inverse_se3(_floats(x), _floats(v)))


def _floats(x: Array) -> tuple[Any, ...]:
    return tuple(np.asarray(x, dtype=float).tolist())


def _quaternion_rates(Q: Sequence[Scalar], w: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
    """Qdot = Q (w, 0) / 2 and Qddot = -|w|^2 Q / 4 at constant body angular velocity (theory.md section 1)."""
    x, y, z, s = Q
    a, b, c = w
    first = (
        0.5 * (s * a + y * c - z * b),
        0.5 * (s * b + z * a - x * c),
        0.5 * (s * c + x * b - y * a),
        -0.5 * (x * a + y * b + z * c),
    )
    square = -0.25 * (a * a + b * b + c * c)
    return first, tuple(square * entry for entry in Q)


def _identity6() -> tuple[Vec6, ...]:
    return tuple(tuple(1.0 if i == j else 0.0 for i in range(6)) for j in range(6))
