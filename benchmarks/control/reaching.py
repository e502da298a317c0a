# SPDX-License-Identifier: Apache-2.0
"""Joint speeds of arms that are sent to random poses, in and out of reach, beside other laws, in MuJoCo.

    python -m benchmarks.control.reaching [--count N] [--arms NAME ...] [--laws NAME ...]

Seeds count on from `--first`: a count of 200 is 8 minutes for an arm and a law. The plant is that of `rigs.reaching`.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from rigs.reaching import ARMS, Reach
from rigs.reaching_rivals import RIVALS

CONTENDERS = {"impedance": "impedance", "operational space": "operational_space", **RIVALS}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control.reaching", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--count", type=int, default=12, help="random targets for each arm (default: 12)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--arms", nargs="*", default=list(ARMS), metavar="NAME", help=f"of {', '.join(ARMS)}")
    parser.add_argument(
        "--laws", nargs="*", default=list(CONTENDERS), metavar="NAME", help=f"of {', '.join(CONTENDERS)}"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| arm | law | largest speed of a joint, of its limit | runs beyond that | passed a limit of position, rad |")
    print("|---|---|---|---|---|")
    for arm in options.arms:
        for name in options.laws:
            runs = [Reach(arm, CONTENDERS[name], options.first + k).run() for k in range(options.count)]
            fastest = np.array([run.fastest for run in runs])
            passed = max(0.0, *(run.beyond for run in runs))
            print(f"| {arm} | {name} | {fastest.max():.2f} | {(fastest > 1.0).sum()} | {passed:.2g} |", flush=True)


if __name__ == "__main__":
    main()
