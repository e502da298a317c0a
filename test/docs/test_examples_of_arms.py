# SPDX-License-Identifier: Apache-2.0
"""Pendulums, arms and a flying arm of examples/ against the printed answers of the sources and other known ones."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, every_backend

from rbd_dynamics import Robot
from rbd_dynamics.analysis.operational_space import effective_inertia, effective_mass
from rbd_dynamics.spatial import rotate_by_quaternion, rotation_from_quaternion
from rbd_dynamics.theory.closed_forms import christoffel_symbols, hamel_equations, lagrange, manipulator_form


def states(seed, *shape, count=20):
    return np.random.default_rng(seed).normal(size=(count, *shape))


# --- pendulum -------------------------------------------------------------------------------------


def test_the_pendulum_has_the_printed_equation_and_energy(example):
    pendulum = example("pendulum")
    robot = pendulum.pendulum()
    q, v, a = states(0, 3, 1).transpose(1, 0, 2)
    tau = pendulum.equation_of_motion(q, a)
    assert_close(robot.inverse_dynamics(q, v, a), tau, 1e-14)
    assert_close(robot.forward_dynamics(q, v, tau), a, 1e-13)
    ours = robot.kinetic_energy(q, v) + robot.potential_energy(q) - robot.potential_energy([0.0])
    assert_close(ours, pendulum.energy(q, v)[:, 0], 1e-14)


@pytest.mark.parametrize("degrees", [5, 60, 120, 170])
def test_the_pendulum_swings_as_elliptic_functions_say(example, degrees):
    pendulum, amplitude = example("pendulum"), np.radians(degrees)
    motion = pendulum.released(amplitude, 1.3 * pendulum.period(amplitude), 3000)
    assert_close(motion.q[:, 0], pendulum.swing(amplitude, motion.times), 1e-9)
    assert pendulum.measured_period(motion) == pytest.approx(pendulum.period(amplitude), rel=1e-10)


def test_a_small_swing_takes_two_pi_root_l_over_g(example):
    pendulum = example("pendulum")
    small = 2 * np.pi * np.sqrt(pendulum.LENGTH / pendulum.GRAVITY)
    assert pendulum.period(1e-5) == pytest.approx(small, rel=1e-10)
    assert pendulum.period(0.2) == pytest.approx(small * (1 + 0.2**2 / 16 + 11 * 0.2**4 / 3072), rel=1e-7)


# --- spherical pendulum ---------------------------------------------------------------------------


def test_the_spherical_pendulum_has_the_printed_terms(example):
    spherical = example("spherical_pendulum")
    robot = spherical.in_angles()
    for phi, theta, phid, thetad in states(1, 4):
        q, v, swap = [phi, theta], [phid, thetad], [1, 0]  # the source's order is (theta, phi)
        M, coriolis, N = spherical.printed_terms(theta, thetad, phid)
        C = spherical.coriolis_matrix(theta, thetad, phid)
        assert_close(robot.mass_matrix(q)[np.ix_(swap, swap)], M, 1e-13)
        assert_close(robot.coriolis(q, v)[swap], coriolis, 1e-12)
        assert_close(robot.coriolis_matrix(q, v)[np.ix_(swap, swap)], C, 1e-12)
        assert_close(C @ [thetad, phid], coriolis, 1e-13)
        assert_close(robot.gravity(q)[swap], N, 1e-13)


def test_a_ball_joint_swings_as_two_angles_do(example):
    spherical, roll_out = example("spherical_pendulum"), example("roll_out").roll_out
    start = (np.radians(70.0), 0.3, 2.0)
    two, ball = spherical.in_angles(), spherical.on_ball_joint()
    angles = roll_out(two, [0.0, start[0]], [start[2], start[1]], 2.0, 4000)
    same = roll_out(ball, *spherical.ball_start(*start), 2.0, 4000)
    bob = -rotate_by_quaternion(same.q, np.array([0.0, 0.0, 1.0]))
    assert_close(bob, spherical.direction(angles.q), 1e-9)
    assert np.abs(same.v[:, 2]).max() < 1e-12  # no spin about the rod
    for robot, motion in ((two, angles), (ball, same)):
        kinetic = robot.kinetic_energy(motion.q, motion.v)
        energy = kinetic + robot.potential_energy(motion.q)
        assert np.ptp(energy) < 1e-9 * kinetic.max()
    L = spherical.momentum_about_vertical(angles.q, angles.v)
    assert np.ptp(L) < 1e-9 * L[0]
    # about the pivot: M v is the momentum in the body, as the pivot is the joint
    spin = np.einsum("nij,nj->ni", ball.mass_matrix(same.q), same.v)
    assert_close(rotate_by_quaternion(same.q, spin)[:, 2], L, 1e-9)


def test_the_spherical_pendulum_turns_where_its_constants_say(example):
    spherical, roll_out = example("spherical_pendulum"), example("roll_out").roll_out
    theta, thetad, phid = np.radians(55.0), 0.8, 2.5
    motion = roll_out(spherical.in_angles(), [0.0, theta], [phid, thetad], 2.0, 2000)
    low, high = spherical.turning_points(theta, thetad, phid)
    heights = np.cos(motion.q[:, 1])
    assert heights.min() == pytest.approx(low, abs=1e-5)
    assert heights.max() == pytest.approx(high, abs=1e-5)
    assert heights.min() > low - 1e-9 and heights.max() < high + 1e-9


def test_the_conical_pendulum_goes_round_at_its_rate(example):
    spherical, roll_out = example("spherical_pendulum"), example("roll_out").roll_out
    theta = 0.9
    rate = spherical.conical(theta)
    start = spherical.ball_start(theta, 0.0, rate)
    motion = roll_out(spherical.on_ball_joint(), *start, 1.0, 1000)
    bob = -rotate_by_quaternion(motion.q, np.array([0.0, 0.0, 1.0]))
    phi = rate * motion.times
    assert_close(bob, spherical.direction(np.stack([phi, np.full(phi.size, theta)], axis=1)), 1e-9)


# --- planar arm with two joints -------------------------------------------------------------------


@every_backend
def test_the_planar_arm_has_the_printed_terms(example, backend):
    planar = example("planar_2r")
    arm = planar.Arm()
    robot = Robot(planar.model(arm), backend=backend)
    for q, v, a, tau in states(2, 4, 2):
        M, C, N = planar.mass_matrix(arm, q), planar.coriolis_matrix(arm, q, v), planar.gravity_torque(arm, q)
        assert_close(robot.mass_matrix(q), M, 1e-14)
        assert_close(robot.gravity(q), N, 1e-13)
        assert_close(robot.coriolis(q, v), C @ v, 1e-13)
        assert_close(robot.coriolis_matrix(q, v), C, 1e-13)
        assert_close(robot.inverse_dynamics(q, v, a), M @ a + C @ v + N, 1e-13)
        assert_close(robot.forward_dynamics(q, v, tau), np.linalg.solve(M, tau - C @ v - N), 1e-13)
        # the shoulder is moved, the elbow swings
        elbow = (tau[1] - C[1] @ v - N[1] - M[1, 0] * a[0]) / M[1, 1]
        found, torque = robot.hybrid_dynamics(q, v, a, tau, [True, False])
        assert_close(found, [a[0], elbow], 1e-13)
        assert_close(torque, [M[0] @ found + C[0] @ v + N[0], tau[1]], 1e-13)


def test_the_planar_arm_has_the_printed_christoffel_symbols(example):
    planar = example("planar_2r")
    rng = np.random.default_rng(3)
    for _ in range(10):
        arm = planar.Arm(*rng.uniform(0.1, 2.0, 8))
        robot = Robot(planar.model(arm), backend="reference")
        q, v = rng.normal(size=(2, 2))
        Gamma = planar.christoffel(arm, q)
        assert_close(christoffel_symbols(robot, q), Gamma, 1e-13)
        assert_close(Gamma @ v, planar.coriolis_matrix(arm, q, v), 1e-14)
        assert_close(lagrange.coriolis_matrix(robot, q, v), planar.coriolis_matrix(arm, q, v), 1e-13)
        assert_close(lagrange.mass_matrix(robot, q), planar.mass_matrix(arm, q), 1e-13)
        # Mdot - 2 C, as printed
        h = planar.constants(arm)[1] * np.sin(q[1])
        rate = h * np.array([[-2 * v[1], -v[1]], [-v[1], 0.0]])
        skew = h * (2 * v[0] + v[1]) * np.array([[0.0, 1.0], [-1.0, 0.0]])
        assert_close(rate - 2 * planar.coriolis_matrix(arm, q, v), skew, 1e-13)


@every_backend
def test_the_forearm_of_the_planar_arm(example, backend):
    planar = example("planar_2r")
    robot = Robot(planar.model(planar.Arm()), backend=backend)
    q, v = np.random.default_rng(2).normal(size=(2, 2))
    far, near = q[0] + q[1], q[1]
    pose = robot.pose(q, "fore")
    np.testing.assert_allclose(pose[:3, 3], [0.7 * np.cos(q[0]), 0.7 * np.sin(q[0]), 0], atol=1e-15)
    turn = [[np.cos(far), -np.sin(far), 0], [np.sin(far), np.cos(far), 0], [0, 0, 1]]
    np.testing.assert_allclose(pose[:3, :3], turn, atol=1e-15)
    J = np.zeros((6, 2))
    J[2] = 1, 1
    J[3:5, 0] = 0.7 * np.sin(near), 0.7 * np.cos(near)
    np.testing.assert_allclose(robot.jacobian(q, "fore"), J, atol=1e-15)
    rate = np.zeros((6, 2))
    rate[3:5, 0] = 0.7 * np.cos(near) * v[1], -0.7 * np.sin(near) * v[1]
    np.testing.assert_allclose(robot.jacobian_dot(q, v, "fore"), rate, atol=1e-15)


# --- arm with three joints ------------------------------------------------------------------------


def test_the_arm_with_three_joints_has_the_printed_terms(example):
    three = example("three_dof_arm")
    arm = three.Arm()
    robot = Robot(three.model(arm), backend="reference")
    for q, v in states(4, 2, 3):
        Gamma, M = three.christoffel(arm, q), three.mass_matrix(arm, q)
        assert_close(christoffel_symbols(robot, q), Gamma, 1e-12)
        assert_close(robot.coriolis_matrix(q, v), Gamma @ v, 1e-12)
        assert_close(robot.mass_matrix(q), M, 1e-13)
        assert_close(lagrange.mass_matrix(robot, q), M, 1e-13)
        assert_close(robot.gravity(q), three.gravity_torque(arm, q), 1e-12)


def test_what_the_source_misprints_of_the_arm_with_three_joints_is_wrong(example):
    """Gamma_112 has to be Gamma_121, and half of dM11/dq2; M22 has to be that of straight rods at q3 = 0."""
    three = example("three_dof_arm")
    arm, q = three.Arm(), np.array([0.4, 0.7, -1.2])
    printed = three.christoffel(arm, q, as_printed=True)
    slip = (arm.moments[1][1] - arm.moments[2][1]) * np.sin(q[1] + q[2]) * np.cos(q[1] + q[2])
    assert printed[0, 0, 1] - printed[0, 1, 0] == pytest.approx(slip, rel=1e-12)
    h = 1e-6 * np.eye(3)[1]
    half = (three.mass_matrix(arm, q + h)[0, 0] - three.mass_matrix(arm, q - h)[0, 0]) / 4e-6
    assert printed[0, 1, 0] == pytest.approx(half, rel=1e-8)
    assert abs(slip) > 1e-2
    off = three.mass_matrix(arm, q, as_printed=True) - three.mass_matrix(arm, q)
    assert off[1, 1] == pytest.approx((arm.masses[1] - arm.masses[2]) * arm.l1**2, rel=1e-12)


# --- RP arm ---------------------------------------------------------------------------------------


@every_backend
def test_the_rp_arm_has_its_closed_form(example, backend):
    rp = example("rp_arm")
    arm = rp.Arm()
    robot = Robot(rp.model(arm), backend=backend)
    for q, v, a in states(5, 3, 2):
        M, C, N = rp.mass_matrix(arm, q[1]), rp.coriolis_matrix(arm, q[1], *v), rp.gravity_torque(arm, *q)
        assert_close(robot.mass_matrix(q), M, 1e-13)
        assert_close(robot.coriolis_matrix(q, v), C, 1e-13)
        assert_close(robot.gravity(q), N, 1e-13)
        assert_close(C @ v, arm.m2 * q[1] * v[0] * np.array([2 * v[1], -v[0]]), 1e-14)
        assert_close(robot.inverse_dynamics(q, v, a), M @ a + C @ v + N, 1e-13)


def test_the_slider_of_the_rp_arm_weighs_m2_along_and_everything_across(example):
    rp = example("rp_arm")
    arm = rp.Arm()
    robot = Robot(rp.model(arm))
    for d in (0.05, 0.3, 1.0):
        assert effective_mass(robot, [0.4, d], "slider", (1, 0, 0)) == pytest.approx(arm.m2, rel=1e-12)
        across = rp.mass_matrix(arm, d)[0, 0] / d**2
        assert effective_mass(robot, [0.4, d], "slider", (0, 1, 0)) == pytest.approx(across, rel=1e-12)
    singular = effective_inertia(robot, [0.4, 0.0], "slider", rows=[3, 4])
    assert singular.rank == 1
    assert_close(np.abs(singular.immovable[:, 0]), [0.0, 1.0], 1e-12)


def test_the_free_rp_arm_flings_its_slider_by_momentum_and_energy(example):
    rp, roll_out = example("rp_arm"), example("roll_out").roll_out
    arm = rp.Arm()
    motion = roll_out(Robot(rp.model(arm, gravity=0.0)), [0.2, 0.1], [6.0, 0.0], 0.8, 1600)
    d, dd = rp.fling(arm, 0.1, 6.0, motion.v[1:, 0])
    assert_close(motion.q[1:, 1], d, 1e-10)
    assert_close(motion.v[1:, 1], dd, 1e-10)


# --- a quadrotor with an arm ----------------------------------------------------------------------


def test_the_flying_arm_obeys_hamels_equations(example):
    floating = example("floating_arm")
    robot = Robot(floating.model())
    rng = np.random.default_rng(6)
    for _ in range(10):
        q, v, a = robot.model.random(rng), rng.normal(size=8), rng.normal(size=8)
        terms, tau = hamel_equations(robot, q, v, a), robot.inverse_dynamics(q, v, a)
        R = rotation_from_quaternion(q[3:7])
        assert_close(np.concatenate([terms.moment, R.T @ terms.force, terms.torque]), tau, 1e-12)
        form = manipulator_form(robot, q, v)
        assert_close(form.acceleration(v, tau[6:], force=np.concatenate([tau[:6], [0.0, 0.0]])), a, 1e-10)


def test_the_flying_arm_keeps_its_momentum_whatever_its_motors_do(example):
    floating = example("floating_arm")
    robot = Robot(floating.model())
    start, v = floating.posture(0.3, 0.2), np.array([1.0, -0.5, 2.0, 0.3, -0.2, 4.0, 1.0, -2.0])  # tumbling
    motion = floating.swing(robot, start, v, 0.6, 1800)
    momentum = robot.momentum(motion.q, motion.v)
    mass = robot.mass_matrix(start)[3, 3]
    fallen = momentum[:, 5] + mass * floating.GRAVITY * motion.times
    for constant in (*momentum[:, :5].T, fallen):
        assert np.ptp(constant) < 1e-8 * np.abs(momentum[0]).max()
    assert_close(robot.center_of_mass(motion.q), floating.parabola(robot, motion), 1e-8)


def test_the_base_turns_against_the_arm_as_momentum_says(example):
    floating = example("floating_arm")
    robot = Robot(floating.model())
    motion = floating.swing(robot, floating.posture(0.3, 0.2), np.zeros(8), 0.6, 1200)
    turned = floating.pitch(motion.q)
    assert np.abs(turned).max() > 0.5
    assert_close(turned, floating.pitch_by_momentum(robot, motion), 1e-7)


def test_the_rotors_hold_the_arm_by_the_balance_of_moments(example):
    floating = example("floating_arm")
    robot = Robot(floating.model())
    for shoulder, elbow in states(7, 2):
        q = floating.posture(shoulder, elbow)
        thrusts, torques = floating.hover(robot, q)
        assert_close(thrusts, floating.known_hover_thrusts(robot, q), 1e-12)
        motors = np.concatenate([np.zeros(6), torques])
        a = robot.forward_dynamics(q, np.zeros(8), motors, f_ext=floating.thrust_wrenches(thrusts))
        assert np.abs(a).max() < 1e-10
        # a tenth more of everything lifts everything at a tenth of g
        a = robot.forward_dynamics(q, np.zeros(8), 1.1 * motors, f_ext=floating.thrust_wrenches(1.1 * thrusts))
        assert_close(a, [0, 0, 0, 0, 0, 0.1 * floating.GRAVITY, 0, 0], 1e-10)
