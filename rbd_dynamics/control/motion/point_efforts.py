# SPDX-License-Identifier: Apache-2.0
"""Efforts that a trajectory's points bring with them, for a law that adds them to its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PointEfforts:
    """Efforts (points, joints), N m or N, at times since the start of the trajectory, s; linear in between.

    They begin at zero where the first point comes later than the start, and stay what they were at the last point.
    """

    times: Array
    efforts: Array

    @classmethod
    def of(cls, waypoints: Waypoints, joints: Sequence[str]) -> PointEfforts | None:
        """Those of `joints` in order, zero for one that is not named; None: no point has any.

        Raises TrajectoryError where only some points have them, or one is not finite.
        """
        given = waypoints.efforts
        if given is None:
            return None
        wrong = ~np.isfinite(given)
        if wrong.any():
            k, joint = np.argwhere(wrong)[0]
            if np.isnan(given[k]).all():
                raise TrajectoryError(f"point {k} has no effort, though others have: with point_efforts all need them")
            name = waypoints.joint_names[joint]
            raise TrajectoryError(f"point {k}: effort of joint {name!r} has the value {given[k, joint]}")
        efforts = np.zeros((len(given), len(joints)))
        for column, name in enumerate(joints):
            if name in waypoints.joint_names:
                efforts[:, column] = given[:, waypoints.joint_names.index(name)]
        times = waypoints.times
        if times[0] > 0.0:
            times, efforts = np.append(0.0, times), np.vstack([np.zeros(len(joints)), efforts])
        return cls(times, efforts)

    def at(self, time: float) -> Array:
        """(joints) at a time since the start, s."""
        k = min(max(int(np.searchsorted(self.times, time, side="right")), 1), len(self.times) - 1)
        if k == 0:
            return np.array(self.efforts[0])
        begin, end = self.times[k - 1 : k + 1]
        share = min(max((time - begin) / (end - begin), 0.0), 1.0)
        return np.asarray(self.efforts[k - 1] + share * (self.efforts[k] - self.efforts[k - 1]))
