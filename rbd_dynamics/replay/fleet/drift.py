# SPDX-License-Identifier: Apache-2.0
"""Which robot changes, and which differs from the others: over the recordings of a fleet."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rbd_dynamics.replay.fleet.moderated import moderated
from rbd_dynamics.replay.fleet.quantities import QUANTITIES, Outcome

Array = NDArray[np.float64]

DAY = 86400.0  # s
FEWEST = 4  # recordings, for a change
LEVEL = 0.01  # probability that a fleet without any change shows one
ALONE = 0.05  # and that the series by itself shows one, whatever is usual in the fleet
LEAST_CHANGE = 0.05  # of the joint's rms torque: less is of no interest
LEAST_SHARE = 0.1  # of a number that is no torque
LEAST_RATIO = 1.5  # of a robot's error and that of the fleet's median


@dataclass(frozen=True)
class Change:
    """How a number of a joint goes over the recordings, in their order.

    Attributes:
        change: from the first recording to the last, by the shape that fits best. error: its standard error.
        before, after: the number at first and at last, by that shape.
        since: start of the recording from which on it changes, s since 1970.
        shape: "line" from there on, or "step" to there.
        p: probability of such a change by chance, in this series alone.
        drifts: the change is larger than chance in the whole fleet, and large enough to matter.
    """

    change: float
    error: float
    before: float
    after: float
    since: float
    shape: str
    p: float
    drifts: bool


@dataclass(frozen=True)
class Trend:
    """Trend of one joint of one robot; of the robot's load where the joint is "".

    Attributes:
        recordings: how many. days: from the first to the last.
        rmse: median over the recordings. fleet_rmse: median over the other robots with this joint; NaN without any.
        units: {name of QUANTITIES: unit}.
        changes: {name of QUANTITIES: Change}, of what at least four recordings tell.
        series: {name of QUANTITIES: [(start, value, standard error)]}, in the order of time; NaN where there is none.
        differs: rmse is at least 1.5 times that of the others.
    """

    robot: str
    joint: str
    recordings: int
    days: float
    rmse: float
    fleet_rmse: float
    units: Mapping[str, str]
    changes: Mapping[str, Change]
    series: Mapping[str, Sequence[tuple[float, float, float]]]
    differs: bool

    @property
    def drifts(self) -> bool:
        return any(change.drifts for change in self.changes.values())

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON; NaN becomes None."""
        plain = {key: None if isinstance(x, float) and math.isnan(x) else x for key, x in vars(self).items()}
        plain["changes"] = {name: asdict(change) for name, change in self.changes.items()}
        plain["series"] = {
            name: [[None if math.isnan(x) else x for x in point] for point in points]
            for name, points in self.series.items()
        }
        return plain | {"drifts": self.drifts}


@dataclass(frozen=True)
class _Fit:
    """A series with the shape that leaves least of it, before its variance is known better."""

    slope: float  # of the shape
    intercept: float
    shape: Array
    name: str
    since: float
    leverage: float  # the variance of the slope, for a variance of 1
    left: float  # variance about it
    tried: int  # shapes


