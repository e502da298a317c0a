# SPDX-License-Identifier: Apache-2.0
"""Joint kinds that no URDF has: helical, any screw, universal, products of exponentials."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.checks.oracles import BACKENDS, assert_close, derivative, every_backend, random_states
from helpers.models.mixed_trees import CHAINS, MORE_KINDS, any_kind, mixed_tree, pinocchio_twin, random_screw
from helpers.models.robots import ALL_KINDS, needs_pinocchio, random_inertia, random_state, random_transform
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm

from rbd_dynamics import Model, ModelError, Robot, spatial
from rbd_dynamics.algorithms import energy, frames
from rbd_dynamics.algorithms.expansion import expanded
from rbd_dynamics.algorithms.hybrid_dynamics import hybrid_dynamics
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.regressor import regressor
from rbd_dynamics.analysis.sensitivity import AxisSensitivity
from rbd_dynamics.model import open_kinds
from rbd_dynamics.model.joints import (
    Floating,
    Helical,
    JointKind,
    Prismatic,
    ProductOfExponentials,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from rbd_dynamics.model.model import WORLD, Body, Joint, Mimic
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.theory.closed_forms.stacked import StackedOperators

Array = NDArray[np.float64]

SEEDS = st.integers(0, 2**31)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
O3 = (0.0, 0.0, 0.0)


def pose(kind: JointKind, q: Any) -> Array:
    return matrix(kind.transform([float(x) for x in q]))


def matrix(transform: Transform) -> Array:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = np.reshape(transform.rotation, (3, 3)), transform.p
    return found


def hat(twist: Any) -> Array:
    x, y, z = twist[:3]
    found = np.zeros((4, 4))
    found[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    found[:3, 3] = twist[3:]
    return found


def vee(X: Array) -> Array:
    return np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]])


def columns(kind: JointKind, q: Any) -> Array:
    """S (6, nv)."""
    return np.array(kind.columns([float(x) for x in q]), dtype=float).reshape(-1, 6).T


def rates(kind: JointKind, q: Any, v: Any) -> Array:
    found = kind.columns_rate([float(x) for x in q], [float(x) for x in v])
    return np.array(found, dtype=float).reshape(-1, 6).T


# --- S and Sdot ----------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(MORE_KINDS), SEEDS)
def test_columns_are_the_body_twists_of_the_pose(name, seed):
    rng = np.random.default_rng(seed)
    kind = any_kind(rng, name)
    q = kind.random(rng, -np.inf, np.inf)
    for k, column in enumerate(columns(kind, q).T):
        unit = np.eye(kind.nv)[k]
        change = derivative(lambda t, unit=unit: pose(kind, q + t * unit), step=1e-2)
        np.testing.assert_allclose(vee(np.linalg.inv(pose(kind, q)) @ change), column, atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from((*MORE_KINDS, *ALL_KINDS)), SEEDS)
def test_columns_rate_is_the_derivative_of_the_columns(name, seed):
    rng = np.random.default_rng(seed)
    kind = any_kind(rng, name)
    q, v = kind.random(rng, -np.inf, np.inf), rng.normal(size=kind.nv)
    change = derivative(lambda t: columns(kind, kind.integrate(q, t * v)), step=1e-2)
    np.testing.assert_allclose(rates(kind, q, v), change, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_a_product_of_exponentials_is_one(seed):
    rng = np.random.default_rng(seed)
    kind = any_kind(rng, "product_of_exponentials")
    q = rng.normal(size=kind.nq)
    expected = np.eye(4)
    for screw, x in zip(kind.screws, q):
        expected = expected @ expm(hat(np.array(screw) * x))
    np.testing.assert_allclose(pose(kind, q), expected, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(MORE_KINDS), SEEDS)
def test_a_chain_moves_as_its_parts_one_after_the_other(name, seed):
    rng = np.random.default_rng(seed)
    kind = any_kind(rng, name)
    parts = kind.as_chain() or (kind,)
    assert sum(part.nq for part in parts) == kind.nq and sum(part.nv for part in parts) == kind.nv
    assert (kind.as_chain() is not None) == (name in CHAINS)
    q = kind.random(rng, -np.inf, np.inf)
    expected = np.eye(4)
    for part, x in zip(parts, q):
        assert part.as_chain() is None and part.nq == part.nv == 1
        expected = expected @ pose(part, [x])
    np.testing.assert_allclose(pose(kind, q), expected, atol=1e-14)


@pytest.mark.parametrize("name", MORE_KINDS)
def test_neutral_is_the_identity_and_velocities_are_rates(name):
    rng = np.random.default_rng(3)
    for _ in range(5):
        kind = any_kind(rng, name)
        np.testing.assert_array_equal(pose(kind, kind.neutral()), np.eye(4))
        q, dv = rng.normal(size=(2, 4, kind.nq))
        np.testing.assert_array_equal(kind.integrate(q, dv), q + dv)
        np.testing.assert_array_equal(kind.difference(q, q + dv), (q + dv) - q)
        limited = np.array([kind.random(rng, -0.1, 0.3) for _ in range(50)])
        assert limited.shape == (50, kind.nq) and -0.1 <= limited.min() <= limited.max() <= 0.3


# --- special cases of one kind that are another ---------------------------------------------------


def test_helical_without_pitch_is_revolute_and_a_screw_is_either():
    q, axis = [0.7], (0.6, 0.0, 0.8)
    np.testing.assert_array_equal(pose(Helical(axis), q), pose(Revolute(axis), q))
    np.testing.assert_array_equal(columns(Helical(axis), q), columns(Revolute(axis), q))
    np.testing.assert_array_equal(pose(Screw((*axis, *O3)), q), pose(Revolute(axis), q))
    np.testing.assert_array_equal(pose(Screw((*O3, *axis)), q), pose(Prismatic(axis), q))
    moved = pose(Helical(axis, 0.05), q)
    np.testing.assert_allclose(moved[:3, 3], 0.05 * 0.7 * np.array(axis), atol=1e-16)
    along = tuple(0.05 * x for x in axis)
    np.testing.assert_allclose(pose(Screw((*axis, *along)), q), moved, atol=1e-16)


def test_a_screw_turns_about_the_axis_through_its_point():
    w, point = np.array(Z), np.array([0.3, -0.2, 0.0])
    kind = Screw((*Z, *map(float, np.cross(point, w))))
    turned = pose(kind, [1.1])
    np.testing.assert_allclose(turned[:3, :3] @ point + turned[:3, 3], point, atol=1e-15)


def single_joint(kinds: list[tuple[JointKind, Transform, RigidInertia]]) -> Model:
    """A chain of bodies under gravity in an oblique direction."""
    bodies: list[Body] = []
    nq = nv = 0
    for k, (kind, placement, inertia) in enumerate(kinds):
        bodies.append(Body(f"link{k}", k - 1 if k else WORLD, placement, Joint(f"joint{k}", kind, nq, nv), inertia))
        nq, nv = nq + kind.nq, nv + kind.nv
    return Model("chain", tuple(bodies), gravity=(3.0, -2.0, -8.0))


@every_backend
def test_universal_is_two_revolutes_with_a_massless_link_between(backend):
    rng = np.random.default_rng(4)
    load, place = random_inertia(rng), random_transform(rng)
    one = Robot(single_joint([(Universal(X, (0.0, 0.6, 0.8)), place, load)]), backend=backend)
    two = Robot(
        single_joint([(Revolute(X), place, RigidInertia()), (Revolute((0.0, 0.6, 0.8)), IDENTITY, load)]),
        backend=backend,
    )
    q, v, a = rng.normal(size=(3, 2))
    tau = two.inverse_dynamics(q, v, a)
    assert_close(one.inverse_dynamics(q, v, a), tau, 1e-14)
    assert_close(one.forward_dynamics(q, v, tau), a, 1e-12)
    for ours, theirs in zip(one.inverse_dynamics_derivatives(q, v, a), two.inverse_dynamics_derivatives(q, v, a)):
        assert_close(ours, theirs, 1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("group", "kind"),
    [
        (Spherical(), ProductOfExponentials(((*Z, *O3), (*Y, *O3), (*X, *O3)))),
        (
            Floating(),
            ProductOfExponentials(((*O3, *X), (*O3, *Y), (*O3, *Z), (*Z, *O3), (*Y, *O3), (*X, *O3))),
        ),
    ],
)
def test_coordinates_of_a_group_have_its_dynamics(group, kind, backend):
    """With the body twist V = S qd of the group's joint: tau = S^T tau', M = S^T M' S."""
    rng = np.random.default_rng(5)
    load, place = random_inertia(rng), random_transform(rng)
    tip = (Revolute(Y), random_transform(rng), random_inertia(rng))
    free, coordinates = (Robot(single_joint([(one, place, load), tip]), backend=backend) for one in (group, kind))
    n = kind.nv
    q, v, a = rng.normal(scale=0.7, size=(3, n + 1))
    S, Sdot = columns(kind, q[:n])[: 3 if n == 3 else 6], rates(kind, q[:n], v[:n])[: 3 if n == 3 else 6]
    full = np.eye(n + 1)
    full[:n, :n] = S
    T = pose(kind, q[:n])
    quaternion = np.asarray(spatial.quaternion_from_rotation(T[:3, :3]))
    configuration = np.concatenate([T[:3, 3] if n == 6 else [], quaternion, q[n:]])
    twist, acceleration = full @ v, full @ a
    acceleration[:n] += Sdot @ v[:n]
    tau = free.inverse_dynamics(configuration, twist, acceleration)
    assert_close(coordinates.inverse_dynamics(q, v, a), full.T @ tau, 1e-12)
    assert_close(coordinates.mass_matrix(q), full.T @ free.mass_matrix(configuration) @ full, 1e-12)
    assert_close(coordinates.forward_dynamics(q, v, full.T @ tau), a, 1e-10)
    assert_close(coordinates.momentum(q, v), free.momentum(configuration, twist), 1e-12)


