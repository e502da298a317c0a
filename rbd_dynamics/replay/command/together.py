# SPDX-License-Identifier: Apache-2.0
"""One fit over many recordings, in place of all else."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.markup import escape

from rbd_dynamics.common.console import output_console, print_table, working
from rbd_dynamics.replay.command.chosen import Source, robot_of_one, settings_of


def names_of(given: Sequence[str], recordings: Mapping[str, Path]) -> tuple[str, ...]:
    """Names of recordings, of which some may be given as the paths they were found at."""
    paths = {path.resolve(): name for name, path in recordings.items()}
    return tuple(name if name in recordings else paths.get(Path(name).resolve(), name) for name in given)


def run_together(options: argparse.Namespace, source: Source) -> int:
    """Exit code 1 if nothing of other recordings helps with one that was left out."""
    from rbd_dynamics.common.whole_files import write_whole
    from rbd_dynamics.replay.fleet import find_recordings
    from rbd_dynamics.replay.report.together import together_tables
    from rbd_dynamics.replay.together import together

    if not options.together:
        raise ValueError("--load belongs to --together: of one recording --payload FRAME finds a load")
    recordings = {one.name: Path(one.path) for one in find_recordings(options.recordings)}
    if len(recordings) < 2:
        raise ValueError("--together needs at least two recordings: each is left out in turn")
    loads = [replace(load, recordings=names_of(load.recordings, recordings)) for load in options.load]
    robots = {name: name.split("/")[0] for name in recordings if "/" in name}
    robot = robot_of_one(options, source, next(iter(recordings.values())))
    with working(f"one fit over {len(recordings)} recordings"):
        found = together(recordings, robot, robots=robots, loads=loads, settings=settings_of(options))
    text = json.dumps(found.to_dict(), indent=1, allow_nan=False)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        write_whole(options.output / "together.json", text + "\n")
    if options.json:
        print(text)
    else:
        console = output_console()
        for title, (heads, rows) in together_tables(found).items():
            console.print(f"[bold]{escape(title)}[/]")
            print_table(console, heads, rows)
    return 0 if any(transfer.transfers for transfer in found.transfers) else 1
