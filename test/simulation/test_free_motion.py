# SPDX-License-Identifier: Apache-2.0
"""What moves freely keeps its momentum: the semi-implicit step against conservation laws and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.contacts import Contact
from rbd_dynamics.model.joints import Floating, Planar, Revolute, Spherical
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions
from rbd_dynamics.spatial import adjoint, pose, rotation_from_quaternion

FREE = (0.0, 0.0, 0.0)
MASS, RADIUS = 0.6, 0.1


def _ball(gravity=(0.0, 0.0, -9.81)):
    builder = rbd.ModelBuilder("ball", gravity=gravity)
    builder.add_body("ball", None, Floating(), mass=MASS, inertia=0.4 * MASS * RADIUS**2 * np.eye(3))
    return builder.build()


def _box(builder, name, parent, joint):
    builder.add_body(name, parent, joint, mass=2.0, com=(0.1, -0.05, 0.2), inertia=np.diag([0.01, 0.02, 0.028]))


def _tumbling(joint=None, arm=False, gravity=FREE):
    builder = rbd.ModelBuilder("tumbling", gravity=gravity)
    _box(builder, "box", None, joint or Floating())
    if arm:
        _box(builder, "upper", "box", Revolute((0.0, 1.0, 0.0)))
        _box(builder, "lower", "upper", Revolute((1.0, 0.0, 0.0)))
    return builder.build()


def _simulation(model, q, v, contacts=(), step=1e-3, **options):
    options = SimulationOptions(step=step, start_braked=False, position_limits=False, **options)
    simulation = Simulation(model, q=np.asarray(q), options=options, contacts=contacts)
    simulation.v = np.array(v, dtype=float)
    return simulation


def _momentum(simulation, robot):
    """About the world's origin, in its axes (6)."""
    own = robot.mass_matrix(simulation.q)[:6] @ simulation.v
    at = pose(rotation_from_quaternion(simulation.q[3:7]), simulation.q[:3])
    return np.linalg.solve(adjoint(at).T, own)


def _energy(simulation, robot):
    return 0.5 * simulation.v @ robot.mass_matrix(simulation.q) @ simulation.v


REST = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]


def test_a_spinning_ball_flies_straight():
    simulation = _simulation(_ball(FREE), REST, [3.0, 20.0, -5.0, 1.0, 2.0, 3.0])
    simulation.advance(1000)
    np.testing.assert_allclose(
        rotation_from_quaternion(simulation.q[3:]) @ simulation.v[3:], [1.0, 2.0, 3.0], rtol=1e-12
    )
    np.testing.assert_allclose(simulation.q[:3], [1.0, 2.0, 4.0], rtol=1e-12)


@pytest.mark.parametrize("arm", [False, True])
def test_momentum_is_carried_over_exactly(arm):
    model = _tumbling(arm=arm)
    robot = rbd.Robot(model)
    twist, speeds = [0.1, 10.0, 0.1, 1.0, 2.0, 3.0], [2.0, -3.0] if arm else []
    simulation = _simulation(model, REST + [0.3, -0.4][: len(speeds)], twist + speeds)

    def momenta():
        """About the world's origin, and about the centre of mass."""
        return np.append(_momentum(simulation, robot), robot.momentum(simulation.q, simulation.v))

    before = first = momenta()
    center = robot.center_of_mass(simulation.q)
    for _ in range(200):
        simulation.advance(1)
        now = momenta()
        np.testing.assert_allclose(now, before, rtol=0.0, atol=1e-12 * np.abs(before).max())
        before = now
    np.testing.assert_allclose(now, first, rtol=0.0, atol=2e-11 * np.abs(first).max())
    flown = robot.center_of_mass(simulation.q) - center
    np.testing.assert_allclose(flown, 0.2 * first[-3:] / model.mass, rtol=1e-11)


def test_forces_change_it_by_what_they_push():
    model = _tumbling(arm=True, gravity=(0.0, 0.0, -9.81))
    robot = rbd.Robot(model)
    simulation = _simulation(model, [*REST, 0.3, -0.4], [0.1, 5.0, 0.1, 1.0, 2.0, 3.0, 2.0, -3.0])
    simulation.command([0.7, -0.4], [6, 7])  # of the arm, which are none from outside
    before = _momentum(simulation, robot)[3:]
    simulation.advance(500)
    np.testing.assert_allclose(_momentum(simulation, robot)[3:] - before, [0.0, 0.0, -9.81 * 6.0 * 0.5], atol=1e-10)


