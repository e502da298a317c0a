# SPDX-License-Identifier: Apache-2.0
"""Joints with one degree of freedom: motion along one screw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints.base import Z_AXIS, JointKind, direction_of, vector_of
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Transform, Vec6
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, dot3, matvec, rotation_about, scale3, sub3


@dataclass(frozen=True)
class Revolute(JointKind):
    """Rotation about an axis, normalised; q in rad."""

    axis: Vec3 = Z_AXIS
    name: ClassVar[str] = "revolute"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", direction_of(self.axis))

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
    """Translation along an axis, normalised; q in m."""

    axis: Vec3 = Z_AXIS
    name: ClassVar[str] = "prismatic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", direction_of(self.axis))

    @property
    def reach(self) -> float:
        return 1.0

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return Transform((), scale3(q[0], self.axis))

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        return ((0.0, 0.0, 0.0, *self.axis),)


@dataclass(frozen=True)
class Helical(JointKind):
    """A nut on a bolt: rotation about an axis, normalised, with translation along it; q in rad.

    pitch: travel per angle, m/rad (a lead of d m per turn is a pitch of d / (2 pi)); negative for
    a left-handed thread. q, v and limits count the angle, tau is the torque about the axis.
    """

    axis: Vec3 = Z_AXIS
    pitch: float = 0.0
    name: ClassVar[str] = "helical"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", direction_of(self.axis))
        object.__setattr__(self, "pitch", _pitch(self.pitch))

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return Transform((rotation_about(self.axis, q[0]),), scale3(self.pitch * q[0], self.axis))

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        return ((*self.axis, *scale3(self.pitch, self.axis)),)


@dataclass(frozen=True)
class Screw(JointKind):
    """Motion along any one screw: T = exp(twist q).

    twist (w, v), in the joint frame: w a unit vector and v any, q in rad; or w zero and v a unit
    vector, a translation, q in m. The axis has direction w and goes through w x v, the pitch is
    w . v (m/rad). Raises ModelError for a twist of another length.
    """

    twist: Vec6 = (*Z_AXIS, 0.0, 0.0, 0.0)
    name: ClassVar[str] = "screw"

    def __post_init__(self) -> None:
        object.__setattr__(self, "twist", unit_twist(self.twist))

    @property
    def reach(self) -> float:
        return math.pi if any(self.twist[:3]) else 1.0

    def transform(self, q: Sequence[Scalar]) -> Transform:
        w, v = self.twist[:3], self.twist[3:]
        if not any(w):
            return Transform((), scale3(q[0], v))
        rotation = rotation_about(w, q[0])
        axis_point, pitch = cross(w, v), dot3(w, v)
        p = add3(sub3(axis_point, matvec(rotation, axis_point)), scale3(pitch * q[0], w))
        return Transform((rotation,), p)

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        return (self.twist,)


def unit_twist(value: Any) -> Vec6:
    """A checked unit twist: |w| = 1, or w = 0 and |v| = 1. Raises ModelError."""
    twist = vector_of(value, 6, "screw")
    size, which = (math.hypot(*twist[:3]), "w") if any(twist[:3]) else (math.hypot(*twist[3:]), "v")
    if abs(size - 1.0) > 1e-9:
        raise ModelError(
            f"screw {excerpt(value)} is not a unit twist: |{which}| is {size:.6g}, "
            "expected 1 for w, or for v of a translation (w = 0)"
        )
    return twist


def _pitch(value: Any) -> float:
    return vector_of((value,), 1, "pitch")[0]
