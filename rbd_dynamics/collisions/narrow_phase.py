# SPDX-License-Identifier: Apache-2.0
"""Contact between two convex shapes: points, normals, gaps, and how they are curved there.

`coal` says whether they are near, the normal, and of edges and faces the polygon in which they meet. Gaps are those
between the edges and faces themselves: each corner has its own, so a box that is tilted by a hair stands on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.features import FLAT, Feature, feature_of, fine_tolerance_of, length, tolerance_of
from rbd_dynamics.collisions.shapes import CollisionShape, coal, coal_geometry
from rbd_dynamics.contacts import Contact

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_POINTS = 8  # of a face
ROUND_SAMPLES = 6  # of a cylinder's end that stands on a face, which coal doubles
ROUGH = 1e-7  # m: shapes whose distance is smaller just touch
SHRINKING = (1e-3, 3e-2)  # of a shape, to see in which direction it is apart
ERROR = 1e-3  # rad, of a normal that was found
LEVEL = 1e-9  # of a normal's height: so far below level it counts as level
PARALLEL = 0.05  # sine of the angle between edges that count as parallel


class Curvature(NamedTuple):
    """Curvature of two touching surfaces: radii H (2, 2) of the one that carries the contact and K of the other:
    compliance (H + K)^-1, share H (H + K)^-1, radius H (H + K)^-1 K. None of them is large where one is flat."""

    compliance: Array
    share: Array
    radius: Array


class Touch(NamedTuple):
    """One point of contact.

    law: names of frame and reference, friction and what else contact laws need. point, other (3,): where the frame's
    and the reference's shape touch, world. normal (3,): away from the reference. tangents (2, 3). gap: m.
    """

    law: Contact
    point: Array
    other: Array
    normal: Array
    tangents: Array
    gap: float
    curvature: Curvature


class Side:
    """A shape for questions about where it is."""

    def __init__(self, shape: CollisionShape) -> None:
        self.shape, self.corners = shape, shape.corners
        self.geometry, self.pose = coal_geometry(shape), coal().Transform3s()
        self.smaller = [(part, coal_geometry(shape.scaled(1.0 - part))) for part in SHRINKING]
        self.R, self.p = np.eye(3), np.zeros(3)

    def move(self, R: Array, p: Array) -> None:
        """Move the shape to a pose in the world."""
        self.R, self.p = R, p
        self.pose.setRotation(R)
        self.pose.setTranslation(p)

    def another(self) -> Side:
        """The same shape, which moves by itself."""
        other = copy.copy(self)
        other.pose = coal().Transform3s()
        other.move(self.R, self.p)
        return other

    def feature(self, direction: Array, askew: Callable[[CollisionShape], float] = tolerance_of) -> Feature:
        """What lies furthest in a direction of the world, and so much less (m, of the shape)."""
        return feature_of(self.shape, self.corners, self.R, self.p, direction, askew(self.shape))


class Pair:
    """Two shapes that may touch; forces act on the frame of the first, `law` says how.

    What lies furthest in a direction is a face or an edge as far as the tolerance of the smaller shape goes.
    """

    def __init__(self, upper: Side, lower: Side, law: Contact) -> None:
        self.upper, self.lower, self.law = upper, lower, law
        library = coal()
        self._request = library.CollisionRequest(library.CollisionRequestFlag.CONTACT, 1)
        self._request.gjk_convergence_criterion = library.GJKConvergenceCriterion.DualityGap
        self._request.gjk_convergence_criterion_type = library.GJKConvergenceCriterionType.Relative
        tolerance = min(tolerance_of(upper.shape), tolerance_of(lower.shape))
        self._patches = library.ContactPatchRequest(1, ROUND_SAMPLES, tolerance)

    def touches(self, margin: float) -> list[Touch]:
        """All points where they are nearer than the margin (m)."""
        if self.lower.shape.kind == "plane":
            above = self.upper.feature(-self.lower.R[:, 2])
            if above.rank < 2 or self.upper.shape.kind != "cylinder":  # whose face has more corners in coal
                return self._on_plane(above, margin)
        found = self._polygon(margin)
        if found is None:
            return []
        normal, polygon = found
        askew = tolerance_of if len(polygon) > 1 else fine_tolerance_of  # as coal took the polygon, or as it is
        above, below = self.upper.feature(-normal, askew), self.lower.feature(normal, askew)
        normal = _exact_normal(above, below, normal)
        tangents = tangents_of(normal)
        places = _places(above, below, polygon, tangents)
        heights = [feature.fit(normal, tangents) for feature in (above, below)]
        curvature = curvature_of(above, below, tangents, corners=len(places) > 1)
        touches = []
        for place in places:
            top, bottom = (height + gradient @ (place - middle) for height, gradient, middle in heights)
            top, bottom = top - above.rounding, bottom + below.rounding
            across = place @ tangents
            ends = across + top * normal, across + bottom * normal
            touches.append(Touch(self.law, *ends, normal, tangents, float(top - bottom), curvature))
        return [touch for touch in touches if touch.gap <= margin]

    def _on_plane(self, above: Feature, margin: float) -> list[Touch]:
        """Touches at the corners that lie furthest down, each with its own gap; nothing has to be searched."""
        normal = self.lower.R[:, 2]
        tangents = tangents_of(normal)
        corners = above.points
        if len(corners) > 2:
            corners = corners[_ends(corners @ above.direction) if above.rank == 1 else _few(corners @ tangents.T)]
        curvature = Curvature(np.zeros((2, 2)), np.zeros((2, 2)), above.radii(tangents, as_corner=True))
        touches = []
        for corner, height in zip(corners, ((corners - self.lower.p) @ normal).tolist()):
            gap = height - above.rounding
            if gap <= margin:
                ends = corner - above.rounding * normal, corner - height * normal
                touches.append(Touch(self.law, *ends, normal, tangents, gap, curvature))
        return touches

    def distance(self) -> float:
        """m; negative where they overlap."""
        library = coal()
        sides = (self.lower.geometry, self.lower.pose, self.upper.geometry, self.upper.pose)
        return float(library.distance(*sides, library.DistanceRequest(), library.DistanceResult()))

    def depth(self) -> float:
        """Depth by which the shapes overlap (m), 0 where they do not."""
        result = self._collided(self.upper.geometry, 0.0)
        return 0.0 if result is None else max(0.0, -float(result.getContact(0).penetration_depth))

    def _polygon(self, margin: float) -> tuple[Array, Array] | None:
        """(normal, points (k, 3) where they meet); None where they are further apart.

        Where they just touch, or overlap a little, no search knows the direction well: there it is that in which a
        smaller upper one is apart.
        """
        upper, lower = self.upper, self.lower
        result = self._collided(upper.geometry, margin)
        if result is None:
            return None
        if result.getContact(0).penetration_depth > ROUGH or lower.shape.kind == "plane":
            return self._met(result)
        for shrinking, geometry in upper.smaller:
            apart = self._collided(geometry, margin + shrinking * upper.shape.reach)
            if apart is not None and apart.getContact(0).penetration_depth > ROUGH:
                lift = shrinking * min(upper.shape.reach, lower.shape.reach) - result.getContact(0).penetration_depth
                upper.pose.setTranslation(upper.p + lift * np.array(apart.getContact(0).normal))
                found = self._met(self._collided(upper.geometry, margin + lift) or result)
                upper.pose.setTranslation(upper.p)
                return found
        return self._met(result)

    def _collided(self, geometry: Any, margin: float) -> Any:
        """What coal finds of the upper one's geometry; None where they are further apart."""
        library, request = coal(), self._request
        request.security_margin = margin
        result = library.CollisionResult()
        library.collide(self.lower.geometry, self.lower.pose, geometry, self.upper.pose, request, result)
        return result if result.numContacts() else None

    def _met(self, result: Any) -> tuple[Array, Array]:
        contact, patches = result.getContact(0), coal().ContactPatchResult(self._patches)
        sides = (self.lower.geometry, self.lower.pose, self.upper.geometry, self.upper.pose)
        coal().computeContactPatch(*sides, result, self._patches, patches)
        points = [np.array(contact.pos)]
        if patches.numContactPatches() and patches.getContactPatch(0).size():
            patch = patches.getContactPatch(0)
            points = [np.array(patch.getPoint(k)) for k in range(patch.size())]
        return np.array(contact.normal), np.array(points)


