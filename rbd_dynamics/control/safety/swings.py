# SPDX-License-Identifier: Apache-2.0
"""Tells from measured velocities that feedback makes a robot swing, whatever was assumed of its drives.

Stability is judged before gains are taken, for drives and states as they are told. Where drives are slower than that,
or states later, or links lighter, a stable law is not: some joint swings to and fro, and farther each time. Three such
half swings tell it, ten that go on without dying out, too; a blow dies out, and a motion is slower.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.backends import best_backend
from rbd_dynamics.compiler.loops import Loops

Array = NDArray[np.float64]

SLOWEST = 3.0  # Hz: swings are faster than motions
LONGEST = 0.12  # s, of half a swing
LIKE = 2.0  # factor, in which half swings that follow each other last as long
SEEN = 0.02  # of the velocity limit: what is less may be noise
WIDE = 0.1  # of the velocity limit: so wide no robot is to swing, even if it grows no more
GROWN = 1.5  # times the first of three
GOES_ON, DIES = 10, 0.8  # half swings, each at least so much of the one before
NOISE, AT_LEAST = 5.0, 1.8  # times the standard deviation of noise: swings that grow are larger, and those that stay
LEADS, FADES = 0.8, 1.0  # of the largest swing of all joints, which is forgotten in so long, s: what rings down is less
MEMORY = 0.5  # s, over which noise is averaged
THIRD = 3.57  # mean size of the third difference of noise, in standard deviations
USUAL = 1.0  # rad/s, of joints without a velocity limit


def swings(
    n: int, v: Array, wanted: Array, least: Array, dt: Array, slow: Array, side: Array, since: Array, peak: Array,
    before: Array, first: Array, lasted: Array, grows: Array, stays: Array, last: Array, noise: Array, told: Array,
) -> int:  # fmt: skip
    """Which joint swings, counted from 1; 0: none. told (3): Hz, s since the first call, and the largest
    swing of all, in least ones.

    v, wanted (n): measured and wanted velocities. least (n): the smallest peak that counts. dt (1): s, since the last
    call. slow (n): their mean, of what is slow. Of each joint: side, +-1, on which it is, for how long (since, s), how
    far (peak); how far half a swing earlier (before) and at the first of those that grow (first), how long that lasted;
    how many have grown, and how many have not died out (grows, stays). last (3 n): what was fast at the three calls
    before. noise (n): its standard deviation, by third differences: those of swings are small.
    """
    told[2] = told[2] * (1.0 - min(1.0, dt[0] / FADES))
    share = dt[0] / (dt[0] + 1.0 / (6.283185307179586 * SLOWEST))
    told[1] = min(MEMORY, told[1] + dt[0])
    found = 0
    for i in range(n):
        rate = v[i] - wanted[i]
        slow[i] = slow[i] + share * (rate - slow[i])
        fast = rate - slow[i]
        third = fast - 3.0 * last[3 * i] + 3.0 * last[3 * i + 1] - last[3 * i + 2]
        noise[i] = noise[i] + dt[0] / told[1] * (abs(third) / THIRD - noise[i])
        last[3 * i + 2] = last[3 * i + 1]
        last[3 * i + 1] = last[3 * i]
        last[3 * i] = fast
        told[2] = max(told[2], abs(fast) / least[i])
        since[i] = since[i] + dt[0]
        if fast * side[i] >= 0.0:
            peak[i] = max(peak[i], abs(fast))
            more = peak[i] > before[i] and peak[i] >= GROWN * first[i]
            if grows[i] >= 1.0 and more and since[i] < LONGEST and peak[i] >= LEADS * told[2] * least[i]:
                found = i + 1
                told[0] = 0.5 / lasted[i]
        else:  # half a swing is over
            regular = 0.0
            if since[i] < LONGEST and since[i] < LIKE * lasted[i] and lasted[i] < LIKE * since[i]:
                regular = 1.0
            if regular > 0.0 and before[i] >= max(least[i], NOISE * noise[i]) and peak[i] > before[i]:
                if grows[i] == 0.0:
                    first[i] = before[i]
                grows[i] = grows[i] + 1.0
            else:
                grows[i] = 0.0
            if (
                regular > 0.0
                and peak[i] >= DIES * before[i]
                and peak[i] * SEEN >= WIDE * least[i]
                and peak[i] >= AT_LEAST * noise[i]
            ):
                stays[i] = stays[i] + 1.0
            else:
                stays[i] = 0.0
            if stays[i] >= GOES_ON and peak[i] >= LEADS * told[2] * least[i]:
                found = i + 1
                told[0] = 0.5 / since[i]
            before[i] = peak[i]
            lasted[i] = since[i]
            since[i] = 0.0
            peak[i] = abs(fast)
            side[i] = -side[i]
    return found


@functools.cache
def _loops() -> Loops:
    return Loops(swings, machine_code=best_backend() == "llvm")


class Swings:
    """Watches joints for swings that grow, or go on without dying out.

    Parameters:
        limits (joints): of velocity, rad/s or m/s; 0 or infinite: none.

    Attributes:
        frequency: Hz, of the swings found last.
    """

    def __init__(self, limits: Array) -> None:
        n = len(limits)
        usable = np.where(np.isfinite(limits) & (limits > 0.0), limits, USUAL)
        self._v, self._wanted, self._dt, self._told = np.zeros(n), np.zeros(n), np.zeros(1), np.zeros(3)
        self._state = [np.zeros(3 * n if k == 9 else n) for k in range(11)]
        self._bound = _loops().bind(n, self._v, self._wanted, SEEN * usable, self._dt, *self._state, self._told)
        self.forget()

    def forget(self) -> None:
        """What swung before is over."""
        for each in (*self._state, self._told):
            each[:] = 0.0
        self._state[1][:] = 1.0

    @property
    def frequency(self) -> float:
        """Hz, of the swings found last."""
        return float(self._told[0])

    def joint(self, v: Array, wanted: Array, dt: float) -> int | None:
        """The number of a joint that swings; None: none does.

        v, wanted (joints): velocities that are measured and wanted, dt seconds after the last.
        """
        self._v[:], self._wanted[:], self._dt[0] = v, wanted, dt
        return self._bound.result - 1 if self._bound.run() else None
