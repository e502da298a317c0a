# SPDX-License-Identifier: Apache-2.0
"""Thresholds of contact for a stated rate of false alarms, from what free joints show.

What is left of the external torque beyond a joint's baseline is taken for a stationary Gaussian signal. It passes a
level z sigma, up or down, 2 f exp(-z^2 / 2) times a second, where f is how often it rises through zero (Rice,
"Mathematical analysis of random noise", 1944). All joints together shall do that `per_hour` times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.special
from numpy.typing import ArrayLike


def deviation(sizes: ArrayLike, *, quantiles: Sequence[float] = (0.5,)) -> float:
    """Standard deviation of a Gaussian variable (about zero) whose sizes (N,) have these quantiles; the largest.

    The median says it whatever a few others are; a higher one too where tails are heavier than Gauss's.
    """
    found = np.quantile(np.asarray(sizes, dtype=float), quantiles)
    return float(np.max(found / scipy.special.ndtri(0.5 + 0.5 * np.asarray(quantiles))))


def level_of(per_hour: float, rises: float, joints: int) -> float:
    """z, above which `joints` Gaussian signals that rise through zero `rises` times a second come so often together."""
    crossings = 2.0 * max(rises, 1e-3) * 3600.0 * max(joints, 1)
    return float(np.sqrt(2.0 * np.log(max(crossings / per_hour, np.e))))
