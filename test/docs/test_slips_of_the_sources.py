# SPDX-License-Identifier: Apache-2.0
"""Slips in the sources, each computed both ways: what holds, and that what is printed does not.

The sources by their numbers in docs/theory.md; docs/theory_map.md lists the slips. Some are tested beside what
they are about: the index of the bracket, the arm with three joints, the tension of a string.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative
from helpers.models.built import robot_of
from helpers.models.robots import random_tree

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, PfaffianRows
from rbd_dynamics.model.joints import Prismatic, Revolute
from rbd_dynamics.simulation.smooth_methods import ExplicitEuler
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.theory import screws
from rbd_dynamics.theory.closed_forms import PoeKinematics, StackedOperators, manipulator_form, mass_matrix_derivatives
from rbd_dynamics.theory.closed_forms.matrices import inertia_matrices

AXES = [(0.6, 0.0, 0.8), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)]


def arm(joints: int = 3, **options: object) -> rbd.Robot:
    """A chain of bodies of random inertia; its last frame is "tool"."""
    return rbd.Robot(robot_of([Revolute(AXES[k % 3]) for k in range(joints)], **options), backend="reference")


def state(robot: rbd.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = robot.model.nv
    return robot.model.random(rng), rng.normal(size=n), rng.normal(size=n)


def differ(one: np.ndarray, other: np.ndarray, least: float = 1e-2) -> None:
    """By more than `least` of their size: no rounding error."""
    assert np.abs(one - other).max() > least * np.abs(one).max()


# --- 000 ------------------------------------------------------------------------------------------


def test_partitioned_equation_of_000_needs_the_other_block() -> None:
    """000 equation 34, as our text has it, multiplies qdd_u with M_uv; it is M_vu = M_uv^T."""
    robot = arm(4)
    q, v, a = state(robot)
    tau, u = np.ones(4), np.array([True, False, True, False])
    M, b = robot.mass_matrix(q), robot.bias(q, v)
    found, _ = robot.hybrid_dynamics(q, v, a, tau, u)

    def solved(block: np.ndarray) -> np.ndarray:
        return np.linalg.solve(M[np.ix_(~u, ~u)], tau[~u] - b[~u] - block @ a[u])

    assert_close(found[~u], solved(M[np.ix_(~u, u)]), 1e-10)
    differ(found[~u], solved(M[np.ix_(u, ~u)]))


# --- 001: kinetic energies ------------------------------------------------------------------------


def test_kinetic_energies_are_quadratic_in_all_rates(example) -> None:
    """001 prints thetad for thetad^2 in two Lagrangians, and in a third thetadd^2, which no velocity enters."""
    pendulum, spherical, disk = (example(name) for name in ("pendulum", "spherical_pendulum", "rolling_disk"))
    rate = 1.7
    inertia = pendulum.MASS * pendulum.LENGTH**2
    energy = pendulum.pendulum().kinetic_energy([0.4], [rate])
    assert energy == pytest.approx(inertia * rate**2 / 2, rel=1e-12)
    assert energy != pytest.approx(inertia * rate / 2, rel=0.1)
    inertia, theta, phid = spherical.MASS * spherical.LENGTH**2, 0.8, 0.9
    energy = spherical.in_angles().kinetic_energy([0.3, theta], [phid, rate])
    turning = (1 - np.cos(theta) ** 2) * phid**2
    assert energy == pytest.approx(inertia * (rate**2 + turning) / 2, rel=1e-12)
    assert energy != pytest.approx(inertia * (rate + turning) / 2, rel=0.1)
    # at rest but for the heading, whatever its acceleration
    energy = disk.upright().kinetic_energy([0.0, 0.0, 0.3, 0.2], [0.0, 0.0, rate, 0.0])
    assert energy == pytest.approx(disk.ABOUT_VERTICAL * rate**2 / 2, rel=1e-12)


def test_the_forearm_turns_with_both_joints(example) -> None:
    """001 prints I2 (thetad1^2 + thetad2^2) / 2 for the planar arm; the printed M is that of (thetad1 + thetad2)^2."""
    planar = example("planar_2r")
    a = planar.Arm()
    q, v = np.array([0.3, 1.1]), np.array([0.8, -1.9])
    c1, s1, c12, s12 = np.cos(q[0]), np.sin(q[0]), np.cos(q.sum()), np.sin(q.sum())
    elbow = v[0] * a.l1 * np.array([-s1, c1])
    moving = a.m1 * (a.r1 * v[0]) ** 2 + a.m2 * np.sum((elbow + v.sum() * a.r2 * np.array([-s12, c12])) ** 2)
    found = v @ planar.mass_matrix(a, q) @ v
    assert found == pytest.approx(moving + a.I1 * v[0] ** 2 + a.I2 * v.sum() ** 2, rel=1e-12)
    assert found != pytest.approx(moving + a.I1 * v[0] ** 2 + a.I2 * (v[0] ** 2 + v[1] ** 2), rel=1e-2)


# --- 001: recursions and closed forms -------------------------------------------------------------


def test_derivative_of_the_mass_matrix_takes_inertias_in_the_base_frame() -> None:
    """001 property 2 has M_l, the inertia in the link's own frame, where its M_ij has M'_l."""
    robot = arm()
    q, _, _ = state(robot)
    poe = PoeKinematics(robot.model)
    xi = np.array([screw[0] for screw in poe.screws])
    steps = [spatial.exp_se3(x * angle) for x, angle in zip(xi, q)]
    own = inertia_matrices(robot.inertial_parameters)
    based = spatial.transform_inertia(poe.home, own)

    def A(i: int, j: int) -> np.ndarray:
        if i < j:
            return np.zeros((6, 6))
        between = np.eye(4)
        for step in steps[j + 1 : i + 1]:
            between = between @ step
        return spatial.adjoint(spatial.pose_inverse(between))

    def slope(inertias: np.ndarray, i: int, j: int, k: int) -> float:
        total = 0.0
        for last in range(max(i, j, k), 3):
            one = A(last, k) @ spatial.ad(A(k, i) @ xi[i]) @ xi[k]
            other = A(last, k) @ spatial.ad(A(k, j) @ xi[j]) @ xi[k]
            total += one @ inertias[last] @ A(last, j) @ xi[j] + xi[i] @ A(last, i).T @ inertias[last] @ other
        return float(total)

    expected = mass_matrix_derivatives(robot, q)
    right, printed = (
        np.array([[[slope(inertias, i, j, k) for k in range(3)] for j in range(3)] for i in range(3)])
        for inertias in (based, own)
    )
    assert_close(right, expected, 1e-10)
    differ(expected, printed)


def test_gravity_enters_as_an_acceleration_upwards() -> None:
    """001 starts the recursion with Vdot_0 = (g, 0), "gravity vector": it has to be minus gravity's acceleration."""
    robot = arm()
    q, _, _ = state(robot)
    stacked = StackedOperators(robot, q)
    torques = [
        stacked.J.T @ (stacked.inertia @ (stacked.G @ (stacked.P0 @ np.array([0, 0, 0, *base]))))
        for base in (-np.array(robot.model.gravity), np.array(robot.model.gravity))
    ]
    assert_close(robot.gravity(q), torques[0], 1e-12)
    assert_close(robot.gravity(q), -torques[1], 1e-12)


