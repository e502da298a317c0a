# SPDX-License-Identifier: Apache-2.0
"""Inertias that an SDF asks to be found from shapes (`<inertial auto="true">`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.formats.sdf.frames import FrameGraph, Scope
from rbd_dynamics.formats.sdf.values import Values
from rbd_dynamics.model.description import Inertial
from rbd_dynamics.model.elements import Number, local_tag
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Sym3

WATER = "1000"  # kg/m^3, the density of what says none


@dataclass(frozen=True)
class Solid:
    """A volume with its moments about its centre, divided by its mass; centre: along z, from the shape's frame."""

    volume: float
    xx: float
    yy: float
    zz: float
    centre: float = 0.0


@dataclass(frozen=True)
class AutoInertia:
    """The shapes of a link; mass: what they are to weigh together, None for what they do."""

    parts: tuple[tuple[Solid, float, Transform, str], ...]  # with density, pose, and the frame that the pose is in
    mass: float | None

    @classmethod
    def of(cls, link: Values, inertial: Values, scope: Scope) -> AutoInertia | None:
        """None with a finding for what has no volume here."""
        for tag in ("pose", "inertia"):
            if inertial.child(tag) is not None:
                link.findings.defect(link.where, f"its <inertial> is found from its shapes: its <{tag}> is not used")
        common = inertial.text("density", WATER)
        mass = inertial.number("mass", "1") if inertial.child("mass") is not None else None
        parts = []
        for element in link.children("collision"):
            collision = Values(element, link.where, link.findings)
            found = _solid(collision)
            if found is None:
                return None
            pose, relative_to = collision.pose()
            frame = scope.whole(relative_to) if relative_to else ""
            parts.append((found, collision.number("density", common), pose, frame))
        if not sum(solid.volume * density for solid, density, _, _ in parts) > 0.0:
            link.findings.error(
                link.where, "its <inertial> is to be found from its shapes (auto), and no <collision> has a mass"
            )
            return None
        return cls(tuple(parts), mass)

    def inertial(self, link: str, frames: FrameGraph) -> Inertial:
        """Raises ModelError for a frame that is not there."""
        whole = reduce(RigidInertia.__add__, (self._part(part, link, frames) for part in self.parts))
        scale = 1.0 if self.mass is None else self.mass / whole.mass
        x, y, z = (moment / whole.mass for moment in whole.moment)
        centred = whole.to_child(Transform.of(p=(x, y, z)))
        return Inertial(scale * whole.mass, (x, y, z), tuple(scale * entry for entry in centred.rotational))

    def _part(self, part: tuple[Solid, float, Transform, str], link: str, frames: FrameGraph) -> RigidInertia:
        solid, density, pose, frame = part
        mass = density * solid.volume
        moments: Sym3 = (mass * solid.xx, 0.0, 0.0, mass * solid.yy, 0.0, mass * solid.zz)
        at = (frames.relative(frame, link) if frame else IDENTITY) @ pose
        return RigidInertia.from_com(mass, (0.0, 0.0, solid.centre), moments).to_parent(at)


def _solid(collision: Values) -> Solid | None:
    geometry = collision.child("geometry")
    for element in [] if geometry is None else geometry.element:
        shape = Values(element, collision.where, collision.findings)
        make = _SOLIDS.get(local_tag(element))
        if make is None:
            collision.findings.error(
                collision.where,
                f"its <inertial> is to be found from its shapes (auto): {excerpt(collision.element.get('name', ''))} "
                f"is a <{local_tag(element)}>, whose volume is not read",
                f"known: {', '.join(_SOLIDS)}",
            )
            return None
        return make(shape)
    return Solid(0.0, 0.0, 0.0, 0.0)


def _sizes(shape: Values, tag: str, count: int = 1) -> list[float]:
    """Positive ones, or a finding."""
    sizes = shape.numbers(tag, Number(count, " ".join(["1"] * count)))
    if any(size <= 0.0 for size in sizes):
        shape.findings.error(
            shape.where, f"<{local_tag(shape.element)}> <{tag}> {excerpt(shape.text(tag))} is not positive"
        )
    return sizes


def _box(shape: Values) -> Solid:
    x, y, z = _sizes(shape, "size", 3)
    return Solid(x * y * z, (y * y + z * z) / 12.0, (x * x + z * z) / 12.0, (x * x + y * y) / 12.0)


def _ball(a: float, b: float, c: float) -> Solid:
    return Solid(4.0 / 3.0 * math.pi * a * b * c, (b * b + c * c) / 5.0, (a * a + c * c) / 5.0, (a * a + b * b) / 5.0)


def _sphere(shape: Values) -> Solid:
    (r,) = _sizes(shape, "radius")
    return _ball(r, r, r)


def _ellipsoid(shape: Values) -> Solid:
    a, b, c = _sizes(shape, "radii", 3)
    return _ball(a, b, c)


def _round(shape: Values) -> tuple[float, float]:
    (r,), (length,) = _sizes(shape, "radius"), _sizes(shape, "length")
    return r, length


def _cylinder(shape: Values) -> Solid:
    r, length = _round(shape)
    across = (3.0 * r * r + length * length) / 12.0
    return Solid(math.pi * r * r * length, across, across, r * r / 2.0)


def _capsule(shape: Values) -> Solid:
    """Its length is that of the cylinder between two half balls."""
    r, length = _round(shape)
    tube, ends = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r**3
    volume = tube + ends
    along = (tube * r * r / 2.0 + ends * 0.4 * r * r) / volume
    # a half ball's centre is 3/8 r from its plane
    far = 0.4 * r * r + length * length / 4.0 + 3.0 / 8.0 * r * length
    across = (tube * (3.0 * r * r + length * length) / 12.0 + ends * far) / volume
    return Solid(volume, across, across, along)


def _cone(shape: Values) -> Solid:
    r, length = _round(shape)
    across = 3.0 / 80.0 * (4.0 * r * r + length * length)
    return Solid(math.pi * r * r * length / 3.0, across, across, 0.3 * r * r, centre=-length / 4.0)


def _nothing(shape: Values) -> Solid:
    return Solid(0.0, 0.0, 0.0, 0.0)


_SOLIDS: dict[str, Callable[[Values], Solid]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "ellipsoid": _ellipsoid,
    "cone": _cone,
    "empty": _nothing,
}
