# SPDX-License-Identifier: Apache-2.0
"""Polynomials of time, of which a desired motion consists. Who plans motions needs nothing else of the algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rbd_dynamics.spatial.scalar import Scalar

POWERS = 6  # of time in a desired motion: a quintic


def polynomial(coefficients: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Value, first and second derivative at t; the constant comes first."""
    value: Scalar = 0.0
    first: Scalar = 0.0
    second: Scalar = 0.0
    for power in reversed(range(len(coefficients))):
        value = value * t + coefficients[power]
        if power >= 1:
            first = first * t + power * coefficients[power]
        if power >= 2:
            second = second * t + power * (power - 1) * coefficients[power]
    return value, first, second
