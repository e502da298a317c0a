# SPDX-License-Identifier: Apache-2.0
"""What a fleet's recordings say together: fleet.json, fleet.csv and fleet.html."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbd_dynamics import __version__
from rbd_dynamics.common.excerpt import listed
from rbd_dynamics.common.whole_files import whole_file, write_whole
from rbd_dynamics.replay.fleet.drift import Trend, trends
from rbd_dynamics.replay.fleet.job import Result, merged
from rbd_dynamics.replay.fleet.page import page_of
from rbd_dynamics.replay.fleet.places import name_of, send
from rbd_dynamics.replay.fleet.quantities import QUANTITIES, Outcome, needed, outcomes_of
from rbd_dynamics.replay.fleet.words import attention
from rbd_dynamics.replay.report import write_scripts

SCRIPTS = "scripts"  # folder of what all reports share, beside fleet.html
DAMAGE = ("lost messages", "damaged parts")  # events
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
    keys = ("name", "samples", "rmse", "nrmse", "correlation", "bias", "worst", "measured_rms", "unit")
    summary["joints"] = [{key: joint[key] for key in keys} for joint in result.summary["joints"]]
    summary |= needed(result.summary)
    summary["events"] = {key: n for key, n in result.summary.get("events", {}).items() if key in DAMAGE}
    summary["warnings"] = [""] * len(result.summary["warnings"])
    return replace(result, summary=summary)


def overview(results: Sequence[Result]) -> dict[str, Any]:
    """Overview by robot: how many recordings, hours and messages, its joints over all of them, and what drifts.

    The same for the same recordings, whoever did them in whatever order.
    """
    return _overview(results)[0]


def _overview(results: Sequence[Result]) -> tuple[dict[str, Any], list[Trend]]:
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
    content = {
        "rbd_dynamics": __version__,
        "robots": robots,
        "attention": [*attention(found), *strangers, *damaged(good)],
        "recordings": [_entry(result) for result in results],
    }
    return content, found


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


def damaged(results: Sequence[Result]) -> list[str]:
    """A sentence about recordings of which parts are missing or cannot be read."""
    found = [result for result in results if any(result.summary.get("events", {}).get(key) for key in DAMAGE)]
    if not found:
        return []
    lost = sum(result.summary["events"].get("lost messages", 0) for result in found)
    told = f", {lost} messages lost" if lost else ""
    of = f"recording {listed([result.job.name for result in found])} is"
    if len(found) > 1:
        of = f"{len(found)} recordings are"
    more = f": {listed([result.job.name for result in found])}" if len(found) > 1 else ""
    return [f"{of} damaged, or not whole{told}; what can be read is used{more}"]


def kind_of(result: Result) -> tuple[Any, ...]:
    """What recordings must share to be merged: joints and terms."""
    comparison = result.comparison or {}
    return tuple(comparison.get("joints", ())), tuple(comparison.get("terms", ()))


def outcomes(results: Sequence[Result]) -> list[Outcome]:
    """Outcomes of each joint in each recording."""
    return [each for result in results for each in outcomes_of(result.robot, result.start, result.summary)]


def write_overview(folder: Path, results: Sequence[Result]) -> dict[str, Any]:
    """Write the overview into an existing folder; returns what fleet.json has."""
    content, found = _overview(results)
    _write_csv(folder / "fleet.csv", results)
    write_whole(folder / "fleet.html", page_of(content, found))
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
        followed = [name for name in QUANTITIES if name not in keys]
        heads = [head for name in followed for head in (name, f"{name}_error")]
        writer.writerow(["recording", "robot", "start", "duration", "joint", *keys, *heads, "error"])
        for result in results:
            place = [result.job.recording, result.robot, result.start or ""]
            if result.error:
                writer.writerow([*place, "", "", *[""] * (len(keys) + len(heads)), result.error])
                continue
            joints = {joint["name"]: joint for joint in result.summary["joints"]}
            for told in outcomes_of(result.robot, result.start, result.summary):
                own = joints.get(told.joint, {})
                numbers = [
                    "" if x is None or x != x else x
                    for name in followed
                    for x in told.values.get(name, (None, None))[:2]
                ]
                duration = result.summary["recording"]["duration"]
                writer.writerow([*place, duration, told.joint, *(own.get(key, "") for key in keys), *numbers, ""])
