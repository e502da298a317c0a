# SPDX-License-Identifier: Apache-2.0
"""Coulomb friction of joints holds exactly, and brakes as closed forms and independent solvers of the same laws say."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.models.mixed_trees import mixed_tree
from helpers.wide import table
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, JointCoupling
from rbd_dynamics.contacts import Contact, ContactSolver
from rbd_dynamics.model.joints import Planar, Prismatic, Revolute
from rbd_dynamics.model.passive_forces import Coulomb, Friction, Spring
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation import BatchSimulation, Simulation, SimulationOptions
from rbd_dynamics.simulation.perturbation import with_joint_friction

MOVING = {"start_braked": False}
G = 9.81


def simulated(model, q, v=None, *, tau=None, quick=True, **options):
    """A simulation on its way, with the kernel of many steps from the first one on, or without it."""
    simulation = Simulation(model, q=np.atleast_1d(q), options=SimulationOptions(**MOVING, **options))
    if v is not None:
        simulation.v[:] = v
    if tau is not None:
        simulation.command(np.atleast_1d(tau), np.arange(model.nv))
    if quick:
        for robot, kernels in simulation.robots:
            robot.compile(*kernels)
    else:
        simulation.quick = None
    return simulation


both_ways = pytest.mark.parametrize("quick", [True, False])


def slider(friction, *, mass=2.0, angle=0.0, passive=(), damping=0.0):
    """A block on a slope that rises by an angle."""
    builder = rbd.ModelBuilder("slider")
    along = Prismatic((np.cos(angle), 0.0, np.sin(angle)))
    builder.add_body("block", None, along, mass=mass, friction=friction, damping=damping, passive=passive)
    return builder.build()


def pendulum(friction):
    """1 kg, 0.5 m from a horizontal axis, with 4.9 N m of weight where it is level."""
    builder = rbd.ModelBuilder("pendulum")
    hinge = Revolute((0.0, -1.0, 0.0))
    builder.add_body("bob", None, hinge, mass=1.0, com=(0.5, 0.0, 0.0), inertia=0.02 * np.eye(3), friction=friction)
    return builder.build()


@both_ways
@pytest.mark.parametrize("step", [1e-5, 1e-3, 0.1])
def test_what_friction_can_hold_does_not_move_at_all(step, quick):
    """20 N m under 4.9 N m, and one part in a thousand below and above what holds."""
    simulation = simulated(pendulum(20.0), 0.0, step=step, quick=quick)
    simulation.advance(1000)
    assert simulation.q[0] == simulation.v[0] == 0.0
    weight = G * 0.5
    held, falls = (simulated(pendulum(part * weight), 0.0, step=step, quick=quick) for part in (1.001, 0.999))
    for each in (held, falls):
        each.advance(1)
    assert held.q[0] == 0.0
    assert falls.v[0] == pytest.approx(-0.001 * weight / 0.27 * step, rel=1e-9)


@pytest.mark.parametrize("angle", [0.3, -0.3])
def test_a_block_on_a_slope(angle):
    """It is thrown up, comes to rest after v / (g sin + c / m), and stays, or slides down with g sin - c / m."""
    h, m, speed = 1e-4, 2.0, 1.5 * np.sign(angle)
    pull = m * G * np.sin(0.3)
    for c, stays in ((1.2 * pull, True), (0.4 * pull, False)):
        simulation = simulated(slider(c, angle=angle), 0.0, speed, step=h)
        brakes = (pull + c) / m
        steps = round(abs(speed) / brakes / h)
        simulation.advance(steps + 1)
        assert abs(simulation.q[0]) == pytest.approx(speed**2 / (2.0 * brakes), abs=0.51 * abs(speed) * h)
        at_rest = simulation.q[0]
        simulation.advance(2000)
        if stays:
            assert (simulation.q[0], simulation.v[0]) == (at_rest, 0.0)
        else:
            late = (1 - (abs(speed) / brakes / h - steps)) * h  # of the first step, what is left after the rest
            down = (pull - c) / m * (2000 * h + late)
            assert simulation.v[0] == pytest.approx(-np.sign(angle) * down, rel=1e-3)


def test_a_spring_loses_the_same_with_each_half_swing_and_stops():
    """The amplitude falls by 2 c / k with each half swing, until the spring has less than c: at rest for ever."""
    k, m, c, h = 50.0, 2.0, 3.0, 1e-4
    simulation = simulated(slider(c, mass=m, passive=(Spring(k),)), 1.0, step=h)
    half = np.pi * np.sqrt(m / k)
    expected, swings = 1.0, 0
    while abs(expected) > c / k:
        simulation.advance(round((swings + 1) * half / h) - simulation.steps)
        expected = -np.sign(expected) * (abs(expected) - 2.0 * c / k)
        swings += 1
        assert simulation.q[0] == pytest.approx(expected, abs=2e-4)
    assert swings == 8
    simulation.advance(20)
    at_rest = simulation.q[0]
    simulation.advance(20_000)
    assert (simulation.q[0], simulation.v[0]) == (at_rest, 0.0)


def test_a_pendulum_comes_to_rest_when_an_event_driven_integration_says():
    """`solve_ivp` from one rest to the next; it stops where the weight's torque is less than the friction."""
    model, c, h = pendulum(0.5), 0.5, 1e-4
    inertia, weight = 0.02 + 0.25, 0.5 * G

    def rate(_, y, way):
        return [y[1], (-weight * np.cos(y[0]) - way * c) / inertia]

    def at_rest(_, y, way):
        return y[1]

    angle, time, way = 0.0, 0.0, -1.0
    at_rest.terminal = True
    while abs(weight * np.cos(angle)) > c:
        at_rest.direction = -way
        begin = [angle, way * 1e-12]
        part = solve_ivp(rate, (0.0, 10.0), begin, args=(way,), events=at_rest, rtol=1e-11, atol=1e-12)
        angle, time, way = part.y[0, -1], time + part.t[-1], -way
    simulation = simulated(model, 0.0, step=h)
    simulation.advance(round(time / h) - 100)
    assert simulation.v[0] != 0.0
    simulation.advance(200)
    assert simulation.v[0] == 0.0
    assert simulation.q[0] == pytest.approx(angle, abs=3e-4)
    rest = simulation.q[0]
    simulation.advance(10_000)
    assert simulation.q[0] == rest