# --- trees of mixed kinds ------------------------------------------------------------------------


def trees(backend: str) -> list[tuple[Robot, np.random.Generator]]:
    seeds = range(12 if backend == "reference" else 2)
    return [(Robot(mixed_tree(seed, n=2 + seed % 4), backend=backend), np.random.default_rng(seed)) for seed in seeds]


@every_backend
def test_dynamics_is_that_of_the_recursions_with_varying_columns(backend):
    """`columns_rate` in the recursions of theory.md section 2, on the model as it is, not as chains."""
    for robot, rng in trees(backend):
        model = robot.model
        q, v, a = (x.tolist() for x in random_state(model, rng))
        inertias = [body.inertia for body in model.bodies]
        wrench = rng.normal(size=(len(inertias), 6))
        f_ext = {body.name: wrench[k] for k, body in enumerate(model.bodies)}
        on_bodies = [tuple(row) for row in wrench.tolist()]
        tau = inverse_dynamics(model, inertias, q, v, a, on_bodies)
        assert_close(robot.inverse_dynamics(q, v, a, f_ext=f_ext), np.array(tau), 1e-11)
        assert_close(robot.mass_matrix(q), np.array(mass_matrix(model, inertias, q)), 1e-11)
        assert_close(robot.forward_dynamics(q, v, tau, f_ext=f_ext), np.array(a), 1e-7)
        prescribed = rng.random(model.nv) < 0.5
        expected = hybrid_dynamics(model, inertias, q, v, a, tau, prescribed.tolist(), on_bodies)
        for ours, theirs in zip(robot.hybrid_dynamics(q, v, a, tau, prescribed, f_ext=f_ext), expected):
            assert_close(ours, np.array(theirs), 1e-7)
        assert_close(robot.regressor(q, v, a), np.array(regressor(model, q, v, a)), 1e-11)
        assert_close(robot.kinetic_energy(q, v), np.array(energy.kinetic_energy(model, inertias, q, v)), 1e-12)
        tool = model.frame(f"tool{len(inertias) - 1}")
        assert_close(robot.jacobian(q, tool.name), np.array(frames.frame_jacobian(model, q, tool)).T, 1e-12)
        rate = np.array(frames.frame_jacobian_dot(model, q, v, tool)).T
        assert_close(robot.jacobian_dot(q, v, tool.name), rate, 1e-11)


