# SPDX-License-Identifier: Apache-2.0
"""What explains a joint's residual: causes are added one by one, each judged on stretches that its fit has not seen.

    effort(t + delay) = scale * model(t) + offset + Coulomb level + viscous v + load, and noise, and contacts

Nested models, cause by cause: of those that leave least of the held-out squares, the simplest is taken; none is, unless
it takes away a tenth of what is left and helps on most of the stretches. A NaN is never better. All of it from sums of
products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.lags import Lags
from rbd_dynamics.spatial.rank import normal_solution

Array = NDArray[np.float64]
Name = Literal["scale", "offset", "friction", "delay", "load", "contact"]

#: the simplest first
CAUSES: tuple[Name, ...] = ("offset", "scale", "friction", "delay", "load", "contact")
GAIN = 0.10  # of what is left: a cause that takes away less is none
TIE = 0.005  # of what was left: a simpler cause that leaves more by less is the one,
WORSE = 1.3  # and one that leaves at most so many times as much
NEEDED = 1.1  # times as much must be left without a cause, once there are others
MATERIAL = 0.005  # of the torque: a smaller residual needs no cause
MOST_CONTACT = 0.3  # of the stretches; what is everywhere is no contact
LEAST_CONTRAST = 10.0  # of the mean square in contact, to that elsewhere
ONCE = 0.99  # of the motion, and of the residual: if one stretch has more, the others say nothing about it
OFFSET, COULOMB, VISCOUS, MODEL, LOAD = 0, 1, 2, 3, 4  # columns


@dataclass(frozen=True)
class Fit:
    """Coefficients of all columns but lags, and the place of the delay in `Lags.tried`."""

    coefficients: Array
    place: int

    @property
    def way(self) -> float:
        """-1 where the sign of the effort is turned, and with it that of friction."""
        return -1.0 if self.coefficients[MODEL] < 0.0 else 1.0


@dataclass(frozen=True)
class Case:
    """Sums of one joint.

    Attributes:
        stretches: [X y]^T [X y] of a few stretches of time, (stretches, columns + 1, columns + 1): offset, Coulomb,
            viscous, model, load (`loads` columns), then the effort at all lags; y is the effort.
        blocks: of many short ones, likewise; samples: of each of these, (blocks,).
    """

    stretches: Array
    blocks: Array
    samples: NDArray[np.int64]
    loads: int
    lags: Lags

    def fit(self, causes: Sequence[Name], total: Array) -> Fit | None:
        """None where it cannot be: friction that would drive."""
        own = LOAD + self.loads
        fixed = np.zeros(own)
        fixed[MODEL] = 1.0
        free: list[int] = []
        for name in causes:
            free += {"offset": [OFFSET], "friction": [COULOMB, VISCOUS], "scale": [MODEL],
                     "load": list(range(LOAD, own))}.get(name, [])  # fmt: skip
        fixed[free] = 0.0
        places = np.arange(len(self.lags.tried)) if "delay" in causes else np.array([self.lags.here])
        while True:
            found = self._solve(total, fixed, free, places)
            driving = [k for k in (COULOMB, VISCOUS) if k in free and not found.way * found.coefficients[k] >= 0.0]
            if not driving:
                return found
            if "friction" in causes and set(free).isdisjoint({COULOMB, VISCOUS} - set(driving)):
                return None
            free = [k for k in free if k not in driving]

    def _solve(self, total: Array, fixed: Array, free: list[int], places: NDArray[np.intp]) -> Fit:
        own = LOAD + self.loads
        weights = self.lags.weights[:, places]
        effort = total[own:-1, own:-1]
        squares = np.einsum("lt,lt->t", weights, effort @ weights)
        moments = total[:own, own:-1] @ weights - (total[:own, :own] @ fixed)[:, None]  # columns times what is left
        left = squares - 2.0 * fixed @ (total[:own, own:-1] @ weights) + fixed @ total[:own, :own] @ fixed
        coefficients = np.repeat(fixed[:, None], len(places), axis=1)
        if free:
            gram = total[np.ix_(free, free)]
            solved = normal_solution(gram, moments[free])
            left = left - np.einsum("ft,ft->t", solved, moments[free])
            coefficients[free] += solved
        best = int(np.argmin(np.where(np.isfinite(left), left, np.inf)))
        return Fit(coefficients[:, best], int(places[best]))

    def squares(self, fit: Fit, sums: Array) -> Array:
        """Squares of the residuals, for sums (..., columns + 1, columns + 1)."""
        own = LOAD + self.loads
        x = np.concatenate([-fit.coefficients, self.lags.weights[:, fit.place]])
        return np.asarray(
            np.einsum("i,...ij,j->...", x, sums[..., : own + self.lags.count, : own + self.lags.count], x)
        )

    def held_out(self, causes: Sequence[Name]) -> Array | None:
        """Sums of squares of each stretch, (stretches,), by a fit to all others; None where it cannot be."""
        total = self.stretches.sum(axis=0)
        found = np.zeros(len(self.stretches))
        for k, stretch in enumerate(self.stretches):
            fit = self.fit(causes, total - stretch)
            if fit is None:
                return None
            found[k] = max(float(self.squares(fit, stretch)), 0.0)
        return found


@dataclass(frozen=True)
class Step:
    """A cause and the share of all squares that it takes away, given those before it."""

    name: Name
    share: float


def explain(case: Case, *, without: Sequence[Name] = ()) -> tuple[list[Step], float]:
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
    chosen: list[Name] = []
    current = before
    while not chosen or chosen[-1] != "contact":
        left = {
            name: _left(case, chosen, name, current) for name in CAUSES if name not in chosen and name not in without
        }
        tried = {name: squares for name, squares in left.items() if squares is not None and np.isfinite(squares).all()}
        if not tried:
            break
        best = min(float(squares.sum()) for squares in tried.values())
        enough = max(best + TIE * current.sum(), WORSE * best)
        name = next(name for name in CAUSES if name in tried and tried[name].sum() <= enough)
        gained = current - tried[name]
        helps = name == "contact" or np.count_nonzero(gained > 0.0) > len(gained) / 2.0
        if not (gained.sum() > GAIN * current.sum() and helps and gained.sum() > MATERIAL**2 * torque):
            break
        chosen.append(name)
        current = tried[name]
    return _shares(case, _needed(case, chosen), before)


def _moves_once(case: Case, before: Array) -> bool:
    """Whether a joint moves in one stretch only, which has all of the residual: friction there looks like contact."""
    moved = case.stretches[:, COULOMB, COULOMB]
    where = int(np.argmax(moved))
    return bool(moved[where] > ONCE * moved.sum() and before[where] > ONCE * before.sum())


def explanation(case: Case) -> tuple[list[Step], float]:
    """Explanation as by `explain`, but a load or a delay gives way to what is simpler and explains as much.

    Each takes away some of what a sign or a scale does, and may be chosen before friction shows which it is.
    """
    steps, left = explain(case)
    if any(step.name in ("load", "delay") for step in steps):
        simple, rest = explain(case, without=("load", "delay"))
        if simple and rest <= left:
            return simple, rest
    return steps, left


def _needed(case: Case, chosen: Sequence[Name]) -> list[Name]:
    """The causes without those that later ones have made superfluous."""
    found = list(chosen)
    for name in list(found[:-1]):
        rest = [other for other in found if other != name]
        with_it, without = (case.held_out([c for c in causes if c != "contact"]) for causes in (found, rest))
        if with_it is not None and without is not None and without.sum() <= NEEDED * with_it.sum():
            found = rest
    return found


def _shares(case: Case, chosen: Sequence[Name], before: Array) -> tuple[list[Step], float]:
    """The causes in the order of what they explain, given those before."""
    steps: list[Step] = []
    current, waiting = before, list(chosen)
    while waiting:
        left = {name: _left(case, [step.name for step in steps], name, current) for name in waiting}
        tried = {name: squares for name, squares in left.items() if squares is not None}
        if not tried:
            break
        name = min(tried, key=lambda name: float(tried[name].sum()))
        steps.append(Step(name, float((current.sum() - tried[name].sum()) / before.sum())))
        waiting.remove(name)
        current = tried[name]
    return steps, float(current.sum() / before.sum())


def _left(case: Case, chosen: Sequence[Name], name: Name, current: Array) -> Array | None:
    if name == "load" and not case.loads:
        return None
    if name == "delay" and _at_a_limit(case, chosen):
        return None
    return _beside_contacts(case, chosen, current) if name == "contact" else case.held_out([*chosen, name])


def _at_a_limit(case: Case, chosen: Sequence[Name]) -> bool:
    """Whether a delay is as long as any that is tried: then it is none."""
    fit = case.fit([*chosen, "delay"], case.stretches.sum(axis=0))
    return fit is not None and fit.place in (0, len(case.lags.tried) - 1)


def _beside_contacts(case: Case, chosen: Sequence[Name], current: Array) -> Array | None:
    """Sums as if all blocks were like those without contact; None where no few blocks stand out."""
    seen = case.samples > 0
    blocks, samples = case.blocks[seen], case.samples[seen]
    apart = np.zeros(len(blocks), dtype=bool)
    for _ in range(4):  # what touched the robot is no part of the fit either
        fit = case.fit(chosen, blocks[~apart].sum(axis=0))
        if fit is None:
            return None
        power = np.maximum(case.squares(fit, blocks), 0.0) / samples
        again = power > LEAST_CONTRAST * float(np.median(power))
        if again.mean() > MOST_CONTACT:
            return None
        if (again == apart).all():
            break
        apart = again
    if not apart.any():
        return None
    return np.asarray(
        current * (power[~apart] @ samples[~apart] / samples[~apart].sum()) / (power @ samples / samples.sum())
    )


def interval(values: Array, whole: float) -> tuple[float, float]:
    """Interval of 95 %, from the estimates (n,) that leave out one stretch each (the jackknife)."""
    count = len(values)
    error = np.sqrt((count - 1) / count * np.square(values - values.mean()).sum())
    reach = float(scipy.stats.t.ppf(0.975, count - 1)) * error
    return whole - reach, whole + reach
