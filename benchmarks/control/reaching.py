# SPDX-License-Identifier: Apache-2.0
"""Joint speeds of arms that are sent to random poses, within reach and beyond, beside a plain J^T impedance, in MuJoCo.

    python -m benchmarks.control.reaching [--count N] [--arms NAME ...]

Seeds count on from `--first`: a count of 200 is 25 minutes an arm. The plant is that of `rigs.reaching`.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from rigs.reaching import ARMS, Reach

CONTENDERS = {"impedance": "impedance", "operational space": "operational_space", "plain": None}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control.reaching", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--count", type=int, default=12, help="random targets for each arm (default: 12)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--arms", nargs="*", default=list(ARMS), metavar="NAME", help=f"of {', '.join(ARMS)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| arm | law | largest speed of a joint, of its limit | runs beyond that | passed a limit of position, rad |")
    print("|---|---|---|---|---|")
    for arm in options.arms:
        for name, law in CONTENDERS.items():
            runs = [Reach(arm, law, options.first + k).run() for k in range(options.count)]
            fastest = np.array([run.fastest for run in runs])
            passed = max(0.0, *(run.beyond for run in runs))
            print(f"| {arm} | {name} | {fastest.max():.2f} | {(fastest > 1.0).sum()} | {passed:.2g} |", flush=True)


if __name__ == "__main__":
    main()