@pytest.mark.parametrize("seed", range(12))
def test_stacked_operators_with_varying_columns_agree(seed):
    """They take S and Sdot as they are; the kernels see chains."""
    robot = Robot(mixed_tree(seed, n=4), backend="reference")
    q, v, _ = random_state(robot.model, np.random.default_rng(seed))
    stacked = StackedOperators(robot, q)
    assert_close(robot.mass_matrix(q), stacked.mass_matrix(), 1e-12)
    assert_close(robot.coriolis_matrix(q, v), stacked.coriolis_matrix(v), 1e-12)
    assert_close(robot.bias(q, v), stacked.coriolis_matrix(v) @ v + stacked.gravity(), 1e-12)
    assert_close(robot.jacobian(q, "tool3"), stacked.tool_jacobian("tool3"), 1e-12)


@every_backend
def test_sensitivity_to_an_axis_is_that_of_differences(backend):
    """Of a universal joint, displaced by a small twist while what it carries stays at rest."""
    rng = np.random.default_rng(16)
    place, load = random_transform(rng), random_inertia(rng)
    model = single_joint([(Universal(), place, load), (Revolute(), random_transform(rng), random_inertia(rng))])
    q, v, a = rng.normal(size=(3, 3))
    first, second = model.bodies

    def displaced(twist: Array) -> Array:
        by = spatial.exp_se3(twist)
        shift = Transform((tuple(by[:3, :3].ravel()),), tuple(by[:3, 3]))
        inertia = load.to_parent(shift.inverse())
        bodies = (
            replace(first, placement=place @ shift, inertia=inertia),
            replace(second, placement=shift.inverse() @ second.placement),
        )
        return Robot(replace(model, bodies=bodies), backend="reference").inverse_dynamics(q, v, a)

    found = AxisSensitivity(Robot(model, backend=backend), "joint0")(q, v, a)
    expected = np.stack([derivative(lambda t, e=e: displaced(t * e), step=1e-3) for e in np.eye(6)], axis=-1)
    assert_close(found, expected, 1e-8)


