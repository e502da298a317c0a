# SPDX-License-Identifier: Apache-2.0
"""Runs the command: arguments in, results of one recording, or of many, out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from rbd_dynamics.common.console import progress_bar
from rbd_dynamics.common.whole_files import check_folder
from rbd_dynamics.replay.command.chosen import Source, description_of, inertias_of, meshes_of, questions_of, settings_of
from rbd_dynamics.replay.command.drive_gains import run_gains
from rbd_dynamics.replay.command.explain import run_explain
from rbd_dynamics.replay.command.kinds import DEFAULT_FORMATS, DEFAULT_OF_MANY
from rbd_dynamics.replay.command.tables import show, show_fleet
from rbd_dynamics.replay.command.together import run_together

if TYPE_CHECKING:
    from rbd_dynamics.replay.fleet.job import Job, Result


def run_replay(options: argparse.Namespace, source: Source) -> int:
    """Exit code 1 if a recording failed, there was nothing to compare, or an export was refused."""
    from rbd_dynamics.replay.fleet import find_recordings

    whole = run_gains if options.known_load is not None or options.unloaded else None
    whole = run_together if options.together or options.load else whole
    whole = run_explain if options.explain else whole
    if whole is not None and any(isinstance(place, str) for place in (*options.recordings, options.output)):
        raise ValueError("recordings and --output must be on this machine, for --explain, --together and --known-load")
    if isinstance(options.output, Path):
        check_folder(options.output)
    if whole is not None:
        return whole(options, source)
    found = find_recordings(options.recordings)
    many = len(found) > 1 or any(_is_folder_of(place, found[0].path) for place in options.recordings)
    if options.formats is None:
        options.formats = DEFAULT_OF_MANY if many else DEFAULT_FORMATS
    urdf, where = description_of(options, source)
    settings, questions = settings_of(options), questions_of(options)
    from rbd_dynamics.replay.fleet.job import Job
    from rbd_dynamics.replay.fleet.overview import SCRIPTS

    jobs = [
        Job(
            recording=one.path,
            output=_below(options.output, one.folder) if many else options.output,
            name=one.name,
            urdf=urdf,
            source=where,
            meshes=meshes_of(options, where),
            robot=one.name.split("/")[0] if "/" in one.name else options.robot or "",
            locked=dict(options.lock),
            gravity=options.gravity and tuple(options.gravity),
            inertias=inertias_of(options),
            settings=settings,
            questions=questions,
            formats=options.formats if options.output is not None else (),
            scripts=f"../{SCRIPTS}" if many and "html" in options.formats else "",
        )
        for one in found
    ]
    return _run_many(jobs, options) if many else _run_one(jobs[0], options)


def _is_folder_of(place: Path | str, recording: Path | str) -> bool:
    """Whether a folder was given in which the recording was found."""
    if isinstance(place, str):
        return place.rstrip("/") != recording
    return place.is_dir() and place.resolve() != recording


def _below(output: Path | str | None, folder: str) -> Path | str | None:
    return f"{output.rstrip('/')}/{folder}" if isinstance(output, str) else output and output / folder


def _run_one(job: Job, options: argparse.Namespace) -> int:
    from rbd_dynamics.replay.fleet.job import run_job

    with progress_bar() as progress:
        task = progress.add_task(job.name, total=1.0)
        result = run_job(job, progress=lambda fraction: progress.update(task, completed=fraction))
    if options.json:
        print(json.dumps(result.summary, indent=1, allow_nan=False))
    else:
        show(result)
    return _code([result])


def _run_many(jobs: Sequence[Job], options: argparse.Namespace) -> int:
    from rbd_dynamics.common.process.one_interrupt import one_interrupt
    from rbd_dynamics.replay.fleet import overview, run_jobs, slim, write_results

    with progress_bar() as progress:
        task = progress.add_task(f"{len(jobs)} recordings", total=float(len(jobs)))

        def report(result: Result) -> None:
            progress.advance(task)
            if result.error:
                progress.console.print(f"[red]{escape(result.job.name)}: {escape(result.error)}[/]")

        try:
            with one_interrupt():
                results = run_jobs(
                    jobs,
                    workers=options.workers,
                    scheduler=options.scheduler,
                    report=report,
                    keep=slim,
                    say=lambda text: progress.console.print(escape(text)),
                )
        except KeyboardInterrupt:
            kept = options.output is not None
            raise KeyboardInterrupt(*["what is done is kept, the same command goes on from there"] * kept) from None
    if options.output is not None:
        content = write_results(options.output, results, scripts=bool(jobs[0].scripts))
    else:
        content = overview(results)
    if options.json:
        print(json.dumps(content, indent=1, allow_nan=False))
    else:
        show_fleet(content, results, options.output)
    return _code(results)


def _code(results: Sequence[Result]) -> int:
    """1 where a recording failed or had nothing to compare, which is said, or a description was not written."""
    empty = [result for result in results if not result.error and not result.summary["joints"]]
    for result in empty:
        print(f"{result.job.recording}: nothing was compared with the model; the warnings say why", file=sys.stderr)
    refused = [r for r in results if "urdf" in r.job.formats and r.summary.get("export", {}).get("refused")]
    return 1 if empty or refused or any(result.error for result in results) else 0
