# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares over joints of unequal noise, told apart: what the data say, and what they do not.

Feasible generalised least squares: each joint weighs as much as the inverse of its residuals' variance. In units of the
parameters' scales, the eigenvectors of the information matrix are directions of which the data say more or less; those
of which they say too little stay at zero (the prior). Errors come from leaving out one block of time after the other
(the jackknife), which is right for coloured residuals and for blocks that alone excite a direction; the length of the
blocks is doubled as long as that shows larger errors. Sources: White 1980; Kuensch 1989; Cameron and Miller 2015.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.leave_one_out import gram, residual_squares
from rbd_dynamics.replay.identification.normal_equations import NormalEquations

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

KEPT = 0.1  # of the scale: directions whose error, were residuals white, is larger stay at the prior
KNOWN = 0.3  # of the scale: a parameter with a larger error is not identifiable
LEAST_BLOCKS = 6  # fewer tell nothing of the errors
LONGER_BLOCKS = 12  # there must be as many for blocks to be doubled
ITERATIONS = 20
ROUNDING = 1e-13  # of the mean square: a smaller one of the residuals is rounding


@dataclass(frozen=True)
class Solution:
    """Parameters that fit, as deviations from the prior; p of them, over `joints`.

    Attributes:
        values: (p,), zero in the directions of which the data say nothing.
        covariance: (p, p) of the values, with what is not known of the other directions.
        errors: standard errors (p,).
        identifiable: (p,).
        quantile: an interval of 95 % is so many errors to both sides.
        information: (p, p), the inverse of the covariance in the directions that are known, elsewhere zero or little.
        rms_before, rms_after: of the residuals with the prior and with the values, (joints,); NaN without samples.
        blocks: how many the errors rest on.
        colour: how much larger variances are than with white residuals, on average.
        misfit: the part of the errors (p,) that errors of the description make, `share` how large these are, in the
            largest that are thought of; of fits that ask for it (`misfit.solve_widened`), else empty and zero.
    """

    values: Array
    covariance: Array
    errors: Array
    identifiable: Mask
    quantile: float
    information: Array
    rms_before: Array
    rms_after: Array
    blocks: int
    colour: float
    _: KW_ONLY
    misfit: Array = field(default_factory=lambda: np.zeros(0))
    share: float = 0.0


@dataclass(frozen=True)
class Fit:
    """Values without their confidence; arrays over p parameters, k directions that are known, p - k others."""

    values: Array
    weights: Array  # of the joints
    information: Array  # (p, p), were residuals white
    basis: Array  # (p, k)
    strength: Array  # (k,)
    unknown: Array  # (p, p - k)
    before: Array  # mean squares (joints,)
    after: Array


def fit(equations: NormalEquations, scale: Array) -> Fit:
    """Solution as of `solve`, without the confidence, which takes much longer."""
    totals = equations.totals()
    samples = np.maximum(equations.samples, 1)
    before = np.array([total[-1, -1] for total in totals]) / samples
    least = ROUNDING * max(float(before.max(initial=0.0)), ROUNDING)
    variance, values = np.maximum(before, least), np.zeros(equations.count)
    for _ in range(ITERATIONS):
        weights = np.where(equations.samples > 0, 1.0 / variance, 0.0)
        information, moment = _parts(gram(equations.columns, totals, weights, equations.count))
        strength, directions = np.linalg.eigh(scale[:, None] * information * scale)
        kept = strength > 1.0 / KEPT**2
        basis = scale[:, None] * directions[:, kept]
        found = basis @ ((basis.T @ moment) / strength[kept])
        settled = np.allclose(found, values, rtol=1e-9, atol=1e-12 * float(np.abs(found).max(initial=0.0)))
        values = found
        after = mean_squares(equations, values)
        variance = np.maximum(after, least)
        if settled:
            break
    unknown = scale[:, None] * directions[:, ~kept]
    return Fit(values, weights, information, basis, strength[kept], unknown, before, after)


def solve(equations: NormalEquations, scale: Array) -> Solution:
    """Fit. `scale` (p,): for each parameter a large value, in its unit: what is worse known than that is not known."""
    found = fit(equations, scale)
    spread, colour, blocks = _spread(equations, found)
    covariance = found.basis @ spread @ found.basis.T + found.unknown @ found.unknown.T
    errors = np.sqrt(np.diag(covariance))
    enough = blocks >= LEAST_BLOCKS
    return Solution(
        found.values,
        covariance,
        errors,
        (errors < KNOWN * scale) & enough,
        float(scipy.stats.t.ppf(0.975, blocks - 1)) if enough else np.nan,
        found.information / max(colour, 1.0),
        _root(found.before, equations.samples),
        _root(found.after, equations.samples),
        blocks,
        colour,
    )


def mean_squares(equations: NormalEquations, values: Array) -> Array:
    """Mean squares of the residuals (joints,) with these parameters (p,)."""
    return residual_squares(equations.columns, equations.totals(), values) / np.maximum(equations.samples, 1)


def _root(means: Array, samples: NDArray[np.int64]) -> Array:
    return np.where(samples > 0, np.sqrt(means), np.nan)


def _parts(whole: Array) -> tuple[Array, Array]:
    """X^T W X (p, p) and X^T W y (p,) of a Gram matrix."""
    return whole[:-1, :-1], whole[:-1, -1]


def _spread(equations: NormalEquations, found: Fit) -> tuple[Array, float, int]:
    """Covariance in the known directions (k, k), how much larger it is than with white residuals, number of blocks."""
    size, best, doublings = len(found.strength), None, 0
    while size:
        blocks = equations.blocks(doublings)
        if best is not None and (len(blocks) < LONGER_BLOCKS or len(blocks) == best[2]):
            break
        changes = np.zeros((len(blocks), size))
        for row, block in zip(changes, blocks):
            information, moment = _parts(gram(equations.columns, block, found.weights, equations.count))
            rest = np.diag(found.strength * (1.0 + 1e-9)) - found.basis.T @ information @ found.basis
            row[:] = np.linalg.solve(rest, found.basis.T @ (moment - information @ found.values))
        count = len(blocks)
        spread = (count - 1) / count * changes.T @ changes
        colour = float(np.mean(np.diag(spread) * found.strength))
        if best is None or colour > best[1]:
            best = spread, colour, count
        doublings += 1
    return best if best is not None else (np.zeros((size, size)), 1.0, 0)
