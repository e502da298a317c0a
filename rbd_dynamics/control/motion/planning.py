# SPDX-License-Identifier: Apache-2.0
"""Plans a motion through waypoints, from the present state on, and checks it as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.tolerances import difference
from rbd_dynamics.control.motion.trajectory import Interpolation, Trajectory, TrajectoryError, Waypoints, plan_from

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
        one may be too fast; those of the first 0.2 s are then left out, if the motion without them goes past each of
        them, at its time, within the start tolerance.
        """
        self.limits.check_points(waypoints)
        try:
            return self._plan(waypoints)
        except TrajectoryError:
            begun, later = waypoints.times <= self.elapsed, waypoints.times > self.elapsed + JOINING
            between = ~begun & ~later
            if not between.any() or not later.any():
                raise
            try:
                joined = self._plan(waypoints.some(begun | later))
            except TrajectoryError:
                joined = None
            if joined is not None and self._passes(joined, waypoints.some(between)):
                return joined
            raise  # of all points: it says more

    def latest(self, waypoints: Waypoints) -> float:
        """Until when since its start (s) a trajectory may be put off: half of the time to its next point.

        Later the robot would have to hurry, more than whoever sent it has asked for. Points closer than 0.2 s do not
        count.
        """
        begun = max(self.elapsed, 0.0)
        ahead = waypoints.times[waypoints.times > begun + JOINING]
        return begun + max(JOINING, 0.5 * float(ahead[0] - begun) if len(ahead) else 0.0)

    def _passes(self, motion: Trajectory, waypoints: Waypoints) -> bool:
        """Does it go past each of the points, at its time, within the start tolerance?"""
        points = waypoints.ordered(self.limits.joints, self.present)
        passed = np.array([motion.sample(time)[0] for time in points.times])
        off = difference(points.positions, passed, self.continuous)
        return bool((np.abs(off) <= self.start_tolerance).all())

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
        self.limits.check(trajectory, self.present)
        return trajectory
