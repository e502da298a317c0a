# SPDX-License-Identifier: Apache-2.0
"""What the controlled joints shall do: hold, follow a trajectory, or obey streamed set-points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.splines import motion_of, state_of
from rbd_dynamics.control.trajectory import (
    Interpolation,
    Trajectory,
    TrajectoryError,
    Waypoints,
    plan_from,
)

Array = NDArray[np.float64]
NANOSECOND = 1e-9


@dataclass
class MotionOptions:
    """How a DesiredMotion takes its input."""

    _: KW_ONLY
    interpolation: Interpolation = "smooth"
    start_tolerance: float = 0.1  # rad, m
    setpoint_timeout: float = 0.5  # s; 0: a set-point stays for ever


class DesiredMotion:
    """The desired motion of `joints`, as a polynomial in time that holds for now.

    `motion` (6, joints) are its coefficients, constant first, and `since` (1,) is the time at which it is
    to be taken; `update` brings them up to date. At first the position of the first measured state is
    held. Times are integer nanoseconds of one clock.
    """

    def __init__(
        self,
        joints: Sequence[str],
        *,
        continuous: NDArray[np.bool_] | None = None,
        options: MotionOptions | None = None,
    ) -> None:
        self.joints = tuple(joints)
        self.options = options or MotionOptions()
        self.mode = "none"  # "none" (no state seen yet), "hold", "trajectory" or "setpoint"
        self.motion = motion_of(np.zeros((3, len(self.joints))))
        self.since = np.zeros(1)
        self._continuous = continuous
        self._trajectory: Trajectory | None = None
        self._start = 0  # of the trajectory, or arrival of the set-point, ns
        self._follow_measured = (False, False)  # position, velocity: not in the set-point

    def update(self, now: int, q: Array, v: Array) -> None:
        """Bring `motion` and `since` to the time `now` (ns), given the measured state of `joints`."""
        mode = self.mode
        if mode == "trajectory":
            assert self._trajectory is not None
            elapsed = (now - self._start) * NANOSECOND
            self.motion, self.since[0] = self._trajectory.piece(elapsed)
            if elapsed >= self._trajectory.end:
                self.hold()
        elif mode == "setpoint":
            self._update_set_point(now, q, v)
        elif mode == "none":
            self.motion = motion_of([q, np.zeros_like(q), np.zeros_like(q)])
            self.mode = "hold"

    def state(self) -> Array:
        """Desired position, velocity, acceleration at the time of the last update (3, joints)."""
        return state_of(self.motion, float(self.since[0]))

    def release(self) -> None:
        """Forget everything: hold where the robot is when it is seen next."""
        self.mode = "none"
        self._trajectory = None

    def hold(self) -> None:
        """Stand still at the present desired position."""
        if self.mode != "none":
            self.motion = motion_of(self.state() * [[1.0], [0.0], [0.0]])
            self.since[0] = 0.0
            self.mode = "hold"

    def follow(self, waypoints: Waypoints, start: int, now: int, q: Array, v: Array) -> None:
        """Follow a trajectory that starts at `start` (ns), from the present state on. Raises TrajectoryError.

        The present state is the desired one, or the measured one where they are farther than the
        start tolerance apart. A trajectory that is refused changes nothing.
        """
        self.update(now, q, v)
        present = self.state()
        if np.any(np.abs(present[0] - q) > self.options.start_tolerance):
            present = np.array([q, v, np.zeros_like(q)])
        self._trajectory = plan_from(
            present,
            waypoints,
            self.joints,
            elapsed=(now - start) * NANOSECOND,
            interpolation=self.options.interpolation,
            start_tolerance=self.options.start_tolerance,
            continuous=self._continuous,
        )
        self._start = start
        self.mode = "trajectory"

    def set_point(self, waypoints: Waypoints, now: int) -> None:
        """Take one streamed set-point at once. Raises TrajectoryError.

        Velocity and acceleration are zero where they are not given. Without a position the measured
        state is the desired one: only the acceleration (and the velocity, if given) counts.
        """
        odd = sorted(set(waypoints.joint_names) ^ set(self.joints))
        if odd:
            problem = "is missing" if odd[0] in self.joints else f"is none of {', '.join(self.joints)}"
            raise TrajectoryError(f"a set-point must name every joint: {odd[0]!r} {problem}")
        columns = [waypoints.joint_names.index(name) for name in self.joints]
        given = np.array([waypoints.positions[0], waypoints.velocities[0], waypoints.accelerations[0]])[:, columns]
        missing = np.isnan(given).any(axis=1)
        self._follow_measured = (bool(missing[0]), bool(missing[0] and missing[1]))
        given[missing] = 0.0
        if missing[0]:
            given[0] = self.state()[0]  # until the next measured one
        self.motion = motion_of(given)
        self.since[0] = 0.0
        self._trajectory = None
        self._start = now
        self.mode = "setpoint"

    def _update_set_point(self, now: int, q: Array, v: Array) -> None:
        timeout = self.options.setpoint_timeout
        if timeout and (now - self._start) * NANOSECOND > timeout:
            self.hold()
            if np.any(np.abs(self.state()[0] - q) > self.options.start_tolerance):
                self.motion = motion_of([q, np.zeros_like(q), np.zeros_like(q)])  # it never came there
            return
        if self._follow_measured[0]:
            self.motion[0] = q
        if self._follow_measured[1]:
            self.motion[1] = v
