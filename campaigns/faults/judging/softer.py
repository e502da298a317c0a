# SPDX-License-Identifier: Apache-2.0
"""What of its gains a node uses while its efforts could not follow: followed by the judge from effort to effort.

Where the last effort came as near to what was wanted as its rate let it, the damping of the next one may be a share of
the gains', the stiffness its square. Which share, is found from the effort: one number that explains all joints. It
comes back within a known time then, as is checked; in between it depends on how many states were answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RECOVERY, NEARLY = 0.2, 0.999  # s, in which the share comes back; so much is all
BACK = 1.5  # s after which it is
GAP = 0.02  # s without an effort that is explained, in which it may have fallen
STEPS = 8  # of Gauss and Newton, where many are tried; four times as many for one
SLACK = 1e-6  # of a share
GRID, DIFFERENCE = 17, 1e-6  # of shares that are tried, and between two of which a slope is taken
SETTLED, NEAR = 1e-12, 0.05  # a step after which none is needed; of the largest joint's effort


class Softer:
    """The share in use, as far as it is known.

    Attributes:
        cut: the last effort was cut by its rate, or is not understood: the share may fall now.
    """

    def __init__(self) -> None:
        self._share, self._at, self.cut, self._cut_at = 1.0, 0, False, 0

    def now(self, stamp: int) -> float:
        """The share at a state (ns), if it does not fall."""
        passed = 1e-9 * max(0, stamp - self._at)
        share = self._share + min(1.0, passed / RECOVERY) * (1.0 - self._share)
        return 1.0 if share > NEARLY else share

    def seen(self, share: float, stamp: int, *, cut: bool) -> None:
        """An effort that is explained by this share; cut: by its rate, too."""
        self._share, self._at, self.cut = share, stamp, False
        if cut:
            self.is_cut(stamp)

    def is_cut(self, stamp: int) -> None:
        """An effort that is cut by its rate."""
        self.cut, self._cut_at = True, stamp

    def may_be_softer(self, stamp: int) -> bool:
        """Some share may be in use that is not all."""
        return stamp - self._cut_at < BACK * 1e9

    def known(self, stamp: int) -> Iterator[float]:
        """Shares that may be in use where it has not fallen."""
        yield (share := self.now(stamp))
        if share < 1.0:  # another engine begins with all of them
            yield 1.0

    def may_have_fallen(self, stamp: int, *, unseen: bool = False) -> bool:
        """Or have come back in other steps than are known. unseen: states before may have had an answer that was."""
        return self._share < 1.0 or self._may_fall(stamp, unseen)

    def _may_fall(self, stamp: int, unseen: bool) -> bool:
        return self.cut or unseen or stamp - self._at > GAP * 1e9

    def bounds(self, stamp: int, *, unseen: bool = False) -> tuple[float, float]:
        """The least and the largest share that may be in use. unseen: see `may_have_fallen`."""
        if self._may_fall(stamp, unseen):
            return 0.0, self.now(stamp)
        passed = max(1e-9 * (stamp - self._at), 0.0)
        return max(0.0, 1.0 - (1.0 - self._share) * math.exp(-passed / RECOVERY) - SLACK), self.now(stamp)

    def found(
        self,
        torque: Callable[[float], Array],
        tau: Array,
        before: Array | None,
        limits: Array,
        stamp: int,
        *,
        unseen: bool = False,
    ) -> Iterator[float]:
        """Shares that may explain the effort `tau`, if it may have fallen.

        torque: by share, without limits, quadratic in it. before: the last effort, from which tau is on its way.
        unseen: see `may_have_fallen`.
        """
        least, most = self.bounds(stamp, unseen=unseen)
        none, stiff, damp = parts(torque)
        if not (stiff.any() or damp.any()):
            return
        seen = np.abs(tau) < limits
        for found in shares(tau, before, none, stiff, damp, seen, 4 * STEPS):
            if found < most and _explains(tau, before, none, found * found * stiff + found * damp, seen):
                yield max(float(found), least)  # that of `most` is known


def parts(torque: Callable[[float], Array]) -> tuple[Array, Array, Array]:
    """(none, stiff, damp) (..., 7), by which the torque at a share s is none + s^2 stiff + s damp."""
    none, half, all_of_them = torque(0.0), torque(0.5), torque(1.0)
    stiff = 2.0 * (all_of_them + none - 2.0 * half)
    return none, stiff, all_of_them - none - stiff


def shares(
    tau: Array,
    before: Array | None,
    none: Array,
    stiff: Array,
    damp: Array,
    seen: NDArray[np.bool_],
    steps: int = STEPS,
) -> list[Array]:
    """Shares (...) by which an effort is nearest to what is wanted, and by which its change since `before` is so
    nearest to a part of the change that is wanted; none, stiff, damp: (..., 7), of `parts`."""
    none, stiff, damp = none[..., seen], stiff[..., seen], damp[..., seen]
    found = [_alone(tau[seen] - none, stiff, damp, steps)]
    if before is not None:
        found.append(_on_its_way((tau - before)[seen], none - before[seen], stiff, damp, steps))
    return found


def nearest_share(off: Callable[[float], Array], least: float, most: float) -> float:
    """The share between these at which `off`, what an effort is away from what such a share gives, is least.

    Also where the torque is not quadratic in it, as of joints that are braked: by Gauss and Newton with differences.
    """
    share = min(np.linspace(least, most, GRID), key=lambda tried: float(np.square(off(tried)).sum()))
    for _ in range(STEPS):
        low, high = max(share - DIFFERENCE, least), min(share + DIFFERENCE, most)
        if low == high:
            break
        slope = (off(high) - off(low)) / (high - low)
        step = float(slope @ off(share)) / max(float(slope @ slope), 1e-300)
        share = min(max(share - step, least), most)
        if abs(step) < SETTLED:
            break
    return float(share)


def _alone(rest: Array, stiff: Array, damp: Array, steps: int) -> Array:
    """s (...), so that rest = s^2 stiff + s damp."""
    s = np.full(rest.shape[:-1], 0.5)
    for _ in range(steps):
        x = s[..., None]
        slope = 2.0 * x * stiff + damp
        size = (slope * slope).sum(-1)
        off = (slope * (rest - x * x * stiff - x * damp)).sum(-1)
        step = np.divide(off, size, out=np.zeros_like(s), where=size > 0.0)
        s = np.clip(s + step, 0.0, 2.0)
        if float(np.abs(step).max()) < SETTLED:
            break
    return s


def _on_its_way(change: Array, rest: Array, stiff: Array, damp: Array, steps: int) -> Array:
    """s (...), so that change = k (rest + s^2 stiff + s damp) with some k."""
    k, s = np.full(rest.shape[:-1], 0.5), np.full(rest.shape[:-1], 0.5)
    for _ in range(steps):
        x = s[..., None]
        wanted = rest + x * x * stiff + x * damp
        slope, off = k[..., None] * (2.0 * x * stiff + damp), change - k[..., None] * wanted
        a, b, c = (wanted * wanted).sum(-1), (wanted * slope).sum(-1), (slope * slope).sum(-1)
        along, aside, size = (wanted * off).sum(-1), (slope * off).sum(-1), a * c - b * b
        tells = size > 0.0
        by_k = np.divide(c * along - b * aside, size, out=np.zeros_like(k), where=tells)
        by_s = np.divide(a * aside - b * along, size, out=np.zeros_like(k), where=tells)
        k, s = np.clip(k + by_k, 0.0, 1.0), np.clip(s + by_s, 0.0, 2.0)
        if max(float(np.abs(by_k).max()), float(np.abs(by_s).max())) < SETTLED:
            break
    return s


def _explains(tau: Array, before: Array | None, none: Array, feedback: Array, seen: NDArray[np.bool_]) -> bool:
    """Nearly, alone or on its way: what explains an effort is judged by the judge."""
    if _near(feedback[seen], (tau - none)[seen]):
        return True
    if before is None:
        return False
    wanted, change = (none + feedback - before)[seen], (tau - before)[seen]
    size = float(wanted @ wanted)
    return size > 0.0 and _near(min(max(float(wanted @ change) / size, 0.0), 1.0) * wanted, change)


def _near(found: Array, wanted: Array) -> bool:
    return bool(np.abs(found - wanted).max(initial=0.0) <= NEAR * np.abs(wanted).max(initial=0.0))
