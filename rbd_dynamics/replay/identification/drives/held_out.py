# SPDX-License-Identifier: Apache-2.0
"""Fits of some of many parameters, and what they leave of stretches that they have not seen; all from sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.least_squares import ROUNDING
from rbd_dynamics.replay.identification.normal_equations import NormalEquations

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

STRETCHES = 8
REWEIGHTED = 3  # times: enough for weights


@dataclass(frozen=True)
class _View:
    """Places of some parameters: in the sums of each joint (with the torque, last), and among themselves."""

    sums: list[tuple[Indices, Indices]]
    own: list[Indices]


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
            view, weights = self._view(state), self._weights(state)
            whole = self._gram(self._whole, view, weights, len(state))
            found = np.zeros((len(self._parts), len(self._columns)))
            for row, part in zip(found, self._parts):
                rest = whole - self._gram(part, view, weights, len(state))
                row[:] = self._left(part, view, self._solved(rest, state))
            self._known[key] = found
        return self._known[key]

    def values(self, state: Indices) -> Array:
        """Values of the parameters by a fit to everything."""
        gram = self._gram(self._whole, self._view(state), self._weights(state), len(state))
        return self._solved(gram, state)

    def promises(self, state: Indices, more: list[Indices]) -> list[float]:
        """Reduction of the weighted squares of a fit to everything by each of some further sets of parameters."""
        both = np.concatenate([state, *more])
        gram = self._gram(self._whole, self._view(both), self._weights(state), len(both))
        n, found, first = len(state), [], len(state)
        size = np.append(self._scale[both], 1.0)
        gram = size[:, None] * gram * size
        rest = gram[:, n:] - gram[:, :n] @ np.linalg.solve(gram[:n, :n] + np.eye(n), gram[:n, n:])
        for indices in more:
            own = np.arange(first, first + len(indices)) - n
            first += len(indices)
            apart = rest[n + own][:, own] + 1e-9 * np.diag(gram[n + own, n + own]) + 1e-300 * np.eye(len(own))
            found.append(float(rest[n + own, -1] @ np.linalg.solve(apart, rest[n + own, -1])))
        return found

    def _weights(self, state: Indices) -> Array:
        """One over the variance of each joint's residuals, (joints,)."""
        samples, view = np.maximum(self.samples, 1), self._view(state)
        power = np.array([total[-1, -1] for total in self._whole]) / samples
        least = ROUNDING * max(float(power.max(initial=0.0)), ROUNDING)
        weights = 1.0 / np.maximum(power, least)
        for _ in range(REWEIGHTED):
            gram = self._gram(self._whole, view, weights, len(state))
            values = self._solved(gram, state)
            weights = 1.0 / np.maximum(self._left(self._whole, view, values) / samples, least)
        return np.asarray(np.where(self.samples > 0, weights, 0.0))

    def _solved(self, gram: Array, state: Indices) -> Array:
        return np.asarray(np.linalg.solve(gram[:-1, :-1] + np.diag(1.0 / self._scale[state] ** 2), gram[:-1, -1]))

    def _view(self, state: Indices) -> _View:
        place = np.full(
            int(max([0, *(int(c.max(initial=-1)) for c in self._columns), int(state.max(initial=-1))])) + 1, -1
        )
        place[state] = np.arange(len(state))
        sums, own = [], []
        for columns in self._columns:
            inside = np.flatnonzero(place[columns] >= 0)
            own.append(place[columns[inside]])
            sums.append((np.append(inside, len(columns)), np.append(own[-1], len(state))))
        return _View(sums, own)

    def _gram(self, totals: list[Array], view: _View, weights: Array, count: int) -> Array:
        """[X y]^T W [X y], (count + 1, count + 1)."""
        found = np.zeros((count + 1, count + 1))
        for total, (inside, place), weight in zip(totals, view.sums, weights):
            found[place[:, None], place] += weight * total[inside[:, None], inside]
        return found

    def _left(self, totals: list[Array], view: _View, values: Array) -> Array:
        """Squares of what these values leave of each joint, (joints,)."""
        found = np.zeros(len(totals))
        for k, (total, (inside, _), own) in enumerate(zip(totals, view.sums, view.own)):
            x = np.append(-values[own], 1.0)
            found[k] = max(float(x @ total[inside[:, None], inside] @ x), 0.0)
        return found
