# SPDX-License-Identifier: Apache-2.0
"""Hostile inputs for everything that reads what others wrote: mutations of valid ones, in processes of their own.

    python -m campaigns.fuzz --cases 100000 --seed 1 [--target urdf ...] [--findings FOLDER] [--report FILE]

A finding is an exception that is not the documented one or has a message without bound, a crash of the process, a case
that takes longer or more memory than it may, or one that is taken with a wrong result (see `campaigns.fuzz.targets`).
Each case follows from seed, target and its number. Exit code 1 where something was found.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from campaigns.fuzz.campaign import Campaign
from campaigns.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only these; may be repeated")
    parser.add_argument("--findings", type=Path, help="folder for the inputs of findings")
    parser.add_argument("--report", type=Path, help="file for the counts, JSON; those of earlier runs are added to")
    options = parser.parse_args()
    chosen = [TARGETS[name] for name in options.target or TARGETS]
    whole = sum(target.share for target in chosen)
    campaign = Campaign(options.seed, options.findings)
    for target in chosen:
        count, begin = round(options.cases * target.share / whole), time.monotonic()
        campaign.run(target.name, count)
        found = len(campaign.findings.get(target.name, ()))
        print(f"{target.name}: {count} cases in {time.monotonic() - begin:.0f} s, {found} findings", flush=True)
        if options.report:
            _add(options.report, target.name, count, found)
    return 1 if campaign.findings else 0


def _add(path: Path, name: str, count: int, found: int) -> None:
    counts = json.loads(path.read_text()) if path.exists() else {}
    before = counts.get(name, {"cases": 0, "findings": 0})
    counts[name] = {"cases": before["cases"] + count, "findings": before["findings"] + found}
    path.write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