def test_energy_of_a_tumbling_body_stays_where_it_is():
    """Turned about the middle axis, which is unstable: it tumbles over and over."""
    model = _tumbling()
    robot = rbd.Robot(model)
    simulation = _simulation(model, REST, [0.1, 10.0, 0.1, 1.0, 2.0, 3.0])
    begin, energies = _energy(simulation, robot), []
    for _ in range(100):
        simulation.advance(50)
        energies.append(_energy(simulation, robot) / begin - 1.0)
    assert np.abs(energies).max() < 2e-5
    late, early = np.array(energies[50:]), np.array(energies[:50])
    assert abs(late.mean() - early.mean()) < 2e-6  # it comes and goes, it does not grow


def test_a_heavy_top_keeps_its_momentum_about_the_vertical():
    model = _tumbling(Spherical(), gravity=(0.0, 0.0, -9.81))
    robot = rbd.Robot(model)
    simulation = _simulation(model, [0.0, 0.0, 0.0, 1.0], [0.5, 0.2, 30.0])

    def vertical():
        own = robot.mass_matrix(simulation.q) @ simulation.v
        return (rotation_from_quaternion(simulation.q) @ own)[2]

    before = vertical()
    simulation.advance(1000)
    assert abs(vertical() - before) < 1e-11 * abs(before)


def test_a_sliding_plate_keeps_its_momentum():
    """Its centre of mass is not where it turns: in the plane, linear and about the origin."""
    model = _tumbling(Planar())
    robot = rbd.Robot(model)
    simulation = _simulation(model, [0.3, -0.2, 0.5], [1.0, 2.0, 9.0])

    def momentum():
        px, py, own = robot.mass_matrix(simulation.q) @ simulation.v
        x, y, angle = simulation.q
        c, s = np.cos(angle), np.sin(angle)
        along, across = c * px - s * py, s * px + c * py
        return np.array([along, across, own + x * across - y * along])

    before = momentum()
    simulation.advance(1000)
    np.testing.assert_allclose(momentum(), before, rtol=1e-11)


@pytest.mark.parametrize(
    ("v", "ends"),
    [
        ([0.0, 0.0, 0.0, 2.0, 0.0, 0.0], 5.0 / 7.0 * 2.0),  # it slides until it rolls
        ([0.0, 20.0, 0.0, 0.0, 0.0, 0.0], 2.0 / 7.0 * 20.0 * RADIUS),  # it spins until it rolls
        ([0.0, 20.0, 0.0, 2.0, 0.0, 0.0], 2.0),  # it rolls
    ],
)
def test_a_ball_rolls_as_in_the_closed_form(v, ends):
    contact = Contact("floor", "ball", radius=RADIUS, friction_coefficient=0.3)
    simulation = _simulation(_ball(), [0.0, 0.0, RADIUS, 0.0, 0.0, 0.0, 1.0], v, [contact])
    simulation.advance(1500)
    rotation = rotation_from_quaternion(simulation.q[3:])
    np.testing.assert_allclose(rotation @ simulation.v[3:], [ends, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(rotation @ simulation.v[:3], [0.0, ends / RADIUS, 0.0], atol=1e-8)
    np.testing.assert_allclose(simulation.q[2], RADIUS, atol=1e-9)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("method", "expected"), [("explicit_euler", 1), ("semi_implicit_euler", 1), ("rk4", 4)])
def test_order_of_each_method(method, expected, free, monkeypatch):
    from rigs import orders

    monkeypatch.setitem(orders.STEPS, method, 1e-3 if expected == 1 else 8e-3)
    assert abs(orders.order(orders.errors(free, method, 2)) - expected) < 0.15


def test_adaptive_method_keeps_its_tolerances():
    from rigs import orders

    model = orders.system(True)[0]
    exact = orders.reference(True)[0]
    off = [
        np.abs(
            model.difference(
                exact, orders.motion(True, "adaptive", 0.04, relative_tolerance=t, absolute_tolerance=t)[0]
            )
        ).max()
        for t in (1e-3, 1e-6, 1e-9)
    ]
    assert off[0] < 1e-2
    assert off[1] < 1e-5
    assert off[2] < 1e-8
    assert off[0] > 10.0 * off[1] > 100.0 * off[2]


@pytest.mark.parametrize("name", ["relative_tolerance", "absolute_tolerance"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "small"])
def test_tolerances_that_make_no_sense(name, value):
    with pytest.raises(ValueError, match=name):
        SimulationOptions(**{name: value})
