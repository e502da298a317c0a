# SPDX-License-Identifier: Apache-2.0
"""What a cause of a joint's residual is, and the sums of one joint in which causes are looked for.

    effort(t + delay) = scale * model(t) + what each cause adds to it, column by column, and noise

A new cause is a file with a `CauseKind` and its place in the list of `causes/__init__.py`. Most give `words` and `own`,
the names of their numbers, with `columns`, what these are factors of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.diagnosis.intervals import estimate_of
from rbd_dynamics.replay.diagnosis.lags import Lags
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.samples import JointSamples, Preparation
from rbd_dynamics.spatial.rank import normal_solution

Array = NDArray[np.float64]

MODEL, MOTION = 0, 1  # columns of every joint: the model's torque; the direction in which it moves, filtered
COMMON = 2


class CauseKind:
    """One cause, the same object for all joints; its methods have no state.

    Attributes:
        name: in results, and what documents call it.
        words: {name that is told: for people, after "what the model lacks is mostly"}; most have one name.
        caveats: {name that is told: why a load that was identified is doubtful then}.
        own: names of its columns' factors, with which they are told; "" for one that is not told.
        common: of `MODEL` and `MOTION`, those whose factors are free too, told under these names.
        resists: its factors have to oppose the motion; those that would drive are zero.
        shifts: the effort's delay is free.
        fitted: false for what is no part of the equation: what it leaves is not held out. It is the last one sought.
        yields: it gives way to others that explain as much.
    """

    name: str
    words: Mapping[str, str]
    caveats: Mapping[str, str] = {}
    own: tuple[str, ...] = ()
    common: Mapping[int, str] = {}
    resists = False
    shifts = False
    fitted = True
    yields = False

    def size(self, model: Model, dof: int) -> int:
        """How many columns it has at a degree of freedom."""
        return len(self.own)

    def columns(self, prepare: Preparation, samples: JointSamples, dof: int) -> Array:
        """(N, size): torque at one degree of freedom, N m or N, by a unit of each factor; N samples."""
        return np.zeros((len(samples.rows), 0))

    def unit(self, factor: str, torque: str) -> str:
        """The unit of the factor. torque: "N m", or "N" where the joint is prismatic."""
        return torque

    def left(self, case: Case, chosen: Sequence[CauseKind], current: Array) -> Array | None:
        """Squares (stretches,) left with it beside those chosen, which leave `current`; None where it cannot be."""
        possible = bool(case.columns[self.name]) or self.shifts
        return case.held_out([*chosen, self]) if possible else None

    def estimates(self, case: Case, whole: Fit, others: Sequence[Fit], torque: str) -> tuple[Estimate, ...]:
        """Its numbers. whole: the fit to all stretches, others: those without one each."""
        way = (lambda fit: fit.way) if self.resists else (lambda fit: 1.0)
        named = zip((*self.common.values(), *self.own), case.columns[self.name])
        return tuple(
            estimate_of(
                name,
                way(whole) * float(whole.coefficients[column]),
                np.array([way(whole) * fit.coefficients[column] for fit in others]),
                self.unit(name, torque),
            )
            for name, column in named
            if name
        )

    def told(self, estimates: Sequence[Estimate]) -> str:
        """The name under which it is told, a key of `words`."""
        return self.name


@dataclass(frozen=True)
class Fit:
    """Coefficients of all columns but lags, and the place of the delay in `Lags.tried`."""

    coefficients: Array
    place: int

    @property
    def way(self) -> float:
        """-1 where the sign of the effort is turned, and with it that of what resists."""
        return -1.0 if self.coefficients[MODEL] < 0.0 else 1.0


@dataclass(frozen=True)
class Case:
    """Sums of one joint.

    Attributes:
        stretches: [X y]^T [X y] of a few stretches of time, (stretches, columns + 1, columns + 1): what is common to
            all causes, what each has besides, then the effort at all lags; y is the effort.
        blocks: of many short ones, likewise; samples: of each of these, (blocks,).
        columns: {cause: those whose factors it frees}.
    """

    stretches: Array
    blocks: Array
    samples: NDArray[np.int64]
    columns: Mapping[str, tuple[int, ...]]
    lags: Lags

    @property
    def _own(self) -> int:
        """Columns that are no lags."""
        return self.stretches.shape[-1] - 1 - self.lags.count

    def fit(self, causes: Sequence[CauseKind], total: Array) -> Fit | None:
        """The fit of the causes, None where it cannot be: what resists would drive."""
        causes = [cause for cause in causes if cause.fitted]
        fixed = np.zeros(self._own)
        fixed[MODEL] = 1.0
        free = sorted({column for cause in causes for column in self.columns[cause.name]})
        fixed[free] = 0.0
        resisting = [set(self.columns[cause.name]) for cause in causes if cause.resists]
        shifted = any(cause.shifts for cause in causes)
        places = np.arange(len(self.lags.tried)) if shifted else np.array([self.lags.here])
        while True:
            found = self._solve(total, fixed, free, places)
            driving = {
                k for k in free if not found.way * found.coefficients[k] >= 0.0 and any(k in own for own in resisting)
            }
            if not driving:
                return found
            free = [k for k in free if k not in driving]
            if any(own.isdisjoint(free) for own in resisting):
                return None

    def _solve(self, total: Array, fixed: Array, free: list[int], places: NDArray[np.intp]) -> Fit:
        own = self._own
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
        x = np.concatenate([-fit.coefficients, self.lags.weights[:, fit.place]])
        return np.asarray(np.einsum("i,...ij,j->...", x, sums[..., :-1, :-1], x))

    def held_out(self, causes: Sequence[CauseKind]) -> Array | None:
        """Sums of squares of each stretch, (stretches,), by a fit to all others; None where it cannot be."""
        total = self.stretches.sum(axis=0)
        found = np.zeros(len(self.stretches))
        for k, stretch in enumerate(self.stretches):
            fit = self.fit(causes, total - stretch)
            if fit is None:
                return None
            found[k] = max(float(self.squares(fit, stretch)), 0.0)
        return found
