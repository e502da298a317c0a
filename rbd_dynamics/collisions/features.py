# SPDX-License-Identifier: Apache-2.0
"""Features of shapes that touch: the corner, edge or face furthest in a direction, and how it is rounded."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.shapes import CollisionShape

Array = NDArray[np.float64]

TOLERANCE = 1e-3  # m: what lies so much less far belongs to the edge or face too
RELATIVE_TOLERANCE = 0.02  # of the shape's reach, for small ones
FINE_TOLERANCE = 1e-4  # of the shape's reach
THIN = 1e-12  # breadth over length squared, of what is a line
FLAT = 1e6  # m, radius of what is not curved
RIM_POINTS = np.array([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)])


class Feature(NamedTuple):
    """The corner, edge or face of a shape that lies furthest in a direction, in the world.

    points (k, 3): corners of what lies furthest. rounding: radius of balls about them, m. rank: 0 a corner, 1 an edge,
    2 a face. radius: of the edge itself in its own direction, m, for the rim of a cylinder.
    """

    points: Array
    rounding: float
    rank: int
    radius: Array | None = None

    def fit(self, normal: Array, tangents: Array) -> tuple[float, Array, Array]:
        """(height along the normal, its gradient along the tangents (2), where (2)): the plane through the points."""
        heights, lateral = self.points @ normal, self.points @ tangents.T
        if not self.rank:
            return float(heights[0]), np.zeros(2), lateral[0]
        middle, height = lateral.sum(axis=0) / len(lateral), float(heights.sum()) / len(heights)
        spread = lateral - middle
        return height, _least_squares(spread.T @ spread, spread.T @ (heights - height)), middle

    def radii(self, tangents: Array, *, as_corner: bool) -> Array:
        """(2, 2) along the tangents: the radii of curvature of what is no face. as_corner: of a corner of it."""
        H = self.rounding * np.eye(2)
        if self.radius is not None:
            along = tangents @ self.radius
            H = H + along[:, None] * along / max(length(self.radius), 1e-12)
        if as_corner or self.rank == 0:
            return H
        along = tangents @ self.direction
        return H + FLAT / (along @ along) * along[:, None] * along

    @property
    def direction(self) -> Array:
        """Unit vector along an edge."""
        along = self.points[-1] - self.points[0]
        return np.asarray(along / length(along))


def length(vector: Array) -> float:
    """Length of one vector, faster than `np.linalg.norm`."""
    return math.sqrt(vector @ vector)


def _least_squares(S: Array, right: Array) -> Array:
    """(2) The shortest x for which S x = right as well as can be; S (2, 2), symmetric, may be of rank one."""
    (a, b), (_, c) = S.tolist()
    trace, determinant = a + c, a * c - b * b
    if determinant <= THIN * trace * trace:
        return np.asarray(S @ right) / (trace * trace)
    return np.array([c * right[0] - b * right[1], a * right[1] - b * right[0]]) / determinant


def tolerance_of(shape: CollisionShape) -> float:
    """m."""
    return min(TOLERANCE, RELATIVE_TOLERANCE * shape.reach)


def fine_tolerance_of(shape: CollisionShape) -> float:
    """m, for one point, which moves on along an edge as soon as that is askew."""
    return FINE_TOLERANCE * shape.reach


def feature_of(
    shape: CollisionShape, corners: Array, R: Array, p: Array, direction: Array, tolerance: float
) -> Feature:
    """What lies furthest in a direction (world, unit), and less by the tolerance, m.

    R, p: the shape's pose; corners: `shape.corners`.
    """
    if shape.kind == "plane":
        return Feature(p + RIM_POINTS @ R.T[:2], 0.0, 2)
    if shape.kind == "cylinder":
        return _of_cylinder(shape, R, p, direction, tolerance)
    if len(corners) == 1:
        return Feature(corners @ R.T + p, shape.rounding, 0)
    heights = corners @ (R.T @ direction)
    chosen = corners[heights >= heights.max() - tolerance]
    return Feature(chosen @ R.T + p, shape.rounding, _rank(chosen, shape.reach))


def _of_cylinder(shape: CollisionShape, R: Array, p: Array, direction: Array, tolerance: float) -> Feature:
    radius, length = shape.size
    x, y, z = R.T @ direction
    across = float(np.hypot(x, y))
    end = 0.5 * length * (1.0 if z > 0.0 else -1.0)
    if 2.0 * radius * across < tolerance:
        cap = np.column_stack([radius * RIM_POINTS, np.full(len(RIM_POINTS), end)])
        return Feature(cap @ R.T + p, 0.0, 2)
    if length * abs(z) < tolerance:
        line = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
        return Feature(line @ R.T + p, radius, 1)
    rim = np.array([radius * x / across, radius * y / across, end])
    along = R @ np.array([-y, x, 0.0]) / across
    # a ball about the axis through the rim turns with the cylinder and stays where it is
    return Feature(rim @ R.T + p[None], 0.0, 0, along * radius / across)


def _rank(points: Array, reach: float) -> int:
    if len(points) < 3:
        return len(points) - 1
    spread = points - points.sum(axis=0) / len(points)
    (a, d, e), (_, b, f), (_, _, c) = (spread.T @ spread).tolist()
    trace, minors = a + b + c, a * b - d * d + a * c - e * e + b * c - f * f
    largest = 0.5 * (trace + math.sqrt(max(trace * trace - 4.0 * minors, 0.0)))  # of the squares of its extents
    least = 1e-6 * reach * reach
    return int(largest > least) + int(minors > least * largest)
