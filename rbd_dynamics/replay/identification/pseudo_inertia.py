# SPDX-License-Identifier: Apache-2.0
"""Inertias that a body can have: positive definite pseudo-inertias, and the one that fits best.

The pseudo-inertia of a body is J = [[S, h], [h^T, m]], S = tr(I) / 2 - I the second moment of its mass about the
frame's origin (Wensing, Kim and Slotine 2018). J is positive definite if and only if some distribution of mass in space
has it: mass is positive, the inertia about the centre of mass too, and it satisfies the triangle inequality.

J = C U U^T C^T with J0 = C C^T the prior's, and U lower triangular with a positive diagonal exp(t): any ten numbers
give a body that can exist (the log-Cholesky parameters of Rucker and Wensing 2022, relative to the prior, which is at
zero). The entropic divergence from the prior, tr(J0^-1 J) - log det(J0^-1 J) - 4 (Lee, Wensing and Park 2020), is in
these numbers a sum of squares, exp(2 t) - 2 t - 1 of the diagonal and u^2 of what is below it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # order of the rotational inertia's entries
_BELOW = ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
_ROWS = np.array([0, 1, 2, 3, *(i for i, _ in _BELOW)])
_COLUMNS = np.array([0, 1, 2, 3, *(j for _, j in _BELOW)])

#: second moments of mass of a prior at least: of the largest one, and as a radius of gyration, m
LEAST_SHARE, LEAST_RADIUS = 1e-3, 1e-3


def pseudo_inertia(parameters: Array) -> Array:
    """J (4, 4) of (m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) at the frame's origin, (10,)."""
    rotational = np.zeros((3, 3))
    for entry, (i, j) in zip(parameters[4:], _UPPER):
        rotational[i, j] = rotational[j, i] = entry
    found = np.zeros((4, 4))
    found[:3, :3] = 0.5 * np.trace(rotational) * np.eye(3) - rotational
    found[:3, 3] = found[3, :3] = parameters[1:4]
    found[3, 3] = parameters[0]
    return found


def inertial_parameters(pseudo: Array) -> Array:
    """(10,) of J (4, 4): the inverse of `pseudo_inertia`, and linear."""
    rotational = np.trace(pseudo[:3, :3]) * np.eye(3) - pseudo[:3, :3]
    return np.array([pseudo[3, 3], *pseudo[:3, 3], *(rotational[i, j] for i, j in _UPPER)])


def possible(parameters: Array) -> Array:
    """Parameters (10,) of positive mass with which a body can exist, by a slight change where they are not such."""
    mass, com = parameters[0], parameters[1:4] / parameters[0]
    centred = pseudo_inertia(parameters)[:3, :3] - mass * np.outer(com, com)
    moments, axes = np.linalg.eigh(centred)
    least = max(LEAST_RADIUS**2 * mass, LEAST_SHARE * float(moments.max()))
    if moments.min() >= least:
        return parameters
    found = mass * np.outer(np.append(com, 1.0), np.append(com, 1.0))
    found[:3, :3] += axes @ np.diag(np.maximum(moments, least)) @ axes.T
    return inertial_parameters(found)


