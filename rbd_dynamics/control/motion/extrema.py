# SPDX-License-Identifier: Apache-2.0
"""Extrema of many quintic polynomials on the unit interval, exactly and all at once.

Between two neighbouring roots of its derivative a polynomial is monotonic and has at most one root, which bisection
finds. So the roots of the fourth derivative bracket those of the third, and so on down to the first: vanishing leading
coefficients and double roots need no treatment of their own. An error e of a root changes the extremum by about e^2.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from rbd_dynamics.algorithms.polynomial import POWERS

Array = NDArray[np.float64]
BISECTIONS = 40
DEGREE = POWERS - 1


def hull(polynomials: Array, order: int) -> tuple[Array, Array]:
    """Bounds (lower, upper) of the derivative of that order on [0, 1]: the least and greatest Bernstein coefficient.

    polynomials: (..., 6, n), constant first; the bounds are (..., n). At most somewhat too wide, and cheap.
    """
    matrix = _BERNSTEIN[order] @ _DERIVATIVES[order]
    control = np.einsum("kp,...pn->...kn", matrix, polynomials)
    return control.min(axis=-2), control.max(axis=-2)


def extrema(polynomials: Array) -> tuple[tuple[Array, Array], ...]:
    """Places and values of the extrema of position, velocity and acceleration on [0, 1], its ends included.

    polynomials: (n, 6), constant first. For each of the three: arguments (n, k) and values (n, k); where there are
    fewer extrema than k - 2, arguments are repeated.
    """
    count = len(polynomials)
    ends = np.zeros((count, 1)), np.ones((count, 1))
    found: list[tuple[Array, Array]] = []
    knots = np.hstack(ends)
    for order in range(DEGREE - 1, -1, -1):
        derivative = polynomials @ _DERIVATIVES[order].T
        if order < 3:
            found.append((knots, _values(derivative, knots)))
        if order:
            knots = np.hstack([ends[0], _roots(derivative, knots), ends[1]])
    return tuple(reversed(found))


def _roots(polynomials: Array, knots: Array) -> Array:
    """The root in each interval between knots (n, k), where the polynomials are monotonic: (n, k - 1), or its begin."""
    roots = knots[:, :-1].copy()
    negative = _values(polynomials, knots) < 0.0
    rows, columns = np.nonzero(negative[:, :-1] != negative[:, 1:])
    low, high = knots[rows, columns], knots[rows, columns + 1]
    begins_negative, chosen = negative[rows, columns], polynomials[rows]
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        before = (_values(chosen, middle[:, None])[:, 0] < 0.0) == begins_negative
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    roots[rows, columns] = 0.5 * (low + high)
    return roots


def _values(polynomials: Array, arguments: Array) -> Array:
    """Values of polynomials (n, m), constant first, at arguments (n, k): (n, k)."""
    value = np.repeat(polynomials[:, -1:], arguments.shape[1], axis=1)
    for power in range(polynomials.shape[1] - 2, -1, -1):
        value *= arguments
        value += polynomials[:, power : power + 1]
    return value


def _derivative_matrix(order: int) -> Array:
    """Coefficients of the derivative of that order from those of the polynomial: (6 - order, 6)."""
    return np.array([polynomial.polyder(row, order) for row in np.eye(POWERS)]).T


def _bernstein_matrix(degree: int) -> Array:
    """Bernstein coefficients from those of powers: b_k = sum over p <= k of C(k, p) / C(degree, p) c_p."""
    rows = [[comb(k, p) / comb(degree, p) for p in range(degree + 1)] for k in range(degree + 1)]
    return np.array(rows)


_DERIVATIVES = [_derivative_matrix(order) for order in range(DEGREE)]
_BERNSTEIN = [_bernstein_matrix(DEGREE - order) for order in range(3)]
