# SPDX-License-Identifier: Apache-2.0
"""Bodies with shapes in time, against closed forms: slopes, stacks, rolling, impacts, a quadruped, a grasp."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.touching import EDGE, G, block, on_slope, rod
from rigs import quadruped as quadrupeds

import rbd_dynamics as rbd
from rbd_dynamics.constraints import placement
from rbd_dynamics.model.joints import Floating, Prismatic
from rbd_dynamics.simulation import INTEGRATORS, Simulation, SimulationDiverged, SimulationOptions

pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, CollisionShape

FLOOR = CollisionShape("floor", "world", "plane")
UPRIGHT = [0.0, 0.0, 0.0, 1.0]


def simulate(model, q, contacts, *, step=1e-3, v=None, integrator="semi_implicit_euler"):
    options = SimulationOptions(step=step, integrator=integrator, start_braked=False, effort_limits=False)
    simulation = Simulation(model, q=q, options=options, contacts=contacts)
    if v is not None:
        simulation.v = np.asarray(v, dtype=float)
    return simulation


def anymal(**options):
    """It, and all its shapes over a floor."""
    from rbd_dynamics.collisions import collision_shapes
    from rbd_dynamics.common.example_robots import robots

    if "anymal" not in robots():
        pytest.skip("needs anymal of example-robot-data")
    model = rbd.load("anymal", base="floating")
    shapes = [FLOOR, *collision_shapes(model, robots()["anymal"].read_text())]
    return model, CollisionSet(model, shapes, friction_coefficient=0.8, **options)


def test_anymal_stands_with_all_the_shapes_of_its_description():
    """Its thighs stand in its base, and no joint moves them out: nobody has to name them."""
    model, contacts = anymal()
    always = [pair for pair, why in contacts.ignored.items() if why == "always overlap"]
    assert {(one.split()[0], other.split()[0]) for one, other in always} == {
        (f"{leg}_THIGH", "base") for leg in ("LF", "RF", "LH", "RH")
    }
    posture = np.array([0.0, 0.7, -1.2, 0.0, -0.7, 1.2] * 2)
    legs = dict(zip(("LF", "LH", "RF", "RH"), posture.reshape(4, 3)))
    q = model.neutral()
    for leg, angles in legs.items():
        for joint, angle in zip(("HAA", "HFE", "KFE"), angles):
            q[model.joint(f"{leg}_{joint}").q_index] = angle
    q[2] = 1.0
    q[2] -= min(touch.gap for touch in contacts.contacts(q, margin=1.0) if touch.law.reference == "world")
    simulation = simulate(model, q, contacts)
    for _ in range(300):
        simulation.command(400.0 * (q[7:] - simulation.q[7:]) - 10.0 * simulation.v[6:], np.arange(6, 18))
        simulation.advance(1)
    assert simulation.q[2] == pytest.approx(q[2], abs=0.05)
    assert {contact.name.split("_")[0] for contact in simulation.contacts} == set(legs)
    assert simulation.contact_forces[:, 0].sum() == pytest.approx(G * model.mass, rel=2e-2)


def test_what_overlaps_for_good_and_may_not_is_named():
    model, contacts = anymal(ignore_overlapping=False)
    q = model.neutral()
    q[2] = 0.6
    with pytest.raises(SimulationDiverged, match="no forces of its contacts .* '.*THIGH.* on base"):
        simulate(model, q, contacts).advance(5)


def on_a_slope(model, kind, size, angle, **options):
    """A body with a shape, and a slope that falls along x."""
    ground = CollisionShape("slope", "world", "plane", placement=placement((0.0, 0.0, 0.0), (0.0, angle, 0.0)))
    own = placement((0.0, 0.0, 0.0), (math.pi / 2.0, 0.0, 0.0)) if kind == "cylinder" else placement()
    return CollisionSet(
        model, [ground, CollisionShape("b", model.bodies[-1].name, kind, size=size, placement=own)], **options
    )


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(("angle", "sticks"), [(0.45, True), (0.48, False)])
def test_a_box_on_a_slope_with_each_method(angle, sticks, integrator):
    """Friction 0.5 holds up to 0.4636 rad; beyond it is as fast as the closed form says."""
    model = block()
    contacts = on_a_slope(model, "box", (EDGE, EDGE, EDGE), angle, friction_coefficient=0.5)
    simulation = simulate(model, on_slope(angle), contacts, integrator=integrator)
    simulation.advance(50)
    speed = 0.0 if sticks else 0.05 * G * (math.sin(angle) - 0.5 * math.cos(angle))
    assert simulation.v[3] == pytest.approx(speed, abs=1e-7)
    assert len(simulation.contacts) == 4
    assert simulation.contact_forces[:, 0].sum() == pytest.approx(2.0 * G * math.cos(angle), rel=1e-6)


@pytest.mark.parametrize(("kind", "size", "share"), [("sphere", (0.1,), 0.4), ("cylinder", (0.1, 0.3), 0.5)])
def test_what_is_round_rolls_down_as_the_closed_form_says(kind, size, share):
    """Acceleration g sin / (1 + I / m r^2): the point of contact wanders over the body, which pushes nothing."""
    angle, mass, radius = 0.3, 1.5, 0.1
    builder = rbd.ModelBuilder("round")
    builder.add_body("round", None, Floating(), mass=mass, inertia=share * mass * radius**2 * np.eye(3))
    model = builder.build()
    contacts = on_a_slope(model, kind, size, angle, friction_coefficient=0.6)
    start = np.array([radius * math.sin(angle), 0.0, radius * math.cos(angle), *UPRIGHT])
    turning, mass_forces = 25.0, mass * G * math.cos(angle)
    v = [0.0, turning, 0.0, turning * radius * math.cos(angle), 0.0, -turning * radius * math.sin(angle)]
    found = rbd.Robot(model).contact_forward_dynamics(start, v, np.zeros(6), contacts)
    a = G * math.sin(angle) / (1.0 + share)
    assert found.forces[:, 0].sum() == pytest.approx(mass_forces, rel=1e-9)
    assert found.a[1] == pytest.approx(a / radius, rel=1e-6)
    simulation = simulate(model, start, contacts, v=v)
    simulation.advance(200)
    assert simulation.v[1] == pytest.approx(turning + 0.2 * a / radius, rel=1e-3)
    assert simulation.contact_forces[:, 0].sum() == pytest.approx(mass_forces, rel=1e-3)


def test_a_stack_of_turned_boxes_with_the_heaviest_on_top_lands_and_stands():
    builder = rbd.ModelBuilder("stack")
    masses = (1.0, 4.0, 20.0)
    shapes, q = [FLOOR], []
    for k, mass in enumerate(masses):
        builder.add_body(f"box {k}", None, Floating(), mass=mass, inertia=mass / 150.0 * np.eye(3))
        shapes.append(CollisionShape(f"box {k}", f"box {k}", "box", size=(0.2, 0.2, 0.2)))
        q += [0.01 * k, -0.01 * k, 0.1 + 0.201 * k, 0.0, 0.0, math.sin(0.1 * k), math.cos(0.1 * k)]
    simulation = simulate(builder.build(), q, CollisionSet(builder.build(), shapes))
    simulation.advance(60)
    np.testing.assert_allclose(simulation.q.reshape(3, 7)[:, 2], [0.1, 0.3, 0.5], atol=1e-8)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-8)
    carried = dict.fromkeys(("box 0 on floor", "box 1 on box 0", "box 2 on box 1"), 0.0)
    for contact, force in zip(simulation.contacts, simulation.contact_forces):
        carried[contact.name] += force[0]
    np.testing.assert_allclose(list(carried.values()), np.array([25.0, 24.0, 20.0]) * G, rtol=1e-7)


def test_newton_s_cradle():
    builder = rbd.ModelBuilder("cradle")
    for k in range(4):
        start = placement((0.1 * k, 0.0, 0.0))
        builder.add_body(f"ball {k}", None, Prismatic((1.0, 0.0, 0.0)), placement=start, mass=0.3)
    model = builder.build()
    balls = [CollisionShape(f"ball {k}", f"ball {k}", "sphere", size=(0.05,)) for k in range(4)]
    simulation = simulate(model, np.zeros(4), CollisionSet(model, balls, restitution=1.0), v=[1.3, 0.0, 0.0, 0.0])
    simulation.advance(20)
    np.testing.assert_allclose(simulation.v, [0.0, 0.0, 0.0, 1.3], atol=1e-9)


def test_painleve_s_rod_jams():
    """A box as thin as a wire: no acceleration exists, but impulses do. The end that slid stands after a step."""
    model, angle = rod(0.5, 1.5), 1.1
    wire = CollisionShape("rod", "rod", "box", size=(1.0, 1e-6, 1e-6))
    q = [0.0, 0.5 * math.sin(angle) + 5e-7 * math.cos(angle), angle]
    contacts = CollisionSet(model, [FLOOR, wire], friction_coefficient=2.5)
    assert not rbd.Robot(model).contact_forward_dynamics(q, [-0.4, 0.0, 0.0], np.zeros(3), contacts).converged
    simulation = simulate(model, q, contacts, v=[-0.4, 0.0, 0.0])
    simulation.advance(1)
    angle = simulation.q[2]
    end = simulation.v[:2] + 0.5 * simulation.v[2] * np.array([math.sin(angle), -math.cos(angle)])
    assert np.abs(end).max() < 2e-3  # the point of contact has moved with the step


# --- robots -------------------------------------------------------------------------------------


def quadruped_with_shapes(model):
    """Balls as feet, and boxes and capsules that touch nothing as long as it stands."""
    shapes = [FLOOR, CollisionShape("trunk", "trunk", "box", size=(0.4, 0.2, 0.1))]
    for name in quadrupeds.FEET:
        end, middle = (placement((0.0, 0.0, -quadrupeds.LINK * part)) for part in (1.0, 0.5))
        shapes += [
            CollisionShape(name, f"{name}_calf", "sphere", size=(quadrupeds.RADIUS,), placement=end),
            CollisionShape(f"{name} calf", f"{name}_calf", "capsule", size=(0.01, 0.15), placement=middle),
        ]
    return CollisionSet(model, shapes, friction_coefficient=quadrupeds.FRICTION)


def walk(simulation, posture, steps):
    for _ in range(steps):
        error = posture(simulation.time) - simulation.q[7:]
        simulation.command(quadrupeds.STIFFNESS * error - quadrupeds.DAMPING * simulation.v[6:], np.arange(6, 18))
        simulation.advance(1)


def trotting(t):
    lift = 0.25 * np.maximum(0.0, np.sin(8.0 * math.pi * t) * np.array([1.0, -1.0, -1.0, 1.0]))
    return quadrupeds.POSTURE + np.outer(lift, [0.0, 1.0, -2.0]).reshape(-1)


@pytest.mark.parametrize("posture", [lambda t: quadrupeds.POSTURE, trotting], ids=["stands", "trots"])
def test_a_quadruped_moves_as_with_contacts_at_its_feet(posture):
    """Balls are exact either way, so the motion is the same, as long as no touching redistributes rounding."""
    model = quadrupeds.quadruped()
    shapes = simulate(model, quadrupeds.standing(), quadruped_with_shapes(model))
    points = simulate(model, quadrupeds.standing(), quadrupeds.feet(model))
    for _ in range(3):
        for simulation in (shapes, points):
            walk(simulation, posture, 50)
        np.testing.assert_allclose(shapes.q, points.q, atol=1e-6)
        assert shapes.contact_forces[:, 0].sum() == pytest.approx(points.contact_forces[:, 0].sum(), rel=1e-4, abs=1e-3)
    assert shapes.q[2] > 0.25


@pytest.mark.parametrize(("friction", "holds"), [(0.1, False), (0.5, True)])
def test_two_fingers_hold_a_box_if_friction_can(friction, holds):
    """10 N from each side on 0.3 kg: friction 0.1 carries 2 of its 2.9 N. Each finger has four points on it."""
    builder = rbd.ModelBuilder("grasp")
    builder.add_body("box", None, Floating(), mass=0.3, inertia=0.3 * 0.1**2 / 6.0 * np.eye(3))
    fingers = [CollisionShape("box", "box", "box", size=(0.1, 0.1, 0.1))]
    for name, side in (("left", -1.0), ("right", 1.0)):
        builder.add_body(name, None, Prismatic((1.0, 0.0, 0.0)), placement=placement((0.06 * side, 0.0, 0.5)), mass=0.1)
        fingers.append(CollisionShape(name, name, "box", size=(0.02, 0.03, 0.04)))
    model = builder.build()
    contacts = CollisionSet(model, fingers, friction_coefficient=friction)
    simulation = simulate(model, [0.0, 0.0, 0.5, *UPRIGHT, 0.0, 0.0], contacts)
    simulation.command([10.0, -10.0], [7 - 1, 8 - 1])
    simulation.advance(50)
    fall = 0.0 if holds else 0.05 * (2.0 * friction * 10.0 / 0.3 - G)
    assert simulation.v[5] == pytest.approx(fall, rel=1e-3, abs=1e-6)
    np.testing.assert_allclose(simulation.contact_forces[:, 0].reshape(2, 4).sum(axis=1), 10.0, rtol=1e-6)
    # which of the four points carries most is open, and where they slide so is a small moment of their friction
    np.testing.assert_allclose(simulation.v[:5], 0.0, atol=1e-6 if holds else 1e-2)


# --- methods ------------------------------------------------------------------------------------


def tumbling():
    builder = rbd.ModelBuilder("brick")
    builder.add_body("brick", None, Floating(), mass=1.2, inertia=np.diag([0.004, 0.009, 0.011]))
    return builder.build()


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_a_flight_is_as_exact_as_its_method_until_it_lands(integrator):
    """What is thrown, far from the floor: as with steps of a twentieth; then it lands and comes to rest."""
    model, v = tumbling(), [3.0, 5.0, 2.0, 0.5, 0.0, -1.0]
    start = [0.0, 0.0, 0.4, *UPRIGHT]
    shapes = CollisionSet(model, [FLOOR, CollisionShape("brick", "brick", "box", size=(0.3, 0.2, 0.1))])
    simulation = simulate(model, start, shapes, v=v, integrator=integrator, step=2e-3)
    free = simulate(model, start, (), v=v, integrator="rk4", step=1e-4)
    simulation.advance(40)
    free.advance(800)
    np.testing.assert_allclose(simulation.q, free.q, atol=1e-8)
    if integrator == "rk4":
        simulation.advance(210)
        assert simulation.q[2] == pytest.approx(0.05, abs=1e-4)  # what overlaps goes apart by a fifth a step
        np.testing.assert_allclose(simulation.v, 0.0, atol=1e-3)
        assert simulation.contact_forces[:, 0].sum() == pytest.approx(1.2 * G, rel=1e-2)
