# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control in closed loop with an independent plant, judged by what the plant knows.

    python -m campaigns.pressing --seconds 600 --seed 1 [--only CLASS ...] [--budget RUNS] [--law LAW] [--report FILE]
    python -m campaigns.pressing --only CLASS --seed 1 --run 17

--law node has the node in a process of its own, in lockstep; pi and impedance are textbook laws to compare with.

Each run follows from seed, class and its number. With --report it goes on where that file ends. --run repeats one run
and prints all that was found. Exit code 1 where a bound was violated or a reason was false.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from campaigns.pressing import tables
from campaigns.pressing.arms import model_of
from campaigns.pressing.campaign import LAWS, many
from campaigns.pressing.classes import CLASSES, LETTERS, case_of
from campaigns.pressing.judge import UNITS, impacts, let_go_by_friction, verdict
from campaigns.pressing.picture import draw
from campaigns.pressing.runs import Record, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.pressing", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=math.inf, help="of this machine's time, for all classes")
    parser.add_argument("--budget", type=int, default=20, help="runs of each class")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", metavar="CLASS", help=f"of {', '.join(CLASSES)}; may be repeated")
    parser.add_argument("--run", type=int, help="only this run, in full")
    parser.add_argument("--picture", type=Path, help="with --run: file for a picture of its first stop")
    parser.add_argument("--law", choices=sorted(LAWS), default="hybrid")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", type=Path, help="file for what was found, JSON; goes on where it ends")
    options = parser.parse_args()
    chosen = [LETTERS.get(name, name) for name in options.only or CLASSES]
    unknown = [name for name in chosen if name not in CLASSES]
    if unknown:
        parser.error(f"no class {unknown[0]!r}: there are {', '.join(CLASSES)}")
    if options.run is not None:
        return max(one(name, options.seed, options.run, options.law, options.picture) for name in chosen)
    report: dict[str, Any] = {}
    if options.report and options.report.exists():
        report = json.loads(options.report.read_text())
    tallies = report.setdefault(f"{options.law} {options.seed}", {})
    for name in chosen:
        tallies.setdefault(name, tables.new())
    # in turn, so that a campaign that is ended early has seen all classes
    todo = [(name, options.seed, number, options.law) for number in range(options.budget) for name in chosen
            if number >= tallies[name]["runs"]]  # fmt: skip
    for case, found in many(todo, options.jobs, options.seconds):
        tables.add(tallies[case.name], case, found)
        if options.report:
            options.report.write_text(json.dumps(report, indent=1) + "\n")
    of_chosen = {name: tallies[name] for name in chosen if tallies[name]["runs"]}
    for name, tally in of_chosen.items():
        print(tables.text(name, tally, law=options.law, seed=options.seed))
    print(tables.summary(of_chosen))
    print(tables.said(of_chosen))
    return int(any(tally["bad"] for tally in of_chosen.values()))


def one(name: str, seed: int, number: int, law: str, picture: Path | None = None) -> int:
    """Repeat a run."""
    case = case_of(name, seed, number)
    record = run(case, LAWS[law])
    if picture is not None:
        draw(record, picture)
    found = verdict(record)
    print(f"{name} {number}: {json.dumps(case.told(), default=str)}")
    blow, wall = impacts(case, record.scene)
    print(f"effective mass {record.scene.mass:.3g} kg, unavoidable blow {blow:.3g} N, at a wall {wall:.3g} N")
    freed, tool = let_go_by_friction(record)
    share = (freed / model_of(case.arm).velocity_limit).max()
    print(f"what friction let go of cannot be helped: {share:.3g} of a velocity limit, {tool:.3g} m/s of the tool")
    tell(record)
    for bound, each in found.bounds.items():
        unit, factor = UNITS[bound]
        print(f"{'BAD ' if each.bad else 'ok  '}{bound}: {factor * each.value:.4g} {unit} ({factor * each.most:.4g})")
    for text, (said, true) in zip(record.stops, found.reasons):
        print(f"{ {True: 'true ', False: 'FALSE', None: '?    '}[true] } {said}: {text}")
    for text in dict.fromkeys(record.refused):
        print(f"refused: {text}")
    if record.motion_problem:
        print(f"motion: {record.motion_problem}")
    return int(not found.good)


def tell(record: Record) -> None:
    """A line for each tenth of a second."""
    print("   s  mode      force  wall   z mm   tool mm/s  fastest joint")
    height = (record.position - record.scene.touch) @ record.scene.axes[:, 2]
    for k in range(0, len(record.modes) - 1, 100):
        velocity = 1e3 * (record.position[k + 1] - record.position[k]) / 1e-3
        wall = f"{record.forces[k, 1]:6.1f}" if record.forces.shape[1] > 1 else "     -"
        begun = " <- the force has come" if 0 <= k - record.begun < 100 and record.begun >= 0 else ""
        print(
            f"{1e-3 * k:5.1f} {record.modes[k]:9s}{record.forces[k, 0]:6.1f} {wall} {1e3 * height[k]:7.2f} "
            f"{(velocity @ velocity) ** 0.5:8.1f} {abs(record.v[k]).max():10.3f}{begun}"
        )


if __name__ == "__main__":
    sys.exit(main())