def test_wrenches_of_the_next_link_come_back_by_the_inverse() -> None:
    """001's backward recursion is first printed with Ad^T of g_{i,i+1}, then rightly with that of its inverse."""
    robot = arm(2)
    q, v, a = state(robot)
    F = robot.joint_reactions(q, v, a)
    one, two = robot.model.body_names
    relative = np.linalg.inv(robot.pose(q, one)) @ robot.pose(q, two)
    J = robot.jacobian(q, one)
    twist = J @ v
    lift = np.zeros(6)
    lift[3:] = robot.pose(q, one)[:3, :3].T @ -np.array(robot.model.gravity)
    rate = J @ a + robot.jacobian_dot(q, v, one) @ v + lift
    own = spatial.net_wrench(inertia_matrices(robot.inertial_parameters)[0], twist, rate)
    back = spatial.adjoint(spatial.pose_inverse(relative)).T @ F[1]
    assert_close(F[0], own + back, 1e-10)
    differ(F[0], own + spatial.adjoint(relative).T @ F[1])


def test_stacked_coriolis_matrix_of_001_is_not_skew() -> None:
    """C v is right, but v^T (Mdot - 2 C) x is not zero for x = v alone: the matrix is not skew-symmetric."""
    robot = arm()
    q, v, _ = state(robot)
    stacked, Mdot = StackedOperators(robot, q), mass_matrix_derivatives(robot, q) @ v
    printed, even = stacked.coriolis_matrix(v, christoffel=False), stacked.coriolis_matrix(v)
    assert_close(printed @ v, even @ v, 1e-11)
    assert_close(Mdot - 2 * even, -(Mdot - 2 * even).T, 1e-10)
    differ(Mdot - 2 * printed, -(Mdot - 2 * printed).T)