def trends(outcomes: Iterable[Outcome]) -> list[Trend]:
    """One for each joint of each robot, in the order in which they come."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.robot, outcome.joint].append(outcome)
    for group in groups.values():
        group.sort(key=lambda outcome: outcome.start)
    changes = _changes(groups)
    medians = {
        key: float(np.median([o.values["rmse"].value for o in group if "rmse" in o.values] or [math.nan]))
        for key, group in groups.items()
    }
    found = []
    for key, group in groups.items():
        others, torque = _others(key, medians), float(np.median([outcome.torque for outcome in group]))
        names = [name for name in QUANTITIES if any(name in o.values for o in group)]
        told = {name: [(o.start, o.values[name]) for o in group if name in o.values] for name in names}
        found.append(
            Trend(
                *key,
                recordings=len(group),
                days=(group[-1].start - group[0].start) / DAY,
                rmse=medians[key],
                fleet_rmse=others,
                units={name: values[-1][1].unit for name, values in told.items()},
                changes=changes[key],
                series={name: [(t, each.value, each.error) for t, each in values] for name, values in told.items()},
                differs=medians[key] > LEAST_RATIO * others and medians[key] - others > LEAST_CHANGE * torque,
            )
        )
    return found


def _others(key: tuple[str, str], medians: Mapping[tuple[str, str], float]) -> float:
    robot, joint = key
    found = [rmse for (other, name), rmse in medians.items() if name == joint and other != robot]
    return float(np.median(found)) if found else math.nan


def _changes(groups: Mapping[tuple[str, str], Sequence[Outcome]]) -> dict[tuple[str, str], dict[str, Change]]:
    """Changes of each joint's quantities; which of them are more than chance is judged over the whole fleet."""
    found: dict[tuple[str, str], dict[str, Change]] = {key: {} for key in groups}
    for name, quantity in QUANTITIES.items():
        keys, fits, variances, freedoms, least, scales = [], [], [], [], [], []
        for key, group in groups.items():
            told = [outcome for outcome in group if name in outcome.values]
            times = np.array([outcome.start for outcome in told])
            if len(told) < FEWEST or not np.ptp(times) > 0.0 or all(o.values[name].absent for o in told):
                continue
            values, errors = np.array([outcome.values[name].for_a_trend for outcome in told]).T
            size = float(np.median([o.torque for o in told]) if quantity.is_torque else np.median(np.abs(values)))
            scale = size or float(np.abs(values).max()) or 1.0
            fit, variance = _fitted(times, values / scale, errors / scale)
            keys.append(key)
            fits.append(fit)
            variances.append(variance)
            freedoms.append(len(told) - 2.0)
            least.append(LEAST_CHANGE if quantity.is_torque else LEAST_SHARE)
            scales.append(scale)
        if not keys:
            continue
        usual, surer = moderated(np.array(variances), np.array(freedoms))
        for key, fit, variance, freedom, smallest, scale in zip(keys, fits, usual, surer, least, scales):
            found[key][name] = _change(fit, float(variance), float(freedom), smallest, scale)
    return _more_than_chance(found)


def _fitted(times: Array, values: Array, errors: Array) -> tuple[_Fit, float]:
    """The shape that fits best, and the variance about a straight line.

    At least two recordings are on each side of a change: one alone may be a bad one. Weights are by the recordings'
    errors, with half of their median for what differs between recordings besides.
    """
    usual = float(np.median(errors))
    weights = 2.0 * usual**2 / (errors**2 + usual**2) if usual > 0.0 else np.ones(len(times))
    candidates = []
    span = times - times[0]
    for k in range(len(times) - 2):
        candidates.append(("line", times[k], np.maximum(span - span[k], 0.0) / (span[-1] - span[k] or 1.0)))
    for k in range(2, len(times) - 1):
        candidates.append(("step", times[k], (np.arange(len(times)) >= k).astype(float)))
    best: tuple[float, _Fit] | None = None
    line = 0.0
    for name, since, shape in candidates:
        centred = shape - np.average(shape, weights=weights)
        square = float(weights @ centred**2)
        if not square > 0.0:
            continue
        slope = float((weights * centred) @ values) / square
        intercept = float(np.average(values - slope * shape, weights=weights))
        left = float(weights @ (values - intercept - slope * shape) ** 2)
        if best is None:
            line = left
        if best is None or left < best[0]:
            about = left / (len(times) - 2)
            fit = _Fit(slope, intercept, shape, name, float(since), 1.0 / square, about, len(candidates))
            best = left, fit
    assert best is not None
    return best[1], max(line / (len(times) - 2), usual**2)


def _change(fit: _Fit, variance: float, freedom: float, least: float, scale: float) -> Change:
    recordings = len(fit.shape)
    error = math.sqrt(variance * fit.leverage)
    own = math.sqrt(fit.left * fit.leverage) * float(student.isf(ALONE / 2.0, recordings - 2))
    by_chance = 2.0 * float(student.sf(abs(fit.slope) / error, freedom)) if error else float(not fit.slope)
    return Change(
        change=fit.slope * scale,
        error=error * scale,
        before=fit.intercept * scale,
        after=(fit.intercept + fit.slope) * scale,
        since=fit.since,
        shape=fit.name,
        p=min(1.0, fit.tried * by_chance),
        drifts=abs(fit.slope) > max(least, own),
    )


def _more_than_chance(
    found: dict[tuple[str, str], dict[str, Change]],
) -> dict[tuple[str, str], dict[str, Change]]:
    """Those that stay where all that were looked at count (Benjamini and Hochberg 1995)."""
    p = np.sort([change.p for changes in found.values() for change in changes.values()])
    passed = np.flatnonzero(p <= LEVEL * np.arange(1, len(p) + 1) / max(len(p), 1))
    bound = float(p[passed[-1]]) if len(passed) else -1.0
    return {
        key: {
            name: change if change.p <= bound else Change(**{**vars(change), "drifts": False})
            for name, change in changes.items()
        }
        for key, changes in found.items()
    }
