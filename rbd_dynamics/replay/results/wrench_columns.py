# SPDX-License-Identifier: Apache-2.0
"""Columns of the wrench at a frame that the external torques of a recording tell, sample by sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.contact.wrench_monitor import WrenchMonitor
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
AXES = ("mx", "my", "mz", "fx", "fy", "fz")


class WrenchColumns:
    """Moments and forces (m, f) on the robot about the frame's origin, in its axes, and their standard deviations.

    As the node `monitor` tells them (`WrenchMonitor`): each torque counts once its scatter has been seen for a second,
    anew in each segment; NaN where the torques do not tell a component.

    Parameters:
        frame: name of a link or joint. Raises KeyError for an unknown one, with near matches.

    Attributes:
        names: of the columns.
    """

    def __init__(self, model: Model, frame: str) -> None:
        self._monitor, self._segment, self._time = WrenchMonitor(Robot(model), frame), -1, 0.0
        self.names = [f"{frame}.{axis}{what}" for what in ("", "_deviation") for axis in AXES]

    def of(self, segment: Segment, external: Array | None) -> Array:
        """(N, 12), of external torques (N, nv), the segments in order."""
        found = np.full((len(segment), len(self.names)), np.nan)
        if external is None:
            return found
        if segment.number != self._segment:
            self._monitor.reset()
            self._segment, self._time = segment.number, float(segment.t[0])
        for row, t, q, torques in zip(found, segment.t.tolist(), segment.q, external):
            if (passed := t - self._time) > 0.0:
                self._monitor.take(q, torques, passed)
            self._time = t
            wrench = self._monitor.wrench(q, torques)
            row[:6], row[6:] = wrench.wrench, np.sqrt(np.diagonal(wrench.covariance))
        return found
