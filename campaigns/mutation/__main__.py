# SPDX-License-Identifier: Apache-2.0
"""Faults of a single operator, one after the other, in a copy of the package: do the tests notice?

    make coverage                                                                # once: which tests execute a line
    python -m campaigns.mutation --count 400 --seed 1 --budget 30 --report FILE  # again, until all are judged
    python -m campaigns.mutation --room control --count 25 --report FILE         # of one room

A sample of faults (`campaigns.mutation.faults`), evenly over a room's lines; without --room of all rooms, more of those
where a fault could hurt somebody (`WEIGHTS`). Each is judged by the tests that execute its line (where none is known
to: by the room's own), fastest first, as many as fit into --seconds, until one fails. What takes four times as long as
usual has been noticed as well. What is not noticed is to be looked at: --again judges it by more or other tests, and
campaigns/mutation/survivors.md has the reasons for what stays. With --tests no coverage is needed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from campaigns.mutation.executions import Executions
from campaigns.mutation.faults import Fault, faults_of, sample
from campaigns.mutation.judge import Judge, Verdict

ROOT = Path(__file__).resolve().parents[2]
#: how many faults of a room's lines there are in a campaign over all, to one of another room
WEIGHTS = {"control": 4.0, "nodes": 4.0, "trajectories": 3.0, "replay": 2.0, "demo": 0.0}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--room", action="append", help="a folder or file of rbd_dynamics/, repeatable; default: all")
    parser.add_argument("--count", type=int, default=25, help="faults in each room, or in all of them together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=math.inf, help="minutes, after which what is left waits")
    parser.add_argument("--seconds", type=float, default=30.0, help="that the tests of one fault usually take")
    parser.add_argument("--coverage", type=Path, action="append", help="folders that `make coverage` wrote")
    parser.add_argument("--cache", type=Path, help="folder for kernels; a warm one saves time")
    parser.add_argument("--report", type=Path, help="file for the verdicts, JSON; what it has is not judged twice")
    parser.add_argument("--again", action="store_true", help="but what was not noticed, and only that")
    parser.add_argument("--only", action="append", help="only faults of the sample that have this in their text")
    parser.add_argument("--tests", action="append", help="files or tests, in place of those that execute the line")
    options = parser.parse_args(arguments)

    if options.room is None:
        chosen = over_all(options.count, options.seed)
    else:
        chosen = [(room, fault) for room in options.room for fault in of_room(room, options.count, options.seed)]
    if options.only:
        chosen = [(room, fault) for room, fault in chosen if any(text in str(fault) for text in options.only)]
    executions = Executions(options.coverage or [ROOT / "coverage_output"])
    judge = Judge(ROOT, options.cache, options.seconds)
    try:
        verdicts = _judged(chosen, judge, executions, options)
    finally:
        judge.close()
    return _told(chosen, verdicts)


def of_room(room: str, count: int, seed: int) -> list[Fault]:
    """A sample of a folder's or a file's faults."""
    return sample(_faults(room), count, seed)


def over_all(count: int, seed: int) -> list[tuple[str, Fault]]:
    """(room, fault): a sample of all rooms by their lines and `WEIGHTS`; the first of them are one, too."""
    places = sorted((ROOT / "rbd_dynamics").iterdir())
    rooms = {place.stem: _faults(place.stem) for place in places if place.is_dir() or place.suffix == ".py"}
    shares = {room: WEIGHTS.get(room, 1.0) * len({(f.file, f.line) for f in found}) for room, found in rooms.items()}
    whole, chosen, passed = sum(shares.values()), [], 0.0
    for room, share in shares.items():
        before, passed = passed, passed + count * share / whole
        chosen += [(room, fault) for fault in sample(rooms[room], round(passed) - round(before), seed)]
    random.Random(seed).shuffle(chosen)
    return chosen


@cache
def _faults(room: str) -> list[Fault]:
    place = ROOT / "rbd_dynamics" / room
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    return [fault for file in files for fault in faults_of(file, ROOT)]


def _judged(
    chosen: list[tuple[str, Fault]], judge: Judge, executions: Executions, options: argparse.Namespace
) -> dict[str, bool]:
    """{fault: noticed} of those that are judged by now."""
    ours = [entry for entry in _entries(options.report) if entry["seed"] == options.seed]
    known = {entry["fault"]: bool(entry["noticed"]) for entry in ours}
    end = time.monotonic() + 60.0 * options.budget
    for number, (room, fault) in enumerate(chosen):
        before = known.get(str(fault))
        if before or (before is None) == options.again:
            continue
        if time.monotonic() > end:
            break
        there = options.tests or executions.tests(fault) or executions.of_folder(f"test/{room}/")
        tests = there if options.tests else judge.within_budget(there, executions.seconds)
        verdict = judge.judge(fault, tests, executions.seconds)
        known[str(fault)] = bool(verdict.noticed)
        missed = f"NOT NOTICED by {verdict.tests} of {len(there)} tests"
        what = f"noticed: {verdict.noticed}" if verdict.noticed else missed
        print(f"[{number + 1}/{len(chosen)} {verdict.seconds:.0f} s] {fault}\n    {what}", flush=True)
        if options.report:
            _add(options.report, room, options.seed, fault, verdict)
    return known


def _told(chosen: list[tuple[str, Fault]], verdicts: dict[str, bool]) -> int:
    """A line a room, what nobody has noticed, and what is left; 1 where there is anything of either."""
    judged = [(room, fault) for room, fault in chosen if str(fault) in verdicts]
    total = Counter(room for room, _ in judged)
    noticed = Counter(room for room, fault in judged if verdicts[str(fault)])
    for room in sorted(total):
        print(f"{room}: {noticed[room]} of {total[room]} faults noticed")
    for _, fault in judged:
        if not verdicts[str(fault)]:
            print(f"    not noticed: {fault}")
    left = len(chosen) - len(judged)
    print(
        f"all: {noticed.total()} of {total.total()} faults noticed" + (f"; {left} are left" if left else ""), flush=True
    )
    return 1 if left or noticed.total() < total.total() else 0


def _entries(path: Path | None) -> list[dict[str, Any]]:
    return json.loads(path.read_text()) if path is not None and path.exists() else []


def _add(path: Path, room: str, seed: int, fault: Fault, verdict: Verdict) -> None:
    entry = {"room": room, "seed": seed, "fault": str(fault), **verdict._asdict()}
    others = [other for other in _entries(path) if any(other[key] != entry[key] for key in ("room", "seed", "fault"))]
    path.write_text(json.dumps([*others, entry], indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
