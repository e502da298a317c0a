# SPDX-License-Identifier: Apache-2.0
"""How fast efforts may change where nothing else is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FULL_TIME = 0.1  # s: in this time an effort may go from nothing to its limit,
USUAL_RATE = 1000.0  # N m/s or N/s: and no faster than so; what a Franka accepts


def usual_effort_rates(effort_limits: Array) -> Array:
    """Largest rates of efforts (joints), N m/s or N/s, for these limits (joints)."""
    return np.minimum(effort_limits / FULL_TIME, USUAL_RATE)
