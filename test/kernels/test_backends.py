# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the catalog: as machine code and as generated Python what the algorithm itself computes.

So tests of algorithms against others' results and against each other run the algorithm itself.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.checks.oracles import error
from helpers.models.robots import random_state, random_tree
from helpers.wide import table

from rbd_dynamics import ConstraintSet, Robot
from rbd_dynamics.constraints import FrameConstraint
from rbd_dynamics.kernels.catalog import CATALOG

SAMPLES = 11  # registers full of them, and some more
#: seeds and kinds of joints by base: together every kind of `random_tree`, branches, and joints that follow others
TREES = {
    "fixed": (22, ("revolute", "prismatic", "spherical", "planar")),
    "floating": (13, ("revolute", "continuous", "prismatic", "spherical")),
}


@cache
def robot(base, backend):
    seed, kinds = TREES[base]
    model = random_tree(seed, n=3, base=base, mimic=0.5, kinds=kinds)
    return Robot(model, backend=backend, friction=True)


def evaluation(entry, base, backend):
    one = robot(base, backend)
    of = CATALOG[entry].of
    if of == "constraints":
        held = ConstraintSet(one.model, [FrameConstraint("held", "tool2", directions=("x", "z"))], stabilization=3.0)
        return one.constrained_kernel(entry, held, held.key)
    return one.evaluation(f"{entry}:tool2" if of == "frame" else entry)


def given(kernel, model):
    """Numbers for each argument; limits are apart, and quaternions of unit length."""
    rng = np.random.default_rng(3)
    states = [random_state(model, rng) for _ in range(SAMPLES)]
    for argument in kernel.arguments:
        shape = argument.shape if argument.shared else (SAMPLES, *argument.shape)
        if argument.name == "inertia":
            yield robot_inertia(model)
        elif argument.name == "q":
            yield np.array([state.q for state in states])
        elif argument.name == "lower":
            yield np.full(shape, -3.0)
        elif argument.name == "upper":
            yield np.full(shape, 3.0)
        elif argument.boolean:
            yield rng.uniform(size=shape) > 0.5
        else:
            yield rng.uniform(0.1, 1.0, size=shape)


def robot_inertia(model):
    return Robot(model, backend="reference").inertial_parameters


def test_trees_have_what_kernels_differ_by():
    bodies = [robot(base, "reference").model.bodies for base in TREES]
    kinds = {type(body.joint.kind).__name__ for each in bodies for body in each}
    assert kinds == {"Floating", "Spherical", "Planar", "Revolute", "Continuous", "Prismatic"}
    for each in bodies:
        assert any(body.joint.mimic for body in each) and len({body.parent for body in each}) < len(each)


#: steps are of one kind of base; along directions and in other axes programs are long, and are the same for both
CASES = [
    (entry, base)
    for entry in CATALOG
    for base in TREES
    if entry != {"fixed": "free_base_step", "floating": "time_step"}[base]
]


@pytest.mark.parametrize(
    ("entry", "base"),
    table(CASES, lambda case: case[1] == "fixed" or not case[0].endswith(("_along", "_aligned", "_world"))),
)
@pytest.mark.parametrize("backend", ["llvm", "python"])
def test_every_kernel_is_its_algorithm(entry, base, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    kernel, plain = evaluation(entry, base, backend), evaluation(entry, base, "reference")
    inputs = list(given(kernel, robot(base, backend).model))
    expected, found = plain(inputs), kernel(inputs)
    several = isinstance(expected, tuple)
    one = kernel([value if a.shared else value[5] for a, value in zip(kernel.arguments, inputs)])
    for ours, alone, theirs in zip(*((x if several else (x,)) for x in (found, one, expected)), strict=True):
        assert error(ours, theirs, 1.0) < 1e-12
        assert error(alone, theirs[5], 1.0) < 1e-12
