# SPDX-License-Identifier: Apache-2.0
"""The external wrench at a frame while a robot runs: external torques sample by sample, and how much they scatter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.contact.frame_wrench import FrameWrench, frame_wrench
from rbd_dynamics.kernels.of_frames import Reference
from rbd_dynamics.model.tip import tip_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.rank import normal_solution

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MEMORY = 1.0  # s: time constant of the means and variances of external torques
WRENCH_MEMORY = 0.2  # s, likewise of a wrench
WRENCH_AXES: tuple[Reference, ...] = ("aligned", "body")  # in which a push may be constant: the world's, the frame's
OUTLIER = 3.0  # deviations
LEAST_DEVIATION = 1e-6  # N m or N: a torque is never known better


class _Scatter:
    """Variance of numbers about their own mean, each with as much weight as its sample is told to have.

    Once it is known, a sample counts as no more than so many deviations: what begins or ends is no scatter.
    """

    def __init__(self, size: int) -> None:
        self._mean, self.variance = np.zeros(size), np.zeros(size)

    def take(self, values: Array, weight: Array, is_known: Mask) -> None:
        off = np.where(weight > 0.0, values - self._mean, 0.0)
        self._mean += weight * off
        most = np.where(is_known, OUTLIER * np.maximum(np.sqrt(self.variance), LEAST_DEVIATION), np.inf)
        self.variance = (1.0 - weight) * (self.variance + weight * np.minimum(np.abs(off), most) ** 2)


class _ConstantWrench:
    """The one wrench, constant in the axes of its Jacobians, that explains torques of late by least squares."""

    def __init__(self) -> None:
        self._gram, self._moment, self._passed = np.zeros((6, 6)), np.zeros(6), 0.0

    def take(self, jacobian: Array, torques: Array, dt: float) -> Array:
        """What it does not explain of a sample of torques (nv), dt seconds after the last one."""
        self._passed += dt
        weight = dt / min(self._passed, WRENCH_MEMORY + dt)
        self._gram += weight * (jacobian @ jacobian.T - self._gram)
        self._moment += weight * (jacobian @ torques - self._moment)
        return np.asarray(torques - normal_solution(self._gram, self._moment) @ jacobian)


class WrenchMonitor:
    """The wrench that external torques tell, with the covariance that follows from their scatter of late.

    Each torque scatters by noise of sensors and quick errors of the model. Its variance is that about its own mean,
    or, where this is less, that about what one constant wrench at the frame would cause, in the world's axes or the
    frame's: the torques of a steady push change as the arm moves, and that is no scatter. All of it with a time
    constant of a second, the wrench with one of a fifth of that; a torque counts once it has been seen for a second.
    For some seconds after a contact begins or ends the deviation is larger, up to several times. A constant error of
    the model is taken for a wrench.

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
        for reference in WRENCH_AXES:  # the first calls, out of the way
            robot.jacobian(robot.model.start_position(), self.frame, reference=reference)
        self.reset()

    def reset(self) -> None:
        """Nothing is known of the torques' scatter: the next sample is the first."""
        nv = self._robot.model.nv
        self._watched = np.zeros(nv)  # s for which each was known
        self._about_mean = _Scatter(nv)
        self._about_wrench = [(axes, _ConstantWrench(), _Scatter(nv)) for axes in WRENCH_AXES]

    def take(self, q: Array, external: Array, dt: float) -> None:
        """A sample of external torques (nv), N m or N, NaN where none is known, at the position q (nq).

        dt: s since the last one, positive.
        """
        known = np.isfinite(external)
        self._watched += dt * known
        # of all samples alike, as long as they are few
        weight = known * dt / np.clip(self._watched, dt, MEMORY + dt)
        torques = np.where(known, external, 0.0)
        is_known = self._watched > MEMORY
        self._about_mean.take(torques, weight, is_known)
        for axes, wrench, scatter in self._about_wrench:
            J = self._robot.jacobian(q, self.frame, reference=axes)
            scatter.take(wrench.take(J * (known & self._counts), torques, dt), weight, is_known)

    @property
    def deviations(self) -> Array:
        """Standard deviation of each torque of late (nv), N m or N."""
        about = [self._about_mean, *(scatter for _, _, scatter in self._about_wrench)]
        least = np.min([each.variance for each in about], axis=0)
        # of few samples a wrench explains too much
        return np.sqrt(np.where(self._watched < MEMORY, self._about_mean.variance, least))

    def wrench(self, q: Array, external: Array) -> FrameWrench:
        """The wrench at the frame, in its axes, at the position q (nq); external: torques (nv), NaN where unknown."""
        J = self._robot.jacobian(q, self.frame)
        variances = np.where(self._watched < MEMORY, np.inf, np.maximum(self.deviations, LEAST_DEVIATION) ** 2)
        return frame_wrench(J, np.where(self._counts, external, np.nan), variances)
