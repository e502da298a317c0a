# SPDX-License-Identifier: Apache-2.0
"""Drive gains, in place of all else."""

from __future__ import annotations

import argparse
import json

from rbd_dynamics.common.console import output_console, print_table, working
from rbd_dynamics.replay.command.chosen import Source, robot_of_one, settings_of


def run_gains(options: argparse.Namespace, source: Source) -> int:
    """Exit code 1 if no gain is known."""
    from rbd_dynamics.common.whole_files import write_whole
    from rbd_dynamics.replay.gains import drive_gains

    if options.known_load is None or not options.unloaded:
        raise ValueError("--known-load and --unloaded belong together: gains follow from what the load adds")
    robot = robot_of_one(options, source, options.recordings[0])
    with working("drive gains"):
        found = drive_gains(
            options.recordings, options.unloaded, robot, *options.known_load, settings=settings_of(options)
        )
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        write_whole(options.output / "drive_gains.yaml", found.to_yaml())
    if options.json:
        print(json.dumps(found.to_dict(), indent=1, allow_nan=False))
    else:
        rows = []
        for name, gain in found.gains.items():
            numbers = [f"{x:.4g}" for x in (gain.value, gain.lower, gain.upper)] if gain.identifiable else ["–"] * 3
            rows.append([name, *numbers, gain.finding])
        print_table(output_console(), ("joint", "gain", "from", "to", ""), rows)
    return 0 if any(gain.identifiable for gain in found.gains.values()) else 1
