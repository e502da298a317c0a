# SPDX-License-Identifier: Apache-2.0
"""Compile times, and how long a new process takes to be ready with a filled cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.contenders import ALGORITHMS, Subject
from rbd_dynamics.compiler.cache import ENVIRONMENT_VARIABLE
from rbd_dynamics.example_robots import robots

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


def measure(subject: Subject, repetitions: int) -> dict[str, Any]:
    """Seconds: of each kernel compiled anew, and of a process that finds them all in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        _, _, _, kernels = _process(subject, folder)
        warm = [_process(subject, folder) for _ in range(repetitions)]
    return {
        "compile": dict(zip(ALGORITHMS, kernels)),
        "import": min(w[0] for w in warm),
        "load_urdf": min(w[1] for w in warm),
        "warm_start": min(w[2] for w in warm),
    }


def _process(subject: Subject, folder: str) -> list:
    path = str(robots()[subject.file])
    environment = {**os.environ, ENVIRONMENT_VARIABLE: folder, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-c", _PROCESS, path, subject.base, *ALGORITHMS]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)
