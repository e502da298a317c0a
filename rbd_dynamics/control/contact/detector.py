# SPDX-License-Identifier: Apache-2.0
"""Contact from external torques, sample by sample: what rises faster than a model's errors drift, beyond friction.

Each joint has a baseline, which follows its external torque while nothing touches it: offsets of sensors and slow
errors of the model. Before it first moves that is the mean of all it has shown, in the last minute at most, which
leans on the first value as long as little was seen. Near rest friction can be anything up to breakaway: torques within
that band around the baseline tell nothing, and the baseline of a joint that has moved stays. What is beyond is compared
with a threshold.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.compiler.backends import best_backend
from rbd_dynamics.compiler.loops import Loops

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

RELEASE = 0.6  # of a threshold: below that a joint is free again
RELEASE_OF_PEAK = 0.35  # or below that share of what it showed at most: the baseline may have moved meanwhile
GRACE = 2.0  # s: so long not beyond its threshold, it is free as well
BREAKAWAY = 1.3  # times Coulomb friction: as much may hold a joint at rest
STANDS = 0.06  # rad/s, m/s: slower, friction is anything up to breakaway: it stands, or is about to
HOLD = 0.25  # s after rest in which it may still be: estimates lag and are smoothed
FOLLOWS = 2.0  # s: time constant of the baselines
SETTLES = 0.5  # s: so long the mean before the first motion leans on its first value: a press may follow at once
LONGEST = 60.0  # s: what stays for longer is a load, or an offset


class ContactDetector:
    """There is contact once some joint's torque has been beyond its threshold for `duration`.

    There is none any more once all joints that were beyond theirs are back for as long: below 0.6 of it, or 0.35 of
    their peak, or not beyond it for 2 s. What lasts for `longest` is taken for a load, and into the baseline.

    Parameters:
        thresholds: (nv,), N m or N; infinite for a joint that does not count.
        breakaway: torque up to which friction may hold a joint at rest, one for all or (nv,); infinite where nobody
            knows: such a joint counts while it moves only.
        duration: s.
        follows: time constant of the baselines, s.
        longest: s; also what the mean before the first motion is over, at most.

    Raises ValueError for numbers that are not positive (`breakaway`, `duration`: negative).

    Attributes:
        contact: whether there is.
        lasted: for how long, s; the last one's length when there is none any more.
        baseline: (nv,), what a free joint shows.
        away: (nv,), the torque less that; `beyond`: of it what friction cannot be.
        moving: joints (nv,) that friction does not hold.
        touched: joints (nv,) that were beyond their thresholds in this contact, or in the last one.
    """

    def __init__(
        self,
        thresholds: ArrayLike,
        *,
        breakaway: ArrayLike = 0.0,
        duration: float = 0.02,
        follows: float = FOLLOWS,
        longest: float = LONGEST,
    ) -> None:
        self.thresholds = np.array(thresholds, dtype=float)
        self.breakaway = np.broadcast_to(np.asarray(breakaway, dtype=float), self.thresholds.shape).copy()
        self.duration, self.follows, self.longest = float(duration), float(follows), float(longest)
        if not (self.thresholds > 0.0).all():
            raise ValueError(f"thresholds must be positive, got {self.thresholds}")
        if not (self.breakaway >= 0.0).all():
            raise ValueError(f"breakaway must not be negative, got {self.breakaway}")
        if not 0.0 <= self.duration < np.inf:
            raise ValueError(f"duration must be a number of seconds, got {duration!r}")
        for name, value in (("follows", self.follows), ("longest", self.longest)):
            if not value > 0.0:
                raise ValueError(f"{name} must be a positive number of seconds, got {value!r}")
        self.reset()

    def reset(self) -> None:
        """Begin anew, without contact and without knowing any baseline."""
        count = len(self.thresholds)
        self.baseline = np.zeros(count)
        self._seen = np.zeros(count, dtype=bool)
        self._followed = np.zeros(count)  # s in motion
        self._watched = np.zeros(count)  # s before the first of them
        self.lasted = 0.0
        self.pause()

    def pause(self) -> None:
        """The next sample comes after a gap: contact ends, baselines stay."""
        count = len(self.thresholds)
        self.contact = False
        self.away, self.beyond, self._peak = np.zeros((3, count))
        self.touched, self.moving = np.zeros((2, count), dtype=bool)
        self._since_rest = np.zeros(count)
        self._over, self._under = np.zeros((2, count))  # s for which each joint has been beyond, or not
        self._back = 0.0  # s for which all have been back

    def update(self, external: Array, velocity: Array, dt: float) -> bool:
        """Whether there is contact, after external torques and velocities (nv) that have held for `dt` s.

        A joint whose torque is NaN is left out.
        """
        return self.advance(external, np.abs(velocity) < STANDS, dt)

    def advance(self, external: Array, slow: Mask, dt: float) -> bool:
        """The same; slow: joints (nv) slower than `STANDS`."""
        since = self._since_rest = (self._since_rest + dt) * ~slow
        self.moving = since >= HOLD
        known = self._followed > 0.0
        if not known.all():
            self._begin(external, known)
        # a baseline from rest has some friction in it already
        band = np.where(self.moving, 0.0, np.where(known, self.breakaway, 2.0 * self.breakaway))
        away = self.away = external - self.baseline
        size = np.abs(away)
        with np.errstate(invalid="ignore"):
            excess = size - band
            there = excess > 0.0
        excess = np.where(there, excess, 0.0)
        self.beyond = np.copysign(excess, away)
        share = excess / self.thresholds
        over = share > 1.0
        if self.contact:
            self._in_contact(size, share, over, dt)
        elif over.any():
            self._over = (self._over + dt) * over
            if (self._over >= self.duration * (1.0 - 1e-9))[over].any():
                self.contact, self.lasted, self._back = True, 0.0, 0.0
                self.touched, self._peak = over, np.where(over, size, 0.0)
                self._under[:] = 0.0
        else:
            self._over[:] = 0.0
        self._follow(~(self.touched | over) if self.contact else ~over, known, dt)
        return self.contact

    def advance_free(self, external: Array, slow: Mask, dt: float) -> tuple[Array, Mask]:
        """The same for many samples (N, nv) at once, up to the first that is beyond a threshold.

        Returns `beyond` and `moving` of those that were taken, (n, nv); n may be zero. Nothing is taken during a
        contact.
        """
        if self.contact or dt <= 0.0 or not len(external):
            return np.zeros((0, len(self.baseline))), np.zeros((0, len(self.baseline)), dtype=bool)
        external = np.ascontiguousarray(external, dtype=float)
        there = ~np.isnan(external)
        since = _since_rest(self._since_rest, slow, dt)
        moving = since[1:] >= HOLD
        followed = np.add.accumulate(np.concatenate([self._followed[None], dt * (moving & self._seen)]), axis=0)
        known = followed[:-1] > 0.0
        first = (there & (~self._seen | (~known & moving))).any(axis=1)
        count = int(first.argmax()) if first.any() else len(external)
        resting = dt * (there & ~known & ~moving)
        watched = np.add.accumulate(np.concatenate([self._watched[None], resting]), axis=0)
        band = np.where(moving, 0.0, np.where(known, self.breakaway, 2.0 * self.breakaway))
        baseline, beyond = np.empty((len(external) + 1, len(self.baseline))), np.empty_like(external)
        baseline[0] = self.baseline
        numbers = (
            external,
            band,
            self._gain(followed[1:], dt) * known,
            resting / np.clip(watched[1:], max(dt, SETTLES), self.longest),
        )
        bound = _loop(follow).bind(*numbers, self.thresholds, baseline, beyond, count, len(self.baseline))
        bound.run()
        count = bound.result
        if count:
            self.baseline, self._since_rest = baseline[count].copy(), since[count].copy()
            self._followed, self._watched = followed[count].copy(), watched[count].copy()
            self.away, self.beyond = external[count - 1] - baseline[count - 1], beyond[count - 1].copy()
            self.moving = moving[count - 1].copy()
            self._over[:] = 0.0
        return beyond[:count], moving[:count]

    def _gain(self, followed: Array, dt: float) -> Array:
        """Gain of a mean of all that was seen in motion at first, of the last seconds then."""
        return np.asarray(-np.expm1(-dt / np.clip(followed, dt, self.follows)))

    def _begin(self, external: Array, known: Mask) -> None:
        """What a joint shows first is taken for free, and once more what it shows first in motion."""
        there = ~np.isnan(external)
        first = there & (~self._seen | (~known & self.moving & (not self.contact)))
        self.baseline = np.where(first, external, self.baseline)
        self._seen = self._seen | there

    def _follow(self, which: Mask, known: Mask, dt: float) -> None:
        """Follow the residual: in motion its mean, at rest what is beyond friction; before any motion the mean of all.

        which: joints (nv,) that nothing touches; known: that had moved before.
        """
        if not dt > 0.0:
            return
        self._followed = self._followed + dt * (which & self.moving & self._seen)
        resting = which & ~known & ~self.moving & ~np.isnan(self.away)
        self._watched = self._watched + dt * resting
        follows = self._gain(self._followed, dt) * self.beyond
        mean = dt / np.clip(self._watched, max(dt, SETTLES), self.longest) * np.where(resting, self.away, 0.0)
        self.baseline = self.baseline + which * np.where(known | self.moving, follows, mean)

    def _in_contact(self, size: Array, share: Array, over: Mask, dt: float) -> None:
        self.lasted += dt
        self.touched = self.touched | over
        np.fmax(self._peak, np.where(self.touched, size, 0.0), out=self._peak)
        self._under = (self._under + dt) * ~over
        with np.errstate(invalid="ignore"):
            far = size >= np.maximum(RELEASE * self.thresholds, RELEASE_OF_PEAK * self._peak)
        held = self.touched & far & (self._under < GRACE)
        self._back = 0.0 if held.any() else self._back + dt
        too_long = self.lasted > self.longest
        if too_long or self._back >= self.duration * (1.0 - 1e-9):
            if too_long:
                self.baseline = np.where(held, self.baseline + self.beyond, self.baseline)
            self.contact = False
            self._over[:] = 0.0


@functools.cache
def _loop(function: Callable[..., int]) -> Loops:
    return Loops(function, machine_code=best_backend() == "llvm")


def _since_rest(before: Array, slow: Mask, dt: float) -> Array:
    """(N + 1, nv): s since rest, from now on."""
    since = np.empty((len(slow) + 1, len(before)))
    since[0] = before
    _loop(run_clocks).bind(since, slow.astype(float), np.array([dt]), *slow.shape).run()
    return since


def run_clocks(since: Array, slow: Array, dt: Array, ticks: int, joints: int) -> int:
    """Clocks that begin anew while a joint is slow, one row after the other."""
    for place in range(ticks * joints):
        if slow[place] > 0.0:
            since[place + joints] = 0.0
        else:
            since[place + joints] = since[place] + dt[0]
    return 0


def follow(
    external: Array, band: Array, gain: Array, mean: Array, thresholds: Array, baseline: Array, beyond: Array,
    ticks: int, joints: int,
) -> int:  # fmt: skip
    """Baselines and what is beyond them, up to the first tick in which some joint passes its threshold: its number.

    gain: of what is beyond friction, mean: of all that is away from the baseline, as much goes into it.
    """
    for tick in range(ticks):
        for joint in range(joints):
            place = tick * joints + joint
            away = external[place] - baseline[place]
            excess = abs(away) - band[place]
            found = 0.0
            if excess > 0.0:  # not if it is NaN
                found = excess
                if away < 0.0:
                    found = -excess
            beyond[place] = found
            if abs(found) / thresholds[joint] > 1.0:
                return tick
            step = gain[place] * found
            if mean[place] > 0.0:
                step = mean[place] * away
            baseline[place + joints] = baseline[place] + step
    return ticks
