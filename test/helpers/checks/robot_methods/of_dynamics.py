# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics against simpler ones, down to the poses, whose differences need no S."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from helpers.checks.oracles import assert_close, derivative, rotor_inertia
from helpers.checks.robot_methods.state import CALLS, DIFFERENCES, IDENTITIES, State
from rbd_dynamics import Robot, spatial
from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.model.passive_forces import Spring
from rbd_dynamics.theory.closed_forms import lagrange

Array = NDArray[np.float64]


def vee(X: Array) -> Array:
    return np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]])


def pose_of_tool(s: State) -> Array:
    found, index = spatial.arrays.pose_array(s.model.frame(s.tool).placement), s.model.frame(s.tool).body
    while index >= 0:
        body = s.model.bodies[index]
        joint, follows = body.joint, body.joint.mimic or Mimic("")
        own = s.q[joint.q_index : joint.q_index + joint.kind.nq] * follows.multiplier + follows.offset
        here = spatial.arrays.pose_array(body.placement) @ spatial.arrays.pose_array(joint.kind.transform(own.tolist()))
        found, index = here @ found, body.parent
    return found


def check_pose(s: State) -> None:
    assert_close(s.robot.pose(s.q, s.tool), pose_of_tool(s), 1e-13)


def check_jacobian(s: State) -> None:
    change = s.along(lambda q: s.robot.pose(q, s.tool))
    back = np.linalg.inv(s.robot.pose(s.q, s.tool))
    expected = np.stack([vee(back @ change[..., k]) for k in range(s.model.nv)], axis=-1)
    assert_close(s.robot.jacobian(s.q, s.tool), expected, 1e-9)


def check_jacobian_dot(s: State) -> None:
    assert_close(s.robot.jacobian_dot(s.q, s.v, s.tool), s.in_time(lambda q: s.robot.jacobian(q, s.tool)), 1e-8)


def mass_matrix(s: State, q: Array) -> Array:
    """sum J^T I J."""
    M = np.diag(rotor_inertia(s.model))
    for body, inertia in zip(s.model.bodies, s.inertias):
        J = s.robot.jacobian(q, body.name)
        M = M + J.T @ inertia @ J
    return M


def body_wrenches(s: State, a: Array, gravity: bool = True) -> list[Array]:
    """I Vdot - ad*_V I V of each body, in its frame, with the weight."""
    found = []
    for body, inertia in zip(s.model.bodies, s.inertias):
        J = s.robot.jacobian(s.q, body.name)
        V = J @ s.v
        weight = s.robot.pose(s.q, body.name)[:3, :3].T @ np.array(s.model.gravity) * gravity
        acceleration = J @ a + s.robot.jacobian_dot(s.q, s.v, body.name) @ s.v - np.concatenate([np.zeros(3), weight])
        found.append(inertia @ acceleration - spatial.ad(V).T @ inertia @ V)
    return found


def newton_euler(s: State, a: Array, gravity: bool = True) -> Array:
    tau = rotor_inertia(s.model) * a
    for body, wrench in zip(s.model.bodies, body_wrenches(s, a, gravity)):
        tau = tau + s.robot.jacobian(s.q, body.name).T @ wrench
    return tau


def external(s: State) -> Array:
    return sum((s.robot.jacobian(s.q, name).T @ wrench for name, wrench in s.f_ext.items()), np.zeros(s.model.nv))


def check_inverse_dynamics(s: State) -> None:
    assert_close(s.robot.inverse_dynamics(s.q, s.v, s.a), newton_euler(s, s.a), IDENTITIES)
    with_wrenches = s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    assert_close(with_wrenches, newton_euler(s, s.a) - external(s), IDENTITIES)
    # the power goes into the energies
    energy = derivative(
        lambda t: (
            s.robot.kinetic_energy(s.model.integrate(s.q, t * s.v), s.v + t * s.a)
            + s.robot.potential_energy(s.model.integrate(s.q, t * s.v))
        ),
        2e-3,
    )
    assert_close(energy, s.robot.inverse_dynamics(s.q, s.v, s.a) @ s.v, DIFFERENCES)


def check_coriolis(s: State) -> None:
    assert_close(s.robot.coriolis(s.q, s.v), newton_euler(s, 0.0 * s.a, gravity=False), IDENTITIES)
    if coordinates(s):  # Lagrange's equations
        half = 0.5 * s.along(lambda q: s.v @ s.robot.mass_matrix(q) @ s.v)
        assert_close(s.robot.coriolis(s.q, s.v), s.in_time(s.robot.mass_matrix) @ s.v - half, DIFFERENCES)


def coordinates(s: State) -> list[int]:
    """Degrees of freedom of trees in which every velocity is the rate of a coordinate."""
    if any(type(joint.kind).rates is not JointKind.rates for joint in s.model.joints):
        return []
    return list(range(s.model.nv))


