# SPDX-License-Identifier: Apache-2.0
"""Boxes that tools keep away from, and the proof that they do so between samples, too.

A tool is a ball about a frame of the robot. Its distance to a box changes no faster than it moves, and that no faster
than each joint's speed times the longest lever that the joint has on it: a stretch of time whose two ends are farther
away than the tool can come in it is proven; others are halved until they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.joints import Prismatic, Revolute
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.so3 import rotation_from_rpy

Array = NDArray[np.float64]
Vec3 = tuple[float, float, float]
SHORTEST = 1e-4  # s: stretches are not halved any more, the tool as good as touches


@dataclass(frozen=True)
class Box:
    """A box in the robot's base frame: centre and edge lengths, m; rpy: its axes as in a URDF, rad."""

    center: Vec3
    size: Vec3
    _: KW_ONLY
    rpy: Vec3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("center", "size", "rpy"):
            value = tuple(float(x) for x in getattr(self, name))
            if len(value) != 3 or not np.isfinite(value).all():
                raise ValueError(f"{name} of a box must be three numbers, got {getattr(self, name)!r}")
            object.__setattr__(self, name, value)
        if min(self.size) <= 0.0:
            raise ValueError(f"size of a box must be positive, got {self.size!r}")

    def distance(self, points: Array) -> tuple[Array, Array]:
        """Distance from points (N, 3), negative inside, and its gradient (N, 3)."""
        axes = np.array(rotation_from_rpy(*self.rpy)).reshape(3, 3)
        local = (points - self.center) @ axes
        beyond = np.abs(local) - 0.5 * np.array(self.size)
        outside = np.maximum(beyond, 0.0)
        far = np.linalg.norm(outside, axis=1)
        nearest = np.eye(3)[beyond.argmax(axis=1)]
        direction = np.where((far > 0.0)[:, None], outside / np.where(far > 0.0, far, 1.0)[:, None], nearest)
        return np.where(far > 0.0, far, beyond.max(axis=1)), (direction * np.sign(local)) @ axes.T


@dataclass(frozen=True)
class Obstacles:
    """Boxes, and what keeps away from them.

    Parameters:
        tools: frames of the robot. radius: of the ball about each, m.
    """

    boxes: tuple[Box, ...] = ()
    tools: tuple[str, ...] = ()
    _: KW_ONLY
    radius: float = 0.05

    def __post_init__(self) -> None:
        if not (np.isfinite(self.radius) and self.radius >= 0.0):
            raise ValueError(f"radius must be a length, got {self.radius!r}")
        if self.boxes and not self.tools:
            raise ValueError("obstacles need a tool: a frame of the robot that keeps away from them")

    def clearance(self, robot: Robot, q: Array) -> tuple[Array, Array]:
        """Clearances (N, tools x boxes), m, at positions q (N, nv), and their gradients (N, tools x boxes, nv)."""
        values, gradients = [], []
        for tool in self.tools if self.boxes else ():
            pose, jacobian = robot.pose(q, tool), robot.jacobian(q, tool)
            moves = pose[:, :3, :3] @ jacobian[:, 3:]
            for box in self.boxes:
                distance, direction = box.distance(pose[:, :3, 3])
                values.append(distance - self.radius)
                gradients.append((direction[:, None, :] @ moves)[:, 0])
        count = len(values)
        if not count:
            return np.zeros((len(q), 0)), np.zeros((len(q), 0, robot.model.nv))
        return np.stack(values, axis=1), np.stack(gradients, axis=1)

    def least_clearance(
        self, robot: Robot, times: Array, positions: Callable[[Array], Array], velocity: Array, reach: Array
    ) -> float:
        """The least clearance of a motion, m, at the points looked at; negative where it touches, or may.

        positions: of times (N,) to (N, nv). velocity: bounds of the joints' speeds between each two of `times`, (N - 1,
        nv). reach: see `levers`.
        """
        if not self.boxes:
            return np.inf
        fastest = np.array([velocity @ levers(robot.model, tool, reach) for tool in self.tools]).max(axis=0)
        begin, end = times[:-1], times[1:]
        values = self.clearance(robot, positions(times))[0].min(axis=1)
        at_begin, at_end = values[:-1], values[1:]
        least = float(values.min())
        while len(begin) and least >= 0.0:
            # no point between is nearer than this: the tool would have to come and go faster than it can
            bound = 0.5 * (at_begin + at_end - fastest * (end - begin))
            unproven = bound < 0.0
            halved = unproven & (end - begin > SHORTEST)
            least = min(least, float(bound[unproven & ~halved].min(initial=np.inf)))
            begin, end, fastest, at_begin, at_end = (x[halved] for x in (begin, end, fastest, at_begin, at_end))
            middle = 0.5 * (begin + end)
            between = self.clearance(robot, positions(middle))[0].min(axis=1) if len(middle) else middle
            least = min(least, float(between.min(initial=np.inf)))
            begin, end = np.append(begin, middle), np.append(middle, end)
            at_begin, at_end = np.append(at_begin, between), np.append(between, at_end)
            fastest = np.append(fastest, fastest)
        return least


def levers(model: Model, frame: str, reach: Array) -> Array:
    """The farthest that a frame's origin can be from each joint's axis, m; one for a joint that slides: (nv,).

    reach: the largest size of each joint's position (nv,). Zero for joints that do not move the frame. Raises
    ValueError for a joint that is neither revolute nor prismatic, KeyError for an unknown frame.
    """
    found = np.zeros(model.nv)
    at = model.frame(frame)
    length, index = float(np.linalg.norm(at.placement.p)), at.body
    while index != WORLD:
        body = model.bodies[index]
        joint = body.joint
        ratio = abs(joint.mimic.multiplier) if joint.mimic else 1.0
        if not isinstance(joint.kind, (Revolute, Prismatic)):
            raise ValueError(
                f"joint {joint.name!r} is {joint.kind.name}: obstacles are for revolute and prismatic joints"
            )
        slides = isinstance(joint.kind, Prismatic)
        found[joint.v_index] += ratio * (1.0 if slides else length)
        if slides:
            offset = abs(joint.mimic.offset) if joint.mimic else 0.0
            length += ratio * float(reach[joint.v_index]) + offset
        length += float(np.linalg.norm(body.placement.p))
        index = body.parent
    return found


def boxes_of(numbers: Sequence[Sequence[float]]) -> tuple[Box, ...]:
    """Boxes from rows of centre, size and perhaps roll, pitch, yaw: 6 or 9 numbers each. Raises ValueError."""
    found = []
    for row in numbers:
        if len(row) not in (6, 9):
            raise ValueError(f"a box is x,y,z, its three edges and perhaps roll,pitch,yaw: got {len(row)} numbers")
        x, y, z, a, b, c, *angles = (float(value) for value in row)
        roll, pitch, yaw = angles or (0.0, 0.0, 0.0)
        found.append(Box((x, y, z), (a, b, c), rpy=(roll, pitch, yaw)))
    return tuple(found)
