# SPDX-License-Identifier: Apache-2.0
"""Numbers with their confidence, and results as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A parameter. NaN where it is not `identifiable`: the motion says nothing of it, or nothing that can be.

    Attributes:
        error: standard error, of noise in the torques and of the model's misfit (`least_squares`).
        lower, upper: interval of 95 %, within what the parameter can be.
        finding: why there is no number, where the data had one.
    """

    name: str
    value: float
    error: float
    lower: float
    upper: float
    unit: str
    identifiable: bool
    _: KW_ONLY
    finding: str = ""

    @classmethod
    def of(cls, name: str, value: float, error: float, quantile: float, unit: str, identifiable: bool) -> Estimate:
        """quantile: the interval is so many standard errors to both sides."""
        if not identifiable:
            return cls(name, math.nan, math.nan, math.nan, math.nan, unit, False)
        reach = quantile * error
        return cls(name, float(value), float(error), float(value - reach), float(value + reach), unit, True)

    def refused(self, why: str) -> Estimate:
        """No number, and why; what was found, if something was, stands in the words."""
        if not self.identifiable:
            return replace(self, finding=why)
        nothing = (math.nan, math.nan, math.nan, math.nan)
        reach = (self.upper - self.lower) / 2.0
        found = f"{self.value:.3g} ± {reach:.2g} {self.unit}"
        return Estimate(self.name, *nothing, self.unit, False, finding=f"{found}: {why}")

    def at_least_zero(self, why: str) -> Estimate:
        """The estimate of what cannot be negative: cut off at zero, no number where all of the interval is below."""
        if not self.identifiable or self.lower >= 0.0:
            return self
        if self.upper < 0.0:
            return self.refused(why)
        return replace(self, value=max(0.0, self.value), lower=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON."""
        found: dict[str, Any] = plain(self)
        return found

    def covers(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        if not self.identifiable:
            return f"{self.name} not identifiable" + (f" ({self.finding})" if self.finding else "")
        return " ".join(f"{self.name} {self.value:.4g} {self.unit} ({self.lower:.4g} to {self.upper:.4g})".split())


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
        """Dictionary for JSON; what is not finite or not identifiable is None."""
        found: dict[str, Any] = plain(self)
        return found
