# SPDX-License-Identifier: Apache-2.0
"""Which limits a trajectory passes, where and by how much, and what is left of the others: at all times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.motion.extrema import extrema, hull
from rbd_dynamics.control.motion.limits import JUMP_TIME
from rbd_dynamics.control.motion.trajectory import Trajectory, TrajectoryError, Waypoints
from rbd_dynamics.control.terms import TERMS
from rbd_dynamics.robot import Robot
from rbd_dynamics.trajectories.group import GroupDynamics, configuration_of
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.pieces import rigid_rates, states_at

Array = NDArray[np.float64]
SLACK = 1e-6  # of a limit, and rad or m of a position: so little beyond it is rounding
SAMPLES, ALL_SAMPLES = 8, 2000  # between two points and in all, at least, of what is no polynomial
ZOOMS = 6  # each four times nearer to an extremum between samples
HALVINGS = 40
MOST_SHOWN = 5


class Margin(NamedTuple):
    """How near one quantity of one joint comes to its limit.

    quantity: position, velocity, acceleration, effort, power, effort_rate or tool_speed, where joint is the frame.
    time: where it is nearest to its limit, or farthest beyond, s. value, limit: there, signed. margin: what is left,
    negative where the limit is passed. used: the part of the limit that is used, above 1 where it is passed; of
    positions how far from the middle of their range. passed_at: the first time it is passed, s, or NaN.
    """

    quantity: str
    joint: str
    time: float
    value: float
    limit: float
    margin: float
    used: float
    passed_at: float

    @property
    def passed(self) -> bool:
        return not math.isnan(self.passed_at)

    def __str__(self) -> str:
        where = f"{self.quantity} of {self.joint!r}"
        if not self.passed:
            return f"{where} is {self.value:.6g} at {self.time:.6g} s, within its limit of {self.limit:.6g}"
        return (
            f"{where} is {self.value:.6g} at {self.time:.6g} s, {-self.margin:.3g} beyond its limit of "
            f"{self.limit:.6g}, which it passes first at {self.passed_at:.6g} s"
        )


@dataclass(frozen=True)
class Report:
    """margins: of every quantity that has a limit, those first that use most of theirs."""

    margins: tuple[Margin, ...]

    @property
    def passed(self) -> tuple[Margin, ...]:
        """Margins of the limits that are passed."""
        return tuple(margin for margin in self.margins if margin.passed)

    @property
    def within(self) -> bool:
        """No limit is passed."""
        return not self.passed

    def __str__(self) -> str:
        lines = [str(margin) for margin in self.passed]
        more = f"; and {len(lines) - MOST_SHOWN} more" if len(lines) > MOST_SHOWN else ""
        return "; ".join(lines[:MOST_SHOWN]) + more if lines else "all limits are kept"


def check(
    robot: Robot,
    motion: Waypoints | Trajectory,
    limits: Limits,
    *,
    others: ArrayLike | Mapping[str, float] | None = None,
    terms: Iterable[str] = TERMS,
) -> Report:
    """Compare a motion with limits at all times.

    Extrema of positions, velocities and accelerations are exact; efforts, power and rates are no polynomials, and
    looked for between samples, 8 or more of each piece. A jump of the velocity counts as an acceleration for 10 ms.

    Parameters:
        robot: without friction, which is one of the terms; all joints of one degree of freedom.
        motion: points in time; between them it is what a joint_trajectory_controller makes of them: a quintic where
            both ends have accelerations, else a cubic where both have velocities, else a line. Complete them
            otherwise, by `Waypoints.completed`.
        limits: of its joints; `Limits.of(robot, joints)` are those of the description.
        others: where joints stand that do not move: q (nq) of the whole robot, or positions by name.
        terms: what the efforts hold; leave out what the robot compensates itself.

    Raises TrajectoryError (a ValueError) for what cannot be checked.
    """
    joints = motion.joint_names
    if limits.joints != joints:
        raise TrajectoryError(f"limits are of joints {', '.join(limits.joints)}, the motion is of {', '.join(joints)}")
    dynamics = GroupDynamics(robot, joints, terms, configuration_of(robot, others))
    trajectory = motion if isinstance(motion, Trajectory) else Trajectory(motion.checked())
    if not np.isfinite(trajectory.pieces).all():
        k, _, joint = np.argwhere(~np.isfinite(trajectory.pieces))[0]
        raise TrajectoryError(
            f"the motion of joint {joints[joint]!r} after {trajectory.times[k]:.6g} s is not finite: its points are "
            "too near in time"
        )
    if not len(trajectory.pieces):  # one point: it stands there
        trajectory = _standing(trajectory)
    return Report(tuple(sorted(_Check(trajectory, limits, dynamics).margins(), key=lambda each: -each.used)))


Quantity = Callable[[NDArray[np.intp], Array], Array]


class _Check:
    """One motion."""

    def __init__(self, motion: Trajectory, limits: Limits, dynamics: GroupDynamics) -> None:
        self.motion, self.limits, self.dynamics = motion, limits, dynamics
        self.h = np.diff(motion.times)
        self.samples = max(SAMPLES, math.ceil(ALL_SAMPLES / len(self.h)))

    def margins(self) -> list[Margin]:
        limits, joints = self.limits, self.limits.joints
        found: list[Margin] = []
        for order, (name, upper) in enumerate(
            (("position", limits.upper), ("velocity", limits.velocity), ("acceleration", limits.acceleration))
        ):
            lower = limits.lower if order == 0 else -upper
            extremes = self._of_polynomials(order)
            if order == 2:
                extremes = self._with_jumps(extremes)
            found += self._compared(name, joints, lower, upper, extremes, self._derivative(order))
        sampled: list[tuple[str, tuple[str, ...], Array, Quantity]] = [
            ("effort", joints, limits.effort, self._effort),
            ("power", joints, limits.power, self._power),
            ("effort_rate", joints, limits.effort_rate, self._rate),
        ]
        if limits.tool_speed:
            speeds = np.array(list(limits.tool_speed.values()))
            sampled.append(("tool_speed", tuple(limits.tool_speed), speeds, self._tools))
        for name, names, upper, quantity in sampled:
            if np.isfinite(upper).any():
                found += self._compared(name, names, -upper, upper, self._sampled(quantity), quantity)
        return found

    def _state(self, index: NDArray[np.intp], t: Array) -> tuple[Array, Array, Array]:
        return states_at(self.motion.pieces[index], t)

    def _derivative(self, order: int) -> Quantity:
        return lambda index, t: self._state(index, t)[order]

    def _effort(self, index: NDArray[np.intp], t: Array) -> Array:
        return self.dynamics.torque(*self._state(index, t))

    def _power(self, index: NDArray[np.intp], t: Array) -> Array:
        q, v, a = self._state(index, t)
        return self.dynamics.torque(q, v, a) * v

    def _rate(self, index: NDArray[np.intp], t: Array) -> Array:
        return rigid_rates(self.dynamics, self.motion.pieces[index], t, self.h[index])

    def _tools(self, index: NDArray[np.intp], t: Array) -> Array:
        q, v, _ = self._state(index, t)
        return np.stack([self.dynamics.tool_speeds(frame, q, v) for frame in self.limits.tool_speed], axis=1)

    def _of_polynomials(self, order: int) -> tuple[Array, Array, Array, Array]:
        """Least and greatest value of each joint and their times, exactly."""
        scaled = self.motion.pieces * np.power(self.h[:, None], np.arange(6))[:, :, None]
        unit = (self.h**order)[:, None]
        bounds = [bound / unit for bound in hull(scaled, order)]
        ends = np.concatenate([self._state(np.arange(len(self.h)), part * self.h)[order] for part in (0.0, 1.0)])
        columns = np.arange(ends.shape[1])
        found: list[Array] = []
        for sign, bound in ((-1.0, -bounds[0]), (1.0, bounds[1])):
            best = (sign * ends).argmax(axis=0)
            value, time = sign * ends[best, columns], self._times_of_ends()[best]
            rows, joints = np.nonzero(bound > value * (1.0 + 1e-12) + 1e-12)
            if rows.size:
                where, values = extrema(scaled[rows, :, joints])[order]
                values = sign * values / unit[rows]
                inner = values.argmax(axis=1)
                pick = np.arange(len(rows))
                for k in np.argsort(values[pick, inner]):
                    if values[k, inner[k]] > value[joints[k]]:
                        value[joints[k]] = values[k, inner[k]]
                        time[joints[k]] = self.motion.times[rows[k]] + where[k, inner[k]] * self.h[rows[k]]
            found += [sign * value, time]
        return found[0], found[1], found[2], found[3]

    def _times_of_ends(self) -> Array:
        times = self.motion.times
        return np.concatenate([times[:-1], times[1:]])

    def _with_jumps(self, extremes: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        """The extremes, infinite where the velocity jumps at a point, as between lines."""
        index = np.arange(len(self.h))
        begins, ends = (self._state(index, part * self.h)[1] for part in (0.0, 1.0))
        rest = np.zeros((1, begins.shape[1]))
        jumps = (np.vstack([begins, rest]) - np.vstack([begins[:1], ends])) / JUMP_TIME
        jumps[np.abs(jumps) * JUMP_TIME < SLACK * (1.0 + np.abs(begins).max(axis=0))] = 0.0
        columns = np.arange(jumps.shape[1])
        low, low_at, high, high_at = extremes
        least, most = jumps.argmin(axis=0), jumps.argmax(axis=0)
        below, above = jumps[least, columns] < low, jumps[most, columns] > high
        return (
            np.where(below, jumps[least, columns], low), np.where(below, self.motion.times[least], low_at),
            np.where(above, jumps[most, columns], high), np.where(above, self.motion.times[most], high_at),
        )  # fmt: skip

    def _sampled(self, quantity: Quantity) -> tuple[Array, Array, Array, Array]:
        """The same of what is no polynomial: the extremum next to the least and greatest of samples."""
        n = len(self.h)
        parts = np.arange(self.samples + 1) / self.samples
        index = np.repeat(np.arange(n), len(parts))
        part = np.tile(parts, n)
        values = quantity(index, part * self.h[index])
        columns = np.arange(values.shape[1])
        found: list[Array] = []
        for sign in (-1.0, 1.0):
            best = (sign * values).argmax(axis=0)
            at, where, width = index[best], part[best], np.full(len(columns), 1.0 / self.samples)
            value = values[best, columns]
            for _ in range(ZOOMS):
                around = np.clip(where[:, None] + width[:, None] * np.linspace(-1.0, 1.0, 9), 0.0, 1.0)
                pieces = np.repeat(at, 9)
                tried = quantity(pieces, around.ravel() * self.h[pieces]).reshape(len(columns), 9, -1)
                own = tried[columns, :, columns]
                pick = (sign * own).argmax(axis=1)
                where, value, width = around[columns, pick], own[columns, pick], 0.25 * width
            found += [value, self.motion.times[at] + where * self.h[at]]
        return found[0], found[1], found[2], found[3]

    def _compared(
        self, quantity: str, names: tuple[str, ...], lower: Array, upper: Array,
        extremes: tuple[Array, Array, Array, Array], value_at: Quantity,
    ) -> list[Margin]:  # fmt: skip
        found = []
        for k, name in enumerate(names):
            least, least_at, most, most_at = (float(each[k]) for each in extremes)
            low, high = float(lower[k]), float(upper[k])
            if math.isinf(low) and math.isinf(high):
                continue
            below = math.isinf(high) or (not math.isinf(low) and least - low < high - most)
            value, time, limit = (least, least_at, low) if below else (most, most_at, high)
            margin = value - limit if below else limit - value
            middle = 0.5 * (low + high) if math.isfinite(low + high) else 0.0
            span = abs(limit - middle)
            used = abs(value - middle) / span if span > 0.0 else (1.0 if margin >= 0.0 else math.inf)
            slack = SLACK if quantity == "position" else SLACK * abs(limit)
            passed_at = math.nan
            if margin < -slack:
                passed_at = self._first(k, low - slack, high + slack, value_at, time)
            found.append(Margin(quantity, name, time, value, limit, margin, used, passed_at))
        return found

    def _first(self, column: int, low: float, high: float, value_at: Quantity, known: float) -> float:
        """Time at which the quantity is first beyond; it is so at the time `known`."""
        n = len(self.h)
        index = np.repeat(np.arange(n), self.samples)
        part = np.tile(np.arange(self.samples) / self.samples, n)
        values = value_at(index, part * self.h[index])[:, column]
        times = self.motion.times[index] + part * self.h[index]
        beyond = np.flatnonzero(((values < low) | (values > high)) & (times <= known))
        late = min(known, float(times[beyond[0]])) if beyond.size else known
        earlier = np.flatnonzero(times < late)
        if not earlier.size:
            return late
        early = float(times[earlier[-1]])
        piece = index[earlier[-1] : earlier[-1] + 1]
        if late > self.motion.times[piece[0] + 1]:
            return late
        start = float(self.motion.times[piece[0]])
        for _ in range(HALVINGS):
            middle = 0.5 * (early + late)
            value = float(value_at(piece, np.array([middle - start]))[0, column])
            early, late = (early, middle) if value < low or value > high else (middle, late)
        return late


def _standing(motion: Trajectory) -> Trajectory:
    """A motion of one point as a motion with a piece."""
    rest = np.zeros((1, 6, len(motion.joint_names)))
    rest[0, 0] = motion.first
    return Trajectory.of_pieces(
        motion.joint_names, np.array([motion.start, motion.start + 1.0]), rest, motion.first, motion.first
    )
