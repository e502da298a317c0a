# SPDX-License-Identifier: Apache-2.0
"""Sums of many recordings in the parameters that they share, and those of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.joint_columns import JointColumns
from rbd_dynamics.replay.identification.least_squares import ROUNDING
from rbd_dynamics.replay.identification.leave_one_out import gram, residual_squares, ridge
from rbd_dynamics.spatial.rank import normal_solution

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

STRETCHES = 4  # of each recording, which errors rest on
REWEIGHTED = 4  # times


@dataclass(frozen=True)
class Sums:
    """Sums of one recording.

    Attributes:
        stretches: [X y]^T [X y] of each stretch and joint; X: the parameters `columns` of the joint, y: torque that is
            not explained, less that of a known load. samples: (joints,).
        torque: mean squares of the torque, (joints,).
    """

    stretches: list[list[Array]]
    columns: list[Indices]
    samples: NDArray[np.int64]
    torque: Array

    @classmethod
    def of(cls, found: JointColumns, combination: Array, known: Array) -> Sums:
        """combination: (parameters of `found`, all parameters); known: of the first ones, a known load."""
        equations = found.equations
        rows = [combination[columns] for columns in equations.columns]
        felt = [np.flatnonzero(row.any(axis=0)) for row in rows]
        changes = []
        for columns, row, kept in zip(equations.columns, rows, felt):
            change = np.zeros((len(columns) + 1, len(kept) + 1))
            change[:-1, :-1], change[:-1, -1], change[-1, -1] = row[:, kept], -known[columns], 1.0
            changes.append(change)
        parts = [part.totals() for _, part in equations.folds(STRETCHES)]
        stretches = [[change.T @ total @ change for change, total in zip(changes, part)] for part in parts]
        return cls(stretches, felt, equations.samples, np.square(found.torque))

    def totals(self) -> list[Array]:
        return [np.sum([part[k] for part in self.stretches], axis=0) for k in range(len(self.columns))]

    def squares(self, values: Array, free: Indices | None = None) -> Array:
        """Mean squares (joints,) that these values leave; parameters `free` as they fit best here, from there on."""
        totals = self.totals()
        if free is not None and len(free):
            values = self._refitted(totals, values, free)
        return residual_squares(self.columns, totals, values) / np.maximum(self.samples, 1)

    def _refitted(self, totals: list[Array], values: Array, free: Indices) -> Array:
        weights = 1.0 / np.maximum(self.squares(values), ROUNDING)
        whole = gram(self.columns, totals, weights, len(values))
        rest = whole[:-1, -1] - whole[:-1, :-1] @ values
        found = values.copy()
        found[free] += normal_solution(whole[np.ix_(free, free)], rest[free])
        return found


def weights_of(sums: list[Sums], scale: Array) -> list[Array]:
    """One over the variance of what a fit to all leaves, for each recording and joint."""
    weights = [1.0 / np.maximum(one.squares(np.zeros(len(scale))), ROUNDING) for one in sums]
    for _ in range(REWEIGHTED):
        grams = [gram(one.columns, one.totals(), row, len(scale)) for one, row in zip(sums, weights)]
        values = ridge(np.sum(grams, axis=0), scale)
        weights = [1.0 / np.maximum(one.squares(values), ROUNDING) for one in sums]
    return weights
