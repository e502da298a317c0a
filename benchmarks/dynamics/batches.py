# SPDX-License-Identifier: Apache-2.0
"""What batches cost: of few samples, of matrices, in single precision, and shared by two threads.

    python -m benchmarks.dynamics.batches [--quick] [--json FILE]

Calls have `out=` where nothing else is said. Precisions take turns, as do one and two threads, which
have all processors that there are.
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import Call, seconds_per_call
from rbd_dynamics.common.example_robots import robots

ROBOTS = {"UR5": "ur5_robot", "Talos": "talos_reduced"}
DERIVATIVES = "inverse_dynamics_derivatives"
#: robot, method, samples, and whether with `out=`
FEW = (
    ("UR5", "inverse_dynamics", 1, False), ("UR5", "inverse_dynamics", 1, True), ("Talos", "mass_matrix", 8, True),
    ("Talos", "mass_matrix", 64, True), ("Talos", "mass_matrix", 1024, True), ("Talos", DERIVATIVES, 1024, True),
    ("Talos", "inverse_dynamics", 65536, True),
)  # fmt: skip
SHARED = (4096, 8192, 16384, 65536)
METHODS = ("inverse_dynamics", "forward_dynamics")
PRECISIONS = {"double": np.float64, "single": np.float32}
SINGLE = (*METHODS, "mass_matrix", DERIVATIVES)


def main() -> int:
    arguments = parser("dynamics.batches", __doc__).parse_args()
    warnings.simplefilter("ignore")
    guard, rounds = Guard.of(quick=arguments.quick), 3 if arguments.quick else 15
    models = {title: rbd.load_urdf(robots()[file]) for title, file in ROBOTS.items()}
    few = Table("few_samples", ("robot", "quantity", "samples", "a sample, µs"), labels=3)
    for title, method, samples, with_out in FEW[: 2 if arguments.quick else None]:
        calls = {"": call(rbd.Robot(models[title]), method, samples, with_out=with_out)}
        times, trouble = guard.run(f"{title}, {samples} samples", partial(seconds_per_call, calls, rounds))
        name = method.replace("_", " ") + ("" if with_out else ", without out=")
        few.add(title, name, samples, Figure.of(times[""], 1e6 / samples), trouble=trouble)

    heads: tuple[str, ...] = ("robot", "quantity", "double precision, µs", "single, µs", "ratio")
    single = Table("single_precision", heads, labels=2)
    for title, model in list(models.items())[: 1 if arguments.quick else None]:
        for method in SINGLE[: 2 if arguments.quick else None]:
            calls = {name: call(rbd.Robot(model, dtype=dtype), method, 1024) for name, dtype in PRECISIONS.items()}
            times, trouble = guard.run(f"{title}, {method} in single", partial(seconds_per_call, calls, rounds))
            double, half = (Figure.of(found, 1e6 / 1024) for found in times.values())
            single.add(title, method.replace("_", " "), double, half, ratio(half, double), trouble=trouble)

    heads = ("robot", "algorithm", "samples", "a sample, µs", "by two threads, µs", "ratio")
    threads = Table("threads", heads, labels=3)
    for title, model in list(models.items())[: 1 if arguments.quick else None]:
        for method in METHODS:
            for samples in SHARED:
                calls = {f"{n}": call(rbd.Robot(model, threads=n), method, samples) for n in (1, 2)}
                run = partial(seconds_per_call, calls, rounds)
                times, trouble = guard.run(f"{title}, {samples} samples by two threads", run)
                one, two = (Figure.of(found, 1e6 / samples) for found in times.values())
                name = method.replace("_", " ")
                threads.add(title, name, samples, one, two, ratio(two, one), trouble=trouble)
    return deliver(arguments, [few, single, threads], settings=f"{os.cpu_count()} processors")


def call(robot: rbd.Robot, name: str, samples: int, *, with_out: bool = True) -> Call:
    """Of a method, for so many samples."""
    robot.compile(name)
    model, rng = robot.model, np.random.default_rng(1)
    q = np.stack([model.random(rng) for _ in range(samples)]).astype(robot.dtype)
    v, a = rng.normal(size=(2, samples, model.nv)).astype(robot.dtype)
    method: Any = getattr(robot, name)
    inputs = (q,) if name == "mass_matrix" else (q, v, a)
    if not with_out:
        return partial(method, *inputs)
    matrices = np.empty((3, samples, model.nv, model.nv), robot.dtype)
    out = {"mass_matrix": matrices[0], DERIVATIVES: (*matrices,)}.get(name, np.empty_like(v))
    return partial(method, *inputs, out=out)


if __name__ == "__main__":
    raise SystemExit(main())
