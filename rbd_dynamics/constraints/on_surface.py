# SPDX-License-Identifier: Apache-2.0
"""Points and frames that stay on a surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints.base import PairConstraint
from rbd_dynamics.constraints.surfaces import Plane, Surface, check_surface
from rbd_dynamics.spatial.scalar import Scalar, reciprocal, sqrt
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import Vec3, dot3, scale3


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
    one_sided: ClassVar[bool] = True
    _: KW_ONLY
    surface: Surface = field(default_factory=Plane)
    offset: float = 0.0
    aligned: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_surface(self.surface, f"constraint {excerpt(self.name)}")

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


def _height_and_normal(surface: Surface, point: Vec3, numbers: Sequence[Scalar]) -> tuple[Scalar, Vec3]:
    """f / |grad f| and the outward unit normal."""
    gradient = surface.gradient(point, numbers)
    if surface.is_distance:
        return surface.value(point, numbers), gradient
    scale = reciprocal(sqrt(dot3(gradient, gradient)))
    return scale * surface.value(point, numbers), scale3(scale, gradient)
