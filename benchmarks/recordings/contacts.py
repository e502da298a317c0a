# SPDX-License-Identifier: Apache-2.0
"""What contact detection finds, and what it invents: 200 seeded pushes of 2 to 50 N m on simulated arms.

    python -m benchmarks.recordings.contacts [--pushes 200] [--seed 1] [--free 20] [--json FILE]

Arms of `rigs.pushed_arms`, at rest and in motion, recorded as bags; each is replayed with the description, as a
user would, without any threshold. A contact counts for a push that it overlaps (the next 0.5 s with it), and is false
where it overlaps none. As many minutes as `--free` of motion that nobody touches tell how often that happens without
any pushes. Needs rosbags and example-robot-data.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rigs.found_pushes import PERIODS, SIZES, Score, replayed
from rigs.pushed_arms import ARMS, PERIOD, description_of, simulate

CLASSES = ((2.0, 5.0), (5.0, 10.0), (10.0, 20.0), (20.0, 50.0))  # N m


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recordings.contacts", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--pushes", type=int, default=200, help="on each arm; ten in a recording")
    parser.add_argument("--free", type=float, default=20.0, help="minutes of motion of each arm that nobody touches")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    recordings = -(-options.pushes // (PERIODS - 2))
    undisturbed = round(60.0 * options.free / (PERIODS * PERIOD))
    heads = " | ".join(f"{low:g} to {high:g} N m" for low, high in CLASSES)
    print(f"| arm | | {heads} | all | precision | false alarms |")
    print(f"|---|---|{'---|' * (len(CLASSES) + 3)}")
    results: dict[str, Any] = {}
    for arm in ARMS:
        model = description_of(arm)
        score = replayed(arm, model, simulate(arm, model, recordings, PERIODS, options.seed, SIZES))
        free = Score()
        if undisturbed:
            free = replayed(arm, model, simulate(arm, model, undisturbed, PERIODS, options.seed + 1, None))
        alone = f"{free.contacts} in {free.seconds / 60.0:.0f} min"
        for at_rest, more in ((False, f"{100 * score.precision:.1f} % | {alone}"), (True, " | ")):
            cells = [_share(*score.recall(at_rest, *each)) for each in (*CLASSES, (0.0, np.inf))]
            print(
                f"| {arm.name} | {'at rest' if at_rest else 'in motion'} | {' | '.join(cells)} | {more} |", flush=True
            )
        results[arm.name] = {
            "precision": score.precision, "contacts": score.contacts, "false": score.false,
            "in motion": score.recall(False), "at rest": score.recall(True),
            "free_false": free.contacts, "free_seconds": free.seconds,
            "smallest in motion": score.smallest(False), "missed in motion": score.largest_missed(False),
            "smallest at rest": score.smallest(True), "missed at rest": score.largest_missed(True),
        }  # fmt: skip
    print("\nSmallest push that was found and largest that was not, N m; breakaway:\n")
    print("| joint | found in motion | missed | found at rest | missed | breakaway |")
    print("|---|---|---|---|---|---|")
    for arm in ARMS:
        found = results[arm.name]
        for joint, friction in zip(arm.joints, arm.friction):
            kinds = ("smallest in motion", "missed in motion", "smallest at rest", "missed at rest")
            cells = [found[kind].get(joint) for kind in kinds]
            told = " | ".join("none" if cell is None else f"{cell:.1f}" for cell in cells)
            print(f"| {joint} | {told} | {arm.breakaway * friction:.1f} |")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def _share(found: int, of: int) -> str:
    return f"{found} of {of}"


if __name__ == "__main__":
    main()
