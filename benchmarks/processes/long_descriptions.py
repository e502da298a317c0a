# SPDX-License-Identifier: Apache-2.0
"""How long it takes to read descriptions of a thousand joints and of ten thousand.

python -m benchmarks.processes.long_descriptions [--quick] [--json FILE]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser
from benchmarks.measuring.timing import stay_on_one_core

SIZES = (1_000, 10_000)  # joints
Kind = Literal["revolute", "fixed", "mimic"]


def description(parents: Sequence[int], kind: Kind = "revolute") -> str:
    """A URDF of links l1, l2, ... on those of the given numbers, l0 being the base.

    A mimic joint follows the one before it.
    """
    text = ['<robot name="chain"><link name="l0"/>']
    for k, parent in enumerate(parents, 1):
        mimic = f'<mimic joint="j{k - 1}"/>' if kind == "mimic" and k > 1 else ""
        text.append(
            f'<link name="l{k}"><inertial><mass value="1"/><origin xyz="0.1 0.02 0.3"/>'
            '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
            f'<joint name="j{k}" type="{"fixed" if kind == "fixed" else "revolute"}"><parent link="l{parent}"/>'
            f'<child link="l{k}"/><origin xyz="0 0.1 0.2"/><axis xyz="0 {k % 2} {1 - k % 2}"/>{mimic}'
            '<limit lower="-2" upper="2" velocity="3" effort="50"/></joint>'
        )
    return "".join((*text, "</robot>"))


def texts(count: int) -> dict[str, str]:
    """By the shape of the robot."""
    rng = np.random.default_rng(1)
    return {
        "chain": description(range(count)),
        "star": description([0] * count),
        "random tree": description([int(rng.integers(k)) for k in range(1, count + 1)]),
        "fixed joints": description(range(count), "fixed"),
        "chain of mimic joints": description(range(count), "mimic"),
    }


def seconds(text: str, rounds: int) -> list[float]:
    """Of each round."""
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        rbd.load_urdf(text)
        found.append(time.perf_counter() - begin)
    return found


def main() -> int:
    arguments = parser("processes.long_descriptions", __doc__).parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    guard, rounds = Guard.of(quick=arguments.quick), 2 if arguments.quick else 5
    table = Table("long_descriptions", ("joints", "count", "load_urdf, s"), labels=2)
    for count in SIZES[: 1 if arguments.quick else None]:
        for name, text in texts(count).items():
            times, trouble = guard.run(f"{name} of {count}", partial(seconds, text, rounds))
            table.add(name, count, Figure.of(times), trouble=trouble)
    return deliver(arguments, [table], settings="one core")


if __name__ == "__main__":
    raise SystemExit(main())
