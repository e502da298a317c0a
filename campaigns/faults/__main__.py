# SPDX-License-Identifier: Apache-2.0
"""Faults of every kind against the torque nodes, in real processes over DDS; every effort is judged by Pinocchio.

    python -m campaigns.faults --node all --seconds 60 --rate 500 --seed 1 [--guard] [--report FILE] [--record FILE]
    python -m campaigns.faults --node all --hours 2 --seed 1 --report FILE [--record FOLDER]
    python -m campaigns.faults --judge FILE

The robot is a Panda that moves a little; what a state says follows from its stamp, so that the judge, a process of its
own, knows what each effort answers. Exit code 1 where an effort was wrong, not finite, above limits or stale.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from campaigns.faults.campaign import BAD, NODES, run
from campaigns.faults.pieces import pieces


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.faults", description=__doc__.splitlines()[0])
    parser.add_argument("--node", choices=(*NODES, "all"), default="all")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--hours", type=float, help="instead: in pieces; the same command goes on where --report ends")
    parser.add_argument("--rate", type=float, default=500.0, help="joint states per second")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.5, help="mean time between two faults, s")
    parser.add_argument("--guard", action="store_true", help="with the node guard after each, whose commands count too")
    parser.add_argument("--report", type=Path, help="file for the report, JSON")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="keep all that the judge is told; with --hours a folder, for pieces that are not good",
    )
    parser.add_argument("--judge", type=Path, metavar="FILE", help="judge what was recorded again, and do nothing else")
    options = parser.parse_args()
    if options.judge:
        try:
            return again(options.judge)
        except (OSError, ValueError) as error:
            parser.error(f"{options.judge}: {error}")
    if options.hours:
        if not options.report:
            parser.error("--hours: needs --report, a file in which it is kept how far it has come")
        given = ["--node", options.node, "--rate", f"{options.rate:g}", "--pause", f"{options.pause:g}"]
        if options.record:
            options.record.mkdir(parents=True, exist_ok=True)
        given += ["--guard"] * options.guard
        try:
            found = pieces(given, options.hours, options.seed, options.report, options.record)
        except ValueError as error:
            parser.error(f"{options.report}: {error}")
        print(json.dumps({name: found.get(name) for name in ("good", "seconds", "all")}, indent=1))
        return 0 if found.get("good") else 1
    kinds = list(NODES) if options.node == "all" else [options.node]
    report = run(kinds, options.seconds, options.rate, options.seed, options.pause, options.guard, options.record)
    text = json.dumps(report, indent=1)
    if options.report:
        options.report.write_text(text + "\n")
    print(text)
    return 0 if report["good"] else 1


def again(record: Path) -> int:
    from campaigns.faults.watching import judge_again

    def tell(kind: str, violation: dict[str, Any]) -> None:
        print(json.dumps({"node": kind, **violation}), file=sys.stderr)

    counts = judge_again(record, tell)
    print(json.dumps(counts, indent=1))
    return int(any(of_node[bad] for of_node in counts.values() for bad in BAD))


if __name__ == "__main__":
    sys.exit(main())
