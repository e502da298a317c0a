# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics replay`: recordings in, tables and reports out. What is heavy is imported when it is needed."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from rbd_dynamics.replay.analysis import Questions
    from rbd_dynamics.replay.fleet.job import Job, Result
    from rbd_dynamics.replay.settings import Settings

DEFAULT_FORMATS = ("html", "png", "urdf")
FORMATS_HELP = "comma-separated: html, png, csv, parquet, bag, urdf, or all; default: html,png,urdf"
EPILOG = """\
Examples:
  rbd_dynamics replay run.mcap --urdf panda.urdf --output result       a report of one recording
  rbd_dynamics replay run.mcap --payload tool0 --inertias -o result    what it carries, and its inertias
  rbd_dynamics replay archive/ -o result --workers 8                   all recordings in a folder, and the fleet
"""
Source = Callable[[str], "str | Path"]


def add_replay(commands: Any, source: Source, name_and_number: Callable[[str], tuple[str, float]]) -> None:
    """The command's arguments; `source` reads --urdf, `name_and_number` NAME=NUMBER."""
    parser = commands.add_parser(
        "replay",
        help="compare recordings with the model: torques, friction, payload, contacts",
        description="Compare recorded efforts with those of the robot's model, and find friction, load, inertias and "
        "contacts. Reads rosbag2 (sqlite3, mcap) and ROS 1 bags, without ROS. Exit code 1 if a recording failed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("recordings", metavar="BAG", nargs="+", type=Path, help="a recording, or a folder with many of them")
    add("--urdf", metavar="URDF", help="path, -, or name of a robot; default: robot_description in the recording")
    add("--output", "-o", metavar="DIR", type=Path, help="where to write; default: nothing is written")
    add("--formats", metavar="LIST", type=_formats, default=DEFAULT_FORMATS, help=FORMATS_HELP)
    add("--json", action="store_true", help="print summary.json (of many recordings fleet.json) in place of tables")

    signals = parser.add_argument_group("what was recorded")
    add = signals.add_argument
    add("--topic", help="of the joint states; default: the one that names most of the robot's joints")
    add("--terms", metavar="LIST", type=_list,
        help="what the efforts contain: inertia, coriolis, gravity, spring, friction; default: all but the "
        "last")  # fmt: skip
    add("--position", metavar="NAME=VALUE", action="append", default=[], type=name_and_number,
        help="of a joint that was not recorded (rad, m); may be repeated")  # fmt: skip
    add("--lock", metavar="NAME=VALUE", action="append", default=[], type=name_and_number,
        help="a joint that does not move (rad, m); may be repeated")  # fmt: skip

    processing = parser.add_argument_group("how it is processed")
    add = processing.add_argument
    add("--cutoff", metavar="HZ", type=float, help="of the low-pass filter; default: 5, at most a fifth of the rate")
    add("--rate", metavar="HZ", type=float, help="of the samples; default: that of the messages")
    add("--edge", metavar="S", type=float, help="left out at both ends of a segment; default: 2 / cutoff")
    add("--velocity", choices=("auto", "measured", "differentiated"), help="where velocities come from")
    add("--clock", choices=("auto", "header", "received"), help="which stamps count")
    add("--settings", metavar="FILE", type=Path, help="all of these as JSON, as summary.json has them")

    questions = parser.add_argument_group("what is asked")
    add = questions.add_argument
    add("--friction", action=argparse.BooleanOptionalAction, default=True, help="friction of each joint")
    add("--payload", metavar="FRAME", help="find a load at this link or joint")
    add("--inertias", action="store_true", help="base parameters, and inertias that can exist")
    add("--external-torque", action=argparse.BooleanOptionalAction, default=True, help="external torques and contacts")
    add("--contact-threshold", metavar="[NAME=]NM", action="append", default=[], type=_threshold,
        help="external torque of a contact; may be repeated; default: ten median deviations")  # fmt: skip
    add("--energy", action=argparse.BooleanOptionalAction, default=True, help="power and work")

    many = parser.add_argument_group("many recordings")
    add = many.add_argument
    add("--workers", metavar="N", type=int, help="processes on this machine; default: one a core")
    add("--scheduler", metavar="ADDRESS", help="of a Dask cluster that sees the same paths, as tcp://host:8786")
    parser.set_defaults(run=lambda options: run_replay(options, source))


def run_replay(options: argparse.Namespace, source: Source) -> int:
    """Exit code 1 if a recording failed."""
    from rbd_dynamics.replay.fleet import find_recordings

    found = find_recordings(options.recordings)
    many = len(found) > 1 or any(path.is_dir() and path.resolve() != found[0].path for path in options.recordings)
    urdf, where = _description(options.urdf, source)
    settings, questions = _settings(options), _questions(options)
    from rbd_dynamics.replay.fleet.job import Job

    jobs = [
        Job(
            recording=one.path,
            output=_folder(options.output, one.name) if many else options.output,
            urdf=urdf,
            source=where,
            robot=one.name.split("/")[0] if "/" in one.name else "",
            locked=dict(options.lock),
            settings=settings,
            questions=questions,
            formats=options.formats if options.output is not None else (),
        )
        for one in found
    ]
    return _run_many(jobs, options) if many else _run_one(jobs[0], options)


def _run_one(job: Job, options: argparse.Namespace) -> int:
    from rbd_dynamics.replay.fleet.job import one_line, run_job

    with _progress() as progress:
        task = progress.add_task(job.recording.name, total=1.0)
        try:
            result = run_job(job, progress=lambda fraction: progress.update(task, completed=fraction))
        except (KeyError, ArithmeticError) as error:
            raise ValueError(one_line(error)) from error
    if options.json:
        print(json.dumps(result.summary, indent=1, allow_nan=False))
    else:
        _show(result)
    return 0


def _run_many(jobs: Sequence[Job], options: argparse.Namespace) -> int:
    from rbd_dynamics.replay.fleet import overview, run_jobs, write_overview

    with _progress() as progress:
        task = progress.add_task(f"{len(jobs)} recordings", total=float(len(jobs)))

        def report(result: Result) -> None:
            progress.advance(task)
            if result.error:
                progress.console.print(f"[red]{escape(result.job.recording.name)}: {escape(result.error)}[/]")

        try:
            results = run_jobs(jobs, workers=options.workers, scheduler=options.scheduler, report=report)
        except KeyboardInterrupt:
            if options.output is not None:
                print("what is done is kept: the same command goes on from there", file=sys.stderr)
            raise
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        content = write_overview(options.output, results)
    else:
        content = overview(results)
    if options.json:
        print(json.dumps(content, indent=1, allow_nan=False))
    else:
        _show_fleet(content, results, options.output)
    return 1 if any(result.error for result in results) else 0


# --- what comes in ----------------------------------------------------------------------------------


def _description(urdf: str | None, source: Source) -> tuple[str | None, str]:
    """Text of the robot's description, and where it is from."""
    if urdf is None:
        return None, "the recording"
    found = source(urdf)
    return (found.read_text(encoding="utf-8"), str(found)) if isinstance(found, Path) else (found, "standard input")


def _settings(options: argparse.Namespace) -> Settings:
    from rbd_dynamics.replay.settings import Settings, json_of

    given: dict[str, Any] = {}
    if options.settings is not None:
        try:
            given = json_of(options.settings.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{options.settings}: {error}") from error
        given = given.get("settings", given)
        if not isinstance(given, dict):
            raise ValueError(f"{options.settings}: settings must be a dictionary")
    for name in ("topic", "terms", "cutoff", "rate", "edge", "velocity", "clock"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if options.position:
        given["positions"] = {**given.get("positions", {}), **dict(options.position)}
    return Settings.from_dict(given)


def _questions(options: argparse.Namespace) -> Questions:
    from rbd_dynamics.replay.analysis import Questions

    threshold: float | dict[str, float] | None = None
    for name, value in options.contact_threshold:
        if name and isinstance(threshold, dict | None):
            threshold = {**(threshold or {}), name: value}
        elif name or threshold is not None:
            raise ValueError("--contact-threshold: either one for all joints, or NAME=NM for each that counts")
        else:
            threshold = value
    return Questions(
        friction=options.friction,
        payload=options.payload,
        inertias=options.inertias,
        external_torque=options.external_torque,
        contact_threshold=threshold,
        energy=options.energy,
    )


def _folder(output: Path | None, name: str) -> Path | None:
    """One folder for each recording, side by side."""
    return None if output is None else output / name.replace("/", "__")


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _formats(text: str) -> tuple[str, ...]:
    from rbd_dynamics.replay.outputs import FORMATS, check_formats

    try:
        return tuple(FORMATS) if text.strip() == "all" else check_formats(_list(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _threshold(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not number > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not [NAME=]NM with a positive number")
    return name, number


# --- what is shown ----------------------------------------------------------------------------------


def _progress() -> Progress:
    """On standard error, so that output can be piped."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip


def _console() -> Console:
    return Console(highlight=False) if sys.stdout.isatty() else Console(width=160, highlight=False)


def _table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for k, head in enumerate(heads):
        table.add_column(head, justify="left" if k == 0 else "right")
    return table


def _show(result: Result) -> None:
    from rbd_dynamics.replay.report.page import headline
    from rbd_dynamics.replay.report.tables import estimate_cell, number

    summary, console = result.summary, _console()
    recording = summary["recording"]
    console.print(
        f"[bold]{escape(summary['robot']['name'])}[/], {escape(str(recording['recording']))}: "
        f"{number(recording['duration'])} s, {recording['messages']} messages on {escape(recording['topic'])}"
    )
    for text in summary["warnings"]:
        console.print(f"[yellow]! {escape(text)}[/]")
    console.print(escape(headline(summary)))
    friction = {joint["joint"]: joint for joint in (summary["friction"] or {}).get("joints", ())}
    table = _table(
        "joint", "RMSE", "NRMSE", "correlation", "bias", "worst", "", "offset", "Coulomb", "viscous", "RMSE with it"
    )
    for joint in summary["joints"]:
        found = friction.get(joint["name"])
        three = [estimate_cell(found[name]) for name in ("offset", "coulomb", "viscous")] if found else ["", "", ""]
        table.add_row(
            escape(joint["name"]), *(number(joint[key]) for key in ("rmse", "nrmse", "correlation", "bias", "worst")),
            joint["unit"], *three, number(found["rmse_after"]) if found else "",
        )  # fmt: skip
    console.print(table)
    if summary["payload"] is not None:
        load = summary["payload"]
        parts = [f"{part['name']} {estimate_cell(part)}" for part in (load["mass"], *load["com"])]
        console.print(f"Load at {escape(load['frame'])}: " + escape(", ".join(parts)))
    if summary["inertias"] is not None:
        base = summary["inertias"]["base"]
        console.print(f"{sum(part['identifiable'] for part in base)} of {len(base)} base parameters identified")
    if summary["external_torque"] is not None:
        events = summary["external_torque"]["events"]
        for event in events[:20]:
            peaks = ", ".join(f"{name} {number(peak)}" for name, peak in event["peak"].items())
            console.print(f"Contact from {number(event['start'])} to {number(event['end'])} s: {escape(peaks)}")
        more = len(events) - 20 + summary["external_torque"]["omitted"]
        console.print(
            "No contacts" if not events else f"and {more} more contacts" if more > 0 else "",
            end="\n" if not events or more > 0 else "",
        )
    if result.job.output is not None:
        for file in sorted(result.job.output.iterdir()):
            if not file.name.startswith("."):
                console.print(f"[dim]{escape(str(file))}[/]")


def _show_fleet(content: dict[str, Any], results: Sequence[Result], output: Path | None) -> None:
    from rbd_dynamics.replay.report.tables import number

    console = _console()
    table = _table("robot", "recordings", "hours", "worst joint", "RMSE", "NRMSE")
    for name, robot in content["robots"].items():
        worst = max(robot["joints"], key=lambda joint: joint["nrmse"] or 0.0, default=None)
        last = ["", "", ""] if worst is None else [worst["name"], number(worst["rmse"]), number(worst["nrmse"])]
        table.add_row(escape(name), str(robot["recordings"]), number(robot["hours"]), *map(escape, last))
    console.print(table)
    for text in content["attention"]:
        console.print(f"[yellow]! {escape(text)}[/]")
    failed = [result for result in results if result.error]
    resumed = sum(result.resumed for result in results)
    told = [f"{len(results) - len(failed)} of {len(results)} recordings"]
    told += [f"{resumed} of them done before"] if resumed else []
    told += [f"in {output}: fleet.html, fleet.json, fleet.csv"] if output is not None else []
    console.print(escape(", ".join(told)))
