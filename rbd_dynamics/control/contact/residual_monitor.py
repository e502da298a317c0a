# SPDX-License-Identifier: Apache-2.0
"""What the model gets wrong, and what touches the robot, while it runs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.contact.detector import ContactDetector
from rbd_dynamics.control.contact.momentum_observer import MomentumObserver
from rbd_dynamics.control.contact.state_filter import StateFilter
from rbd_dynamics.control.safety.brakes import falls, slack_of, undriven
from rbd_dynamics.control.terms import (
    FRICTION,
    GRAVITY,
    TERMS,
    WITHOUT_FRICTION,
    checked_terms,
    inverse_dynamics_terms,
)
from rbd_dynamics.joint_states.plausibility import unexplained_way
from rbd_dynamics.model.joints import Continuous
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

JUMP = 0.02  # rad, m: way between two samples that no velocity explains


class ResidualMonitor:
    """Residual, external torque and contact, sample by sample. For robots whose joints have one number each.

    The residual is measured less predicted torque, both through the same causal filter, which also gives the
    acceleration: it comes `delay` late, and not before the filter has settled. The external torque is that of a
    `MomentumObserver`, which needs no acceleration and lags 1 / rate; until that has settled (6 / rate) it tells
    nothing of contact. After a gap, where time goes back or the state
    jumps, and while brakes hold the robot, all begins anew; what contact is compared with (`ContactDetector`) is kept.
    Friction of the model counts where `terms` has it; other terms that the efforts lack are put back.

    Parameters:
        robot: without friction in its equation of motion.
        terms: what the measured efforts contain: inertia, coriolis, gravity, spring, friction.
        cutoff: of the residual's filter, Hz.
        observer_rate: 1/s.
        thresholds: of contact, N m or N: one for all or (nv,); infinite for joints that do not count.
        breakaway: torque that friction may hold at rest, one for all or (nv,): there a contact must be larger by that.
        contact_duration: for how long a threshold must be passed, s.
        longest_gap: between samples, s.

    Raises ValueError for numbers that are not positive, joints with several numbers, or a robot with friction.

    Attributes:
        residual, external: (nv,); NaN for joints without a measured effort.
        ready: the residual is valid.
        settled: the external torque is valid: the observer has settled.
        restarts: how often it began anew after the first time.
        braked: brakes hold the robot: it stands without efforts where it would fall.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        terms: Iterable[str] = WITHOUT_FRICTION,
        cutoff: float = 5.0,
        observer_rate: ArrayLike = 30.0,
        thresholds: ArrayLike = np.inf,
        breakaway: ArrayLike = 0.0,
        contact_duration: float = 0.02,
        longest_gap: float = 0.1,
    ) -> None:
        if robot.friction:
            raise ValueError("robot must be one without friction: Robot(model); add it by terms")
        for joint in robot.model.joints:
            if joint.kind.nq != 1:
                raise ValueError(f"joint {joint.name!r} has {joint.kind.nq} numbers: it cannot be monitored, lock it")
        if not longest_gap > 0.0:
            raise ValueError(f"longest_gap must be positive, got {longest_gap!r}")
        nv = robot.model.nv
        self.robot, self.longest_gap = robot, float(longest_gap)
        self.terms = checked_terms(terms)
        self._missing = tuple(term for term in TERMS if term not in self.terms and term != FRICTION)
        self._filter = StateFilter(3 * nv, cutoff)  # of q, v, tau
        self._observer = MomentumObserver(robot, rate=observer_rate)
        self.detector = ContactDetector(
            np.broadcast_to(np.asarray(thresholds, dtype=float), (nv,)), breakaway=breakaway, duration=contact_duration
        )
        self._slack = slack_of([joint.limits.effort for joint in robot.model.joints])
        self._continuous = np.array([isinstance(joint.kind, Continuous) for joint in robot.model.joints])
        self.residual, self.external = np.full(nv, np.nan), np.full(nv, np.nan)
        self._signals = np.zeros((3, nv))
        self._time: float | None = None
        self._begin = 0.0
        self.ready = self.settled = self.braked = False
        self.restarts = 0

    @property
    def delay(self) -> float:
        """Delay of the residual, s."""
        return 2.0 / self._filter.w

    @property
    def contact(self) -> bool:
        return self.detector.contact

    def reset(self) -> None:
        """Begin anew with the next sample, without contact and all that was learned of it."""
        self._time = None
        self.ready = self.settled = self.braked = False
        self.detector.reset()

    def update(self, q: Array, v: Array, tau: Array, time: float) -> bool:
        """A sample (nv) measured at `time` in s, tau NaN for joints without. False: it only began anew.

        Raises ValueError for a time that is not later than the last one by less than `longest_gap` back, which is then
        left out, and for positions or velocities that are not finite; nothing is changed then.
        """
        if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(time)):
            raise ValueError("positions, velocities or time are not finite")
        measured = np.isfinite(tau)
        dt = 0.0 if self._time is None else time - self._time
        if self._time is not None and -self.longest_gap < dt <= 0.0:
            raise ValueError("sample is not later than the last one")
        signals = np.stack([self._unwrapped(q), v, np.where(measured, tau, 0.0)])
        if self._is_braked(q, v, tau):
            self.residual[:], self.external[:] = np.nan, np.nan
            self._restart(signals, time, counts=not self.braked)
            self.braked = True
            return False
        if self._time is None or self.braked or not 0.0 < dt <= self.longest_gap or self._has_jumped(signals, dt):
            self._restart(signals, time, counts=not self.braked)
            self.braked = False
            return False
        self._filter.update(signals.ravel(), dt)
        self._signals, self._time = signals, time
        q_slow, v_slow, tau_slow = self._filter.x.reshape(3, -1)
        a = self._filter.rate.reshape(3, -1)[1]
        predicted = inverse_dynamics_terms(self.robot, q_slow, v_slow, a, self.terms)
        self.ready = time - self._begin >= self._filter.settling
        self.residual = np.where(measured, tau_slow - predicted, np.nan)
        external = self._observer.update(q, v, self._known(q, v, a, signals[2]), dt)
        self.external = np.where(measured, external, np.nan)
        self.settled = time - self._begin >= self._observer.settling
        self.detector.update(self.external if self.settled else np.full_like(external, np.nan), v, dt)
        return True

    def _is_braked(self, q: Array, v: Array, tau: Array) -> bool:
        if GRAVITY not in self.terms or not undriven(v, tau, self._slack):
            return False
        measured = np.isfinite(tau)
        return bool(measured.any()) and falls(self.robot.gravity(q), measured, self._slack)

    def _has_jumped(self, signals: Array, dt: float) -> bool:
        way = signals[0] - self._signals[0]
        return bool((unexplained_way(way, signals[1], self._signals[1], dt) > JUMP).any())

    def _known(self, q: Array, v: Array, a: Array, tau: Array) -> Array:
        """What the actuators exert beyond friction."""
        if self._missing:
            tau = tau + inverse_dynamics_terms(self.robot, q, v, a, self._missing)
        return tau - self.robot.friction_torque(v) if FRICTION in self.terms else tau

    def _unwrapped(self, q: Array) -> Array:
        """Angles of continuous joints without the jumps of a whole turn."""
        if self._time is None or not self._continuous.any():
            return q
        turns = np.rint((q - self._signals[0]) / (2.0 * np.pi)) * self._continuous
        return np.asarray(q - 2.0 * np.pi * turns)

    def _restart(self, signals: Array, time: float, counts: bool) -> None:
        self.restarts += counts and self._time is not None
        self.ready = self.settled = False
        self.detector.pause()
        self._filter.reset(signals.ravel())
        self._observer.reset()
        # the observer takes this sample as its first
        q, v, tau = signals
        self._observer.update(q, v, self._known(q, v, np.zeros_like(v), tau), 0.0)
        self._signals, self._time, self._begin = signals, time, time
