# SPDX-License-Identifier: Apache-2.0
"""External torques by generalised momentum, and when something was touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter

from rbd_dynamics.control.contact.detector import BREAKAWAY, ContactDetector
from rbd_dynamics.control.contact.momentum_observer import MomentumObserver
from rbd_dynamics.control.terms import FRICTION
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.identification import FrictionResult
from rbd_dynamics.replay.identification.estimates import Plain
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.replay.torques.actuator_torque import actuator_torque
from rbd_dynamics.replay.torques.comparison import Prediction
from rbd_dynamics.replay.torques.contacts import ContactEvent, Ticks, calibrated, contacts, in_motion
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Friction = Callable[[Array], Array]  # velocities (N, nv) to torques (N, nv)
Missing = Callable[[Segment], Array]  # what measured efforts lack of what the motion needs, (N, nv)

LEAST = 0.02  # of a joint's rms torque: model errors of this size are no contacts
VARIES = 0.1  # of breakaway: friction is not known better than that, whatever it is fitted to
PER_HOUR = 1.0  # false alarms


@dataclass(frozen=True)
class ExternalTorqueResult(Plain):
    """External torques of a recording, by joint.

    Attributes:
        threshold: {joint: N m} above which a torque counts as contact, beyond what is usual lately.
        breakaway: {joint: N m} that friction may hold at rest: there a contact must be larger by that.
        false_alarms: per hour, for which thresholds were chosen; None: they were given.
        usual: {joint: N m}, the median of the external torque in motion: an offset, or what the model lacks.
        spread: {joint: N m}, the median deviation from that.
        peak: {joint: N m}, the largest size.
        events: in order; `omitted`: how many more there were.
        doubt: why none can be told; empty where they can.
    """

    threshold: dict[str, float]
    breakaway: dict[str, float]
    false_alarms: float | None
    usual: dict[str, float]
    spread: dict[str, float]
    peak: dict[str, float]
    events: tuple[ContactEvent, ...]
    omitted: int
    doubt: str = ""


class ExternalTorque:
    """Observes a recording, stretch by stretch; the observer begins anew with each segment.

    Parameters:
        robot: without friction.
        names: of the degrees of freedom (nv).
        terms: what the measured efforts contain (`Settings.terms`).
        low_pass: the filter that the segments went through (`Segments.low_pass`), for friction, which jumps.
        friction: torque that overcomes friction, by the velocities; None: the model's, where the terms have it.
        breakaway: torque that friction may hold at rest, (nv,) or one for all; infinite where nobody knows: then what a
            joint shows in motion tells the most that it may be.
        rate: of the observer, 1/s: it lags 1 / rate behind.
        thresholds: N m for contact, one for all or {joint: N m}; None: from the recording's own free motion.
        false_alarms: how many of them an hour, where thresholds are not given.
        duration: least one of a contact, s.
        missing: by which contacts are judged, of joints of which it says something, in place of the robot and friction:
            by a fit of a recording whose description is wrong.
    """

    def __init__(
        self,
        robot: Robot,
        names: Sequence[str],
        terms: Sequence[str],
        *,
        low_pass: LowPass | None = None,
        friction: Friction | None = None,
        breakaway: ArrayLike = np.inf,
        rate: float = 30.0,
        thresholds: float | Mapping[str, float] | None = None,
        false_alarms: float = PER_HOUR,
        duration: float = 0.1,
        missing: Missing | None = None,
    ) -> None:
        self.names, self.terms = tuple(names), tuple(terms)
        self._low_pass, self._friction = low_pass, friction
        self._breakaway = np.broadcast_to(np.asarray(breakaway, dtype=float), (len(self.names),))
        self._observer = MomentumObserver(robot, rate=rate)
        self._duration, self._false_alarms = duration, float(false_alarms)
        if not self._false_alarms > 0.0:
            raise ValueError(f"false alarms must be a positive number an hour, got {false_alarms!r}")
        self._given = None if thresholds is None else self._named(thresholds)
        self._missing, self._behind = missing, np.zeros(len(self.names))
        self._ticks, self._judged = Ticks(len(self.names)), Ticks(len(self.names))  # the latter by what is missing
        self._peak = np.zeros(len(self.names))
        self._squares, self._samples = np.zeros(len(self.names)), 0
        self._measured = np.zeros(len(self.names), dtype=bool)
        self._number, self._settled = -1, 0.0  # of the segment, and when the observer is in it

    def _named(self, thresholds: float | Mapping[str, float]) -> Array:
        if not isinstance(thresholds, Mapping):
            return np.full(len(self.names), float(thresholds))
        for name in thresholds:
            if name not in self.names:
                raise ValueError(f"contact threshold of unknown joint {name!r}; known: {', '.join(self.names)}")
        return np.array([thresholds.get(name, np.inf) for name in self.names], dtype=float)

    def add(self, segment: Segment, prediction: Prediction) -> Array:
        """External torques (N, nv), NaN for joints without a measured effort."""
        tau = actuator_torque(segment, prediction, self.terms)
        tau = tau - self._friction_torque(segment, prediction)
        if len(segment) < 2:
            return np.full_like(tau, np.nan)
        dt = float(segment.t[-1] - segment.t[0]) / (len(segment) - 1)
        if segment.number != self._number:
            self._observer.reset()
            self._behind[:] = 0.0
            self._number, self._settled = segment.number, float(segment.t[0]) + self._observer.settling
        external = self._observer.of_samples(segment.q, segment.v, tau, dt)
        self._measured |= segment.measured
        self._squares += np.einsum("nj,nj->j", prediction.tau, prediction.tau)
        self._samples += len(segment)
        found = np.where(segment.measured, external, np.nan)
        unknown = segment.filled | (segment.t < self._settled)
        seen = np.where(unknown[:, None], np.nan, found) if unknown.any() else found
        np.fmax(self._peak, np.fmax.reduce(np.abs(seen), axis=0), out=self._peak)
        self._ticks.add(segment.t, segment.number, segment.start, seen, segment.v, dt)
        if self._missing is not None:
            judged = self._observed(self._missing(segment), dt)
            judged = np.where(np.isfinite(judged) & np.isfinite(seen), judged, seen)
            self._judged.add(segment.t, segment.number, segment.start, judged, segment.v, dt, segment.q)
        return found

    def _observed(self, missing: Array, dt: float) -> Array:
        """A torque as the observer shows it, which lags behind."""
        keep = np.exp(-self._observer.rate * dt)
        found = missing.copy()
        for k in np.flatnonzero(np.isfinite(missing).all(axis=0)):
            start = [keep[k] * self._behind[k]]
            found[:, k], _ = lfilter([1.0 - keep[k]], [1.0, -keep[k]], missing[:, k], zi=start)
            self._behind[k] = found[-1, k]
        return found

    def _friction_torque(self, segment: Segment, prediction: Prediction) -> Array | float:
        """Filtered as the measured torque was: where a joint turns round it would seem a contact."""
        if self._friction is not None:
            torque = self._friction(segment.v)
        elif FRICTION in self.terms:
            torque = prediction.by_term[FRICTION]
        else:
            return 0.0
        return torque if self._low_pass is None else self._low_pass.both_ways(torque)

    def results(self) -> ExternalTorqueResult:
        """External torques of all that was added."""
        which = np.flatnonzero(self._measured)
        rms = np.sqrt(self._squares / max(1, self._samples))
        moving = in_motion(self._ticks)
        known = np.where(np.isfinite(self._breakaway), self._breakaway, BREAKAWAY * moving.friction())
        if self._given is not None:  # whoever gives a threshold knows what a joint shows at rest
            known[np.isinf(known)] = 0.0
        breakaway = np.where(self._measured, known, np.inf)
        least = np.maximum(LEAST * rms, VARIES * np.where(np.isfinite(breakaway), breakaway, 0.0))
        ticks = self._ticks if self._missing is None else self._judged
        values = calibrated(ticks, least, breakaway, per_hour=self._false_alarms, duration=self._duration)
        limits = values if self._given is None else np.where(self._measured, self._given, np.inf)
        detector = ContactDetector(limits, breakaway=breakaway, duration=self._duration)
        events, omitted = contacts(ticks, detector, list(self.names))
        events = [event for event in events if not ticks.recurs(event, self.names)]  # that is the model's

        def named(values: Array) -> dict[str, float]:
            return {self.names[k]: float(values[k]) for k in which}

        return ExternalTorqueResult(
            threshold=named(limits),
            breakaway=named(breakaway),
            false_alarms=self._false_alarms if self._given is None else None,
            usual=named(moving.usual),
            spread=named(moving.spread),
            peak=named(self._peak),
            events=tuple(events),
            omitted=omitted,
        )


def breakaway_of(
    model: Model, names: Sequence[str], friction: FrictionResult | None, *, cautious: bool = True
) -> Array:
    """Torque (nv) that friction may hold at rest: by the friction that was found, else by the description's.

    Where none was found, but may be some, the most that it may be, unless not `cautious`. Infinite where neither says
    anything.
    """
    found = np.full(len(names), np.inf)
    for joint in model.joints:
        if joint.kind.nv == 1 and joint.friction > 0.0:
            found[joint.v_index] = joint.friction
    for one in friction.joints if friction is not None else ():
        levels = [one.coulomb] if one.stribeck is None else [one.coulomb, one.stribeck.breakaway]
        known = [
            level.upper if cautious and level.value <= 0.0 else level.value for level in levels if level.identifiable
        ]
        if known:
            found[names.index(one.joint)] = max(0.0, *known)
    return BREAKAWAY * found