@needs_pinocchio
@every_backend
def test_dynamics_is_that_of_the_chains_in_pinocchio(backend):
    for robot, rng in trees(backend):
        twin = pinocchio_twin(robot.model)
        q, v, a = random_state(robot.model, rng)
        tau = twin.inverse_dynamics(q, v, a)
        assert_close(robot.inverse_dynamics(q, v, a), tau, 1e-11)
        assert_close(robot.forward_dynamics(q, v, tau), twin.forward_dynamics(q, v, tau), 1e-7)
        assert_close(robot.mass_matrix(q), twin.mass_matrix(q), 1e-11)
        for name in ("link1", "tool1"):
            assert_close(robot.pose(q, name), twin.pose(q, name), 1e-12)
            assert_close(robot.jacobian(q, name), twin.jacobian(q, name), 1e-11)


def moved(robot: Robot, q: Array, function: Any) -> Array:
    """Derivatives (..., nv) of function(q) along the tangent."""
    units = np.eye(robot.model.nv)
    return np.stack(
        [derivative(lambda t, u=u: function(robot.model.integrate(q, t * u)), step=1e-3) for u in units], axis=-1
    )


@every_backend
def test_derivatives_are_those_of_differences(backend):
    for robot, rng in trees(backend)[:6]:
        check_derivatives(robot, *random_state(robot.model, rng))


