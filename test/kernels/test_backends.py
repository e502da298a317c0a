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
    """Numbers for each argument; limits are apart, quaternions of unit length, and poses such."""
    rng = np.random.default_rng(3)
    states = [random_state(model, rng) for _ in range(SAMPLES)]
    for argument in kernel.arguments:
        shape = argument.shape if argument.shared else (SAMPLES, *argument.shape)
        if argument.name == "inertia":
            yield Robot(model, backend="reference").inertial_parameters
        elif argument.name == "q":
            yield np.array([state.q for state in states])
        elif argument.name in ("lower", "upper", "lowest", "highest"):
            yield np.full(shape, -3.0 if argument.name.startswith("low") else 3.0)
        elif argument.name == "wanted":
            yield Robot(model, backend="reference").pose(model.random(rng), "tool2") * np.ones(shape)
        elif argument.boolean:
            yield rng.uniform(size=shape) > 0.5
        else:
            yield rng.uniform(0.1, 1.0, size=shape)


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
    inputs = [np.asarray(value) for value in given(kernel, robot(base, backend).model)]
    several = plain(inputs)
    expected = several if isinstance(several, tuple) else (several,)
    for found, theirs in zip(results(kernel.kernel, inputs, (SAMPLES,)), expected, strict=True):
        assert error(found, theirs, 1.0) < 1e-12
    one = [value if argument.shared else np.array(value[5]) for argument, value in zip(kernel.arguments, inputs)]
    for found, theirs in zip(results(kernel.kernel, one, ()), expected, strict=True):
        assert error(found, theirs[5], 1.0) < 1e-12


def results(kernel, inputs, lead):
    """Of the kernel alone: what calls it would let the algorithm do what it refuses."""
    outputs = [np.full((*lead, *argument.shape), np.nan) for argument in kernel.signature.outputs]
    fast = kernel.several if lead else kernel.call
    if fast(*inputs, *outputs) is None:
        assert not hasattr(kernel, "repeated"), "machine code refuses its inputs"
        rows = [x if lead or a.shared else x[None] for a, x in zip(kernel.signature.inputs, inputs)]
        assert kernel.many(*(lead or (1,)), rows, [x if lead else x[None] for x in outputs]) == 0
    return outputs
