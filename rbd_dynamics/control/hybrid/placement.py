# SPDX-License-Identifier: Apache-2.0
"""Placements of tool, task frame and surface, and the way from one to another without a jump of what is wanted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from rbd_dynamics.constraints import (
    Constraint,
    ConstraintSet,
    Cylinder,
    FrameConstraint,
    PairConstraint,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.control.hybrid.task import HybridTask, somewhere
from rbd_dynamics.spatial import exp_so3, log_so3
from rbd_dynamics.spatial.se3 import Transform

PEAK_SPEED, PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / math.sqrt(3.0)  # of a quintic from rest to rest, in unit time


class Placement(NamedTuple):
    """The numbers of a `HybridTask`.

    tool: the point that touches, in the tool's frame. task: the task frame in its reference. radius, offset: m, of the
    surface and of the tool's point from it.
    """

    tool: Transform
    task: Transform
    radius: float
    offset: float

    @classmethod
    def of(cls, task: HybridTask) -> Placement:
        """Raises ValueError for what is no position or no orientation."""
        return cls(*task.placements(), task.surface_radius, task.contact_offset)

    @classmethod
    def at(cls, task: ConstraintSet, other: Placement, constraints: ConstraintSet) -> Placement:
        """The numbers of the rows of a `HybridTask`; radius and offset as in `other` where there is no surface."""
        moved = task.constraints[0]
        assert isinstance(moved, PairConstraint)
        radius, offset = other.radius, other.offset
        for each in constraints.constraints:
            if isinstance(each, SurfaceConstraint):
                offset = each.offset
                radius = each.surface.radius if isinstance(each.surface, (Sphere, Cylinder)) else radius
        return cls(moved.placement, moved.reference_placement, radius, offset)

    def towards(self, other: Placement, share: float) -> Placement:
        """A share (0 to 1) of the way to another: straight, and turned about one axis."""
        if share >= 1.0:
            return other
        ways = zip(self[2:], other[2:])
        return Placement(
            _towards(self.tool, other.tool, share),
            _towards(self.task, other.task, share),
            *(a + share * (b - a) for a, b in ways),
        )

    def put(self, rows: ConstraintSet) -> ConstraintSet:
        """The rows of a `HybridTask` with these numbers; quick, nothing is traced anew."""
        return rows.renumbered(self._put)

    def _put(self, constraint: Constraint) -> Constraint:
        assert isinstance(constraint, PairConstraint)
        moved = replace(constraint, placement=self.tool, reference_placement=self.task)
        if isinstance(moved, SurfaceConstraint):
            surface = moved.surface
            if isinstance(surface, (Sphere, Cylinder)):
                surface = replace(surface, radius=self.radius)
            return replace(moved, surface=surface, offset=self.offset)
        assert isinstance(moved, FrameConstraint)
        return moved

    def way(self, other: Placement, lever: float) -> tuple[float, float]:
        """How far (m) a point `lever` (m) from the task frame goes at most on the way to another, and its turn, rad."""
        turns = [_turn(a, b) for a, b in zip(self[:2], other[:2])]
        ways = [float(np.linalg.norm(np.subtract(b.p, a.p))) for a, b in zip(self[:2], other[:2])]
        levers = lever, float(np.linalg.norm(other.tool.p))
        return sum(ways) + sum(angle * arm for angle, arm in zip(turns[::-1], levers)), sum(turns)


class PlacementPath:
    """The way from one placement to another in time: from rest to rest, by a quintic.

    RAMP: s, in which a frame may go from rest to its speed.

    Parameters:
        start, goal: its ends.
        seconds: it lasts.
    """

    RAMP: ClassVar[float] = 0.2

    def __init__(self, start: Placement, goal: Placement, seconds: float) -> None:
        self.start, self.goal, self.seconds = start, goal, seconds
        self._time = 0.0

    @staticmethod
    def least_time(way: float, speed: float, acceleration: float) -> float:
        """s, within these limits, for a way in their unit."""
        return max(PEAK_SPEED * way / speed, math.sqrt(PEAK_ACCELERATION * way / acceleration))

    def after(self, dt: float) -> Placement:
        """The placement dt (s) later than the last that was asked for."""
        self._time += dt
        x = min(1.0, self._time / self.seconds) if self.seconds > 0.0 else 1.0
        return self.start.towards(self.goal, x * x * x * (10.0 - 15.0 * x + 6.0 * x * x))

    @property
    def over(self) -> bool:
        return self._time >= self.seconds


def _turn(a: Transform, b: Transform) -> float:
    R, S = (np.array(x.rotation, dtype=float).reshape(3, 3) for x in (a, b))
    return float(np.linalg.norm(log_so3(R.T @ S)))


def _towards(a: Transform, b: Transform, share: float) -> Transform:
    R, S = (np.array(x.rotation, dtype=float).reshape(3, 3) for x in (a, b))
    turned = R @ exp_so3(share * log_so3(R.T @ S))
    p, q = (np.array(x.p, dtype=float) for x in (a, b))
    return somewhere(turned.ravel().tolist(), (p + share * (q - p)).tolist())