# --- 001: constraints -----------------------------------------------------------------------------


def test_the_printed_projection_of_the_particle_is_none(example) -> None:
    """001 prints -yz for -yx in the second row of P_w: P_w P_w is then not P_w."""
    particle = example("constrained_particle")
    robot = particle.particle()
    q = particle.RADIUS * np.array([0.36, 0.48, 0.8])
    P_w, _ = robot.force_projection(q, particle.sphere(robot))
    assert_close(P_w @ P_w, P_w, 1e-12)
    printed = P_w.copy()
    printed[1, 0] = -q[1] * q[2] / particle.RADIUS**2
    differ(printed, printed @ printed)


def test_the_projection_in_the_contact_depends_on_the_inertia() -> None:
    """001 gives P_w = diag(1, 1, 0, 1, 1, 1) for a hand on a sphere: only if M has no coupling to the normal."""
    builder = rbd.ModelBuilder("hand", gravity=(0.0, 0.0, 0.0))
    builder.add_body("hand", None, rbd.joints.Floating(), mass=0.5, com=(0.05, 0.0, 0.0), inertia=1e-3 * np.eye(3))
    robot = rbd.Robot(builder.build(), backend="reference")
    q = robot.model.neutral()
    normal = ConstraintSet(robot.model, [FrameConstraint("touch", "hand", directions=("z",))])
    P_w, _ = robot.force_projection(q, normal)
    M, A = robot.mass_matrix(q), np.eye(6)[5:]
    assert_close(P_w, np.eye(6) - A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A @ np.linalg.inv(M)), 1e-12)
    differ(P_w, np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]))  # angular part first


def test_a_constrained_lagrangian_misses_what_is_not_integrable() -> None:
    """001 (*): sd = r1 r2d put into L gives r1dd = r1 r2d^2; in truth nothing accelerates r1."""
    builder = rbd.ModelBuilder("particle", gravity=(0.0, 0.0, 0.0))
    parent = None
    for name, axis in (("r1", (1.0, 0.0, 0.0)), ("r2", (0.0, 1.0, 0.0)), ("s", (0.0, 0.0, 1.0))):
        builder.add_body(name, parent, Prismatic(axis), mass=float(name == "s"))
        parent = name
    robot = rbd.Robot(builder.build(), backend="reference")
    rows = PfaffianRows("screw", lambda q: [[0.0, -q[0], 1.0]], labels=("s",))
    r1, r1d, r2d = 0.7, 0.4, -1.3
    q, v = np.array([r1, 0.2, -0.5]), np.array([r1d, r2d, r1 * r2d])
    found = robot.constrained_forward_dynamics(q, v, np.zeros(3), ConstraintSet(robot.model, [rows]))
    # L = (r1d^2 + r2d^2 + sd^2) / 2 with Lagrange-d'Alembert: r1dd = 0, r2dd + r1 sdd = 0
    sdd = r1d * r2d / (1 + r1**2)
    assert_close(found.a, [0.0, -r1 * sdd, sdd], 1e-12)
    constrained_lagrangian = r1 * r2d**2  # d/dt r1d - d/dr1 ((1 + r1^2) r2d^2 / 2) = 0
    assert abs(constrained_lagrangian - found.a[0]) > 1.0


