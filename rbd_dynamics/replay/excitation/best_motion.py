# SPDX-License-Identifier: Apache-2.0
"""The motion within a robot's limits that tells most of its parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import Trajectory, Waypoints
from rbd_dynamics.replay.excitation.basis import Basis, Fourier, ViaPoints
from rbd_dynamics.replay.excitation.information import Information, condition_number
from rbd_dynamics.replay.excitation.limits import ExcitationLimits
from rbd_dynamics.replay.excitation.obstacles import Obstacles
from rbd_dynamics.replay.excitation.options import NOISE, Options
from rbd_dynamics.replay.excitation.problem import Problem
from rbd_dynamics.replay.excitation.proof import Peaks, peaks
from rbd_dynamics.replay.excitation.result import Excitation
from rbd_dynamics.replay.excitation.search import minimise
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.least_squares import KNOWN
from rbd_dynamics.replay.identification.samples import friction_of
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

QUANTILE = 1.959964  # standard errors of an interval of 95 %
POSTURES = 1000  # that are tried where the middle of the ranges is no posture to begin from
HALVINGS, FINER = 15, 40
SHRINK = 0.997


def design(
    robot: Robot,
    limits: ExcitationLimits,
    basis: Basis,
    *,
    obstacles: Obstacles | None = None,
    options: Options | None = None,
    progress: Callable[[float], None] | None = None,
) -> Excitation:
    """The best motion that is found; the same for the same seed.

    robot: without friction in its equation of motion. progress: called with the share that is done. Raises ValueError
    where no posture is within the limits, KeyError for a tool that the robot does not have.
    """
    setting = _Setting(robot, limits, basis, obstacles or Obstacles(), options or Options())
    best: tuple[float, Array] | None = None
    scale = setting.problem.scale
    for start in range(setting.options.starts):
        begin, middle = setting.random(setting.options.seed + start)

        def wanted(x: Array) -> tuple[float, Array]:
            value, slope = setting.problem.wanted(x * scale)
            return value, slope * scale

        def forbidden(x: Array) -> tuple[Array, Callable[[Array], Array]]:
            beyond, pull = setting.problem.forbidden(x * scale)
            return beyond, lambda multipliers: pull(multipliers) * scale

        x = minimise(wanted, forbidden, begin / scale) * scale
        for candidate in (setting.within(x, middle), begin):
            if candidate is None:
                continue
            value = setting.problem.wanted(candidate)[0]
            if best is None or value < best[0]:
                best = value, candidate
        if progress is not None:
            progress((start + 1) / setting.options.starts)
    assert best is not None
    return setting.result(best[1])


def random_motion(
    robot: Robot,
    limits: ExcitationLimits,
    basis: Basis,
    *,
    obstacles: Obstacles | None = None,
    options: Options | None = None,
) -> Excitation:
    """A motion at random, as large as the limits allow: what a design is to be compared with. Raises as `design`."""
    setting = _Setting(robot, limits, basis, obstacles or Obstacles(), options or Options())
    return setting.result(setting.random(setting.options.seed)[0])


class _Setting:
    """All that is given."""

    def __init__(
        self, robot: Robot, limits: ExcitationLimits, basis: Basis, obstacles: Obstacles, options: Options
    ) -> None:
        if robot.friction:
            raise ValueError("robot must be one without friction: Robot(model)")
        if isinstance(basis, ViaPoints) and options.periods > 1:
            raise ValueError("periods: a motion through via points does not end where it began; take a Fourier series")
        for tool in obstacles.tools:
            robot.model.frame(tool)
        self.robot, self.limits, self.basis, self.obstacles, self.options = robot, limits, basis, obstacles, options
        self.noise = options.noise_of(limits)
        usual = np.where(np.isfinite(limits.effort), limits.effort, self.noise / NOISE)
        self.information = Information(robot, self.noise, usual, friction=options.friction)
        samples = options.rate * basis.duration * options.periods
        self.problem = Problem(self.information, limits, basis, obstacles, options.criterion, samples)

    def random(self, seed: int) -> tuple[Array, Array]:
        """Coefficients of a random motion, as large as it can be, and of the posture about which it is."""
        rng = np.random.default_rng(seed)
        middle = self.basis.standing(self._posture(rng))
        x = rng.normal(size=middle.shape) * self.problem.scale
        if isinstance(self.basis, Fourier):
            x[0] = 0.0
        else:
            x -= x.mean(axis=0)
        x *= self._alone(middle + x, middle)
        low, high = 0.0, 1.0
        if self._allowed(middle + x):
            return middle + x, middle
        for _ in range(HALVINGS):
            share = 0.5 * (low + high)
            low, high = (share, high) if self._allowed(middle + share * x) else (low, share)
        return middle + low * x, middle

    def _posture(self, rng: np.random.Generator) -> Array:
        """A posture the robot can take: the middle of its ranges, or another one at random."""
        motion = self.limits.motion
        for k in range(POSTURES):
            q = self.limits.middle if k == 0 else rng.uniform(motion.lower, motion.upper)
            if self.problem.forbidden(self.basis.standing(q))[0].max() <= 0.0:
                return q
        share, which = self._peaks(self.basis.standing(self.limits.middle)).worst(self.limits)
        raise ValueError(
            f"no posture is within the limits: in the middle of its ranges the robot takes {share:.3g} times {which}"
        )

    def _alone(self, x: Array, middle: Array) -> Array:
        """Factors by which each joint's motion can grow by its own limits of position, velocity, acceleration."""
        motion, bounds = self.problem.motion(x) - self.problem.motion(middle), self.limits.motion
        at = middle[0]
        room = np.minimum(bounds.upper - at, at - bounds.lower)
        largest = np.abs(motion).max(axis=1)
        shares = np.array([room, bounds.velocity, bounds.acceleration]) / np.maximum(largest, 1e-12)
        return np.asarray(0.99 * shares.min(axis=0))

    def within(self, x: Array, middle: Array) -> Array | None:
        """The motion, or as much of it as is within the limits; None: hardly anything is."""
        at = self.basis.standing(x[0] if isinstance(self.basis, Fourier) else x.mean(axis=0))
        for about in (at, middle):
            for power in range(FINER):
                candidate = about + SHRINK ** (power * (1 + power) / 2) * (x - about)
                if self._allowed(candidate):
                    return candidate
        return None

    def _allowed(self, x: Array) -> bool:
        return self.problem.forbidden(x)[0].max() < 0.1 and self._peaks(x).worst(self.limits)[0] <= 1.0

    def _peaks(self, x: Array) -> Peaks:
        return peaks(self.robot, Trajectory(self._waypoints(x, 0.0, 1)), self.obstacles)

    def _waypoints(self, x: Array, lead: float, periods: int) -> Waypoints:
        times = self.basis.times()
        motion = self.basis.matrices(times) @ x
        motion[1:, [0, -1]] = 0.0  # but for rounding
        later = [motion[:, 1:]] * (periods - 1)
        every = [lead + times, *(lead + k * self.basis.duration + times[1:] for k in range(1, periods))]
        return Waypoints(self.limits.joints, np.concatenate(every), *np.concatenate([motion, *later], axis=1))

    def result(self, x: Array) -> Excitation:
        found = self._peaks(x)
        motion = self.problem.motion(x)
        columns = self.information.columns(*motion)
        parameters = self.information.parameters
        each = self.options.rate * self.basis.duration * self.options.periods / motion.shape[1]
        scaled, covariance = self.information.covariance(motion, each)
        errors = parameters.scale * np.sqrt(np.diag(covariance))
        expected = tuple(
            Estimate.of(name, value, error, QUANTILE, unit, bool(error < KNOWN * scale))
            for name, value, error, unit, scale in zip(
                parameters.names, self._described(), errors, parameters.units, parameters.scale
            )
        )
        return Excitation(
            waypoints=self._waypoints(x, self.options.lead, self.options.periods),
            gain=float(np.linalg.slogdet(np.eye(len(scaled)) + scaled)[1] / (2.0 * len(scaled))),
            condition=condition_number(columns[:, :, : parameters.base]),
            condition_with_friction=condition_number(columns),
            expected=expected,
            peaks=found,
            tightest=found.worst(self.limits),
            noise=self.noise,
            rate=self.options.rate,
        )

    def _described(self) -> Array:
        """The parameters as the description has them."""
        base = self.information.base.of(self.robot.inertial_parameters)
        if not self.options.friction:
            return base
        coulomb, viscous = friction_of(self.robot.model)
        return np.concatenate([base, np.stack([np.zeros_like(coulomb), coulomb, viscous], axis=1).ravel()])