def check_coriolis_matrix(s: State) -> None:
    C = s.robot.coriolis_matrix(s.q, s.v)
    assert_close(C @ s.v, s.robot.coriolis(s.q, s.v), IDENTITIES)
    assert_close(C + C.T, s.in_time(s.robot.mass_matrix), DIFFERENCES)
    if coordinates(s):
        dM = s.along(s.robot.mass_matrix)
        symbols = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0))
        assert_close(C, symbols @ s.v, DIFFERENCES)
    assert_close(C, lagrange.coriolis_matrix(s.robot, s.q, s.v), IDENTITIES)


def check_gravity(s: State) -> None:
    assert_close(s.robot.gravity(s.q), s.along(s.robot.potential_energy), DIFFERENCES)


def check_bias(s: State) -> None:
    assert_close(s.robot.bias(s.q, s.v), newton_euler(s, 0.0 * s.a), IDENTITIES)


def check_mass_matrix(s: State) -> None:
    assert_close(s.robot.mass_matrix(s.q), mass_matrix(s, s.q), 1e-12)


def check_mass_matrix_inverse(s: State) -> None:
    assert_close(s.robot.mass_matrix_inverse(s.q) @ s.robot.mass_matrix(s.q), np.eye(s.model.nv), 1e-9)


def check_mass_factor(s: State) -> None:
    W = s.robot.mass_factor(s.q)
    assert_close(W @ W.T, s.robot.mass_matrix(s.q), 1e-11)
    assert not np.any(np.tril(W, -1)) and np.all(np.diag(W) > 0.0)


def check_factor_apply(s: State) -> None:
    W = s.robot.mass_factor(s.q)
    assert_close(s.robot.factor_apply(s.q, s.x), W @ s.x, 1e-9)
    assert_close(s.robot.factor_apply(s.q, s.x, transposed=True), W.T @ s.x, 1e-9)


def check_factor_solve(s: State) -> None:
    W = s.robot.mass_factor(s.q)
    assert_close(W @ s.robot.factor_solve(s.q, s.x), s.x, 1e-9)
    assert_close(W.T @ s.robot.factor_solve(s.q, s.x, transposed=True), s.x, 1e-9)


def check_quasi_velocity_coriolis(s: State) -> None:
    W, W_dot = s.robot.mass_factor(s.q), s.in_time(s.robot.mass_factor)
    expected = np.linalg.solve(W, s.robot.coriolis_matrix(s.q, s.v) - W @ W_dot.T) @ np.linalg.inv(W).T
    found = s.robot.quasi_velocity_coriolis(s.q, s.v)
    assert_close(found, expected, 1e-6, least=1e-2)
    assert_close(found, -found.T, IDENTITIES)


def check_joint_reactions(s: State) -> None:
    wrenches = [w - s.f_ext[body.name] for body, w in zip(s.model.bodies, body_wrenches(s, s.a))]
    poses = [s.robot.pose(s.q, body.name) for body in s.model.bodies]
    for index in reversed(range(len(wrenches))):
        parent = s.model.bodies[index].parent
        if parent >= 0:
            to_child = spatial.adjoint(np.linalg.inv(poses[index]) @ poses[parent])
            wrenches[parent] = wrenches[parent] + to_child.T @ wrenches[index]
    assert_close(s.robot.joint_reactions(s.q, s.v, s.a, f_ext=s.f_ext), np.array(wrenches), IDENTITIES)


def check_inverse_effective_inertia(s: State) -> None:
    J = s.robot.jacobian(s.q, s.tool)
    expected = J @ np.linalg.solve(s.robot.mass_matrix(s.q), J.T)
    assert_close(s.robot.inverse_effective_inertia(s.q, s.tool), expected, 1e-9)


def check_forward_dynamics(s: State) -> None:
    tau = s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    assert_close(s.robot.forward_dynamics(s.q, s.v, tau, f_ext=s.f_ext), s.a, 1e-9)


def check_hybrid_dynamics(s: State) -> None:
    tau = s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    for prescribed in (s.prescribed, ~s.prescribed, s.prescribed | True):
        a, t = np.where(prescribed, s.a, 7.0), np.where(prescribed, 7.0, tau)
        found = s.robot.hybrid_dynamics(s.q, s.v, a, t, prescribed, f_ext=s.f_ext)
        assert_close(found[0], s.a, 1e-9)
        assert_close(found[1], tau, 1e-9)


def check_frame_velocity(s: State) -> None:
    turn = np.kron(np.eye(2), s.robot.pose(s.q, s.tool)[:3, :3])
    assert_close(CALLS["frame_velocity"](s.robot, s), turn @ s.robot.jacobian(s.q, s.tool) @ s.v, 1e-11)


def check_frame_acceleration(s: State) -> None:
    expected = s.in_time(lambda q: s.robot.jacobian(q, s.tool, reference="aligned")) @ s.v
    expected = expected + s.robot.jacobian(s.q, s.tool, reference="aligned") @ s.a
    assert_close(CALLS["frame_acceleration"](s.robot, s), expected, DIFFERENCES)


