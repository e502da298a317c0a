"""What the controlled joints shall do: hold, follow a trajectory, or obey streamed set-points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    interpolation: Interpolation = "smooth"
    start_tolerance: float = 0.1  # rad, m
    setpoint_timeout: float = 0.5  # s; 0: a set-point stays for ever


class DesiredMotion:
    """Desired position, velocity and acceleration of `joints` at any time, `state` (3, joints).

    At first the position of the first measured state is held. Times are integer nanoseconds of one clock.
    """

    def __init__(
        self,
        joints: Sequence[str],
        continuous: NDArray[np.bool_] | None = None,
        options: MotionOptions | None = None,
    ) -> None:
        self.joints = tuple(joints)
        self.options = options or MotionOptions()
        self.state = np.zeros((3, len(self.joints)))
        self.mode = "none"  # "none" (no state seen yet), "hold", "trajectory" or "setpoint"
        self._continuous = continuous
        self._trajectory: Trajectory | None = None
        self._start = 0  # of the trajectory, or arrival of the set-point, ns
        self._follow_measured = (False, False)  # position, velocity: not in the set-point

    def update(self, now: int, position: Array, velocity: Array) -> Array:
        """The desired state at `now` (ns), given the measured one: (3, joints), the same array each time."""
        mode = self.mode
        if mode == "trajectory":
            assert self._trajectory is not None
            elapsed = (now - self._start) * NANOSECOND
            self._trajectory.sample(elapsed, self.state)
            if elapsed >= self._trajectory.end:
                self.hold()
        elif mode == "setpoint":
            timeout = self.options.setpoint_timeout
            if timeout and (now - self._start) * NANOSECOND > timeout:
                self.hold()
            if self._follow_measured[0]:
                self.state[0] = position
            if self._follow_measured[1]:
                self.state[1] = velocity
        elif mode == "none":
            self.state[0] = position
            self.state[1:] = 0.0
            self.mode = "hold"
        return self.state

    def release(self) -> None:
        """Forget everything: hold where the robot is when it is seen next."""
        self.mode = "none"
        self._trajectory = None

    def hold(self) -> None:
        """Stand still at the present desired position."""
        if self.mode != "none":
            self.mode = "hold"
            self.state[1:] = 0.0
            self._follow_measured = (False, False)

    def follow(self, waypoints: Waypoints, start: int, now: int, position: Array, velocity: Array) -> None:
        """Follow a trajectory that starts at `start` (ns), from the present state on. Raises TrajectoryError.

        The present state is the desired one, or the measured one where they are farther than the
        start tolerance apart. A trajectory that is refused changes nothing.
        """
        present = self.update(now, position, velocity).copy()
        if np.any(np.abs(present[0] - position) > self.options.start_tolerance):
            present = np.array([position, velocity, np.zeros_like(position)])
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
        if set(waypoints.joint_names) != set(self.joints):
            odd = set(waypoints.joint_names) ^ set(self.joints)
            name = sorted(odd)[0]
            problem = "is missing" if name in self.joints else f"is none of {', '.join(self.joints)}"
            raise TrajectoryError(f"a set-point must name every joint: {name!r} {problem}")
        columns = [waypoints.joint_names.index(name) for name in self.joints]
        given = [
            array[0, columns] for array in (waypoints.positions, waypoints.velocities, waypoints.accelerations)
        ]
        no_position, no_velocity = bool(np.isnan(given[0]).any()), bool(np.isnan(given[1]).any())
        self._follow_measured = (no_position, no_position and no_velocity)
        for row, values in enumerate(given):
            if not np.isnan(values).any():
                self.state[row] = values
            elif row:
                self.state[row] = 0.0
        self._trajectory = None
        self._start = now
        self.mode = "setpoint"
