# SPDX-License-Identifier: Apache-2.0
"""The wrench at a frame, out of joint torques: Pinocchio's torques of a known wrench, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot, load_twin, needs_pinocchio

from rbd_dynamics.control.contact.frame_wrench import frame_wrench


@needs_pinocchio
@pytest.mark.parametrize("name, tool", [("ur5_robot", "tool0"), ("panda", "panda_hand")])
def test_a_wrench_is_found_from_the_torques_that_pinocchio_makes_of_it(name, tool):
    model, twin = load_robot(name), load_twin(name)
    rng = np.random.default_rng(4)
    wrench, rest = np.array([1.0, -2.0, 0.5, 20.0, -7.0, 3.0]), np.zeros(model.nv)
    for _ in range(3):
        q = model.random(rng)
        tau = twin.inverse_dynamics(q, rest, rest) - twin.inverse_dynamics(q, rest, rest, {tool: wrench})
        J, variances = twin.jacobian(q, tool), rng.uniform(0.1, 4.0, model.nv)
        found = frame_wrench(J, tau, variances)
        assert found.told.all() and found.untold.shape == (6, 0)
        np.testing.assert_allclose(found.wrench, wrench, rtol=1e-9, atol=1e-9)
        information = J @ np.diag(1.0 / variances) @ J.T
        np.testing.assert_allclose(found.covariance @ information, np.eye(6), atol=1e-8)


@needs_pinocchio
def test_torques_of_no_wrench_at_the_frame_are_weighted_by_their_variances():
    model, twin = load_robot("panda"), load_twin("panda")
    rng = np.random.default_rng(5)
    J, tau = twin.jacobian(model.random(rng), "panda_hand"), rng.normal(size=model.nv)
    variances = np.full(model.nv, 0.3)
    variances[2] = 7.0
    weights = np.diag(1.0 / variances)
    expected = np.linalg.solve(J @ weights @ J.T, J @ weights @ tau)
    np.testing.assert_allclose(frame_wrench(J, tau, variances).wrench, expected, rtol=1e-9)
    tau[2] = np.nan  # the same as if nothing were known of it
    left = frame_wrench(J, tau, variances)
    keep = np.arange(model.nv) != 2
    weights = np.diag(1.0 / variances[keep])
    expected = np.linalg.solve(J[:, keep] @ weights @ J[:, keep].T, J[:, keep] @ weights @ tau[keep])
    np.testing.assert_allclose(left.wrench, expected, rtol=1e-8)
    variances[2] = np.inf
    np.testing.assert_array_equal(frame_wrench(J, np.nan_to_num(tau), variances).wrench, left.wrench)


def planar(lengths, angles):
    """Jacobian (6, n) at the tip of a planar arm, axes of its base, each joint about z."""
    turned = np.cumsum(angles)
    links = np.array([lengths * np.cos(turned), lengths * np.sin(turned)])
    J = np.zeros((6, len(angles)))
    for k in range(len(angles)):
        x, y = links[:, k:].sum(axis=1)
        J[2, k], J[3, k], J[4, k] = 1.0, -y, x
    return J


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3], ids="{:g}".format)
def test_a_planar_arm_tells_its_plane_whatever_the_unit_of_lengths(unit):
    """unit: of lengths, m. Torques are N unit, then."""
    J = planar(np.array([0.5, 0.4, 0.3]) / unit, np.array([0.3, 0.9, -0.4]))
    wrench = np.array([0.0, 0.0, 1.5 / unit, 4.0, -6.0, 0.0])
    tau = J.T @ wrench
    found = frame_wrench(J, tau, 0.01 / unit**2)
    np.testing.assert_array_equal(found.told, [False, False, True, True, True, False])
    np.testing.assert_allclose(found.wrench[found.told], wrench[found.told], rtol=1e-10)
    plane = np.linalg.inv(J[2:5] @ J[2:5].T) * 0.01 / unit**2
    np.testing.assert_allclose(found.covariance[2:5, 2:5], plane, rtol=1e-9)
    assert np.isnan(found.wrench[~found.told]).all() and np.isnan(found.covariance[~found.told]).all()
    assert found.untold.shape == (6, 3)
    assert np.abs(J.T @ found.untold).max() < 1e-12 * np.abs(J).max()


def test_a_stretched_arm_does_not_tell_the_force_along_itself():
    """tau_k = m + f_y x_k, x_k the way from joint to tip: two unknowns in three torques, f_x in none."""
    J = planar(np.array([0.5, 0.4, 0.3]), np.zeros(3))
    found = frame_wrench(J, J.T @ [0.0, 0.0, 1.5, 4.0, -6.0, 0.0], 1.0)
    np.testing.assert_array_equal(found.told, [False, False, True, False, True, False])
    np.testing.assert_allclose(found.wrench[[2, 4]], [1.5, -6.0], rtol=1e-10)
    along = np.eye(6)[3]
    np.testing.assert_allclose(found.untold @ np.linalg.lstsq(found.untold, along, rcond=None)[0], along, atol=1e-12)


def test_nothing_is_told_without_torques_and_by_one_too_few_only_sums_are():
    J = planar(np.array([0.5, 0.4, 0.3]), np.array([0.3, 0.9, -0.4]))
    found = frame_wrench(J, np.full(3, np.nan), 1.0)
    assert not found.told.any() and np.isnan(found.wrench).all() and found.untold.shape == (6, 6)
    found = frame_wrench(J, [1.0, 2.0, np.nan], 1.0)
    assert not found.told.any() and found.untold.shape == (6, 4)


@pytest.mark.parametrize(
    "jacobian, torques, variances, said",
    [
        (np.zeros((5, 2)), [0.0, 0.0], 1.0, "jacobian must have the shape"),
        (np.zeros((6, 2)), [0.0], 1.0, "torques must have the shape"),
        (np.zeros((6, 2)), [0.0, 0.0], [1.0, 1.0, 1.0], "variances must be one number or 2"),
        (np.full((6, 2), np.nan), [0.0, 0.0], 1.0, "jacobian is not finite"),
        (np.zeros((6, 2)), [0.0, np.inf], 1.0, "torque 1 is infinite"),
        (np.zeros((6, 2)), [0.0, 0.0], [1.0, 0.0], "variance 1 must be positive, got 0"),
    ],
)
def test_bad_input_is_refused(jacobian, torques, variances, said):
    with pytest.raises(ValueError, match=said):
        frame_wrench(jacobian, torques, variances)
