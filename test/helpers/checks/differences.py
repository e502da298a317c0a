# SPDX-License-Identifier: Apache-2.0
"""Central differences, for what has derivatives. The direction is the last axis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rbd_dynamics.model.model import Model

STEP = 1e-6


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max(initial=0.0) / max(1.0, np.abs(expected).max(initial=0.0)))


def along_tangent(model: Model, q: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Of function(q), along every tangent direction."""
    columns = [
        (function(model.integrate(q, STEP * e)) - function(model.integrate(q, -STEP * e))) / (2 * STEP)
        for e in np.eye(model.nv)
    ]
    return np.stack(columns, axis=-1)


def along_velocity(v: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Of function(v), or of any vector."""
    columns = [(function(v + STEP * e) - function(v - STEP * e)) / (2 * STEP) for e in np.eye(len(v))]
    return np.stack(columns, axis=-1)
