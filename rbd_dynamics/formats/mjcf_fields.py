# SPDX-License-Identifier: Apache-2.0
"""Fields of a compiled MJCF that not every version of MuJoCo has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def row(m: Any, key: str, k: int) -> NDArray[np.float64]:
    """The k-th row of a field, flat; empty where this version has no such field."""
    values = getattr(m, key, None)
    return np.zeros(0) if values is None or len(values) <= k else np.array(values[k], dtype=float).ravel()


def acts(m: Any, key: str, k: int) -> bool:
    """Whether there is such a field and its k-th row is not zero."""
    return bool(np.any(row(m, key, k)))
