# SPDX-License-Identifier: Apache-2.0
"""Changes of a fleet in words: which robot, which joint, since when, by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone

from rbd_dynamics.common.pages.page import number
from rbd_dynamics.replay.fleet.drift import DAY, Change, Trend
from rbd_dynamics.replay.fleet.quantities import OF_THE_ROBOT, QUANTITIES

FIRST_DATE = 1e8  # s since 1970: before that it is no date but a time since something else


def attention(found: Sequence[Trend]) -> list[str]:
    """What somebody should look at: what has changed most first, then what differs."""
    changed = sorted((trend for trend in found if trend.drifts), key=share_of, reverse=True)
    return [*map(change_told, changed), *(differs_told(trend) for trend in found if trend.differs)]


def where_of(trend: Trend) -> str:
    return trend.robot if trend.joint == OF_THE_ROBOT else f"{trend.robot}, {trend.joint}"


def drifting(trend: Trend) -> list[str]:
    """Names of the quantities that drift; causes before the errors that come of them."""
    return [name for name in QUANTITIES if name in trend.changes and trend.changes[name].drifts]


def share_of(trend: Trend) -> float:
    """How large the first of its changes is, by the number at first or at last."""
    change = trend.changes[drifting(trend)[0]]
    return abs(change.change) / (min(abs(change.before), abs(change.after)) + abs(change.error))


def change_told(trend: Trend) -> str:
    """A sentence about a joint that drifts."""
    first, *others = drifting(trend)
    change, unit = trend.changes[first], trend.units[first]
    text = (
        f"{where_of(trend)}: {QUANTITIES[first].words} {verb(change)} since {moment(change.since, trend.days)}, "
        f"from {from_to(change, ' to ')} {unit} ({signed(change)})"
    )
    if others:
        words = " and ".join(QUANTITIES[name].words for name in others)
        text += f"; so {'has' if len(others) == 1 else 'have'} {words}"
    return text


def differs_told(trend: Trend) -> str:
    unit = trend.units["rmse"]
    return f"{where_of(trend)} differs: RMSE {number(trend.rmse)} {unit}, others {number(trend.fleet_rmse)}"


def verb(change: Change) -> str:
    if abs(change.after) >= abs(change.before):
        return "has grown" if change.shape == "line" else "is larger"
    return "has shrunk" if change.shape == "line" else "is smaller"


def signed(change: Change) -> str:
    sign = "+" if change.change > 0.0 else ""
    return f"{sign}{rounded(change.change, change.error)} ± {rounded(change.error, change.error)}"


def from_to(change: Change, between: str) -> str:
    return f"{rounded(change.before, change.error)}{between}{rounded(change.after, change.error)}"


def rounded(value: float, error: float) -> str:
    """The value with the decimals of two digits of its error."""
    if not error > 0.0:
        return number(value)
    digits = min(max(1 - math.floor(math.log10(error)), 0), 9)
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def moment(start: float, days: float) -> str:
    """A date, with the time of day where all happened within two days."""
    if start < FIRST_DATE:
        return f"{start:g} s"
    return datetime.fromtimestamp(start, timezone.utc).strftime("%Y-%m-%d %H:%M" if days < 2.0 else "%Y-%m-%d")


def axis_dates(trend: Trend) -> tuple[str, str]:
    """Dates of the first and of the last recording."""
    starts = [point[0] for points in trend.series.values() for point in points]
    first, last = min(starts), max(starts)
    days = (last - first) / DAY
    return moment(first, days), moment(last, days)
