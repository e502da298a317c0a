# SPDX-License-Identifier: Apache-2.0
"""Single steps, commands and samples of a simulation, against what they are by definition."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, DistanceConstraint, JointCoupling
from rbd_dynamics.contacts import Contact
from rbd_dynamics.model.joints import Floating, Planar, Prismatic, Revolute, Spherical
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.perturbation import perturb_inertias
from rbd_dynamics.simulation.rollout import check_times, rollout
from rbd_dynamics.simulation.simulation import Simulation, SimulationDiverged, SimulationOptions
from rbd_dynamics.simulation.smooth_methods import displacement_rate
from rbd_dynamics.spatial.se3 import Transform

Q, V = np.array([0.3, 0.4, 0.05]), np.array([0.5, -0.7, 0.2])
TAU = np.array([3.0, -2.0, 1.5])
ALL = np.arange(3)


@pytest.fixture(scope="module")
def model():
    return load_urdf(ARM)


def moving(model, **options):
    """A simulation on its way, its command given."""
    simulation = Simulation(model, q=Q, options=SimulationOptions(**options))
    simulation.v[:] = V
    simulation.command(TAU, ALL)
    return simulation


@pytest.mark.parametrize("kind", [Planar(), Planar((0.6, 0.0, 0.8)), Spherical(), Floating(), Revolute(), Prismatic()])
def test_displacement_moves_as_the_body_does(kind):
    """x(t) in q = q0 * exp(x): a little later, q is where its velocity has brought it."""
    builder = rbd.ModelBuilder("bodies")
    body = {"mass": 1.0, "inertia": 0.1 * np.eye(3)}
    builder.add_body("first", None, Revolute((1.0, 0.0, 0.0)), **body)
    builder.add_body("second", "first", kind, **body)
    model = builder.build()
    rng = np.random.default_rng(2)
    q0, x, v = model.random(rng), 0.8 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    q, h = model.integrate(q0, x), 1e-5
    ahead, behind = (model.difference(q0, model.integrate(q, s * h * v)) for s in (1.0, -1.0))
    np.testing.assert_allclose(displacement_rate(model, x, v), (ahead - behind) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("integrator", ["explicit_euler", "semi_implicit_euler"])
def test_step_of_first_order_is_its_formula(model, integrator):
    h, plain = 1e-3, {"friction": False, "position_limits": False, "effort_limits": False}
    simulation = moving(model, integrator=integrator, step=h, **plain)
    simulation.advance()
    a = Robot(model, friction=False).forward_dynamics(Q, V, TAU)
    np.testing.assert_allclose(simulation.a, a, rtol=1e-9)
    np.testing.assert_allclose(simulation.v, V + h * a, rtol=1e-12)
    speed = V if integrator == "explicit_euler" else V + h * a
    np.testing.assert_allclose(simulation.q, model.integrate(Q, h * speed), rtol=1e-12)
    np.testing.assert_array_equal(simulation.tau, TAU)
    assert simulation.time == h


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_mean_acceleration_is_that_of_the_velocity(model, integrator):
    simulation = moving(model, integrator=integrator, step=0.01, friction=False)
    simulation.advance()
    np.testing.assert_allclose(simulation.a, (simulation.v - V) / 0.01, rtol=1e-9)


def test_friction_is_as_it_is_at_the_velocity_after_the_step(model):
    h = 1e-4
    simulation = moving(model, step=h)
    simulation.advance()
    free = Robot(model, friction=False).inverse_dynamics(Q, V, simulation.a)
    np.testing.assert_allclose(TAU - free, Robot(model).friction_torque(simulation.v), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "adaptive"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_joint_stands_at_either_limit_and_nothing_pulls_it_there(model, integrator, side):
    limits = next(joint.limits for joint in model.joints if joint.name == "slide")
    stop = limits.upper if side > 0 else limits.lower
    options = SimulationOptions(integrator=integrator, friction=False, step=2e-3)
    simulation = Simulation(model.with_gravity((0, 0, 0)), q=[0.0, 0.0, stop - 0.01 * side], options=options)
    simulation.command([0.0, 0.0, 20.0 * side], ALL)
    simulation.advance(150)
    assert simulation.q[2] == pytest.approx(stop, abs=1e-9)
    assert simulation.v[2] == pytest.approx(0.0, abs=1e-6)
    simulation.command([0.0, 0.0, -5.0 * side], ALL)
    simulation.advance(20)
    assert side * (stop - simulation.q[2]) > 1e-3
    free = Simulation(model, q=Q, options=SimulationOptions(position_limits=False))
    free.command([0.0, 0.0, 20.0 * side], ALL)
    free.advance(1500)
    assert side * (free.q[2] - stop) > 0.1


def test_each_option_switches_what_it_says(model):
    pushed = Simulation(model, options=SimulationOptions(effort_limits=False))
    pushed.command([-1000.0], [1])
    pushed.advance()
    np.testing.assert_array_equal(pushed.tau, [0.0, -1000.0, 0.0])
    rubbed, smooth = (moving(model, friction=friction, step=1e-4) for friction in (True, False))
    for simulation in (rubbed, smooth):
        simulation.advance()
    assert np.abs(rubbed.v - smooth.v).max() > 1e-6


@pytest.mark.parametrize(
    ("option", "good", "bad"),
    [
        ("step", (1e-9, 1.0), (0.99e-9, 0.0, np.inf, np.nan, -1.0)),
        ("command_timeout", (0.0, 1.0), (-1e-9, np.inf, np.nan)),
    ],
)
def test_times_of_the_options_have_bounds(option, good, bad):
    for value in good:
        assert getattr(SimulationOptions(**{option: value}), option) == value
    for value in bad:
        with pytest.raises(ValueError, match=option):
            SimulationOptions(**{option: value})


def test_commands_keep_what_they_do_not_name_and_begin_the_time_out_anew(model):
    simulation = Simulation(model, options=SimulationOptions(command_timeout=0.01))
    simulation.command([1.0, 2.0, 3.0], ALL)
    simulation.command([5.0], [1])
    simulation.command(0.5, [2])
    simulation.advance(5)
    np.testing.assert_array_equal(simulation.tau, [1.0, 5.0, 0.5])
    simulation.command([6.0], [0])
    simulation.advance(10)
    assert not simulation.timed_out
    simulation.advance(1)
    assert simulation.timed_out
    simulation.command([7.0], [0])
    assert not simulation.timed_out and simulation.advance(1) == 1
    np.testing.assert_array_equal(simulation.tau, [7.0, 0.0, 0.0])
    simulation.reset()
    simulation.command([], [])
    simulation.advance(1)
    np.testing.assert_array_equal(simulation.tau, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("efforts", "dofs", "reason"),
    [
        ([1.0, 2.0], [0], "efforts has shape"),
        ([1.0, np.nan], [0, 1], "efforts: number 1 is not finite"),
        ([np.inf], [2], "efforts: number 0 is not finite"),
        ([1.0], [3], "dofs .* not indices of degrees of freedom, 0 to 2"),
        ([1.0], [-1], "dofs"),
        ([1.0], [0.0], "dofs"),
        ([[1.0]], [[0]], "dofs"),
    ],
)
def test_wrong_commands_are_refused_and_change_nothing(model, efforts, dofs, reason):
    simulation = Simulation(model)
    with pytest.raises(ValueError, match=reason):
        simulation.command(efforts, dofs)
    assert simulation.braked
    simulation.command([4.0], [2])  # the last one there is
    simulation.advance(1)
    np.testing.assert_array_equal(simulation.tau, [0.0, 0.0, 4.0])


@pytest.mark.parametrize("steps", [-1, 1.0, "1", None])
def test_only_so_many_steps_as_can_be_counted(model, steps):
    simulation = Simulation(model)
    with pytest.raises(ValueError, match="steps"):
        simulation.advance(steps)
    assert simulation.advance(0) == simulation.steps == 0


def test_wrong_start_is_refused(model):
    with pytest.raises(ValueError, match="q has shape"):
        Simulation(model, q=np.zeros((1, 3)))


def test_too_fast_is_not_a_robot_and_names_the_joint(model):
    simulation = Simulation(model, options=SimulationOptions(position_limits=False, friction=False))
    simulation.command(np.zeros(3), ALL)
    simulation.v[:] = [0.0, 0.0, 9.9e3]
    simulation.advance(1)
    simulation.v[:] = [0.0, 0.0, 1.2e4]
    with pytest.raises(SimulationDiverged, match="'slide' reaches a speed of 1.2e\\+04"):
        simulation.advance(1)


def test_all_kernels_are_named_ahead_of_use(model):
    """What the first step needs is said by `robots`: compiled before, nothing is left to do."""
    smooth, exact = SimulationOptions(friction=False), SimulationOptions(friction=False, integrator="rk4")
    assert [kernels for _, kernels in Simulation(model, options=smooth).robots] == [
        ("mass_matrix", "bias", "time_step")
    ]
    assert [kernels for _, kernels in Simulation(model).robots] == [("mass_matrix", "bias"), ("time_step",)]
    assert [kernels for _, kernels in Simulation(model, options=exact).robots] == [
        ("mass_matrix", "bias"), ("forward_dynamics", "rk4_stage")
    ]  # fmt: skip


def pendulum(gravity=-9.81):
    """A mass on two slides and a rod."""
    builder = rbd.ModelBuilder("pendulum", gravity=(0.0, 0.0, gravity))
    builder.add_body("x", None, Prismatic((1.0, 0.0, 0.0)))
    builder.add_body("z", "x", Prismatic((0.0, 0.0, 1.0)), mass=2.0)
    model = builder.build()
    return model, ConstraintSet(model, [DistanceConstraint("rod", "z", distance=1.0)])


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_samples_of_a_rollout_are_those_of_the_simulation(integrator):
    """Energy, force and error of a mass that hangs on a rod and is pushed: statics, and definitions."""
    model, rod = pendulum()
    options = SimulationOptions(step=1e-3, integrator=integrator)
    simulation = Simulation(model, q=[0.0, -1.0], options=options, constraints=rod)
    asked = []

    def efforts(time):
        asked.append(time)
        return np.array([10.0 * time, 0.0])

    samples = list(rollout(simulation, efforts, 0.01, 0.002))
    assert [sample.time for sample in samples] == pytest.approx([0.0, 0.002, 0.004, 0.006, 0.008, 0.01])
    assert asked == pytest.approx(np.arange(10) * 1e-3)
    first, last = samples[0], samples[-1]
    assert first.energy == pytest.approx(-2.0 * 9.81) and first.violation == 0.0
    np.testing.assert_allclose(last.tau, [0.09, 0.0])
    np.testing.assert_allclose(last.multipliers, [2.0 * 9.81 * -1.0], rtol=1e-3)
    np.testing.assert_array_equal(last.q, simulation.q)
    np.testing.assert_array_equal(last.v, simulation.v)
    np.testing.assert_array_equal(last.a, simulation.a)
    np.testing.assert_allclose(last.energy, 2.0 * (0.5 * last.v @ last.v + 9.81 * last.q[1]), rtol=1e-12)
    displaced = Simulation(model, q=[0.0, -1.1], options=options, constraints=rod)
    expected = np.abs(Robot(model).constraint_rows(displaced.q, displaced.v, rod).h).max()
    assert next(rollout(displaced, efforts, 0.01, 0.01)).violation == pytest.approx(expected) != 0.0


@pytest.mark.parametrize("speed", [0.0, 0.3])
def test_a_fifth_of_a_violation_is_taken_back_in_each_step(speed):
    model, rod = pendulum(gravity=0.0)
    simulation = Simulation(model, q=[0.0, -1.1], options=SimulationOptions(start_braked=False), constraints=rod)
    simulation.v[:] = [0.0, speed]
    simulation.advance(1)
    assert -1.0 - simulation.q[1] == pytest.approx(0.08, rel=0.02)  # but for the distance's own curvature


@pytest.mark.parametrize(
    ("times", "count"),
    [
        ((1e-3, 1.0, 1e-3), 1001),  # a sample a step
        ((1e-3, 1.0, 1.0), 2),  # and only the ends
        ((1e-3, 1.0, 0.3), 4),
        ((1e-9, 1.0, 0.5), 3),  # as many steps as there may be
        ((1e-3, 0.0, 1e-3), "duration"),
        ((1e-3, -1.0, 1e-3), "duration"),
        ((1e-3, np.nan, 1e-3), "duration"),
        ((1e-3, np.inf, 1e-3), "duration"),
        ((1e-3, 1.0, 0.9e-3), "sample_period"),
        ((1e-3, 1.0, 1.1), "sample_period"),
        ((1e-3, 1.0, np.nan), "sample_period"),
        ((0.9e-9, 1.0, 0.5), "more than 1e"),
    ],
)
def test_times_of_a_rollout(times, count):
    if isinstance(count, int):
        assert check_times(*times) == count
    else:
        with pytest.raises(ValueError, match=count):
            check_times(*times)


@pytest.mark.parametrize("speed", [0.0, -1.0])
def test_a_mass_on_a_rail_lands(speed):
    """Along a rail at 45 degrees: the floor stops both directions, the rail carries the momentum along x."""
    model, _ = pendulum()
    rail = ConstraintSet(model, [JointCoupling("rail", {"x_joint": 1.0, "z_joint": -1.0})])
    floor = Contact("floor", "z", radius=0.1, friction_coefficient=0.0)
    options = SimulationOptions(step=1e-3, start_braked=False)
    simulation = Simulation(model, q=[0.1, 0.1], options=options, constraints=rail, contacts=[floor])
    simulation.v[:] = speed
    simulation.advance(1)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-9)
    weight, stop = 2.0 * 9.81, 2.0 * -speed / 1e-3
    np.testing.assert_allclose(simulation.contact_forces, [[weight + 2.0 * stop, 0.0, 0.0]], rtol=1e-9)
    np.testing.assert_allclose(simulation.multipliers, [stop], rtol=1e-9, atol=1e-6)


def test_a_trial_step_leaves_no_forces_behind():
    model, rod = pendulum()
    floor = Contact("floor", "z", radius=0.1, surface_placement=Transform.of(p=(0.0, 0.0, -1.1)))
    simulation = Simulation(model, q=[0.0, -1.0], constraints=rod, contacts=[floor])
    simulation.attempt()
    np.testing.assert_array_equal(simulation.multipliers, 0.0)
    np.testing.assert_array_equal(simulation.contact_forces, 0.0)
    simulation.command([], [])
    simulation.advance()
    assert np.abs(simulation.multipliers).max() > 1.0


@pytest.mark.parametrize("contacts", [3, "floor", [None], {"floor": 1}])
def test_contacts_are_contacts(contacts):
    with pytest.raises(TypeError, match="contacts must be a list of Contacts"):
        Simulation(pendulum()[0], contacts=contacts)


def test_constraints_hold_with_projection_under_the_semi_implicit_method_too():
    model, rod = pendulum()
    options = SimulationOptions(stabilization="projection", start_braked=False, step=2e-3)
    simulation = Simulation(model, q=[0.6, -0.8], options=options, constraints=rod)
    simulation.compile_constraints()
    simulation.advance(100)
    assert np.linalg.norm(simulation.q) == pytest.approx(1.0, abs=1e-10)
    assert simulation.q @ simulation.v == pytest.approx(0.0, abs=1e-10)


def test_perturbation_is_within_what_it_says_and_leaves_what_has_no_mass():
    """Mass, moments about the centre of mass, and its shift in radii of gyration, each by up to the fraction."""
    model, _ = pendulum()
    assert perturb_inertias(model, 0.5, seed=1).bodies[0] == model.bodies[0]
    arm, fraction, largest = load_urdf(ARM), 0.2, np.zeros(3)

    def about_com(body):
        of = body.inertia
        com = np.array(of.moment, dtype=float) / of.mass
        xx, xy, xz, yy, yz, zz = np.array(of.rotational, dtype=float)
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return of.mass, com, about_origin - of.mass * (com @ com * np.eye(3) - np.outer(com, com))

    for seed in range(40):
        for one, other in zip(arm.bodies, perturb_inertias(arm, fraction, seed=seed).bodies):
            (m, c, inertia), (m_other, c_other, inertia_other) = about_com(one), about_com(other)
            scale = np.trace(inertia_other) / np.trace(inertia)
            np.testing.assert_allclose(inertia_other, scale * inertia, atol=1e-12)
            radius = np.sqrt(np.trace(inertia) / (2.0 * m))
            off = np.array([abs(m_other / m - 1.0), abs(scale - 1.0), np.abs((c_other - c) / radius).max()])
            assert (off <= fraction + 1e-9).all()
            largest = np.maximum(largest, off)
    assert (largest > 0.9 * fraction).all()
