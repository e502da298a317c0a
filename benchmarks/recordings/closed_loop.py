# SPDX-License-Identifier: Apache-2.0
"""The loop closed on simulated arms: excited, recorded, identified, and run again with what was found.

    python -m benchmarks.recordings.closed_loop [--robots ur5_robot panda] [--seeds 3] [--ripple 0.002]

Tracking errors (mrad, root mean square over time and joints) with the feedforward of the description, of what was
identified, and of the truth; the wanted ratio of the last two is at most 1.2.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

from benchmarks.recordings.excitation import JOINTS
from rbd_dynamics import load_urdf
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.replay.rehearsal import Plan, hide, rehearse

FRAMES = {"panda": "panda_link8", "ur5_robot": "tool0"}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recordings.closed_loop", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--robots", nargs="+", default=["ur5_robot", "panda"], choices=sorted(FRAMES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ripple", type=float, default=0.002, help="torque that no model has, in effort limits")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("robot, seed: description, identified, truth; ratio; delay found; s")
    for name in options.robots:
        model = load_urdf(robots()[name], joints=JOINTS.get(name))
        for seed in range(options.seeds):
            begin = time.perf_counter()
            hidden = hide(model, seed=seed, ripple=options.ripple)
            with tempfile.TemporaryDirectory() as folder:
                found = rehearse(model, hidden, FRAMES[name], Path(folder), plan=Plan(seed=seed))
            print(
                f"{name}, {seed}: {1e3 * found.before:.3f}, {1e3 * found.after:.3f}, {1e3 * found.best:.3f}; "
                f"{found.after / found.best:.2f}; {1e3 * found.delay.value:.1f} ms; {time.perf_counter() - begin:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
