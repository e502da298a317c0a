# SPDX-License-Identifier: Apache-2.0
"""Derivatives against differences of what they are the derivatives of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.checks.oracles import assert_close, derivative, error
from helpers.checks.robot_methods.state import DIFFERENCES, IDENTITIES, State, linearly

Array = NDArray[np.float64]


def moving(s: State, first: Callable[..., Any], last: Array, k: int) -> Array:
    """The rate of the k-th of first derivatives in the state's direction."""
    dq, dv, dx = s.direction
    return derivative(lambda t: first(s.model.integrate(s.q, t * dq), s.v + t * dv, last + t * dx)[k], 1e-3)


def check_inverse_dynamics_derivatives(s: State) -> None:
    r = s.robot
    by_q, by_v, by_a = r.inverse_dynamics_derivatives(s.q, s.v, s.a)
    assert_close(by_q, s.along(lambda q: r.inverse_dynamics(q, s.v, s.a)), DIFFERENCES)
    assert_close(by_v, linearly(lambda v: r.inverse_dynamics(s.q, v, s.a), s.v), IDENTITIES)
    assert_close(by_a, r.mass_matrix(s.q), 1e-12)


def check_forward_dynamics_derivatives(s: State) -> None:
    r = s.robot
    by_q, by_v, by_tau = r.forward_dynamics_derivatives(s.q, s.v, s.tau)
    a = r.forward_dynamics(s.q, s.v, s.tau)
    assert_close(by_q, s.along(lambda q: r.forward_dynamics(q, s.v, s.tau), 1e-3), DIFFERENCES)
    assert_close(by_v, linearly(lambda v: r.forward_dynamics(s.q, v, s.tau), s.v), 1e-9)
    M, at_a = r.mass_matrix(s.q), r.inverse_dynamics_derivatives(s.q, s.v, a)
    for ours, theirs in zip((by_q, by_v, by_tau), (-at_a[0], -at_a[1], np.eye(s.model.nv))):
        assert_close(M @ ours, theirs, 1e-9)


def check_hybrid_dynamics_derivatives(s: State) -> None:
    r, p = s.robot, s.prescribed
    found = r.hybrid_dynamics_derivatives(s.q, s.v, s.a, s.tau, p)
    for k, (by_q, by_v, by_input) in enumerate((found[:3], found[3:])):
        assert_close(by_q, s.along(lambda q, k=k: r.hybrid_dynamics(q, s.v, s.a, s.tau, p)[k], 1e-3), DIFFERENCES)
        assert_close(by_v, linearly(lambda v, k=k: r.hybrid_dynamics(s.q, v, s.a, s.tau, p)[k], s.v), 1e-9)
        given = np.where(p, s.a, s.tau)
        moved = linearly(
            lambda x, k=k: r.hybrid_dynamics(s.q, s.v, np.where(p, x, 0.0), np.where(p, 0.0, x), p)[k], given
        )
        assert_close(by_input, moved, 1e-9)


def check_frame_derivatives(s: State) -> None:
    def rate(q: Array, v: Array) -> Array:
        return np.asarray(s.robot.jacobian(q, s.tool) @ s.a + s.robot.jacobian_dot(q, v, s.tool) @ v)

    twist_q, rate_q, rate_v = s.robot.frame_derivatives(s.q, s.v, s.a, s.tool)
    assert_close(twist_q, s.along(lambda q: s.robot.jacobian(q, s.tool) @ s.v), DIFFERENCES)
    assert_close(rate_q, s.along(lambda q: rate(q, s.v)), DIFFERENCES)
    assert_close(rate_v, linearly(lambda v: rate(s.q, v), s.v), IDENTITIES)


def check_inverse_dynamics_wrench_derivative(s: State) -> None:
    found = s.robot.inverse_dynamics_wrench_derivative(s.q, s.tool)
    push = linearly(lambda f: s.robot.inverse_dynamics(s.q, s.v, s.a, f_ext={s.tool: f}), np.zeros(6))
    assert_close(found, push, 1e-9)


