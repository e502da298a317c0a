# SPDX-License-Identifier: Apache-2.0
"""A joint trajectory: points with names in, desired positions, velocities and accelerations at any time out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import shortened
from rbd_dynamics.control.motion.splines import coefficients, fill_accelerations, fill_velocities, motion_of, state_of

Array = NDArray[np.float64]
Interpolation = Literal["smooth", "as_given"]
INTERPOLATIONS = ("smooth", "as_given")
LONGEST_AWAY = 1e6  # s: up to there, time as a double is exact to the nanosecond


class TrajectoryError(ValueError):
    """A trajectory that cannot be followed; the message names the joint or the point, and is of bounded length."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class UnknownJointError(TrajectoryError):
    """It names a joint that nobody here moves."""


class OverError(TrajectoryError):
    """Its end lies in the past."""


class Point(NamedTuple):
    """One point as a message has it: velocities and accelerations may be empty."""

    time: float  # since the start of the trajectory, s
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


@dataclass(frozen=True)
class Waypoints:
    """Checked points of named joints: (points, joints), a row of NaN where a quantity is not given.

    efforts: that points had as well, likewise; None: none had any. Only `PointEfforts` uses them.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    efforts: Array | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, joint_names: Sequence[str], points: Iterable[Point], *, positions: bool = True) -> Waypoints:
        """Check points. With positions=False they too may be missing. Raises TrajectoryError."""
        names, points = tuple(joint_names), list(points)
        times = np.array([point.time for point in points], dtype=float)
        columns = (
            _rows(names, "positions", [point.positions for point in points], positions),
            _rows(names, "velocities", [point.velocities for point in points]),
            _rows(names, "accelerations", [point.accelerations for point in points]),
        )
        return cls(names, times, *columns).checked()

    def checked(self) -> Waypoints:
        """The same. Raises TrajectoryError for names, times and numbers that no trajectory has."""
        names = self.joint_names
        if not names:
            raise TrajectoryError("the trajectory names no joints")
        if len(set(names)) != len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise TrajectoryError(f"the trajectory names joint {twice!r} twice")
        if not len(self.times):
            raise TrajectoryError("the trajectory has no points")
        _check_times(self.times)
        for what, values in (
            ("positions", self.positions), ("velocities", self.velocities), ("accelerations", self.accelerations),
        ):  # fmt: skip
            wrong = ~np.isfinite(values)
            wrong[np.isnan(values).all(axis=1)] = False  # not given
            if wrong.any():
                k, joint = np.argwhere(wrong)[0]
                raise TrajectoryError(f"point {k}: {what} of joint {names[joint]!r} has the value {values[k, joint]}")
        return self

    def some(self, which: NDArray[np.bool_]) -> Waypoints:
        """Those points (points,)."""
        arrays = (self.times, self.positions, self.velocities, self.accelerations)
        return Waypoints(self.joint_names, *(array[which] for array in arrays))

    def completed(self) -> Waypoints:
        """The waypoints with missing velocities and accelerations computed from the points around them."""
        velocities = fill_velocities(self.times, self.positions, self.velocities)
        accelerations = fill_accelerations(self.times, self.positions, velocities, self.accelerations)
        return Waypoints(self.joint_names, self.times, self.positions, velocities, accelerations)

    def ordered(self, joints: Sequence[str], present: Array) -> Waypoints:
        """The waypoints for `joints`, in order; one that is not named stays where it is. Raises TrajectoryError.

        present: position, velocity, acceleration of `joints` (3, joints).
        """
        place = {name: column for column, name in enumerate(self.joint_names)}
        for name in place.keys() - set(joints):
            raise UnknownJointError(f"joint {name!r} is not one of {', '.join(joints)}")
        columns = [place.get(name, -1) for name in joints]
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
    """A motion in time, t = 0 at its start. Before the first point and after the last it stands there.

    Attributes:
        times: of its points (n,), s.
        pieces: coefficients of the polynomials between them (n - 1, 6, joints), constant first.
        first, last: positions of the first and last point (joints,).
    """

    def __init__(self, waypoints: Waypoints) -> None:
        with np.errstate(all="ignore"):  # what is not finite is found by MotionLimits, with its joint and time
            pieces = coefficients(waypoints.times, waypoints.positions, waypoints.velocities, waypoints.accelerations)
        self._set(waypoints.joint_names, waypoints.times, pieces, waypoints.positions[0], waypoints.positions[-1])

    @classmethod
    def of_pieces(
        cls, joint_names: tuple[str, ...], times: Array, pieces: Array, first: Array, last: Array
    ) -> Trajectory:
        """A trajectory from what another one has; the arrays are kept, not copied."""
        made = cls.__new__(cls)
        made._set(joint_names, times, pieces, first, last)
        return made

    def _set(self, joint_names: tuple[str, ...], times: Array, pieces: Array, first: Array, last: Array) -> None:
        self.joint_names, self.times, self.pieces, self.first, self.last = joint_names, times, pieces, first, last
        self.start, self.end = float(times[0]), float(times[-1])
        self._times = np.ascontiguousarray(times, dtype=float).data  # gives Python floats, without a copy
        rest = np.zeros((2, len(joint_names)))
        self._before, self._after = (motion_of(np.vstack([position, rest])) for position in (first, last))

    def piece(self, t: float) -> tuple[Array, float]:
        """The motion at time t (s): coefficients (6, joints) of a polynomial, constant first, and the time in it."""
        if t >= self.end:
            return self._after, 0.0
        index = bisect_right(self._times, t) - 1
        if index < 0:
            return self._before, 0.0
        return self.pieces[index], t - self._times[index]

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
    if not abs(elapsed) <= LONGEST_AWAY:
        kind = OverError if elapsed > 0.0 else TrajectoryError
        raise kind(f"the trajectory starts {-elapsed:.6g} s from now: is its stamp right?")
    if points.times[-1] <= elapsed:
        raise OverError(f"the trajectory is over: its last point was due {elapsed - points.times[-1]:.3f} s ago")
    if continuous is not None:
        turns = np.round((present[0] - points.positions[0]) / (2.0 * np.pi))
        points.positions[:] += np.where(continuous, 2.0 * np.pi * turns, 0.0)
    if points.times[0] <= elapsed:
        _check_start(points, present[0], elapsed, start_tolerance)
    if elapsed < 0.0 and points.times[0] == 0.0:  # it waits for its start: until then nothing moves
        for rates in (points.velocities, points.accelerations):
            rates[0] = np.where(np.isnan(rates[0]), 0.0, rates[0])
    ahead = points.times > elapsed
    times = np.concatenate([[elapsed], points.times[ahead]])
    positions = np.vstack([present[0], points.positions[ahead]])
    velocities = np.vstack([present[1], points.velocities[ahead]])
    accelerations = np.vstack([present[2], points.accelerations[ahead]])
    if interpolation == "smooth":
        try:
            with np.errstate(all="ignore"):
                velocities = fill_velocities(times, positions, velocities)
                accelerations = fill_accelerations(times, positions, velocities, accelerations, end="rest")
        except ValueError as error:  # numpy's LinAlgError is one
            raise TrajectoryError(f"there is no spline through the points: {error}") from None
    return Trajectory(Waypoints(tuple(joints), times, positions, velocities, accelerations))


def unwound(positions: Array, which: NDArray[np.bool_]) -> Array:
    """Positions (points, joints) without steps of more than half a turn.

    which: joints (joints,), or steps of joints (points - 1, joints), that are to go on the short way. What follows a
    step is moved by whole turns.
    """
    turns = np.round(np.diff(positions, axis=0) / (2.0 * np.pi))
    turns[~np.broadcast_to(which, turns.shape)] = 0.0
    if not turns.any():
        return positions
    return positions - np.vstack([np.zeros((1, positions.shape[1])), 2.0 * np.pi * np.cumsum(turns, axis=0)])


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


def _check_times(times: Array) -> None:
    wrong = ~(np.isfinite(times) & (times >= 0.0))
    if wrong.any():
        k = int(wrong.argmax())
        raise TrajectoryError(f"time_from_start of point {k} is {times[k]} s")
    late = times[1:] <= times[:-1]
    if late.any():
        k = int(late.argmax()) + 1
        raise TrajectoryError(
            f"point {k} (at {times[k]:.9g} s) does not come after point {k - 1} (at {times[k - 1]:.9g} s)"
        )


def wrong_count(point: int, count: int, what: str, joints: int) -> TrajectoryError:
    """Error for a point that has another number of values than there are joints."""
    return TrajectoryError(f"point {point} has {count} {what} for {joints} joints")


def _rows(names: Sequence[str], what: str, rows: Sequence[Sequence[float]], required: bool = False) -> Array:
    """(points, joints), NaN for an empty row."""
    count, missing = len(names), [math.nan] * len(names)
    for k, row in enumerate(rows):
        if len(row) != count and (required or len(row)):
            raise wrong_count(k, len(row), what, count)
    given = [row if len(row) else missing for row in rows]
    array = np.array(given, dtype=float).reshape(len(rows), count)
    for empty in np.flatnonzero(np.isnan(array).all(axis=1)):
        if len(rows[int(empty)]) and count:  # NaN that was sent is not the NaN of what is missing
            raise TrajectoryError(f"point {empty}: {what} of joint {names[0]!r} has the value nan")
    return array
