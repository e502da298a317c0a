# SPDX-License-Identifier: Apache-2.0
"""A joint trajectory: points with names in, desired positions, velocities and accelerations at any time out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.splines import coefficients, fill_accelerations, fill_velocities, motion_of, state_of
from rbd_dynamics.model.excerpt import shortened

Array = NDArray[np.float64]
Interpolation = Literal["smooth", "as_given"]
INTERPOLATIONS = ("smooth", "as_given")
LIMIT_SLACK = 1e-6  # rad, m: so far beyond a limit is rounding


class TrajectoryError(ValueError):
    """A trajectory that cannot be followed; the message names the joint or the point, and is of bounded length."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class Point(NamedTuple):
    """One point as a message has it: velocities and accelerations may be empty."""

    time: float  # since the start of the trajectory, s
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


@dataclass(frozen=True)
class Waypoints:
    """Checked points of named joints: (points, joints), a row of NaN where a quantity is not given."""

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array

    @classmethod
    def of(cls, joint_names: Sequence[str], points: Iterable[Point], *, positions: bool = True) -> Waypoints:
        """Check points. With positions=False they too may be missing. Raises TrajectoryError."""
        names, points = tuple(joint_names), list(points)
        if not names:
            raise TrajectoryError("the trajectory names no joints")
        for name in names:
            if names.count(name) > 1:
                raise TrajectoryError(f"the trajectory names joint {name!r} twice")
        if not points:
            raise TrajectoryError("the trajectory has no points")
        _check_times([point.time for point in points])
        columns = (
            [_row(names, k, "positions", point.positions, positions) for k, point in enumerate(points)],
            [_row(names, k, "velocities", point.velocities) for k, point in enumerate(points)],
            [_row(names, k, "accelerations", point.accelerations) for k, point in enumerate(points)],
        )
        times = np.array([point.time for point in points], dtype=float)
        return cls(names, times, *(np.array(rows) for rows in columns))

    def check_limits(self, limits: Mapping[str, tuple[float, float]]) -> None:
        """Raises TrajectoryError for a position outside (lower, upper) of its joint."""
        for column, name in enumerate(self.joint_names):
            lower, upper = limits.get(name, (-math.inf, math.inf))
            off = (self.positions[:, column] < lower - LIMIT_SLACK) | (self.positions[:, column] > upper + LIMIT_SLACK)
            for k in np.flatnonzero(off):
                raise TrajectoryError(
                    f"point {k}: position {self.positions[k, column]:.6g} of joint {name!r} is outside its limits "
                    f"{lower:.6g} to {upper:.6g}"
                )

    def completed(self) -> Waypoints:
        """With the missing velocities and accelerations computed from the points around them."""
        velocities = fill_velocities(self.times, self.positions, self.velocities)
        accelerations = fill_accelerations(self.times, self.positions, velocities, self.accelerations)
        return Waypoints(self.joint_names, self.times, self.positions, velocities, accelerations)

    def ordered(self, joints: Sequence[str], present: Array) -> Waypoints:
        """For `joints`, in their order; one that is not named stays where it is. Raises TrajectoryError.

        present: position, velocity, acceleration of `joints` (3, joints).
        """
        for name in self.joint_names:
            if name not in joints:
                raise TrajectoryError(f"joint {name!r} is none of {', '.join(joints)}")
        columns = [self.joint_names.index(name) if name in self.joint_names else -1 for name in joints]
        named = np.array([column >= 0 for column in columns])

        def take(array: Array, otherwise: Array) -> Array:
            rows_given = ~np.isnan(array).any(axis=1, keepdims=True)
            default = np.where(rows_given, otherwise, np.nan)
            return np.where(named, array[:, columns], default)

        positions = np.where(named, self.positions[:, columns], present[0])
        rest = np.zeros(len(columns))
        velocities, accelerations = take(self.velocities, rest), take(self.accelerations, rest)
        return Waypoints(tuple(joints), self.times, positions, velocities, accelerations)


