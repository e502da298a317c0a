# SPDX-License-Identifier: Apache-2.0
"""Surfaces for points to stay on and balls to roll on.

A surface is a function over generic scalars of a point in the surface's own frame, zero on it. For
plane, sphere and cylinder it is the distance from the surface, outside positive.

To add one, write a frozen dataclass with a name for files, `kind`, its `value`, and `numbers` for what may change at
run time; files are read as for constraints (`base.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from rbd_dynamics.constraints.forms import check_positive, value_of
from rbd_dynamics.model.open_kinds import OpenKind, ValueOf, required
from rbd_dynamics.spatial.jets import Jet, level_above, rate_of
from rbd_dynamics.spatial.scalar import Scalar, dot, sqrt
from rbd_dynamics.spatial.so3 import Vec3


class Surface(OpenKind, ABC):
    """Zero set of a function of a point."""

    LABEL: ClassVar[str] = "kind"
    FAMILY: ClassVar[str] = "surface"
    value_of: ClassVar[ValueOf] = staticmethod(value_of)
    #: the kind's name in files; a kind without one is of Python alone
    kind: ClassVar[str]
    #: whether `value` is the distance, so that its gradient is the unit normal
    is_distance: ClassVar[bool] = False

    @property
    def numbers(self) -> tuple[float, ...]:
        """What may change at run time."""
        return ()

    @abstractmethod
    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        """Zero on the surface, positive outside."""

    def gradient(self, point: Vec3, numbers: Sequence[Scalar]) -> Vec3:
        """Exact gradient of `value` at a point (3)."""
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
    is_distance: ClassVar[bool] = True

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        return point[2]


@dataclass(frozen=True)
class RoundSurface(Surface):
    """All points at a distance, the radius in m, from a middle. A hollow one is touched from within."""

    is_distance: ClassVar[bool] = True
    radius: float = required(1.0)
    _: KW_ONLY
    hollow: bool = False

    def __post_init__(self) -> None:
        check_positive(self.radius, f"{self.kind} radius")

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.radius,)

    @abstractmethod
    def outward(self, point: Vec3) -> tuple[Scalar, ...]:
        """Vector from the nearest point of the middle (centre or axis) to this one."""

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        height = sqrt(dot(self.outward(point), self.outward(point))) - numbers[0]
        return -height if self.hollow else height


@dataclass(frozen=True)
class Sphere(RoundSurface):
    """A sphere about the origin of the surface's frame; radius in m. A hollow one is touched from within."""

    kind: ClassVar[str] = "sphere"

    def outward(self, point: Vec3) -> tuple[Scalar, ...]:
        return point


@dataclass(frozen=True)
class Cylinder(RoundSurface):
    """A cylinder about the z axis of the surface's frame; radius in m. A hollow one is touched from within."""

    kind: ClassVar[str] = "cylinder"

    def outward(self, point: Vec3) -> tuple[Scalar, ...]:
        return point[:2]


@dataclass(frozen=True)
class ImplicitSurface(Surface):
    """f(x, y, z) = 0, outside positive.

    Parameters:
        function: of three generic scalars (arithmetic, and what `rbd_dynamics.spatial.scalar` has).
    """

    function: Callable[[Scalar, Scalar, Scalar], Scalar] = field(default=lambda x, y, z: z)

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        return self.function(*point)


def check_surface(surface: object, where: str) -> None:
    """Raises ValueError that begins with `where` for what is no surface."""
    if not isinstance(surface, Surface):
        raise ValueError(f"{where}: surface {surface!r} is none, as in Plane() or Sphere(0.5)")
