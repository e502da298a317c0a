# SPDX-License-Identifier: Apache-2.0
"""Motions of frames in each reference: against Pinocchio, and as derivatives of each other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.checks.oracles import BACKENDS, assert_close, derivative, every_backend, random_states, trees
from helpers.models.robots import ROBOTS, load_robot, needs_pinocchio, random_state, random_tree, tree_twin
from helpers.wide import wide

from rbd_dynamics import Robot, operational_space, spatial
from rbd_dynamics.algorithms.frame_reference import REFERENCES
from rbd_dynamics.spatial.inertia import RigidInertia

THEIRS = {"body": "LOCAL", "world": "WORLD", "aligned": "LOCAL_WORLD_ALIGNED"}
every_reference = pytest.mark.parametrize("reference", REFERENCES)


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ROBOTS)
def test_motions_of_frames_agree_with_pinocchio_in_each_reference(name, base):
    """To 1e-12 of the largest entry, on the same numbers: Pinocchio's model is built from ours."""
    import pinocchio as pin

    model = load_robot(name, base)
    if model.nv == 0:
        return  # Pinocchio's Jacobians of a robot without joints read past their end
    bodies = tuple(
        dataclasses.replace(body, inertia=RigidInertia()) for body in model.bodies
    )  # some have none for them
    robot, twin = Robot(model, backend="reference"), tree_twin(dataclasses.replace(model, bodies=bodies))
    theirs, data = twin.pinocchio, twin.data
    rng = np.random.default_rng(11)
    q, v, a = random_state(model, rng)
    state = twin.q(q), twin.v(v), twin.v(a)

    def rows(six):
        """Theirs, angular part first; of matrices the columns of our degrees of freedom."""
        found = np.roll(getattr(six, "vector", six), 3, axis=0)
        return found @ twin.P if found.ndim == 2 else found

    names = [frame.name for frame in model.frames if [f.name for f in theirs.frames].count(frame.name) == 1]
    for frame in rng.choice(names, min(3, len(names)), replace=False).tolist():
        number = twin.frame_id(frame)
        for reference, called in THEIRS.items():
            kind = getattr(pin, called)
            pin.computeJointJacobiansTimeVariation(theirs, data, *state[:2])
            pin.updateFramePlacements(theirs, data)
            J_dot = rows(pin.getFrameJacobianTimeVariation(theirs, data, number, kind))
            J = rows(pin.computeFrameJacobian(theirs, data, state[0], number, kind))
            pin.forwardKinematics(theirs, data, *state)
            pin.updateFramePlacements(theirs, data)
            V = rows(pin.getFrameVelocity(theirs, data, number, kind))
            # aligned, the rate of the velocity of the frame's origin is what they call the classical acceleration
            acceleration = pin.getFrameClassicalAcceleration if reference == "aligned" else pin.getFrameAcceleration
            A = rows(acceleration(theirs, data, number, kind))

            options = {"reference": reference}
            assert_close(robot.jacobian(q, frame, **options), J, 1e-12)
            assert_close(robot.jacobian_dot(q, v, frame, **options), J_dot, 1e-12, least=1.0)
            assert_close(robot.frame_velocity(q, v, frame, **options), V, 1e-12, least=1.0)
            assert_close(robot.frame_acceleration(q, v, a, frame, **options), A, 1e-12, least=1.0)

            pin.computeForwardKinematicsDerivatives(theirs, data, *state)
            twist_q, rate_q, rate_v, by_a = map(rows, pin.getFrameAccelerationDerivatives(theirs, data, number, kind))
            found = robot.frame_derivatives(q, v, a, frame, **options)
            if reference == "aligned":  # theirs are of axes at a point that stands still where the frame is
                still = np.eye(4)
                still[:3, 3] = -robot.pose(q, frame)[:3, 3]
                found = [spatial.adjoint(still) @ x for x in robot.frame_derivatives(q, v, a, frame, reference="world")]
            for ours, other in zip(found, (twist_q, rate_q, rate_v), strict=True):
                assert_close(ours, other, 1e-12, least=1.0)
            assert_close(robot.jacobian(q, frame, **options), by_a, 1e-12)


@every_backend
@every_reference
def test_motions_of_frames_are_derivatives_of_each_other(reference, backend):
    for robot, rng in trees(backend, mimic=0.4):
        frame = f"tool{len(robot.model.bodies) - 1 - (robot.model.base == 'floating')}"
        _check_derivatives(robot, frame, reference, *random_state(robot.model, rng))