def test_stick_and_slip_of_a_block_that_a_spring_draws():
    """The spring's end goes with V, and begins A beyond what friction holds. With w^2 = k / m the block moves as
    x = A (1 - cos w t) + V t - V / w sin w t until tan(w t / 2) = -A w / V, and stands until the spring has c again."""
    k, m, c, h = 200.0, 2.0, 4.0, 1e-4
    beyond, speed = 0.01, 0.05
    simulation = simulated(slider(c, mass=m), 0.0, step=h)
    positions = [0.0]
    for step in range(6500):
        simulation.command([c + k * (beyond + speed * (step + 1) * h - simulation.q[0])], [0])
        simulation.advance(1)
        positions.append(simulation.q[0])
    w = np.sqrt(k / m)
    turn = 2.0 * np.pi - 2.0 * np.arctan(beyond * w / speed)
    slip = beyond * (1.0 - np.cos(turn)) + speed / w * (turn - np.sin(turn))
    until = (slip - beyond) / speed  # the spring has c where its end is so far ahead
    stands = np.flatnonzero(np.diff(positions) == 0.0)
    assert stands[0] * h == pytest.approx(turn / w, abs=3 * h)
    assert stands[-1] * h == pytest.approx(until, abs=1e-2 * until)
    assert (np.diff(stands) == 1).all()
    assert positions[stands[0]] == pytest.approx(slip, rel=2e-3)


