# SPDX-License-Identifier: Apache-2.0
"""Sampled feedback through lag and delay: its growth beside exponentials of small steps, and closed forms."""

import numpy as np
import pytest
from helpers.models.robots import load_robot
from scipy.linalg import expm

from rbd_dynamics.control.safety.closed_loop import GROWTH, Timing, growth_rate, instability
from rbd_dynamics.robot import Robot

TIMINGS = [Timing(1e-3), Timing(2e-3, 1.3e-3), Timing(1e-3, 5e-3, 30.0), Timing(4e-3, 4e-3, 100.0)]


def by_small_steps(M, K, D, timing, fine=1e-4):
    """Growth rate by exponentials of small steps, in each of which the latest command acts that has arrived."""
    n, steps, delay = len(M), round(timing.period / fine), round(timing.delay / fine)
    lag = 2.0 * np.pi * timing.bandwidth
    held = -(-delay // steps)  # commands on their way
    A = np.zeros((4 * n, 4 * n))  # q, v, actuators' torque, command
    A[:n, n : 2 * n] = np.eye(n)
    A[n : 2 * n, (2 if lag else 3) * n :][:, :n] = np.linalg.inv(M)
    A[2 * n : 3 * n, 2 * n : 3 * n], A[2 * n : 3 * n, 3 * n :] = -lag * np.eye(n), lag * np.eye(n)
    E = expm(fine * A)[: 3 * n]
    E[2 * n :] *= lag > 0.0  # else there is no such state
    x = np.eye((3 + held) * n)
    commands = [np.hstack([-K, -D, np.zeros((n, (1 + held) * n))]), *x[3 * n :].reshape(held, n, len(x))]
    state = x[: 3 * n]
    for j in range(steps):
        ago = max(0, -(-(delay - j) // steps))
        state = E @ np.vstack([state, commands[ago]])
    whole = np.vstack([state, *commands[:held]])
    return np.log(np.abs(np.linalg.eigvals(whole)).max()) / timing.period


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
@pytest.mark.parametrize("kp", [20.0, 4000.0])
def test_growth_is_that_of_small_steps(timing, kp):
    M = np.array([[1.2, 0.3], [0.3, 0.4]])
    K, D = kp * np.diag([1.0, 0.5]), 0.5 * np.sqrt(kp) * np.array([[1.0, 0.1], [0.1, 0.4]])
    np.testing.assert_allclose(growth_rate(M, K, D, timing), by_small_steps(M, K, D, timing), rtol=1e-7, atol=1e-6)


def test_one_joint_has_the_closed_form_of_its_sampled_loop():
    """Without lag and delay: z^2 - (2 - d - k / 2) z + 1 - d + k / 2, with k = K T^2 / m, d = D T / m."""
    m, K, D, T = 0.05, 900.0, 12.0, 1e-3
    k, d = K * T * T / m, D * T / m
    roots = np.roots([1.0, -(2.0 - d - 0.5 * k), 1.0 - d + 0.5 * k])
    rate = growth_rate(np.array([[m]]), np.array([[K]]), np.array([[D]]), Timing(T))
    np.testing.assert_allclose(rate, np.log(np.abs(roots).max()) / T, rtol=1e-9)


def test_without_feedback_nothing_grows():
    M = Robot(load_robot("panda")).mass_matrix(np.full(8, 0.3))
    zero = np.zeros_like(M)
    for timing in TIMINGS:
        assert abs(growth_rate(M, zero, zero, timing)) < 1e-2
        assert instability(M, zero, zero, timing) is None


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
def test_the_share_that_is_told_is_the_border(timing):
    M = Robot(load_robot("panda")).mass_matrix(np.full(8, 0.3))
    D = 3.0 * M / timing.period  # too much even without delay
    K = 0.01 * D / timing.period
    rate, share, joint = instability(M, K, D, timing)
    assert rate > GROWTH and 0.0 < share < 1.0
    assert 0 <= joint < 8
    assert growth_rate(M, 0.99 * share * K, 0.99 * share * D, timing) <= GROWTH
    assert growth_rate(M, 1.01 * share * K, 1.01 * share * D, timing) > GROWTH


def test_a_stiffness_without_damping_has_no_share():
    one = np.eye(1)
    rate, share, _ = instability(0.001 * one, 4000.0 * one, 0.0 * one, Timing(1e-3, 5e-3, 30.0))
    assert rate > GROWTH and share < 0.05
