# SPDX-License-Identifier: Apache-2.0
"""Compile times, and how long a new process takes to be ready with a filled cache.

    python -m benchmarks.processes.start_up [--quick] [--json FILE]

A warm start is `Robot(model)` with the four kernels in a new process that finds them in the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial

from benchmarks.dynamics.contenders import ALGORITHMS, SUBJECTS, Subject
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.compiler.cache import ENVIRONMENT_VARIABLE

WARM_START = 500.0  # ms
#: a new process: seconds to import, to read the URDF, and for `Robot(model)` with its kernels
_PROCESS = """
import sys, time
start = time.perf_counter()
import rbd_dynamics as rbd
rbd.load_urdf, rbd.Robot  # imported when asked for
imported = time.perf_counter()
model = rbd.load_urdf(sys.argv[1], base=sys.argv[2])
read = time.perf_counter()
robot = rbd.Robot(model)
kernels = []
for name in sys.argv[3:]:
    before = time.perf_counter()
    robot.compile(name)
    kernels.append(time.perf_counter() - before)
ready = time.perf_counter()
print([imported - start, read - imported, ready - read, kernels])
"""


def main() -> int:
    arguments = parser("processes.start_up", __doc__).parse_args()
    guard, repetitions = Guard.of(quick=arguments.quick), 3 if arguments.quick else 9
    short = [name.replace("_dynamics", "").replace("_", " ") for name in ALGORITHMS]
    heads = ("robot", "import, ms", "load_urdf, ms", "warm start, ms", *(f"compile {name}, s" for name in short))
    table = Table("start", heads)
    for subject in SUBJECTS[: 1 if arguments.quick else None]:
        (kernels, warm), trouble = guard.run(subject.title, partial(measure, subject, repetitions))
        imported, read, ready = (Figure.of(times, 1e3) for times in zip(*warm))
        ready = replace(ready, wanted=WARM_START)
        table.add(subject.title, imported, read, ready, *map(Figure, kernels), trouble=trouble)
    return deliver(arguments, [table])


def measure(subject: Subject, repetitions: int) -> tuple[list[float], list[list[float]]]:
    """Seconds: of each kernel compiled anew; and to import, read and be ready, of processes that find them all."""
    with tempfile.TemporaryDirectory() as folder:
        *_, kernels = _process(subject, folder)
        return kernels, [_process(subject, folder)[:3] for _ in range(repetitions)]


def _process(subject: Subject, folder: str) -> list:
    path = str(robots()[subject.file])
    environment = {**os.environ, ENVIRONMENT_VARIABLE: folder, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-c", _PROCESS, path, subject.base, *ALGORITHMS]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    raise SystemExit(main())
