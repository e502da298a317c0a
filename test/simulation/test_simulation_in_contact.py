# SPDX-License-Identifier: Apache-2.0
"""Simulation in contact: the quick way against the long one, and cases whose end is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.touching import G, balls_in_a_row, block, on_slope, rod, rod_on_floor, slope
from rigs import quadruped as quadrupeds

import rbd_dynamics as rbd
from rbd_dynamics.constraints import Sphere, placement
from rbd_dynamics.contacts import Contact, ContactSet
from rbd_dynamics.model.joints import Floating, Prismatic
from rbd_dynamics.simulation import Simulation, SimulationOptions

QUADRUPED = quadrupeds.quadruped()
LEGS = np.arange(6, 18)


def simulate(model, q, contacts, *, step=1e-3, v=None):
    options = SimulationOptions(step=step, start_braked=False, effort_limits=False)
    simulation = Simulation(model, q=q, options=options, contacts=contacts)
    if v is not None:
        simulation.v = np.asarray(v, dtype=float)
    return simulation


def long_way(simulation):
    """The same without the compiled step."""
    simulation._euler.compiled = None
    return simulation


def walk(simulation, posture, steps):
    for _ in range(steps):
        error = posture(simulation.time) - simulation.q[7:]
        simulation.command(quadrupeds.STIFFNESS * error - quadrupeds.DAMPING * simulation.v[6:], LEGS)
        simulation.advance(1)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_the_quick_way_comes_to_the_same_as_the_long_one(cone):
    """A quadruped that lands askew and slips."""
    contacts = quadrupeds.feet(QUADRUPED, cone=cone)
    start = quadrupeds.standing() + np.r_[0.0, 0.0, 0.01, np.zeros(16)]
    v = [0.4, -0.3, 0.5, 1.5, 0.4, -0.5, *np.zeros(12)]
    quick, other = simulate(QUADRUPED, start, contacts, v=v), long_way(simulate(QUADRUPED, start, contacts, v=v))
    touched = 0
    for _ in range(8):
        for simulation in (quick, other):
            walk(simulation, lambda t: quadrupeds.POSTURE, 10)
        touched += int((quick.contact_forces[:, 0] > 0.0).sum())
        np.testing.assert_allclose(quick.q, other.q, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(quick.v, other.v, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(quick.contact_forces, other.contact_forces, rtol=0.0, atol=1e-4)
    assert touched > 8


def test_a_base_that_turns_far_in_a_step_goes_the_long_way():
    """A body of three different moments of inertia that spins above the floor."""
    builder = rbd.ModelBuilder("top")
    builder.add_body("top", None, Floating(), mass=1.0, inertia=np.diag([0.01, 0.02, 0.025]))
    model = builder.build()
    floor = ContactSet(model, [Contact("point", "top", radius=0.01)])
    start, v = [0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0], [150.0, 40.0, -90.0, 0.0, 0.0, 0.0]
    quick, other = (simulate(model, start, floor, step=0.01, v=v) for _ in range(2))
    for simulation in (quick, long_way(other)):
        simulation.advance(20)
    np.testing.assert_allclose(quick.q, other.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(quick.v, other.v, rtol=0.0, atol=1e-7)


def test_a_quadruped_stands():
    simulation = simulate(QUADRUPED, quadrupeds.standing(), quadrupeds.feet(QUADRUPED))
    walk(simulation, lambda t: quadrupeds.POSTURE, 2000)
    weight = G * sum(body.inertia.mass for body in QUADRUPED.bodies)
    assert simulation.contact_forces[:, 0].sum() == pytest.approx(weight, rel=1e-4)
    assert (np.hypot(*simulation.contact_forces[:, 1:].T) <= 0.7 * simulation.contact_forces[:, 0]).all()
    assert np.abs(simulation.v).max() < 1e-3
    assert 0.9 * quadrupeds.HEIGHT < simulation.q[2] < quadrupeds.HEIGHT


def test_a_quadruped_trots_on_the_spot():
    """Diagonal pairs of feet lift in turn, four times a second, and the trunk stays up."""
    simulation = simulate(QUADRUPED, quadrupeds.standing(), quadrupeds.feet(QUADRUPED))

    def posture(t):
        lift = 0.25 * np.maximum(0.0, np.sin(8.0 * math.pi * t) * np.array([1.0, -1.0, -1.0, 1.0]))
        return quadrupeds.POSTURE + np.outer(lift, [0.0, 1.0, -2.0]).reshape(-1)

    loaded = []
    for _ in range(100):
        walk(simulation, posture, 10)
        loaded.append(simulation.contact_forces[:, 0] > 1.0)
        upright = 1.0 - 2.0 * (simulation.q[3] ** 2 + simulation.q[4] ** 2)
        assert upright > 0.95 and simulation.q[2] > 0.25
    loaded = np.array(loaded)
    pairs = loaded[:, [0, 3]].all(axis=1), loaded[:, [1, 2]].all(axis=1)
    assert (pairs[0] & ~loaded[:, [1, 2]].any(axis=1)).sum() > 10
    assert (pairs[1] & ~loaded[:, [0, 3]].any(axis=1)).sum() > 10


@pytest.mark.parametrize(("angle", "sticks"), [(0.45, True), (0.48, False)])
def test_a_block_on_a_slope(angle, sticks):
    """Friction 0.5 holds up to 0.4636 rad; beyond it is as fast as the closed form says."""
    model = block()
    simulation = simulate(model, on_slope(angle), slope(model, angle, friction_coefficient=0.5))
    simulation.advance(100)
    speed = 0.0 if sticks else 0.1 * G * (math.sin(angle) - 0.5 * math.cos(angle))
    assert simulation.v[3] == pytest.approx(speed, abs=1e-7)


@pytest.mark.parametrize("step", [1e-3, 2e-2])
def test_a_compliant_block_rests_on_its_springs_at_any_step(step):
    """Its own period is 2 pi sqrt(m c / 4) = 1.4 ms: shorter than both steps."""
    model = block(2.0)
    contacts = slope(model, 0.0, friction_coefficient=0.5, compliance=1e-7)
    simulation = simulate(model, on_slope(0.0), contacts, step=step)
    simulation.advance(400)
    assert simulation.contact_forces[:, 0].sum() == pytest.approx(2.0 * G, rel=1e-6)
    assert on_slope(0.0)[2] - simulation.q[2] == pytest.approx(2.0 * G * 1e-7 / 4.0, rel=1e-3)


def test_painleve_s_rod_jams():
    """No acceleration exists, but impulses: the end that slid stands after one step."""
    model, angle = rod(0.5, 1.5), 1.1
    simulation = simulate(model, [0.0, 0.5 * math.sin(angle), angle], rod_on_floor(model, 0.5, 2.5), v=[-0.4, 0.0, 0.0])
    simulation.advance(1)
    angle = simulation.q[2]
    end = simulation.v[:2] + 0.5 * simulation.v[2] * np.array([math.sin(angle), -math.cos(angle)])
    assert np.abs(end).max() < 2e-3  # the point of contact has moved with the step
    assert simulation.contact_forces[0, 0] > 10.0 * 1.5 * G


def test_newton_s_cradle():
    model, contacts = balls_in_a_row(5, 0.05, restitution=1.0)
    simulation = simulate(model, np.zeros(5), contacts, v=[1.3, 0.0, 0.0, 0.0, 0.0])
    simulation.advance(20)
    np.testing.assert_allclose(simulation.v, [0.0, 0.0, 0.0, 0.0, 1.3], atol=1e-9)


def test_a_stack_with_the_heaviest_on_top_stands():
    """Three boxes of 1, 10 and 100 kg with four contacts each; every level carries what is above."""
    builder = rbd.ModelBuilder("stack")
    masses = (1.0, 10.0, 100.0)
    for k, mass in enumerate(masses):
        builder.add_body(f"box {k}", None, Floating(), mass=mass, inertia=mass / 600.0 * np.eye(3))
    model = builder.build()
    corners = [(x, y, -0.05 + 1e-6) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    contacts = [
        Contact(
            f"{k} {i}", f"box {k}", placement=placement(corner), radius=1e-6, friction_coefficient=0.5,
            **({"reference": f"box {k - 1}", "surface_placement": placement((0.0, 0.0, 0.05))} if k else {}),
        )
        for k in range(3) for i, corner in enumerate(corners)
    ]  # fmt: skip
    q = np.concatenate([[0.0, 0.0, 0.05 + 0.1 * k, 0.0, 0.0, 0.0, 1.0] for k in range(3)])
    simulation = simulate(model, q, contacts)
    simulation.advance(30)
    np.testing.assert_allclose(simulation.q, q, atol=1e-9)
    levels = simulation.contact_forces[:, 0].reshape(3, 4).sum(axis=1)
    np.testing.assert_allclose(levels, [111.0 * G, 110.0 * G, 100.0 * G], rtol=1e-8)


@pytest.mark.parametrize("friction", [0.1, 0.5])
def test_two_fingers_hold_a_ball_if_friction_can(friction):
    """10 N from each side on 0.3 kg: friction 0.1 carries 2 of its 2.9 N."""
    builder = rbd.ModelBuilder("grasp")
    builder.add_body("ball", None, Floating(), mass=0.3, inertia=0.4 * 0.3 * 0.05**2 * np.eye(3))
    for name, side in (("left", -1.0), ("right", 1.0)):
        builder.add_body(name, None, Prismatic((1.0, 0.0, 0.0)), placement=placement((0.07 * side, 0.0, 0.5)), mass=0.1)
    model = builder.build()
    contacts = [
        Contact(name, name, reference="ball", surface=Sphere(0.05), radius=0.02, friction_coefficient=friction)
        for name in ("left", "right")
    ]
    simulation = simulate(model, [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0], ContactSet(model, contacts))
    simulation.command([10.0, -10.0], [6, 7])
    simulation.advance(5)  # not for long: as it falls the fingers press on its upper half
    fall = min(0.0, 2.0 * friction * 10.0 / 0.3 - G)
    assert simulation.v[5] == pytest.approx(0.005 * fall, rel=1e-2, abs=1e-6)
    np.testing.assert_allclose(simulation.contact_forces[:, 0], 10.0, rtol=1e-2)
