# SPDX-License-Identifier: Apache-2.0
"""Derivatives, derived quantities and exponentials against Pinocchio, and how the cost grows with the robot.

    python -m benchmarks.dynamics.library [--quick] [--json FILE]

Needs Pinocchio (`pin`) and example-robot-data.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.dynamics.contenders import SUBJECTS, Subject
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from benchmarks.measuring.timing import Call, seconds_per_call, stay_on_one_core
from rbd_dynamics import spatial
from rbd_dynamics.algorithms.hybrid_dynamics_derivatives import HybridDerivatives
from rbd_dynamics.common.example_robots import robots
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
#: what is wanted of a call of those of `EXPONENTIALS` to Pinocchio's, and of a sample in a batch
WANTED_OF_EXPONENTIALS = 2.0, 0.5
EXPONENTIALS = (
    "exp_so3", "log_so3", "right_jacobian_so3", "right_jacobian_inverse_so3",
    "exp_se3", "log_se3", "right_jacobian_se3", "right_jacobian_inverse_se3",
)  # fmt: skip
SIZES = (2, 5, 10, 20, 35, 50, 75, 100)
GROWING = ("inverse_dynamics", "forward_dynamics")


def main() -> int:
    arguments = parser("dynamics.library", __doc__).parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()
    guard, rounds = Guard.of(quick=arguments.quick), 3 if arguments.quick else 15
    heads = ("robot", "quantity", "rbd_dynamics, µs", "Pinocchio, µs", "ratio", "in a batch, µs", "ratio")
    derivatives = Table("derivatives", heads, labels=2)
    for subject in SUBJECTS[: 1 if arguments.quick else 2]:
        compare(subject, guard, rounds, derivatives)
    exponentials = Table("exponentials", ("of spatial", *heads[2:]))
    compare_exponentials(guard, rounds, exponentials)
    names = [f"{name.replace('_', ' ')}{what}" for name in GROWING for what in ("", ", batch")]
    growth = Table("growth", ("bodies", *(f"{name}, µs" for name in names)))
    for n in SIZES[: 3 if arguments.quick else None]:
        grow(n, guard, max(3, rounds // 3), growth)
    return deliver(arguments, [derivatives, exponentials, growth], "pin", settings=f"one core, batches of {BATCH}")


def compare(subject: Subject, guard: Guard, rounds: int, table: Table) -> None:
    """Adds a row for each quantity; all calls take turns."""
    path = robots()[subject.file]
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
    (times, of_batches), trouble = guard.run(
        subject.title,
        lambda: (seconds_per_call(calls, rounds), seconds_per_call(batches, max(3, rounds // 3), blocks=3)),
    )
    for method, (wanted, batch_wanted) in WANTED.items():
        own, sample = Figure.of(times[method], 1e6), Figure.of(of_batches[method], 1e6 / BATCH)
        theirs = Figure.of(times[key], 1e6) if (key := f"pinocchio {method}") in times else None
        against = theirs or Figure.of(times["forward_dynamics_derivatives"], 1e6)
        table.add(
            subject.title, method.replace("_", " "), own, theirs, ratio(own, against, wanted),
            sample, ratio(sample, theirs, batch_wanted) if theirs else None, trouble=trouble,
        )  # fmt: skip


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


def compare_exponentials(guard: Guard, rounds: int, table: Table) -> None:
    """Adds a row for each function: a new array each call, against Pinocchio's own objects."""
    twists = np.random.default_rng(1).normal(scale=0.5, size=(BATCH, 6))
    poses = spatial.exp_se3(twists)
    taken = {"so3": twists[:, :3].copy(), "se3": twists, "log_so3": poses[:, :3, :3].copy(), "log_se3": poses}
    calls: dict[str, Call] = _exponentials_of_pinocchio(twists[0], poses[0])
    batches: dict[str, Call] = {}
    for name in EXPONENTIALS:
        function, x = getattr(spatial, name), taken.get(name, taken[name[-3:]])
        calls[name], batches[name] = partial(function, x[0].copy()), partial(function, x)
    (times, of_batches), trouble = guard.run(
        "exponentials",
        lambda: (seconds_per_call(calls, rounds), seconds_per_call(batches, max(3, rounds // 3), blocks=3)),
    )
    wanted, batch_wanted = WANTED_OF_EXPONENTIALS
    for name in EXPONENTIALS:
        own, theirs = Figure.of(times[name], 1e6), Figure.of(times[f"pinocchio {name}"], 1e6)
        sample = Figure.of(of_batches[name], 1e6 / BATCH)
        ratios = ratio(own, theirs, wanted), ratio(sample, theirs, batch_wanted)
        table.add(name.replace("_", " "), own, theirs, ratios[0], sample, ratios[1], trouble=trouble)


def _exponentials_of_pinocchio(twist: np.ndarray, pose: np.ndarray) -> dict[str, Call]:
    import pinocchio as pin

    w, linear_first = twist[:3].copy(), np.roll(twist, 3)
    rotation, placement = pose[:3, :3].copy(), pin.SE3(pose)
    return {
        "pinocchio exp_so3": lambda: pin.exp3(w),
        "pinocchio log_so3": lambda: pin.log3(rotation),
        "pinocchio right_jacobian_so3": lambda: pin.Jexp3(w),
        "pinocchio right_jacobian_inverse_so3": lambda: pin.Jlog3(rotation),
        "pinocchio exp_se3": lambda: pin.exp6(linear_first),
        "pinocchio log_se3": lambda: pin.log6(placement),
        "pinocchio right_jacobian_se3": lambda: pin.Jexp6(linear_first),
        "pinocchio right_jacobian_inverse_se3": lambda: pin.Jlog6(placement),
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


def grow(n: int, guard: Guard, rounds: int, table: Table) -> None:
    """Adds a row for a chain of n bodies: a call, and a sample of a batch."""
    robot = rbd.Robot(chain(n))
    robot.compile(*GROWING)
    state = np.random.default_rng(1).normal(size=(3, BATCH, n))
    calls: dict[str, Call] = {}
    for name in GROWING:
        method = getattr(robot, name)
        calls[name] = partial(method, *(x[0].copy() for x in state), out=np.empty(n))
        calls[f"{name}, batch"] = partial(method, *state, out=np.empty((BATCH, n)))
    times, trouble = guard.run(f"chain of {n}", lambda: seconds_per_call(calls, rounds, blocks=3))
    scales = {name: 1e6 / (BATCH if name.endswith("batch") else 1) for name in calls}
    table.add(n, *(Figure.of(times[name], scales[name]) for name in calls), trouble=trouble)


if __name__ == "__main__":
    raise SystemExit(main())
