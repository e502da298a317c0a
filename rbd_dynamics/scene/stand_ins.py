# SPDX-License-Identifier: Apache-2.0
"""Capsules in place of bodies whose looks nobody knows."""

from __future__ import annotations

import math

from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.model.shapes import Shape
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import Mat3, Vec3, cross, dot3, rotation_about

THICKNESS = 0.12  # radius in the mean distance of joints
SMALLEST, LARGEST = 0.004, 0.08  # m
NEAR = 1e-6  # m: points in the same place


def capsules(model: Model) -> dict[int, list[Shape]]:
    """{body: shapes}, WORLD included: from each body's origin to those of its children and, of a last one, to what is
    fixed to it, else to its centre of mass; a ball where all of that is in one place."""
    ends = {index: _ends(model, index) for index in (WORLD, *range(len(model.bodies)))}
    lengths = [math.hypot(*p) for points in ends.values() for p in points]
    mean = sum(lengths) / len(lengths) if lengths else 0.1
    radius = min(max(THICKNESS * mean, SMALLEST), LARGEST)
    return {
        index: [_capsule(point, radius) for point in points] or [Shape("sphere", (radius,))]
        for index, points in ends.items()
    }


def _ends(model: Model, index: int) -> list[Vec3]:
    """Points, in the body's frame, to which its origin is joined."""
    children = [body.placement.p for body in model.bodies if body.parent == index]
    fixed = [frame.placement.p for frame in model.frames if frame.body == index]
    for points in (children, fixed):
        far = [p for p in points if math.hypot(*p) > NEAR]
        if far:
            return _unlike(far if points is children else [max(far, key=lambda p: math.hypot(*p))])
    if children or index == WORLD or not model.bodies[index].inertia.mass:
        return []
    inertia = model.bodies[index].inertia
    com = tuple(h / inertia.mass for h in inertia.parameters[1:4])
    return [com] if NEAR < math.hypot(*com) < 1.0 else []


def _unlike(points: list[Vec3]) -> list[Vec3]:
    found: list[Vec3] = []
    for p in points:
        if all(math.dist(p, other) > NEAR for other in found):
            found.append(p)
    return found


def _capsule(end: Vec3, radius: float) -> Shape:
    """A capsule from the origin to a point."""
    length = math.hypot(*end)
    x, y, z = (part / length for part in end)
    middle = (end[0] / 2.0, end[1] / 2.0, end[2] / 2.0)
    return Shape("capsule", (radius, length), Transform.of(_from_z((x, y, z)), middle))


def _from_z(direction: Vec3) -> Mat3:
    """A rotation that takes z there."""
    axis = cross((0.0, 0.0, 1.0), direction)
    sine = math.hypot(*axis)
    if sine < 1e-9:
        return rotation_about((1.0, 0.0, 0.0), 0.0 if direction[2] > 0.0 else math.pi)
    unit = (axis[0] / sine, axis[1] / sine, axis[2] / sine)
    return rotation_about(unit, math.atan2(sine, dot3((0.0, 0.0, 1.0), direction)))
