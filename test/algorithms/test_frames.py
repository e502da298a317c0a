# SPDX-License-Identifier: Apache-2.0
"""Poses and Jacobians of frames: against Pinocchio and by differences of poses."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import (
    SAME_FILE,
    assert_close,
    derivative,
    every_backend,
    every_robot,
    random_states,
    real_robot,
    trees,
)
from helpers.models.robots import load_robot, load_twin, needs_pinocchio, random_state, tree_twin

from rbd_dynamics import Robot


def body_twist(robot, q, v, frame):
    """(w, v) of a frame while q moves with v: T^-1 dT/dt, from poses alone."""
    rate = derivative(lambda t: robot.pose(robot.model.integrate(q, t * v), frame), 1e-3)
    X = np.linalg.inv(robot.pose(q, frame)) @ rate
    np.testing.assert_allclose(X[:3, :3], -X[:3, :3].T, atol=1e-7)
    return np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]])


def some_frames(model, twin, rng, count):
    """Names that mean the same frame to both; Pinocchio does not tell links and joints of one name apart."""
    theirs = [frame.name for frame in twin.pinocchio.frames]
    names = [name for name in model.frame_names if theirs.count(name) == 1]
    return [str(name) for name in rng.choice(names, min(count, len(names)), replace=False)]


@needs_pinocchio
@every_robot
def test_poses_and_jacobians_agree_with_pinocchio(name, base, backend):
    import pinocchio as pin

    robot, twin = real_robot(name, base, backend), load_twin(name, base)
    rng = np.random.default_rng(8)
    if robot.model.nv == 0:
        return  # Pinocchio's Jacobians of a robot without joints read past their end
    for frame in some_frames(robot.model, twin, rng, {"reference": 12, "python": 2, "llvm": 2}[backend]):
        q, v, _ = random_state(robot.model, rng)
        assert_close(robot.pose(q, frame), twin.pose(q, frame), SAME_FILE)
        assert_close(robot.jacobian(q, frame), twin.jacobian(q, frame), SAME_FILE)
        pin.computeJointJacobiansTimeVariation(twin.pinocchio, twin.data, twin.q(q), twin.v(v))
        rate = pin.getFrameJacobianTimeVariation(twin.pinocchio, twin.data, twin.pinocchio.getFrameId(frame), pin.LOCAL)
        rate = np.roll(rate, 3, axis=0) @ twin.P
        assert_close(robot.jacobian_dot(q, v, frame), rate, SAME_FILE, least=1.0)


@needs_pinocchio
@every_backend
def test_frames_of_random_trees_agree_with_pinocchio(backend):
    for robot, rng in trees(backend):
        twin = tree_twin(robot.model)
        q = robot.model.random(rng)
        for frame in (f"tool{rng.integers(2)}", f"joint{rng.integers(2)}", f"link{rng.integers(2)}"):
            assert_close(robot.pose(q, frame), twin.pose(q, frame), 1e-12)
            assert_close(robot.jacobian(q, frame), twin.jacobian(q, frame), 1e-12)


@every_backend
def test_the_jacobian_gives_the_twist_in_the_frame_itself(backend):
    for robot, rng in trees(backend, mimic=0.4):
        q, v, _ = random_state(robot.model, rng)
        frame = f"tool{len(robot.model.bodies) - 1 - (robot.model.base == 'floating')}"
        assert_close(robot.jacobian(q, frame) @ v, body_twist(robot, q, v, frame), 1e-8)


@every_backend
def test_the_rate_of_the_jacobian_is_its_derivative(backend):
    for robot, rng in trees(backend, mimic=0.4):
        q, v, _ = random_state(robot.model, rng)
        frame = f"tool{len(robot.model.bodies) - 1 - (robot.model.base == 'floating')}"
        rate = derivative(lambda t, r=robot, q=q, v=v, f=frame: r.jacobian(r.model.integrate(q, t * v), f), 1e-3)
        assert_close(robot.jacobian_dot(q, v, frame), rate, 1e-8)


@every_backend
def test_poses_are_rigid_motions_and_come_in_batches(backend):
    robot, rng = next(trees(backend))
    q, v, _ = random_states(robot.model, rng, 7)
    poses, jacobians = robot.pose(q, "tool1"), robot.jacobian(q, "tool1")
    rates = robot.jacobian_dot(q, v, "tool1")
    assert poses.shape == (7, 4, 4)
    assert jacobians.shape == rates.shape == (7, 6, robot.model.nv)
    for k in range(7):
        assert_close(poses[k], robot.pose(q[k], "tool1"))
        assert_close(jacobians[k], robot.jacobian(q[k], "tool1"))
        assert_close(rates[k], robot.jacobian_dot(q[k], v[k], "tool1"))
        R = poses[k, :3, :3]
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(R) == pytest.approx(1)
        np.testing.assert_array_equal(poses[k, 3], [0, 0, 0, 1])


@needs_pinocchio
def test_frames_fixed_to_the_world_do_not_move():
    robot = Robot(load_robot("ur5_robot"), backend="reference")
    rng = np.random.default_rng(0)
    q, v, _ = random_state(robot.model, rng)
    np.testing.assert_array_equal(robot.pose(q, "base_link"), robot.pose(0 * q, "base_link"))
    np.testing.assert_array_equal(robot.jacobian(q, "base_link"), np.zeros((6, 6)))
    np.testing.assert_array_equal(robot.jacobian_dot(q, v, "base_link"), np.zeros((6, 6)))


@needs_pinocchio
def test_a_joint_moves_only_the_frames_that_it_carries():
    robot = Robot(load_robot("solo12", "floating"), backend="reference")
    q = robot.model.random(1)
    for joint in robot.model.joints[1:]:
        frame = robot.model.frame(joint.name)
        assert frame.body >= 0
        column = robot.jacobian(q, joint.name)[:, joint.v_index]
        np.testing.assert_allclose(column, [*joint.kind.axis, 0, 0, 0], atol=1e-15)  # type: ignore[attr-defined]
