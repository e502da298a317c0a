# SPDX-License-Identifier: Apache-2.0
"""Some accelerations and the other torques given: against the partitioned equation of motion."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.checks.oracles import (
    assert_close,
    every_backend,
    hybrid_by_partition,
    random_states,
    real_robot,
    sample_of_regular_robots,
    trees,
)
from helpers.models.robots import ROBOTS, SINGULAR, needs_pinocchio, random_state, random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics import Robot


def check(robot, q, v, a, tau, prescribed, tolerance=1e-10, f_ext=None):
    """Against the matrix formula, one sample; also that the rest of the inputs is ignored."""
    M, bias = robot.mass_matrix(q), robot.bias(q, v)
    for frame, wrench in (f_ext or {}).items():
        bias = bias - robot.jacobian(q, frame).T @ wrench
    expected_a, expected_tau = hybrid_by_partition(M, bias, a, tau, prescribed)
    given_a, given_tau = np.where(prescribed, a, 17.0), np.where(prescribed, -23.0, tau)
    found_a, found_tau = robot.hybrid_dynamics(q, v, given_a, given_tau, prescribed, f_ext=f_ext)
    assert_close(found_a, expected_a, tolerance)
    assert_close(found_tau, expected_tau, tolerance)
    np.testing.assert_array_equal(found_a[prescribed], a[prescribed])
    np.testing.assert_array_equal(found_tau[~prescribed], tau[~prescribed])


@needs_pinocchio
@sample_of_regular_robots
def test_any_mask_agrees_with_the_partitioned_equation(name, base, backend):
    """The mask is a run-time value: one kernel for all of them."""
    robot = real_robot(name, base, backend)
    rng = np.random.default_rng(4)
    for share in (0.1, 0.5, 0.9):
        q, v, a = random_state(robot.model, rng)
        tau = rng.normal(size=robot.model.nv)
        # solving with M loses more digits than the recursion does, hence the formula's tolerance
        check(robot, q, v, a, tau, rng.random(robot.model.nv) < share, 1e-9)


@needs_pinocchio
@sample_of_regular_robots
def test_all_given_is_inverse_dynamics_and_none_is_forward_dynamics(name, base, backend):
    robot = real_robot(name, base, backend)
    q, v, a = random_states(robot.model, np.random.default_rng(5), 3)
    every = np.ones(robot.model.nv, dtype=bool)
    tau = robot.inverse_dynamics(q, v, a)
    same, found = robot.hybrid_dynamics(q, v, a, 0 * a, every)
    np.testing.assert_array_equal(same, a)
    assert_close(found, tau, 1e-12)
    found, same = robot.hybrid_dynamics(q, v, 0 * a, a, ~every)  # a as some torque
    np.testing.assert_array_equal(same, a)
    assert_close(found, robot.forward_dynamics(q, v, a), 1e-10)


@every_backend
@pytest.mark.parametrize("mimic", [0.0, 0.5])
def test_masks_of_random_trees(backend, mimic):
    """Planar, spherical and floating joints inside the tree, some of their directions prescribed."""
    for robot, rng in trees(backend, mimic=mimic):
        for _ in range(6):
            q, v, a = random_state(robot.model, rng)
            tau = 5 * rng.normal(size=robot.model.nv)
            check(robot, q, v, a, tau, rng.random(robot.model.nv) < rng.random())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 7),
    base=st.sampled_from(["fixed", "floating"]),
    mimic=st.sampled_from([0.0, 0.3, 0.8]),
    branching=st.floats(0, 1),
)
def test_halves_of_a_motion_complete_each_other(seed, n, base, mimic, branching):
    """Any part of the accelerations with the other part of the torques gives back the rest of both."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, n=n, base=base, mimic=mimic, branching=branching)
    robot = Robot(model, backend="reference")
    q, v, a = random_state(model, rng)
    tau = robot.inverse_dynamics(q, v, a)
    prescribed = rng.random(model.nv) < rng.random()
    found = robot.hybrid_dynamics(q, v, np.where(prescribed, a, 0), np.where(prescribed, 0, tau), prescribed)
    # how much of a is lost in tau by rounding
    condition = np.linalg.cond(robot.mass_matrix(q))
    assert_close(found[0], a, 1e-12 + 1e-15 * condition)
    assert_close(found[1], tau, 1e-12 + 1e-15 * condition)


@pytest.mark.parametrize("kind", ["planar", "spherical", "floating"])
@every_backend
def test_every_mask_within_one_joint(kind, backend):
    rng = np.random.default_rng(7)
    model = random_tree(rng, n=3, kinds=(kind,), branching=0.0)
    robot = Robot(model, backend=backend)
    size = model.joints[1].kind.nv
    q, v, a = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    for choice in itertools.product((False, True), repeat=size):
        for rest in (False, True):
            prescribed = np.full(model.nv, rest)
            prescribed[size : 2 * size] = choice
            check(robot, q, v, a, tau, prescribed)


@every_backend
def test_wrenches_act_on_partly_prescribed_robots(backend):
    for robot, rng in trees(backend, mimic=0.3):
        q, v, a = random_state(robot.model, rng)
        tau = rng.normal(size=robot.model.nv)
        f_ext = {frame: rng.normal(size=6) for frame in rng.choice(robot.model.frame_names, 3)}
        check(robot, q, v, a, tau, rng.random(robot.model.nv) < 0.5, f_ext=f_ext)


@every_backend
def test_batches_of_masks_and_wrenches(backend):
    robot, rng = next(trees(backend))
    nv = robot.model.nv
    q, v, a = random_states(robot.model, rng, 9)
    tau, masks, wrenches = rng.normal(size=(9, nv)), rng.random((9, nv)) < 0.5, rng.normal(size=(9, 6))
    found = robot.hybrid_dynamics(q, v, a, tau, masks, f_ext={"tool1": wrenches})
    for k in range(9):
        one = robot.hybrid_dynamics(q[k], v[k], a[k], tau[k], masks[k], f_ext={"tool1": wrenches[k]})
        assert_close(found[0][k], one[0])
        assert_close(found[1][k], one[1])


@needs_pinocchio
@pytest.mark.parametrize("name", [name for name in ROBOTS if name in SINGULAR])
@pytest.mark.parametrize("backend", ["reference", "python"])
def test_prescribed_joints_may_carry_no_mass(name, backend):
    """Where forward dynamics has no answer: prescribe what cannot be found."""
    robot = real_robot(name, "fixed", backend)
    q, v, a = random_state(robot.model, np.random.default_rng(0))
    M = robot.mass_matrix(q)
    prescribed = np.diag(M) < 1e-12
    assert prescribed.any()
    tau = robot.inverse_dynamics(q, v, a)
    found_a, found_tau = robot.hybrid_dynamics(q, v, a, tau, prescribed)
    assert_close(found_a, a, 1e-9)
    assert_close(found_tau, tau, 1e-9)