@both_ways
def test_the_speed_of_a_mimic_counts_for_its_own_friction(quick):
    """A joint that turns three times as fast with 2 N m holds 6 N m at its leader."""
    builder = rbd.ModelBuilder("pair")
    inertia = {"inertia": 0.01 * np.eye(3), "mass": 0.1}
    builder.add_body("first", None, Revolute((0, 0, 1.0)), joint_name="a", friction=1.0, **inertia)
    follows = rbd.Mimic("a", multiplier=-3.0)
    builder.add_body("second", None, Revolute((0, 0, 1.0)), friction=2.0, mimic=follows, **inertia)
    model = builder.build()
    for torque, moves in ((6.99, False), (-6.99, False), (7.01, True)):
        simulation = simulated(model, 0.0, tau=torque, quick=quick)
        simulation.advance(10)
        assert bool(simulation.v[0]) == moves


def law_by_minimisation(M, right, v, h, level, lower, upper):
    """v' of a step by all the cases there are: the convex function that it minimises decides, not the laws."""
    n = len(v)
    inverse_free = M @ v + h * right
    best, least = None, np.inf

    def cost(x):
        return 0.5 * x @ M @ x - inverse_free @ x + h * level @ np.abs(x)

    for kinds in itertools.product(range(5), repeat=n):
        fixed = [{0: 0.0, 1: lower[i], 2: upper[i]}.get(kind) for i, kind in enumerate(kinds)]
        if any(x is not None and not np.isfinite(x) for x in fixed):
            continue
        free = [i for i in range(n) if fixed[i] is None]
        x = np.array([0.0 if value is None else value for value in fixed])
        push = inverse_free - h * level * np.array([{3: 1.0, 4: -1.0}.get(kind, 0.0) for kind in kinds])
        if free:
            held = [i for i in range(n) if i not in free]
            x[free] = np.linalg.solve(M[np.ix_(free, free)], push[free] - M[np.ix_(free, held)] @ x[held])
        if (x >= lower - 1e-13).all() and (x <= upper + 1e-13).all() and cost(x) < least:
            best, least = x, cost(x)
    return best


@both_ways
@pytest.mark.parametrize("seed", table(range(6), range(3)))
def test_a_step_of_an_arm_is_the_minimum_over_all_cases(seed, quick):
    """Four coupled joints, sliding, held, at and beyond their stops, with damping: 5^4 cases by themselves."""
    rng = np.random.default_rng(seed)
    model = mixed_tree(seed, 4, ["revolute", "prismatic"])
    limits = [rbd.Limits(lower=a, upper=b) for a, b in np.sort(rng.normal(scale=0.3, size=(4, 2)))]
    bodies = tuple(
        replace(body, joint=replace(body.joint, friction=rng.uniform(0, 4) * (k != seed % 5), damping=rng.uniform(0, 2),
                                    limits=limits[k], mimic=None))
        for k, body in enumerate(model.bodies)
    )  # fmt: skip
    model = replace(model, bodies=bodies)
    robot, h = Robot(model), 0.01
    simulation = simulated(model, np.zeros(4), step=h, effort_limits=False, quick=quick)
    for _ in range(6):
        q, v = rng.normal(scale=0.3, size=4), rng.choice([0.0, 0.02, 1.0]) * rng.normal(size=4)
        tau = 5.0 * rng.normal(size=4)
        simulation.reset()
        simulation.q, simulation.v = q.copy(), v.copy()
        simulation.command(tau, np.arange(4))
        simulation.advance(1)
        damping = np.diag([joint.damping for joint in model.joints])
        M = robot.mass_matrix(q) + h * damping
        right = tau - robot.bias(q, v) - damping @ v
        level = np.array([joint.friction for joint in model.joints])
        expected = law_by_minimisation(M, right, v, h, level, (model.lower - q) / h, (model.upper - q) / h)
        np.testing.assert_allclose(simulation.v, expected, rtol=1e-9, atol=1e-9)
        assert not (simulation.v[(expected == 0.0)]).any()


