# SPDX-License-Identifier: Apache-2.0
"""Sensitivity to the model's parameters, regressors and base parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.models.robots import load_robot, needs_pinocchio, random_state, random_tree

import rbd_dynamics as rbd
from rbd_dynamics.analysis.base_parameters import base_parameters
from rbd_dynamics.analysis.sensitivity import (
    AxisSensitivity,
    constrained_inverse_sensitivity,
    constrained_sensitivity,
    hybrid_sensitivity,
    inertial_sensitivity,
    payload_sensitivity,
)
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.model.model import WORLD, Frame, Model
from rbd_dynamics.spatial.inertia import RigidInertia

TREES = [random_tree(seed, 5, base="floating" if seed % 2 else "fixed") for seed in range(8)]


def close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert np.abs(found - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


def without_rotors(model: Model) -> Model:
    bodies = tuple(replace(b, joint=replace(b.joint, armature=0.0)) for b in model.bodies)
    return replace(model, bodies=bodies)


@pytest.mark.parametrize("model", TREES, ids=lambda m: f"{m.base}-{m.nv}")
def test_torque_and_energies_are_linear_in_the_inertial_parameters(model: Model) -> None:
    model = without_rotors(model)
    robot = rbd.Robot(model, backend="python")
    q, v, a = random_state(model, np.random.default_rng(0))
    parameters = robot.inertial_parameters.ravel()
    close(robot.regressor(q, v, a) @ parameters, robot.inverse_dynamics(q, v, a), 1e-12)
    close(robot.kinetic_energy_regressor(q, v) @ parameters, robot.kinetic_energy(q, v), 1e-12)
    close(robot.potential_energy_regressor(q) @ parameters, robot.potential_energy(q), 1e-12)


@pytest.mark.parametrize("model", TREES[:4], ids=lambda m: f"{m.base}-{m.nv}")
def test_payload_sensitivity_is_a_finite_difference(model: Model) -> None:
    robot = rbd.Robot(model, backend="python")
    q, v, a = random_state(model, np.random.default_rng(1))
    load = np.array([2.0, 0.1, 0.2, -0.1, 0.1, 0.01, 0.02, 0.1, 0.01, 0.12])

    def torque(x: np.ndarray) -> np.ndarray:
        robot.set_payload("tool3", x[0], com=x[1:4], inertia=x[4:])
        return robot.inverse_dynamics(q, v, a)

    step = 1e-4
    expected = np.stack([(torque(load + step * e) - torque(load - step * e)) / (2 * step) for e in np.eye(10)], axis=1)
    close(payload_sensitivity(robot, q, v, a, "tool3", load[0], load[1:4]), expected, 1e-6)


def test_a_load_on_what_does_not_move_costs_no_torque() -> None:
    model = replace(TREES[0], frames=(*TREES[0].frames, Frame("table", WORLD)))
    q, v, a = random_state(model, np.random.default_rng(1))
    found = payload_sensitivity(rbd.Robot(model, backend="python"), q, v, a, "table", 2.0, (0.1, 0.2, 0.3))
    np.testing.assert_array_equal(found, np.zeros((model.nv, 10)))


@pytest.mark.parametrize("seed", range(6))
def test_axis_sensitivity_is_a_finite_difference(seed: int) -> None:
    model = random_tree(seed, 5, base="floating" if seed % 2 else "fixed")
    index = len(model.bodies) - 3
    q, v, a = random_state(model, np.random.default_rng(2))

    def torque(twist: np.ndarray) -> np.ndarray:
        """With the joint frame moved and everything behind it left where it is at zero."""
        pose = Floating().integrate(Floating().neutral(), twist)
        move = Floating().transform(tuple(pose.tolist()))
        bodies = list(model.bodies)
        body = bodies[index]
        bodies[index] = replace(body, placement=body.placement @ move, inertia=body.inertia.to_parent(move.inverse()))
        for k, child in enumerate(bodies):
            if child.parent == index:
                bodies[k] = replace(child, placement=move.inverse() @ child.placement)
        moved = replace(model, bodies=tuple(bodies))
        return rbd.Robot(moved, backend="reference").inverse_dynamics(q, v, a)

    step = 1e-5
    expected = np.stack([(torque(step * e) - torque(-step * e)) / (2 * step) for e in np.eye(6)], axis=1)
    robot = rbd.Robot(model, backend="reference")
    close(AxisSensitivity(robot, model.bodies[index].joint.name)(q, v, a), expected, 1e-6)


def test_axis_sensitivity_names_an_unknown_joint() -> None:
    with pytest.raises(KeyError, match="elbwo"):
        AxisSensitivity(rbd.Robot(TREES[0], backend="reference"), "elbwo")


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_hybrid_sensitivity_is_a_finite_difference(share: float) -> None:
    model, rng = TREES[2], np.random.default_rng(3)
    robot = rbd.Robot(model, backend="python")
    q, v, a = random_state(model, rng)
    prescribed = rng.random(model.nv) < share
    given = robot.inverse_dynamics(q, v, a)
    solution, _ = robot.hybrid_dynamics(q, v, a, given, prescribed)
    by_inverse = inertial_sensitivity(robot, q, v, solution)
    d_a, d_tau = hybrid_sensitivity(robot, q, prescribed, by_inverse)
    rows = robot.inertial_parameters
    step = 1e-5
    for k in rng.choice(rows.size, 8, replace=False):
        results = []
        for sign in (1.0, -1.0):
            changed = rows.ravel().copy()
            changed[k] += sign * step
            inertias = [RigidInertia.from_parameters(tuple(row)) for row in changed.reshape(-1, 10).tolist()]
            bodies = tuple(replace(b, inertia=i) for b, i in zip(model.bodies, inertias))
            other = rbd.Robot(replace(model, bodies=bodies), backend="python")
            results.append(other.hybrid_dynamics(q, v, a, given, prescribed))
        close(d_a[:, k], (results[0][0] - results[1][0]) / (2 * step), 1e-6)
        close(d_tau[:, k], (results[0][1] - results[1][1]) / (2 * step), 1e-6)


@needs_pinocchio
def test_a_ur5_has_36_base_parameters() -> None:
    robot = rbd.Robot(load_robot("ur5_robot"))
    base = base_parameters(robot)
    assert base.count == 36
    q, v, a = random_state(robot.model, np.random.default_rng(4))
    torque = robot.regressor(q, v, a)[:, base.independent] @ base.of(robot.inertial_parameters)
    close(torque, robot.inverse_dynamics(q, v, a), 1e-10)


def test_a_pendulum_has_three_base_parameters() -> None:
    pendulum = """<robot name="pendulum"><link name="base"/><link name="bob"><inertial><origin xyz="0.1 0.2 -1"/>
      <mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint>
      </robot>"""
    base = base_parameters(rbd.Robot(rbd.load_urdf(pendulum), backend="reference"))
    assert base.names == ("bob.mcx", "bob.mcz", "bob.Iyy")


@pytest.mark.parametrize("model", TREES[:3], ids=lambda m: f"{m.base}-{m.nv}")
def test_base_parameters_predict_torques_of_trees(model: Model) -> None:
    model = without_rotors(model)
    robot = rbd.Robot(model, backend="python")
    base = base_parameters(robot)
    assert base.count == np.linalg.matrix_rank(base.combination)
    q, v, a = random_state(model, np.random.default_rng(5))
    torque = robot.regressor(q, v, a)[:, base.independent] @ base.of(robot.inertial_parameters)
    close(torque, robot.inverse_dynamics(q, v, a), 1e-8)


# --- under constraints ----------------------------------------------------------------------------


@pytest.mark.parametrize("redundant", [False, True])
def test_under_constraints_they_are_finite_differences_too(redundant):
    """By a load's mass and centre, with forward, hybrid and inverse dynamics."""
    robot = rbd.Robot(load_robot("ur5_robot"), backend="python")
    rows = [FrameConstraint("f", "tool0", directions=("x", "z"))]
    rows += [FrameConstraint("g", "tool0", directions=("x",))] * redundant
    of = ConstraintSet(robot.model, rows)
    rng = np.random.default_rng(3)
    q, v, a = random_state(robot.model, rng)
    tau, load = rng.normal(size=6), np.array([1.5, 0.05, -0.02, 0.1])
    rotational = np.array([0.02, 0.0, 0.0, 0.03, 0.0, 0.04])

    def with_load(x):
        robot.set_payload("tool0", x[0], com=x[1:], inertia=rotational)
        return robot

    def by_load(function):
        step = 1e-5
        sides = [[function(with_load(load + s * step * e)) for e in np.eye(4)] for s in (1.0, -1.0)]
        with_load(load)
        return np.stack([(x - y) / (2 * step) for x, y in zip(*sides)], axis=1)

    with_load(load)
    for prescribed in (np.zeros(6, bool), np.arange(6) == 2):
        at = robot.constrained_hybrid_dynamics(q, v, a, tau, prescribed, of)
        by_inverse = payload_sensitivity(robot, q, v, at.a, "tool0", load[0], load[1:])[:, :4]
        found = constrained_sensitivity(robot, q, of, prescribed, by_inverse)
        expected = by_load(
            lambda r, given=prescribed: np.concatenate(r.constrained_hybrid_dynamics(q, v, a, tau, given, of)[:3])
        )
        close(np.vstack(found), expected, 1e-6)
    a = robot.constrained_forward_dynamics(q, v, tau, of).a
    actuated = np.arange(6) != 1
    by_inverse = payload_sensitivity(robot, q, v, a, "tool0", load[0], load[1:])[:, :4]
    for objective in ("torque", "constraint_force"):
        options = {"actuated": actuated, "objective": objective}
        found = constrained_inverse_sensitivity(robot, q, v, a, of, by_inverse, **options)
        expected = by_load(
            lambda r, options=options: np.concatenate(r.constrained_inverse_dynamics(q, v, a, of, **options)[:2])
        )
        close(np.vstack(found), expected, 1e-6)
