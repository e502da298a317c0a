# SPDX-License-Identifier: Apache-2.0
"""How much of its limits a motion uses between its points, and narrower limits where that is too much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.trajectories.group import GroupDynamics
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.pieces import states_between

Array = NDArray[np.float64]
PARTS, FINE_PARTS, FEW = 4, 8, 700  # between two points, where a motion is looked at; where there are few intervals
#: derivatives at 0, 1/4, 1/2, 3/4 and 1 of the polynomial through values there
RATES = np.array([
    [-25.0, 48.0, -36.0, 16.0, -3.0], [-3.0, -10.0, 18.0, -6.0, 1.0], [1.0, -8.0, 0.0, 8.0, -1.0],
    [-1.0, 6.0, -18.0, 10.0, 3.0], [3.0, -16.0, 36.0, -48.0, 25.0],
]) / 3.0  # fmt: skip
PASSED = 5e-4  # of a limit: so much beyond it a motion may be between two points
RATES_PASSED = 6e-3  # and of rates, which are not the same all the way between two points
LEAST = 0.7  # what is more than due goes no further
ROUNDS = 12  # of narrowing


@dataclass
class Used:
    """The parts of limits that are used in each interval between points, ends included: above 1 they are passed.

    rows (intervals, rows): accelerations, then efforts, of the joints that have such limits. speeds (intervals,): the
    worst of velocities and tools. rates (intervals, rates): of efforts.
    """

    rows: Array
    speeds: Array
    rates: Array

    @property
    def little(self) -> bool:
        """Whether no limit is passed by more than what is held back of it."""
        return (
            max(float(each.max(initial=0.0)) for each in (self.rows, self.speeds)) <= 1.0 + PASSED
            and float(self.rates.max(initial=0.0)) <= 1.0 + RATES_PASSED
        )


def used_between(points: Waypoints, limits: Limits, dynamics: GroupDynamics) -> Used:
    """What a motion that is a quintic between each two points uses of the limits.

    Velocities and accelerations are polynomials of degree four and three there, and found exactly but for rounding;
    torques are taken as the polynomial through their samples.
    """
    quick, speeding, torques, rates = (
        np.flatnonzero(np.isfinite(each))
        for each in (limits.velocity, limits.acceleration, limits.effort, limits.effort_rate)
    )
    n = len(points.times) - 1
    used = Used(np.zeros((n, len(speeding) + len(torques))), np.zeros(n), np.zeros((n, len(rates))))
    turns = (points.velocities[:-1] * points.velocities[1:] < 0.0)[:, torques]
    count = PARTS if n > FEW else FINE_PARTS
    states = [states_between(points, part) for part in np.arange(count) / count]
    end = tuple(each[-1:] for each in (points.positions, points.velocities, points.accelerations))

    def samples(quantity: Callable[[Array, Array, Array], Array]) -> list[Array]:
        """Values of a quantity of the state at equal parts of each interval, the last those where the next begins."""
        found = [quantity(*state) for state in states]
        return [*found, np.concatenate([found[0][1:], quantity(*end)])]

    used.rows[:, : len(speeding)] = _most(samples(lambda q, v, a: a[:, speeding]), limits.acceleration[speeding])
    if len(quick):
        used.speeds[:] = _most(samples(lambda q, v, a: v[:, quick]), limits.velocity[quick]).max(axis=1)
    for frame, speed in limits.tool_speed.items():
        tools = samples(lambda q, v, a, frame=frame: dynamics.tool_speeds(frame, q, v)[:, None])  # type: ignore[misc]
        np.maximum(used.speeds, _most(tools, np.array([speed]))[:, 0], out=used.speeds)
    if len(torques) or len(rates):
        rigid = samples(dynamics.rigid)
    if len(torques):
        most = limits.effort[torques]
        tau = [each[:, torques] for each in rigid]
        rubbing = samples(lambda q, v, a: dynamics.friction(v)[:, torques])
        found = _most([x + f for x, f in zip(tau, rubbing)], most)
        if turns.any():  # friction jumps there: with that of either end
            either = [_most([x + f for x in tau], most) for f in (rubbing[0], rubbing[-1])]
            found = np.where(turns, np.maximum(found, np.maximum(*either)), found)
        used.rows[:, len(speeding) :] = found
    if len(rates):
        torque = [each[:, rates] for each in rigid[:: count // 4]]
        h = np.diff(points.times)[:, None]
        slopes: list[Array] = [sum(weight * each for weight, each in zip(weights, torque)) / h for weights in RATES]
        used.rates[:] = _most(slopes, limits.effort_rate[rates])
    return used


def _most(samples: list[Array], limit: Array) -> Array:
    """Largest parts (n, columns) of limits (columns,) that a quantity uses within intervals.

    samples: its values (n, columns) at equal parts of each, both ends among them. Where these come near to the limit
    it is the extremum of the polynomial through them, by a parabola about the largest of four times as many values.
    """
    values = np.stack(samples)
    values /= limit
    found: Array = np.maximum(values.max(axis=0), -values.min(axis=0))
    # a parabola rises by an eighth of its second difference between two samples, a polynomial by little more
    bend = np.abs(values[:-2] - 2.0 * values[1:-1] + values[2:]).max(axis=0)
    rows, columns = np.nonzero(found + 0.5 * bend > 1.0 + 0.25 * PASSED)
    if rows.size:
        fine = np.abs(_finer(len(samples)) @ values[:, rows, columns])
        top = np.clip(fine.argmax(axis=0), 1, len(fine) - 2)
        before, at, after = (fine[top + k, np.arange(rows.size)] for k in (-1, 0, 1))
        curve = 2.0 * at - before - after
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = at + 0.125 * (after - before) ** 2 / curve
        inside = (curve > 0.0) & (np.abs(after - before) < 2.0 * curve)
        np.maximum.at(found, (rows, columns), np.maximum(fine.max(axis=0), np.where(inside, vertex, 0.0)))
    return found


@cache
def _finer(count: int) -> Array:
    """Values (4 (count - 1) + 1, count) at four times as many places of the polynomial through values at `count`."""
    places = np.arange(count) / (count - 1)
    wanted = np.arange(4 * (count - 1) + 1) / (4 * (count - 1))
    return np.vander(wanted, count) @ np.linalg.inv(np.vander(places, count))


@dataclass
class Scales:
    """The parts of limits that may be used: of rows (N, rows) and squared speeds (N,) at points, and of rates
    (N - 1, rates) between them."""

    rows: Array
    speeds: Array
    rates: Array

    @classmethod
    def whole(cls, points: int, limits: Limits) -> Scales:
        rows = np.isfinite(limits.acceleration).sum() + np.isfinite(limits.effort).sum()
        return cls(
            np.ones((points, rows)), np.ones(points), np.ones((points - 1, np.isfinite(limits.effort_rate).sum()))
        )

    def narrow(self, used: Used, times: int) -> None:
        """Narrow the scales where limits are passed, beside the interval: by the excess and a little.

        times: how often that was done. What is passed still is passed by little, at few places, and gets more than
        its due: it costs no time that matters, and a round does.
        """
        power = 1.0 + times
        for scale, each in ((self.rows, _narrowing(used.rows)), (self.speeds, _narrowing(used.speeds) ** 2)):
            each = np.maximum(each**power, np.minimum(each, LEAST))
            scale[:-1] *= each
            scale[1:] *= each
        rates = _narrowing(used.rates)
        rates = np.maximum(rates**power, np.minimum(rates, LEAST))
        self.rates *= rates
        self.rates[1:] *= np.sqrt(rates[:-1])  # what passes at an end depends on the neighbour, too
        self.rates[:-1] *= np.sqrt(rates[1:])


def _narrowing(used: Array) -> Array:
    """What limits are multiplied by."""
    return np.where(used > 1.0 + 0.5 * PASSED, 1.0 / (used + 0.25 * PASSED), 1.0)


class NotKept(TrajectoryError):
    """No round of narrowing was enough."""


def not_kept(used: Used, limits: Limits) -> NotKept:
    """What to say where no round of narrowing is enough."""
    speeding, torques, rates = (
        [limits.joints[k] for k in np.flatnonzero(np.isfinite(each))]
        for each in (limits.acceleration, limits.effort, limits.effort_rate)
    )
    names = [f"acceleration of joint {name!r}" for name in speeding] + [f"effort of joint {name!r}" for name in torques]
    names += [f"effort rate of joint {name!r}" for name in rates] + ["velocities or tool speeds"]
    worst = [*used.rows.max(axis=0, initial=0.0), *used.rates.max(axis=0, initial=0.0), used.speeds.max(initial=0.0)]
    k = int(np.argmax(worst))
    return NotKept(
        f"no timing was found that keeps all limits between points: that of {names[k]} is passed by "
        f"{100.0 * (worst[k] - 1.0):.2g} %. Give more points, or a tolerance to smooth the path"
    )