def tangents_of(normal: Array) -> Array:
    """(2, 3): unit vectors that complete a normal (Duff et al., 2017); level ones do not turn with rounding."""
    x, y, z = (float(part) for part in normal)
    sign = -1.0 if z < -LEVEL else 1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return np.array([[1.0 + sign * x * x * a, sign * b, -sign * x], [b, sign + y * y * a, -y]])


def curvature_of(above: Feature, below: Feature, tangents: Array, *, corners: bool) -> Curvature:
    """Curvature of two features. corners: they meet in several points, each a corner of one of them on the other.

    Edges that are parallel, and faces, cannot both be taken as such: one point of the one stands for it.
    """
    plain = corners or (above.rank + below.rank > 1 and not _cross_each_other(above, below))
    none, all_of_it = np.zeros((2, 2)), np.eye(2)
    if below.rank == 2:
        return Curvature(none, none, above.radii(tangents, as_corner=True))
    if above.rank == 2:
        return Curvature(none, all_of_it, below.radii(tangents, as_corner=True))
    H = above.radii(tangents, as_corner=plain and above.rank <= below.rank)
    K = below.radii(tangents, as_corner=plain and below.rank < above.rank)
    size, axes = np.linalg.eigh(H + K)
    for radius, axis in zip(size, axes.T):
        if radius < 1.0 / FLAT:  # a corner on a corner, which no normal is the right one for
            K = K + FLAT * np.outer(axis, axis)
    C = np.asarray(np.linalg.inv(H + K), dtype=float)
    return Curvature(C, H @ C, H @ C @ K)


