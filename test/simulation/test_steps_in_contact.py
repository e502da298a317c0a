# SPDX-License-Identifier: Apache-2.0
"""Many steps in contact in one call are single ones, bit by bit; samples side by side move as each does alone."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rigs import quadruped as quadrupeds

import rbd_dynamics as rbd
from rbd_dynamics.compiler.backends import why_no_machine_code
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.model.model import Limits

pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, CollisionShape
from rbd_dynamics.constraints import placement
from rbd_dynamics.simulation import BatchSimulation, Simulation, SimulationDiverged, SimulationOptions
from rbd_dynamics.simulation.rollout_in_contact import SIDE_BY_SIDE

pytestmark = pytest.mark.skipif(why_no_machine_code() is not None, reason="without a compiler all go the long way")
FLOOR = CollisionShape("floor", "world", "plane")
QUADRUPED = quadrupeds.quadruped()
STEPS = 40


def fixed_feet():
    """A quadruped that lands on its feet."""
    start = quadrupeds.standing() + np.r_[0.0, 0.0, 0.01, np.zeros(16)]
    return QUADRUPED, quadrupeds.feet(QUADRUPED), start, np.r_[0.4, -0.3, 0.5, 1.5, 0.4, -0.5, np.zeros(12)]


def thrown(*kinds):
    """Bodies that fall onto a floor and onto each other."""
    sizes = {"box": (0.2, 0.16, 0.1), "sphere": (0.08,), "cylinder": (0.06, 0.12)}
    builder, shapes, q = rbd.ModelBuilder("bodies"), [FLOOR], []
    for k, kind in enumerate(kinds):
        builder.add_body(f"body {k}", None, Floating(), mass=1.0 + k, inertia=0.004 * np.diag([1.0, 1.2, 1.5]))
        shapes.append(CollisionShape(f"shape {k}", f"body {k}", kind, size=sizes[kind]))
        q += [0.01 * k, 0.0, 0.07 + 0.14 * k, 0.0, 0.0, math.sin(0.1 * k), math.cos(0.1 * k)]
    model = builder.build()
    v = np.tile([0.1, -0.2, 0.3, 0.2, 0.1, -1.0], len(kinds))
    return model, CollisionSet(model, shapes), np.array(q), v


def stopped_arm():
    """A ball on an arm and a slide that runs into its limit: steps that NumPy does, between others."""
    builder = rbd.ModelBuilder("arm")
    at = placement((0.0, 0.0, 0.2))
    builder.add_body(
        "arm", None, Revolute((0.0, 1.0, 0.0)), placement=at, mass=1.0, com=(0.5, 0.0, 0.0), inertia=0.02 * np.eye(3)
    )
    limits = Limits(lower=-1.0, upper=0.03)
    builder.add_body("slide", None, Prismatic((0.0, 1.0, 0.0)), mass=1.0, inertia=0.01 * np.eye(3), limits=limits)
    model = builder.build()
    ball = CollisionShape("ball", "arm", "sphere", size=(0.05,), placement=placement((0.6, 0.0, 0.0)))
    return model, CollisionSet(model, [FLOOR, ball]), np.array([0.2, 0.0]), np.array([1.0, 2.0])


CASES = {
    "fixed feet": fixed_feet,
    "boxes": lambda: thrown("box", "box"),
    "ball on a box": lambda: thrown("box", "sphere"),
    "cylinder, which coal is asked for": lambda: thrown("cylinder"),
    "arm at a limit": stopped_arm,
}


def simulation_of(model, contacts, q, v):
    found = Simulation(model, q=q, options=SimulationOptions(step=1e-3, start_braked=False), contacts=contacts)
    found.v = v.copy()
    return found


@pytest.mark.parametrize("case", CASES)
def test_many_steps_at_once_are_single_ones_bit_by_bit(case):
    model, contacts, q, v = CASES[case]()
    many, single = (simulation_of(model, contacts, q, v) for _ in range(2))
    for count in (1, 7, 100, 92):
        assert many.advance(count) == count
        for _ in range(count):
            single.advance()
        for name in ("q", "v", "a", "tau", "contact_forces"):
            np.testing.assert_array_equal(getattr(many, name), getattr(single, name))
        assert (many.steps, [c.name for c in many.contacts]) == (single.steps, [c.name for c in single.contacts])
    assert many.contact_forces.any()


@pytest.mark.parametrize("case", CASES)
def test_a_reset_forgets_what_was_before(case):
    model, contacts, q, v = CASES[case]()
    fresh, used = (simulation_of(model, contacts, q, v) for _ in range(2))
    used.advance(150)
    used.reset()
    used.v = v.copy()
    for simulation in (fresh, used):
        simulation.advance(100)
    np.testing.assert_array_equal(fresh.q, used.q)
    np.testing.assert_array_equal(fresh.v, used.v)


def alone(model, contacts, q, v, efforts, every):
    """(S + 1, nq), (S + 1, nv) of one sample, step by step."""
    simulation = simulation_of(model, contacts, q, v)
    found = [(simulation.q, simulation.v)]
    for step, tau in enumerate(efforts, start=1):
        simulation.command(tau, np.arange(model.nv))
        simulation.advance()
        if step % every == 0:
            found.append((simulation.q, simulation.v))
    return map(np.array, zip(*found))


def spread(model, q, v, count):
    rng = np.random.default_rng(3)
    starts = np.array([model.integrate(q, 1e-3 * rng.normal(size=model.nv)) for _ in range(count)])
    return starts, v + 0.05 * rng.normal(size=(count, model.nv))


@pytest.mark.parametrize(("case", "every"), zip(CASES, (1, 4, 7, 1, 5)))
def test_samples_side_by_side_move_as_they_do_alone(case, every):
    """More of them than go side by side at once; the numbers are the same to rounding and the solver's accuracy."""
    model, contacts, q, v = CASES[case]()
    count = SIDE_BY_SIDE + 3
    q, v = spread(model, q, v, count)
    tau = 0.1 * np.random.default_rng(4).normal(size=(count, STEPS, model.nv))
    batch = BatchSimulation(model, contacts=contacts)
    found = batch.run(q, v, tau, STEPS, every=every)
    assert found.q.shape == (count, STEPS // every + 1, model.nq) and not found.diverged.any()
    for k in (0, SIDE_BY_SIDE - 1, SIDE_BY_SIDE, count - 1):
        one_q, one_v = alone(model, contacts, q[k], v[k], tau[k], every)
        np.testing.assert_allclose(found.q[k], one_q, atol=1e-9, rtol=0.0)
        np.testing.assert_allclose(found.v[k], one_v, atol=1e-6, rtol=0.0)


def test_samples_do_not_depend_on_those_beside_them():
    model, contacts, q, v = thrown("box", "box")
    q, v = spread(model, q, v, SIDE_BY_SIDE + 5)
    batch = BatchSimulation(model, contacts=contacts)
    all_of_them = batch.run(q, v, np.zeros(model.nv), STEPS)
    again = batch.run(q, v, np.zeros(model.nv), STEPS, out=batch.run(q, v, np.zeros(model.nv), STEPS))
    few = batch.run(q[3:8], v[3:8], np.zeros(model.nv), STEPS)
    with ThreadPoolExecutor(2) as pool:
        parts = batch.run(q, v, np.zeros((len(q), 1, model.nv)), STEPS, executor=pool, parts=2)
    for other, mine in ((again, slice(None)), (parts, slice(None)), (few, slice(3, 8))):
        np.testing.assert_array_equal(other.q, all_of_them.q[mine])
        np.testing.assert_array_equal(other.v, all_of_them.v[mine])


@pytest.mark.parametrize("rows", ["nv", "steps", "samples", "law"])
def test_efforts_of_each_form(rows):
    model, contacts, q, v = fixed_feet()
    q, v = spread(model, q, v, 3)
    rng = np.random.default_rng(5)
    shape = {"nv": (18,), "steps": (STEPS, 18), "samples": (3, 1, 18), "law": (3, STEPS, 18)}[rows]
    tau = rng.normal(size=shape)
    tau[..., :6] = 0.0
    given = (lambda time, q, v: tau[:, round(time * 1e3)]) if rows == "law" else tau
    found = BatchSimulation(model, contacts=contacts).run(q, v, given, STEPS, every=STEPS)
    full = np.broadcast_to(tau, (3, STEPS, 18))
    for k in range(3):
        one_q, one_v = alone(model, contacts, q[k], v[k], full[k], STEPS)
        np.testing.assert_allclose(found.q[k], one_q, atol=1e-9, rtol=0.0)
        np.testing.assert_allclose(found.v[k], one_v, atol=1e-6, rtol=0.0)


def test_what_slides_stops_where_friction_says():
    """A box comes to rest after v^2 / (2 mu g), less v h / 2 as a method of first order has it."""
    builder = rbd.ModelBuilder("box")
    builder.add_body("box", None, Floating(), mass=2.0, inertia=0.02 * np.eye(3))
    model = builder.build()
    shapes = CollisionSet(
        model, [FLOOR, CollisionShape("box", "box", "box", size=(0.4, 0.4, 0.1))], friction_coefficient=0.5
    )
    speeds = np.linspace(0.2, 1.0, 5)
    v = np.zeros((5, 6))
    v[:, 3] = speeds
    start = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0])
    found = BatchSimulation(model, contacts=shapes, options=SimulationOptions(step=1e-4)).run(
        start, v, np.zeros(6), 3000, every=3000
    )
    expected = speeds**2 / (2.0 * 0.5 * 9.81) - 0.5e-4 * speeds
    np.testing.assert_allclose(found.q[:, -1, 0], expected, rtol=1e-4)
    np.testing.assert_allclose(found.v[:, -1], 0.0, atol=1e-9)


def test_a_sample_that_diverges_leaves_the_others_alone():
    model, contacts, q, v = thrown("sphere")
    q, v = spread(model, q, v, 4)
    tau = np.zeros((4, STEPS, 6))
    tau[1, 5:, 3] = 1e12
    batch = BatchSimulation(model, contacts=contacts)
    found = batch.run(q, v, tau, STEPS, errors="nan")
    assert found.diverged.tolist() == [False, True, False, False]
    assert np.isfinite(found.q[1, :6]).all() and np.isnan(found.q[1, 6:]).all()
    others = batch.run(q[[0, 2, 3]], v[[0, 2, 3]], np.zeros(6), STEPS)
    np.testing.assert_array_equal(found.q[[0, 2, 3]], others.q)
    with pytest.raises(SimulationDiverged, match=r"sample 1 of 4 has no state after t = 0\.005 s"):
        batch.run(q, v, tau, STEPS)
    law = batch.run(q, v, lambda time, q, v: np.where(q[:, :1] == q[:, :1].max(), np.nan, 0.0 * v), 3, errors="nan")
    assert law.diverged.sum() >= 1
