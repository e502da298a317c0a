# SPDX-License-Identifier: Apache-2.0
"""What a fleet's recordings say together: fleet.json, fleet.csv and fleet.html."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rbd_dynamics import __version__
from rbd_dynamics.common.excerpt import listed
from rbd_dynamics.common.page import number, table, template
from rbd_dynamics.common.whole_files import whole_file, write_whole
from rbd_dynamics.replay.fleet.drift import Outcome, Trend, trends
from rbd_dynamics.replay.fleet.job import Result, merged
from rbd_dynamics.replay.fleet.places import name_of, send
from rbd_dynamics.replay.report import write_scripts

SCRIPTS = "scripts"  # folder of what all reports share, beside fleet.html
MOST_ROWS = 1000  # of a table in the page; fleet.csv has all
MOST_SAID = 200
#: of a recording's summary, what the overview needs
KEPT = {"recording": ("start", "duration", "messages"), "robot": ("name", "id"), "export": ("refused",)}


def slim(result: Result) -> Result:
    """A result with no more than an overview needs, for many thousands of them."""
    if result.error:
        return result
    summary: dict[str, Any] = {
        part: {key: result.summary[part][key] for key in keys if key in result.summary[part]}
        for part, keys in KEPT.items()
        if part in result.summary
    }
    keys = ("name", "samples", "rmse", "nrmse", "correlation", "bias", "worst", "measured_rms")
    summary["joints"] = [{key: joint[key] for key in keys} for joint in result.summary["joints"]]
    summary["warnings"] = [""] * len(result.summary["warnings"])
    return replace(result, summary=summary)


def overview(results: Sequence[Result]) -> dict[str, Any]:
    """Overview by robot: how many recordings, hours and messages, its joints over all of them, and what drifts.

    The same for the same recordings, whoever did them in whatever order.
    """
    good, strangers = of_one_kind([result for result in results if not result.error])
    found = trends(outcomes(good))
    robots = {}
    for name in sorted({result.robot for result in good}):
        own = [result for result in good if result.robot == name]
        total = merged(own)
        robots[name] = {
            "recordings": len(own),
            "hours": sum(result.summary["recording"]["duration"] for result in own) / 3600.0,
            "messages": sum(result.summary["recording"]["messages"] for result in own),
            "joints": [] if total is None else total.to_dict()["results"],
            "trends": [trend.to_dict() for trend in found if trend.robot == name],
        }
    return {
        "rbd_dynamics": __version__,
        "robots": robots,
        "attention": [*strangers, *attention(found)],
        "recordings": [_entry(result) for result in results],
    }


def of_one_kind(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Results of each robot that have the joints that most of its recordings have, and what to say of the others."""
    kinds: dict[str, dict[tuple[Any, ...], list[Result]]] = {}
    for result in results:
        kinds.setdefault(result.robot, {}).setdefault(kind_of(result), []).append(result)
    usual = {robot: max(groups, key=lambda kind: len(groups[kind])) for robot, groups in kinds.items()}
    said = []
    for robot, groups in kinds.items():
        for kind, group in groups.items():
            if kind == usual[robot]:
                continue
            others = sorted({result.summary["robot"]["name"] for result in group})
            names = listed([result.job.name for result in group])
            which = f"recording {names} has" if len(group) == 1 else f"{len(group)} recordings have"
            more = "" if len(group) == 1 else f": {names}"
            said.append(f"{robot}: {which} other joints or terms ({', '.join(others)}), left out{more}")
    return [result for result in results if kind_of(result) == usual[result.robot]], said


def kind_of(result: Result) -> tuple[Any, ...]:
    """What recordings must share to be merged: joints and terms."""
    comparison = result.comparison or {}
    return tuple(comparison.get("joints", ())), tuple(comparison.get("terms", ()))


def outcomes(results: Sequence[Result]) -> list[Outcome]:
    """Outcomes of each joint in each recording."""
    return [
        Outcome(result.robot, joint["name"], result.start, joint["rmse"], joint["bias"], joint["measured_rms"])
        for result in results
        for joint in result.summary["joints"]
    ]


def attention(found: Sequence[Trend]) -> list[str]:
    """What somebody should look at, in words."""
    said = []
    for trend in found:
        where = f"{trend.robot}, {trend.joint}"
        if trend.drifts:
            said.append(
                f"{where} drifts: over {trend.days:.3g} days its bias changed by {number(trend.bias_change)} and its "
                f"RMSE by {number(trend.rmse_change)}"
            )
        if trend.differs:
            said.append(f"{where} differs: RMSE {number(trend.rmse)}, others {number(trend.fleet_rmse)}")
    return said