def lowest_power(M, momentum, h, level, A, wanted):
    """v that minimises v M v / 2 - v momentum + h level |v| with A v = wanted: by a quadratic program of SciPy's.

    |v| as the sum of what is above and below zero.
    """
    n = len(momentum)
    H = np.block([[M, -M], [-M, M]])
    linear = h * np.concatenate([level, level]) - np.concatenate([momentum, -momentum])
    A2 = np.hstack([A, -A])
    start = np.linalg.lstsq(A, wanted, rcond=None)[0]
    scale = 1.0 / max(1e-12, np.abs(linear).max())
    found = minimize(
        lambda x: scale * (0.5 * x @ H @ x + linear @ x), np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)]),
        jac=lambda x: scale * (H @ x + linear), bounds=[(0.0, None)] * (2 * n), method="SLSQP",
        constraints={"type": "eq", "fun": lambda x: A2 @ x - wanted, "jac": lambda x: A2},
        options={"maxiter": 500, "ftol": 1e-18},
    )  # fmt: skip
    return found.x[:n] - found.x[n:]


def five_bar(friction):
    """Two arms of two links each that are joined at their tips, with the same friction at each of the four hinges."""
    builder = rbd.ModelBuilder("five_bar", gravity=(0.0, -G, 0.0))
    rod = {"mass": 0.6, "com": (0.2, 0, 0), "inertia": 0.008 * np.eye(3), "friction": friction}
    for k, x in enumerate((-0.15, 0.15)):
        builder.add_body(f"upper{k}", None, Revolute((0, 0, 1)), placement=(x, 0, 0), **rod)
        builder.add_body(f"lower{k}", f"upper{k}", Revolute((0, 0, 1)), placement=(0.4, 0, 0), **rod)
        builder.add_frame(f"tip{k}", f"lower{k}", placement=(0.4, 0, 0))
    model = builder.build()
    tips = [FrameConstraint("tips", "tip1", "tip0", directions=("x", "y"))]
    q = Robot(model).project_configuration(np.array([2.4, -1.6, np.pi - 2.4, 1.6]), tips)
    return model, ConstraintSet(model, tips), q


@pytest.mark.parametrize("seed", range(4))
def test_friction_within_a_closed_loop_is_the_minimum_that_the_loop_allows(seed):
    rng, h = np.random.default_rng(seed), 5e-3
    model, loop, q = five_bar(0.8)
    robot = Robot(model)
    A = robot.constraint_rows(q, np.zeros(4), loop).A
    options = SimulationOptions(step=h, **MOVING)
    for size in (0.0, 0.01, 0.5):
        v = size * (np.eye(4) - np.linalg.pinv(A) @ A) @ rng.normal(size=4)
        tau = 2.0 * rng.normal(size=4)
        simulation = Simulation(model, q=q, options=options, constraints=loop)
        simulation.v[:] = v
        simulation.command(tau, np.arange(4))
        simulation.advance(1)
        momentum = robot.mass_matrix(q) @ v + h * (tau - robot.bias(q, v))
        expected = lowest_power(robot.mass_matrix(q), momentum, h, np.full(4, 0.8), A, np.zeros(2))
        moved = (simulation.q - q) / h  # the velocity of the step, before it is put on the loop where that has gone
        np.testing.assert_allclose(moved, expected, atol=1e-5)


def test_a_closed_loop_that_friction_holds_stands_for_ever():
    model, loop, q = five_bar(4.0)
    simulation = Simulation(model, q=q, options=SimulationOptions(**MOVING), constraints=loop)
    simulation.advance(200)
    before = simulation.q.copy()
    simulation.advance(1000)
    np.testing.assert_allclose(simulation.q, before, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-13)
    weak, loop, q = five_bar(0.1)
    falling = Simulation(weak, q=q, options=SimulationOptions(**MOVING), constraints=loop)
    falling.advance(200)
    assert np.abs(falling.q - q).max() > 0.1


