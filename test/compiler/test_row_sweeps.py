# SPDX-License-Identifier: Apache-2.0
"""Sweeps over rows do the same number by number, in loops over rows, and as products of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.compiler import backends, cache, program
from rbd_dynamics.compiler.llvm import function as llvm_function
from rbd_dynamics.compiler.program import Argument, Signature, trace
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.row_sweeps import Step, Sweep, Unfinished, finished

INPUTS = 12


@pytest.fixture(autouse=True, params=[7, 1000])
def in_rows(request, monkeypatch):
    """However little there is to do; in parts of so many operations. Kernels are not kept."""
    monkeypatch.setattr(program, "ROWS_FROM", 0)
    monkeypatch.setattr(llvm_function, "PART", request.param)
    monkeypatch.setattr(cache, "load", lambda name, key: None)
    monkeypatch.setattr(cache, "store", lambda name, key, data: None)


def random_sweeps(rng, width, beside, groups):
    """A function of INPUTS numbers with a check, whose outputs are to be swept."""
    kinds = rng.choice(4, (beside * groups, width, width), p=[0.5, 0.1, 0.2, 0.2])
    numbers = rng.integers(INPUTS, size=kinds.shape)
    constants = rng.normal(size=kinds.shape)
    plan = [
        [
            (int(row), int(rng.integers(-2, INPUTS)), [(int(k), int(rng.integers(INPUTS))) for k in others])
            for row in rng.permutation(width * groups)[: rng.integers(1, width * groups + 1)]
            for others in [
                [k for k in rng.choice(width * groups, rng.integers(0, width * groups), replace=False) if k != row]
            ]
        ]
        for _ in range(rng.integers(1, 4))
    ]
    blocks = [int(rng.integers(1, beside + 1)) for _ in plan]
    less = [bool(rng.integers(2)) for _ in plan]

    def element(x, kind, number, constant):
        return (0.0, constant, x[number], x[number] * constant + 0.5)[kind]

    def function(x):
        outputs = [
            [element(x, *each) for each in zip(k.ravel(), n.ravel(), c.ravel())]
            for k, n, c in zip(kinds, numbers, constants)
        ]
        sweeps = [
            Sweep(
                [
                    Step(row, 1.0 if scale < 0 else x[scale], [(x[n] * 0.3, k) for k, n in others])
                    for row, scale, others in steps
                ],
                count,
                minus,
            )
            for steps, count, minus in zip(plan, blocks, less)
        ]
        return Unfinished(outputs, beside, sweeps, more=([0.1 * x[0]],))

    return function


def by_matrices(unfinished):
    width, beside = unfinished.width, unfinished.beside
    whole = np.block([
        [np.reshape(flat, (width, width)) for flat in unfinished.outputs[k : k + beside]]
        for k in range(0, len(unfinished.outputs), beside)
    ])  # fmt: skip
    for sweep in unfinished.sweeps:
        columns = slice(0, width * sweep.blocks)
        for row, scale, terms in sweep.steps:
            total = sum((factor * whole[other, columns] for factor, other in terms), np.zeros(width * sweep.blocks))
            whole[row, columns] = scale * whole[row, columns] + (-total if sweep.less else total)
    return [
        whole[i : i + width, j : j + width].ravel()
        for i in range(0, len(whole), width)
        for j in range(0, width * beside, width)
    ]


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 19), st.integers(1, 3), st.integers(1, 2))
def test_all_forms_give_the_same_numbers(seed, width, beside, groups):
    rng = np.random.default_rng(seed)
    function = random_sweeps(rng, width, beside, groups)
    signature = Signature(
        (Argument("x", (INPUTS,)),), tuple(Argument(f"y{k}", (width, width)) for k in range(beside * groups))
    )
    x = rng.uniform(-1.0, 1.0, (11, INPUTS))
    expected = [by_matrices(function(row)) for row in x]
    size = 1.0 + max(np.abs(each).max() for rows in expected for each in rows)
    straight = finished(function(x[0].tolist()))
    np.testing.assert_allclose(straight[:-1], expected[0], atol=1e-12 * size)
    assert straight[-1] == [0.1 * x[0, 0]]
    assert trace(function, signature).rows is None
    assert trace(function, signature, rows=True).rows is not None
    for backend in ("llvm", "python", "reference"):
        built = backends.build(backend, "test", signature, function)
        for count in (1, 11):
            found = [np.full((count, width, width), np.nan) for _ in signature.outputs]
            assert built.many(count, [np.ascontiguousarray(x[:count])], found) == 0
            for k, each in enumerate(found):
                wanted = [rows[k] for rows in expected[:count]]
                np.testing.assert_allclose(each.reshape(count, -1), wanted, atol=1e-12 * size)
        if backend == "llvm":
            one = [np.full((width, width), np.nan) for _ in signature.outputs]
            assert built.call(x[5].copy(), *one) is one[-1]
            np.testing.assert_allclose([each.ravel() for each in one], expected[5], atol=1e-12 * size)
            far = np.where(np.arange(INPUTS) == 0, 11.0, x[5])
            assert built.call(far, *one) is None  # the check


@pytest.mark.parametrize("samples", [1, 9])
@pytest.mark.parametrize("place", [0, 4, 24])
def test_what_is_not_finite_after_the_sweeps_is_found(samples, place):
    def function(x):
        flat = [0.0] * 25
        flat[place] = 1.0
        steps = [Step(row, x[row], []) for row in range(5)]
        return Unfinished([flat], 1, [Sweep(steps, 1)])

    built = backends.build(
        "llvm",
        "test",
        Signature((Argument("x", (5,)),), (Argument("y", (5, 5)),)),
        lambda x: function([1.0 / a for a in x]),
    )
    x, y = np.ones((samples, 5)), np.empty((samples, 5, 5))
    assert built.many(samples, [x], [y]) == 0
    assert y.sum() == samples
    x[-1, place // 5] = 0.0
    assert built.many(samples, [x], [y]) != 0


@pytest.mark.parametrize("in_rows", [1000], indirect=True)
@pytest.mark.parametrize(
    ("seed", "base"),
    [pytest.param(k, base, marks=() if k < 2 and k == ("fixed", "floating").index(base) else pytest.mark.wide)
     for k in range(3) for base in ("fixed", "floating")],
)  # fmt: skip
def test_derivatives_and_inverses_of_robots(seed, base):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, n=2 + 2 * seed, base=base)
    fast, plain = Robot(model, backend="llvm"), Robot(model, backend="reference")
    q = np.stack([model.random(rng) for _ in range(5)])
    v, a, tau = rng.normal(size=(3, 5, model.nv))
    some, none, every = rng.random(model.nv) < 0.4, np.zeros(model.nv, bool), np.ones(model.nv, bool)
    for one in (slice(None), 2):
        state = q[one], v[one], a[one], tau[one]
        for robot in (fast, plain):
            results = [*robot.forward_dynamics_derivatives(*state[:2], state[3]), robot.mass_matrix_inverse(state[0])]
            for prescribed in (some, none, every):
                results += robot.hybrid_dynamics_derivatives(*state, prescribed)
            if robot is fast:
                found = results
        for each, wanted in zip(found, results, strict=True):
            np.testing.assert_allclose(each, wanted, rtol=0.0, atol=1e-10 * (1.0 + np.abs(wanted).max()))
