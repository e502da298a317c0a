# SPDX-License-Identifier: Apache-2.0
"""Equations of the sources as they are printed, where no other test has them in that form (docs/theory_map.md)."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative, rotor_inertia
from helpers.models.built import moderate_state, name_of, robot_of, some_trees

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.constraints import ConstraintSet, PfaffianRows
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.model.model import Model
from rbd_dynamics.theory.closed_forms import StackedOperators
from rbd_dynamics.theory.closed_forms.matrices import inertia_matrices

# --- twists as matrices ---------------------------------------------------------------------------


@pytest.fixture
def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A pose and two twists."""
    rng = np.random.default_rng(3)
    X, Y, Z = rng.normal(size=(3, 6))
    return spatial.exp_se3(Z), X, Y


def test_adjoint_actions_are_products_of_matrices(numbers) -> None:
    """000 equations 4 to 7: T^-1, and Ad_T X = T X T^-1 of 4 x 4 matrices."""
    T, X, _ = numbers
    assert_close(spatial.pose_inverse(T), np.linalg.inv(T), 1e-13)
    assert_close(spatial.vee_se3(T @ spatial.hat_se3(X) @ np.linalg.inv(T)), spatial.adjoint(T) @ X, 1e-13)
    assert_close(spatial.transform_twist(T, X), spatial.adjoint(T) @ X, 1e-13)


def test_brackets_are_commutators_and_go_along_with_frames(numbers) -> None:
    """001 section 4: [X, Y] = X Y - Y X = ad_X Y; property 3: Ad_g ad_X = ad_{Ad_g X} Ad_g."""
    T, X, Y = numbers
    A, B = spatial.hat_se3(X), spatial.hat_se3(Y)
    assert_close(spatial.vee_se3(A @ B - B @ A), spatial.ad(X) @ Y, 1e-13)
    Ad = spatial.adjoint(T)
    assert_close(Ad @ spatial.ad(X), spatial.ad(Ad @ X) @ Ad, 1e-12)


def test_body_twist_is_the_inverse_pose_times_its_rate(numbers) -> None:
    """000 equation 9, of a frame on a robot."""
    robot = rbd.Robot(
        robot_of([Revolute((0.6, 0.0, 0.8)), Prismatic(), Revolute((1.0, 0.0, 0.0))]), backend="reference"
    )
    q, v = np.array([0.3, -0.4, 1.9]), np.array([1.1, 0.5, -0.7])
    rate = derivative(lambda t: robot.pose(q + t * v, "tool"))
    assert_close(spatial.vee_se3(np.linalg.inv(robot.pose(q, "tool")) @ rate), robot.jacobian(q, "tool") @ v, 1e-9)


def test_inertia_in_the_world_turns_with_the_body() -> None:
    """002: H = R H_L R^T, Hdot = [w] H - H [w], and d/dt (H w) = [w] H w + H wdot."""
    rng = np.random.default_rng(4)
    R0, w, wdot, local = spatial.exp_so3(rng.normal(size=3)), *rng.normal(size=(2, 3)), np.diag([1.0, 2.0, 2.5])

    def H(t: float) -> np.ndarray:
        R = spatial.exp_so3(t * w + t * t / 2 * wdot) @ R0
        return R @ local @ R.T

    here, turn = H(0.0), spatial.hat(w)
    assert_close(derivative(H), turn @ here - here @ turn, 1e-9)
    torque = derivative(lambda t: H(t) @ (w + t * wdot))
    assert_close(torque, turn @ here @ w + here @ wdot, 1e-9)
    inertia = spatial.inertia_matrix(1.0, np.zeros(3), local)  # the same, seen from the body
    in_body = spatial.net_wrench(inertia, [*(R0.T @ w), 0, 0, 0], [*(R0.T @ wdot), 0, 0, 0])
    assert_close(R0 @ in_body[:3], torque, 1e-9)


# --- stacked form ---------------------------------------------------------------------------------

CONSTANT = [Revolute((0.6, 0.0, 0.8)), Prismatic((0.0, 1.0, 0.0)), Revolute((1.0, 0.0, 0.0))]
CHAIN, TREE = robot_of(CONSTANT), robot_of([*CONSTANT, *CONSTANT], parents=[-1, 0, 1, 0, 3, 0])


