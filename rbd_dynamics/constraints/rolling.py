# SPDX-License-Identifier: Apache-2.0
"""Balls and wheels that roll on surfaces without slip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints.base import PairConstraint
from rbd_dynamics.constraints.forms import check_positive
from rbd_dynamics.constraints.surfaces import Plane, Surface, check_surface
from rbd_dynamics.model.open_kinds import required
from rbd_dynamics.spatial.scalar import Scalar, less, reciprocal, sqrt, where
from rbd_dynamics.spatial.se3 import Transform, Vec6
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, dot3, scale3


@dataclass(frozen=True)
class RollingBall(PairConstraint):
    """A ball about the origin of `frame` rolls on a surface that is fixed to `reference`, without slip.

    Parameters:
        surface: plane, sphere or cylinder, or one whose `value` is the distance, in the reference frame.
        radius: of the ball, m.
        spin: whether it may turn about the normal (Montana's pure rolling has none).

    Rows: "normal" (its distance), "slip_1", "slip_2": the velocity of the ball's material point that
    touches, along two tangents; without spin also "spin", the relative turning about the normal.
    """

    kind: ClassVar[str] = "rolling_ball"
    one_sided: ClassVar[bool] = True
    _: KW_ONLY
    surface: Surface = field(default_factory=Plane)
    radius: float = required(1.0)
    spin: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_surface(self.surface, f"constraint {excerpt(self.name)}")
        check_positive(self.radius, f"constraint {excerpt(self.name)}: radius")
        if not self.surface.is_distance:
            raise ValueError(
                f"constraint {excerpt(self.name)}: a ball rolls on plane, sphere or cylinder, or what else gives a "
                "distance"
            )

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("normal", "slip_1", "slip_2") if self.spin else ("normal", "slip_1", "slip_2", "spin")

    @property
    def numbers(self) -> tuple[float, ...]:
        return (*self.surface.numbers, self.radius)

    def position(self, pose: Transform, parameters: Sequence[Scalar]) -> list[Scalar]:
        *numbers, radius = parameters
        return [self.surface.value(pose.p, numbers) - radius]

    def velocity(self, pose: Transform, twist: Vec6, parameters: Sequence[Scalar]) -> list[Scalar]:
        *numbers, radius = parameters
        normal = self.surface.gradient(pose.p, numbers)
        w, v = pose.rotate(twist[:3]), pose.rotate(twist[3:])
        touching = add3(v, cross(w, scale3(-1.0 * radius, normal)))
        slip = [dot3(tangent, touching) for tangent in _tangents(normal)]
        return slip if self.spin else [*slip, dot3(normal, w)]


@dataclass(frozen=True)
class RollingDisk(PairConstraint):
    """A thin disk about the z axis of `frame` rolls upright or leaning on the plane z = 0 of `reference`.

    Parameters:
        radius: m.

    Rows: "normal", the height of its lowest point; "slip_x" and "slip_y", the velocity of the
    material point that touches, along the plane's axes.
    """

    kind: ClassVar[str] = "rolling_disk"
    one_sided: ClassVar[bool] = True
    _: KW_ONLY
    radius: float = required(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.radius, f"constraint {excerpt(self.name)}: radius")

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("normal", "slip_x", "slip_y")

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.radius,)

    def position(self, pose: Transform, parameters: Sequence[Scalar]) -> list[Scalar]:
        R = pose.rotation
        return [pose.p[2] - parameters[0] * sqrt(R[6] * R[6] + R[7] * R[7])]

    def velocity(self, pose: Transform, twist: Vec6, parameters: Sequence[Scalar]) -> list[Scalar]:
        R = pose.rotation
        up_x, up_y = R[6], R[7]  # the plane's normal within the disk, in the disk's axes
        scale = -1.0 * parameters[0] * reciprocal(sqrt(up_x * up_x + up_y * up_y))
        touching: Vec3 = (scale * up_x, scale * up_y, 0.0)
        moved = pose.rotate(add3(twist[3:], cross(twist[:3], touching)))
        return [moved[0], moved[1]]


def _tangents(normal: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors that complete a normal (Duff et al., Building an orthonormal basis, revisited, 2017)."""
    x, y, z = normal
    sign = where(less(z, 0.0), -1.0, 1.0)
    a = -1.0 * reciprocal(sign + z)
    b = x * y * a
    return (1.0 + sign * (x * x * a), sign * b, -1.0 * (sign * x)), (b, sign + y * y * a, -1.0 * y)