def check_derivatives(robot: Robot, q: Array, v: Array, a: Array) -> None:
    n = robot.model.nv
    by_q, by_v, by_a = robot.inverse_dynamics_derivatives(q, v, a)
    assert_close(by_q, moved(robot, q, lambda x: robot.inverse_dynamics(x, v, a)), 1e-7)
    change = [derivative(lambda t, u=u: robot.inverse_dynamics(q, v + t * u, a), 1e-2) for u in np.eye(n)]
    assert_close(by_v, np.array(change).T, 1e-8)
    assert_close(by_a, robot.mass_matrix(q), 1e-11)
    tau = robot.inverse_dynamics(q, v, a)
    inverse = np.linalg.inv(by_a)
    forward = robot.forward_dynamics_derivatives(q, v, tau)
    for ours, theirs in zip(forward, (-inverse @ by_q, -inverse @ by_v, inverse)):
        assert_close(ours, theirs, 1e-8)
    name = f"tool{len(robot.model.bodies) - 1}"
    twist_q, rate_q, rate_v = robot.frame_derivatives(q, v, a, name)

    def rate(q: Array, v: Array) -> Array:
        return np.asarray(robot.jacobian(q, name) @ a + robot.jacobian_dot(q, v, name) @ v)

    assert_close(twist_q, moved(robot, q, lambda x: robot.jacobian(x, name) @ v), 1e-7)
    assert_close(rate_q, moved(robot, q, lambda x: rate(x, v)), 1e-7)
    change = [derivative(lambda t, u=u: rate(q, v + t * u), 1e-2) for u in np.eye(n)]
    assert_close(rate_v, np.array(change).T, 1e-8)


@every_backend
def test_coriolis_matrix_and_momentum_hold_their_identities(backend):
    for robot, rng in trees(backend):
        check_identities(robot, *random_state(robot.model, rng)[:2])


def check_identities(robot: Robot, q: Array, v: Array) -> None:
    def in_time(function: Any) -> Array:
        return derivative(lambda t: function(robot.model.integrate(q, t * v)), step=1e-3)

    C = robot.coriolis_matrix(q, v)
    assert_close(C @ v + robot.gravity(q), robot.bias(q, v), 1e-10)
    assert_close(C + C.T, in_time(robot.mass_matrix), 1e-7)
    A = robot.centroidal_momentum_matrix(q)
    assert_close(robot.momentum(q, v), A @ v, 1e-11)
    A_dot = in_time(robot.centroidal_momentum_matrix)
    assert_close(robot.centroidal_momentum_bias(q, v), A_dot @ v, 1e-7, least=1e-3)
    assert_close(robot.center_of_mass_jacobian(q) @ v, in_time(robot.center_of_mass), 1e-8)
    W = robot.mass_factor(q)
    assert_close(W @ W.T, robot.mass_matrix(q), 1e-11)


@every_backend
def test_reactions_friction_and_payloads_count_on_the_bodies_of_the_model(backend):
    model = mixed_tree(8, n=4)
    robot, rough = Robot(model, backend=backend), Robot(model, backend=backend, friction=True)
    rng = np.random.default_rng(8)
    q, v, a = random_state(model, rng)
    reactions = robot.joint_reactions(q, v, a)
    assert reactions.shape == (4, 6)
    tau = robot.inverse_dynamics(q, v, a)
    for body, wrench in zip(model.bodies, reactions):
        joint = body.joint
        own = slice(joint.v_index, joint.v_index + joint.kind.nv)
        position = q[joint.q_index : joint.q_index + joint.kind.nq]
        expected = columns(joint.kind, position).T @ wrench + joint.armature * a[own]
        assert_close(tau[own], expected, 1e-11)
    assert_close(rough.inverse_dynamics(q, v, a) - tau, _friction(model, v), 1e-9)
    robot.set_payload("tool3", 2.0, com=(0.1, 0.0, 0.2))
    Y = robot.regressor(q, v, a)
    rotors = np.array([joint.armature for joint in model.joints for _ in range(joint.kind.nv)])
    assert_close(robot.inverse_dynamics(q, v, a), Y @ robot.inertial_parameters.ravel() + rotors * a, 1e-11)


def _friction(model: Model, v: Array) -> Array:
    found = np.zeros(model.nv)
    for joint in model.joints:
        for dof in range(joint.v_index, joint.v_index + joint.kind.nv):
            found[dof] = joint.damping * v[dof] + joint.friction * np.tanh(v[dof] / 1e-2)
    return found


