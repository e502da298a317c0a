# SPDX-License-Identifier: Apache-2.0
"""How long it takes to make a model of a URDF, against Pinocchio in the same run.

    python -m benchmarks.dynamics.loading [--quick] [--json FILE]

A chain has other numbers in each link. Needs Pinocchio (`pin`) and example-robot-data.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import seconds_per_call, stay_on_one_core
from rbd_dynamics.common.example_robots import robots

ROBOTS = {"UR5": "ur5_robot", "Panda with fingers": "panda", "Talos": "talos_reduced"}
LINKS = 1_000
#: largest ratio to Pinocchio that is wanted of a chain
LARGEST = 3.0


def chain(count: int) -> str:
    """A URDF of so many links, one on the other."""
    rng = np.random.default_rng(1)
    text = ['<robot name="chain"><link name="l0"/>']
    for k in range(1, count + 1):
        x, y, z, roll, mass, a, b, c = map(float, rng.uniform(0.1, 1.0, 8))
        text.append(
            f'<link name="l{k}"><inertial><origin xyz="{x} {y} {z}" rpy="0 0 0"/><mass value="{mass}"/>'
            f'<inertia ixx="{1 + a}" ixy="0" ixz="0" iyy="{1 + b}" iyz="0" izz="{1 + c}"/></inertial></link>'
            f'<joint name="j{k}" type="revolute"><parent link="l{k - 1}"/><child link="l{k}"/>'
            f'<origin xyz="{a} {b} {c}" rpy="{roll} 0 0"/><axis xyz="0 {k % 2} {1 - k % 2}"/>'
            f'<limit lower="-{x}" upper="{y}" velocity="{a}" effort="50"/><dynamics damping="{b}" friction="0"/></joint>'
        )
    return "".join((*text, "</robot>"))


def main() -> int:
    arguments = parser("dynamics.loading", __doc__).parse_args()
    warnings.simplefilter("ignore")
    import pinocchio

    stay_on_one_core()
    guard, rounds = Guard.of(quick=arguments.quick), 3 if arguments.quick else 9
    table = Table("loading", ("robot", "joints", "load, ms", "Pinocchio, ms", "ratio"), labels=2)
    with TemporaryDirectory() as folder:
        long = Path(folder) / "chain.urdf"
        long.write_text(chain(LINKS))
        files = {title: robots()[name] for title, name in ROBOTS.items()} | {f"chain of {LINKS} links": long}
        for title, file in files.items():
            calls = {"own": partial(rbd.load, file), "peer": partial(pinocchio.buildModelFromUrdf, str(file))}
            times, trouble = guard.run(title, partial(seconds_per_call, calls, rounds))
            own, peer = (Figure.of(times[name], 1e3) for name in calls)
            wanted = LARGEST if file == long else None
            table.add(title, len(rbd.load(file).joints), own, peer, ratio(own, peer, wanted), trouble=trouble)
    return deliver(arguments, [table], "pin", settings="one core")


if __name__ == "__main__":
    raise SystemExit(main())
