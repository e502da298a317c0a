# SPDX-License-Identifier: Apache-2.0
"""Fits of some of many parameters, and what they leave of stretches that they have not seen; all from sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.least_squares import ROUNDING
from rbd_dynamics.replay.identification.leave_one_out import gram, residual_squares, ridge, without_each
from rbd_dynamics.replay.identification.normal_equations import NormalEquations

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

STRETCHES = 8
REWEIGHTED = 3  # times: enough for weights


class HeldOut:
    """Held-out errors of these equations, with a prior: a parameter is hardly larger than its `scale`.

    Attributes:
        stretches: how many. samples: of each joint, (joints,).
    """

    def __init__(self, equations: NormalEquations, scale: Array) -> None:
        self._columns, self._scale = equations.columns, np.maximum(scale, 1e-12)
        self.samples = equations.samples
        self._parts = [part.totals() for _, part in equations.folds(STRETCHES)]
        self._whole = equations.totals()
        self._known: dict[bytes, Array] = {}

    @property
    def stretches(self) -> int:
        return len(self._parts)

    def squares(self, state: Indices) -> Array:
        """Squares (stretches, joints) of each stretch by a fit of the parameters `state` to all other stretches."""
        key = state.tobytes()
        if key not in self._known:
            inside, columns = self._places(state)
            weights, parts = self._weights(state), [_of(part, inside) for part in self._parts]
            grams = [gram(columns, part, weights, len(state)) for part in parts]
            fits = without_each(gram(columns, _of(self._whole, inside), weights, len(state)), grams, self._scale[state])
            found = [residual_squares(columns, part, values) for part, values in zip(parts, fits)]
            self._known[key] = np.array(found).reshape(len(parts), len(columns))
        return self._known[key]

    def values(self, state: Indices) -> Array:
        """Values of the parameters by a fit to everything."""
        return ridge(self._gram(state, self._weights(state)), self._scale[state])

    def promises(self, state: Indices, more: list[Indices]) -> list[float]:
        """Reduction of the weighted squares of a fit to everything by each of some further sets of parameters."""
        both = np.concatenate([state, *more])
        whole = self._gram(both, self._weights(state))
        n, found, first = len(state), [], len(state)
        size = np.append(self._scale[both], 1.0)
        whole = size[:, None] * whole * size
        rest = whole[:, n:] - whole[:, :n] @ np.linalg.solve(whole[:n, :n] + np.eye(n), whole[:n, n:])
        for indices in more:
            own = np.arange(first, first + len(indices)) - n
            first += len(indices)
            apart = rest[n + own][:, own] + 1e-9 * np.diag(whole[n + own, n + own]) + 1e-300 * np.eye(len(own))
            found.append(float(rest[n + own, -1] @ np.linalg.solve(apart, rest[n + own, -1])))
        return found

    def _weights(self, state: Indices) -> Array:
        """One over the variance of each joint's residuals, (joints,)."""
        inside, columns = self._places(state)
        samples, whole = np.maximum(self.samples, 1), _of(self._whole, inside)
        power = np.array([total[-1, -1] for total in whole]) / samples
        least = ROUNDING * max(float(power.max(initial=0.0)), ROUNDING)
        weights = 1.0 / np.maximum(power, least)
        for _ in range(REWEIGHTED):
            values = ridge(gram(columns, whole, weights, len(state)), self._scale[state])
            weights = 1.0 / np.maximum(residual_squares(columns, whole, values) / samples, least)
        return np.asarray(np.where(self.samples > 0, weights, 0.0))

    def _gram(self, state: Indices, weights: Array) -> Array:
        """Gram matrix of all samples in some parameters (n,), with the torque, last: (n + 1, n + 1)."""
        inside, columns = self._places(state)
        return gram(columns, _of(self._whole, inside), weights, len(state))

    def _places(self, state: Indices) -> tuple[list[Indices], list[Indices]]:
        """Places of some parameters in the sums of each joint, with the torque, last; and among themselves."""
        place = np.full(
            int(max([0, *(int(c.max(initial=-1)) for c in self._columns), int(state.max(initial=-1))])) + 1, -1
        )
        place[state] = np.arange(len(state))
        found = [np.flatnonzero(place[columns] >= 0) for columns in self._columns]
        own = [place[columns[inside]] for columns, inside in zip(self._columns, found)]
        return [np.append(inside, len(columns)) for columns, inside in zip(self._columns, found)], own


def _of(sums: list[Array], inside: list[Indices]) -> list[Array]:
    """Sums of some of the parameters."""
    return [total[rows[:, None], rows] for total, rows in zip(sums, inside)]