def test_contacts_loops_and_joints_share_what_pushes():
    """A mass on a rail at 45 degrees is pressed on the floor by a slide that rubs: of 30 N the slide's friction holds
    5 N, contact and rail carry the rest; lifted by 24.61 N, less than weight and friction, it stands as well."""
    builder = rbd.ModelBuilder("pendulum")
    builder.add_body("x", None, Prismatic((1.0, 0.0, 0.0)))
    builder.add_body("z", "x", Prismatic((0.0, 0.0, 1.0)), mass=2.0, friction=5.0)
    model = builder.build()
    rail = ConstraintSet(model, [JointCoupling("rail", {"x_joint": 1.0, "z_joint": -1.0})])
    floor = [Contact("floor", "z", radius=0.1, friction_coefficient=0.0)]
    simulation = Simulation(model, q=[0.1, 0.1], options=SimulationOptions(**MOVING), constraints=rail, contacts=floor)
    weight = 2.0 * G
    for lift, carried in ((-30.0, (weight + 25.0, weight + 30.0)), (weight + 4.99, (0.0, 1e-9))):
        simulation.command([0.0, lift], [0, 1])
        simulation.advance(100)
        np.testing.assert_allclose(simulation.v, 0.0, atol=1e-12)
        np.testing.assert_allclose(simulation.q, 0.1, atol=1e-12)
        assert carried[0] - 1e-6 <= simulation.contact_forces[0, 0] <= carried[1] + 1e-6
    simulation.command([0.0, weight + 5.1], [0, 1])
    simulation.advance(100)
    np.testing.assert_allclose(simulation.v, 0.1 * 0.1 / 4.0, rtol=1e-6)  # both slides: twice the mass


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("machine_code", [True, False])
def test_contacts_and_joints_obey_their_laws_together(cone, machine_code):
    """Random problems, also redundant ones: forces against the laws themselves, written out."""
    rng = np.random.default_rng(7)
    for n, m, rank in ((0, 4, 4), (0, 6, 5), (2, 3, 9), (3, 4, 8), (1, 1, 4)):
        solver = ContactSolver(n, cone=cone, joints=m, machine_code=machine_code)
        size = 3 * n + m
        rows = rng.normal(size=(size, rank))
        solver.delassus[:], solver.free[:] = rows @ rows.T, rows @ rng.normal(size=rank)
        solver.friction[:] = 0.4
        solver.joints.level[:] = rng.choice([0.0, 0.3, 2.0], m)
        solver.joints.lower[:], solver.joints.upper[:] = rng.choice([-0.2, -np.inf], m), rng.choice([0.1, np.inf], m)
        assert solver.solve(tolerance=1e-12)
        u, f = solver.delassus @ solver.forces + solver.free, solver.forces
        for k in range(m):
            v, push, c = u[3 * n + k], f[3 * n + k], solver.joints.level[k]
            lower, upper = solver.joints.lower[k], solver.joints.upper[k]
            assert lower - 1e-9 <= v <= upper + 1e-9
            if lower + 1e-9 < v < upper - 1e-9:
                assert abs(push) <= c + 1e-9
                assert abs(v) < 1e-9 or push == pytest.approx(-np.sign(v) * c, abs=1e-9)
            else:
                inwards = 1.0 if v < 0.5 * (max(lower, -1.0) + min(upper, 1.0)) else -1.0
                assert inwards * push >= (c if v * inwards < 0.0 else -c) - 1e-9
        for k in range(n):
            normal, slip = f[3 * k], u[3 * k + 1 : 3 * k + 3]
            assert normal >= -1e-12 and u[3 * k] >= -1e-8 and abs(normal * u[3 * k]) < 1e-8
            if cone == "elliptic":
                assert np.hypot(*f[3 * k + 1 : 3 * k + 3]) <= 0.4 * normal + 1e-8
                if np.hypot(*slip) > 1e-7:
                    expected = -0.4 * normal * slip / np.hypot(*slip)
                    np.testing.assert_allclose(f[3 * k + 1 : 3 * k + 3], expected, atol=1e-6)


