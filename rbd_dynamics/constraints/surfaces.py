# SPDX-License-Identifier: Apache-2.0
"""Points, frames, balls and wheels on surfaces.

A surface is a function over generic scalars of a point in the surface's own frame, zero on it. For
plane, sphere and cylinder it is the distance from the surface, outside positive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from rbd_dynamics.constraints.base import PairConstraint
from rbd_dynamics.spatial.jets import Jet, level_above, rate_of
from rbd_dynamics.spatial.scalar import Scalar, less, reciprocal, sqrt, where
from rbd_dynamics.spatial.se3 import Transform, Vec6
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, dot3, scale3


class Surface(ABC):
    """Zero set of a function of a point."""

    #: the kind's name in files
    kind: ClassVar[str]
    #: whether `value` is the distance, so that its gradient is the unit normal
    is_distance: ClassVar[bool] = True

    @property
    def numbers(self) -> tuple[float, ...]:
        """What may change at run time."""
        return ()

    @abstractmethod
    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        """Zero on the surface, positive outside."""

    def gradient(self, point: Vec3, numbers: Sequence[Scalar]) -> Vec3:
        """Of `value`, exact."""
        level = level_above(*point, *numbers)
        along = []
        for k in range(3):
            moving = [Jet(x, float(i == k), 0.0, level) for i, x in enumerate(point)]
            along.append(rate_of(self.value((moving[0], moving[1], moving[2]), numbers), level))
        return (along[0], along[1], along[2])


@dataclass(frozen=True)
class Plane(Surface):
    """z = 0 of the surface's frame; outside is z > 0."""

    kind: ClassVar[str] = "plane"

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        return point[2]


@dataclass(frozen=True)
class Sphere(Surface):
    """About the origin of the surface's frame; radius in m. A hollow one is touched from within."""

    kind: ClassVar[str] = "sphere"
    radius: float = 1.0
    hollow: bool = False

    def __post_init__(self) -> None:
        _check_radius(self.kind, self.radius)

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.radius,)

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        height = sqrt(dot3(point, point)) - numbers[0]
        return -height if self.hollow else height


@dataclass(frozen=True)
class Cylinder(Surface):
    """About the z axis of the surface's frame; radius in m. A hollow one is touched from within."""

    kind: ClassVar[str] = "cylinder"
    radius: float = 1.0
    hollow: bool = False

    def __post_init__(self) -> None:
        _check_radius(self.kind, self.radius)

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.radius,)

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        x, y, _ = point
        height = sqrt(x * x + y * y) - numbers[0]
        return -height if self.hollow else height


@dataclass(frozen=True)
class ImplicitSurface(Surface):
    """f(x, y, z) = 0, outside positive.

    Parameters:
        function: of three generic scalars (arithmetic, and what `rbd_dynamics.spatial.scalar` has).
    """

    kind: ClassVar[str] = "implicit"
    is_distance: ClassVar[bool] = False
    function: Callable[[Scalar, Scalar, Scalar], Scalar] = field(default=lambda x, y, z: z)

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        return self.function(*point)


@dataclass(frozen=True)
class SurfaceConstraint(PairConstraint):
    """The origin of `frame` stays on a surface that is fixed to `reference`.

    Parameters:
        surface: in the reference frame.
        offset: height above the surface, m: the radius of a ball whose centre the frame is.
        aligned: the frame's z axis, too, stays along the surface's normal, outward or inward.

    Rows: "normal", h = f / |grad f| - offset, whose multiplier is the normal force on the frame in N,
    outward positive; where aligned "align_x" and "align_y", the components of the normal along the
    frame's x and y axes.
    """

    kind: ClassVar[str] = "surface"
    _: KW_ONLY
    surface: Surface = field(default_factory=Plane)
    offset: float = 0.0
    aligned: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_surface(self.name, self.surface)

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("normal", "align_x", "align_y") if self.aligned else ("normal",)

    @property
    def numbers(self) -> tuple[float, ...]:
        return (*self.surface.numbers, self.offset)

    def position(self, pose: Transform, parameters: Sequence[Scalar]) -> list[Scalar]:
        *numbers, offset = parameters
        height, normal = _height_and_normal(self.surface, pose.p, numbers)
        along = pose.rotate_back(normal)[:2] if self.aligned else ()
        return [height - offset, *along]


@dataclass(frozen=True)
class RollingBall(PairConstraint):
    """A ball about the origin of `frame` rolls on a surface that is fixed to `reference`, without slip.

    Parameters:
        surface: plane, sphere or cylinder, in the reference frame.
        radius: of the ball, m.
        spin: whether it may turn about the normal (Montana's pure rolling has none).

    Rows: "normal" (its distance), "slip_1", "slip_2": the velocity of the ball's material point that
    touches, along two tangents; without spin also "spin", the relative turning about the normal.
    """

    kind: ClassVar[str] = "rolling_ball"
    _: KW_ONLY
    surface: Surface = field(default_factory=Plane)
    radius: float = 1.0
    spin: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_surface(self.name, self.surface)
        _check_radius(f"constraint {self.name!r}:", self.radius)
        if not self.surface.is_distance:
            raise ValueError(f"constraint {self.name!r}: a ball rolls on plane, sphere or cylinder only")

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("normal", "slip_1", "slip_2") if self.spin else ("normal", "slip_1", "slip_2", "spin")

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return (True, *(False,) * (len(self.row_names) - 1))

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
    _: KW_ONLY
    radius: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_radius(f"constraint {self.name!r}:", self.radius)

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("normal", "slip_x", "slip_y")

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return (True, False, False)

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


def _height_and_normal(surface: Surface, point: Vec3, numbers: Sequence[Scalar]) -> tuple[Scalar, Vec3]:
    """f / |grad f| and the outward unit normal."""
    gradient = surface.gradient(point, numbers)
    if surface.is_distance:
        return surface.value(point, numbers), gradient
    scale = reciprocal(sqrt(dot3(gradient, gradient)))
    return scale * surface.value(point, numbers), scale3(scale, gradient)


def _tangents(normal: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors that complete a normal (Duff et al., Building an orthonormal basis, revisited, 2017)."""
    x, y, z = normal
    sign = where(less(z, 0.0), -1.0, 1.0)
    a = -1.0 * reciprocal(sign + z)
    b = x * y * a
    return (1.0 + sign * (x * x * a), sign * b, -1.0 * (sign * x)), (b, sign + y * y * a, -1.0 * y)


def _check_surface(name: str, surface: object) -> None:
    if not isinstance(surface, Surface):
        raise ValueError(f"constraint {name!r}: surface {surface!r} is none, as in Plane() or Sphere(0.5)")


def _check_radius(what: str, radius: float) -> None:
    if not 0.0 < radius < float("inf"):
        raise ValueError(f"{what} radius {radius} must be positive")
