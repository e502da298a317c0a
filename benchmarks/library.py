# SPDX-License-Identifier: Apache-2.0
"""Derivatives and derived quantities against Pinocchio, and how the cost grows with the robot.

    python -m benchmarks.library [--quick] [--plot FILE]

Needs Pinocchio (`pin`) and example-robot-data.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.__main__ import pinocchio_version, processor, ratio, us
from benchmarks.contenders import SUBJECTS
from benchmarks.timing import Call, seconds_per_call, stay_on_one_core
from rbd_dynamics.algorithms.hybrid_dynamics_derivatives import HybridDerivatives
from rbd_dynamics.example_robots import robots
from rbd_dynamics.model.joints import Revolute
from rbd_dynamics.model.model import WORLD, Body, Joint, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy

BATCH = 1024
#: method -> (largest ratio wanted of a call to Pinocchio's, and of a sample in a batch)
WANTED = {
    "inverse_dynamics_derivatives": (0.5, 0.1),
    "forward_dynamics_derivatives": (0.5, 0.1),
    "hybrid_dynamics_derivatives": (1.5, None),  # to our own derivatives of forward dynamics
    "coriolis_matrix": (0.8, None),
    "mass_matrix_inverse": (0.8, None),
    "centroidal_momentum_matrix": (0.8, None),
}
SIZES = (2, 5, 10, 20, 35, 50, 75, 100)
GROWING = ("inverse_dynamics", "forward_dynamics")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.library", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less precise, and chains of up to 35 bodies")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the growth with the number of bodies there")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    rounds = 3 if arguments.quick else 15
    print(f"{processor()}, Pinocchio {pinocchio_version()}; one core; times in us, batches of {BATCH} per sample\n")
    print("| robot | quantity | Pinocchio | a call | ratio | wanted | batch | ratio | wanted |")
    print("|---|---|---|---|---|---|---|---|---|")
    for subject in SUBJECTS[:2]:
        for row in compare(subject.file, rounds):
            print(f"| {subject.title} | {' | '.join(row)} |", flush=True)
    sizes = tuple(n for n in SIZES if n <= 35) if arguments.quick else SIZES
    grown = growth(sizes, rounds)
    print("\nA chain of n bodies\n\n| n | " + " | ".join(name.replace("_", " ") for name in grown) + " |")
    print("|---|" + "---|" * len(grown))
    for k, n in enumerate(sizes):
        print(f"| {n} | " + " | ".join(us(times[k]) for times in grown.values()) + " |")
    if arguments.plot:
        draw(arguments.plot, sizes, grown)


def compare(name: str, rounds: int) -> list[tuple[str, ...]]:
    """A row of texts for each quantity; all calls take turns."""
    path = robots()[name]
    model = rbd.load_urdf(path)
    robot = rbd.Robot(model)
    robot.compile(*WANTED)
    rng = np.random.default_rng(1)
    q = np.stack([model.random(rng) for _ in range(BATCH)])
    v, a = rng.normal(size=(2, BATCH, model.nv))
    calls: dict[str, Call] = _calls_of_pinocchio(str(path))
    batches: dict[str, Call] = {}
    for method in WANTED:
        function = getattr(robot, method)
        calls[method] = _call(function, method, q[0].copy(), v[0].copy(), a[0].copy())
        batches[method] = _call(function, method, q, v, a)
    seconds = seconds_per_call(calls, rounds)
    per_batch = seconds_per_call(batches, max(3, rounds // 3), blocks=3)
    rows = []
    for method, (wanted, batch_wanted) in WANTED.items():
        theirs = seconds.get(f"pinocchio {method}")
        against = theirs or seconds["forward_dynamics_derivatives"]
        batch = per_batch[method] / BATCH
        batch_ratio = batch / theirs if theirs else None
        rows.append((
            method.replace("_", " "), us(theirs), us(seconds[method]), *ratio(seconds[method] / against, wanted),
            us(batch), *ratio(batch_ratio, batch_wanted),
        ))  # fmt: skip
    return rows


def _call(function: Any, method: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Call:
    """With preallocated results."""
    lead, nv = q.shape[:-1], v.shape[-1]
    square = [np.empty((*lead, nv, nv)) for _ in range(6)]
    prescribed = np.broadcast_to(np.arange(nv) % 2 == 0, (*lead, nv)).copy()
    if method == "hybrid_dynamics_derivatives":
        six = HybridDerivatives(*square)
        return lambda: function(q, v, a, a, prescribed, out=six)
    if method.endswith("derivatives"):
        three = tuple(square[:3])
        return lambda: function(q, v, a, out=three)
    if method == "coriolis_matrix":
        return lambda: function(q, v, out=square[0])
    out = square[0] if method == "mass_matrix_inverse" else np.empty((*lead, 6, nv))
    return lambda: function(q, out=out)


def _calls_of_pinocchio(path: str) -> dict[str, Call]:
    import pinocchio as pin

    model = pin.buildModelFromUrdf(path)
    data = model.createData()
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    v, a = np.random.default_rng(1).normal(size=(2, model.nv))
    return {
        "pinocchio inverse_dynamics_derivatives": lambda: pin.computeRNEADerivatives(model, data, q, v, a),
        "pinocchio forward_dynamics_derivatives": lambda: pin.computeABADerivatives(model, data, q, v, a),
        "pinocchio coriolis_matrix": lambda: pin.computeCoriolisMatrix(model, data, q, v),
        "pinocchio mass_matrix_inverse": lambda: pin.computeMinverse(model, data, q),
        "pinocchio centroidal_momentum_matrix": lambda: pin.ccrba(model, data, q, v),
    }


def chain(n: int) -> Model:
    """n bodies in a row, joint axes in turn along x, y and z."""
    place = Transform.of(rotation_from_rpy(0.3, -0.2, 0.1), (0.1, 0.2, 0.3))
    inertia = RigidInertia.from_com(1.0, (0.01, 0.02, 0.1), (0.02, 0.001, 0.002, 0.03, 0.003, 0.01))
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    bodies = [
        Body(f"link{k}", k - 1 if k else WORLD, place, Joint(f"joint{k}", Revolute(axes[k % 3]), k, k), inertia)
        for k in range(n)
    ]
    return Model(f"chain{n}", tuple(bodies))


def growth(sizes: tuple[int, ...], rounds: int) -> dict[str, list[float]]:
    """Seconds for each size: a call, and a sample of a batch."""
    found: dict[str, list[float]] = {f"{name}{what}": [] for name in GROWING for what in ("", ", batch")}
    for n in sizes:
        model = chain(n)
        robot = rbd.Robot(model)
        robot.compile(*GROWING)
        state = np.random.default_rng(1).normal(size=(3, BATCH, n))
        calls: dict[str, Call] = {}
        for name in GROWING:
            method = getattr(robot, name)
            calls[name] = partial(method, *(x[0].copy() for x in state), out=np.empty(n))
            calls[f"{name}, batch"] = partial(method, *state, out=np.empty((BATCH, n)))
        for name, seconds in seconds_per_call(calls, max(3, rounds // 3), blocks=3).items():
            found[name].append(seconds / (BATCH if name.endswith("batch") else 1))
    return found


def draw(file: Path, sizes: tuple[int, ...], grown: dict[str, list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, times in grown.items():
        style = "o--" if name.endswith("batch") else "o-"
        color = "tab:blue" if name.startswith("inverse") else "tab:orange"
        axes.plot(sizes, 1e6 * np.array(times), style, color=color, label=name.replace("_", " "), markersize=4)
    axes.set(xlabel="bodies in a chain", ylabel="time per sample, µs", title="Cost grows linearly with the robot")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
