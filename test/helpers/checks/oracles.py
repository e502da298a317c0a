# SPDX-License-Identifier: Apache-2.0
"""What the tests of dynamics share: cases to run, errors relative to the size of the result, plain matrix formulas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.models.robots import ROBOTS, SAMPLE, SINGULAR, Base, State, load_robot, random_state, random_tree
from helpers.wide import table, wide
from rbd_dynamics import Model, Robot

Array = NDArray[np.float64]

BACKENDS = ("reference", "python", "llvm")
#: with mimics, several kinds of joints, branches and both bases; programs of larger ones only take longer to compile
TRACED = ["ur5_robot", "panda", "kinova", "solo12", "double_pendulum_continuous", "hextilt_flying_arm_5"]


def _cases(*, every: bool) -> list[Any]:
    """Every real robot in every backend but machine code, which takes long to compile and is for a chosen dozen.

    Not wide are: the algorithm as it is written for the sample, and where `every` for all other robots with one of the
    bases; where `every` also machine code for some of the sample, with a base that stands still for one half of them
    and floats for the other. What is traced is the algorithm, as `kernels/test_backends.py` shows of every kernel.
    """
    found = []
    for number, name in enumerate(ROBOTS):
        for base in ("fixed", "floating"):
            for backend in BACKENDS if name in SAMPLE else BACKENDS[:2]:
                if name in TRACED and backend != "reference":
                    k = TRACED.index(name)
                    narrow = every and backend == "llvm" and base == ("fixed", "floating")[k % 2]
                elif name in SAMPLE:
                    narrow = backend == "reference"
                else:
                    narrow = every and backend == "reference" and base == ("fixed", "floating")[number % 2]
                marks = () if narrow else (wide,)
                found.append(pytest.param(name, base, backend, id=f"{name}-{base}-{backend}", marks=marks))
    return found


def _over(cases: list[Any], regular: bool) -> Any:
    chosen = [case for case in cases if not (regular and case.values[0] in SINGULAR)]
    return pytest.mark.parametrize(("name", "base", "backend"), chosen)


#: for what Pinocchio tells independently
every_robot = _over(_cases(every=True), False)
#: those whose mass matrix can be inverted
every_regular_robot = _over(_cases(every=True), True)
#: for identities between our own results
sample_of_regular_robots = _over(_cases(every=False), True)
#: relative error against Pinocchio's model of the same file: quarter turns that a file writes with eleven decimals
#: are exact for us (they move by up to 1e-11 rad) and are not for Pinocchio
SAME_FILE = 5e-10
#: machine code and generated Python do what the algorithm does: `kernels/test_backends.py`
every_backend = pytest.mark.parametrize("backend", table(BACKENDS, ["reference"]))


def real_robot(name: str, base: Base, backend: Any) -> Robot:
    return Robot(load_robot(name, base), backend=backend)


def trees(backend: str, mimic: float = 0.0, **options: Any) -> Iterator[tuple[Robot, np.random.Generator]]:
    """Random trees of mixed joints along oblique axes, with a random generator for their states.

    Fewer of those that are traced: it is the same algorithm, and tracing takes a hundred times as long as one call.
    """
    for seed in range(9 if backend == "reference" else 3):
        rng = np.random.default_rng(seed)
        base: Any = ("fixed", "floating")[seed % 2]
        model = random_tree(rng, n=2 + seed % 3 * 2, base=base, mimic=mimic, **options)
        yield Robot(model, backend=backend), rng  # type: ignore[arg-type]


def random_states(model: Model, rng: np.random.Generator, count: int) -> State:
    """As `random_state`, but (count, ...)."""
    states = [random_state(model, rng) for _ in range(count)]
    return State(*(np.stack(column) for column in zip(*states)))


def error(ours: Array, theirs: Array, least: float = 1e-9) -> float:
    """Largest difference, relative to the largest element, or to `least` if that is more."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    if not theirs.size:
        return 0.0
    assert np.isfinite(ours).all()
    return float(np.abs(ours - theirs).max() / max(float(np.abs(theirs).max()), least))


def assert_close(ours: Array, theirs: Array, tolerance: float = 1e-11, least: float = 1e-9) -> None:
    assert error(ours, theirs, least) <= tolerance


def rotor_inertia(model: Model) -> Array:
    """Diagonal (nv) that the joints' rotors add to the mass matrix."""
    rotors = np.zeros(model.nv)
    for joint in (body.joint for body in model.bodies):
        ratio = joint.mimic.multiplier if joint.mimic else 1.0
        rotors[joint.v_index : joint.v_index + joint.kind.nv] += ratio**2 * joint.armature
    return rotors


def hybrid_by_partition(
    M: Array, bias: Array, a: Array, tau: Array, prescribed: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """(a, tau) from qdd_v = M_vv^-1 (tau_v - b_v - M_vu qdd_u), tau_u = M_uu qdd_u + M_uv qdd_v + b_u."""
    u, v = prescribed, ~prescribed
    full = np.where(u, a, 0.0)
    full[v] = np.linalg.solve(M[np.ix_(v, v)], tau[v] - bias[v] - M[np.ix_(v, u)] @ a[u])
    return full, np.where(v, tau, M @ full + bias)


def derivative(function: Any, step: float = 1e-4) -> Array:
    """d/dt of function(t) at 0: central differences, extrapolated twice."""
    table = [(function(h) - function(-h)) / (2 * h) for h in (step, step / 2, step / 4)]
    first = [(4 * b - a) / 3 for a, b in zip(table, table[1:])]
    return np.asarray((16 * first[1] - first[0]) / 15)
