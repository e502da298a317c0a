# SPDX-License-Identifier: Apache-2.0
"""The square-root factor of the mass matrix: products in O(n), articulated inertias, quasi-velocities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative
from helpers.models.built import EVERY_KIND, name_of, robot_of, some_trees
from helpers.models.robots import ROBOTS, SINGULAR, load_robot, needs_pinocchio, random_state, random_tree, sampled
from helpers.wide import table, wide

import rbd_dynamics as rbd
from rbd_dynamics.compiler.program import trace
from rbd_dynamics.kernels.specialise import specialise
from rbd_dynamics.model.joints import Prismatic, Revolute
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.theory.closed_forms import ArticulatedOperators, StackedOperators, quasi_velocity_dynamics

REGULAR = [name for name in ROBOTS if name not in SINGULAR]
TREES = some_trees()


def check_products(model: Model, seed: int = 1) -> None:
    robot = rbd.Robot(model, backend="reference")
    rng = np.random.default_rng(seed)
    q = random_state(model, rng).q
    x = rng.normal(size=model.nv)
    W, M = robot.mass_factor(q), robot.mass_matrix(q)
    assert np.array_equal(W, np.triu(W))
    assert np.all(np.diag(W) > 0)
    assert_close(W @ W.T, M, 1e-12)
    assert_close(robot.factor_apply(q, x), W @ x, 1e-10)
    assert_close(robot.factor_apply(q, x, transposed=True), W.T @ x, 1e-10)
    # backward errors, as W may be badly conditioned
    for A, found in ((W, robot.factor_solve(q, x)), (W.T, robot.factor_solve(q, x, transposed=True))):
        assert np.all(np.abs(A @ found - x) <= 1e-10 * (np.abs(x).max(initial=0.0) + np.abs(A) @ np.abs(found)))


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", sampled(REGULAR))
def test_products_with_the_factor_of_real_robots(name: str, base: str) -> None:
    check_products(load_robot(name, base))


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_products_with_the_factor_of_trees(model: Model) -> None:
    check_products(model)


@pytest.mark.parametrize("model", [pytest.param(TREES[4], marks=wide), robot_of(EVERY_KIND[:3])], ids=name_of)
def test_backends_and_batches_agree(model: Model) -> None:
    rng = np.random.default_rng(2)
    states = [random_state(model, rng) for _ in range(5)]
    q, v, a = (np.stack(column) for column in zip(*states))
    reference = rbd.Robot(model, backend="reference")
    for backend in ("python", None):
        robot = rbd.Robot(model, backend=backend)
        for method in ("factor_apply", "factor_solve"):
            for transposed in (False, True):
                batch = getattr(robot, method)(q, v, transposed=transposed)
                for k in range(5):
                    one = getattr(reference, method)(q[k], v[k], transposed=transposed)
                    assert_close(batch[k], one, 1e-9)
                    assert_close(getattr(robot, method)(q[k], v[k], transposed=transposed), one, 1e-9)
        assert_close(robot.quasi_velocity_coriolis(q, v)[1], reference.quasi_velocity_coriolis(q[1], v[1]), 1e-9)


@pytest.mark.parametrize("model", [m for m in TREES if not any(b.joint.mimic for b in m.bodies)], ids=name_of)
def test_factor_comes_from_articulated_inertias(model: Model) -> None:
    """W = xi^T G^T Mhat xi D^(-1/2), with the stacked operators."""
    robot = rbd.Robot(model, backend="reference")
    q = random_state(model, np.random.default_rng(3)).q
    articulated = ArticulatedOperators(StackedOperators(robot, q))
    W = articulated.mass_factor()
    assert_close(W @ W.T, robot.mass_matrix(q), 1e-11)
    assert_close(W, robot.mass_factor(q), 1e-10)


def test_articulated_inertias_refuse_mimic_joints() -> None:
    model = next(m for m in TREES if any(b.joint.mimic for b in m.bodies))
    with pytest.raises(ValueError, match="is a mimic"):
        ArticulatedOperators(StackedOperators(rbd.Robot(model, backend="reference"), model.neutral()))


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_coriolis_factor_is_skew_and_what_its_definition_says(model: Model) -> None:
    """Gam = W^-1 (C - W Wdot^T) W^-T."""
    robot = rbd.Robot(model, backend="reference")
    q, v, _ = random_state(model, np.random.default_rng(4))
    Gam = robot.quasi_velocity_coriolis(q, v)
    assert np.array_equal(Gam, -Gam.T)
    W = robot.mass_factor(q)
    Wdot = derivative(lambda t: robot.mass_factor(model.integrate(q, t * v)))
    inverse = np.linalg.inv(W)
    expected = inverse @ (robot.coriolis_matrix(q, v) - W @ Wdot.T) @ inverse.T
    assert_close(Gam, expected, 1e-7, least=1e-3)


@pytest.mark.parametrize("model", TREES, ids=name_of)
def test_quasi_velocities_move_as_forward_dynamics_does(model: Model) -> None:
    """wdot + Gam w = W^-1 (tau - N)."""
    robot = rbd.Robot(model, backend="reference")
    q, v, a = random_state(model, np.random.default_rng(5))
    tau = robot.inverse_dynamics(q, v, a)
    quasi = quasi_velocity_dynamics(robot, q, v)
    assert_close(quasi.velocity, quasi.factor.T @ v, 1e-11)
    assert_close(quasi.kinetic_energy, robot.kinetic_energy(q, v), 1e-11)
    wdot = quasi.acceleration(robot.factor_solve(q, tau))
    Wdot = derivative(lambda t: robot.mass_factor(model.integrate(q, t * v)))
    assert_close(wdot, quasi.factor.T @ a + Wdot.T @ v, 1e-7)
    # the power of all forces is the rate of the kinetic energy: Gam takes no part
    assert quasi.velocity @ wdot == pytest.approx(v @ (tau - robot.gravity(q)), rel=1e-9)


@needs_pinocchio
@pytest.mark.parametrize("name", sampled(REGULAR))
def test_coriolis_factor_of_real_robots_does_no_work(name: str) -> None:
    model = load_robot(name, "fixed")
    robot = rbd.Robot(model, backend="reference")
    q, v, a = random_state(model, np.random.default_rng(6))
    quasi = quasi_velocity_dynamics(robot, q, v)
    u = robot.factor_solve(q, robot.inverse_dynamics(q, v, a))
    # W wdot - M a = -W Wdot^T v, so the quasi-velocity equation is checked without differences:
    # Gam w = W^-1 C v - Wdot^T v and w . Wdot^T v = v . Mdot v / 2 = v . C v
    assert abs(quasi.velocity @ quasi.coriolis @ quasi.velocity) < 1e-12 * max(1.0, quasi.velocity @ quasi.velocity)
    assert quasi.velocity @ quasi.acceleration(u) == pytest.approx(quasi.velocity @ (u - quasi.gravity), rel=1e-8)


# --- degenerate robots ----------------------------------------------------------------------------


def test_one_body() -> None:
    check_products(robot_of([Prismatic()]))
    check_products(robot_of([Revolute((0.6, 0.0, 0.8))]))


def test_massless_links_between_others() -> None:
    model = robot_of([Revolute((1.0, 0.0, 0.0)), Revolute((0.0, 1.0, 0.0)), Revolute(), Prismatic()], massless=[0, 1])
    check_products(model)


def test_a_massless_tip_is_an_error_and_never_a_number() -> None:
    model = robot_of([Revolute(), Revolute((1.0, 0.0, 0.0))], massless=[1])
    q, x = np.array([0.3, 0.4]), np.ones(2)
    for backend in ("reference", "python", None):
        robot = rbd.Robot(model, backend=backend)
        with pytest.raises(ArithmeticError):
            robot.factor_solve(q, x)
        with pytest.raises(ArithmeticError):
            robot.quasi_velocity_coriolis(q, x)


def test_rotor_inertia_is_in_the_factor() -> None:
    plain = random_tree(7, 4, kinds=("revolute", "spherical"))
    bodies = tuple(replace(body, joint=replace(body.joint, armature=0.3)) for body in plain.bodies)
    check_products(replace(plain, bodies=bodies))


def test_a_hundred_bodies() -> None:
    check_products(random_tree(8, 100, kinds=("revolute", "prismatic"), branching=0.1))


@pytest.mark.parametrize("begin", table(range(0, 200, 50), [0]))
def test_two_hundred_random_trees(begin: int) -> None:
    for seed in range(begin, begin + 50):
        check_products(random_tree(2000 + seed, 1 + seed % 6, base=("fixed", "floating")[seed % 2], mimic=0.2), seed)


def test_nothing_turns_at_rest() -> None:
    model = TREES[-1]
    robot = rbd.Robot(model, backend="reference")
    assert not robot.quasi_velocity_coriolis(model.random(1), np.zeros(model.nv)).any()


def test_a_joint_at_pi_and_aligned_axes() -> None:
    model = robot_of([Revolute()] * 3, placements=[Transform.of()] * 3)  # one axis three times
    check_products(model)
    robot, x = rbd.Robot(model, backend="reference"), np.ones(3)
    q = np.full(3, np.pi)
    assert_close(robot.factor_apply(q, x), robot.mass_factor(q) @ x, 1e-12)


def test_the_cost_of_products_is_linear() -> None:
    """Operations that a longer chain adds are the same for every body."""
    counts = [operations(n) for n in (10, 20, 40)]
    first, second = (counts[1] - counts[0]) / 10, (counts[2] - counts[1]) / 20
    assert second == pytest.approx(first, rel=0.02)


def operations(n: int) -> int:
    """Arithmetic operations of W^-1 b for a chain of n bodies with joints along the same oblique axis."""
    signature, function = specialise(robot_of([Revolute((0.6, 0.0, 0.8))] * n), "factor_solve", friction=False)
    return trace(function, signature).operations
