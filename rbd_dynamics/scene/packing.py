# SPDX-License-Identifier: Apache-2.0
"""Series of numbers in a third of the room that they take as text: a page is sent by mail, and read on a phone."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = 65535  # in place of NaN; steps are below
SMALLEST = 1e-12  # step of numbers that are all the same, which pages show with as many digits


def packed(values: NDArray[np.float64]) -> dict[str, Any]:
    """Values for JSON: `low` and `step`, and how many steps each is above, 16 bits little-endian in base 64.

    The error is at most half of a 65,534th of the range.
    """
    known = np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    step = float(f"{(high - low) / (MISSING - 1):.9g}") or SMALLEST
    codes = np.where(known, np.clip(np.rint((np.where(known, values, low) - low) / step), 0, MISSING - 1), MISSING)
    return {"low": low, "step": step, "codes": b64encode(codes.astype("<u2").tobytes()).decode("ascii")}
