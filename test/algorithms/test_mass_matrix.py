# SPDX-License-Identifier: Apache-2.0
"""M(q): against Pinocchio, and the structure that makes it one."""

from __future__ import annotations

import numpy as np
from helpers.checks.oracles import (
    SAME_FILE,
    assert_close,
    derivative,
    every_backend,
    every_regular_robot,
    every_robot,
    random_states,
    real_robot,
    rotor_inertia,
    trees,
)
from helpers.models.robots import SINGULAR, load_twin, needs_pinocchio, random_state, tree_twin


@needs_pinocchio
@every_robot
def test_mass_matrix_agrees_with_pinocchio(name, base, backend):
    robot, twin = real_robot(name, base, backend), load_twin(name, base)
    q = random_states(robot.model, np.random.default_rng(6), 3).q
    expected = np.array([twin.mass_matrix(sample) for sample in q]) + np.diag(rotor_inertia(robot.model))
    found = robot.mass_matrix(q)
    assert_close(found, expected, SAME_FILE)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))  # exactly symmetric
    if name not in SINGULAR and robot.model.nv:
        assert np.linalg.eigvalsh(found).min() > 0
    assert_close(robot.mass_matrix(q[0]), expected[0], SAME_FILE)


@needs_pinocchio
@every_backend
def test_mass_matrix_of_random_trees_agrees_with_pinocchio(backend):
    for robot, rng in trees(backend):
        q = robot.model.random(rng)
        assert_close(robot.mass_matrix(q), tree_twin(robot.model).mass_matrix(q))


@needs_pinocchio
@every_regular_robot
def test_inverse_agrees_with_pinocchio(name, base, backend):
    robot, twin = real_robot(name, base, backend), load_twin(name, base)
    q = random_states(robot.model, np.random.default_rng(7), 2).q
    found = robot.mass_matrix_inverse(q)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))  # exactly symmetric
    rotors = np.diag(rotor_inertia(robot.model))
    for sample, inverse in zip(q, found):
        M = twin.mass_matrix(sample) + rotors
        size = np.sqrt(np.diag(M))  # freedoms in kg and in kg m^2 differ by orders of magnitude
        scaled = M / np.outer(size, size)
        precision = 1e-13 * np.linalg.cond(scaled) if len(M) else 0.0
        assert_close(inverse * np.outer(size, size), np.linalg.inv(scaled), SAME_FILE + precision)


@every_backend
def test_inverse_of_trees(backend):
    for robot, rng in trees(backend, mimic=0.4):
        q = robot.model.random(rng)
        M = robot.mass_matrix(q)
        np.testing.assert_allclose(robot.mass_matrix_inverse(q) @ M, np.eye(len(M)), atol=1e-12 * np.linalg.cond(M))


@every_backend
def test_columns_are_torques_of_unit_accelerations(backend):
    for robot, rng in trees(backend, mimic=0.4):
        q, nv = robot.model.random(rng), robot.model.nv
        columns = robot.inverse_dynamics(q, np.zeros(nv), np.eye(nv)) - robot.gravity(q)
        M = robot.mass_matrix(q)
        assert_close(columns.T, M)
        np.testing.assert_array_equal(M, M.T)
        assert np.linalg.eigvalsh(M).min() > 0


@every_backend
def test_coriolis_forces_do_half_the_work_of_the_changing_mass_matrix(backend):
    """v^T (Mdot - 2 C) v = 0, for trees with joints that move in groups, not only along axes."""
    for robot, rng in trees(backend, mimic=0.3):
        q, v, _ = random_state(robot.model, rng)
        M_rate = derivative(lambda t, m=robot, q=q, v=v: m.mass_matrix(m.model.integrate(q, t * v)))
        work = v @ M_rate @ v - 2 * v @ robot.coriolis(q, v)
        assert abs(work) <= 1e-8 * (np.abs(v) @ np.abs(M_rate) @ np.abs(v))
