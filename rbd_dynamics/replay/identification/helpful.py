# SPDX-License-Identifier: Apache-2.0
"""Which columns of a fit lower its error on what it has not seen, by more than chance.

Of columns that are offered beside others some only spread what is sought over more unknowns. A group of them is taken
where held-out stretches of time are predicted better with it: by the paired differences of their squares, in the order
of what each gains, each beside those that were taken before, until none of the others is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.least_squares import fit
from rbd_dynamics.replay.identification.leave_one_out import gram, residual_squares
from rbd_dynamics.replay.identification.normal_equations import Indices, NormalEquations

Array = NDArray[np.float64]

FOLDS = 8
SURE = 2.0  # standard errors of the gain


class _Fold:
    """A fit without a stretch of time, to a growing set of columns, and what it leaves of that stretch."""

    def __init__(self, rest: NormalEquations, part: NormalEquations, weights: Array, scale: Array) -> None:
        self._part, self._weights, self._scale = part, weights, scale
        whole = gram(rest.columns, rest.totals(), weights, rest.count)
        self._information = scale[:, None] * whole[:-1, :-1] * scale + np.eye(len(scale))
        self._moment = scale * whole[:-1, -1]

    def begin(self, columns: Indices) -> None:
        self._columns = columns
        self._inverse = np.linalg.inv(self._information[np.ix_(columns, columns)])
        self._values = self._inverse @ self._moment[columns]
        self._left = self._squares(columns, self._values)

    def gain(self, group: Indices) -> float:
        """Squares of the stretch that these columns explain, beside those that were taken."""
        across = self._information[np.ix_(self._columns, group)]
        into = self._inverse @ across
        own = self._information[np.ix_(group, group)] - across.T @ into
        found = np.linalg.solve(own, self._moment[group] - across.T @ self._values)
        values = np.concatenate([self._values - into @ found, found])
        return self._left - self._squares(np.concatenate([self._columns, group]), values)

    def _squares(self, columns: Indices, scaled: Array) -> float:
        values = np.zeros(len(self._scale))
        values[columns] = self._scale[columns] * scaled
        left = residual_squares(self._part.columns, self._part.totals(), values)
        return float(left @ self._weights)


def helpful(equations: NormalEquations, scale: Array, groups: Sequence[Indices]) -> list[bool]:
    """Which groups of columns are; all others of the equations are taken.

    scale: large values of all parameters (p,); where it is zero a parameter is none. Where there are too few stretches
    to tell, no group is.
    """
    weights = fit(equations, scale).weights
    folds = [_Fold(rest, part, weights, scale) for rest, part in equations.folds(FOLDS)]
    taken = [False] * len(groups)
    if len(folds) < FOLDS:
        return taken
    offered = {int(k) for group in groups for k in group}
    columns = np.array([k for k in range(equations.count) if k not in offered], dtype=np.intp)

    def gain_of(group: Indices) -> tuple[float, bool]:
        found = np.array([fold.gain(group) for fold in folds])
        total = float(found.sum())
        return total, total > SURE * float(np.std(found, ddof=1)) * math.sqrt(len(found))

    for fold in folds:
        fold.begin(columns)
    before = -1
    while sum(taken) > before:  # beside what was taken, more may be sure
        before = sum(taken)
        rest = [k for k, group in enumerate(groups) if not taken[k] and scale[group].any()]
        gains = {k: gain_of(groups[k]) for k in rest}
        for k in sorted((k for k in rest if gains[k][1]), key=lambda k: -gains[k][0]):
            if not any(taken) or gain_of(groups[k])[1]:
                taken[k] = True
                columns = np.concatenate([columns, groups[k]])
                for fold in folds:
                    fold.begin(columns)
    return taken
