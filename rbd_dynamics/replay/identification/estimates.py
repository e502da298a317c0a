# SPDX-License-Identifier: Apache-2.0
"""Numbers with their confidence, and results as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A parameter. NaN where it is not `identifiable`: the motion says nothing of it.

    Attributes:
        error: standard error.
        lower, upper: interval of 95 %.
    """

    name: str
    value: float
    error: float
    lower: float
    upper: float
    unit: str
    identifiable: bool

    @classmethod
    def of(cls, name: str, value: float, error: float, quantile: float, unit: str, identifiable: bool) -> Estimate:
        """quantile: the interval is so many standard errors to both sides."""
        if not identifiable:
            return cls(name, math.nan, math.nan, math.nan, math.nan, unit, False)
        reach = quantile * error
        return cls(name, float(value), float(error), float(value - reach), float(value + reach), unit, True)

    def covers(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        if not self.identifiable:
            return f"{self.name} not identifiable"
        return f"{self.name} {self.value:.4g} {self.unit} ({self.lower:.4g} to {self.upper:.4g})"


def plain(value: Any) -> Any:
    """Dataclasses, arrays and numbers as dictionaries, lists and numbers for JSON; what is not finite becomes None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


class Plain:
    """A result, a dataclass, that can be written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is not finite or not identifiable is None."""
        found: dict[str, Any] = plain(self)
        return found
