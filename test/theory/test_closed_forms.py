# SPDX-License-Identifier: Apache-2.0
"""Closed forms: products of exponentials, sums for the mass matrix, Christoffel symbols, stacked operators."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative
from helpers.models.built import moderate_state, name_of, robot_of, some_trees
from helpers.models.robots import ROBOTS, SAMPLE, load_robot, load_twin, needs_pinocchio, random_tree, sampled
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute, Spherical
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial import ad, adjoint, exp_se3, pose_inverse
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.theory.closed_forms import (
    PoeKinematics,
    StackedOperators,
    adjacency,
    christoffel_symbols,
    congruence_sum,
    lagrange,
    mass_matrix_derivatives,
)

TREES = some_trees()
trees = pytest.mark.parametrize("model", TREES, ids=name_of)
every_robot = pytest.mark.parametrize(("name", "base"), sampled(product(ROBOTS, ("fixed", "floating"))))
sample = pytest.mark.parametrize(("name", "base"), list(product(SAMPLE, ("fixed", "floating"))))


def reference(model: Model) -> rbd.Robot:
    return rbd.Robot(model, backend="reference")


# --- products of exponentials ---------------------------------------------------------------------


def check_kinematics(model: Model, seed: int = 1) -> None:
    robot, poe = reference(model), PoeKinematics(model)
    q = moderate_state(model, np.random.default_rng(seed)).q
    for frame in (model.frames[0].name, model.frames[-1].name):
        assert_close(poe.pose(q, frame), robot.pose(q, frame), 1e-11)
        J = robot.jacobian(q, frame)
        assert_close(poe.body_jacobian(q, frame), J, 1e-11)
        assert_close(poe.spatial_jacobian(q, frame), adjoint(robot.pose(q, frame)) @ J, 1e-11)


@needs_pinocchio
@every_robot
def test_poe_kinematics_of_real_robots(name: str, base: str) -> None:
    check_kinematics(load_robot(name, base))


@trees
def test_poe_kinematics_of_trees(model: Model) -> None:
    check_kinematics(model)


@needs_pinocchio
@sample
def test_poe_kinematics_is_pinocchios(name: str, base: str) -> None:
    twin = load_twin(name, base)
    poe = PoeKinematics(twin.model)
    q = twin.random_state(np.random.default_rng(2)).q
    frame = twin.model.body_names[-1]
    assert_close(poe.pose(q, frame), twin.pose(q, frame), 1e-9)
    assert_close(poe.body_jacobian(q, frame), twin.jacobian(q, frame), 1e-9)


def test_poe_is_a_product_of_exponentials_of_screws() -> None:
    """g_2 = exp(xi_1 q_1) exp(xi_2 q_2) g_2(0), literally."""
    model = robot_of([Revolute((0.6, 0.0, 0.8)), Prismatic((0.0, 1.0, 0.0))])
    poe, q = PoeKinematics(model), np.array([0.7, -0.3])
    (first,), (second,) = poe.screws
    expected = exp_se3(first * q[0]) @ exp_se3(second * q[1]) @ poe.home[1]
    assert_close(poe.poses(q)[1], expected, 1e-13)


def test_a_joint_at_pi() -> None:
    half_turn = np.array([1.0, 0.0, 0.0, 0.0])
    for kind, value in ((Revolute(), [np.pi]), (Spherical(), half_turn), (Floating(), [0.1, 0.2, 0.3, *half_turn])):
        model = robot_of([kind, Revolute((1.0, 0.0, 0.0))])
        q = np.array([*value, np.pi])
        assert_close(PoeKinematics(model).pose(q, "tool"), reference(model).pose(q, "tool"), 1e-12)
        assert_close(lagrange.mass_matrix(reference(model), q), reference(model).mass_matrix(q), 1e-12)


def test_a_frame_of_the_world_does_not_move() -> None:
    model = TREES[-1]
    poe = PoeKinematics(model)
    assert np.array_equal(poe.pose(model.random(0), "world"), np.eye(4))
    assert not poe.body_jacobian(model.random(0), "world").any()


# --- mass matrix and its derivatives --------------------------------------------------------------


def check_lagrange(model: Model, seed: int = 2) -> None:
    robot = reference(model)
    q, v, _ = moderate_state(model, np.random.default_rng(seed))
    M = robot.mass_matrix(q)
    assert_close(lagrange.mass_matrix(robot, q), M, 1e-10)
    assert_close(congruence_sum(robot, q), M, 1e-10)
    C = lagrange.coriolis_matrix(robot, q, v)
    size = np.abs(M).max(initial=0.0)  # of what C's sums consist of; C itself may vanish
    assert_close(C, robot.coriolis_matrix(q, v), 1e-10, size)
    assert_close(C @ v, robot.coriolis(q, v), 1e-10, size)
    Mdot = mass_matrix_derivatives(robot, q) @ v
    assert_close(Mdot, C + C.T, 1e-10, size)  # Mdot - 2 C is skew-symmetric


@needs_pinocchio
@every_robot
def test_sums_and_christoffel_symbols_of_real_robots(name: str, base: str) -> None:
    check_lagrange(load_robot(name, base))


@trees
def test_sums_and_christoffel_symbols_of_trees(model: Model) -> None:
    check_lagrange(model)


@trees
def test_bracket_formula_is_the_derivative_of_the_mass_matrix(model: Model) -> None:
    robot = reference(model)
    q = moderate_state(model, np.random.default_rng(3)).q
    dM = mass_matrix_derivatives(robot, q)
    for k, along in enumerate(np.eye(model.nv)):
        expected = derivative(lambda t, along=along: robot.mass_matrix(model.integrate(q, t * along)))
        assert_close(dM[:, :, k], expected, 1e-8, least=1e-2)


@needs_pinocchio
@sample
def test_coriolis_matrix_is_pinocchios_where_joints_have_coordinates(name: str, base: str) -> None:
    """On a floating base Pinocchio's C is another one with the same C v."""
    import pinocchio as pin

    twin = load_twin(name, base)
    q, v, _ = twin.random_state(np.random.default_rng(4))
    theirs = twin.matrix(pin.computeCoriolisMatrix(twin.pinocchio, twin.data, twin.q(q), twin.v(v)))
    C = lagrange.coriolis_matrix(reference(twin.model), q, v)
    assert_close(C @ v, theirs @ v, 1e-9)
    if base == "fixed":
        assert_close(C, theirs, 1e-9)