class LogCholesky:
    """Ten numbers for a body's ten parameters; zeros are the prior, which must be possible; of many bodies at once.

    Parameters:
        priors: (..., 10).
    """

    def __init__(self, priors: ArrayLike) -> None:
        priors = np.asarray(priors, dtype=float)
        roots = np.zeros((*priors.shape[:-1], 4, 4))
        for place in np.ndindex(priors.shape[:-1]):
            try:
                roots[place] = np.linalg.cholesky(pseudo_inertia(priors[place]))
            except np.linalg.LinAlgError:
                raise ValueError(f"no rigid body has the inertial parameters {priors[place].tolist()}") from None
        entries = [inertial_parameters(entry.reshape(4, 4)) for entry in np.eye(16)]
        forms = np.column_stack(entries).reshape(10, 4, 4)
        roots = roots[..., None, :, :]
        self._forms = roots.swapaxes(-1, -2) @ (0.5 * (forms + forms.transpose(0, 2, 1))) @ roots

    def __call__(self, numbers: Array) -> tuple[Array, Array]:
        """Parameters (..., 10) and their derivatives (..., 10, 10)."""
        U = np.zeros((*numbers.shape[:-1], 4, 4))
        diagonal = np.exp(numbers[..., :4])
        U[..., _ROWS, _COLUMNS] = np.concatenate([diagonal, numbers[..., 4:]], axis=-1)
        half = self._forms @ U[..., None, :, :]  # parameters are quadratic in U: trace(U^T form U)
        derivatives = 2.0 * half[..., _ROWS, _COLUMNS]
        derivatives[..., :4] *= diagonal[..., None, :]
        return np.einsum("...kij,...ij->...k", half, U), derivatives

    @staticmethod
    def divergence(numbers: Array) -> tuple[Array, Array]:
        """(..., 10) whose squares add up to the entropic divergence from the prior, and their derivatives (..., 10)."""
        t = numbers[..., :4]
        squares = np.expm1(2.0 * t) - 2.0 * t
        small = np.abs(t) < 1e-4  # there the difference is nothing but rounding
        roots = np.where(small, np.sqrt(2.0) * t * (1.0 + t / 3.0), np.sign(t) * np.sqrt(np.maximum(squares, 0.0)))
        slopes = np.where(small, np.sqrt(2.0) * (1.0 + 2.0 * t / 3.0), np.expm1(2.0 * t) / np.where(small, 1.0, roots))
        found, derivatives = numbers.copy(), np.ones_like(numbers)
        found[..., :4], derivatives[..., :4] = roots, slopes
        return found, derivatives


def consistent_inertias(
    priors: Sequence[Array], combination: Array, target: Array, information: Array, weight: float
) -> Array:
    """Parameters (bodies, 10) of bodies that can exist, whose combination is nearest to a target.

    Minimises (combination @ x - target)^T information (combination @ x - target) + weight * divergence from the priors.

    Parameters:
        priors: (10,) of each body, possible.
        combination: (n, 10 bodies); target: (n,); information: (n, n), inverse covariance of the target.
        weight: how many independent observations a prior counts for.

    Raises ArithmeticError where the search does not settle.
    """
    charts = LogCholesky(priors)
    strength, directions = np.linalg.eigh(information)
    root = np.sqrt(np.maximum(strength, 0.0))[:, None] * directions.T
    combined, wanted, pull = root @ combination, root @ target, np.sqrt(weight)
    bodies = len(priors)

    def residuals(numbers: Array) -> Array:
        rows = numbers.reshape(bodies, 10)
        misses = combined @ charts(rows)[0].ravel() - wanted
        return np.concatenate([misses, pull * LogCholesky.divergence(rows)[0].ravel()])

    def slopes(numbers: Array) -> Array:
        rows = numbers.reshape(bodies, 10)
        pulls = pull * LogCholesky.divergence(rows)[1].ravel()
        return np.vstack([by_numbers(combined, charts(rows)[1]), np.diag(pulls)])

    found = scipy.optimize.least_squares(residuals, np.zeros(10 * bodies), slopes, method="trf", max_nfev=1000)
    if not found.success:
        raise ArithmeticError(f"no consistent inertias found: {found.message}")
    return charts(found.x.reshape(bodies, 10))[0]


def by_numbers(combination: Array, derivatives: Array) -> Array:
    """Columns (n, 10 bodies) by parameters with derivatives (bodies, 10, 10), of a combination (n, 10 bodies)."""
    rows = combination.reshape(len(combination), -1, 10).swapaxes(0, 1)
    return (rows @ derivatives).swapaxes(0, 1).reshape(combination.shape)