def check_kinetic_energy(s: State) -> None:
    assert_close(s.robot.kinetic_energy(s.q, s.v), 0.5 * s.v @ mass_matrix(s, s.q) @ s.v, 1e-12)


def check_kinetic_energy_regressor(s: State) -> None:
    rotors = 0.5 * np.sum(rotor_inertia(s.model) * s.v**2)
    energy = s.robot.kinetic_energy_regressor(s.q, s.v) @ s.robot.inertial_parameters.ravel() + rotors
    assert_close(np.asarray(energy), 0.5 * s.v @ mass_matrix(s, s.q) @ s.v, 1e-12)


def moments(s: State) -> Array:
    """sum m c in the world."""
    total = np.zeros(3)
    for body, row in zip(s.model.bodies, s.robot.inertial_parameters):
        pose = s.robot.pose(s.q, body.name)
        total += pose[:3, :3] @ row[1:4] + row[0] * pose[:3, 3]
    return total


def check_potential_energy(s: State) -> None:
    assert_close(s.robot.potential_energy(s.q), np.asarray(-np.array(s.model.gravity) @ moments(s)), 1e-12)


def check_potential_energy_regressor(s: State) -> None:
    row = s.robot.potential_energy_regressor(s.q)
    energy = np.asarray(row @ s.robot.inertial_parameters.ravel())
    assert_close(energy, np.asarray(-np.array(s.model.gravity) @ moments(s)), 1e-12)


def check_regressor(s: State) -> None:
    tau = s.robot.regressor(s.q, s.v, s.a) @ s.robot.inertial_parameters.ravel() + rotor_inertia(s.model) * s.a
    assert_close(tau, newton_euler(s, s.a), IDENTITIES)


def check_center_of_mass(s: State) -> None:
    assert_close(s.robot.center_of_mass(s.q), moments(s) / s.model.mass, 1e-12)


def check_center_of_mass_jacobian(s: State) -> None:
    assert_close(s.robot.center_of_mass_jacobian(s.q), s.along(s.robot.center_of_mass), DIFFERENCES)


def check_center_of_mass_jacobian_dot(s: State) -> None:
    expected = s.in_time(s.robot.center_of_mass_jacobian)
    assert_close(s.robot.center_of_mass_jacobian_dot(s.q, s.v), expected, DIFFERENCES)


def check_centroidal_momentum_matrix(s: State) -> None:
    center, total = s.robot.center_of_mass(s.q), np.zeros((6, s.model.nv))
    for body, inertia in zip(s.model.bodies, s.inertias):
        pose = s.robot.pose(s.q, body.name)
        momentum = inertia @ s.robot.jacobian(s.q, body.name)
        linear = pose[:3, :3] @ momentum[3:]
        total += np.vstack([pose[:3, :3] @ momentum[:3] + np.cross(pose[:3, 3] - center, linear, axisb=0).T, linear])
    assert_close(s.robot.centroidal_momentum_matrix(s.q), total, 1e-11)


def check_momentum(s: State) -> None:
    assert_close(s.robot.momentum(s.q, s.v), s.robot.centroidal_momentum_matrix(s.q) @ s.v, 1e-11)


def check_centroidal_momentum_bias(s: State) -> None:
    expected = s.in_time(s.robot.centroidal_momentum_matrix) @ s.v
    assert_close(s.robot.centroidal_momentum_bias(s.q, s.v), expected, DIFFERENCES)


def check_friction_torque(s: State) -> None:
    expected = np.zeros(s.model.nv)
    for joint in (body.joint for body in s.model.bodies):
        own, ratio = slice(joint.v_index, joint.v_index + joint.kind.nv), (joint.mimic or Mimic("")).multiplier
        speed = ratio * s.v[own]
        expected[own] += ratio * (joint.damping * speed + joint.friction * np.tanh(speed / 1e-2))
    assert_close(s.robot.friction_torque(s.v), expected, 1e-12)
    rough = Robot(s.model, backend="reference", friction=True)
    assert_close(rough.bias(s.q, s.v), s.robot.bias(s.q, s.v) + expected, IDENTITIES)


def check_spring_torque(s: State) -> None:
    """Springs hang on q whatever S is; kinds without coordinates have none."""
    assert not np.any(s.robot.spring_torque(s.q))
    bodies = [
        replace(body, joint=replace(body.joint, passive=(Spring(20.0, rest=0.3),) * body.joint.kind.velocity_is_rate))
        for body in s.model.bodies
    ]
    sprung = Robot(replace(s.model, bodies=tuple(bodies)), backend="reference")
    held = s.along(lambda q: sprung.potential_energy(q) - s.robot.potential_energy(q))
    assert_close(sprung.spring_torque(s.q), held, DIFFERENCES)
    by_q = sprung.inverse_dynamics_derivatives(s.q, s.v, s.a)[0]
    assert_close(by_q, s.along(lambda q: sprung.inverse_dynamics(q, s.v, s.a)), DIFFERENCES)
