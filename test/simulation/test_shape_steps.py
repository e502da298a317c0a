# SPDX-License-Identifier: Apache-2.0
"""Steps among shapes in compiled code: as the long way does them, with laws that hold, and without Python's help."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.compiler.backends import why_no_machine_code
from rbd_dynamics.model.joints import Floating, Planar, Revolute
from rbd_dynamics.model.model import Limits

pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, CollisionShape
from rbd_dynamics.constraints import placement
from rbd_dynamics.simulation import Simulation, SimulationOptions

pytestmark = pytest.mark.skipif(why_no_machine_code() is not None, reason="without a compiler all go the long way")
FLOOR = CollisionShape("floor", "world", "plane")
SIZES = {"box": (0.2, 0.16, 0.1), "sphere": (0.08,), "capsule": (0.05, 0.15), "cylinder": (0.06, 0.12)}
HULL = np.random.default_rng(4).normal(size=(12, 3)) * 0.08


def bodies(*kinds):
    """Bodies of these kinds, and shapes that are theirs."""
    builder, shapes = rbd.ModelBuilder("bodies"), [FLOOR]
    for k, kind in enumerate(kinds):
        builder.add_body(f"body {k}", None, Floating(), mass=1.0 + k, inertia=0.004 * np.diag([1.0, 1.2, 1.5]))
        shape = {"points": HULL} if kind == "mesh" else {"size": SIZES[kind]}
        shapes.append(CollisionShape(f"shape {k}", f"body {k}", kind, **shape))
    return builder.build(), shapes


def thrown(kinds, seed):
    """(model, shapes, q, v): bodies that fall onto each other."""
    model, shapes = bodies(*kinds)
    rng = np.random.default_rng(seed)
    q, v = model.random(rng).reshape(-1, 7), rng.normal(scale=0.5, size=(len(kinds), 6))
    q[:, :2], q[:, 2] = rng.normal(scale=0.02, size=(len(kinds), 2)), 0.16 + 0.25 * np.arange(len(kinds))
    return model, shapes, q.reshape(-1), v.reshape(-1)


def simulation_of(model, q, v, contacts, *, long_way=False):
    found = Simulation(model, q=q, options=SimulationOptions(step=1e-3, start_braked=False), contacts=contacts)
    found.v = np.array(v, dtype=float)
    if long_way:
        found._euler.compiled = None
    return found


def counting(simulation):
    """Numbers of steps in compiled code, and of those that went the long way."""
    counts = [0, 0]
    simulation.advance(1)
    euler = simulation._euler
    advance, long_step = euler.advance, euler.long_step

    def counted(*given):
        found = advance(*given)
        counts[0] += found[0]
        return found

    def counted_long(*state):
        counts[1] += 1
        return long_step(*state)

    euler.advance, euler.long_step = counted, counted_long
    return counts


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("kinds", [("box",), ("sphere", "capsule"), ("mesh", "box"), ("cylinder", "sphere")])
def test_one_step_is_as_the_long_way(kinds, cone):
    """From the same state, at each of many on the way: motion and sums of forces; single ones need not be unique."""
    model, shapes, q, v = thrown(kinds, seed=1)
    quick, slow = (
        simulation_of(model, q, v, CollisionSet(model, shapes, friction_coefficient=0.6, cone=cone), long_way=long_way)
        for long_way in (False, True)
    )
    touched = 0
    for _ in range(40):
        quick.advance(10)
        slow.q, slow.v = quick.q.copy(), quick.v.copy()
        for simulation in (quick, slow):
            simulation.advance(1)
        np.testing.assert_allclose(quick.v, slow.v, atol=1e-7)
        np.testing.assert_allclose(quick.q, slow.q, atol=1e-10)
        names = [contact.name for contact in quick.contacts]
        assert names == [contact.name for contact in slow.contacts]
        if names:
            touched += 1
            sums = [simulation.contact_forces[:, 0].sum() for simulation in (quick, slow)]
            assert sums[0] == pytest.approx(sums[1], rel=1e-5, abs=1e-5)
            assert quick.found_contacts[0].names == tuple(names)
    assert touched > 10


def test_a_pile_comes_to_rest_without_the_long_way():
    """More contacts than degrees of freedom, some of which slide at first; energy only goes."""
    model, shapes = bodies("box", "box", "box", "box")
    rng = np.random.default_rng(3)
    q, v = model.neutral().reshape(-1, 7), rng.normal(scale=0.1, size=(4, 6))
    q[:, :2], q[:, 2] = rng.normal(scale=0.01, size=(4, 2)), 0.055 + 0.105 * np.arange(4)
    simulation = simulation_of(model, q.reshape(-1), v.reshape(-1), CollisionSet(model, shapes))
    counts, robot, before = counting(simulation), rbd.Robot(model), math.inf
    for _ in range(10):
        simulation.advance(30)
        energy = float(robot.kinetic_energy(simulation.q, simulation.v) + robot.potential_energy(simulation.q))
        assert energy <= before + 1e-6
        before = energy
    assert counts[1] <= 0.02 * sum(counts)
    assert simulation.found_contacts[0].gap.min() > -1e-4
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-3)
    lowest = [
        force for contact, force in zip(simulation.contacts, simulation.contact_forces) if "floor" in contact.name
    ]
    assert sum(force[0] for force in lowest) == pytest.approx(9.81 * 10.0, rel=1e-3)


def test_many_contacts_make_room():
    """Three tables on six feet each with four corners: 72 contacts on 18 degrees of freedom."""
    model, _ = bodies("box", "box", "box")
    shapes = [FLOOR]
    for k in range(18):
        at = placement((0.2 * (k % 6), 0.3 * (k % 2), 0.0))
        shapes.append(CollisionShape(f"foot {k}", f"body {k // 6}", "box", size=(0.1, 0.1, 0.1), placement=at))
    q = model.neutral().reshape(-1, 7)
    q[:, 0], q[:, 2] = 2.0 * np.arange(3), 0.0502
    simulation = simulation_of(model, q.reshape(-1), np.zeros(18), CollisionSet(model, shapes))
    counts = counting(simulation)
    simulation.advance(40)
    assert counts == [40, 0] and len(simulation.contacts) == 72
    names = np.array([int(contact.name.split()[1]) // 6 for contact in simulation.contacts])
    carried = [simulation.contact_forces[names == k, 0].sum() for k in range(3)]
    np.testing.assert_allclose(carried, 9.81 * np.array([1.0, 2.0, 3.0]), rtol=1e-5)


def test_robots_on_a_pedestal_stop_at_their_limits():
    """An arm that falls onto the floor, and one that its limit stops first: the long way does what is rare."""
    for lower, count in ((-math.pi, 1), (-0.2, 0)):
        builder = rbd.ModelBuilder("arm")
        limits = Limits(lower=-math.pi, upper=-lower)
        builder.add_body(
            "arm", None, Revolute((0.0, 1.0, 0.0)), placement=placement((0.0, 0.0, 0.3)), mass=1.0,
            com=(0.5, 0.0, 0.0), inertia=0.02 * np.eye(3), limits=limits,
        )  # fmt: skip
        model = builder.build()
        ball = CollisionShape("ball", "arm", "sphere", size=(0.05,), placement=placement((0.6, 0.0, 0.0)))
        quick, slow = (
            simulation_of(model, np.zeros(1), np.zeros(1), CollisionSet(model, [FLOOR, ball]), long_way=long_way)
            for long_way in (False, True)
        )
        for simulation in (quick, slow):
            simulation.advance(600)
        np.testing.assert_allclose(quick.q, slow.q, atol=1e-9)
        assert len(quick.contacts) == count
        assert quick.q[0] == pytest.approx(math.asin(0.25 / 0.6) if count else 0.2, abs=1e-6)


def test_what_is_not_plain_goes_the_long_way():
    builder = rbd.ModelBuilder("disc")
    builder.add_body("disc", None, Planar(), mass=1.0, inertia=0.01 * np.eye(3))
    model = builder.build()
    shapes = CollisionSet(model, [CollisionShape("wall", "world", "box", size=(0.1, 1.0, 1.0)),
                                  CollisionShape("disc", "disc", "sphere", size=(0.1,))])  # fmt: skip
    simulation = simulation_of(model, [0.2, 0.0, 0.0], [-1.0, 0.0, 0.0], shapes)
    simulation.advance(100)
    assert simulation.q[0] == pytest.approx(0.15, abs=1e-3)
