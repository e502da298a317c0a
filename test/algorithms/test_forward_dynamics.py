# SPDX-License-Identifier: Apache-2.0
"""a = M^-1 (tau - C v - N + J^T F), against Pinocchio and against inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import (
    SAME_FILE,
    assert_close,
    every_backend,
    every_regular_robot,
    random_states,
    real_robot,
    sample_of_regular_robots,
    trees,
)
from helpers.models.robots import ROBOTS, SINGULAR, load_twin, needs_pinocchio, random_state, tree_twin


@needs_pinocchio
@every_regular_robot
def test_acceleration_agrees_with_pinocchio(name, base, backend):
    robot, twin = real_robot(name, base, backend), load_twin(name, base)
    rng = np.random.default_rng(2)
    q, v, tau = random_states(robot.model, rng, 3)
    expected = np.array([twin.forward_dynamics(*state) for state in zip(q, v, tau)])
    assert_close(robot.forward_dynamics(q, v, tau), expected, SAME_FILE)
    assert_close(robot.forward_dynamics(q[0], v[0], tau[0]), expected[0], SAME_FILE)


@needs_pinocchio
@sample_of_regular_robots
def test_forward_of_inverse_dynamics_is_the_identity(name, base, backend):
    robot = real_robot(name, base, backend)
    rng = np.random.default_rng(3)
    q, v, a = random_states(robot.model, rng, 3)
    tau = robot.inverse_dynamics(q, v, a)
    found = robot.forward_dynamics(q, v, tau)
    # conditions of up to 3e8: finger links of grams on legs of kilograms
    condition = max(np.linalg.cond(M) if M.size else 1.0 for M in robot.mass_matrix(q))
    assert_close(found, a, 1e-10 + 1e-16 * condition)
    assert_close(robot.inverse_dynamics(q, v, found), tau, 1e-12)


@needs_pinocchio
@every_backend
def test_acceleration_of_random_trees_agrees_with_pinocchio(backend):
    for robot, rng in trees(backend):
        twin = tree_twin(robot.model)
        q, v, tau = random_states(robot.model, rng, 5)
        expected = np.array([twin.forward_dynamics(*state) for state in zip(q, v, tau)])
        assert_close(robot.forward_dynamics(q, v, tau), expected, 1e-10)
        assert_close(robot.forward_dynamics(q[1], v[1], tau[1]), expected[1], 1e-10)


@every_backend
def test_wrenches_accelerate(backend):
    for robot, rng in trees(backend, mimic=0.2):
        q, v, tau = random_state(robot.model, rng)
        f_ext = {frame: rng.normal(size=6) for frame in rng.choice(robot.model.frame_names, 4)}
        load = sum(robot.jacobian(q, frame).T @ wrench for frame, wrench in f_ext.items())
        expected = np.linalg.solve(robot.mass_matrix(q), tau - robot.bias(q, v) + load)
        assert_close(robot.forward_dynamics(q, v, tau, f_ext=f_ext), expected, 1e-10)


@every_backend
def test_wrenches_accelerate_batches(backend):
    robot, rng = next(trees(backend))
    q, v, tau = random_states(robot.model, rng, 6)
    wrenches = rng.normal(size=(6, 6))
    expected = [robot.forward_dynamics(q[k], v[k], tau[k], f_ext={"tool1": wrenches[k]}) for k in range(6)]
    assert_close(robot.forward_dynamics(q, v, tau, f_ext={"tool1": wrenches}), expected)


@needs_pinocchio
@pytest.mark.parametrize("name", [name for name in ROBOTS if name in SINGULAR])
@pytest.mark.parametrize("backend", ["reference", "python"])
def test_a_singular_mass_matrix_is_an_error_not_a_number(name, backend):
    """Fingers without mass accelerate without bound."""
    robot = real_robot(name, "fixed", backend)
    q, v, tau = random_states(robot.model, np.random.default_rng(0), 2)
    with pytest.raises(ArithmeticError, match="mass matrix is singular"):
        robot.forward_dynamics(q[0], v[0], tau[0])
    with pytest.raises(ArithmeticError, match="sample 0"):
        robot.forward_dynamics(q, v, tau)
