# SPDX-License-Identifier: Apache-2.0
"""The usual task of hybrid position/force control as numbers: tool, task frame, surface, directions held and moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from rbd_dynamics.constraints import (
    DIRECTIONS,
    WORLD_FRAME,
    Constraint,
    ConstraintSet,
    Cylinder,
    FrameConstraint,
    Plane,
    Sphere,
    Surface,
    SurfaceConstraint,
)
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy

#: m
NOWHERE = 1e-300

SURFACES = ("none", "plane", "sphere", "cylinder")


@dataclass(frozen=True)
class HybridTask:
    """A tool against a surface.

    tool_frame: link or joint; tool_position (m), tool_orientation (roll, pitch, yaw): of the point that touches,
    in it. reference: link in which the task frame is, or "world"; task_position, task_orientation: of the task
    frame there. surface: "plane" (z = 0 of the task frame, normal z), "sphere" or "cylinder" (about its origin, its
    z axis) with surface_radius, or "none". contact_offset: of the tool's point from the surface, the radius of a ball.
    constrained: directions of the task frame that the environment holds besides the surface; controlled:
    those that are moved. Both are of "rx", "ry", "rz" (rotations), "x", "y", "z".
    """

    tool_frame: str
    _: KW_ONLY
    tool_position: Sequence[float] = (0.0, 0.0, 0.0)
    tool_orientation: Sequence[float] = (0.0, 0.0, 0.0)
    reference: str = WORLD_FRAME
    task_position: Sequence[float] = (0.0, 0.0, 0.0)
    task_orientation: Sequence[float] = (0.0, 0.0, 0.0)
    surface: str = "plane"
    surface_radius: float = 1.0
    contact_offset: float = 0.0
    constrained: Sequence[str] = ()
    controlled: Sequence[str] = field(default=("rx", "ry", "rz", "x", "y"))

    def sets(self, model: Model) -> tuple[ConstraintSet, ConstraintSet]:
        """(constraints, task). Rows are named "surface.normal", "held.x", "tool.x"...

        Raises ValueError or KeyError for what does not fit together, or does not fit the model.
        """
        if self.surface not in SURFACES:
            raise ValueError(f"surface is {self.surface!r}, expected one of {', '.join(SURFACES)}")
        both = set(self.constrained) & set(self.controlled)
        if both:
            raise ValueError(f"direction {min(both)!r} is both constrained and controlled")
        tool, task = self.placements()
        where: dict[str, Any] = {
            "frame": self.tool_frame, "reference": self.reference, "placement": tool, "reference_placement": task
        }  # fmt: skip
        held: list[Constraint] = []
        if self.surface != "none":
            held.append(SurfaceConstraint("surface", surface=self._surface(), offset=self.contact_offset, **where))
        if self.constrained:
            held.append(FrameConstraint("held", directions=tuple(self.constrained), **where))
        if not held:
            raise ValueError("nothing is constrained: give a surface or constrained directions")
        if not self.controlled:
            raise ValueError(f"nothing is controlled: give some of {', '.join(DIRECTIONS)}")
        moved = FrameConstraint("tool", directions=tuple(self.controlled), angles=True, **where)
        return ConstraintSet(model, held), ConstraintSet(model, [moved])

    def placements(self) -> tuple[Transform, Transform]:
        """Placements of the tool's point in its frame and of the task frame. Raises ValueError."""
        return (
            _placement("tool", self.tool_position, self.tool_orientation),
            _placement("task", self.task_position, self.task_orientation),
        )

    def _surface(self) -> Surface:
        if self.surface == "sphere":
            return Sphere(self.surface_radius)
        return Cylinder(self.surface_radius) if self.surface == "cylinder" else Plane()


def turns(names: Sequence[str]) -> tuple[bool, ...]:
    """Which of the task rows of these names ("tool.rx"...) turn the tool, instead of moving it."""
    return tuple(name.rsplit(".")[-1].startswith("r") for name in names)


def _placement(what: str, position: Sequence[float], orientation: Sequence[float]) -> Transform:
    if len(position) != 3 or len(orientation) != 3:
        raise ValueError(f"{what}_position and {what}_orientation must have 3 numbers each")
    roll, pitch, yaw = (float(value) for value in orientation)
    return somewhere(rotation_from_rpy(roll, pitch, yaw), position)


def somewhere(rotation: Sequence[float], position: Sequence[float]) -> Transform:
    """A placement that is not the identity, so that kernels read it and it may change."""
    x, y, z = (float(value) for value in position)
    placed = Transform.of(tuple(rotation), (x, y, z))
    return Transform.of(placed.rotation, (x, y, NOWHERE)) if placed == IDENTITY else placed
