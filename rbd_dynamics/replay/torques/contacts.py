# SPDX-License-Identifier: Apache-2.0
"""Contacts: thresholds from a recording's own free motion, and the times at which they are passed.

External torques are kept at ticks of 50 ms, in single precision, so that the recording need not be read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from rbd_dynamics.control.contact.detector import STANDS, ContactDetector
from rbd_dynamics.control.contact.thresholds import deviation, level_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

TICK = 0.05  # s
#: of sizes, which tell the deviation in each round: the median does whatever contacts there are
ROUNDS = ((0.5,), (0.5,), (0.5, 0.9))
TAIL = 0.99  # tells at last what a model's errors do once in each motion
DRAWN = 3.0  # so many times as far from baselines that followed a push as from the median
CERTAIN = 1.3  # of a threshold: what passes it by less may be the model's error; a tail raises it by no more
FROM_SPREAD = 3.0  # median deviations that friction, of both signs, is not beyond
ENOUGH = 5.0  # s of motion that tell it
LARGEST_COUNT = 1000  # events that are kept
APART, ALIKE = 2.0, 0.2  # s from a contact, and of what the motion's positions and velocities vary by: moved likewise
FEWEST, MOST = 16, 1024  # ticks that are tried at once


@dataclass(frozen=True)
class ContactEvent:
    """Something was touched: times since the recording's first sample, s, to a tick; `peak`: {joint: N m} beyond the
    baselines, of those above their threshold. `load`: it lasted too long for a contact."""

    start: float
    end: float
    peak: dict[str, float]
    load: bool = False


@dataclass
class Ticks:
    """External torques of a recording every `TICK`: lists of stretches."""

    joints: int
    _t: list[Array] = field(default_factory=list)
    _segment: list[NDArray[np.int64]] = field(default_factory=list)
    _external: list[NDArray[np.float32]] = field(default_factory=list)
    _slow: list[Mask] = field(default_factory=list)
    _state: list[NDArray[np.float32]] = field(default_factory=list)
    dt: float = TICK

    def add(
        self, t: Array, segment: int, start: int, external: Array, v: Array, dt: float, q: Array | None = None
    ) -> None:
        """Samples (N,), the first is number `start` of its segment, `dt` s apart; NaN where there is no torque. q: the
        positions, where `recurring` is asked."""
        every = max(1, round(TICK / dt))
        self.dt = every * dt
        rows = slice(-start % every, None, every)
        if len(t[rows]):
            self._t.append(t[rows].copy())
            self._segment.append(np.full(len(t[rows]), segment))
            self._external.append(external[rows].astype(np.float32))
            self._slow.append(np.abs(v[rows]) < STANDS)
            if q is not None:
                self._state.append(np.hstack([q[rows], v[rows]]).astype(np.float32))

    def recurs(self, event: ContactEvent, names: Sequence[str]) -> bool:
        """Whether each of its joints mostly shows half as much at other times at which the robot moves likewise."""
        if not self._state:
            return False
        t, _, external, _ = self.joined()
        self._state[:] = [np.concatenate(self._state)]
        state = self._state[0] / np.maximum(self._state[0].std(axis=0), 1e-6)
        during = np.flatnonzero((t >= event.start) & (t <= event.end))
        others = np.flatnonzero((t < event.start - APART) | (t > event.end + APART))
        if not len(during) or not len(others):
            return False
        for name in event.peak:
            seen = external[:, names.index(name)] - np.nanmedian(external[:, names.index(name)])
            at = during[np.nanargmax(np.abs(seen[during]))]
            away = np.square(state[others] - state[at]).mean(axis=1)
            near = others[away < ALIKE**2]
            alike = seen[near] * np.sign(seen[at]) > 0.5 * abs(seen[at])
            if not len(near) or alike.mean() < 0.5:
                return False
        return True

    def joined(self) -> tuple[Array, NDArray[np.int64], NDArray[np.float32], Mask]:
        """Times (N,), segments (N,), external torques (N, nv), joints that are slow (N, nv)."""
        if not self._t:
            empty = np.zeros((0, self.joints))
            return np.zeros(0), np.zeros(0, np.int64), empty.astype(np.float32), empty.astype(bool)
        for parts in (self._t, self._segment, self._external, self._slow):
            parts[:] = [np.concatenate(parts)]
        return self._t[0], self._segment[0], self._external[0], self._slow[0]


class InMotion(NamedTuple):
    """What joints show while they move, whoever touches them now and then: (nv,), NaN where nothing was seen.

    Attributes:
        usual: median of the external torque; `spread`: median deviation from that.
        seconds: for how long each was seen.
    """

    usual: Array
    spread: Array
    seconds: Array

    def friction(self) -> Array:
        """What their friction may be, at most, if it is in these torques; infinite where too little was seen."""
        most = np.abs(self.usual) + FROM_SPREAD * self.spread
        return np.where(self.seconds >= ENOUGH, most, np.inf)


def in_motion(ticks: Ticks) -> InMotion:
    _, _, external, slow = ticks.joined()
    usual, spread = np.full((2, ticks.joints), np.nan)
    moves = ~slow & np.isfinite(external)
    for joint in np.flatnonzero(moves.any(axis=0)):
        seen = external[moves[:, joint], joint]
        usual[joint] = float(np.median(seen))
        spread[joint] = float(np.median(np.abs(seen - usual[joint])))
    return InMotion(usual, spread, moves.sum(axis=0) * ticks.dt)


def calibrated(ticks: Ticks, least: Array, breakaway: Array, *, per_hour: float, duration: float) -> Array:
    """Thresholds (nv,) that free motion passes `per_hour` times in an hour, N m or N.

    Infinite for a joint without a torque, or that never moved.

    What contacts there are is found by thresholds that are rough at first, and left out of what the next ones are made
    of. A push that lasts draws the baselines along and then is missed on both sides: where torques are much farther
    from their baselines than from their median, the latter tells the first thresholds. least: (nv,), lowest ones.
    """
    values, spread = np.full(ticks.joints, np.inf), in_motion(ticks).spread
    for number, quantiles in enumerate(ROUNDS):
        free = _free(ticks, ContactDetector(CERTAIN * values, breakaway=breakaway, duration=duration))
        known = np.isfinite(free).sum(axis=0) > 1
        for joint in np.flatnonzero(known):
            seen = free[:, joint][np.isfinite(free[:, joint])]
            rises = np.count_nonzero((seen[:-1] <= 0.0) & (seen[1:] > 0.0)) / (len(seen) * ticks.dt)
            level = level_of(per_hour, rises, int(known.sum()))
            sizes = np.abs(seen)
            bulk = deviation(sizes, quantiles=quantiles)
            if number == 0 and bulk > DRAWN * (rough := deviation(spread[joint : joint + 1], quantiles=quantiles)):
                bulk = rough
            tail = deviation(sizes, quantiles=(TAIL,)) if quantiles is ROUNDS[-1] else bulk
            values[joint] = max(least[joint], min(max(bulk, tail), CERTAIN * bulk) * level)
        values[values <= 0.0] = np.inf
    return values


def contacts(ticks: Ticks, detector: ContactDetector, names: list[str]) -> tuple[list[ContactEvent], int]:
    """Contacts in order, and how many more there were than are kept."""
    found: list[ContactEvent] = []
    omitted, begin, last = 0, 0.0, 0.0
    peak = np.zeros(ticks.joints)
    certain = max(0.0, detector.duration - ticks.dt)  # s after a change it is

    def close(end: float) -> None:
        nonlocal omitted
        if len(found) >= LARGEST_COUNT:
            omitted += 1
            return
        joints = np.flatnonzero(detector.touched)
        load = detector.lasted > detector.longest
        found.append(ContactEvent(begin, end, {names[k]: float(peak[k]) for k in joints}, load))

    was = False
    for step in _run(ticks, detector):
        when = step.when
        if step.begins:
            if was:
                close(last)
                was = False
            continue
        if detector.contact and not was:
            begin, peak = when - certain, np.zeros(ticks.joints)
        if detector.contact:
            np.fmax(peak, np.abs(detector.away), out=peak)
        elif was:
            close(when if detector.lasted > detector.longest else when - certain)
        was, last = detector.contact, when
    if was:
        close(last)
    return found, omitted


class _Step(NamedTuple):
    """One tick, or many without contact: what is beyond the baselines, and which joints move, (n, nv).

    when: of the last one, s. begins: this is none, but a segment's begin, where a contact has ended.
    """

    when: float
    beyond: Array
    moving: Mask
    contact: bool = False
    begins: bool = False


def _run(ticks: Ticks, detector: ContactDetector) -> Iterator[_Step]:
    """Step over all ticks: as many at once as nothing happens in."""
    t, segment, external, slow = ticks.joined()
    begins = np.flatnonzero(np.diff(segment, prepend=-1) != 0).tolist()
    for begin, stop in zip(begins, [*begins[1:], len(t)]):
        yield _Step(float(t[begin]), np.zeros((0, ticks.joints)), np.zeros((0, ticks.joints), bool), begins=True)
        detector.pause()
        tick, most = begin, FEWEST
        while tick < stop:
            ahead = slice(tick, min(stop, tick + most))
            beyond, moving = detector.advance_free(external[ahead].astype(float), slow[ahead], ticks.dt)
            most = min(2 * most, MOST) if len(beyond) == most else FEWEST
            if not len(beyond):
                detector.advance(external[tick].astype(float), slow[tick], ticks.dt)
                beyond, moving = detector.beyond[None], detector.moving[None]
            tick += len(beyond)
            yield _Step(float(t[tick - 1]), beyond, moving, detector.contact)


def _free(ticks: Ticks, detector: ContactDetector) -> NDArray[np.float32]:
    """Torques beyond the baselines (N, nv) while nothing touches and the joint moves, else NaN."""
    rows, touched = [np.zeros((0, ticks.joints), np.float32)], [np.zeros(0, dtype=bool)]
    for step in _run(ticks, detector):
        rows.append(np.where(step.moving, step.beyond, np.nan).astype(np.float32))
        touched.append(np.full(len(step.beyond), step.contact))
    free = np.concatenate(rows)
    # a contact is seen when it has lasted a while, and its end too
    around = 2 * math.ceil(detector.duration / ticks.dt) + 1
    free[binary_dilation(np.concatenate(touched), np.ones(2 * around + 1))] = np.nan
    return free