@every_backend
def test_a_batch_is_its_samples(backend):
    robot = Robot(mixed_tree(9, n=4), backend=backend)
    q, v, a = random_states(robot.model, np.random.default_rng(9), 5)
    tau = robot.inverse_dynamics(q, v, a)
    by_q = robot.inverse_dynamics_derivatives(q, v, a)[0]
    for k in range(5):
        assert_close(tau[k], robot.inverse_dynamics(q[k], v[k], a[k]), 1e-12)
        assert_close(by_q[k], robot.inverse_dynamics_derivatives(q[k], v[k], a[k])[0], 1e-12)


@every_backend
def test_a_chain_can_follow_another(backend):
    """With q' = (r q + o, q) of the pair without mimic and v' = J v: tau = J^T tau'."""
    rng = np.random.default_rng(10)
    kind = any_kind(rng, "product_of_exponentials")
    free = single_joint([(kind, random_transform(rng), random_inertia(rng)) for _ in range(2)])
    first, second = free.bodies
    n, ratio, offset = kind.nv, -0.7, 0.2
    leader = replace(second, joint=replace(second.joint, q_index=0, v_index=0))
    follower = replace(first, joint=replace(first.joint, mimic=Mimic("joint1", multiplier=ratio, offset=offset)))
    robot, pair = Robot(replace(free, bodies=(follower, leader)), backend=backend), Robot(free, backend=backend)
    q, v, a = rng.normal(size=(3, n))
    both = [np.concatenate([ratio * x + shift, x]) for x, shift in ((q, offset), (v, 0.0), (a, 0.0))]
    J = np.vstack([ratio * np.eye(n), np.eye(n)])
    assert robot.model.nv == n
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(tau, J.T @ pair.inverse_dynamics(*both), 1e-11)
    by_q = robot.inverse_dynamics_derivatives(q, v, a)[0]
    assert_close(by_q, J.T @ pair.inverse_dynamics_derivatives(*both)[0] @ J, 1e-11)


# --- the expanded tree ---------------------------------------------------------------------------


def test_expansion_keeps_coordinates_frames_and_mass():
    model = mixed_tree(11, n=6)
    tree, bodies = expanded(model)
    assert (tree.nq, tree.nv, tree.mass) == (model.nq, model.nv, model.mass)
    assert [tree.bodies[k].name for k in bodies] == model.body_names
    assert tree.frame_names == model.frame_names
    assert all(body.joint.kind.as_chain() is None for body in tree.bodies)
    assert expanded(tree).model is tree
    rows = list(range(10 * len(bodies)))
    spread = expanded(model).spread(rows, 10)
    assert len(spread) == 10 * len(tree.bodies) and list(expanded(model).gather(spread, 10)) == rows


def test_a_chain_of_one_joint_keeps_its_name():
    model = single_joint([(ProductOfExponentials(((*Z, *O3),)), IDENTITY, RigidInertia(1.0))])
    (body,) = expanded(model).model.bodies
    assert (body.name, body.joint.name, body.joint.kind) == ("link0", "joint0", Screw((*Z, *O3)))


# --- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Revolute((0, 0, 0)), "no direction"),
        (lambda: Revolute((0, 1)), "2 numbers, expected 3"),
        (lambda: Revolute("xyz"), "not made of numbers"),
        (lambda: Helical(Z, float("nan")), "pitch .* not finite"),
        (lambda: Helical(Z, "a"), "pitch .* not made of numbers"),
        (lambda: Screw((0, 0, 2, 0, 0, 0)), "not a unit twist.*2"),
        (lambda: Screw((0, 0, 0, 0, 0, 0)), "not a unit twist"),
        (lambda: Universal(X, (-2, 0, 0)), "parallel"),
        (lambda: ProductOfExponentials(()), "needs a screw"),
        (lambda: ProductOfExponentials(3), "not a list"),
        (lambda: ProductOfExponentials(((1, 0, 0),)), "3 numbers, expected 6"),
    ],
)
def test_impossible_joints_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_axes_are_normalised_but_unit_ones_stay_as_they_are():
    assert Revolute((0, 0, -3)).axis == (0.0, 0.0, -1.0)
    rng = np.random.default_rng(13)
    for _ in range(100):
        axis = any_kind(rng, "helical").axis
        assert Helical(axis).axis == axis
    assert Revolute([0, 1, 0]) == Revolute(np.array([0, 1, 0])) == Revolute(Y)


