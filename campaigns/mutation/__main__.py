# SPDX-License-Identifier: Apache-2.0
"""Faults of a single operator, one after the other, in a copy of the package: do the tests notice?

    make coverage                                                          # once: which tests execute a line
    python -m campaigns.mutation --room control --count 25 --seed 1 --report FILE

A sample of faults (`campaigns.mutation.faults`), evenly over a room's lines; each is judged by the tests that execute
its line (where none is known to: by the room's own), fastest first, as many as fit into --budget seconds, until one
fails. What takes four times as long as usual has been noticed as well. What is not noticed is to be looked at: --again
judges it by more or other tests, and campaigns/mutation/survivors.md has the reasons for what stays. With --tests no
coverage is needed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from campaigns.mutation.executions import Executions
from campaigns.mutation.faults import Fault, faults_of, sample
from campaigns.mutation.judge import Judge, Verdict

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--room", action="append", required=True, help="a folder or file of rbd_dynamics/, repeatable")
    parser.add_argument("--count", type=int, default=25, help="faults in each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=30.0, help="s that the tests of one fault usually take")
    parser.add_argument("--coverage", type=Path, action="append", help="folders that `make coverage` wrote")
    parser.add_argument("--cache", type=Path, help="folder for kernels; a warm one saves time")
    parser.add_argument("--report", type=Path, help="file for the verdicts, JSON; what it has is not judged twice")
    parser.add_argument("--again", action="store_true", help="but what was not noticed, and only that")
    parser.add_argument("--only", action="append", help="only faults of the sample that have this in their text")
    parser.add_argument("--tests", action="append", help="files or tests, in place of those that execute the line")
    options = parser.parse_args()

    executions = Executions(options.coverage or [ROOT / "coverage_output"])
    judge = Judge(ROOT, options.cache, options.budget)
    survivors = 0
    try:
        for room in options.room:
            survivors += _room(judge, executions, room, options)
    finally:
        judge.close()
    return 1 if survivors else 0


def _room(judge: Judge, executions: Executions, room: str, options: argparse.Namespace) -> int:
    place = ROOT / "rbd_dynamics" / room
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    chosen = sample([fault for file in files for fault in faults_of(file, ROOT)], options.count, options.seed)
    if options.only:
        chosen = [fault for fault in chosen if any(text in str(fault) for text in options.only)]
    known = _known(options.report, room, options.seed)
    noticed = 0
    for number, fault in enumerate(chosen):
        before = known.get(str(fault))
        if before or (before is None) == options.again:
            noticed += bool(before)
            continue
        there = options.tests or executions.tests(fault) or executions.of_folder(f"test/{room}/")
        tests = there if options.tests else judge.within_budget(there, executions.seconds)
        verdict = judge.judge(fault, tests, executions.seconds)
        noticed += bool(verdict.noticed)
        missed = f"NOT NOTICED by {verdict.tests} of {len(there)} tests"
        what = f"noticed: {verdict.noticed}" if verdict.noticed else missed
        print(f"[{number + 1}/{len(chosen)} {verdict.seconds:.0f} s] {fault}\n    {what}", flush=True)
        if options.report:
            _add(options.report, room, options.seed, fault, verdict)
    print(f"{room}: {noticed} of {len(chosen)} faults noticed", flush=True)
    return len(chosen) - noticed


def _entries(path: Path | None) -> list[dict[str, Any]]:
    return json.loads(path.read_text()) if path is not None and path.exists() else []


def _known(path: Path | None, room: str, seed: int) -> dict[str, bool]:
    """Faults that a report has, and whether they were noticed."""
    ours = [entry for entry in _entries(path) if (entry["room"], entry["seed"]) == (room, seed)]
    return {entry["fault"]: bool(entry["noticed"]) for entry in ours}


def _add(path: Path, room: str, seed: int, fault: Fault, verdict: Verdict) -> None:
    entry = {"room": room, "seed": seed, "fault": str(fault), **verdict._asdict()}
    others = [other for other in _entries(path) if any(other[key] != entry[key] for key in ("room", "seed", "fault"))]
    path.write_text(json.dumps([*others, entry], indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
