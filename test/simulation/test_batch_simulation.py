# SPDX-License-Identifier: Apache-2.0
"""Many states side by side move as each does alone."""

from __future__ import annotations

import gc
import multiprocessing
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from helpers.models.arms import ARM, FLOATING_ARM
from helpers.models.built import robot_of
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.constraints import ConstraintSet, JointCoupling
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute, Spherical
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.simulation import (
    BatchSimulation,
    Simulation,
    SimulationDiverged,
    SimulationOptions,
    march,
    rollout_block,
)

STEPS, EVERY = 60, 20


def states(model, count, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([model.random(rng) for _ in range(count)]), rng.normal(size=(count, model.nv))


def alone(simulation, q, v, efforts):
    """(S + 1, nq), (S + 1, nv) of one sample, step by step; efforts: of the step, time and state."""
    simulation.reset()
    simulation.quick, simulation.q, simulation.v, simulation.braked = None, q.copy(), v.copy(), False
    found = [(simulation.q, simulation.v)]
    for step in range(STEPS):
        tau = efforts(step, step * simulation.options.step, simulation.q, simulation.v)
        simulation.command(tau, np.arange(simulation.model.nv))
        simulation.advance()
        if (step + 1) % EVERY == 0:
            found.append((simulation.q, simulation.v))
    return map(np.array, zip(*found))


def assert_as_alone(found, model, q, v, efforts, samples=None, **given):
    simulation = Simulation(model, **given)
    for k in range(len(q)) if samples is None else samples:
        for one, many in zip(alone(simulation, q[k], v[k], efforts(k)), (found.q[k], found.v[k])):
            np.testing.assert_allclose(many, one, atol=1e-9 * max(1.0, np.abs(one).max()), rtol=0.0)


@pytest.mark.parametrize(
    ("text", "base", "options"),
    table(
        [
            (*robot, options)
            for robot in ((ARM, "fixed"), (FLOATING_ARM, "floating"))
            for options in ({}, {"friction": False, "position_limits": False, "step": 2e-3})
        ],
        lambda case: (case[1] == "fixed") == (not case[2]),
    ),
    ids=lambda x: x if isinstance(x, str) and len(x) < 9 else "",
)
def test_samples_move_as_they_do_alone(text, base, options):
    """With joints that come to their stops and leave them."""
    model, options = load_urdf(text, base=base), SimulationOptions(**options)
    q, v = states(model, 21)
    tau = 30.0 * np.random.default_rng(1).normal(size=(21, STEPS, model.nv))
    tau[:, :, -1] = np.sign(tau[:, :1, -1]) * 25.0
    found = BatchSimulation(model, options=options).run(q, v, tau, STEPS, every=EVERY)
    assert not found.diverged.any()
    np.testing.assert_allclose(found.time, options.step * np.array([0, 20, 40, 60]))
    assert_as_alone(found, model, q, v, lambda k: lambda step, *_: tau[k, step], options=options)
    if options.position_limits:
        slide = found.q[:, -1, -1]
        assert (np.isclose(slide, 0.2, atol=1e-9) | np.isclose(slide, -0.1, atol=1e-9)).sum() >= 4


def test_more_samples_than_a_block_and_one_state_for_all():
    model = load_urdf(ARM)
    batch = BatchSimulation(model)
    q, v = states(model, 1)
    tau = np.random.default_rng(2).normal(size=(1100, 1, model.nv))
    found = batch.run(np.repeat(q, 1100, 0), v[0], tau, STEPS, every=EVERY)
    same = np.repeat(q, 1100, 0), np.repeat(v, 1100, 0)
    assert_as_alone(found, model, *same, lambda k: lambda *_: tau[k, 0], samples=[0, 511, 512, 1099])
    one = batch.run(q[0], v[0], tau[0, 0], STEPS, every=EVERY)
    np.testing.assert_allclose(one.q[0], found.q[0], atol=1e-12)
    assert one.q.shape == (1, 4, model.nq)


def test_states_are_the_same_however_many_are_kept():
    model = load_urdf(ARM)
    batch = BatchSimulation(model)
    q, v = states(model, 1100)
    tau = np.random.default_rng(2).normal(size=(1100, 1, model.nv))
    some, each = batch.run(q, v, tau, STEPS, every=EVERY), batch.run(q, v, tau, STEPS)
    assert each.q.shape == (1100, STEPS + 1, model.nq) and each.v.shape == (1100, STEPS + 1, model.nv)
    np.testing.assert_array_equal(each.q[:, ::EVERY], some.q)
    np.testing.assert_array_equal(each.v[:, ::EVERY], some.v)
    for steps in (0, EVERY - 1):
        first = batch.run(q, v, tau, steps, every=EVERY)
        np.testing.assert_array_equal(first.q, some.q[:, :1])


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_states_go_into_arrays_of_before(threads):
    model = load_urdf(ARM)
    batch = BatchSimulation(model)
    q, v = states(model, 70)
    with ThreadPoolExecutor(2) as pool:
        given = {} if threads is None else {"executor": pool, "parts": threads}
        out = batch.run(np.zeros(model.nq), v, np.zeros(model.nv), STEPS, **given)
        found = batch.run(q, v, np.zeros(model.nv), STEPS, out=out, **given)
    assert np.shares_memory(found.q, out.q) and np.shares_memory(found.v, out.v)
    again = batch.run(q, v, np.zeros(model.nv), STEPS)
    np.testing.assert_array_equal(found.q, again.q)
    np.testing.assert_array_equal(found.v, again.v)
    for wrong, message in (
        ({"steps": STEPS + 1}, "expected"), ({"q": q[:1], "v": v[:1]}, "expected"), ({"q": out.q[:, -1]}, "a copy"),
        ({"out": out._replace(q=np.ascontiguousarray(out.q))}, "has a q that differs"),
        ({"out": out._replace(v=out.v[:, ::-1])}, "has a v that differs"), ({"out": out.q}, "out is a ndarray"),
        ({"out": out._replace(q=out.q[0])}, "expected"),
    ):  # fmt: skip
        asked = {"q": q, "v": v, "efforts": np.zeros(model.nv), "steps": STEPS, "out": out} | wrong
        with pytest.raises(ValueError, match=message):
            batch.run(**asked)


def test_efforts_may_be_a_law_of_time_and_state():
    model = load_urdf(ARM)
    q, v = states(model, 9)

    def law(time, q, v):
        return 5.0 * np.sin(30.0 * time) - 3.0 * q - 0.5 * v

    found = BatchSimulation(model).run(q, v, law, STEPS, every=EVERY)
    assert_as_alone(found, model, q, v, lambda k: lambda step, time, q, v: law(time, q, v))


def _law(time, q, v):
    """That other processes find."""
    return -2.0 * q - v


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
@pytest.mark.parametrize("law", [True, False])
def test_parts_in_other_threads_and_processes_come_to_the_same(pool, law):
    model = load_urdf(ARM)
    q, v = states(model, 11)
    batch, efforts = BatchSimulation(model), _law if law else np.ones((11, 1, 3))
    whole = batch.run(q, v, efforts, STEPS, every=EVERY)
    context = {"mp_context": multiprocessing.get_context("spawn")} if pool is ProcessPoolExecutor else {}
    with pool(2, **context) as executor:
        parts = batch.run(q, v, efforts, STEPS, every=EVERY, executor=executor, parts=3)
    for one, other in zip(whole, parts):
        np.testing.assert_allclose(one, other, atol=1e-12)


def rocket():
    builder = rbd.ModelBuilder("rocket", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", None, Prismatic((1.0, 0.0, 0.0)), mass=1.0)
    return builder.build()


def test_what_diverges_is_nan_and_the_others_are_right():
    model = rocket()
    tau = np.array([1.0, 4.0e6, -1.0, np.nan])[:, None, None] * np.ones((4, STEPS, 1))
    tau[3, :30] = 0.5
    q, v = np.zeros((4, 1)), np.zeros((4, 1))
    batch = BatchSimulation(model, options=SimulationOptions(step=1e-3))
    with pytest.raises(ValueError, match="efforts"):
        batch.run(q, v, tau, STEPS, every=EVERY)  # numbers that are given have to be numbers
    found = batch.run(q, v, lambda time, q, v: tau[:, round(time / 1e-3)], STEPS, every=EVERY, errors="nan")
    np.testing.assert_array_equal(found.diverged, [False, True, False, True])
    h, n = 1e-3, STEPS
    np.testing.assert_allclose(found.v[[0, 2], -1, 0], [n * h, -n * h], rtol=1e-12)
    np.testing.assert_allclose(found.q[[0, 2], -1, 0], np.array([1, -1]) * h * h * n * (n + 1) / 2, rtol=1e-12)
    assert np.isnan(found.q[1, 1:]).all()
    np.testing.assert_allclose(found.v[3, 1, 0], 0.5 * 20 * h, rtol=1e-12)
    assert np.isnan(found.q[3, 2:]).all()
    with pytest.raises(SimulationDiverged, match=r"sample 1 of 4 has no state after t = 0\.002 s"):
        batch.run(q, v, lambda time, q, v: tau[:, round(time / 1e-3)], STEPS)


def test_a_sample_that_the_kernel_refuses_goes_the_long_way():
    """A body that turns far within a step, beside others."""
    model = robot_of([Floating()], gravity=(0.0, 0.0, 0.0))
    options = SimulationOptions(step=0.01)
    q, v = states(model, 5)
    v[2, :3] = (150.0, 40.0, -90.0)
    found = BatchSimulation(model, options=options).run(q, v, np.zeros(6), STEPS, every=EVERY)
    assert_as_alone(found, model, q, v, lambda k: lambda *_: np.zeros(6), options=options)


@pytest.mark.parametrize("case", ["constraints", "method", "balls"])
def test_all_else_moves_one_after_the_other(case):
    model = robot_of([Revolute((0.0, 0.0, 1.0)), Spherical()]) if case == "balls" else load_urdf(ARM)
    other = {"integrator": "rk4", "friction": False} if case == "method" else {}
    given = {"options": SimulationOptions(**other)}
    if case == "constraints":
        given["constraints"] = ConstraintSet(model, [JointCoupling("tied", {"shoulder": 1.0, "elbow": -1.0})])
    q, v = states(model, 2)
    if case == "constraints":
        q[:, 1], v[:, 1] = q[:, 0], v[:, 0]
    found = BatchSimulation(model, **given).run(q, v, np.zeros(model.nv), STEPS, every=EVERY)
    assert_as_alone(found, model, q, v, lambda k: lambda *_: np.zeros(model.nv), **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros((2, 4))}, "q has"),
        ({"q": np.zeros((3, 3))}, "q has 3 samples, v has 2"),
        ({"q": np.full((2, 3), np.nan)}, "q"),
        ({"v": np.zeros((2, 2))}, r"v has shape \(2, 2\)"),
        ({"v": np.full((2, 3), np.inf)}, r"v: number \(0, 0\) is not finite"),
        ({"efforts": np.zeros((2, 5, 3))}, r"efforts has shape \(2, 5, 3\), expected what broadcasts to \(2, 10, 3\)"),
        ({"efforts": np.full(3, np.nan)}, "efforts: .* is not finite"),
        ({"steps": -1}, "steps -1 is not a whole number"),
        ({"steps": 1.5}, "steps 1.5 is not a whole number"),
        ({"every": 0}, "every 0 is not a whole number, 1 or above"),
        ({"errors": "skip"}, "errors 'skip' is not one of raise, nan"),
        ({"efforts": lambda time, q, v: np.zeros((2, 7))}, r"efforts has shape \(2, 7\), expected \(2, 3\)"),
    ],
)
def test_wrong_input_is_named(change, message):
    given = {"q": np.zeros((2, 3)), "v": np.zeros((2, 3)), "efforts": np.zeros(3), "steps": 10, **change}
    with pytest.raises(ValueError, match=message):
        BatchSimulation(load_urdf(ARM)).run(**given)


