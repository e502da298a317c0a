# SPDX-License-Identifier: Apache-2.0
"""What a page reads out of the data in it."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.scene.packing import MISSING


def unpacked(numbers: dict[str, Any]) -> NDArray[np.float64]:
    """A series of numbers; NaN where there is none."""
    codes = np.frombuffer(b64decode(numbers["codes"]), "<u2")
    return np.where(codes == MISSING, np.nan, numbers["low"] + numbers["step"] * codes)