def write_overview(folder: Path, results: Sequence[Result]) -> dict[str, Any]:
    """Write the overview into an existing folder; returns what fleet.json has."""
    content = overview(results)
    _write_csv(folder / "fleet.csv", results)
    page, style = template(__package__, "fleet.html")
    said = content["attention"]
    items = "".join(f"<li>{escape(text)}</li>" for text in said[:MOST_SAID])
    if len(said) > MOST_SAID:
        items += f"<li>and {len(said) - MOST_SAID} more, in fleet.json</li>"
    entries = content["recordings"]
    failed = [entry for entry in entries if entry["error"]]
    shown = sorted(entries, key=_urgency)[:MOST_ROWS] if len(entries) > MOST_ROWS else entries
    rest = f"<p>Of {len(entries)} the {MOST_ROWS} with errors or the largest RMSE; fleet.csv has all.</p>"
    write_whole(
        folder / "fleet.html",
        page.substitute(
            style=style,
            about=f"{len(results)} recordings of {len(content['robots'])} robots, rbd_dynamics {__version__}",
            attention=f'<section class="warnings"><h2>Look at</h2><ul>{items}</ul></section>' if items else "",
            robots=_robot_table(content["robots"]),
            recordings=(rest if len(entries) > MOST_ROWS else "") + _recording_table(shown),
            failed=f"<p>{len(failed)} could not be read; the list says why.</p>" if failed else "",
        ),
    )
    write_whole(folder / "fleet.json", json.dumps(content, indent=1, allow_nan=False) + "\n")
    return content


def write_results(output: Path | str, results: Sequence[Result], *, scripts: bool) -> dict[str, Any]:
    """Write the overview, here or at an address, and the scripts where reports share them; as `write_overview`."""
    with ExitStack() as stack:
        elsewhere = isinstance(output, str)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rbd_"))) if elsewhere else Path(output)
        folder.mkdir(parents=True, exist_ok=True)
        if scripts:
            write_scripts(folder / SCRIPTS)
        content = write_overview(folder, results)
        if isinstance(output, str):
            send(folder, output, "fleet.html")
    return content


def _urgency(entry: dict[str, Any]) -> tuple[bool, float]:
    """Errors first, then by the largest RMSE."""
    return entry["error"] is None, -max(entry["rmse"].values(), default=0.0)


def _entry(result: Result) -> dict[str, Any]:
    summary = result.summary
    return {
        "recording": str(result.job.recording),
        "name": result.job.name,
        "page": _page(result),
        "robot": result.robot,
        "error": result.error or None,
        "start": result.start or None,
        "duration": summary.get("recording", {}).get("duration"),
        "rmse": {joint["name"]: joint["rmse"] for joint in summary.get("joints", ())},
        "bias": {joint["name"]: joint["bias"] for joint in summary.get("joints", ())},
        "warnings": len(summary.get("warnings", ())),
    }


def _page(result: Result) -> str | None:
    """The recording's report, seen from the fleet's page."""
    if result.error or result.job.output is None or "html" not in result.job.formats:
        return None
    return f"{name_of(str(result.job.output))}/report.html"


def _write_csv(path: Path, results: Sequence[Result]) -> None:
    """A line for each joint of each recording."""
    with whole_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        keys = ("samples", "rmse", "nrmse", "correlation", "bias", "worst", "measured_rms")
        writer.writerow(["recording", "robot", "start", "duration", "joint", *keys, "error"])
        for result in results:
            place = [result.job.recording, result.robot, result.start or ""]
            if result.error:
                writer.writerow([*place, "", "", *[""] * len(keys), result.error])
            for joint in result.summary.get("joints", ()):
                duration = result.summary["recording"]["duration"]
                writer.writerow([*place, duration, joint["name"], *(joint[key] for key in keys), ""])


def _robot_table(robots: dict[str, Any]) -> str:
    heads = ["robot", "recordings", "hours", "joint", "RMSE", "others", "bias", "change of bias", "change of RMSE", ""]
    rows: list[list[str]] = []
    for name, robot in robots.items():
        if len(rows) >= MOST_ROWS:
            break
        found = {trend["joint"]: trend for trend in robot["trends"]}
        merged_joints = {joint["name"]: joint for joint in robot["joints"]}
        for k, (joint, trend) in enumerate(found.items()):
            head = [escape(name), str(robot["recordings"]), number(robot["hours"])] if k == 0 else ["", "", ""]
            bias = merged_joints.get(joint, {}).get("bias")
            marks = " ".join(word for word in ("drifts", "differs") if trend[word])
            rows.append([
                *head, escape(joint), number(trend["rmse"]), number(trend["fleet_rmse"]), number(bias),
                _change(trend["bias_change"], trend["bias_error"]), _change(trend["rmse_change"], trend["rmse_error"]),
                f"<b>{marks}</b>",
            ])  # fmt: skip
    return table(heads, rows)


def _change(value: float | None, error: float | None) -> str:
    return "–" if value is None else f"{number(value)} ± {number(error)}"


def _recording_table(entries: Sequence[dict[str, Any]]) -> str:
    rows = []
    for entry in entries:
        name = escape(entry["name"])
        if entry["page"] is not None:
            name = f'<a href="{escape(quote(entry["page"]))}">{name}</a>'
        worst = max(entry["rmse"].items(), key=lambda pair: pair[1], default=("", None))
        what = escape(entry["error"] or f"{entry['warnings']} warnings")
        rows.append([name, escape(entry["robot"]), number(entry["duration"]), number(worst[1]), escape(worst[0]), what])
    return table(["recording", "robot", "s", "largest RMSE", "in", ""], rows)