class Trajectory:
    """A motion in time, t = 0 at its start. Before the first point and after the last it stands there."""

    def __init__(self, waypoints: Waypoints) -> None:
        self.joint_names = waypoints.joint_names
        self.start, self.end = float(waypoints.times[0]), float(waypoints.times[-1])
        self._times: list[float] = waypoints.times.tolist()
        rest = np.zeros((2, len(waypoints.joint_names)))
        self._before = motion_of(np.vstack([waypoints.positions[0], rest]))
        self._after = motion_of(np.vstack([waypoints.positions[-1], rest]))
        self._pieces = list(
            coefficients(waypoints.times, waypoints.positions, waypoints.velocities, waypoints.accelerations)
        )

    def piece(self, t: float) -> tuple[Array, float]:
        """The motion at time t (s): coefficients (6, joints) of a polynomial, constant first, and the time in it."""
        if t >= self.end:
            return self._after, 0.0
        index = bisect_right(self._times, t) - 1
        if index < 0:
            return self._before, 0.0
        return self._pieces[index], t - self._times[index]

    def sample(self, t: float) -> Array:
        """Position, velocity, acceleration at time t (s): (3, joints)."""
        return state_of(*self.piece(t))


def plan_from(
    present: Array,
    waypoints: Waypoints,
    joints: Sequence[str],
    *,
    elapsed: float = 0.0,
    interpolation: Interpolation = "smooth",
    start_tolerance: float = math.inf,
    continuous: NDArray[np.bool_] | None = None,
) -> Trajectory:
    """A trajectory for `joints` that leaves the present state without a jump.

    Points that lie in the past are dropped, the present state takes their place.

    Parameters:
        present: position, velocity, acceleration now (3, joints).
        elapsed: time since the start of the trajectory, s; negative if it starts in the future.
        interpolation: "smooth": missing velocities and accelerations are computed, so that the motion
            is twice continuously differentiable; "as_given": quintic, cubic or linear, after what both
            ends of a segment have, as joint_trajectory_controller does.
        start_tolerance: how far (rad, m) the trajectory may be from the present position now, if it has
            begun.
        continuous: joints whose angle counts modulo one turn; the trajectory is moved by whole turns.

    Raises TrajectoryError.
    """
    points = waypoints.ordered(joints, present)
    if points.times[-1] <= elapsed:
        raise TrajectoryError(f"the trajectory is over: its last point was due {elapsed - points.times[-1]:.3f} s ago")
    if continuous is not None:
        turns = np.round((present[0] - points.positions[0]) / (2.0 * np.pi))
        points.positions[:] += np.where(continuous, 2.0 * np.pi * turns, 0.0)
    if points.times[0] <= elapsed:
        _check_start(points, present[0], elapsed, start_tolerance)
    ahead = points.times > elapsed
    times = np.concatenate([[elapsed], points.times[ahead]])
    positions = np.vstack([present[0], points.positions[ahead]])
    velocities = np.vstack([present[1], points.velocities[ahead]])
    accelerations = np.vstack([present[2], points.accelerations[ahead]])
    if interpolation == "smooth":
        velocities = fill_velocities(times, positions, velocities)
        accelerations = fill_accelerations(times, positions, velocities, accelerations, end="rest")
    return Trajectory(Waypoints(tuple(joints), times, positions, velocities, accelerations))


def _check_start(points: Waypoints, position: Array, elapsed: float, tolerance: float) -> None:
    """The trajectory has begun: is the robot where it should be?"""
    due = Trajectory(points.completed()).sample(elapsed)[0]
    off = np.abs(due - position)
    worst = int(np.argmax(off))
    if off[worst] > tolerance:
        raise TrajectoryError(
            f"the trajectory begins at {due[worst]:.4g} for joint {points.joint_names[worst]!r}, which is at "
            f"{position[worst]:.4g}: more than the start tolerance of {tolerance:.4g} away"
        )


def _check_times(times: Sequence[float]) -> None:
    for index, time in enumerate(times):
        if not (math.isfinite(time) and time >= 0.0):
            raise TrajectoryError(f"time_from_start of point {index} is {time} s")
        if index and time <= times[index - 1]:
            raise TrajectoryError(
                f"point {index} (at {time:.6g} s) does not come after point {index - 1} (at {times[index - 1]:.6g} s)"
            )


def _row(names: Sequence[str], index: int, what: str, values: Sequence[float], required: bool = False) -> list[float]:
    if len(values) == 0 and not required:
        return [math.nan] * len(names)
    if len(values) != len(names):
        raise TrajectoryError(f"point {index} has {len(values)} {what} for {len(names)} joints")
    for name, value in zip(names, values):
        if not math.isfinite(value):
            raise TrajectoryError(f"point {index}: {what} of joint {name!r} has the value {value}")
    return [float(value) for value in values]
