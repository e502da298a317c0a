# SPDX-License-Identifier: Apache-2.0
"""How much of its limits a motion uses between its points, and narrower limits where that is too much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.trajectories.group import GroupDynamics
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.pieces import states_between

Array = NDArray[np.float64]
PARTS, FINE_PARTS, FEW = 4, 8, 700  # between two points, where a motion is looked at; where there are few intervals
#: derivatives at 0, 1/2 and 1 of the polynomial through values at 0, 1/4, 1/2, 3/4 and 1
RATES = np.array([[-25.0, 48.0, -36.0, 16.0, -3.0], [1.0, -8.0, 0.0, 8.0, -1.0], [3.0, -16.0, 36.0, -48.0, 25.0]]) / 3.0
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
    """What a motion that is a quintic between each two points uses of the limits."""
    quick, speeding, torques, rates = (
        np.flatnonzero(np.isfinite(each))
        for each in (limits.velocity, limits.acceleration, limits.effort, limits.effort_rate)
    )
    n = len(points.times) - 1
    used = Used(np.zeros((n, len(speeding) + len(torques))), np.zeros(n), np.zeros((n, len(rates))))
    rigid: list[Array] = []
    rubbing = dynamics.friction(points.velocities)[:, torques]
    turns = (points.velocities[:-1] * points.velocities[1:] < 0.0)[:, torques]
    count = PARTS if n > FEW else FINE_PARTS
    for part in np.arange(count) / count:
        q, v, a = states_between(points, part)
        if len(torques) or len(rates):
            rigid.append(dynamics.rigid(q, v, a))
        parts = [np.abs(a[:, speeding]) / limits.acceleration[speeding]]
        if len(torques):
            tau = rigid[-1][:, torques]
            most = np.abs(tau + dynamics.friction(v)[:, torques])
            either = np.maximum(np.abs(tau + rubbing[:-1]), np.abs(tau + rubbing[1:]))
            parts.append(np.where(turns, np.maximum(most, either), most) / limits.effort[torques])  # it jumps there
        np.maximum(used.rows, np.hstack(parts), out=used.rows)
        if len(quick):
            np.maximum(used.speeds, (np.abs(v[:, quick]) / limits.velocity[quick]).max(axis=1), out=used.speeds)
        for frame, speed in limits.tool_speed.items():
            np.maximum(used.speeds, dynamics.tool_speeds(frame, q, v) / speed, out=used.speeds)
    if len(rates):
        rest = np.zeros((1, len(limits.joints)))
        end = dynamics.rigid(points.positions[-1:], rest, rest)
        torque = [each[:, rates] for each in (*rigid[:: count // 4], np.vstack([rigid[0][1:], end]))]  # continuous
        h = np.diff(points.times)[:, None]
        for weights in RATES:
            rate = sum(weight * each for weight, each in zip(weights, torque)) / h
            np.maximum(used.rates, np.abs(rate) / limits.effort_rate[rates], out=used.rates)
    return used


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
