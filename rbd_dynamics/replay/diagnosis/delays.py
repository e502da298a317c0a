# SPDX-License-Identifier: Apache-2.0
"""Which joints' efforts are late, beside inertias, rotors and friction that remembers displacement; none is early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.free_fit import CHANCE, FreeFit, Regression
from rbd_dynamics.replay.identification.validation import chance

Array = NDArray[np.float64]

GAIN = 0.10  # of what is left of a joint's squares: a delay that takes away less is none
MATERIAL = 0.005  # of the torque: a smaller residual needs no delay
ROUNDS = 3
SHORTEST = 5e-3  # s: a shorter delay is none
RUBS = 0.2  # of a joint's torque: friction of that size may be what seems late, where others are not


@dataclass(frozen=True)
class Delays:
    """Joints whose efforts are late.

    Attributes:
        places: {place of a joint: number of its delay among those that are tried}; `others`: by fits without a stretch
            each, (stretches,).
        rubs: those of them that have much friction, while most other joints are not late.
        common: number of the one delay that all have, where that leaves less of each of them and no more of any other;
            -1 where there is none.
    """

    claimed: dict[int, int]
    others: dict[int, NDArray[np.intp]]
    rubs: frozenset[int] = frozenset()
    common: int = -1


def settled(regression: Regression, scales: Array, *, free: Sequence[int] = ()) -> FreeFit:
    """A fit in which each effort has the delay that leaves least."""
    _, none = regression.none()
    found = regression.fit(scales, none, free=free)
    for _ in range(ROUNDS):
        delays = [_least(row, int(here)) for row, here in zip(regression.profiles(found), none)]
        if (found.delays == delays).all():
            break
        found = regression.fit(found.scales, np.array(delays, dtype=np.intp), free=free)
    return found


def claimed_delays(regression: Regression, scales: Array, tried: Array) -> Delays:
    """Which are late, with these scales. tried: the delays, s."""
    _, none = regression.none()
    before, found = regression.fit(scales, none), settled(regression, scales)
    delays = found.delays.copy()
    late = [j for j in range(len(none)) if tried[delays[j]] >= SHORTEST]
    delays[[j for j in range(len(none)) if j not in late]] = regression.none()[1][0]
    found = regression.fit(scales, delays)
    level = CHANCE / max(1, len(none))
    while late:
        needless = {j: _needless(regression, found, j, int(none[j])) for j in late}
        least = max(needless, key=lambda j: needless[j])
        if needless[least] <= level:
            break
        late.remove(least)
        delays[least] = none[least]
        found = regression.fit(scales, delays)
    folds = range(len(found.left))
    profiles = [regression.profiles(found, without=k) for k in folds] if late else []
    others = {j: np.array([_least(profiles[k][j], int(none[j])) for k in folds]) for j in late}
    claimed = {j: int(delays[j]) for j in late}
    rubbing = regression.friction(found) > RUBS
    alone = 2 * len(claimed) <= len(none)
    return Delays(
        claimed,
        others,
        frozenset(j for j in claimed if alone and rubbing[j]),
        _common(regression, before, found, claimed),
    )


def _least(left: Array, here: int) -> int:
    """Number of the delay that leaves least; of no delay where that is early, or the longest that is tried."""
    place = int(np.argmin(left))
    return here if place < here or place == len(left) - 1 else place


def _needless(regression: Regression, found: FreeFit, j: int, none: int) -> float:
    delays = found.delays.copy()
    delays[j] = none
    without = regression.fit(found.scales, delays)
    worse, better = without.left[:, j], found.left[:, j]
    enough = max(GAIN * worse.sum(), MATERIAL**2 * regression.torque[j] ** 2 * regression.joints[j].samples.sum())
    return chance(worse, better) if worse.sum() - better.sum() > enough else 1.0


def _common(regression: Regression, before: FreeFit, found: FreeFit, claimed: dict[int, int]) -> int:
    """The delay of all, if it mends each that is late, nearly as well as its own, and spoils none."""
    if len(claimed) < 2:
        return -1
    place = int(np.median(list(claimed.values())))
    all_late = regression.fit(found.scales, np.full_like(found.delays, place))
    was, own, now = (fit.left.sum(axis=0) for fit in (before, found, all_late))
    least = MATERIAL**2 * regression.torque**2 * np.array([joint.samples.sum() for joint in regression.joints])
    mends = all(now[j] - own[j] < 0.5 * (was[j] - own[j]) for j in claimed)
    spoils = any(now[j] > (1.0 + GAIN) * was[j] + least[j] for j in range(len(was)))
    return place if mends and not spoils else -1
