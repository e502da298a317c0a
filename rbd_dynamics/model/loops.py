# SPDX-License-Identifier: Apache-2.0
"""Joints that close loops, as files give them: what is left of a joint once the tree has gone another way.

A model only keeps them; `rbd_dynamics.constraints.loop_constraints` makes them rows that hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Mat3, Vec3, cross

#: rotations about, then translations along, the axes of the reference frame
DIRECTIONS = ("rx", "ry", "rz", "x", "y", "z")

#: what each type of joint holds, with its axis, or a planar one's normal, along z
HELD: Mapping[str, tuple[str, ...]] = {
    "fixed": DIRECTIONS,
    "revolute": ("rx", "ry", "x", "y", "z"),
    "continuous": ("rx", "ry", "x", "y", "z"),
    "prismatic": ("rx", "ry", "rz", "x", "y"),
    "cylindrical": ("rx", "ry", "x", "y"),
    "planar": ("rx", "ry", "z"),
    "spherical": ("x", "y", "z"),
    "ball": ("x", "y", "z"),
}


@dataclass(frozen=True)
class Loop:
    """`frame` is held to `reference` in some directions, which are the placed reference's axes.

    Parameters:
        frame, reference: names of frames of the model; "world" is the world.
        placement, reference_placement: of what is held in `frame`, and of the place it is held at in `reference`.
        directions: of `DIRECTIONS`.
        pitch: m/rad, of a screw: as far as it slides along z for each radian that it turns about z, from where the two
            places coincide. None: these two are not tied.
    """

    name: str
    frame: str
    reference: str = "world"
    _: KW_ONLY
    placement: Transform = IDENTITY
    reference_placement: Transform = IDENTITY
    directions: tuple[str, ...] = DIRECTIONS
    pitch: float | None = None

    def __post_init__(self) -> None:
        for key in ("name", "frame", "reference"):
            if not isinstance(getattr(self, key), str) or not getattr(self, key):
                raise ModelError(f"loop {excerpt(self.name)}: {key} {excerpt(getattr(self, key))} is not a name")
        given = tuple(self.directions)
        if not given or len(set(given)) != len(given) or not set(given) <= set(DIRECTIONS):
            raise ModelError(
                f"loop {excerpt(self.name)}: directions {excerpt(list(given))} must be different ones of "
                f"{', '.join(DIRECTIONS)}"
            )
        object.__setattr__(self, "directions", tuple(d for d in DIRECTIONS if d in given))
        if self.pitch is None:
            return
        if not isinstance(self.pitch, (int, float)) or not math.isfinite(self.pitch) or self.pitch == 0.0:
            raise ModelError(f"loop {excerpt(self.name)}: pitch {excerpt(self.pitch)}: expected a number, not 0")
        if self.directions != HELD["cylindrical"]:
            raise ModelError(
                f"loop {excerpt(self.name)}: has a pitch, so its directions are {', '.join(HELD['cylindrical'])}"
            )

    @property
    def joint_type(self) -> str | None:
        """The joint that holds as much: one of `HELD`, "screw", or None."""
        if self.pitch is not None:
            return "screw"
        return next((kind for kind, held in HELD.items() if held == self.directions), None)


def joint_loop(loop: Loop, kind: str, axis: Vec3) -> Loop:
    """A loop that holds what a joint of that type does; axis: in the placed frame, which is the same in both.

    kind: one of `HELD`.
    """
    turned = Transform.of(rotation_onto(axis))
    return replace(
        loop,
        placement=flat(loop.placement @ turned),
        reference_placement=flat(loop.reference_placement @ turned),
        directions=HELD[kind],
    )


def universal_loop(loop: Loop, first: Vec3, second: Vec3) -> Loop:
    """A loop as of a universal joint: `first` is fixed in the reference, `second` in the frame."""
    # the row "rz" keeps the reference's y normal to the frame's x
    onto_y = _rotation(_normal_to(first), first)
    onto_x = _rotation(second, _normal_to(second))
    return replace(
        loop,
        placement=flat(loop.placement @ Transform.of(onto_x)),
        reference_placement=flat(loop.reference_placement @ Transform.of(onto_y)),
        directions=("rz", "x", "y", "z"),
    )


def rotation_onto(axis: Vec3) -> Mat3:
    """A rotation that takes z to a unit vector."""
    if axis == (0.0, 0.0, 1.0):
        return _rotation((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    x = _normal_to(axis)
    return _rotation(x, cross(axis, x))


def flat(pose: Transform) -> Transform:
    """The same pose with one rotation matrix at most."""
    return pose if len(pose.factors) < 2 else Transform.of(pose.rotation, pose.p)


def _rotation(x: Vec3, y: Vec3) -> Mat3:
    """Its columns are x, y and their product."""
    z = cross(x, y)
    return tuple(entry for row in zip(x, y, z) for entry in row)


def _normal_to(axis: Vec3) -> Vec3:
    """A unit vector that is normal to a unit vector."""
    k = min(range(3), key=lambda i: abs(axis[i]))
    x, y, z = cross(axis, (float(k == 0), float(k == 1), float(k == 2)))
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length
