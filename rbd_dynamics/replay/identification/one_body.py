# SPDX-License-Identifier: Apache-2.0
"""Whether the inertia of one body alone explains what a description lacks, and which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.least_squares import fit, solve
from rbd_dynamics.replay.identification.leave_one_out import residual_squares
from rbd_dynamics.replay.identification.normal_equations import NormalEquations

Array = NDArray[np.float64]

FOLDS = 8
WORTH = 0.2  # of what friction leaves: if all inertias together explain less, there is nothing to be named
NEARLY_ALL = 0.9  # of what all inertias explain
ENOUGH = 1.05  # of what all inertias leave
SURE = 2.0  # standard errors, by which every other body leaves more


@dataclass(frozen=True)
class OneBody(Plain):
    """The body whose inertia alone explains nearly all.

    Attributes:
        given: mass in the description, kg. mass: that which was found, the other bodies being as described.
        share: of what all base parameters explain, on stretches that were left out.
    """

    body: str
    given: float
    mass: Estimate
    share: float

    def __str__(self) -> str:
        text = f"{self.body} alone explains {100.0 * self.share:.0f} % of what inertias explain"
        if not self.mass.identifiable:
            return f"{text}; its mass cannot be told by itself"
        reach = 0.5 * (self.mass.upper - self.mass.lower)
        return f"{text}: {self.given:.3g} kg in the description, {self.mass.value:.3g} ± {reach:.1g} kg here"


def one_body(equations: NormalEquations, bodies: Sequence[tuple[str, float, Array]], scale: Array) -> OneBody | None:
    """None where no body alone explains it, or several do, with masses that can be.

    Parameters:
        equations: of base parameters and, after them, what each joint has for itself.
        bodies: name, mass (kg), and base parameters (b, 10) by the body's inertial parameters.
        scale: large values of all parameters of the equations, (p,).
    """
    folds = equations.folds(FOLDS)
    if len(folds) < FOLDS or not bodies:
        return None
    weights, count = fit(equations, scale).weights, bodies[0][2].shape[0]
    own = np.eye(len(scale))[:, count:]

    def left(combination: Array, large: Array) -> Array:
        """What a fit to the rest leaves of each stretch."""
        squares = []
        for rest, part in folds:
            values = combination @ fit(rest.mapped(combination), large).values
            squares.append(float(residual_squares(part.columns, part.totals(), values) @ weights))
        return np.array(squares)

    friction, all_bodies = left(own, scale[count:]).sum(), left(np.eye(len(scale)), scale).sum()
    if not friction - all_bodies > WORTH * friction:
        return None
    found = []
    for name, mass, of_body in bodies:
        if mass > 0.0 and of_body.any():
            usual = np.array([mass, *3 * [mass * 0.3], *6 * [mass * 0.1]])
            combination, large = scipy.linalg.block_diag(of_body, own[count:]), np.concatenate([usual, scale[count:]])
            found.append((left(combination, large), name, mass, combination, large))
    found.sort(key=lambda each: each[0].sum())
    # a body that only turns about the axis of the one before it can stand in for that, but with what mass
    estimates = ((each, _mass(equations, *each[2:])) for each in found)
    possible = ((each, known) for each, known in estimates if not known.identifiable or known.upper > 0.0)
    first = next(possible, None)
    if first is None:
        return None
    (best, name, given, *_), here = first
    share = float((friction - best.sum()) / (friction - all_bodies))
    if share < NEARLY_ALL or best.sum() > ENOUGH * all_bodies:
        return None
    for (other, *_), _ in possible:
        worse = other - best
        if not worse.sum() > SURE * float(np.std(worse, ddof=1)) * math.sqrt(len(worse)):
            return None  # nobody can tell which
    return OneBody(name, given, here, min(share, 1.0))


def _mass(equations: NormalEquations, given: float, combination: Array, large: Array) -> Estimate:
    """Mass of a body where it alone is not as described, kg."""
    found = solve(equations.mapped(combination), large)
    value, known = given + found.values[0], bool(found.identifiable[0])
    return Estimate.of("mass", value, found.errors[0], found.quantile, "kg", known)
