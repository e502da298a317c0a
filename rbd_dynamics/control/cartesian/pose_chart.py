# SPDX-License-Identifier: Apache-2.0
"""Poses and twists as six coordinates that polynomials and limits are made for, and back.

theta = (phi, p) with R = base exp(phi). Angular rates are at most as large as those of phi, so limits hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.spatial import (
    exp_so3,
    log_so3,
    right_jacobian_inverse_so3,
    right_jacobian_so3,
    rotation_from_quaternion,
)

Array = NDArray[np.float64]
TOOL_ROWS = ("tool.rx", "tool.ry", "tool.rz", "tool.x", "tool.y", "tool.z")
FARTHEST = 3.0  # rad: beyond that, a chart is left
UNIT = 1e-3  # how far from one a quaternion's length may be
RATE = 1e-6  # s: of a difference that stands for a derivative


@dataclass(frozen=True, eq=False)
class PoseChart:
    """base (3, 3): the orientation at which phi is zero."""

    base: Array

    def coordinates(self, pose: Array) -> Array:
        """(6) of a pose (4, 4); |phi| <= pi."""
        return np.concatenate([log_so3(self.base.T @ pose[:3, :3]), pose[:3, 3]])

    def pose(self, theta: Array) -> Array:
        """(4, 4)."""
        found = np.eye(4)
        found[:3, :3], found[:3, 3] = self.base @ exp_so3(theta[:3]), theta[3:]
        return found

    def rates(self, theta: Array, twist: Array) -> Array:
        """(6) of the twist (w, v) of the tool's point in root axes."""
        w = (self.base @ exp_so3(theta[:3])).T @ twist[:3]
        return np.concatenate([right_jacobian_inverse_so3(theta[:3]) @ w, twist[3:]])

    def twist(self, theta: Array, rate: Array) -> Array:
        """The inverse of `rates`."""
        w = self.base @ exp_so3(theta[:3]) @ right_jacobian_so3(theta[:3]) @ rate[:3]
        return np.concatenate([w, rate[3:]])

    def accelerations(self, theta: Array, rate: Array, acceleration: Array) -> Array:
        """(6) of (wdot, pddot) in root axes, at these coordinates and rates."""
        phi, speed = theta[:3], rate[:3]
        turned = self.base @ exp_so3(phi)
        # wdot = R (J_r phidd + dJ_r/dt phid)
        change = (right_jacobian_so3(phi + RATE * speed) - right_jacobian_so3(phi - RATE * speed)) @ speed / (2 * RATE)
        own = turned.T @ acceleration[:3]
        return np.concatenate([right_jacobian_inverse_so3(phi) @ (own - change), acceleration[3:]])

    def moved(self, state: Array) -> tuple[PoseChart, Array]:
        """The chart whose base is the orientation of this state (3, 6), and the state in it.

        At phi = 0 the first two derivatives of phi are the angular velocity and acceleration in the tool's axes.
        """
        theta, rate, acceleration = state
        phi, speed = theta[:3], rate[:3]
        w = right_jacobian_so3(phi) @ speed
        change = (right_jacobian_so3(phi + RATE * speed) - right_jacobian_so3(phi - RATE * speed)) @ speed / (2 * RATE)
        w_rate = right_jacobian_so3(phi) @ acceleration[:3] + change
        there = np.array([theta, rate, acceleration], dtype=float)
        there[:, :3] = [np.zeros(3), w, w_rate]
        return PoseChart(self.base @ exp_so3(phi)), there

    def of_poses(self, numbers: Array, first: Array) -> Array:
        """theta (n, 6) of rows of place and quaternion (x, y, z, w) (n, 7), continued from `first` (3).

        Raises TrajectoryError for what is no rotation, and where the chart is left.
        """
        length = np.linalg.norm(numbers[:, 3:], axis=1)
        wrong = ~(np.abs(length - 1.0) <= UNIT)
        if wrong.any():
            k = int(wrong.argmax())
            raise TrajectoryError(f"point {k}: its quaternion has the length {length[k]:.4g}, not one")
        phi = log_so3(self.base.T @ rotation_from_quaternion(numbers[:, 3:] / length[:, None]))
        before = np.asarray(first, dtype=float)
        for k, each in enumerate(phi):
            angle = float(np.linalg.norm(each))
            if angle > 0.0:  # the same rotation the other way round, where that is nearer
                other = each * (1.0 - 2.0 * np.pi / angle)
                if np.linalg.norm(other - before) < np.linalg.norm(each - before):
                    phi[k] = other
            if np.linalg.norm(phi[k]) > FARTHEST:
                raise TrajectoryError(
                    f"point {k} turns the tool by {np.degrees(np.linalg.norm(phi[k])):.0f} degrees from where the "
                    f"motion begins, more than {np.degrees(FARTHEST):.0f}: divide the trajectory"
                )
            before = phi[k]
        return np.concatenate([phi, numbers[:, :3]], axis=1)
