# SPDX-License-Identifier: Apache-2.0
"""Floating bases: quaternion kinematics, manipulator form, Hamel's equations, centre of mass, centroidal momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative
from helpers.models.built import all_kinds, moderate_state, name_of, robot_of, some_trees
from helpers.models.robots import ROBOTS, SINGULAR, load_robot, load_twin, needs_pinocchio, random_tree, sampled

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating, JointKind, Revolute, Spherical
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial import rotation_from_quaternion
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.theory.closed_forms import configuration_rate, hamel_equations, kinematics_jacobian, manipulator_form

TREES = some_trees()
FLOATING = [random_tree(seed, 1 + seed % 6, base="floating", mimic=0.3 * (seed % 3 == 0)) for seed in range(9)]
trees = pytest.mark.parametrize("model", TREES, ids=name_of)
floating_trees = pytest.mark.parametrize("model", [*FLOATING, robot_of([Floating()])], ids=name_of)
every_robot = pytest.mark.parametrize("name", sampled(ROBOTS))
every_base = pytest.mark.parametrize(("name", "base"), sampled(product(ROBOTS, ("fixed", "floating"))))


def reference(model: Model) -> rbd.Robot:
    return rbd.Robot(model, backend="reference")


# --- kinematics -----------------------------------------------------------------------------------


@trees
def test_kinematics_jacobian_is_the_rate_of_the_configuration(model: Model) -> None:
    q, v, _ = moderate_state(model, np.random.default_rng(1))
    expected = derivative(lambda t: model.integrate(q, t * v))
    assert_close(configuration_rate(model, q, v), expected, 1e-8)
    # and back: w = 2 G^T Qdot
    assert_close(np.linalg.pinv(kinematics_jacobian(model, q)) @ expected, v, 1e-8)


def test_quaternion_rows_are_half_of_g() -> None:
    """Qdot = L(Q) H w / 2 with the source's scalar-first L, here in the order (x, y, z, w)."""
    x, y, z, w = q = np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5])
    G = np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])
    assert_close(kinematics_jacobian(robot_of([Spherical()]), q), 0.5 * G, 1e-15)


