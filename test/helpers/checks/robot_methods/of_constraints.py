# SPDX-License-Identifier: Apache-2.0
"""Constrained dynamics against the equations that its results must meet, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.checks.oracles import assert_close, error
from helpers.checks.robot_methods.state import DIFFERENCES, State, linearly

Array = NDArray[np.float64]


def stabilised(s: State) -> tuple[Array, Array]:
    """A, and what A a has to be."""
    h, A, Adot_v = s.robot.constraint_rows(s.q, s.v, s.constraints)
    return A, -Adot_v - 4.0 * A @ s.v - 4.0 * h


def check_constrained_hybrid_dynamics_derivatives(s: State) -> None:
    r, of, p = s.robot, s.constraints, s.one_prescribed
    found = r.constrained_hybrid_dynamics_derivatives(s.q, s.v, s.a, s.tau, p, of)

    def both(q: Array, v: Array) -> Array:
        return np.concatenate(r.constrained_hybrid_dynamics(q, v, s.a, s.tau, p, of)[:2])

    by_q, by_v = np.vstack(found[0:6:3]), np.vstack(found[1:6:3])
    assert_close(by_q, s.along(lambda q: both(q, s.v), 5e-4), 1e-5)
    assert_close(by_v, linearly(lambda v: both(s.q, v), s.v), 1e-7)


def check_constrained_inverse_dynamics_derivatives(s: State) -> None:
    r, of = s.robot, s.constraints
    found = r.constrained_inverse_dynamics_derivatives(s.q, s.v, s.a, of)
    tau = s.along(lambda q: r.constrained_inverse_dynamics(q, s.v, s.a, of).tau, 5e-4)
    assert error(found.tau_dq, tau, 1e-2) < 1e-5
    by_a = linearly(lambda a: r.constrained_inverse_dynamics(s.q, s.v, a, of).tau, s.a)
    assert error(found.tau_da, by_a, 1e-2) < 1e-8


def check_constraint_impulse_derivatives(s: State) -> None:
    r, of = s.robot, s.constraints
    found = r.constraint_impulse_derivatives(s.q, s.v, of)
    assert_close(found.v_dq, s.along(lambda q: r.constraint_impulse(q, s.v, of)[0], 5e-4), 1e-5)
    assert_close(found.v_dv, r.force_projection(s.q, of)[0].T, 1e-7)


def check_constraint_rows(s: State) -> None:
    def terms(q: Array) -> Any:
        return s.robot.constraint_rows(q, s.v, s.constraints)

    found, holonomic = terms(s.q), s.constraints.holonomic
    assert_close(found.A[holonomic], s.along(lambda q: terms(q).h)[holonomic], DIFFERENCES)
    assert_close(found[2], s.in_time(lambda q: terms(q).A) @ s.v, DIFFERENCES)


def check_constrained_forward_dynamics(s: State) -> None:
    found = s.robot.constrained_forward_dynamics(s.q, s.v, s.tau, s.constraints)
    A, wanted = stabilised(s)
    assert_close(A @ found.a, wanted, 1e-8)
    needed = s.robot.mass_matrix(s.q) @ found.a + s.robot.bias(s.q, s.v)
    assert error(needed, s.tau + A.T @ found.multipliers, np.abs(needed).max()) < 1e-8


def check_constrained_hybrid_dynamics(s: State) -> None:
    prescribed = s.one_prescribed
    found = s.robot.constrained_hybrid_dynamics(s.q, s.v, s.a, s.tau, prescribed, s.constraints)
    A, wanted = stabilised(s)
    assert_close(A @ found.a, wanted, 1e-7)
    needed = s.robot.mass_matrix(s.q) @ found.a + s.robot.bias(s.q, s.v)
    assert error(needed, found.tau + A.T @ found.multipliers, np.abs(needed).max()) < 1e-8
    np.testing.assert_array_equal(found.a[prescribed], s.a[prescribed])


def check_constrained_inverse_dynamics(s: State) -> None:
    found = s.robot.constrained_inverse_dynamics(s.q, s.v, s.a, s.constraints)
    A, wanted = stabilised(s)
    needed = s.robot.inverse_dynamics(s.q, s.v, s.a)
    assert error(found.tau + A.T @ found.multipliers, needed) < 1e-9
    assert error(found.residual, A @ s.a - wanted) < 1e-9


def check_constrained_forward_dynamics_derivatives(s: State) -> None:
    r, of, m = s.robot, s.constraints, len(s.constraints)
    found = r.constrained_forward_dynamics_derivatives(s.q, s.v, s.tau, of)

    def both(q: Array, v: Array, tau: Array) -> Array:
        return np.concatenate(r.constrained_forward_dynamics(q, v, tau, of)[:2])

    expected = (
        s.along(lambda q: both(q, s.v, s.tau), 5e-4),
        linearly(lambda v: both(s.q, v, s.tau), s.v),
        linearly(lambda tau: both(s.q, s.v, tau), s.tau),
    )
    for k, (moved, tolerance) in enumerate(zip(expected, (1e-6, 1e-8, 1e-8))):
        assert_close(np.vstack([found[k], found[3 + k]]), moved, tolerance)
        assert found[3 + k].shape == (m, s.model.nv)


def check_constraint_impulse(s: State) -> None:
    after, impulses, _ = s.robot.constraint_impulse(s.q, s.v, s.constraints)
    A, M = stabilised(s)[0], s.robot.mass_matrix(s.q)
    assert np.abs(A @ after).max() < 1e-8 * np.abs(A).max() * np.abs(s.v).max()
    change = M @ (after - s.v)
    assert error(change, A.T @ impulses) < 1e-7


def check_force_projection(s: State) -> None:
    P, rank = s.robot.force_projection(s.q, s.constraints)
    A, M_inverse = stabilised(s)[0], s.robot.mass_matrix_inverse(s.q)
    assert rank == len(A)
    expected = np.eye(s.model.nv) - A.T @ np.linalg.solve(A @ M_inverse @ A.T, A @ M_inverse)
    assert_close(P, expected, 1e-7)


def check_constraint_wrenches(s: State) -> None:
    multipliers = np.arange(1.0, 1.0 + len(s.constraints))
    A = stabilised(s)[0]
    for name, wrench in s.robot.constraint_wrenches(s.q, s.constraints, multipliers).items():
        rows = s.constraints.slice_of(name)
        frame = getattr(s.constraints[name], "frame")  # noqa: B009
        work = s.robot.jacobian(s.q, frame).T @ wrench
        assert_close(work, A[rows].T @ multipliers[rows], 1e-9)


def check_project_configuration(s: State) -> None:
    q = s.robot.project_configuration(s.q, [s.nearby])
    assert np.abs(s.robot.constraint_rows(q, s.v, [s.nearby]).h).max() < 1e-12
    assert 0.0 < np.abs(s.model.difference(s.q, q)).max() < 1.0