def test_reduced_equations_of_quasi_velocities() -> None:
    """001: v_r' + Gam_r v_r = u_r and Gam_o v_r = u_o + Lam_r^T lambda, V by Gram-Schmidt of Lam^T = W^-1 A^T.

    Printed once with Gam_r^T lambda, which is not even as long, and in the closed loop with +Lam_r^T lambda.
    """
    robot = arm(5)
    of = ConstraintSet(robot.model, [FrameConstraint("held", "tool", directions=("x", "z"))])
    q, v, tau = state(robot, 3)
    v, _, _ = robot.constraint_impulse(q, v, of)
    motion = robot.constrained_forward_dynamics(q, v, tau, of)

    def basis(q: np.ndarray) -> np.ndarray:
        Lam = np.linalg.solve(robot.mass_factor(q), robot.constraint_rows(q, v, of).A.T)
        V, R = np.linalg.qr(np.hstack([Lam, np.eye(5)[:, :3]]))
        return V * np.sign(np.diag(R))  # so that it moves smoothly with q

    def quasi(t: float) -> np.ndarray:
        """V^T W^T qd along the motion."""
        here = q + t * v + t * t / 2 * motion.a
        return basis(here).T @ robot.mass_factor(here).T @ (v + t * motion.a)

    V, W = basis(q), robot.mass_factor(q)
    assert_close(V.T @ V, np.eye(5), 1e-12)
    v_bar, rate = quasi(0.0), derivative(quasi)
    assert np.abs(v_bar[:2]).max() < 1e-10
    Vdot = derivative(lambda t: basis(q + t * v))
    Gam = V.T @ (robot.quasi_velocity_coriolis(q, v) @ V + Vdot)
    u = V.T @ np.linalg.solve(W, tau - robot.gravity(q))
    pull = V[:, :2].T @ np.linalg.solve(W, robot.constraint_rows(q, v, of).A.T) @ motion.multipliers
    assert_close(rate[2:] + Gam[2:, 2:] @ v_bar[2:], u[2:], 1e-7)
    assert_close(Gam[:2, 2:] @ v_bar[2:], u[:2] + pull, 1e-7)
    differ(u[:2] + pull, u[:2] - pull)
    assert len(Gam[2:, 2:]) != len(motion.multipliers)


# --- 002 ------------------------------------------------------------------------------------------


def test_projected_acceleration_lacks_what_the_moving_constraint_asks_for() -> None:
    """002 equation 6: B^-1 P (u - C - G) leaves out -B^-1 A^T (A B^-1 A^T)^-1 Adot qd."""
    robot = arm(5)
    of = ConstraintSet(robot.model, [FrameConstraint("held", "tool", directions=("x", "z"))])
    q, v, u = state(robot, 1)
    v, _, _ = robot.constraint_impulse(q, v, of)
    _, A, Adot_v = robot.constraint_rows(q, v, of)
    P, _ = robot.force_projection(q, of)
    inverse = np.linalg.inv(robot.mass_matrix(q))
    printed = inverse @ P @ (u - robot.bias(q, v))
    whole = printed - inverse @ A.T @ np.linalg.solve(A @ inverse @ A.T, Adot_v)
    found = robot.constrained_forward_dynamics(q, v, u, of).a
    assert_close(found, whole, 1e-9)
    differ(found, printed)
    at_rest = robot.constrained_forward_dynamics(q, 0 * v, u, of).a
    assert_close(at_rest, inverse @ P @ (u - robot.gravity(q)), 1e-9)


