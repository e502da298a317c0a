# SPDX-License-Identifier: Apache-2.0
"""External torques by generalised momentum, and when something was touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.contact_detector import ContactDetector
from rbd_dynamics.control.momentum_observer import MomentumObserver
from rbd_dynamics.control.terms import FRICTION
from rbd_dynamics.replay.actuator_torque import actuator_torque
from rbd_dynamics.replay.comparison import Prediction
from rbd_dynamics.replay.identification.estimates import Plain
from rbd_dynamics.replay.segmentation import Segment
from rbd_dynamics.replay.signals import LowPass
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Friction = Callable[[Array], Array]  # velocities (N, nv) to torques (N, nv)

FACTOR = 10.0  # so many median deviations from what is usual are a contact
COARSE = 1.1  # medians are known to half the width of a bin
MOVES = 0.05  # rad/s or m/s; the robot moves where some joint is faster
LEAST = 0.02  # of a joint's rms torque: model errors of this size are no contacts
LARGEST_COUNT = 1000  # events that are kept
#: edges of the bins in which torques are counted, N m; a bin is 6 % wide
_SIZES = np.geomspace(1e-4, 1e5, 360)
BINS = np.concatenate([[-np.inf], -_SIZES[::-1], _SIZES, [np.inf]])
CENTRES = np.concatenate([[-1e5], 0.5 * (BINS[1:-2] + BINS[2:-1]), [1e5]])


@dataclass(frozen=True)
class ContactEvent:
    """Something was touched: times since the recording's first sample, s; `peak`: {joint: N m} of those above their
    threshold."""

    start: float
    end: float
    peak: dict[str, float]


@dataclass(frozen=True)
class ExternalTorqueResult(Plain):
    """External torques of a recording, by joint.

    Attributes:
        threshold: {joint: N m} above which a torque counts as contact.
        usual: {joint: N m}, the median of the external torque: an offset of the sensor, or what the model lacks.
        spread: {joint: N m}, the median deviation from that.
        peak: {joint: N m}, the largest size.
        events: in order; `omitted`: how many more there were.
    """

    threshold: dict[str, float]
    usual: dict[str, float]
    spread: dict[str, float]
    peak: dict[str, float]
    events: tuple[ContactEvent, ...]
    omitted: int


class ExternalTorque:
    """Observes a recording, stretch by stretch; the observer begins anew with each segment.

    Parameters:
        robot: without friction.
        names: of the degrees of freedom (nv).
        terms: what the measured efforts contain (`Settings.terms`).
        low_pass: the filter that the segments went through (`Segments.low_pass`), for friction, which jumps.
        friction: torque that overcomes friction, by the velocities; None: the model's, where the terms have it.
        rate: of the observer, 1/s: it lags 1 / rate behind.
        thresholds: N m for contact, one for all or {joint: N m}; None: the size of what is usual and ten times the
            spread, known once the whole recording was seen with `calibrating`.
        duration: least one of a contact, s.
    """

    def __init__(
        self,
        robot: Robot,
        names: Sequence[str],
        terms: Sequence[str],
        *,
        low_pass: LowPass | None = None,
        friction: Friction | None = None,
        rate: float = 30.0,
        thresholds: float | Mapping[str, float] | None = None,
        duration: float = 0.1,
    ) -> None:
        self.names, self.terms = tuple(names), tuple(terms)
        self._low_pass, self._friction = low_pass, friction
        self._observer = MomentumObserver(robot, rate=rate)
        self._duration = duration
        self._counts = np.zeros((2, len(self.names), len(BINS) - 1), dtype=np.int64)  # standing, moving
        self._peak = np.zeros(len(self.names))
        self._squares, self._samples = np.zeros(len(self.names)), 0
        self._measured = np.zeros(len(self.names), dtype=bool)
        self._events: list[ContactEvent] = []
        self._omitted = 0
        self._open: tuple[float, Array] | None = None  # start and peaks of the contact that lasts
        self._number = -1
        self._detector: ContactDetector | None = None
        if thresholds is not None:
            self._detector = ContactDetector(self._given(thresholds), duration=duration)

    @property
    def calibrating(self) -> bool:
        """Thresholds are not known yet: feed the whole recording, then `calibrate`, then feed it again."""
        return self._detector is None

    def _given(self, thresholds: float | Mapping[str, float]) -> Array:
        if not isinstance(thresholds, Mapping):
            return np.full(len(self.names), float(thresholds))
        for name in thresholds:
            if name not in self.names:
                raise ValueError(f"contact threshold of unknown joint {name!r}; known: {', '.join(self.names)}")
        return np.array([thresholds.get(name, np.inf) for name in self.names], dtype=float)

    def calibrate(self) -> None:
        """Choose thresholds from what was seen, and be ready to see it again."""
        usual, spread = self._usual()
        rms = np.sqrt(self._squares / max(1, self._samples))
        thresholds = COARSE * np.abs(usual) + np.maximum(FACTOR * spread, LEAST * rms)
        thresholds[~self._measured | (thresholds <= 0.0)] = np.inf
        self._detector = ContactDetector(thresholds, duration=self._duration)
        self._counts[:] = 0
        self._peak[:] = 0.0
        self._number = -1

    def add(self, segment: Segment, prediction: Prediction) -> Array:
        """External torques (N, nv), NaN for joints without a measured effort."""
        tau = actuator_torque(segment, prediction, self.terms)
        tau = tau - self._friction_torque(segment, prediction)
        if len(segment) < 2:
            return np.full_like(tau, np.nan)
        dt = float(segment.t[-1] - segment.t[0]) / (len(segment) - 1)
        if segment.number != self._number:
            self._finish()
            self._observer.reset()
            self._number = segment.number
        external = self._observer.of_samples(segment.q, segment.v, tau, dt)
        self._measured |= segment.measured
        moves = (np.abs(segment.v) > MOVES).any(axis=1)
        for joint in np.flatnonzero(segment.measured):
            for moving in (False, True):
                seen = external[~segment.filled & (moves == moving), joint]
                self._counts[int(moving), joint] += np.histogram(seen, BINS)[0]
                self._peak[joint] = max(self._peak[joint], np.abs(seen).max(initial=0.0))
        self._squares += np.einsum("nj,nj->j", prediction.tau, prediction.tau)
        self._samples += len(segment)
        found = np.where(segment.measured, external, np.nan)
        if self._detector is not None:
            self._detect(np.nan_to_num(found), segment.t, dt)
        self._last = float(segment.t[-1])
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

    def _detect(self, external: Array, t: Array, dt: float) -> None:
        assert self._detector is not None
        touched = self._open is not None
        begin = 0
        for index, contact in self._detector.changes(external, dt):
            when = float(t[0] + index * dt)
            if contact:
                self._open, begin, touched = (when, np.zeros(len(self.names))), max(index, 0), True
            elif self._open is not None:
                self._peaks(external[begin : max(index, begin)])
                self._close(when)
                touched = False
        if touched:
            self._peaks(external[begin:])

    def _peaks(self, external: Array) -> None:
        if self._open is not None and len(external):
            np.maximum(self._open[1], np.abs(external).max(axis=0), out=self._open[1])

    def _close(self, when: float) -> None:
        assert self._open is not None and self._detector is not None
        start, peaks = self._open
        self._open = None
        if len(self._events) >= LARGEST_COUNT:
            self._omitted += 1
            return
        above = np.flatnonzero(self._detector.above(peaks))
        self._events.append(ContactEvent(start, when, {self.names[k]: float(peaks[k]) for k in above}))

    def _finish(self) -> None:
        """Of a segment: a contact that lasts ends with it."""
        if self._open is not None:
            self._close(self._last)
        if self._detector is not None:
            self._detector.reset()

    def _usual(self) -> tuple[Array, Array]:
        """Medians (nv) and median deviations from them, to half the width of a bin, of the robot when it moves.

        Where it stands its errors are always the same, and friction can be anything up to breakaway.
        """
        usual, spread = np.full((2, len(self.names)), np.nan)
        counts = self._counts[1] if self._counts[1].any() else self._counts[0]
        for joint in np.flatnonzero(counts.any(axis=1)):
            usual[joint] = _median(CENTRES, counts[joint])
            away = np.abs(CENTRES - usual[joint])
            order = np.argsort(away)
            spread[joint] = _median(away[order], counts[joint][order])
        return usual, spread

    def results(self) -> ExternalTorqueResult:
        """Of all that was added since `calibrate`, or since the beginning."""
        self._finish()
        which = np.flatnonzero(self._measured)
        usual, spread = self._usual()
        limits = np.full(len(self.names), np.nan) if self._detector is None else self._detector.thresholds

        def named(values: Array) -> dict[str, float]:
            return {self.names[k]: float(values[k]) for k in which}

        return ExternalTorqueResult(
            named(limits), named(usual), named(spread), named(self._peak), tuple(self._events), self._omitted
        )


def _median(values: Array, counts: NDArray[np.int64]) -> float:
    """Of values in increasing order, each as often as its count says."""
    return float(values[np.searchsorted(np.cumsum(counts), 0.5 * counts.sum())])
