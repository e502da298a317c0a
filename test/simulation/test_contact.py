# SPDX-License-Identifier: Apache-2.0
"""Contact with friction and restitution against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.robots import load_robot

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, Plane, Sphere
from rbd_dynamics.contacts import Contact
from rbd_dynamics.model.joints import Floating, Prismatic
from rbd_dynamics.simulation.contact import StepImpulses
from rbd_dynamics.simulation.simulation import Simulation, SimulationOptions
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy

STEP = 1e-3
G = 9.81


def ball(mass=0.6, radius=0.1):
    builder = rbd.ModelBuilder("ball")
    builder.add_body("ball", None, Floating(), mass=mass, inertia=0.4 * mass * radius**2 * np.eye(3))
    return builder.build()


def point(mass=0.6):
    """A block that cannot turn; q = (x, y, z)."""
    builder = rbd.ModelBuilder("point")
    for k, (name, parent) in enumerate((("x", None), ("y", "x"), ("z", "y"))):
        axis = tuple(float(i == k) for i in range(3))
        builder.add_body(name, parent, Prismatic(axis), **({"mass": mass} if name == "z" else {}))
    return builder.build()


def simulate(model, q, contacts, v=None, constraints=None):
    options = SimulationOptions(step=STEP, start_braked=False, position_limits=False)
    simulation = Simulation(model, q=q, options=options, constraints=constraints, contacts=contacts)
    if v is not None:
        simulation.v = np.asarray(v, dtype=float)
    return simulation


AT_REST = [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]


def test_resting_force_is_the_weight():
    simulation = simulate(ball(), AT_REST, [Contact("floor", "ball", radius=0.1, friction_coefficient=0.5)])
    simulation.advance(200)
    np.testing.assert_allclose(simulation.contact_forces, [[0.6 * G, 0.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(simulation.q[2], 0.1, atol=1e-9)


def test_falling_ball_meets_the_floor_without_entering_it():
    simulation = simulate(ball(), [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0], [Contact("floor", "ball", radius=0.1)])
    lowest = 1.0
    for _ in range(600):
        simulation.advance(1)
        lowest = min(lowest, simulation.q[2])
    assert lowest > 0.1 - 1e-6
    assert abs(simulation.v[5]) < 1e-9


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
def test_rebound_height(restitution):
    """From h it rises to e^2 h, but for the size of a step."""
    simulation = simulate(
        ball(), [0.0, 0.0, 1.1, 0.0, 0.0, 0.0, 1.0],
        [Contact("floor", "ball", radius=0.1, restitution=restitution)],
    )  # fmt: skip
    heights = []
    for _ in range(1200):
        simulation.advance(1)
        heights.append(simulation.q[2] - 0.1)
    fall = math.sqrt(2.0 / G)
    after = np.array(heights[round(fall / STEP) + 5 :])
    first = after[: round(2 * restitution * fall / STEP)].max()
    assert first == pytest.approx(restitution**2, rel=0.03)


@pytest.mark.parametrize(("mu", "slides"), [(0.25, True), (0.3, False)])
def test_angle_of_repose(mu, slides):
    """A block on a plane that leans by atan(0.27)."""
    lean = math.atan(0.27)
    plane = Transform.of(rotation_from_rpy(0.0, lean, 0.0), (0.0, 0.0, 0.0))
    contact = Contact("slope", "z", friction_coefficient=mu, radius=1e-3, surface_placement=plane)
    start = 1e-3 * np.array([math.sin(lean), 0.0, math.cos(lean)])
    simulation = simulate(point(), start, [contact])
    simulation.advance(500)
    t = 0.5
    along = np.linalg.norm(simulation.v)
    expected = G * (math.sin(lean) - mu * math.cos(lean)) * t if slides else 0.0
    assert along == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_stopping_distance_of_a_sliding_block():
    simulation = simulate(
        point(), [0.0, 0.0, 1e-3], [Contact("floor", "z", friction_coefficient=0.4)], v=[1.2, 0.9, 0.0]
    )
    simulation.advance(1)
    np.testing.assert_allclose(simulation.contact_forces[0, 0], 0.6 * G, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(simulation.contact_forces[0, 1:]), 0.4 * 0.6 * G, rtol=1e-9)
    simulation.advance(800)
    distance = 1.5**2 / (2 * 0.4 * G)
    np.testing.assert_allclose(np.linalg.norm(simulation.q[:2]), distance, rtol=0.01)
    np.testing.assert_allclose(simulation.q[:2] / np.linalg.norm(simulation.q[:2]), [0.8, 0.6], rtol=1e-6)
    assert np.abs(simulation.v).max() < 1e-9  # it stands, without creep


def test_sliding_ball_begins_to_roll_at_five_sevenths():
    simulation = simulate(
        ball(),
        AT_REST,
        [Contact("floor", "ball", radius=0.1, friction_coefficient=0.3)],
        v=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    )
    simulation.advance(400)
    T = rbd.Robot(ball()).pose(simulation.q, "ball")[:3, :3]
    speed = T @ simulation.v[3:]
    np.testing.assert_allclose(speed[0], 5.0 / 7.0, rtol=1e-2)
    spin = T @ simulation.v[:3]
    np.testing.assert_allclose(spin[1] * 0.1, speed[0], rtol=1e-6)


def test_ball_on_a_ball_rests_on_top():
    top = Contact("top", "ball", surface=Sphere(0.5), radius=0.1, friction_coefficient=0.5)
    simulation = simulate(ball(), [0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0], [top])
    simulation.advance(300)
    np.testing.assert_allclose(simulation.q[:3], [0.0, 0.0, 0.6], atol=1e-9)
    np.testing.assert_allclose(simulation.contact_forces[0, 0], 0.6 * G, rtol=1e-9)


def test_four_feet_share_the_weight():
    builder = rbd.ModelBuilder("table")
    builder.add_body("top", None, Floating(), mass=4.0, inertia=0.2 * np.eye(3))
    feet = [(x, y, -0.5) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
    contacts = [
        Contact(f"foot{k}", "top", friction_coefficient=0.6, placement=Transform.of(p=foot), radius=0.01)
        for k, foot in enumerate(feet)
    ]
    simulation = simulate(builder.build(), [0.0, 0.0, 0.51, 0.0, 0.0, 0.0, 1.0], contacts)
    simulation.advance(200)
    np.testing.assert_allclose(simulation.contact_forces[:, 0].sum(), 4.0 * G, rtol=1e-6)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-7)


def test_constraint_and_contact_together():
    """A Panda, its hand kept upright by constraints, presses on a table by its own weight."""
    model = load_robot("panda", "fixed")
    robot = rbd.Robot(model)
    q = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785, 0.02])
    T = robot.pose(q, "panda_hand_tcp")
    from rbd_dynamics.spatial.arrays import pose_of

    upright = ConstraintSet(
        model, [FrameConstraint("up", "panda_hand_tcp", reference_placement=pose_of(T), directions=("rx", "ry"))]
    )
    table = Transform.of(p=(0.0, 0.0, float(T[2, 3]) - 0.01))
    simulation = simulate(
        model, q, [Contact("table", "panda_hand_tcp", surface=Plane(), radius=0.01, surface_placement=table)],
        constraints=upright,
    )  # fmt: skip
    simulation.command(robot.gravity(q) - robot.jacobian(q, "panda_hand_tcp").T @ (10.0 * np.array(
        [0.0, 0.0, 0.0, *(T[:3, :3].T @ [0.0, 0.0, 1.0])])), np.arange(8))  # fmt: skip
    simulation.advance(1)
    found = simulation.contact_forces[0, 0]
    assert 5.0 < found < 15.0
    A = robot.constraint_rows(simulation.q, simulation.v, upright).A
    np.testing.assert_allclose(A @ simulation.v, 0.0, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_impulses_obey_the_laws_of_contact(seed):
    """Random masses and velocities: no entering, no pulling, friction within its cone and against the slip."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    B = rng.normal(size=(3 * n, 3 * n + 2))
    G_matrix = np.eye(3 * n) + B @ B.T / (3 * n)
    velocity = rng.normal(size=3 * n)
    contacts = [Contact(f"c{k}", "x", friction_coefficient=float(rng.choice([0.0, 0.3]))) for k in range(n)]
    impulses = StepImpulses(contacts, STEP, machine_code=True)(G_matrix, velocity, np.zeros(n), velocity)
    after = (velocity + G_matrix @ impulses.reshape(-1)).reshape(n, 3)
    scale = np.abs(velocity).max()
    for contact, impulse, speed in zip(contacts, impulses, after):
        assert impulse[0] >= 0.0
        assert speed[0] >= -1e-9 * scale
        assert impulse[0] * speed[0] < 1e-9 * scale
        tangent = np.linalg.norm(impulse[1:])
        assert tangent <= contact.friction_coefficient * impulse[0] + 1e-9
        slip = np.linalg.norm(speed[1:])
        if contact.friction_coefficient and impulse[0] > 1e-6 and slip > 1e-3 * scale:
            np.testing.assert_allclose(impulse[1:] @ speed[1:], -tangent * slip, rtol=1e-6)
            np.testing.assert_allclose(tangent, contact.friction_coefficient * impulse[0], rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"friction_coefficient": -0.1}, {"restitution": 1.5}, {"radius": 0.0}, {"friction_coefficient": math.nan}],
)
def test_numbers_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="'c'"):
        Contact("c", "frame", **options)


def test_constraint_holds_while_a_joint_stands_at_its_limit():
    """Two joints that are coupled, and one of them rests on its stop."""
    builder = rbd.ModelBuilder("arm")
    from rbd_dynamics.model.joints import Revolute
    from rbd_dynamics.model.model import Limits

    load = {"mass": 1.0, "com": (0.3, 0.0, 0.0), "inertia": 0.01 * np.eye(3)}
    builder.add_body(
        "upper", None, Revolute((0.0, 1.0, 0.0)), joint_name="a", limits=Limits(lower=-1.0, upper=0.5), **load
    )
    builder.add_body("lower", "upper", Revolute((0.0, 1.0, 0.0)), joint_name="b", placement=(0.6, 0, 0), **load)
    model = builder.build()
    from rbd_dynamics.constraints import JointCoupling

    stuck = ConstraintSet(model, [JointCoupling("stuck", {"b": 1.0}, offset=-0.3)])
    simulation = Simulation(model, q=[0.0, -0.3], options=SimulationOptions(start_braked=False), constraints=stuck)
    simulation.advance(1500)
    np.testing.assert_allclose(simulation.q, [0.5, -0.3], atol=1e-6)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-9)
