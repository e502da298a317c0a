# SPDX-License-Identifier: Apache-2.0
"""What the terminal shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from rbd_dynamics.common.console import output_console, print_table

if TYPE_CHECKING:
    from rbd_dynamics.replay.fleet.job import Result

INTERVAL = "±: half of the interval of 95 %. Where it is wider than the value, the recording does not tell the value."


def show(result: Result) -> None:
    from rbd_dynamics.common.page import beginning, number
    from rbd_dynamics.replay.report.drives import HEADS, drive_rows, drive_sentence
    from rbd_dynamics.replay.report.page import headline
    from rbd_dynamics.replay.report.parts import estimate_cell

    summary, console = result.summary, output_console()
    recording = summary["recording"]
    console.print(
        f"[bold]{escape(summary['robot']['name'])}[/], {escape(str(recording['recording']))}: "
        f"{number(recording['duration'])} s, {recording['messages']} messages on {escape(recording['topic'])}"
    )
    for text in summary["warnings"]:
        rest = "" if beginning(text) == text else " (all of it in report.html, of --output)"
        console.print(f"[yellow]! {escape(beginning(text))}{rest}[/]")
    console.print(escape(headline(summary)))
    friction = {joint["joint"]: joint for joint in (summary["friction"] or {}).get("joints", ())}
    heads = "joint", "RMSE", "NRMSE", "correlation", "bias", "worst", "", "offset", "Coulomb", "viscous", "RMSE with it"
    rows = []
    for joint in summary["joints"]:
        found = friction.get(joint["name"])
        three = [estimate_cell(found[name]) for name in ("offset", "coulomb", "viscous")] if found else ["", "", ""]
        errors = [number(joint[key]) for key in ("rmse", "nrmse", "correlation", "bias", "worst")]
        rows.append([joint["name"], *errors, joint["unit"], *three, number(found["rmse_after"]) if found else ""])
    print_table(console, heads, rows)
    if friction:
        console.print(f"[dim]{INTERVAL}[/]")
    if summary["drives"] is not None:
        print_table(console, HEADS, drive_rows(summary["drives"]))
        console.print(drive_sentence(summary["drives"]))
    if summary["payload"] is not None:
        load = summary["payload"]
        parts = [f"{part['name']} {estimate_cell(part)}" for part in (load["mass"], *load["com"])]
        console.print(f"Load at {escape(load['frame'])}: " + escape(", ".join(parts)))
        for why in dict.fromkeys(part["finding"] for part in (load["mass"], *load["com"], *load["inertia"])):
            if why:
                console.print(f"[yellow]! {escape(why)}[/]")
        for text in load["caveats"]:
            console.print(f"[yellow]  - {escape(text)}[/]")
    if summary["inertias"] is not None:
        base = summary["inertias"]["base"]
        console.print(f"{sum(part['identifiable'] for part in base)} of {len(base)} base parameters identified")
    if (proof := summary["export"]["validation"]) is not None and result.job.output is not None:
        labels = {
            "the description as it was": "before", "the best fit": "base", "corrected.urdf": "exported",
            "corrected.urdf and offsets.yaml": "with_offsets",
        }  # fmt: skip
        held = [[label, *(number(value) for value in proof[key])] for label, key in labels.items()]
        print_table(console, ("RMSE on what was not fitted", *proof["joints"]), held)
    if summary["external_torque"] is not None:
        events = summary["external_torque"]["events"]
        for event in events[:20]:
            peaks = ", ".join(f"{name} {number(peak)}" for name, peak in event["peak"].items())
            load = ", which stays: a load?" if event["load"] else ""
            console.print(f"Contact from {number(event['start'])} to {number(event['end'])} s: {escape(peaks)}{load}")
        more = len(events) - 20 + summary["external_torque"]["omitted"]
        doubt = summary["external_torque"].get("doubt")
        none = f"No contact can be told: {escape(doubt)}" if doubt else "No contacts"
        console.print(
            none if not events else f"and {more} more contacts" if more > 0 else "",
            end="\n" if not events or more > 0 else "",
        )
    if result.job.output is not None:
        for file in sorted(result.job.output.iterdir()):
            if not file.name.startswith("."):
                console.print(f"[dim]{escape(str(file))}[/]")


def show_fleet(content: dict[str, Any], results: Sequence[Result], output: Path | None) -> None:
    from rbd_dynamics.common.page import number

    console = output_console()
    rows = []
    for name, robot in content["robots"].items():
        worst = max(robot["joints"], key=lambda joint: joint["nrmse"] or 0.0, default=None)
        last = ["", "", ""] if worst is None else [worst["name"], number(worst["rmse"]), number(worst["nrmse"])]
        rows.append([name, str(robot["recordings"]), number(robot["hours"]), *last])
    print_table(console, ("robot", "recordings", "hours", "worst joint", "RMSE", "NRMSE"), rows)
    for text in content["attention"]:
        console.print(f"[yellow]! {escape(text)}[/]")
    failed = [result for result in results if result.error]
    resumed = sum(result.resumed for result in results)
    told = [f"{len(results) - len(failed)} of {len(results)} recordings"]
    told += [f"{resumed} of them done before"] if resumed else []
    told += [f"in {output}: fleet.html, fleet.json, fleet.csv"] if output is not None else []
    console.print(escape(", ".join(told)))
