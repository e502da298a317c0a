# SPDX-License-Identifier: Apache-2.0
"""From waypoints to a motion that may be followed: planned from the present state on, and checked as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion_limits import MotionLimits
from rbd_dynamics.control.trajectory import Interpolation, Trajectory, TrajectoryError, Waypoints, plan_from

Array = NDArray[np.float64]
JOINING = 0.2  # s: points so soon may be left out where the robot is not exactly where the trajectory begins


@dataclass(frozen=True)
class PlanRequest:
    """All that a plan depends on besides the waypoints.

    present: wanted position, velocity, acceleration (3, joints) where the new motion takes over. elapsed: time of that
    since the start of the trajectory, s. Others: see `plan_from`.
    """

    present: Array
    elapsed: float
    limits: MotionLimits
    continuous: NDArray[np.bool_]
    interpolation: Interpolation
    start_tolerance: float

    def plan(self, waypoints: Waypoints) -> Trajectory:
        """The motion. Raises TrajectoryError where there is none within the limits.

        The robot is never exactly where the trajectory begins. Where points follow closely, going through the next
        one may be too fast; those of the first 0.2 s are then left out.
        """
        self.limits.check_points(waypoints)
        try:
            return self._plan(waypoints)
        except TrajectoryError:
            later = waypoints.times > self.elapsed + JOINING
            left = np.flatnonzero(later)
            if not left.size or left[0] < 2 or waypoints.times[0] > self.elapsed:
                raise
            begin = waypoints.times <= self.elapsed
            keep = begin | later
            try:
                return self._plan(waypoints.some(keep))
            except TrajectoryError:
                pass
            raise

    def _plan(self, waypoints: Waypoints) -> Trajectory:
        trajectory = plan_from(
            self.present,
            waypoints,
            self.limits.joints,
            elapsed=self.elapsed,
            interpolation=self.interpolation,
            start_tolerance=self.start_tolerance,
            continuous=self.continuous,
        )
        self.limits.check(trajectory)
        return trajectory