def test_a_kind_with_a_velocity_of_its_own_says_it() -> None:
    @dataclass(frozen=True)
    class Odd(Revolute):
        columns = JointKind.columns

        def rates(self, q: Sequence[float], v: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
            return (2.0 * v[0],), (0.0,)

        def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
            return q + 2.0 * dv

    assert_close(kinematics_jacobian(robot_of([Odd()]), np.zeros(1)), np.array([[2.0]]), 1e-15)
    assert JointKind.known["revolute"] is Revolute


# --- manipulator form and Hamel's equations -------------------------------------------------------


@floating_trees
def test_manipulator_form_is_the_equation_of_motion(model: Model) -> None:
    robot = reference(model)
    q, v, a = moderate_state(model, np.random.default_rng(3))
    form = manipulator_form(robot, q, v)
    tau = robot.inverse_dynamics(q, v, a)
    left = form.mass_matrix @ a + form.coriolis_matrix @ v + form.gravity
    assert_close(left, tau, 1e-11)
    # B u and a wrench on the base
    floating = [j.v_index + k for j in model.joints if isinstance(j.kind, Floating) for k in range(6)]
    assert form.input_matrix.shape == (model.nv, model.nv - len(floating))
    u = form.input_matrix.T @ tau
    rest = np.zeros(model.nv)
    rest[floating] = tau[floating]
    assert_close(form.acceleration(v, u, force=rest), a, 1e-9)


def test_manipulator_form_with_chosen_actuators() -> None:
    model = robot_of([Floating(), Revolute(), Spherical()])
    form = manipulator_form(reference(model), model.random(1), np.zeros(10), actuated=["joint2"])
    assert_close(form.input_matrix, np.eye(10)[:, 7:], 0.0)
    with pytest.raises(KeyError, match="joint7"):
        manipulator_form(reference(model), model.random(1), np.zeros(10), actuated=["joint7"])


def check_hamel(model: Model) -> None:
    robot = reference(model)
    q, v, a = moderate_state(model, np.random.default_rng(4))
    terms, tau = hamel_equations(robot, q, v, a), robot.inverse_dynamics(q, v, a)
    R = rotation_from_quaternion(q[3:7])
    size = np.abs(tau).max()
    assert_close(terms.force, R @ tau[3:6], 1e-10, size)
    assert_close(terms.moment, tau[:3], 1e-10, size)
    assert_close(terms.torque, tau[6:], 1e-10, size)
    assert_close(terms.angular_momentum, (robot.mass_matrix(q) @ v)[:3], 1e-10)


@needs_pinocchio
@every_robot
def test_hamels_equations_agree_for_real_robots(name: str) -> None:
    check_hamel(load_robot(name, "floating"))


@floating_trees
def test_hamels_equations_agree_for_trees(model: Model) -> None:
    check_hamel(model)


def test_hamels_equations_agree_for_every_kind_of_joint() -> None:
    model = all_kinds()[1]
    robot = reference(model)
    q, v, a = moderate_state(model, np.random.default_rng(5))
    assert_close(hamel_equations(robot, q, v, a).torque, robot.inverse_dynamics(q, v, a)[6:], 1e-10)


def test_hamels_equations_of_one_body_are_newtons_and_eulers() -> None:
    model = robot_of([Floating()], placements=[Transform.of()])
    robot = reference(model)
    q, v, a = moderate_state(model, np.random.default_rng(6))
    terms = hamel_equations(robot, q, v, a)
    momentum = derivative(lambda t: robot.momentum(model.integrate(q, t * v + 0.5 * t * t * a), v + t * a))
    weight = model.mass * np.array(model.gravity)
    assert_close(terms.force, momentum[3:] - weight, 1e-6)


def test_hamels_equations_need_one_floating_base() -> None:
    model = robot_of([Revolute(), Revolute()])
    with pytest.raises(ValueError, match="floating base"):
        hamel_equations(reference(model), np.zeros(2), np.zeros(2), np.zeros(2))


# --- centre of mass -------------------------------------------------------------------------------


@needs_pinocchio
@every_base
def test_center_of_mass_jacobian_is_pinocchios(name: str, base: str) -> None:
    import pinocchio as pin

    twin = load_twin(name, base)
    model, robot = twin.model, reference(twin.model)
    q, v, a = moderate_state(model, np.random.default_rng(7))
    moving = sum(body.inertia.mass for body in model.bodies)
    if model.mass == 0.0 or moving == 0.0:
        pytest.skip("has no mass that moves")
    share = moving / model.mass  # Pinocchio leaves out what is fixed to the world
    theirs = pin.jacobianCenterOfMass(twin.pinocchio, twin.data, twin.q(q)) @ twin.P * share
    J = robot.center_of_mass_jacobian(q)
    assert_close(J, theirs, 1e-9)
    pin.centerOfMass(twin.pinocchio, twin.data, twin.q(q), twin.v(v), twin.v(a))
    acceleration = J @ a + robot.center_of_mass_jacobian_dot(q, v) @ v
    assert_close(acceleration, twin.data.acom[0] * share, 1e-9)


@trees
def test_center_of_mass_jacobian_and_its_rate_are_derivatives(model: Model) -> None:
    robot = reference(model)
    q, v, _ = moderate_state(model, np.random.default_rng(8))

    def at(t: float) -> np.ndarray:
        return model.integrate(q, t * v)

    velocity = derivative(lambda t: robot.center_of_mass(at(t)))
    assert_close(robot.center_of_mass_jacobian(q) @ v, velocity, 1e-8)
    rate = derivative(lambda t: robot.center_of_mass_jacobian(at(t)))
    assert_close(robot.center_of_mass_jacobian_dot(q, v), rate, 1e-8)


def test_center_of_mass_jacobian_compiles_and_takes_batches() -> None:
    model = all_kinds()[1]
    q, v = (np.stack(x) for x in zip(*(moderate_state(model, np.random.default_rng(k))[:2] for k in range(4))))
    slow, fast = reference(model), rbd.Robot(model)
    for k in range(4):
        assert_close(fast.center_of_mass_jacobian(q)[k], slow.center_of_mass_jacobian(q[k]), 1e-11)
        assert_close(fast.center_of_mass_jacobian_dot(q, v)[k], slow.center_of_mass_jacobian_dot(q[k], v[k]), 1e-10)


# --- centroidal momentum --------------------------------------------------------------------------


@needs_pinocchio
@every_base
def test_centroidal_momentum_matrix_and_bias_are_pinocchios(name: str, base: str) -> None:
    import pinocchio as pin

    twin = load_twin(name, base)
    model, robot = twin.model, reference(twin.model)
    if not sum(body.inertia.mass for body in model.bodies):
        pytest.skip("has no mass that moves")
    q, v, a = moderate_state(model, np.random.default_rng(9))
    A = robot.centroidal_momentum_matrix(q)
    theirs = pin.ccrba(twin.pinocchio, twin.data, twin.q(q), twin.v(v))
    # Pinocchio's centre of mass is that of what moves
    shift = pin.centerOfMass(twin.pinocchio, twin.data, twin.q(q)) - robot.center_of_mass(q)

    def about_ours(columns: np.ndarray) -> np.ndarray:
        """Linear first, about their point."""
        return np.concatenate([columns[3:] + np.cross(shift, columns[:3], axis=0), columns[:3]])

    assert_close(A, about_ours(theirs) @ twin.P, 1e-9)
    assert_close(robot.momentum(q, v), A @ v, 1e-10, 1e-6)
    pin.computeCentroidalMomentumTimeVariation(twin.pinocchio, twin.data, twin.q(q), twin.v(v), twin.v(a))
    rate = A @ a + robot.centroidal_momentum_bias(q, v)
    assert_close(rate, about_ours(twin.data.dhg.vector), 1e-9, np.abs(A).max(initial=1e-9))
    # linear momentum is mass times velocity, with what is fixed to the world too
    assert_close(A[3:], model.mass * robot.center_of_mass_jacobian(q), 1e-10)


def test_the_momentum_is_about_the_robots_centre_of_mass() -> None:
    """Angular momentum about a point is that about the world's origin less the moment of the linear one."""
    builder = rbd.ModelBuilder("on a stand")
    builder.add_fixed("stand", None, placement=(0.4, -0.2, 0.1), mass=30.0)
    builder.add_body("upper", None, rbd.joints.Revolute((0, 1, 0)), placement=(0, 0, 1.0), mass=2.0, com=(0.3, 0, 0))
    builder.add_body("tip", "upper", rbd.joints.Revolute((0, 0, 1)), placement=(0.6, 0, 0), mass=1.0, com=(0, 0.2, 0))
    model = builder.build()
    robot, bodies = reference(model), (("upper", 2.0, (0.3, 0, 0)), ("tip", 1.0, (0, 0.2, 0)))
    q, v = np.array([0.3, -0.8]), np.array([1.5, -2.0])

    def point(name: str, com: tuple[float, float, float], at: np.ndarray) -> np.ndarray:
        return (robot.pose(at, name) @ [*com, 1.0])[:3]

    center = robot.center_of_mass(q)
    expected = np.zeros(3)
    for name, mass, com in bodies:
        velocity = derivative(lambda t, name=name, com=com: point(name, com, q + t * v))
        expected += mass * np.cross(point(name, com, q) - center, velocity)
    assert_close(robot.momentum(q, v)[:3], expected, 1e-8)
    stood = np.array([0.4, -0.2, 0.1]) * 30.0
    assert_close(center * 33.0, stood + sum(mass * point(name, com, q) for name, mass, com in bodies), 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_joint_torques_do_not_change_the_momentum_of_a_free_robot(seed: int) -> None:
    kinds = ("revolute", "prismatic", "planar", "spherical")
    free = random_tree(seed, 1 + seed, kinds, "floating").with_gravity((0.0, 0.0, 0.0))
    robot = reference(free)
    rng = np.random.default_rng(10)
    q, v, _ = moderate_state(free, rng)
    tau = np.concatenate([np.zeros(6), rng.normal(size=free.nv - 6)])
    a = robot.forward_dynamics(q, v, tau)
    rate = robot.centroidal_momentum_matrix(q) @ a + robot.centroidal_momentum_bias(q, v)
    scale = np.abs(robot.centroidal_momentum_matrix(q)).max() * np.abs(a).max()
    assert np.abs(rate).max() < 1e-10 * max(1.0, scale)


@needs_pinocchio
@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in SINGULAR][:8])
def test_a_robot_that_falls_has_the_acceleration_of_gravity(name: str) -> None:
    model = load_robot(name, "floating")
    robot = reference(model)
    q, v, _ = moderate_state(model, np.random.default_rng(11))
    a = robot.forward_dynamics(q, v, np.zeros(model.nv))
    acceleration = robot.center_of_mass_jacobian(q) @ a + robot.center_of_mass_jacobian_dot(q, v) @ v
    assert_close(acceleration, np.array(model.gravity), 1e-7)
