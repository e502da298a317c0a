# SPDX-License-Identifier: Apache-2.0
"""Laws of other controllers of a tool, written from the equations that they publish, to compare with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.spatial import log_so3

Array = NDArray[np.float64]
PER_INERTIA = 400.0  # 1/s^2


class Rival(NamedTuple):
    """J^T (K e - D V) + gravity, with D = 2 sqrt(K), and a posture in the kinematic null space of J.

    posture: N m/rad, damped likewise. coriolis: compensated, too. rate: N m in a period, that torques may change by.
    clip: m, rad, that errors count at most. per_inertia: K e - D V is an acceleration, and Lambda times it the wrench.
    """

    posture: float = 10.0
    coriolis: bool = False
    rate: float = math.inf
    clip: tuple[float, float] = (math.inf, math.inf)
    per_inertia: bool = False

    def torque(
        self, robot: rbd.Robot, J: Array, K: Array, poses: tuple[Array, Array], state: tuple[Array, Array], at: Array,
        last: Array,
    ) -> Array:  # fmt: skip
        """(nv) for J (6, nv) in root axes, K (6, 6), the tool's pose and the one wanted, (q, v), the posture `at`, and
        the torque before without gravity."""
        (here, wanted), (q, v) = poses, state
        turned, moved = log_so3(wanted[:3, :3] @ here[:3, :3].T), wanted[:3, 3] - here[:3, 3]
        error = np.concatenate(
            [np.clip(turned, -self.clip[1], self.clip[1]), np.clip(moved, -self.clip[0], self.clip[0])]
        )
        if self.per_inertia:
            inverse = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
            push = np.linalg.pinv(inverse) @ (PER_INERTIA * error - 2.0 * math.sqrt(PER_INERTIA) * J @ v)
        else:
            push = K @ error - 2.0 * np.sqrt(K) @ J @ v
        free = np.eye(len(q)) - J.T @ np.linalg.pinv(J.T)
        tau = J.T @ push + free @ (self.posture * (at - q) - 2.0 * math.sqrt(self.posture) * v)
        if self.coriolis:
            tau = tau + robot.coriolis(q, v)
        return np.asarray(last + np.clip(tau - last, -self.rate, self.rate))


#: franka's examples and crisp_controllers limit how fast torques change; the latter also how far errors count
RIVALS = {
    "plain": Rival(),
    "franka": Rival(posture=20.0, coriolis=True, rate=1.0),
    "crisp": Rival(posture=5.0, coriolis=True, rate=0.5, clip=(0.1, 0.5)),
    "crisp, operational space": Rival(posture=5.0, coriolis=True, rate=0.5, clip=(0.1, 0.5), per_inertia=True),
}
