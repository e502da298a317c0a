# SPDX-License-Identifier: Apache-2.0
"""Wrenches of sensors that report in another frame than the one that is expected, on the same body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.arrays import pose_array, transform_wrench

Array = NDArray[np.float64]


class FixedFrames:
    """Frames that do not move against one of a robot.

    Parameters:
        frame: of the robot, in which wrenches are wanted.
    """

    def __init__(self, model: Model, frame: str) -> None:
        self._model, self._frame = model, frame
        self._found: dict[str, Array] = {}

    def moved(self, frame: str, wrench: Array) -> Array:
        """A wrench (m, f) at another frame's origin and in its axes, at this one's. Raises KeyError, which says why."""
        if frame not in self._found:
            self._found[frame] = self._pose(frame)
        return transform_wrench(self._found[frame], wrench)

    def _pose(self, name: str) -> Array:
        """The pose (4, 4) of the other in this one."""
        own, other = self._model.frame(self._frame), self._model.frame(name)
        if own.body != other.body:
            raise KeyError(f"it moves against {self._frame!r}")
        return pose_array(own.placement.inverse() @ other.placement)