def _exact_normal(above: Feature, below: Feature, normal: Array) -> Array:
    """That of a face, or of two edges that cross, where it is the one that was found but for errors of the search."""
    exact, faces = normal, [face for face in (below, above) if face.rank == 2]
    if faces:
        tangents = tangents_of(normal)
        exact = normal - faces[0].fit(normal, tangents)[1] @ tangents
    elif _cross_each_other(above, below):
        exact = np.cross(above.direction, below.direction)
    exact = exact / np.copysign(length(exact), exact @ normal)
    return exact if length(exact - normal) < ERROR else normal


def _cross_each_other(above: Feature, below: Feature) -> bool:
    """Two edges that are not parallel."""
    if not above.rank == below.rank == 1:
        return False
    return length(np.cross(above.direction, below.direction)) > PARALLEL


def _places(above: Feature, below: Feature, polygon: Array, tangents: Array) -> Array:
    """(k, 2) along the tangents: a corner, where edges cross, or those of the polygon."""
    for corner in (above, below):
        if corner.rank == 0:
            return np.asarray(corner.points[:1] @ tangents.T)
    if _cross_each_other(above, below):
        (start, end), (other, last) = (feature.points[[0, -1]] @ tangents.T for feature in (above, below))
        part = np.linalg.solve(np.column_stack([end - start, other - last]), other - start)
        if (np.abs(part - 0.5) <= 0.5 + 1e-6).all():
            return np.asarray(start + part[0] * (end - start))[None]
    places = polygon @ tangents.T
    places = places[_few(places)]
    for edge in (above, below):
        if edge.rank == 1:  # the polygon is as rough as its normal
            start, along = edge.points[0] @ tangents.T, edge.direction @ tangents.T
            places = start + np.outer((places - start) @ along, along) / (along @ along)
    return places


def _few(places: Array) -> Indices:
    """Numbers of at most `MOST_POINTS` of a polygon's corners (k, 2): those that reach furthest."""
    if len(places) <= MOST_POINTS:
        return np.arange(len(places))
    angles = 2.0 * np.pi * np.arange(MOST_POINTS) / MOST_POINTS
    furthest = np.argmax(places @ np.array([np.cos(angles), np.sin(angles)]), axis=0)
    return np.unique(furthest)


def _ends(along: Array) -> Indices:
    return np.array([along.argmin(), along.argmax()])
