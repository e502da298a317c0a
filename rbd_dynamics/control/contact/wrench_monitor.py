# SPDX-License-Identifier: Apache-2.0
"""The external wrench at a frame while a robot runs: external torques sample by sample, and how much they scatter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.contact.frame_wrench import FrameWrench, frame_wrench
from rbd_dynamics.model.tip import tip_of
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MEMORY = 1.0  # s: time constant of the means and variances of external torques
LEAST_DEVIATION = 1e-6  # N m or N: a torque is never known better


class WrenchMonitor:
    """The wrench that external torques tell, with the covariance that follows from their scatter of late.

    Each torque's variance is that about its own mean, both with a time constant of a second: noise of sensors and quick
    errors of the model. A torque counts once it has been seen for as long. While a contact begins the variance grows,
    as the torques are not steady then. A constant error of the model is taken for a wrench.

    Parameters:
        robot: whose torques they are.
        frame: name of a link or joint.
        counts: joints (nv,) whose torques are used; default: all.

    Raises KeyError for an unknown frame, with near matches, ValueError for one that is fixed to the world.
    """

    def __init__(self, robot: Robot, frame: str, *, counts: Mask | None = None) -> None:
        self.frame = tip_of(robot.model, robot.model.frame(frame).name, "wrench frame")
        self._robot, nv = robot, robot.model.nv
        self._counts = np.ones(nv, dtype=bool) if counts is None else counts
        robot.jacobian(robot.model.start_position(), self.frame)  # the first call, out of the way
        self._mean, self._variance = np.zeros(nv), np.zeros(nv)
        self.reset()

    def reset(self) -> None:
        """Nothing is known of the torques' scatter: the next sample is the first."""
        self._watched = np.zeros(len(self._mean))  # s for which each was known
        self._variance[:] = 0.0

    def take(self, external: Array, dt: float) -> None:
        """A sample of external torques (nv), N m or N, NaN where none is known; dt: s since the last one, positive."""
        known = np.isfinite(external)
        self._watched += dt * known
        # of all samples alike, as long as they are few
        weight = known * dt / np.clip(self._watched, dt, MEMORY + dt)
        off = np.where(known, external - self._mean, 0.0)
        self._mean += weight * off
        self._variance[:] = (1.0 - weight) * (self._variance + weight * off**2)

    @property
    def deviations(self) -> Array:
        """Standard deviation of each torque of late (nv), N m or N."""
        return np.sqrt(self._variance)

    def wrench(self, q: Array, external: Array) -> FrameWrench:
        """The wrench at the frame, in its axes, at the position q (nq); external: torques (nv), NaN where unknown."""
        J = self._robot.jacobian(q, self.frame)
        variances = np.where(self._watched < MEMORY, np.inf, np.maximum(self._variance, LEAST_DEVIATION**2))
        return frame_wrench(J, np.where(self._counts, external, np.nan), variances)