def test_articulated_inertias_come_from_the_leaves() -> None:
    """002 starts their recursion at the root, and that of accelerations at the leaves; it is the other way round."""
    plain, tip, base = (
        [handle.A for handle in screws.articulated_tree(model, [0.3, -0.8, 1.1], np.zeros(3), np.zeros(3)).handles]
        for model in (arm().model, with_heavier_body(2), with_heavier_body(0))
    )
    differ(plain[0], tip[0])  # the root's inertia knows the tip's mass
    np.testing.assert_array_equal(plain[2], base[2])  # the tip's does not know the root's


def with_heavier_body(index: int) -> rbd.Model:
    inertias = [body.inertia for body in arm().model.bodies]
    inertias[index] = inertias[index] + inertias[index]
    return arm(inertias=inertias).model


def test_euler_steps_take_the_rate_itself() -> None:
    """002 prints x_k = x_{k-1} + h f'(x_{k-1}); of a slider with damping, v' = f(v) = -v, only f comes near exp(-t)."""
    builder = rbd.ModelBuilder("slider", gravity=(0.0, 0.0, 0.0))
    builder.add_body("slider", None, Prismatic(), mass=1.0, damping=1.0)
    robot, h = rbd.Robot(builder.build(), backend="reference", friction=True), 1e-2
    euler = ExplicitEuler(robot, h, robot.forward_dynamics)
    q, v = np.zeros(1), np.ones(1)
    for _ in range(100):
        q, v, _ = euler.step(q, v, np.zeros(1))
    assert v[0] == pytest.approx((1.0 - h) ** 100, rel=1e-12)
    assert v[0] == pytest.approx(np.exp(-1.0), rel=1e-2)
    with_slope = 1.0 + 100 * h * -1.0
    assert abs(with_slope - np.exp(-1.0)) > 0.3


# --- 003 ------------------------------------------------------------------------------------------


def test_axis_of_percussion_needs_the_inverse() -> None:
    """003 prints T = I s (s^T I s), which has not s^T T = 1."""
    I, s = spatial.inertia_matrix(2.0, [0.1, 0.2, -0.3], np.diag([0.3, 0.4, 0.5])), np.array([[0, 0, 1, 0.2, 0, 0.1]]).T
    T = screws.subspaces(s, I).T
    assert_close(s.T @ T, np.eye(1), 1e-12)
    assert_close(T, I @ s @ np.linalg.inv(s.T @ I @ s), 1e-12)
    differ(np.eye(1), s.T @ (I @ s @ (s.T @ I @ s)))


def test_bias_force_of_003_has_two_signs() -> None:
    """p = (v x)^T I v in f = I a - p, but f_i = f_{i+1} + I a + p: the latter's p, -(v x)^T I v, is the recursions'."""
    robot = arm(2)
    q, v, tau = state(robot)
    tree = screws.articulated_tree(robot.model, q, v, tau)
    tip = tree.states[-1]
    V = robot.jacobian(q, robot.model.body_names[-1]) @ v
    momentum = tip.I @ V
    assert_close(tip.p, -spatial.ad(V).T @ momentum, 1e-12)
    assert_close(spatial.net_wrench(tip.I, V, np.zeros(6)), tip.p, 1e-12)
    differ(tip.p, spatial.ad(V).T @ momentum)


def test_mobility_is_infinite_where_what_is_inboard_moves_no_inertia() -> None:
    """003 marks it "singular ?": a_i = b_i - Y f needs inertia inboard; f = A a + d is always there."""
    model = robot_of([Revolute(), Revolute((1.0, 0.0, 0.0))], massless=[0], placements=[Transform.of()] * 2)
    tree = screws.articulated_tree(model, [0.2, 0.7], [0.0, 0.0], [0.0, 0.0])
    assert np.isfinite(tree.handles[0].A).all()
    with pytest.raises(ArithmeticError, match="no inertia"):
        screws.inboard_mobility(model, tree, 0)