def check_forward_dynamics_wrench_derivative(s: State) -> None:
    found = s.robot.forward_dynamics_wrench_derivative(s.q, s.tool)
    assert_close(s.robot.mass_matrix(s.q) @ found, s.robot.jacobian(s.q, s.tool).T, 1e-9)


def check_hybrid_dynamics_wrench_derivative(s: State) -> None:
    found = s.robot.hybrid_dynamics_wrench_derivative(s.q, s.prescribed, s.tool)
    for k, ours in enumerate(found):
        push = linearly(
            lambda f, k=k: s.robot.hybrid_dynamics(s.q, s.v, s.a, s.tau, s.prescribed, f_ext={s.tool: f})[k],
            np.zeros(6),
        )
        assert error(ours, push, 1e-3) < 1e-8


def check_joint_reaction_derivatives(s: State) -> None:
    r = s.robot
    by_q, by_v, by_a = r.joint_reaction_derivatives(s.q, s.v, s.a, f_ext=s.f_ext)
    assert_close(by_q, s.along(lambda q: r.joint_reactions(q, s.v, s.a, f_ext=s.f_ext)), DIFFERENCES)
    assert_close(by_v, linearly(lambda v: r.joint_reactions(s.q, v, s.a, f_ext=s.f_ext), s.v), 1e-9)
    assert_close(by_a, linearly(lambda a: r.joint_reactions(s.q, s.v, a, f_ext=s.f_ext), s.a), 1e-9)


def check_centroidal_momentum_derivatives(s: State) -> None:
    def rate(q: Array, v: Array) -> Array:
        return np.asarray(s.robot.centroidal_momentum_matrix(q) @ s.a + s.robot.centroidal_momentum_bias(q, v))

    found = s.robot.centroidal_momentum_derivatives(s.q, s.v, s.a)
    assert error(found.h_dq, s.along(lambda q: s.robot.momentum(q, s.v)), 1e-3) < DIFFERENCES
    assert error(found.hdot_dq, s.along(lambda q: rate(q, s.v)), 1e-3) < DIFFERENCES
    assert error(found.hdot_dv, linearly(lambda v: rate(s.q, v), s.v), 1e-3) < 1e-9


def check_center_of_mass_derivatives(s: State) -> None:
    def acceleration(q: Array, v: Array) -> Array:
        J, Jdot = s.robot.center_of_mass_jacobian(q), s.robot.center_of_mass_jacobian_dot(q, v)
        return np.asarray(J @ s.a + Jdot @ v)

    found = s.robot.center_of_mass_derivatives(s.q, s.v, s.a)
    speed = s.along(lambda q: s.robot.center_of_mass_jacobian(q) @ s.v)
    assert error(found.velocity_dq, speed, 1e-3) < DIFFERENCES
    assert error(found.acceleration_dq, s.along(lambda q: acceleration(q, s.v)), 1e-3) < DIFFERENCES
    assert error(found.acceleration_dv, linearly(lambda v: acceleration(s.q, v), s.v), 1e-3) < 1e-9


def check_inverse_effective_inertia_derivative(s: State) -> None:
    found = s.robot.inverse_effective_inertia_derivative(s.q, s.tool)
    assert_close(found, s.along(lambda q: s.robot.inverse_effective_inertia(q, s.tool), 1e-3), DIFFERENCES)


def check_inverse_dynamics_second_derivatives(s: State) -> None:
    found = s.robot.inverse_dynamics_second_derivatives(s.q, s.v, s.a, s.direction)
    for k, ours in enumerate(found):
        assert error(ours, moving(s, s.robot.inverse_dynamics_derivatives, s.a, k), 1e-3) < 1e-6


def check_forward_dynamics_second_derivatives(s: State) -> None:
    found = s.robot.forward_dynamics_second_derivatives(s.q, s.v, s.tau, s.direction)
    for k, ours in enumerate(found):
        assert error(ours, moving(s, s.robot.forward_dynamics_derivatives, s.tau, k), 1e-3) < 1e-5
