# SPDX-License-Identifier: Apache-2.0
"""Torque nodes in real processes, in lockstep with an arm in MuJoCo: begin, take over, change, reach; what is wrong.

    python -m campaigns.faults.closed_loop --node all --seconds 60 --seed 1 [--only CASE ...] [--report FILE]

Exit code 1 where a joint was too fast, an effort stepped, or the arm was not where it should be without a reason.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from helpers.nodes.ros_nodes import Ros

from campaigns.faults.closed_loop.arm import Arm
from campaigns.faults.closed_loop.cases import BEGIN, CASES, tried
from campaigns.faults.closed_loop.loop import Loop

EACH = 12  # cases of one process of a node


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.faults.closed_loop", description=__doc__.splitlines()[0])
    parser.add_argument("--node", choices=(*CASES, "all"), default="all")
    parser.add_argument("--seconds", type=float, default=60.0, help="of this machine's time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", metavar="CASE", help="of these cases")
    parser.add_argument("--report", type=Path, help="file for the report, JSON")
    options = parser.parse_args()
    report = run(options.node, options.seconds, options.seed, options.only)
    text = json.dumps(report, indent=1)
    if options.report:
        options.report.write_text(text + "\n")
    print(text)
    return 0 if report["good"] else 1


def run(node: str, seconds: float, seed: int, only: list[str] | None = None) -> dict[str, Any]:
    """What was tried, how often, and all that was wrong."""
    kinds = list(CASES) if node == "all" else [node]
    rng, end, arm = random.Random(seed), time.monotonic() + seconds, Arm()
    done: dict[str, int] = {}
    wrong: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="closed_loop_") as folder, Ros(Path(folder)) as ros:
        turn = 0
        while time.monotonic() < end:
            kind = kinds[turn % len(kinds)]
            turn += 1
            arm.stand(BEGIN)
            with Loop(ros, kind, arm) as loop:
                loop.run(0.1)
                for k in range(EACH):
                    if time.monotonic() > end:
                        break
                    case = rng.choice([each for each in CASES[kind] if not only or each.__name__ in only])
                    problems = tried(loop, case, random.Random(f"{seed} {turn} {k}"))
                    name = f"{kind}: {case.__name__}"
                    done[name] = done.get(name, 0) + 1
                    if problems:
                        wrong.append({
                            "case": name, "seed": seed, "turn": turn, "k": k, "problems": problems[:6],
                            "refused": loop.refusals[-2:], "log": loop.node.log[-1500:].splitlines()[-8:],
                        })  # fmt: skip
                        print(json.dumps(wrong[-1]), file=sys.stderr, flush=True)
    return {"good": not wrong, "seed": seed, "done": dict(sorted(done.items())), "wrong": wrong}


if __name__ == "__main__":
    sys.exit(main())
