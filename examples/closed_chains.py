# SPDX-License-Identifier: Apache-2.0
"""What the examples with closed chains share: planar arms of two links from several base points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.joints import Revolute

Array = NDArray[np.float64]

VERTICAL = (0.0, 0.0, 1.0)


def arms(bases: Sequence[tuple[float, float]], link: float, mass: float, gravity: float = 0.0) -> rbd.Robot:
    """Arms of two equal rods in the plane x, y; q = (theta_1, theta_2) of the first, of the second..."""
    builder = rbd.ModelBuilder("arms", gravity=(0.0, -gravity, 0.0))
    rod = {"mass": mass, "com": (link / 2, 0, 0), "inertia": mass * link**2 / 12 * np.diag([0.0, 1.0, 1.0])}
    for k, (x, y) in enumerate(bases):
        placed = (x, y, 0.0)
        builder.add_body(f"upper{k}", None, Revolute(VERTICAL), placement=placed, **rod)
        builder.add_body(f"lower{k}", f"upper{k}", Revolute(VERTICAL), placement=(link, 0.0, 0.0), **rod)
        builder.add_frame(f"tip{k}", f"lower{k}", placement=(link, 0.0, 0.0))
    return rbd.Robot(builder.build())


def tips_together(robot: rbd.Robot, count: int, directions: Sequence[str] = ("x", "y")) -> ConstraintSet:
    """All tips in one point: each with the first."""
    return ConstraintSet(
        robot.model,
        [FrameConstraint(f"joint{k}", f"tip{k}", "tip0", directions=tuple(directions)) for k in range(1, count)],
    )


def reaching(bases: Sequence[tuple[float, float]], link: float, point: Array, elbows: Sequence[float]) -> Array:
    """q with all tips at `point`; elbows: +1 or -1 for each arm."""
    q = []
    for (x, y), side in zip(bases, elbows):
        dx, dy = point[0] - x, point[1] - y
        distance = np.hypot(dx, dy)
        bend = side * np.arccos(np.clip(1.0 - distance**2 / (2 * link**2), -1.0, 1.0))
        second = side * np.pi - bend
        q += [np.arctan2(dy, dx) - second / 2, second]
    return np.array(q)


def joints_of(robot: rbd.Robot, q: Array, links: int) -> list[Array]:
    """For drawing: (3, 2) base, elbow and tip of each arm."""
    found = []
    for k in range(links):
        points = [robot.pose(q, name)[:2, 3] for name in (f"upper{k}", f"lower{k}", f"tip{k}")]
        found.append(np.array(points))
    return found
