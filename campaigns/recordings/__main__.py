# SPDX-License-Identifier: Apache-2.0
"""Recordings of ten arms in which causes and pairs of causes were injected, replayed; what is claimed, and is true.

    python -m campaigns.recordings [--count 300] [--seed 1] [--report FILE] [--part K/N] [--false]
    python -m campaigns.recordings --run 17

Each recording follows from seed and number. With --report it goes on where that file ends; --part does every N-th, for
processes beside each other, each with a report of its own; several reports are told together. --run repeats one and
prints all that was claimed. Exit code 1 where more than 2 % of the claims are false.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from campaigns.recordings.case import Case
from campaigns.recordings.judge import judge
from campaigns.recordings.tables import table

MOST = 0.02  # of all claims may be false


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.recordings", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th recording, from the K-th on")
    parser.add_argument("--report", type=Path, action="append", default=[], help="the first is written; all are told")
    parser.add_argument("--run", type=int, help="only this recording, in full")
    parser.add_argument("--false", action="store_true", help="print what was false or not found")
    options = parser.parse_args()
    if options.run is not None:
        return one(Case(options.seed, options.run))
    own = options.report[0] if options.report else None
    done: dict[str, Any] = json.loads(own.read_text()) if own is not None and own.exists() else {}
    first, every = map(int, options.part.split("/"))
    for number in range(first, options.count, every):
        if str(number) in done:
            continue
        case, begun = Case(options.seed, number), time.process_time()
        verdict = judge(case)
        done[str(number)] = {**asdict(verdict), "story": case.story, "seconds": time.process_time() - begun}
        if own is not None:
            own.write_text(json.dumps(done, indent=1, default=bool) + "\n")
    for path in options.report[1:]:
        done |= json.loads(path.read_text())
    if options.false:
        tell(done)
    print(table(list(done.values())))
    claims = [claim for verdict in done.values() for claim in verdict["claims"]]
    return int(sum(not claim["true"] for claim in claims) > MOST * len(claims))


def one(case: Case) -> int:
    print(case.story)
    verdict = judge(case)
    for claim in verdict.claims:
        print(
            "true " if claim.true else "FALSE", claim.kind, "" if claim.covers is not False else "(misses)", claim.text
        )
    print(verdict.injected)
    return int(any(not claim.true for claim in verdict.claims))


def tell(done: dict[str, Any]) -> None:
    for verdict in done.values():
        false = [claim for claim in verdict["claims"] if not claim["true"]]
        missed = [cause for cause, (found, could) in verdict["injected"].items() if could and not found]
        if false or missed:
            print(verdict["story"])
        for claim in false:
            print(f"   FALSE {claim['kind']}: {claim['text']}")
        for cause in missed:
            print(f"   missed {cause}")


if __name__ == "__main__":
    sys.exit(main())
