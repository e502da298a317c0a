# SPDX-License-Identifier: Apache-2.0
"""Convex shapes that are fixed to links or to the world, and their counterparts in the package `coal`."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.extras import needed
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.constraints.placements import checked_placement
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

Array = NDArray[np.float64]
ShapeKind = Literal["sphere", "capsule", "box", "cylinder", "mesh", "plane"]
_NUMBERS: dict[str, str] = {"sphere": "radius", "capsule": "radius length", "box": "x y z", "cylinder": "radius length"}


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """A convex shape that moves with `frame`.

    Parameters:
        name: for messages and for naming pairs.
        frame: link or joint that carries it, or "world".
        kind: "sphere", "capsule" (half a sphere at each end of its length), "box", "cylinder", "mesh", "plane".
        size: m. Of a sphere its radius; of capsule and cylinder radius and length along z; of a box its edges.
        placement: in the frame. A plane is z = 0 there, outside is z > 0.
        points: (n, 3) of a mesh: it is their convex hull.

    Raises ValueError that names the shape.
    """

    name: str
    frame: str
    kind: ShapeKind
    _: KW_ONLY
    size: tuple[float, ...] = ()
    placement: Transform = IDENTITY
    points: ArrayLike = field(default=(), repr=False)

    def __post_init__(self) -> None:
        where = f"collision shape {excerpt(self.name)}"
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"collision shape name {excerpt(self.name)} is not a text")
        if self.kind not in get_args(ShapeKind):
            raise ValueError(f"{where}: kind {excerpt(self.kind)} is not one of {', '.join(get_args(ShapeKind))}")
        size = tuple(float(x) for x in np.atleast_1d(real_array(self.size, f"{where}: size")))
        wanted = _NUMBERS.get(self.kind, "").split()
        if len(size) != len(wanted) or not all(0.0 < x < math.inf for x in size):
            numbers = f"{' and '.join(wanted)}, positive" if wanted else "nothing"
            raise ValueError(f"{where}: size {size} of a {self.kind} is {numbers}")
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "placement", checked_placement(self.placement, f"{where}: placement"))
        points = real_array(self.points, f"{where}: points") if self.kind == "mesh" else np.zeros((0, 3))
        if points.size and (points.ndim != 2 or points.shape[1] != 3):
            raise ValueError(f"{where}: points have shape {points.shape}, expected (n, 3)")
        points = points.reshape(-1, 3)
        object.__setattr__(self, "points", self._hull(points, where) if self.kind == "mesh" else points)

    @staticmethod
    def _hull(points: Array, where: str) -> Array:
        """Its corners."""
        from scipy.spatial import ConvexHull, QhullError

        try:
            corners = np.ascontiguousarray(points[ConvexHull(points).vertices])  # a copy, and nobody changes it
        except (QhullError, ValueError):
            raise ValueError(f"{where}: its {len(points)} points enclose no volume") from None
        corners.setflags(write=False)
        return corners

    @cached_property
    def corners(self) -> Array:
        """(n, 3) in its own frame: whose hull, rounded, it is; of a cylinder and a plane just its origin."""
        if self.kind == "box":
            signs = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
            return signs * self.size
        if self.kind == "capsule":
            return np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * self.size[1]
        return np.asarray(self.points) if self.kind == "mesh" else np.zeros((1, 3))

    @property
    def rounding(self) -> float:
        """Radius of the balls about the corners, m."""
        return self.size[0] if self.kind in ("sphere", "capsule") else 0.0

    @cached_property
    def reach(self) -> float:
        """Radius of a ball about its origin that holds it, m."""
        if self.kind == "plane":
            return math.inf
        if self.kind == "cylinder":
            return math.hypot(self.size[0], 0.5 * self.size[1])
        return float(np.linalg.norm(self.corners, axis=1).max()) + self.rounding

    def scaled(self, factor: float) -> CollisionShape:
        """The shape scaled about its middle."""
        middle = self.corners.mean(axis=0)
        points = middle + factor * (self.corners - middle) if self.kind == "mesh" else ()
        return replace(self, size=tuple(factor * x for x in self.size), points=points)


def coal() -> ModuleType:
    """The collision library. Raises ModuleNotFoundError with what to do where it is missing."""
    try:
        import coal as library
    except ModuleNotFoundError:
        raise ModuleNotFoundError(needed("coal"), name="coal") from None
    return library


def coal_geometry(shape: CollisionShape) -> Any:
    """The same shape, in its own frame."""
    library = coal()
    if shape.kind == "plane":
        return library.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if shape.kind == "mesh":
        return _convex(library, shape.corners)
    make = {"sphere": library.Sphere, "capsule": library.Capsule, "box": library.Box, "cylinder": library.Cylinder}
    return make[shape.kind](*shape.size)


def _convex(library: ModuleType, points: Array) -> Any:
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    corners, triangles = library.StdVec_Vec3s(), library.StdVec_Triangle()
    for point in points:
        corners.append(point)
    for (a, b, c), plane in zip(hull.simplices, hull.equations):
        outward = np.cross(points[b] - points[a], points[c] - points[a]) @ plane[:3] > 0.0
        triangles.append(library.Triangle(*map(int, (a, b, c) if outward else (a, c, b))))
    return library.Convex(corners, triangles)
