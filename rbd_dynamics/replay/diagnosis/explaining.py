# SPDX-License-Identifier: Apache-2.0
"""What explains a joint's residual: causes are added one by one, each judged on stretches that its fit has not seen.

Nested models, cause by cause: of those that leave least of the held-out squares, the simplest is taken; none is, unless
it takes away a tenth of what is left and helps on most of the stretches. A NaN is never better. All of it from sums of
products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.causes import CAUSES
from rbd_dynamics.replay.diagnosis.causes.base import MODEL, MOTION, Case, CauseKind
from rbd_dynamics.replay.diagnosis.causes.load import LOAD
from rbd_dynamics.replay.diagnosis.causes.scale import SCALE
from rbd_dynamics.replay.diagnosis.scales import is_far

Array = NDArray[np.float64]

GAIN = 0.10  # of what is left: a cause that takes away less is none
TIE = 0.005  # of what was left: a simpler cause that leaves more by less is the one,
WORSE = 1.3  # and one that leaves at most so many times as much
NEEDED = 1.1  # times as much must be left without a cause, once there are others
MATERIAL = 0.005  # of the torque: a smaller residual needs no cause
ONCE = 0.99  # of the motion, and of the residual: if one stretch has more, the others say nothing about it
TWICE, MUCH = 2.0, 0.1  # as much of the residual may be left, or so much more, if a load is to stand for a scale


@dataclass(frozen=True)
class Step:
    """A cause and the share of all squares that it takes away, given those before it."""

    cause: CauseKind
    share: float


def explain(case: Case, *, without: Sequence[CauseKind] = ()) -> tuple[list[Step], float]:
    """The causes, and the share of the residual's squares that is left, both held out. NaN: there is too little.

    without: causes that are not thought of.
    """
    before = case.held_out(())
    total = case.stretches.sum(axis=0)
    torque = float(total[-1, -1])
    if before is None or len(case.stretches) < 4 or not before.sum() > MATERIAL**2 * torque:
        return [], 1.0 if before is not None and len(case.stretches) >= 4 else np.nan
    if _moves_once(case, before):
        return [], np.nan
    chosen: list[CauseKind] = []
    current = before
    while not chosen or chosen[-1].fitted:
        left = {
            cause: cause.left(case, chosen, current) for cause in CAUSES if cause not in chosen and cause not in without
        }
        tried = {one: squares for one, squares in left.items() if squares is not None and np.isfinite(squares).all()}
        if not tried:
            break
        best = min(float(squares.sum()) for squares in tried.values())
        enough = max(best + TIE * current.sum(), WORSE * best)
        cause = next(one for one in CAUSES if one in tried and tried[one].sum() <= enough)
        gained = current - tried[cause]
        helps = not cause.fitted or np.count_nonzero(gained > 0.0) > len(gained) / 2.0
        if not (gained.sum() > GAIN * current.sum() and helps and gained.sum() > MATERIAL**2 * torque):
            break
        chosen.append(cause)
        current = tried[cause]
    return _shares(case, _needed(case, chosen), before)


def _moves_once(case: Case, before: Array) -> bool:
    """Whether a joint moves in one stretch only, which has all of the residual: friction there looks like contact."""
    moved = case.stretches[:, MOTION, MOTION]
    where = int(np.argmax(moved))
    return bool(moved[where] > ONCE * moved.sum() and before[where] > ONCE * before.sum())


def explanation(case: Case, *, never: Sequence[CauseKind] = ()) -> tuple[list[Step], float]:
    """Explanation as by `explain`, but causes that yield give way to others that explain as much.

    Such a one may be chosen before friction shows which it is. never: causes that are not thought of.
    """
    steps, left = explain(case, without=never)
    if any(step.cause.yields for step in steps):
        simple, rest = explain(case, without=[cause for cause in CAUSES if cause.yields or cause in never])
        if simple and rest <= left:
            return simple, rest
    return steps, left


def _needed(case: Case, chosen: Sequence[CauseKind]) -> list[CauseKind]:
    """The causes without those that later ones have made superfluous."""
    found = list(chosen)
    for cause in list(found[:-1]):
        rest = [other for other in found if other is not cause]
        with_it, without = (case.held_out(causes) for causes in (found, rest))
        if with_it is not None and without is not None and without.sum() <= NEEDED * with_it.sum():
            found = rest
    return found


def _shares(case: Case, chosen: Sequence[CauseKind], before: Array) -> tuple[list[Step], float]:
    """The causes in the order of what they explain, given those before."""
    steps: list[Step] = []
    current, waiting = before, list(chosen)
    while waiting:
        left = {cause: cause.left(case, [step.cause for step in steps], current) for cause in waiting}
        tried = {cause: squares for cause, squares in left.items() if squares is not None}
        if not tried:
            break
        cause = min(tried, key=lambda cause: float(tried[cause].sum()))
        steps.append(Step(cause, float((current.sum() - tried[cause].sum()) / before.sum())))
        waiting.remove(cause)
        current = tried[cause]
    return steps, float(current.sum() / before.sum())


def with_load(
    case: Case, steps: list[Step], left: float, *, never: Sequence[CauseKind] = ()
) -> tuple[list[Step], float]:
    """The steps with a load in place of a scale near one, where it explains about as much."""
    if not steps or steps[0].cause is not SCALE:
        return steps, left
    whole = case.fit([step.cause for step in steps], case.stretches.sum(axis=0))
    if whole is None or is_far(float(whole.coefficients[MODEL])):
        return steps, left
    others, rest = explain(case, without=(SCALE, *never))
    as_good = rest <= max(TWICE * left, left + MUCH) and any(step.cause is LOAD for step in others)
    return (others, rest) if as_good else (steps, left)
