# SPDX-License-Identifier: Apache-2.0
"""Functions on a GPU: are they right there, and what do batches cost?

    python -m benchmarks.cuda [--quick] [--json FILE]

A few minutes, most of it compiling. Functions of a Panda and of a floating Talos are compared with `Robot`, arrays of
PyTorch and JAX too, where they are installed with CUDA; the exported self-test runs, where nvcc is. Ends with 1 where
something is wrong, and with one line where there is no device.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.results import Figure, Table, deliver, parser
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.cuda import functions
from rbd_dynamics.export import export_c

COUNTS = (4096, 1_000_000)
CHECKED = 1000
LARGE = 10  # degrees of freedom; beyond it derivatives take minutes to compile
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-4}
#: with what each is called
CALLS = {
    "inverse_dynamics": "q v x",
    "forward_dynamics": "q v x",
    "mass_matrix": "q",
    "potential_energy": "q",
    "inverse_dynamics_derivatives": "q v x",
}


def main() -> int:
    arguments = parser("cuda", __doc__).parse_args()
    names = {"Panda": ("panda", "fixed")} | ({} if arguments.quick else {"Talos": ("talos_full_v2", "floating")})
    try:
        functions(rbd.Robot(rbd.load_urdf(robots()["panda"])))
    except (ValueError, RuntimeError) as error:
        print(error)
        return 1
    checks, times = Table("right", ("robot", "what", "largest difference"), labels=2), Table(
        "cuda", ("robot", "what", "samples", "ms", "million samples a second"), labels=3
    )  # fmt: skip
    for title, (name, base) in names.items():
        robot = rbd.Robot(rbd.load_urdf(robots()[name], base=base))
        f = functions(robot)
        check(checks, title, f)
        measure(times, title, f)
    panda = rbd.Robot(rbd.load_urdf(robots()["panda"]))
    for library in ("torch", "jax"):
        check_library(checks, panda, library)
    right = self_test(panda) if shutil.which("nvcc") else True
    return max(deliver(arguments, [checks, times], "cupy-cuda12x", settings=device_name()), int(not right))


def device_name() -> str:
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"].decode())


def states(robot: rbd.Robot, count: int, dtype: Any) -> dict[str, Any]:
    """q, v, and accelerations or torques."""
    rng, model = np.random.default_rng(0), robot.model
    one = np.array([model.random(rng) for _ in range(min(count, CHECKED))])
    v, x = rng.normal(size=(2, count, model.nv))
    return {"q": np.resize(one, (count, model.nq)).astype(dtype), "v": v.astype(dtype), "x": x.astype(dtype)}


def check(table: Table, title: str, f: Any) -> None:
    """Each function in each precision; the largest difference, relative to the largest number."""
    import cupy

    robot = f.robot
    for dtype, tolerance in TOLERANCE.items():
        given = states(robot, CHECKED, dtype)
        for name, words in CALLS.items():
            if name.endswith("derivatives") and robot.model.nv > LARGE:
                continue
            print(title, name, dtype.__name__, file=sys.stderr, flush=True)
            found = getattr(f, name)(*(cupy.asarray(given[word]) for word in words.split()))
            expected = getattr(robot, name)(*(given[word].astype(float) for word in words.split()))
            pairs = zip(found, expected) if isinstance(found, tuple) else [(found, expected)]
            worst = max(difference(cupy.asnumpy(own), right) for own, right in pairs)
            table.add(title, f"{name}, {dtype.__name__}", Figure(worst, wanted=tolerance))


def difference(found: Any, expected: Any) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def check_library(table: Table, robot: rbd.Robot, library: str) -> None:
    """Arrays of another library go in and out."""
    import cupy

    given = states(robot, CHECKED, np.float32)
    if importlib.util.find_spec(library) is None:
        return
    back: Callable[[Any], Any]
    if library == "torch":
        import torch

        if not torch.cuda.is_available():
            return
        arrays, back = [torch.from_numpy(x).cuda() for x in given.values()], torch.from_dlpack
    else:
        import jax

        if jax.default_backend() != "gpu":
            return
        arrays, back = [jax.numpy.asarray(x) for x in given.values()], jax.dlpack.from_dlpack
    found = cupy.asnumpy(cupy.from_dlpack(back(functions(robot).inverse_dynamics(*arrays))))
    expected = robot.inverse_dynamics(*(x.astype(float) for x in given.values()))
    table.add("Panda", f"arrays of {library}", Figure(difference(found, expected), wanted=TOLERANCE[np.float32]))


def measure(table: Table, title: str, f: Any) -> None:
    """Calls, each until its results are there; the median."""
    import cupy

    robot = f.robot
    for dtype in TOLERANCE:
        for count in COUNTS:
            given = {word: cupy.asarray(x) for word, x in states(robot, count, dtype).items()}
            for name in ("inverse_dynamics", "forward_dynamics"):
                call, samples = getattr(f, name), []
                for _ in range(12):
                    cupy.cuda.Stream.null.synchronize()
                    start = time.perf_counter()
                    call(given["q"], given["v"], given["x"])
                    cupy.cuda.Stream.null.synchronize()
                    samples.append(time.perf_counter() - start)
                found = Figure.of(samples[2:], 1e3)
                rate = Figure(count / found.median * 1e-3)
                table.add(title, f"{name}, {dtype.__name__}", count, found, rate)


def self_test(robot: rbd.Robot) -> bool:
    """The exported one, compiled by nvcc for the device at hand."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "panda")
        export_c(robot.model, folder, name="panda", targets=["cuda"])
        code = ["cuda/panda.cu", "cuda/panda_self_test.cu"]
        subprocess.run(["nvcc", "-O3", "-arch=native", "-Iinclude", *code, "-o", "self_test"], cwd=folder, check=True)
        done = subprocess.run([folder / "self_test"], capture_output=True, text=True)
    print(f"{done.stdout}self-test: {'right' if done.returncode == 0 else 'WRONG'}")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
