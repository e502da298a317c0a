"""Joint kinds: one class each, generic over the scalar.

A kind says how its frame moves, `T(q)`, and the columns of its Jacobian `S(q)` with their rate
`Sdot(q, v)`, all expressed in the moved (child) frame (theory.md section 2). `configuration_size`
(nq) and `freedoms` (nv) differ where the configuration contains a quaternion. To add a kind, write
its class here and, for URDF, name it in `rbd_dynamics.model.urdf`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

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
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, Transform, Vec6
from rbd_dynamics.spatial.so3 import (
    Vec3,
    rotation_about,
    rotation_from_quaternion,
    scale3,
)

Array = NDArray[np.float64]

Z_AXIS: Vec3 = (0.0, 0.0, 1.0)


class JointKind:
    """What every joint kind offers; the defaults suit joints with constant S and nq = nv = 1."""

    name: ClassVar[str]
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    #: indices, inside the joint's configuration, of a unit quaternion (x, y, z, w)
    quaternion: ClassVar[slice | None] = None
    #: how far random positions go where there is no limit, rad or m
    reach: ClassVar[float] = math.pi

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """T(q): pose of the moved frame in the joint frame."""
        raise NotImplementedError

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """The nv columns of S(q), twists in the moved frame."""
        raise NotImplementedError

    def columns_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """The columns of Sdot = dS/dt."""
        return (ZERO6,) * self.nv

    def neutral(self) -> Array:
        """The configuration (nq,) at which T is the identity."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        """A random configuration (nq,), between the limits where they are finite."""
        low = lower if math.isfinite(lower) else min(-self.reach, upper - self.reach)
        high = upper if math.isfinite(upper) else max(self.reach, low + self.reach)
        return rng.uniform(low, high, self.nq)

    def integrate(self, q: Array, dv: Array) -> Array:
        """Move along a constant body velocity for unit time: q (..., nq), dv (..., nv) -> (..., nq)."""
        return q + dv

    def difference(self, q0: Array, q1: Array) -> Array:
        """The shortest dv (..., nv) with which integrate(q0, dv) is the pose of q1."""
        return q1 - q0


@dataclass(frozen=True)
class Revolute(JointKind):
    """Rotation about a unit axis; q in rad."""

    axis: Vec3 = Z_AXIS
    name: ClassVar[str] = "revolute"

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return Transform((rotation_about(self.axis, q[0]),), (0.0, 0.0, 0.0))

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        return ((*self.axis, 0.0, 0.0, 0.0),)


@dataclass(frozen=True)
class Continuous(Revolute):
    """A revolute joint without position limits: one angle, as JointState has it, never wrapped."""

    name: ClassVar[str] = "continuous"


@dataclass(frozen=True)
class Prismatic(JointKind):
    """Translation along a unit axis; q in m."""

    axis: Vec3 = Z_AXIS
    name: ClassVar[str] = "prismatic"
    reach: ClassVar[float] = 1.0

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return Transform((), scale3(q[0], self.axis))

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        return ((0.0, 0.0, 0.0, *self.axis),)


@dataclass(frozen=True)
class Planar(JointKind):
    """Motion in the plane normal to a unit axis: q = (x, y, angle), v = body velocity (vx, vy, w).

    x and y run along two fixed directions of the joint frame that span the plane; for the axis z
    they are the frame's own x and y. The velocity is that of the moved frame, expressed in it, so
    S is constant.
    """

    axis: Vec3 = Z_AXIS
    name: ClassVar[str] = "planar"
    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3

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

    def neutral(self) -> Array:
        return np.array([0.0, 0.0, 0.0, 1.0])

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        return random_quaternion(rng)

    def integrate(self, q: Array, dv: Array) -> Array:
        return quaternion_product(q, quaternion_exp(dv))

    def difference(self, q0: Array, q1: Array) -> Array:
        return quaternion_log(quaternion_product(quaternion_conjugate(q0), q1))


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


def _identity6() -> tuple[Vec6, ...]:
    return tuple(tuple(1.0 if i == j else 0.0 for i in range(6)) for j in range(6))
