# SPDX-License-Identifier: Apache-2.0
"""The page of a fleet: what to look at, how it went, all robots, all recordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote

import numpy as np

from rbd_dynamics import __version__
from rbd_dynamics.common.pages.page import number, table, template
from rbd_dynamics.replay.fleet.drift import Change, Trend
from rbd_dynamics.replay.fleet.quantities import QUANTITIES
from rbd_dynamics.replay.fleet.words import axis_dates, drifting, from_to, moment, share_of, signed, where_of

MOST_ROWS = 1000  # of a table; fleet.csv has all
MOST_SAID = 200
MOST_DRAWN = 100  # changes
WIDTH, HEIGHT, MARGIN = 220.0, 44.0, 6.0  # of a drawn series, pixels
DISC, RING = 'fill="currentColor"', 'fill="none" stroke="currentColor"'
SHOWN = ("coulomb", "viscous", "bias")  # in the table of robots


def page_of(content: dict[str, Any], found: Sequence[Trend]) -> str:
    """HTML of a fleet's overview, with the trends that it was made of."""
    page, style = template(__package__, "fleet.html")
    said, entries = content["attention"], content["recordings"]
    items = "".join(f"<li>{escape(text)}</li>" for text in said[:MOST_SAID])
    if len(said) > MOST_SAID:
        items += f"<li>and {len(said) - MOST_SAID} more, in fleet.json</li>"
    failed = [entry for entry in entries if entry["error"]]
    shown = sorted(entries, key=_urgency)[:MOST_ROWS] if len(entries) > MOST_ROWS else entries
    rest = f"<p>Of {len(entries)} the {MOST_ROWS} with errors or the largest RMSE; fleet.csv has all.</p>"
    return page.substitute(
        style=style,
        about=f"{len(entries)} recordings of {len(content['robots'])} robots, rbd_dynamics {__version__}",
        attention=f'<section class="warnings"><h2>Look at</h2><ul>{items}</ul></section>' if items else "",
        changes=_changes(found),
        robots=_robot_table(content["robots"], found),
        recordings=(rest if len(entries) > MOST_ROWS else "") + _recording_table(shown),
        failed=f"<p>{len(failed)} could not be read; the list says why.</p>" if failed else "",
    )


def _urgency(entry: dict[str, Any]) -> tuple[bool, float]:
    """Errors first, then by the largest RMSE."""
    return entry["error"] is None, -max(entry["rmse"].values(), default=0.0)


def _changes(found: Sequence[Trend]) -> str:
    """A row for each change, with a picture of it; those of one joint stand together."""
    changed = sorted((trend for trend in found if trend.drifts), key=share_of, reverse=True)
    rows = []
    for trend in changed:
        for name in drifting(trend):
            change = trend.changes[name]
            rows.append([
                escape(where_of(trend)), f"{QUANTITIES[name].words}, {escape(trend.units[name])}",
                from_to(change, " → "), signed(change), moment(change.since, trend.days),
                _drawn(trend, name, change),
            ])  # fmt: skip
    if not rows:
        return ""
    heads = ["robot, joint", "of what", "from, to", "change", "since", "from recording to recording"]
    return f"<h2>Changes</h2>{table(heads, rows[:MOST_DRAWN])}"


def _drawn(trend: Trend, name: str, change: Change) -> str:
    """The series as points with their standard errors, and the shape that was found; an SVG.

    A recording in which there is none has a ring at zero.
    """
    starts = [start for start, _, _ in trend.series[name]]
    rings = [math.isnan(x) for _, x, _ in trend.series[name]]
    points = [(start, *np.nan_to_num([x, e]).tolist()) for start, x, e in trend.series[name]]
    begin, span = starts[0], starts[-1] - starts[0]
    lows, highs = [x - e for _, x, e in points], [x + e for _, x, e in points]
    low, high = min(*lows, change.before, change.after), max(*highs, change.before, change.after)
    size = high - low or 1.0

    def at(start: float, value: float) -> tuple[float, float]:
        x = MARGIN + (WIDTH - 2.0 * MARGIN) * (start - begin) / span
        return x, HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * (value - low) / size

    if change.shape == "line":
        shape = [at(begin, change.before), at(change.since, change.before), at(starts[-1], change.after)]
    else:
        last = max(start for start in starts if start < change.since)
        shape = [at(begin, change.before), at(last, change.before), at(change.since, change.after)]
        shape.append(at(starts[-1], change.after))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape)
    marks = ""
    for ring, (start, value, error) in zip(rings, points):
        (x, y), (_, top), (_, bottom) = at(start, value), at(start, value + error), at(start, value - error)
        marks += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" stroke="currentColor"/>'
        marks += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" {RING if ring else DISC}/>'
    title = f"{len(points)} recordings, {' to '.join(axis_dates(trend))}, {number(low)} to {number(high)}"
    return (
        f'<svg width="{WIDTH:g}" height="{HEIGHT:g}" role="img"><title>{title}</title>'
        f'<polyline points="{path}" fill="none" stroke="#d97706" stroke-width="2"/>{marks}</svg>'
    )


def _robot_table(robots: dict[str, Any], found: Sequence[Trend]) -> str:
    heads = ["robot", "recordings", "hours", "joint", "", "RMSE", "others", "bias", *(f"Δ {name}" for name in SHOWN)]
    rows: list[list[str]] = []
    for name, robot in robots.items():
        if len(rows) >= MOST_ROWS:
            break
        joints = {joint["name"]: joint for joint in robot["joints"]}
        own = [trend for trend in found if trend.robot == name and "rmse" in trend.series]
        for k, trend in enumerate(own):
            head = [escape(name), str(robot["recordings"]), number(robot["hours"])] if k == 0 else ["", "", ""]
            marks = " ".join(word for word in ("drifts", "differs") if getattr(trend, word))
            others = trend.to_dict()["fleet_rmse"]
            rows.append([
                *head, escape(trend.joint), f"<b>{marks}</b>", number(trend.rmse), number(others),
                number(joints.get(trend.joint, {}).get("bias")),
                *(signed(trend.changes[each]) if each in trend.changes else "–" for each in SHOWN),
            ])  # fmt: skip
    return table(heads, rows)


def _recording_table(entries: Sequence[dict[str, Any]]) -> str:
    rows = []
    for entry in entries:
        name = escape(entry["name"]).replace("_", "_<wbr>")
        if entry["page"] is not None:
            name = f'<a href="{escape(quote(entry["page"]))}">{name}</a>'
        worst = max(entry["rmse"].items(), key=lambda pair: pair[1], default=("", None))
        what = escape(entry["error"] or f"{entry['warnings']} warnings")
        rows.append([name, escape(entry["robot"]), number(entry["duration"]), number(worst[1]), escape(worst[0]), what])
    return table(["recording", "robot", "s", "largest RMSE", "in", ""], rows, "told")
