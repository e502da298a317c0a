# SPDX-License-Identifier: Apache-2.0
"""Constrained systems of examples/ against the printed answers of the sources and other known ones."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close

# --- particles ------------------------------------------------------------------------------------


def test_tension_is_what_the_forces_say_and_not_what_is_printed(example):
    circle = example("particle_on_a_circle")
    robot = circle.particle()
    angle = np.linspace(0.0, 6.0, 20)
    q = circle.LENGTH * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    v = np.linspace(-3, 3, 20)[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    assert_close(circle.tension(robot, q, v), circle.by_forces(q, v), 1e-12)
    lowest = np.array([[0.0, -circle.LENGTH]])
    weight = circle.MASS * circle.GRAVITY
    assert_close(circle.tension(robot, lowest, 0 * lowest), [weight], 1e-12)
    assert_close(circle.printed(lowest, 0 * lowest), [-weight], 1e-12)  # the slip


def test_particle_on_a_sphere_has_the_printed_projection(example):
    particle = example("constrained_particle")
    robot = particle.particle()
    for seed in range(5):
        q = np.random.default_rng(seed).normal(size=3)
        q *= particle.RADIUS / np.linalg.norm(q)
        P_w, rank = robot.force_projection(q, particle.sphere(robot))
        assert rank == 1
        assert_close(P_w, particle.printed_projection(q), 1e-12)


def test_particle_on_a_sphere_moves_as_the_pendulum_in_two_angles(example):
    particle, pendulum = example("constrained_particle"), example("spherical_pendulum")
    motion, other = particle.both(np.radians(60.0), 3.0, 2.0, 4000)
    assert_close(motion.q, particle.RADIUS * pendulum.direction(other.q), 1e-9)
    robot = particle.particle()
    found = robot.constrained_forward_dynamics(motion.q, motion.v, np.zeros(3), particle.sphere(robot))
    assert_close(found.multipliers[:, 0], particle.normal_force(motion.q, motion.v), 1e-8)


# --- rolling --------------------------------------------------------------------------------------


def test_upright_disk_has_the_printed_inertia_and_its_torques_act_independently(example):
    disk = example("rolling_disk")
    robot = disk.upright()
    q = np.array([0.3, -0.2, 0.8, 1.9])
    inertia = np.diag([disk.ABOUT_VERTICAL, disk.ABOUT_AXLE + disk.MASS * disk.RADIUS**2])
    assert_close(disk.reduced_inertia(robot, q), inertia, 1e-13)
    heading, speed = 0.7, 5.0
    v = np.array([disk.RADIUS * np.cos(q[2]) * speed, disk.RADIUS * np.sin(q[2]) * speed, heading, speed])
    tau = np.array([0.0, 0.0, 0.03, -0.02])
    a = robot.constrained_forward_dynamics(q, v, tau, disk.no_slip(robot)).a
    assert_close(a[2:], tau[2:] / np.diag(inertia), 1e-12)


def test_the_coin_rolls_steadily_and_keeps_its_energy(example):
    disk = example("rolling_disk")
    robot = disk.coin()
    for rate, circle in ((2.0, 0.5), (3.0, 0.8), (1.0, 1.5)):
        q, v = disk.steady_start(rate, circle)
        h, A, _ = robot.constraint_rows(q, v, disk.rolling(robot))
        np.testing.assert_allclose(h, 0.0, atol=1e-12)
        np.testing.assert_allclose(A @ v, 0.0, atol=1e-12)
    motion = disk.roll_out(robot, *disk.steady_start(2.0, 0.5), 1.0, 1000, constraints=disk.rolling(robot))
    assert_close(np.hypot(*disk.contact_path(motion).T), np.full(1001, 0.5), 1e-9)
    lean = np.arcsin(disk.spatial.rotation_from_quaternion(motion.q[:, 3:])[:, 2, 2])
    assert_close(lean, np.full(1001, disk.steady_lean(2.0, 0.5)), 1e-9)


@pytest.mark.parametrize("kind", ["sliding", "rolling"])
def test_hand_on_a_ball_touches_where_montana_says(example, kind):
    hand = example("hand_on_a_sphere")
    robot = hand.hand()
    contact, q, v = hand.start(np.array([0.2, 0.0, 0.1, 0.4, 0.5, -0.3]))
    motion = hand.roll_out(robot, q, v, 0.5, 2000, constraints=getattr(hand, kind)(robot))
    off = hand.by_montana(contact, motion)[:, :4] - hand.where_it_touches(motion.q)
    assert np.abs(np.sin(0.5 * off)).max() < 2e-6
    assert_close(np.linalg.norm(motion.q[:, :3], axis=1), np.full(2001, hand.BALL + hand.TIP), 1e-9)


def test_hand_on_a_ball_has_the_printed_projection(example):
    hand = example("hand_on_a_sphere")
    robot = hand.hand()
    _, q, _ = hand.start(np.zeros(6))
    assert_close(hand.projection_in_contact_frame(robot, q), np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), 1e-12)


def test_rolling_without_spin_is_not_integrable(example):
    """Rolled round a closed path of contact points the finger comes back turned."""
    hand = example("hand_on_a_sphere")
    robot = hand.hand()
    _, q, _ = hand.start(np.zeros(6))
    of = hand.rolling(robot, spin=False)
    first = q.copy()
    for push in ([0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, -1, 0, 0], [0, 0, 0, 0, -1, 0]):
        v, _, _ = robot.constraint_impulse(q, 0.1 * np.array(push, float), of)
        q = hand.roll_out(robot, q, v, 0.5, 200, constraints=of).q[-1]
    moved = robot.model.difference(first, q)
    assert np.abs(moved[:3]).max() > 1e-3  # turned, though it was never spun


# --- closed chains --------------------------------------------------------------------------------


def test_five_bar_torques_are_those_of_virtual_work(example):
    five = example("five_bar")
    robot = five.linkage()
    for t in np.linspace(0.0, 1.0, 9):
        state = five.on_circle(robot, t)
        assert_close(five.motor_torques(robot, *state), five.by_virtual_work(robot, *state), 1e-11)
        h, A, Adot_v = robot.constraint_rows(state[0], state[1], five.tips_together(robot, 2))
        np.testing.assert_allclose(h, 0.0, atol=1e-12)
        np.testing.assert_allclose(A @ state[1], 0.0, atol=1e-11)
        np.testing.assert_allclose(A @ state[2] + Adot_v, 0.0, atol=1e-9)


def test_five_rows_are_as_good_as_two(example):
    five = example("five_bar")
    robot = five.linkage()
    q, v, _ = five.on_circle(robot, 0.3)
    found = [
        robot.constrained_forward_dynamics(q, v, np.zeros(4), five.tips_together(robot, 2, directions))
        for directions in (("x", "y"), ("rx", "ry", "x", "y", "z"))
    ]
    assert_close(found[1].a, found[0].a, 1e-12)
    assert [one.rank for one in found] == [2, 2] and len(found[1].multipliers) == 5


def test_parallel_manipulator_has_the_printed_closure_and_one_internal_torque(example):
    three = example("parallel_manipulator")
    robot = three.manipulator()
    q = three.configuration(np.array([0.05, -0.03]))
    h, A, _ = robot.constraint_rows(q, np.zeros(6), three.tips_together(robot, 3))
    np.testing.assert_allclose(h, 0.0, atol=1e-14)
    np.testing.assert_allclose(three.printed_closure(q), 0.0, atol=1e-14)
    # the printed H has the same null space
    H = np.array([
        (three.printed_closure(q + d) - three.printed_closure(q - d)) / 2e-6 for d in 1e-6 * np.eye(6)
    ]).T  # fmt: skip
    null = np.linalg.svd(A)[2][4:]
    np.testing.assert_allclose(H @ null.T, 0.0, atol=1e-8)
    wanted = np.random.default_rng(0).normal(size=6)
    shortest, internal = three.shortest_torque(robot, q, wanted), three.internal_torque(robot, q)
    P_w, _ = robot.force_projection(q, three.tips_together(robot, 3))
    assert_close(P_w @ shortest, P_w @ wanted, 1e-11)
    assert abs(shortest @ internal) < 1e-12
    np.testing.assert_allclose(P_w @ internal, 0.0, atol=1e-12)
    accelerations = [three.tip_acceleration(robot, q, shortest + k * internal) for k in (0.0, 5.0)]
    assert_close(accelerations[1], accelerations[0], 1e-11)


def test_piston_moves_as_the_closed_form_says(example):
    engine = example("piston_and_crank")
    robot = engine.engine()
    for angle in np.linspace(0.0, 6.0, 13):
        a, force, torque = engine.at_constant_speed(robot, angle, 200.0)
        x, xd, xdd = engine.piston(np.asarray(angle), 200.0)
        assert_close(a[2], xdd, 1e-10)
        assert_close(force[0], engine.MASSES["piston"] * xdd, 1e-10)
        q, v = engine.configuration(angle, 200.0)
        power = torque * 200.0  # all goes into kinetic energy
        step = 1e-7
        ahead, behind = (engine.configuration(angle + s * 200.0 * step, 200.0) for s in (1, -1))
        change = (robot.kinetic_energy(*ahead) - robot.kinetic_energy(*behind)) / (2 * step)
        assert power == pytest.approx(float(change), rel=1e-5, abs=1e-3 * abs(robot.kinetic_energy(q, v)))
