# SPDX-License-Identifier: Apache-2.0
"""Which robot drifts, and which differs from the others: trends over the recordings of a fleet."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

DAY = 86400.0  # s
FEWEST = 4  # recordings, for a trend
LEVEL = 0.01  # probability that a fleet without any drift shows one
LEAST_CHANGE = 0.05  # of the joint's rms torque: less is of no interest
LEAST_RATIO = 1.5  # of a robot's error and that of the fleet's median


@dataclass(frozen=True)
class Outcome:
    """What one recording of a robot says of a joint: when it began (s since 1970), and the joint's numbers in N m."""

    robot: str
    joint: str
    start: float
    rmse: float
    bias: float
    measured_rms: float


@dataclass(frozen=True)
class Trend:
    """Trend of one joint of one robot.

    Attributes:
        recordings: how many.
        rmse: median over the recordings. fleet_rmse: median over the other robots with this joint; NaN without any.
        bias_change, rmse_change: over `days`, by a straight line; NaN for fewer than four recordings.
        bias_error, rmse_error: their standard errors.
        drifts: a change is larger than chance and 5 % of the torque.
        differs: rmse is at least 1.5 times that of the others.
    """

    robot: str
    joint: str
    recordings: int
    days: float
    rmse: float
    fleet_rmse: float
    bias_change: float
    bias_error: float
    rmse_change: float
    rmse_error: float
    drifts: bool
    differs: bool

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON; NaN becomes None."""
        return {key: None if isinstance(x, float) and math.isnan(x) else x for key, x in vars(self).items()}


def trends(outcomes: Iterable[Outcome]) -> list[Trend]:
    """One for each joint of each robot, in the order in which they come."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.robot, outcome.joint].append(outcome)
    medians = {key: float(np.median([o.rmse for o in group])) for key, group in groups.items()}
    tests = 2 * sum(len(group) >= FEWEST for group in groups.values())
    return [_trend(key, group, _others(key, medians), medians[key], tests) for key, group in groups.items()]


def _others(key: tuple[str, str], medians: Mapping[tuple[str, str], float]) -> float:
    robot, joint = key
    found = [rmse for (other, name), rmse in medians.items() if name == joint and other != robot]
    return float(np.median(found)) if found else math.nan


def _trend(key: tuple[str, str], group: Sequence[Outcome], others: float, rmse: float, tests: int) -> Trend:
    times = np.array([outcome.start for outcome in group]) / DAY
    span = float(np.ptp(times))
    bias, bias_error, bias_sure = _change(times, np.array([o.bias for o in group]), tests)
    change, error, sure = _change(times, np.array([o.rmse for o in group]), tests)
    torque = float(np.median([o.measured_rms for o in group]))
    drifts = any(s and abs(c) > LEAST_CHANGE * torque for c, s in ((bias, bias_sure), (change, sure)))
    differs = rmse > LEAST_RATIO * others and rmse - others > LEAST_CHANGE * torque
    return Trend(*key, len(group), span, rmse, others, bias, bias_error, change, error, drifts, differs)


def _change(times: np.ndarray, values: np.ndarray, tests: int) -> tuple[float, float, bool]:
    """(change over the whole time, its standard error, whether it is more than chance)."""
    count, span = len(times), float(np.ptp(times))
    if count < FEWEST or not span > 0.0:
        return math.nan, math.nan, False
    centred = times - times.mean()
    square = float(centred @ centred)
    slope = float(centred @ values) / square
    rest = values - values.mean() - slope * centred
    error = math.sqrt(float(rest @ rest) / (count - 2) / square)
    sure = abs(slope) > error * float(student.ppf(1.0 - LEVEL / (2 * tests), count - 2))
    return slope * span, error * span, bool(sure)