def _check_derivatives(robot, frame, reference, q, v, a):
    model, options = robot.model, {"reference": reference}

    def velocity(q, v):
        return robot.frame_velocity(q, v, frame, **options)

    def rate(q, v):
        return robot.frame_acceleration(q, v, a, frame, **options)

    def by_q(function):
        parts = [derivative(lambda t, u=u: function(model.integrate(q, t * u)), 1e-3) for u in np.eye(model.nv)]
        return np.stack(parts, axis=-1)

    def later(t):
        return model.integrate(q, t * v + 0.5 * t * t * a), v + t * a

    J, J_dot = robot.jacobian(q, frame, **options), robot.jacobian_dot(q, v, frame, **options)
    assert_close(J @ v, velocity(q, v), 1e-12)
    assert_close(J @ a + J_dot @ v, rate(q, v), 1e-12)
    assert_close(derivative(lambda t: velocity(*later(t)), 1e-3), rate(q, v), 1e-7, least=1.0)
    by_v = np.stack([derivative(lambda t, u=u: rate(q, v + t * u), 0.1) for u in np.eye(model.nv)], axis=-1)
    expected = by_q(lambda x: velocity(x, v)), by_q(lambda x: rate(x, v)), by_v
    for ours, other in zip(robot.frame_derivatives(q, v, a, frame, **options), expected, strict=True):
        assert_close(ours, other, 1e-7, least=1.0)


@every_reference
def test_what_the_references_mean(reference):
    """By poses alone: of the frame's origin, in its own axes or the world's, or of the point at the world's origin."""
    model = random_tree(4, n=4, base="floating")
    robot, rng = Robot(model, backend="reference"), np.random.default_rng(0)
    q, v, _ = random_state(model, rng)
    T = robot.pose(q, "tool3")
    T_dot = derivative(lambda t: robot.pose(model.integrate(q, t * v), "tool3"), 1e-3)
    V = robot.frame_velocity(q, v, "tool3", reference=reference)
    if reference == "aligned":
        assert_close(V[3:], T_dot[:3, 3], 1e-8)
        assert_close(spatial.hat(V[:3]), T_dot[:3, :3] @ T[:3, :3].T, 1e-8)
    else:
        inverse = np.linalg.inv(T)
        assert_close(V, spatial.vee_se3(inverse @ T_dot if reference == "body" else T_dot @ inverse), 1e-8)


@every_reference
def test_inertia_that_a_frame_feels_is_that_of_the_jacobian_in_each_reference(reference):
    model = random_tree(3, n=7, kinds=("revolute",), branching=0.0)
    robot, q = Robot(model, backend="reference"), random_state(model, np.random.default_rng(2)).q
    options = {"reference": reference}
    J, frame = robot.jacobian(q, "tool6", **options), "tool6"
    inverse = J @ robot.mass_matrix_inverse(q) @ J.T
    assert_close(robot.inverse_effective_inertia(q, frame, **options), inverse, 1e-11)
    assert_close(operational_space.effective_inertia(robot, q, frame, **options).inverse, inverse, 1e-11)
    by_q = np.stack(
        [
            derivative(lambda t: robot.inverse_effective_inertia(q + t * u, frame, **options), 1e-3)  # noqa: B023
            for u in np.eye(model.nv)
        ],
        axis=-1,
    )
    assert_close(robot.inverse_effective_inertia_derivative(q, frame, **options), by_q, 1e-7)
    assert_close(
        operational_space.manipulability(robot, q, frame, **options).measure, np.sqrt(np.linalg.det(J @ J.T)), 1e-9
    )
    wrench = np.arange(1.0, 7.0)
    felt = operational_space.reflected_inertia(robot, q, frame, wrench, **options)
    assert_close(felt, 1.0 / (wrench @ inverse @ wrench), 1e-10)
    along = operational_space.dynamically_consistent_inverse(robot, q, frame, **options)
    null = operational_space.torque_null_space(robot, q, frame, **options)
    assert_close(null, np.eye(model.nv) - (along @ J).T, 1e-9)


@pytest.mark.parametrize("backend", [BACKENDS[1], pytest.param(BACKENDS[2], marks=wide)])
def test_references_come_in_batches(backend):
    robot, rng = next(trees(backend))
    q, v, a = random_states(robot.model, rng, 5)
    for reference in REFERENCES:
        for name, state in {
            "jacobian": (q,), "jacobian_dot": (q, v), "frame_velocity": (q, v), "frame_acceleration": (q, v, a),
            "frame_derivatives": (q, v, a), "inverse_effective_inertia": (q,),
        }.items():  # fmt: skip
            call = getattr(robot, name)
            many = call(*state, "tool1", reference=reference)
            for k in range(5):
                one = call(*(x[k] for x in state), "tool1", reference=reference)
                for batch, single in zip(*(x if isinstance(x, tuple) else (x,) for x in (many, one)), strict=True):
                    assert_close(batch[k], single)


def test_a_reference_that_is_none_is_refused_by_name():
    robot = Robot(random_tree(0, n=2), backend="reference")
    for wrong in ("local", "WORLD", "", None, 3, ["body"]):
        with pytest.raises(ValueError, match=r"jacobian: reference .* is not one of body, world, aligned"):
            robot.jacobian(robot.model.neutral(), "tool1", reference=wrong)