def test_no_samples_and_no_steps():
    batch = BatchSimulation(load_urdf(ARM))
    none = batch.run(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(3), 10)
    assert none.q.shape == (0, 11, 3)
    still = batch.run(np.zeros(3), np.ones(3), np.zeros(3), 0)
    np.testing.assert_array_equal(still.v, np.ones((1, 1, 3)))


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("kind", ["lasting", "of each step", "law"])
def test_python_does_the_same_where_loops_have_no_machine_code(monkeypatch, every, kind):
    """As with an llvmlite that is too old for them."""
    model = load_urdf(ARM)
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-2.0, 2.0, (4, model.nv)), 3.0 * rng.normal(size=(4, model.nv))
    steps = 30
    efforts = {"lasting": rng.normal(size=model.nv), "of each step": rng.normal(size=(4, steps, model.nv)),
               "law": lambda time, q, v: -q - v}[kind]  # fmt: skip
    batch = BatchSimulation(model)
    found = batch.run(q, v, efforts, steps, every=every)
    plain = Loops(march.copied, march.limited, march.march, machine_code=False)
    monkeypatch.setattr(rollout_block, "_loops", lambda: plain)
    again = batch.run(q, v, efforts, steps, every=every)
    np.testing.assert_array_equal(again.q, found.q)
    np.testing.assert_array_equal(again.v, found.v)


def test_what_was_given_is_not_kept():
    """Efforts of many steps may be as large as memory, where few states are asked for."""
    model = load_urdf(ARM)
    batch, efforts = BatchSimulation(model), np.zeros((4, 50, model.nv))
    batch.run(np.zeros((4, model.nq)), np.zeros((4, model.nv)), efforts, 50, every=50)
    kept = weakref.ref(efforts)
    del efforts
    gc.collect()
    assert kept() is None
