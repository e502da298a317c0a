# SPDX-License-Identifier: Apache-2.0
"""Effective inertia, pseudoinverses, manipulability and joint reactions."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, rotor_inertia
from helpers.models.built import moderate_state, name_of, robot_of, some_trees
from helpers.models.robots import ROBOTS, SAMPLE, SINGULAR, load_robot, load_twin, needs_pinocchio, random_tree, sampled
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.algorithms.kinematics import joint_motion
from rbd_dynamics.analysis.operational_space import (
    TRANSLATION,
    dynamic_manipulability,
    dynamically_consistent_inverse,
    effective_inertia,
    effective_mass,
    manipulability,
    reflected_inertia,
    torque_null_space,
    weighted_pseudoinverse,
)
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial import adjoint, pose_inverse, transform_wrench
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform

TREES = some_trees()
trees = pytest.mark.parametrize("model", TREES, ids=name_of)
REGULAR = [name for name in ROBOTS if name not in SINGULAR]


def reference(model: Model) -> rbd.Robot:
    return rbd.Robot(model, backend="reference")


def seven_joints(seed: int = 1) -> tuple[rbd.Robot, np.ndarray]:
    axes = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    model = robot_of([Revolute(axes[k % 3]) for k in range(7)], seed=seed)
    return reference(model), model.random(seed)


def planar_arm() -> rbd.Robot:
    """Two links of 1 m along x, a point mass of 1 kg at each end; joints about z; frame "tip" at the end."""
    point = RigidInertia.from_com(1.0, (1.0, 0.0, 0.0), (0.0,) * 6)
    model = robot_of(
        [Revolute(), Revolute()], placements=[Transform.of(), Transform.of(p=(1.0, 0.0, 0.0))], inertias=[point, point]
    )
    return reference(replace(model, frames=(*model.frames, Frame("tip", 1, placement=Transform.of(p=(1.0, 0.0, 0.0))))))


# --- effective inertia ----------------------------------------------------------------------------


@needs_pinocchio
@pytest.mark.parametrize(("name", "base"), sampled(product(REGULAR, ("fixed", "floating"))))
def test_inverse_effective_inertia_is_its_definition(name: str, base: str) -> None:
    model = load_robot(name, base)
    robot, q = reference(model), moderate_state(model, np.random.default_rng(1)).q
    frame = model.frame_names[-1]
    J = robot.jacobian(q, frame)
    X = np.linalg.solve(robot.mass_factor(q), J.T)
    assert_close(robot.inverse_effective_inertia(q, frame), X.T @ X, 1e-9)
    assert_close(effective_inertia(robot, q, frame).inverse, X.T @ X, 1e-11)


@trees
def test_inverse_effective_inertia_of_trees(model: Model) -> None:
    robot, q = reference(model), moderate_state(model, np.random.default_rng(2)).q
    frame = model.frame_names[-1]
    J = robot.jacobian(q, frame)
    expected = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
    assert_close(robot.inverse_effective_inertia(q, frame), expected, 1e-10)


def test_a_wrench_accelerates_the_frame_by_the_inverse() -> None:
    """Extra acceleration J a of the frame per wrench on it: J M^-1 J^T."""
    robot, q = seven_joints()
    wrench, rest = np.array([0.3, -0.1, 0.5, 2.0, 1.0, -3.0]), np.zeros(7)
    with_wrench = robot.forward_dynamics(q, rest, rest, f_ext={"tool": wrench})
    gained = robot.jacobian(q, "tool") @ (with_wrench - robot.forward_dynamics(q, rest, rest))
    found = effective_inertia(robot, q, "tool")
    assert_close(found.inverse @ wrench, gained, 1e-9)
    assert found.rank == 6
    assert found.immovable.shape == (6, 0)
    assert_close(found.inertia @ found.inverse, np.eye(6), 1e-8)


def test_a_free_body_has_its_own_inertia() -> None:
    model = robot_of([Floating()])
    robot, q = reference(model), model.random(2)
    found = effective_inertia(robot, q, "link0")
    assert_close(found.inertia, robot.mass_matrix(q), 1e-9)
    body = model.bodies[0].inertia
    com = np.array(body.moment) / body.mass
    assert effective_mass(robot, q, "link0", (0.3, 1.0, -2.0), point=com) == pytest.approx(body.mass, rel=1e-10)


def test_immovable_directions_are_named() -> None:
    """A planar arm: three of six directions are out of the plane, and stretched out one more is lost."""
    robot = planar_arm()
    bent = effective_inertia(robot, [0.3, 1.2], "tip", rows=TRANSLATION)
    assert bent.rank == 2
    assert_close(np.abs(bent.immovable), [[0.0], [0.0], [1.0]], 1e-12)
    assert np.array_equal(np.isinf(bent.masses), [False, False, True])
    straight = effective_inertia(robot, [0.3, 0.0], "tip", rows=[3, 4])
    assert straight.rank == 1
    assert_close(np.abs(straight.immovable), [[1.0], [0.0]], 1e-12)
    assert straight.masses[1] == math.inf
    assert_close(straight.inertia, [[0.0, 0.0], [0.0, 1.0]], 1e-12)  # across the arm the last mass alone


def test_nearly_singular_is_not_singular() -> None:
    robot = planar_arm()
    tip = effective_mass(robot, [0.0, 1e-5], "tip", (1.0, 0.0, 0.0), world_axes=True)
    assert 1e9 < tip < 1e12
    assert effective_inertia(robot, [0.0, 1e-5], "tip", rows=[3, 4]).rank == 2
    assert effective_mass(robot, [0.0, 0.0], "tip", (1.0, 0.0, 0.0)) == math.inf


def test_a_frame_that_cannot_move_at_all() -> None:
    robot, q = seven_joints()
    found = effective_inertia(robot, q, "world")
    assert found.rank == 0
    assert np.isinf(found.masses).all()
    assert not found.inertia.any()
    assert effective_mass(robot, q, "world", (1.0, 0.0, 0.0)) == math.inf


def test_effective_mass_of_a_point_in_a_direction() -> None:
    """A point mass at 1 m on a massless arm: across it 1 kg, along it infinite, half way out 4 kg."""
    point = RigidInertia.from_com(1.0, (1.0, 0.0, 0.0), (0.0,) * 6)
    robot = reference(robot_of([Revolute()], placements=[Transform.of()], inertias=[point]))
    q = np.array([np.pi / 2])
    assert effective_mass(robot, q, "link0", (0.0, 5.0, 0.0), point=(1.0, 0.0, 0.0)) == pytest.approx(1.0)
    assert effective_mass(robot, q, "link0", (0.0, 1.0, 0.0), point=(0.5, 0.0, 0.0)) == pytest.approx(4.0)
    assert effective_mass(robot, q, "link0", (1.0, 0.0, 0.0), point=(1.0, 0.0, 0.0)) == math.inf
    # the arm points along the world's y
    assert effective_mass(robot, q, "link0", (1.0, 0.0, 0.0), point=(1.0, 0.0, 0.0), world_axes=True) == pytest.approx(
        1.0
    )
    assert reflected_inertia(robot, q, "link0", (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)) == pytest.approx(1.0)
    batch = effective_mass(robot, np.array([[0.0], [1.0]]), "link0", (0.0, 1.0, 0.0), point=(0.5, 0.0, 0.0))
    assert_close(batch, [4.0, 4.0], 1e-12)


def test_batches() -> None:
    robot, _ = seven_joints()
    q = np.stack([robot.model.random(k) for k in range(4)])
    fast = rbd.Robot(robot.model)
    found = effective_inertia(fast, q, "tool")
    assert found.rank.tolist() == [6] * 4
    for k in range(4):
        one = effective_inertia(robot, q[k], "tool")
        assert_close(found.inertia[k], one.inertia, 1e-7)
        assert_close(fast.inverse_effective_inertia(q, "tool")[k], one.inverse, 1e-9)
        for function in (manipulability, dynamic_manipulability):
            assert_close(function(fast, q, "tool").measure[k], function(robot, q[k], "tool").measure, 1e-9)
        inverse = dynamically_consistent_inverse(fast, q, "tool")[k]
        assert_close(inverse, dynamically_consistent_inverse(robot, q[k], "tool"), 1e-8)


# --- pseudoinverses -------------------------------------------------------------------------------


def test_weighted_pseudoinverse_is_its_definition() -> None:
    rng = np.random.default_rng(3)
    A, root = rng.normal(size=(3, 6)), rng.normal(size=(6, 6))
    weight = root @ root.T + np.eye(6)
    inverse = np.linalg.inv(weight)
    expected = inverse @ A.T @ np.linalg.inv(A @ inverse @ A.T)
    assert_close(weighted_pseudoinverse(A, weight=weight), expected, 1e-10)
    assert_close(weighted_pseudoinverse(A), np.linalg.pinv(A), 1e-12)


def test_weighted_pseudoinverse_at_a_singularity_is_the_lightest_of_the_closest() -> None:
    rng = np.random.default_rng(4)
    A = rng.normal(size=(4, 2)) @ rng.normal(size=(2, 6))  # rank 2
    root, b = rng.normal(size=(6, 6)), rng.normal(size=4)
    weight = root @ root.T + np.eye(6)
    x = weighted_pseudoinverse(A, weight=weight) @ b
    assert_close(A @ x, A @ np.linalg.pinv(A) @ b, 1e-9)  # the closest
    null = np.linalg.svd(A)[2][2:]
    assert np.abs(null @ weight @ x).max() < 1e-9  # no way on costs less


def test_a_weight_must_be_positive_definite() -> None:
    with pytest.raises(ValueError, match="not positive definite"):
        weighted_pseudoinverse(np.ones((1, 2)), weight=np.diag([1.0, -1.0]))


def test_dynamically_consistent_inverse() -> None:
    robot, q = seven_joints()
    J, M = robot.jacobian(q, "tool"), robot.mass_matrix(q)
    Jbar = dynamically_consistent_inverse(robot, q, "tool")
    assert_close(J @ Jbar, np.eye(6), 1e-9)
    inertia = effective_inertia(robot, q, "tool").inertia
    assert_close(Jbar, np.linalg.solve(M, J.T) @ inertia, 1e-7)
    # least kinetic energy among the velocities with the same twist
    twist = np.arange(1.0, 7.0)
    v, null = Jbar @ twist, np.linalg.svd(J)[2][6]
    assert abs(null @ M @ v) < 1e-9 * np.abs(M @ v).max()


@pytest.mark.parametrize("angle", [1.2, 0.0])
def test_torques_of_the_null_space_leave_the_frame_alone(angle: float) -> None:
    """Also at the singular configuration."""
    robot, q = planar_arm(), np.array([0.3, angle])
    N = torque_null_space(robot, q, "tool", rows=[3])
    J, M = robot.jacobian(q, "tool")[[3]], robot.mass_matrix(q)
    assert np.abs(J @ np.linalg.solve(M, N)).max() < 1e-10
    assert_close(N @ N, N, 1e-10)
    assert np.linalg.matrix_rank(N, tol=1e-8) >= 1


# --- manipulability -------------------------------------------------------------------------------


def test_manipulability_of_the_planar_arm() -> None:
    """l1 l2 |sin q2| (Yoshikawa)."""
    robot, q = planar_arm(), np.array([0.4, 0.9])
    found = manipulability(robot, q, "tip", rows=[3, 4])
    assert found.measure == pytest.approx(abs(np.sin(q[1])), rel=1e-12)
    spatial = manipulability(robot, q, "tip", rows=TRANSLATION)  # three directions, two joints
    assert_close(spatial.semi_axes, [*found.semi_axes, 0.0], 1e-12)
    assert spatial.measure == 0.0
    assert spatial.condition == 0.0


def test_manipulability_is_the_root_of_a_determinant() -> None:
    robot, q = seven_joints()
    J, M = robot.jacobian(q, "tool"), robot.mass_matrix(q)
    found = manipulability(robot, q, "tool")
    assert found.measure == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-8)
    squares = found.directions @ np.diag(found.semi_axes**2) @ found.directions.T
    assert_close(squares, J @ J.T, 1e-11)
    forced = J @ np.linalg.inv(M)
    dynamic = dynamic_manipulability(robot, q, "tool")
    assert dynamic.measure == pytest.approx(np.sqrt(np.linalg.det(forced @ forced.T)), rel=1e-6)
    limits = np.arange(1.0, 8.0)
    scaled = forced * limits
    limited = dynamic_manipulability(robot, q, "tool", torque_limits=limits)
    assert limited.measure == pytest.approx(np.sqrt(np.linalg.det(scaled @ scaled.T)), rel=1e-6)


# --- joint reactions ------------------------------------------------------------------------------


@needs_pinocchio
@pytest.mark.parametrize(
    ("name", "base"),
    table(product(ROBOTS, ("fixed", "floating")), lambda case: case[0] in SAMPLE or case[1] == "floating"),
)
def test_joint_reactions_are_pinocchios(name: str, base: str) -> None:
    twin = load_twin(name, base)
    model = twin.model
    q, v, a = moderate_state(model, np.random.default_rng(5))
    F = reference(model).joint_reactions(q, v, a)
    twin.inverse_dynamics(q, v, a)
    forces = [twin.data.f[twin.pinocchio.getJointId(body.joint.name)].vector for body in model.bodies]
    theirs = np.roll(np.array(forces).reshape(-1, 6), 3, axis=1)
    assert_close(F, theirs, 1e-9, 1e-6)


@trees
def test_along_its_freedoms_a_reaction_is_the_torque(model: Model) -> None:
    robot = reference(model)
    q, v, a = moderate_state(model, np.random.default_rng(6))
    push = {model.frame_names[-1]: np.arange(1.0, 7.0)}
    F = robot.joint_reactions(q, v, a, f_ext=push)
    tau = rotor_inertia(model) * a
    for body, wrench in zip(model.bodies, F):
        motion = joint_motion(body, q.tolist())
        for dof, column in zip(motion.dofs, motion.columns):
            tau[dof] += np.dot(column, wrench)
    assert_close(tau, robot.inverse_dynamics(q, v, a, f_ext=push), 1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_the_base_carries_all_and_changes_the_momentum(seed: int) -> None:
    """What the first joint transmits, with the weight, is the rate of the whole momentum."""
    model = random_tree(seed, 5, base="floating")
    robot = reference(model)
    q, v, a = moderate_state(model, np.random.default_rng(seed))
    base = robot.joint_reactions(q, v, a)[0]
    at_center = np.eye(4)
    at_center[:3, 3] = robot.center_of_mass(q)
    pose = robot.pose(q, model.body_names[0])
    wrench = transform_wrench(pose_inverse(at_center) @ pose, base)
    wrench[3:] += model.mass * np.array(model.gravity)
    rate = robot.centroidal_momentum_matrix(q) @ a + robot.centroidal_momentum_bias(q, v)
    assert_close(wrench, rate, 1e-10)


def test_reactions_at_rest_are_the_weights() -> None:
    model = robot_of([Revolute(), Prismatic(), Revolute((1.0, 0.0, 0.0))], gravity=(0.0, 0.0, -9.81))
    robot, q, rest = reference(model), np.array([0.3, 0.1, -0.8]), np.zeros(3)
    F = robot.joint_reactions(q, rest, rest)
    masses = np.array([body.inertia.mass for body in model.bodies])
    for k, name in enumerate(model.body_names):
        force = robot.pose(q, name)[:3, :3] @ F[k, 3:]
        assert_close(force, [0.0, 0.0, 9.81 * masses[k:].sum()], 1e-11)


def test_reactions_compile_and_take_batches_and_wrenches() -> None:
    model = TREES[-1]  # every kind of joint
    states = [moderate_state(model, np.random.default_rng(k)) for k in range(3)]
    q, v, a = (np.stack(column) for column in zip(*states))
    wrench = np.arange(6.0)
    slow, fast = reference(model), rbd.Robot(model)
    batch, pushed = fast.joint_reactions(q, v, a), fast.joint_reactions(q, v, a, f_ext={"tool": wrench})
    assert batch.shape == (3, len(model.bodies), 6)
    for k, state in enumerate(states):
        assert_close(batch[k], slow.joint_reactions(*state), 1e-9)
        assert_close(pushed[k], slow.joint_reactions(*state, f_ext={"tool": wrench}), 1e-9)
    # the last body hands on what pushes it
    on_body = adjoint(pose_inverse(fast.pose(q[0], "tool")) @ fast.pose(q[0], model.body_names[-1])).T @ wrench
    assert_close(batch[0, -1] - pushed[0, -1], on_body, 1e-9)
