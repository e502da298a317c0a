# SPDX-License-Identifier: Apache-2.0
"""Simulation under constraints: orders of convergence, drift, and what stabilisation does about it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot

import rbd_dynamics as rbd
from rbd_dynamics.constraints import (
    ConstraintSet,
    DistanceConstraint,
    FrameConstraint,
    JointCoupling,
    RollingDisk,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.contacts import Contact
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute, Spherical
from rbd_dynamics.simulation.simulation import INTEGRATORS, Simulation, SimulationDiverged, SimulationOptions

EXPLICIT = [name for name in INTEGRATORS if name != "semi_implicit_euler"]


def particle():
    """A point in space; q = (x, y, z)."""
    builder = rbd.ModelBuilder("particle")
    for k, (name, parent) in enumerate((("x", None), ("y", "x"), ("z", "y"))):
        axis = tuple(float(i == k) for i in range(3))
        builder.add_body(name, parent, Prismatic(axis), **({"mass": 0.7} if name == "z" else {}))
    return builder.build()


def on_sphere(model, alpha=0.0):
    return ConstraintSet(model, [SurfaceConstraint("sphere", "z", surface=Sphere(1.0))], stabilization=alpha)


def swing(integrator, step, seconds=1.0, alpha=0.0, stabilization="none"):
    """The particle on a sphere: (q, v, energy gained, distance from the sphere)."""
    model = particle()
    options = SimulationOptions(step=step, integrator=integrator, start_braked=False, stabilization=stabilization)
    simulation = Simulation(model, q=[1.0, 0.0, 0.0], options=options, constraints=on_sphere(model, alpha))
    simulation.v = np.array([0.0, 1.5, 0.0])
    robot = rbd.Robot(model)

    def energy():
        return float(robot.kinetic_energy(simulation.q, simulation.v) + robot.potential_energy(simulation.q))

    begin = energy()
    simulation.advance(round(seconds / step))
    return simulation.q, simulation.v, energy() - begin, abs(np.linalg.norm(simulation.q) - 1.0)


@pytest.mark.parametrize(("integrator", "order"), [("explicit_euler", 1), ("semi_implicit_euler", 1), ("rk4", 4)])
def test_order_of_convergence(integrator, order):
    """Half the step, the error falls by two to the order."""
    truth, *_ = swing("rk4", 5e-4)
    steps = (8e-3, 4e-3) if order > 1 else (2e-3, 1e-3)
    errors = [np.linalg.norm(swing(integrator, step)[0] - truth) for step in steps]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25 if order > 1 else 0.3)


def test_adaptive_is_as_exact_as_its_tolerance():
    truth, *_ = swing("rk4", 5e-4)
    q, _, energy, off = swing("adaptive", 0.1)
    np.testing.assert_allclose(q, truth, atol=1e-6)
    assert abs(energy) < 1e-6 and off < 1e-6


def test_stabilisation_keeps_the_constraint():
    plain = swing("explicit_euler", 2e-3, 2.0)[3]
    baumgarte = swing("explicit_euler", 2e-3, 2.0, alpha=50.0)[3]
    projected = swing("explicit_euler", 2e-3, 2.0, stabilization="projection")[3]
    assert plain > 10 * baumgarte
    assert projected < 1e-10
    assert swing("rk4", 2e-3, 2.0, stabilization="projection")[3] < 1e-10
    assert swing("semi_implicit_euler", 2e-3, 2.0)[3] < 2e-3  # by its own way


def test_a_rod_is_a_pendulum():
    """The particle on a rod swings as the pendulum of the same length."""
    model = particle()
    rod = ConstraintSet(model, [DistanceConstraint("rod", "z", distance=1.0)])
    options = SimulationOptions(step=1e-3, integrator="rk4", start_braked=False)
    point = Simulation(model, q=[1.0, 0.0, 0.0], options=options, constraints=rod)
    builder = rbd.ModelBuilder("pendulum")
    builder.add_body("bob", None, Revolute((0.0, 1.0, 0.0)), mass=0.7, com=(1.0, 0.0, 0.0))
    pendulum = Simulation(builder.build(), q=[0.0], options=options)
    for simulation in (point, pendulum):
        simulation.advance(1500)
    angle = pendulum.q[0]
    np.testing.assert_allclose(point.q, [np.cos(angle), 0.0, -np.sin(angle)], atol=1e-8)
    pull = 0.7 * (pendulum.v[0] ** 2 + 9.81 * np.sin(angle))
    np.testing.assert_allclose(point.multipliers, [-pull], rtol=1e-7)


@pytest.mark.parametrize("kind", [Spherical(), Floating()])
def test_rk4_keeps_its_order_on_groups(kind):
    """A tumbling body: the error in pose falls with the fourth power; momentum and energy stay."""
    builder = rbd.ModelBuilder("body", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", None, kind, mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    model = builder.build()
    v = np.array([0.2, 4.0, 0.3, 0.5, -0.2, 0.1][: model.nv])

    def end(step):
        simulation = Simulation(model, options=SimulationOptions(step=step, integrator="rk4", start_braked=False))
        simulation.v = v.copy()
        simulation.advance(round(1.0 / step))
        return simulation.q

    truth = end(1e-3)
    errors = [np.linalg.norm(model.difference(truth, end(step))) for step in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_loop_of_a_real_robot_stays_closed(integrator):
    """A UR5 whose tool is held in place: nothing moves the tool, the rest goes on."""
    model = load_robot("ur5_robot", "fixed")
    robot = rbd.Robot(model)
    q = np.array([0.3, -1.0, 1.2, 0.2, 0.5, 0.0])
    T = robot.pose(q, "tool0")
    from rbd_dynamics.spatial.arrays import pose_of

    held = ConstraintSet(
        model,
        [FrameConstraint("held", "tool0", reference_placement=pose_of(T), directions=("x", "y", "z"))],
        stabilization=20.0,
    )
    options = SimulationOptions(
        step=1e-3 if integrator != "adaptive" else 0.05, integrator=integrator, start_braked=False,
        friction=False, effort_limits=False, position_limits=False,
    )  # fmt: skip
    simulation = Simulation(model, q=q, options=options, constraints=held)
    simulation.compile_constraints()
    simulation.advance(round(0.5 / options.step))
    assert np.abs(simulation.v).max() > 0.1
    np.testing.assert_allclose(robot.pose(simulation.q, "tool0")[:3, 3], T[:3, 3], atol=2e-3)


def test_divergence_is_an_error_and_the_last_sound_state_stays():
    model = particle()
    simulation = Simulation(model, q=[1.0, 0.0, 0.0], options=SimulationOptions(step=0.1, integrator="explicit_euler",
        start_braked=False), constraints=on_sphere(model, alpha=1e4))  # fmt: skip
    simulation.v = np.array([0.0, 5.0, 0.0])
    with pytest.raises(SimulationDiverged):
        simulation.advance(10_000)
    assert np.isfinite(simulation.q).all() and np.isfinite(simulation.v).all()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_contact_and_constraint_with_each_method(integrator):
    """A particle falls along a vertical line, as each method has it, and rests on the floor: m g, and the line bears
    its load along x."""
    model = particle()
    line = ConstraintSet(model, [JointCoupling("line", {"x_joint": 1.0})])
    options = SimulationOptions(integrator=integrator, start_braked=False, effort_limits=False)
    floor = Contact("floor", "z", radius=0.1)
    simulation = Simulation(model, q=[0.0, 0.0, 0.12], options=options, constraints=line, contacts=[floor])
    simulation.command([3.0, 0.0, 0.0], np.arange(3))
    simulation.advance(30)
    assert simulation.contact_forces[0, 0] == 0.0
    assert simulation.multipliers == pytest.approx(-3.0)
    simulation.advance(70)
    mass = model.bodies[-1].inertia.mass
    assert simulation.contact_forces[0, 0] == pytest.approx(9.81 * mass, rel=1e-6)
    assert simulation.q[2] == pytest.approx(0.1, abs=1e-6)
    assert simulation.multipliers == pytest.approx(-3.0)


@pytest.mark.parametrize("step", [1e-3, 4e-3])
def test_a_rolling_disk_keeps_its_energy_and_rolls_at_the_configuration_reached(step):
    """Rows without h: brought to zero rates at each step, it would lose 0.25 % of its energy in a second."""
    builder = rbd.ModelBuilder("disk")
    builder.add_body("disk", None, Floating(), mass=2.0, inertia=np.diag([0.045, 0.045, 0.09]))
    model = builder.build()
    robot, of = rbd.Robot(model), ConstraintSet(model, [RollingDisk("roll", "disk", radius=0.3)])
    half = 0.5 * (0.5 * np.pi - 0.3)
    q = robot.project_configuration([0.0, 0.0, 0.3 * np.cos(0.3), np.sin(half), 0.0, 0.0, np.cos(half)], of)
    w = np.array([0.3, 0.5, 8.0])
    A = robot.constraint_rows(q, np.zeros(6), of).A
    v = np.concatenate([w, -np.linalg.solve(A[:, 3:], A[:, :3] @ w)])
    ends = []
    for options in ({"integrator": "semi_implicit_euler", "step": step}, {"integrator": "rk4", "step": 1e-3}):
        moving = Simulation(model, q=q, constraints=of, options=SimulationOptions(start_braked=False, **options))
        moving.v[:] = v
        moving.advance(round(1.0 / options["step"]))
        ends.append((moving.q.copy(), moving.v.copy()))
    (q1, v1), (q2, v2) = ends
    rows = robot.constraint_rows(q1, v1, of)
    assert np.abs(rows.A @ v1).max() < 1e-10 * np.abs(v1).max()
    assert np.abs(rows.h).max() < 10.0 * step**2
    energies = [robot.kinetic_energy(a, b) + robot.potential_energy(a) for a, b in ((q, v), (q1, v1))]
    assert abs(energies[1] / energies[0] - 1.0) < 0.2 * step
    assert v1[2] == pytest.approx(v2[2], rel=0.1 * step), "the spin is that of a method of fourth order"
