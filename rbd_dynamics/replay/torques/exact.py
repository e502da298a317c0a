# SPDX-License-Identifier: Apache-2.0
"""Sums without rounding: in whatever order and groups numbers are added, the sum is the same to the last bit.

So a comparison does not depend on which worker did which part of it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class ExactSums:
    """An array of sums. Raises ValueError where a number that is not finite is added."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._sums = np.full(shape, Fraction(0), dtype=object)

    def add(self, numbers: ArrayLike) -> None:
        """Add finite numbers, of the sums' shape."""
        values = np.asarray(numbers, dtype=float)
        if values.shape != self._sums.shape or not np.isfinite(values).all():
            raise ValueError(f"cannot add {values} to sums of shape {self._sums.shape}")
        self._sums = self._sums + np.array([Fraction(x) for x in values.flat], dtype=object).reshape(values.shape)

    def merge(self, other: ExactSums) -> None:
        self._sums = self._sums + other._sums

    @property
    def values(self) -> NDArray[np.float64]:
        """The sums, rounded once."""
        return self._sums.astype(float)

    def to_list(self) -> list[Any]:
        """Lists for JSON, without rounding; `from_list` is the inverse."""
        return np.vectorize(str, otypes=[object])(self._sums).tolist()

    @classmethod
    def from_list(cls, data: list[Any]) -> ExactSums:
        texts = np.array(data, dtype=object)
        found = cls(texts.shape)
        found._sums = np.array([Fraction(text) for text in texts.flat], dtype=object).reshape(texts.shape)
        return found
