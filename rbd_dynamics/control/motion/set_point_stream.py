# SPDX-License-Identifier: Apache-2.0
"""Streamed set-points: what one of them says, and how far it may be from what was wanted before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.tolerances import difference
from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints

Array = NDArray[np.float64]
SPEED_SLACK = 1.1  # set-points are late and early: so much faster than the limit they may come


class StepAllowance:
    """How far the next set-points may step.

    A step uses up what the velocity limits have allowed since the last one, at most the tolerance.
    """

    def __init__(self, joints: Sequence[str], continuous: NDArray[np.bool_]) -> None:
        self._joints, self._continuous = tuple(joints), continuous
        self._left = np.zeros(len(joints))  # after the last step
        self._stepped = 0  # when that was, ns

    def take(self, position: Array, wanted: Array, now: int, limits: MotionLimits, tolerance: float) -> None:
        """A step from `wanted` to `position` (joints) at the time `now` (ns).

        Raises TrajectoryError where that is too far, and then changes nothing.
        """
        step = np.abs(difference(position, wanted, self._continuous))
        elapsed = max(now - self._stepped, 0) * 1e-9
        most = np.minimum(limits.velocity, 1e9) * (SPEED_SLACK * elapsed)
        left = np.minimum(self._left + most, tolerance) - step
        if left.min(initial=0.0) < 0.0:
            k = int(left.argmin())
            name, off = self._joints[k], f"{step[k]:.6g} from where the robot is wanted, {wanted[k]:.6g}"
            if step[k] > tolerance:
                raise TrajectoryError(
                    f"set-point {position[k]:.6g} of joint {name!r} is {off}: more than setpoint_tolerance "
                    f"({tolerance:g}); with a time_from_start it would be gone to"
                )
            raise TrajectoryError(
                f"set-point {position[k]:.6g} of joint {name!r} is {off}: set-points move faster than its velocity "
                f"limit of {limits.velocity[k]:g}"
            )
        self._left, self._stepped = left, now


def set_point_of(waypoints: Waypoints, joints: tuple[str, ...]) -> Array:
    """Position, velocity and acceleration (3, joints) of the one point that there is, NaN where they are not given.

    Raises TrajectoryError unless it names every joint, and no other.
    """
    if waypoints.joint_names == joints:
        columns: slice | list[int] = slice(None)
    else:
        odd = sorted(set(waypoints.joint_names) ^ set(joints))
        if odd:
            problem = "is missing" if odd[0] in joints else f"is not one of {', '.join(joints)}"
            raise TrajectoryError(f"a set-point must name every joint: {odd[0]!r} {problem}")
        place = {name: column for column, name in enumerate(waypoints.joint_names)}
        columns = [place[name] for name in joints]
    return np.array([waypoints.positions[0], waypoints.velocities[0], waypoints.accelerations[0]])[:, columns]