@pytest.mark.parametrize("integrator", ["explicit_euler", "rk4", "adaptive"])
def test_methods_that_cannot_hold_a_joint_refuse_and_name_it(integrator):
    model = load_urdf(ARM)
    with pytest.raises(ValueError, match=f"{integrator}' cannot hold joint 'shoulder' by its Coulomb friction of 0.6"):
        Simulation(model, options=SimulationOptions(integrator=integrator))
    Simulation(model, options=SimulationOptions(integrator=integrator, friction=False)).attempt()
    viscous = with_joint_friction(model, friction=dict.fromkeys(model.joint_names, 0.0))
    Simulation(viscous, options=SimulationOptions(integrator=integrator)).attempt()
    builder = rbd.ModelBuilder("passive")
    builder.add_body("bob", None, Revolute(), mass=1.0, inertia=np.eye(3), passive=(Coulomb(1.0),))
    with pytest.raises(ValueError, match="'bob_joint'"):
        Simulation(builder.build(), options=SimulationOptions(integrator=integrator))


def test_a_mobile_base_that_rubs_stands_exactly():
    """A planar joint to the world, which moves freely without friction and carries its momentum with it."""
    builder = rbd.ModelBuilder("base")
    builder.add_body("base", None, Planar(), mass=3.0, inertia=0.1 * np.eye(3), friction=4.0)
    builder.add_body("arm", "base", Revolute((0, 0, 1.0)), mass=0.5, com=(0.3, 0, 0), inertia=0.01 * np.eye(3))
    model = builder.build()
    simulation = Simulation(model, options=SimulationOptions(**MOVING))
    simulation.command([0.5], [3])
    simulation.advance(100)
    np.testing.assert_array_equal(simulation.v[:3], 0.0)
    np.testing.assert_allclose(simulation.v[3], 0.5 / (0.01 + 0.5 * 0.09) * 0.1, rtol=1e-9)


@pytest.mark.parametrize("count", [1, 64])
def test_rollouts_stick_and_slip_as_single_simulations_do(count):
    model = with_joint_friction(
        load_urdf(ARM), friction={"shoulder": 3.0, "elbow": 1.0, "slide": 2.0}, damping={"elbow": 0.3}
    )
    rng = np.random.default_rng(3)
    tau = np.repeat(rng.normal(scale=6.0, size=(count, 10, 3)), 20, axis=1)
    options = SimulationOptions(**MOVING)
    found = BatchSimulation(model, options=options).run(np.zeros(3), np.zeros((count, 3)), tau, 200)
    for k in range(0, count, 21):
        one = Simulation(model, q=np.zeros(3), options=options)
        one.quick = None
        for step in range(200):
            one.command(tau[k, step], np.arange(3))
            one.advance(1)
            np.testing.assert_allclose(found.v[k, step + 1], one.v, rtol=0.0, atol=1e-8)
    assert (found.v[:, 1:] == 0.0).any() and (found.v[:, 1:] != 0.0).any()


class Drag(Friction):
    """What is neither viscous nor dry: the step repeats until it fits the velocity."""

    name = "test_drag"

    def resistance(self, v):
        return 2.0 * v * v * v


@both_ways
def test_other_friction_acts_beside_what_is_dry(quick):
    h = 1e-4
    model = slider(1.0, passive=(Drag(),))
    simulation = simulated(model, 0.0, 1.5, step=h, quick=quick)
    simulation.advance(1)
    v = float(simulation.v[0])
    assert 2.0 * (1.5 - v) / h == pytest.approx(1.0 + 2.0 * v**3, rel=1e-6)
    simulation.v[:] = 1e-3
    simulation.advance(30)
    assert simulation.v[0] == 0.0
