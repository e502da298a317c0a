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
STEPS = 8  # of Gauss and Newton
SLACK = 1e-6  # of a share
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

    def may_have_fallen(self, stamp: int) -> bool:
        """Or have come back in other steps than are known."""
        return self._share < 1.0 or self.cut or stamp - self._at > GAP * 1e9

    def found(
        self, torque: Callable[[float], Array], tau: Array, before: Array | None, limits: Array, stamp: int
    ) -> Iterator[float]:
        """Shares that may explain the effort `tau`, if it may have fallen.

        torque: by share, without limits, quadratic in it. before: the last effort, from which tau is on its way.
        """
        passed = 1e-9 * (stamp - self._at)
        most, least = self.now(stamp), 0.0
        if not self.cut and passed <= GAP:
            least = 1.0 - (1.0 - self._share) * math.exp(-max(passed, 0.0) / RECOVERY) - SLACK
        none, half, all_of_them = torque(0.0), torque(0.5), torque(1.0)
        if (all_of_them == none).all():
            return
        stiff = 2.0 * (all_of_them + none - 2.0 * half)
        damp = all_of_them - none - stiff
        seen = np.abs(tau) < limits
        for share in (_alone(tau - none, stiff, damp, seen), _on_its_way(tau, before, none, stiff, damp, seen)):
            if share is not None and share < most:  # that of `most` is known
                yield max(share, least)


def _alone(rest: Array, stiff: Array, damp: Array, seen: NDArray[np.bool_]) -> float | None:
    """s, so that rest = s^2 stiff + s damp; None: there is none."""
    rest, stiff, damp = rest[seen], stiff[seen], damp[seen]
    s = 0.5
    for _ in range(4 * STEPS):
        slope = 2.0 * s * stiff + damp
        if not slope.any():
            return None
        step = float(slope @ (rest - s * s * stiff - s * damp) / (slope @ slope))
        s = min(max(s + step, 0.0), 2.0)
        if abs(step) < SETTLED:
            break
    return s if _fits(s * s * stiff + s * damp, rest) else None


def _on_its_way(
    tau: Array, before: Array | None, none: Array, stiff: Array, damp: Array, seen: NDArray[np.bool_]
) -> float | None:
    """s, so that tau - before = k (none + s^2 stiff + s damp - before) with some k; None: there is none."""
    if before is None:
        return None
    change, rest = (tau - before)[seen], (none - before)[seen]
    stiff, damp = stiff[seen], damp[seen]
    k, s = 0.5, 0.5
    for _ in range(4 * STEPS):
        wanted = rest + s * s * stiff + s * damp
        slopes = np.stack([wanted, k * (2.0 * s * stiff + damp)], axis=1)
        step = np.linalg.lstsq(slopes, change - k * wanted, rcond=None)[0]
        k, s = min(max(k + step[0], 0.0), 1.0), min(max(s + step[1], 0.0), 2.0)
        if float(np.abs(step).max()) < SETTLED:
            break
    return float(s) if _fits(k * (rest + s * s * stiff + s * damp), change) else None


def _fits(found: Array, wanted: Array) -> bool:
    """Nearly: what explains an effort is judged by the judge."""
    return bool(np.abs(found - wanted).max(initial=0.0) <= NEAR * np.abs(wanted).max(initial=0.0))
