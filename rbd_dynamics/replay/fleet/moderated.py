# SPDX-License-Identifier: Apache-2.0
"""Variances of many short series, each made surer by what all have in common (Smyth 2004).

Of four recordings a scatter is told by two degrees of freedom: no change would be more than chance. The scatters of a
quantity over all joints and robots of a fleet are alike, though not equal, and say what is usual.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

Array = NDArray[np.float64]

FEWEST = 6  # series, to say what is usual
LEAST, MOST = 4.0, 8.0  # degrees of freedom of what is usual
SMALLEST = 1e-4  # of the median: a smaller variance is one of rounding


def moderated(variances: Array, freedoms: Array) -> tuple[Array, Array]:
    """Variances (N,) and their degrees of freedom (N,) beside those that are usual.

    The variances are taken as drawn from a scaled inverse chi-squared distribution, whose scale and degrees of freedom
    are found from the moments of their logarithms (Smyth 2004, section 6.2).
    """
    positive = variances[variances > 0.0]
    if len(positive) < FEWEST:
        return variances, freedoms
    s = np.maximum(variances, SMALLEST * np.median(positive))
    e = np.log(s) - digamma(freedoms / 2.0) + np.log(freedoms / 2.0)
    excess = float(np.var(e, ddof=1) - np.mean(polygamma(1, freedoms / 2.0)))
    # where they scatter no more than equal ones would, the prior would be certain: of a few series it is not
    prior = min(max(2.0 * _trigamma_inverse(excess), LEAST), MOST) if excess > 0.0 else MOST
    usual = math.exp(float(np.mean(e)) + float(digamma(prior / 2.0)) - math.log(prior / 2.0))
    return (prior * usual + freedoms * s) / (prior + freedoms), prior + freedoms


def _trigamma_inverse(value: float) -> float:
    """Solve trigamma(x) = value by Newton's method on its reciprocal, which is convex (Smyth 2004, appendix)."""
    x = 0.5 + 1.0 / value
    for _ in range(50):
        found = float(polygamma(1, x))
        step = found * (1.0 - found / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-10 * x:
            break
    return x