# --- one file ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Telescope(JointKind):
    """A user's own kind: two stages along z that extend alike, q the length of one."""

    stages: float = 2.0
    name: ClassVar[str] = "telescope"

    def transform(self, q):
        return Transform((), (0.0, 0.0, self.stages * q[0]))

    def columns(self, q):
        return ((0.0, 0.0, 0.0, 0.0, 0.0, self.stages),)


def test_a_kind_of_ones_own_needs_one_class():
    kind = JointKind.from_dict({"type": "telescope", "stages": 3.0})
    assert kind == Telescope(3.0) and kind.to_dict() == {"type": "telescope", "stages": 3.0}
    robot = Robot(single_joint([(kind, IDENTITY, RigidInertia(2.0))]))
    assert_close(robot.mass_matrix([0.1]), np.array([[18.0]]), 1e-15)


@pytest.mark.parametrize("name", (*MORE_KINDS, *ALL_KINDS))
def test_kinds_are_their_dictionaries(name):
    rng = np.random.default_rng(14)
    for _ in range(5):
        kind = any_kind(rng, name)
        assert JointKind.from_dict(kind.to_dict()) == kind
        q = kind.random(rng, -np.inf, np.inf)
        np.testing.assert_array_equal(pose(JointKind.from_dict(kind.to_dict()), q), pose(kind, q))


def test_a_name_is_that_of_one_kind():
    with pytest.raises(TypeError, match="Revolute is already the joint kind 'revolute'"):

        class Other(JointKind):
            name: ClassVar[str] = "revolute"

    assert JointKind.known["revolute"] is Revolute


def test_unknown_kinds_and_fields_are_named():
    with pytest.raises(ModelError, match="unknown joint type 'hinge'; known: .*revolute.*once its file has been"):
        JointKind.from_dict({"type": "hinge"})
    with pytest.raises(ModelError, match="a helical joint has no 'lead'; it has: axis, pitch"):
        JointKind.from_dict({"type": "helical", "lead": 0.1})


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with a joint kind, as pip leaves it."""
    about = tmp_path / "my_joints-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-joints\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[rbd_dynamics.kinds]\nmine = my_joints\n")
    monkeypatch.syspath_prepend(tmp_path)
    open_kinds.import_installed_kinds.cache_clear()
    yield tmp_path / "my_joints.py"
    open_kinds.import_installed_kinds.cache_clear()
    sys.modules.pop("my_joints", None)
    JointKind.known.pop("installed_slide", None)


def test_kinds_of_installed_packages_are_known(installed):
    installed.write_text(
        "from dataclasses import dataclass\n"
        "import rbd_dynamics as rbd\n"
        "@dataclass(frozen=True)\n"
        "class InstalledSlide(rbd.joints.Prismatic):\n"
        "    name = 'installed_slide'\n"
    )
    kind = JointKind.from_dict({"type": "installed_slide", "axis": [1.0, 0.0, 0.0]})
    assert type(kind).__name__ == "InstalledSlide" and kind.nq == 1
    with pytest.raises(ModelError, match="unknown joint type 'hinge'; known: .*installed_slide"):
        JointKind.from_dict({"type": "hinge"})


def test_an_installed_package_that_cannot_be_imported_is_named(installed):
    installed.write_text("import no_such_module\n")
    for _ in range(2):
        with pytest.raises(ModelError, match="entry point 'mine' of rbd_dynamics.kinds cannot be loaded: .*no_such"):
            JointKind.from_dict({"type": "installed_slide"})
    assert isinstance(JointKind.from_dict({"type": "revolute"}), Revolute)


def test_a_random_screw_is_a_unit_twist():
    rng = np.random.default_rng(15)
    for _ in range(50):
        Screw(random_screw(rng))