# --- 004 ------------------------------------------------------------------------------------------


def test_product_with_the_conjugate_is_the_transposed_map() -> None:
    """004 prints Q^+ * Qdot = L(Q) Qdot; it is L(Q)^T Qdot, as the lines after it have it."""
    q = spatial.random_quaternion(np.random.default_rng(1))
    rate = spatial.quaternion_rate(q, [0.3, -0.7, 1.1])
    product = spatial.quaternion_product(spatial.quaternion_conjugate(q), rate)
    assert_close(product, spatial.quaternion_left(q).T @ rate, 1e-13)
    differ(product, spatial.quaternion_left(q) @ rate)


def test_coriolis_term_of_the_manipulator_form_takes_velocities() -> None:
    """004's last equation reads C vdot in our text; it is C v."""
    robot = rbd.Robot(random_tree(3, 4, base="floating", kinds=("revolute",)), backend="reference")
    q, v, a = state(robot)
    form = manipulator_form(robot, q, v)
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(form.mass_matrix @ a + form.coriolis_matrix @ v + form.gravity, tau, 1e-10)
    differ(tau, form.mass_matrix @ a + form.coriolis_matrix @ a + form.gravity)


# --- 001, section 4.2 and the examples of 4.5 -------------------------------------------------------


def test_the_rate_that_is_called_y1_is_that_of_y2() -> None:
    """001, planar robot with two joints: l1 c1 + r2 c12 is the height of the forearm's centre, which has its rate."""
    l1, r1, r2 = 0.7, 0.3, 0.4
    theta, rate = np.array([0.4, 0.9]), np.array([0.5, -0.8])

    def heights(t: float) -> np.ndarray:
        first, both = theta[0] + t * rate[0], theta.sum() + t * rate.sum()
        return np.array([r1 * np.sin(first), l1 * np.sin(first) + r2 * np.sin(both)])

    y1, y2 = derivative(heights)
    printed = (l1 * np.cos(theta[0]) + r2 * np.cos(theta.sum())) * rate[0] + r2 * np.cos(theta.sum()) * rate[1]
    assert printed == pytest.approx(y2, rel=1e-8)
    assert abs(printed - y1) > 0.1


def test_tangents_of_the_sphere_have_three_rows() -> None:
    """001, spherical pendulum as a particle: the acceleration along the surface, in two angles."""
    r, (mu, nu), (dmu, dnu), (ddmu, ddnu) = 1.3, (0.4, 1.1), (0.6, -0.7), (0.3, 0.5)

    def place(t: float) -> np.ndarray:
        m, n = mu + t * dmu + 0.5 * t * t * ddmu, nu + t * dnu + 0.5 * t * t * ddnu
        return r * np.array([np.cos(m) * np.cos(n), np.cos(m) * np.sin(n), np.sin(m)])

    h = 1e-4
    acceleration = (place(h) - 2.0 * place(0.0) + place(-h)) / h**2
    normal = place(0.0) / r
    along = acceleration - normal * (normal @ acceleration)
    tangents = r * np.array([
        [-np.sin(mu) * np.cos(nu), -np.sin(nu)], [-np.sin(mu) * np.sin(nu), np.cos(nu)], [np.cos(mu), 0.0],
    ])  # fmt: skip
    rates = np.array([ddmu + np.sin(mu) * np.cos(mu) * dnu**2, np.cos(mu) * ddnu - 2.0 * np.sin(mu) * dmu * dnu])
    np.testing.assert_allclose(tangents @ rates, along, atol=1e-6)
    assert abs((tangents @ rates)[2]) > 0.1  # which the two printed rows do not have
