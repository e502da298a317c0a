# SPDX-License-Identifier: Apache-2.0
"""How far errors of the description may move what is identified with it.

A fit that takes the inertias of the description for true has errors that no residual shows, where the motion repeats
itself or where they look like what is sought. But what of such errors does not look like it is in the residuals. With
all bodies' inertial parameters off at random, by the same unknown share of their usual sizes, the gradient of the fit
in the base parameters that it leaves out has, in the eigenvectors of its own information, variances

    c_k + share^2 lambda_k,

c_k that of noise (from blocks of time, after a fit to all base parameters). The share follows by maximum likelihood,
one standard deviation up, and with it the covariance that the sought parameters have from such errors: a mixed model,
with random effects (Searle, Casella and McCulloch 1992).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.least_squares import KNOWN as IDENTIFIABLE
from rbd_dynamics.replay.identification.least_squares import Fit, Solution, fit, mean_squares, solve
from rbd_dynamics.replay.identification.leave_one_out import gram
from rbd_dynamics.replay.identification.normal_equations import NormalEquations

Array = NDArray[np.float64]

LEAST, MOST = 1e-4, 10.0  # shares of the usual sizes that are looked for
SURE = 4.0  # of twice the logarithm of the likelihood: so much better than noise alone errors must explain
KNOWN = 1e-10  # of the largest eigenvalue: smaller ones are rounding


def misfit_covariance(
    equations: NormalEquations, sought: Array, found: Fit, errors: Array, scale: Array
) -> tuple[Array, float]:
    """(m, m) of the sought parameters, and the share.

    Parameters:
        equations: of all parameters (p,): those that the description may have wrong, and others.
        sought: (p, m), what the sought parameters are of these. found: the fit of them.
        errors: (p, e), usual errors of the description, each a column.
        scale: large values of all parameters, (p,).
    """
    whole = gram(equations.columns, equations.totals(), found.weights, equations.count)
    information, moment = whole[:-1, :-1], whole[:-1, -1]
    inverse = found.basis @ np.diag(1.0 / found.strength) @ found.basis.T
    moved = inverse @ sought.T @ information @ errors  # of the sought ones, by each error
    onto = np.eye(len(moment)) - information @ sought @ inverse @ sought.T  # gradients beside what is sought
    gradient = errors.T @ onto @ moment
    felt = errors.T @ onto @ information @ errors
    strength, directions = np.linalg.eigh(0.5 * (felt + felt.T))
    values = fit(equations, scale).values
    noise = mean_squares(equations, values) * found.weights  # white, in what the strength is measured in
    white = float(noise[equations.samples > 0].min(initial=1.0))
    kept = strength > max(white, KNOWN * float(strength.max(initial=0.0)))  # the largest errors would stand out
    if not kept.any():
        return np.zeros((sought.shape[1],) * 2), 0.0
    strength, directions = strength[kept], directions[:, kept]
    into = directions.T @ errors.T @ onto
    seen = (directions.T @ gradient) ** 2 / strength
    share = _share(seen, strength, np.maximum(_noise(equations, into, found.weights, values) / strength, white))
    return share**2 * moved @ moved.T, share


def solve_widened(
    equations: NormalEquations, combination: Array, scale: Array, errors: Array, large: Array
) -> Solution:
    """Fit parameters (m,), of which those of `equations` (p,) are the combination (p, m), with a description in error.

    scale: large values of the sought ones, as `solve` takes them; errors (p, e) and large (p,) of all: zero where a
    parameter is not to be looked at.
    """
    part = equations.mapped(combination)
    found = solve(part, scale)
    wide, share = misfit_covariance(equations, combination, fit(part, scale), errors, large)
    covariance = found.covariance + wide
    deviations = np.sqrt(np.diag(covariance))
    return replace(
        found,
        covariance=covariance,
        errors=deviations,
        misfit=np.sqrt(np.maximum(np.diag(wide), 0.0)),
        share=share,
        identifiable=found.identifiable & (deviations < IDENTIFIABLE * scale),
    )


def _noise(equations: NormalEquations, into: Array, weights: Array, values: Array) -> Array:
    """Variances (k,) of the gradients into @ X^T W y that noise makes; values (p,) of a fit to all."""
    best = np.zeros(len(into))
    for doublings in range(4):
        blocks = equations.blocks(doublings)
        if doublings and len(blocks) < 12:
            break
        rows = np.zeros((len(blocks), equations.count))
        for row, block in zip(rows, blocks):
            for indices, square, weight in zip(equations.columns, block, weights):
                row[indices] += weight * (square[:-1, -1] - square[:-1, :-1] @ values[indices])
        gradients = rows @ into.T
        best = np.maximum(best, np.square(gradients).sum(axis=0) * len(blocks) / max(1, len(blocks) - 1))
    return best


def _share(seen: Array, strength: Array, noise: Array) -> float:
    """The largest one that is as likely as not (by one standard deviation); zero where noise alone is as likely."""
    noise = np.maximum(noise, 1e-300)

    def unlikely(share: float) -> float:
        variance = noise + share**2 * strength
        return float(np.sum(np.log(variance) + seen / variance))

    places = np.geomspace(LEAST, MOST, 200)
    values = np.array([unlikely(place) for place in places])
    if not values.min() < unlikely(0.0) - SURE:
        return 0.0
    return float(places[values <= values.min() + 1.0].max())