def test_christoffel_symbols_are_symmetric_for_coordinates() -> None:
    model = random_tree(5, 6, kinds=("revolute", "prismatic"), mimic=0.3)
    Gamma = christoffel_symbols(reference(model), model.random(5))
    assert_close(Gamma, Gamma.transpose(0, 2, 1), 1e-12)


def test_structure_constants_are_brackets_of_motions() -> None:
    """[e_k, e_j] = c^m_kj e_m of a body that turns: the cross product."""
    model = robot_of([Spherical()])
    c = lagrange.structure_constants(model, model.random(1))
    for k, j in product(range(3), repeat=2):
        assert_close(c[:, k, j], np.cross(np.eye(3)[k], np.eye(3)[j]), 1e-12)


def test_the_sources_index_of_the_bracket_is_a_slip() -> None:
    """001 section 3 brackets A_{k-1,i} xi_i with xi_k; only A_ki xi_i gives the derivative of A_li xi_i."""
    model = robot_of([Revolute((0.6, 0.0, 0.8)), Revolute((0.0, 1.0, 0.0)), Revolute((1.0, 0.0, 0.0))])
    poe, q = PoeKinematics(model), np.array([0.4, -1.1, 0.8])
    first, second = poe.screws[0][0], poe.screws[1][0]

    def carried(q: np.ndarray) -> np.ndarray:
        """A_31 xi_1."""
        between = exp_se3(second * q[1]) @ exp_se3(poe.screws[2][0] * q[2])
        return adjoint(pose_inverse(between)) @ first

    expected = derivative(lambda t: carried(q + t * np.eye(3)[1]))
    behind = adjoint(pose_inverse(exp_se3(poe.screws[2][0] * q[2])))  # A_32
    moved = adjoint(pose_inverse(exp_se3(second * q[1]))) @ first  # A_21 xi_1
    assert_close(behind @ ad(moved) @ second, expected, 1e-8)
    slip = behind @ ad(first) @ second  # with A_11 xi_1
    assert np.abs(slip - expected).max() > 0.1


# --- stacked operators ----------------------------------------------------------------------------


