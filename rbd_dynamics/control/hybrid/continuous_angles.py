# SPDX-License-Identifier: Apache-2.0
"""Angles of a tool that are told without a jump up to half a turn from the task frame, and a little beyond."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints import WORLD_FRAME, Constraint, FrameConstraint
from rbd_dynamics.spatial import log_so3

if TYPE_CHECKING:
    from rbd_dynamics.control.hybrid.controller import HybridController

Array = NDArray[np.float64]
FAR = 2.0  # rad: from where on angles are told near a turn that is not zero
MOVED = 0.5  # rad, after which it is another


class ContinuousAngles:
    """Keeps what a controller's angles are told near (`FrameConstraint.near`) behind where its tool is turned.

    Parameters:
        controller: whose task may have angles; where it has none, nothing is done.
    """

    def __init__(self, controller: HybridController) -> None:
        self.controller = controller
        self._turn = 0.0
        self._has_angles = any(map(_tells_angles, controller.task.constraints))

    def begin(self) -> None:
        """A tool is within half a turn of the task frame, whatever was before."""
        if self._turn:
            self._turn = 0.0
            self._tell_near(np.zeros(3))

    def follow(self, q: Array, turn: float) -> None:
        """The tool is turned by so much (rad) at q (nv)."""
        if not self._has_angles or abs(turn - self._turn) < MOVED or (turn < FAR and not self._turn):
            return
        self._turn = turn if turn >= FAR else 0.0
        self._tell_near(self._vector(q) if self._turn else np.zeros(3))

    def _vector(self, q: Array) -> Array:
        """(3), rad; of the two that are the same rotation the one that is nearer to what was told."""
        robot = self.controller.robot
        (rows,) = filter(_tells_angles, self.controller.task.constraints)
        assert isinstance(rows, FrameConstraint)
        frames = ((rows.reference, rows.reference_placement), (rows.frame, rows.placement))
        R, S = (
            (np.eye(3) if frame == WORLD_FRAME else robot.pose(q, frame)[:3, :3])
            @ np.array(placement.rotation, dtype=float).reshape(3, 3)
            for frame, placement in frames
        )
        return near_log(R.T @ S, np.array(rows.near))

    def _tell_near(self, vector: Array) -> None:
        x, y, z = map(float, vector)

        def tell(each: Constraint) -> Constraint:
            return replace(each, near=(x, y, z)) if isinstance(each, FrameConstraint) and each.angles else each

        self.controller.renumber(lambda rows: rows.renumbered(tell))


def near_log(rotation: Array, near: Array) -> Array:
    """The rotation vector (3), rad, of a rotation (3, 3) that is nearest to another."""
    vector = np.asarray(log_so3(rotation))
    angle = float(np.linalg.norm(vector))
    if not angle:
        return vector
    other = vector * (1.0 - 2.0 * math.pi / angle)
    return min(vector, other, key=lambda each: float(np.linalg.norm(each - near)))


def _tells_angles(constraint: Constraint) -> bool:
    return isinstance(constraint, FrameConstraint) and constraint.angles
