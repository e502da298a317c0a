# SPDX-License-Identifier: Apache-2.0
"""How sure a number is, from estimates of it that leave out one stretch of the recording each (the jackknife)."""

from __future__ import annotations

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.estimates import Estimate

Array = NDArray[np.float64]


def interval(values: Array, whole: float) -> tuple[float, float]:
    """Interval of 95 % about `whole`, from the estimates (n,) that leave out one stretch each."""
    count = len(values)
    error = np.sqrt((count - 1) / count * np.square(values - values.mean()).sum())
    reach = float(scipy.stats.t.ppf(0.975, count - 1)) * error
    return whole - reach, whole + reach


def estimate_of(name: str, value: float, others: Array, unit: str) -> Estimate:
    """A number in its unit, with the interval by `others` (n,)."""
    low, high = interval(others, value)
    return Estimate(name, value, (high - low) / 4.0, low, high, unit, True)