def check_stacked(model: Model, seed: int = 6) -> None:
    robot = reference(model)
    q, v, _ = moderate_state(model, np.random.default_rng(seed))
    stacked, C, M = StackedOperators(robot, q), robot.coriolis_matrix(q, v), robot.mass_matrix(q)
    size = np.abs(M).max(initial=0.0)
    assert_close(stacked.mass_matrix(), M, 1e-11)
    assert_close(stacked.gravity(), robot.gravity(q), 1e-10, size)
    assert_close(stacked.coriolis_matrix(v), C, 1e-10, size)
    assert_close(stacked.coriolis_matrix(v, christoffel=False) @ v, C @ v, 1e-10, size)
    frame = model.frames[-1].name
    assert_close(stacked.tool_jacobian(frame), robot.jacobian(q, frame), 1e-11)


@needs_pinocchio
@every_robot
def test_stacked_operators_of_real_robots(name: str, base: str) -> None:
    check_stacked(load_robot(name, base))


@trees
def test_stacked_operators_of_trees(model: Model) -> None:
    check_stacked(model)
    stacked = StackedOperators(reference(model), moderate_state(model, np.random.default_rng(7)).q)
    n = len(model.bodies)
    one = np.eye(6 * n)
    Gamma, G = stacked.Gamma.toarray(), stacked.G.toarray()
    assert_close(G, np.linalg.inv(one - Gamma), 1e-10)
    assert_close(one + Gamma @ G, G, 1e-12)
    assert not np.linalg.matrix_power(Gamma, n).any()  # nilpotent
    blocks = np.abs(Gamma).reshape(n, 6, n, 6).max(axis=(1, 3)) > 0
    assert np.array_equal(blocks, adjacency(model).toarray() > 0)


def test_the_base_moves_everything_through_p0() -> None:
    """V = G xi v + G P0 V0."""
    model = TREES[-2]
    stacked = StackedOperators(reference(model), model.random(3))
    base = np.arange(1.0, 7.0)
    V = (stacked.G @ (stacked.P0 @ base)).reshape(-1, 6)
    for twist, pose in zip(V, PoeKinematics(model).poses(stacked.q)):
        assert_close(twist, adjoint(pose_inverse(pose)) @ base, 1e-12)


# --- degenerate robots ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        robot_of([Revolute()]),
        robot_of([Floating()]),
        robot_of([Revolute()] * 3, placements=[Transform.of()] * 3),  # one axis three times
        robot_of([Revolute((1.0, 0.0, 0.0)), Revolute(), Prismatic()], massless=[0, 1]),
    ],
    ids=["one-joint", "free-body", "aligned-axes", "massless-links"],
)
def test_degenerate_robots(model: Model) -> None:
    check_kinematics(model)
    check_lagrange(model)
    check_stacked(model)
    robot, q = reference(model), model.random(1)
    assert not lagrange.coriolis_matrix(robot, q, np.zeros(model.nv)).any()


def test_a_hundred_bodies() -> None:
    model = random_tree(9, 100, kinds=("revolute", "prismatic"), branching=0.05)
    check_kinematics(model)
    check_lagrange(model)
    check_stacked(model)


def test_payloads_are_in_the_closed_forms() -> None:
    model = TREES[4]
    robot = reference(model)
    robot.set_payload(model.frames[-1].name, 2.5, com=(0.1, 0.2, -0.1))
    q = model.random(2)
    assert_close(lagrange.mass_matrix(robot, q), robot.mass_matrix(q), 1e-12)
    assert_close(StackedOperators(robot, q).gravity(), robot.gravity(q), 1e-10)


@pytest.mark.parametrize("begin", table(range(0, 200, 50), [0]))
def test_two_hundred_random_trees(begin: int) -> None:
    for seed in range(begin, begin + 50):
        model = random_tree(1000 + seed, 1 + seed % 6, base=("fixed", "floating")[seed % 2], mimic=0.2)
        check_kinematics(model, seed)
        check_lagrange(model, seed)
        check_stacked(model, seed)


def test_bad_arguments_are_errors() -> None:
    robot = reference(TREES[-1])
    model = robot.model
    q = model.random(1)
    with pytest.raises(ValueError, match=r"q has shape \(3,\), expected"):
        christoffel_symbols(robot, np.zeros(3))
    with pytest.raises(ValueError, match="q has shape"):
        StackedOperators(robot, np.zeros((2, model.nq)))
    with pytest.raises(ValueError, match=r"v\[1\] is nan"):
        lagrange.coriolis_matrix(robot, q, np.where(np.arange(model.nv) == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="the quaternion of joint 'joint0' has norm 2"):
        long = q.copy()
        long[3:7] *= 2.0
        PoeKinematics(model).poses(long)
    with pytest.raises(KeyError, match="no frame named 'hand'"):
        PoeKinematics(model).pose(q, "hand")