@pytest.mark.parametrize("model", [CHAIN, TREE, robot_of([Floating(), *CONSTANT])], ids=["chain", "tree", "floating"])
def test_stacked_accelerations_and_wrenches(model: Model) -> None:
    """001 section 4: Vdot and F of all bodies at once; F against the recursion's, tau = xi^T F."""
    robot = rbd.Robot(model, backend="reference")
    q, v, a = moderate_state(model, np.random.default_rng(5))
    stacked = StackedOperators(robot, q)
    G, Gamma, xi, Mb = (matrix.toarray() for matrix in (stacked.G, stacked.Gamma, stacked.xi, stacked.inertia))
    V = G @ xi @ v
    base = np.r_[0, 0, 0, -np.array(model.gravity)]
    minus_ad_joints, minus_ad_V = (blocks(-spatial.ad(twists.reshape(-1, 6))) for twists in (xi @ v, V))
    rate = G @ (xi @ a + stacked.P0 @ base + minus_ad_joints @ Gamma @ V)
    F = G.T @ (Mb @ rate + minus_ad_V.T @ Mb @ V)
    assert_close(F.reshape(-1, 6), robot.joint_reactions(q, v, a), 1e-11)
    assert_close(xi.T @ F, robot.inverse_dynamics(q, v, a), 1e-11)


def blocks(matrices: np.ndarray) -> np.ndarray:
    """Block-diagonal."""
    n = len(matrices)
    return np.einsum("ij,iab->iajb", np.eye(n), matrices).reshape(6 * n, 6 * n)


@pytest.mark.parametrize("model", some_trees(4), ids=name_of)
def test_kinetic_energy_is_the_sum_over_the_bodies(model: Model) -> None:
    """T = sum V_i^T M_i V_i / 2 (001 section 3), without what the rotors add to M."""
    robot = rbd.Robot(model, backend="reference")
    q, v, _ = moderate_state(model, np.random.default_rng(6))
    V = (StackedOperators(robot, q).J @ v).reshape(-1, 6)
    energies = spatial.kinetic_energy(inertia_matrices(robot.inertial_parameters), V)
    rotors = rotor_inertia(model) @ v**2 / 2
    assert_close(robot.kinetic_energy(q, v), energies.sum() + rotors, 1e-11)


# --- constraints ----------------------------------------------------------------------------------


def test_acceleration_of_a_particle_on_a_sphere_in_two_angles(example) -> None:
    """001 section 5: P_T qdd by (mudd + sin cos nud^2, cos nudd - 2 sin mud nud), S = -(mud^2 + cos^2 nud^2) q."""
    particle = example("constrained_particle")
    robot = particle.particle()
    r, mu, nu = particle.RADIUS, 0.4, -1.1
    mud, nud, mudd, nudd = 0.9, -1.3, 0.5, 0.7

    def place(t: float) -> np.ndarray:
        m, n = mu + t * mud + t * t / 2 * mudd, nu + t * nud + t * t / 2 * nudd
        return r * np.array([np.cos(m) * np.cos(n), np.cos(m) * np.sin(n), np.sin(m)])

    q, s, c = place(0.0), np.sin(mu), np.cos(mu)
    along_mu, along_nu = np.array([-s * np.cos(nu), -s * np.sin(nu), c]), np.array([-np.sin(nu), np.cos(nu), 0.0])
    h = 1e-4
    acceleration = (place(h) - 2 * q + place(-h)) / h**2
    P_w, _ = robot.force_projection(q, particle.sphere(robot))
    tangential = r * (along_mu * (mudd + s * c * nud**2) + along_nu * (c * nudd - 2 * s * mud * nud))
    np.testing.assert_allclose(P_w.T @ acceleration, tangential, atol=1e-6)
    np.testing.assert_allclose(acceleration - P_w.T @ acceleration, -(mud**2 + c**2 * nud**2) * q, atol=1e-6)


def test_the_hand_that_rolls_follows_a_velocity_and_presses(example) -> None:
    """001 section 5: with the nonholonomic law u' = ud_d - K (u - u_d) and lambda = lambda_d, four rows held."""
    hand = example("hand_on_a_sphere")
    robot = rbd.Robot(hand.hand().model, backend="reference")
    _, q, v = hand.start(np.array([0.3, -0.2, 0.1, 0.4, 0.5, -0.3]))
    held = hand.rolling(robot, spin=False)
    turning = PfaffianRows("turning", lambda q: np.eye(6)[:2].tolist(), labels=("about_x", "about_y"))
    law = HybridController(robot, held, ConstraintSet(robot.model, [turning]), gains=HybridGains(kp=0.0, kd=8.0))
    wanted, wanted_rate = np.array([0.5, -0.9]), np.array([0.2, 0.1])
    force = np.array([3.0, 0.4, -0.2, 0.05])
    out = law.step(q, v, np.zeros(2), rate=wanted, acceleration=wanted_rate, force=force)
    motion = robot.constrained_forward_dynamics(q, v, out.wanted, held)
    assert motion.rank == 4 and out.rank == 6
    assert_close(motion.a[:2], wanted_rate - 8.0 * (v[:2] - wanted), 1e-9)
    assert_close(motion.multipliers, force, 1e-9)
