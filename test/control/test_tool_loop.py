# SPDX-License-Identifier: Apache-2.0
"""Stiffness and damping of the joints that a tool's gains make, where they have a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot

from rbd_dynamics import Robot
from rbd_dynamics.control.cartesian.controller import CartesianController
from rbd_dynamics.control.cartesian.gains import CartesianGains
from rbd_dynamics.control.cartesian.stability import ToolLoop

Q = np.array([0.3, -1.2, 1.3, -0.5, 0.8, 0.1])
STIFFNESS = 300.0


@pytest.mark.parametrize("law", ["operational_space", "impedance"])
def test_feedback_of_the_joints_is_that_of_the_law(law):
    """With equal gains, and heavy tools allowed: by the inertia, J^T (J M^-1 J^T)^-1 J = M; of a spring, J^T J."""
    robot = Robot(load_robot("ur5_robot"))
    controller = CartesianController(robot, "wrist_3_joint", law=law)
    gains = CartesianGains(largest_mass=1e9, largest_inertia=1e9)
    loop = ToolLoop.of(controller, controller.tuning(gains=gains), Q)
    K, D = loop.feedback(STIFFNESS * np.eye(6), gains)
    if law == "operational_space":
        M = robot.mass_matrix(Q)
        np.testing.assert_allclose(K, STIFFNESS * M, atol=1e-5 * np.abs(K).max())
        np.testing.assert_allclose(D, 2.0 * np.sqrt(STIFFNESS) * M, atol=1e-5 * np.abs(D).max())
    else:
        J = robot.jacobian(Q, "wrist_3_joint")
        np.testing.assert_allclose(K, STIFFNESS * J.T @ J, atol=1e-9 * np.abs(K).max())
        half = 0.5 * np.linalg.solve(robot.mass_matrix(Q), D)  # critical: M a + D v + K x is (d/dt + half)^2 x
        square = np.linalg.solve(robot.mass_matrix(Q), K)
        np.testing.assert_allclose(half @ half, square, atol=1e-5 * np.abs(square).max())
