# SPDX-License-Identifier: Apache-2.0
"""The external wrench while a robot runs: Pinocchio's torques of a known wrench, with noise that is known."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot, load_twin, needs_pinocchio

from rbd_dynamics import Robot
from rbd_dynamics.control.contact.wrench_monitor import WrenchMonitor

WRENCH = np.array([0.5, -1.0, 2.0, 10.0, -20.0, 5.0])  # (m, f)
Q = np.array([0.3, -1.1, 1.2, -0.4, 0.7, 0.2])
NOISE = np.array([0.5, 0.4, 0.3, 0.05, 0.04, 0.03])  # N m
DT = 0.002


@pytest.fixture(scope="module")
def arm():
    return Robot(load_robot("ur5_robot"))


@needs_pinocchio
def test_a_wrench_is_found_with_the_covariance_that_its_noise_makes(arm):
    J = load_twin("ur5_robot").jacobian(Q, "tool0")
    rng = np.random.default_rng(3)
    monitor = WrenchMonitor(arm, "tool0")
    found = []
    for k in range(6000):
        external = J.T @ WRENCH + NOISE * rng.normal(size=6)
        monitor.take(Q, external, DT)
        if k > 3000:
            found.append(monitor.wrench(Q, external))
    np.testing.assert_allclose(monitor.deviations, NOISE, rtol=0.2)
    wrenches = np.array([each.wrench for each in found])
    back = np.linalg.inv(J.T)
    exact = back @ np.diag(NOISE**2) @ back.T
    deviations = np.sqrt(np.diag(exact))
    assert (np.abs(wrenches.mean(axis=0) - WRENCH) < 5.0 * deviations / np.sqrt(len(found))).all()
    mean = np.mean([each.covariance for each in found], axis=0)
    assert (np.abs(mean - exact) < 0.1 * np.outer(deviations, deviations)).all()
    assert all(each.told.all() for each in found)


@needs_pinocchio
@pytest.mark.parametrize("turns", [False, True], ids=["constant in the world", "turns with the tool"])
def test_the_torques_of_a_steady_push_change_as_the_arm_moves_and_are_no_scatter(arm, turns):
    twin, monitor = load_twin("ur5_robot"), WrenchMonitor(arm, "tool0")
    rng, turned = np.random.default_rng(7), np.zeros((6, 6))
    for k in range(2000):
        q = Q + 0.4 * np.sin(1.5 * DT * k + np.arange(6))
        turned[:3, :3] = turned[3:, 3:] = twin.pose(q, "tool0")[:3, :3].T
        push = twin.jacobian(q, "tool0").T @ (WRENCH if turns else turned @ WRENCH)
        monitor.take(q, push + NOISE * rng.normal(size=6), DT)
    np.testing.assert_allclose(monitor.deviations, NOISE, rtol=0.2)


def test_joints_that_do_not_count_leave_something_untold(arm):
    counts = np.array([True] * 3 + [False] * 3)
    monitor = WrenchMonitor(arm, "tool0", counts=counts)
    for _ in range(600):
        monitor.take(Q, np.ones(6), DT)
    found = monitor.wrench(Q, np.ones(6))
    assert not found.told.all() and np.isnan(found.wrench[~found.told]).all() and found.untold.shape == (6, 3)


def test_a_scatter_that_nobody_has_seen_is_not_taken_for_none(arm):
    """Half a second tells nothing yet; of the first second all samples count alike."""
    monitor, rng = WrenchMonitor(arm, "tool0"), np.random.default_rng(5)
    samples = NOISE * rng.normal(size=(600, 6)) + 100.0
    for k, sample in enumerate(samples):
        monitor.take(Q, sample, DT)
        if k in (0, 100, 400):
            assert not monitor.wrench(Q, sample).told.any()
            np.testing.assert_allclose(monitor.deviations, samples[: k + 1].std(axis=0), rtol=1e-9, atol=1e-12)
    assert monitor.wrench(Q, sample).told.all()
    np.testing.assert_allclose(monitor.deviations, NOISE, rtol=0.2)


def test_a_gap_in_one_torque_and_a_new_beginning(arm):
    monitor = WrenchMonitor(arm, "tool0")
    for k in range(1000):
        torques = np.full(6, 3.0 * (-1.0) ** k)
        torques[2] = np.nan
        monitor.take(Q, torques, DT)
    np.testing.assert_allclose(np.delete(monitor.deviations, 2), 3.0, rtol=0.2)
    assert monitor.deviations[2] == 0.0
    monitor.reset()
    monitor.take(Q, np.full(6, 50.0), DT)
    assert (monitor.deviations == 0.0).all()


def test_an_unknown_frame_is_named(arm):
    with pytest.raises(KeyError, match="tool1"):
        WrenchMonitor(arm, "tool1")
