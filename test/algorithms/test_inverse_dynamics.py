# SPDX-License-Identifier: Apache-2.0
"""tau = M a + C v + N - J^T F, against Pinocchio and by its own structure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.checks.oracles import (
    SAME_FILE,
    assert_close,
    every_backend,
    every_robot,
    random_states,
    real_robot,
    rotor_inertia,
    trees,
)
from helpers.models.robots import SAMPLE, load_twin, needs_pinocchio, random_state, tree_twin

from rbd_dynamics import Robot


@needs_pinocchio
@every_robot
def test_torque_agrees_with_pinocchio(name, base, backend):
    robot, twin = real_robot(name, base, backend), load_twin(name, base)
    rng = np.random.default_rng(1)
    q, v, a = random_states(robot.model, rng, 3)
    rotors = rotor_inertia(robot.model)
    expected = np.array([twin.inverse_dynamics(*state) + rotors * state[2] for state in zip(q, v, a)])
    assert_close(robot.inverse_dynamics(q, v, a), expected, SAME_FILE)
    assert_close(robot.inverse_dynamics(q[0], v[0], a[0]), expected[0], SAME_FILE)


@needs_pinocchio
@every_backend
def test_torque_of_random_trees_agrees_with_pinocchio(backend):
    for robot, rng in trees(backend):
        twin = tree_twin(robot.model)
        q, v, a = random_states(robot.model, rng, 5)
        expected = np.array([twin.inverse_dynamics(*state) for state in zip(q, v, a)])
        assert_close(robot.inverse_dynamics(q, v, a), expected)
        assert_close(robot.inverse_dynamics(q[1], v[1], a[1]), expected[1])


@needs_pinocchio
@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_wrenches_on_frames_agree_with_pinocchio(name, base):
    robot, twin = real_robot(name, base, "reference"), load_twin(name, base)
    rng = np.random.default_rng(2)
    names = [frame for frame in robot.model.frame_names if twin.pinocchio.existFrame(frame)]
    for _ in range(5):
        q, v, a = random_state(robot.model, rng)
        f_ext = {frame: 10 * rng.normal(size=6) for frame in rng.choice(names, min(4, len(names)), replace=False)}
        assert_close(robot.inverse_dynamics(q, v, a, f_ext=f_ext), twin.inverse_dynamics(q, v, a, f_ext), SAME_FILE)


@every_backend
def test_a_wrench_takes_off_its_share_of_the_torque(backend):
    """tau = M a + b - sum J^T F, on links, joints and tools, several on one body."""
    for robot, rng in trees(backend):
        q, v, a = random_state(robot.model, rng)
        frames = [*rng.choice(robot.model.frame_names, 4), "tool1", "link1"]
        f_ext = {frame: rng.normal(size=6) for frame in frames}
        expected = robot.mass_matrix(q) @ a + robot.bias(q, v)
        for frame, wrench in f_ext.items():
            expected -= robot.jacobian(q, frame).T @ wrench
        assert_close(robot.inverse_dynamics(q, v, a, f_ext=f_ext), expected)


@every_backend
def test_wrenches_come_in_batches_too(backend):
    robot, rng = next(trees(backend))
    q, v, a = random_states(robot.model, rng, 6)
    varying, constant = rng.normal(size=(6, 6)), rng.normal(size=6)
    expected = [
        robot.inverse_dynamics(q[k], v[k], a[k], f_ext={"tool1": varying[k], "link0": constant}) for k in range(6)
    ]
    assert_close(robot.inverse_dynamics(q, v, a, f_ext={"tool1": varying, "link0": constant}), expected)
    expected = [robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool1": wrench}) for wrench in varying]
    assert_close(robot.inverse_dynamics(q[0], v[0], a[0], f_ext={"tool1": varying}), expected)
    assert_close(robot.inverse_dynamics(q, v, a, f_ext={}), robot.inverse_dynamics(q, v, a))


@every_backend
def test_torque_is_the_sum_of_its_terms(backend):
    for robot, rng in trees(backend, mimic=0.3):
        q, v, a = random_state(robot.model, rng)
        coriolis, gravity = robot.coriolis(q, v), robot.gravity(q)
        assert_close(robot.bias(q, v), coriolis + gravity)
        assert_close(robot.inverse_dynamics(q, v, a), robot.mass_matrix(q) @ a + coriolis + gravity)
        assert_close(robot.coriolis(q, 3 * v), 9 * coriolis)
        assert_close(robot.inverse_dynamics(q, 0 * v, 0 * a), gravity)


def test_gravity_torque_is_linear_in_gravity():
    for robot, rng in trees("reference", mimic=0.2):
        q = robot.model.random(rng)
        weights = rng.normal(size=3)
        along = [Robot(robot.model.with_gravity(axis), backend="reference").gravity(q) for axis in np.eye(3)]
        together = Robot(robot.model.with_gravity(weights), backend="reference").gravity(q)
        assert_close(together, weights @ np.array(along))
        assert_close(
            Robot(robot.model.with_gravity((0, 0, 0)), backend="reference").gravity(q), np.zeros(robot.model.nv)
        )


def test_rotor_inertia_adds_to_the_torque_of_its_joint_only():
    for robot, rng in trees("python", mimic=0.3):
        model = robot.model
        without = replace(
            model, bodies=tuple(replace(body, joint=replace(body.joint, armature=0.0)) for body in model.bodies)
        )
        q, v, a = random_state(model, rng)
        extra = rotor_inertia(model)
        plain = Robot(without, backend="python")
        assert extra.any()
        assert_close(robot.inverse_dynamics(q, v, a), plain.inverse_dynamics(q, v, a) + extra * a)
        assert_close(robot.mass_matrix(q), plain.mass_matrix(q) + np.diag(extra))
        assert_close(robot.kinetic_energy(q, v), plain.kinetic_energy(q, v) + extra @ v**2 / 2)
