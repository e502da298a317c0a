# SPDX-License-Identifier: Apache-2.0
"""What a torque node looks at besides the law: are measured efforts plausible, and do commands change too fast?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.feedforward import per_joint
from rbd_dynamics.control.safety.effort_envelope import EffortEnvelope
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.managed.part import Part

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """What parameters say of some joints; infinite where they say nothing."""

    joints: tuple[str, ...]
    tolerance: Array  # of measured efforts, N m or N
    rates: Array  # of commanded ones, N m/s or N/s

    @classmethod
    def of(cls, joints: Sequence[str], params: TorqueParameters) -> Bounds:
        """Raises ValueError for lists that do not fit the joints."""
        return cls(
            tuple(joints),
            _given("plausible_effort", params.plausible_effort, joints),
            _given("effort_rate_limits", params.effort_rate_limits, joints),
        )


class Safeguards(Part):
    """What guards the efforts of the controlled joints, in their order; nothing until `use`."""

    _bounds: Bounds

    def __init__(self) -> None:
        self._use_anew(Bounds.of((), TorqueParameters()))

    def use(self, bounds: Bounds) -> None:
        """Use these from now on; of the same joints what was commanded stays known."""
        if bounds.joints != self._bounds.joints:
            self._use_anew(bounds)
        self._bounds = bounds
        self.watches_efforts = bool(np.isfinite(bounds.tolerance).any())
        self.limits_rates = bool(np.isfinite(bounds.rates).any())

    def _use_anew(self, bounds: Bounds) -> None:
        count = len(bounds.joints)
        self._bounds = bounds
        self.watches_efforts = self.limits_rates = False
        self._envelope = EffortEnvelope(count)
        self._last, self._last_time = np.zeros(count), 0
        self.limited = np.zeros(count, dtype=bool)  # by the rate, at the last command

    def reset(self) -> None:
        """Forget what was commanded."""
        self._envelope.reset()
        self._last_time = 0

    def activated(self) -> None:
        self.reset()

    def silent(self, reason: str) -> None:
        self.reset()

    def implausible(self, measured: Array, time: int) -> str:
        """Why efforts (controlled joints, NaN where none is measured) at `time` (ns) cannot be; empty if they can."""
        return self._envelope.problem(measured, self._bounds.tolerance, self._bounds.joints, time)

    def limit(self, efforts: Array, time: int, most: Array) -> None:
        """Keep efforts within reach of the last ones; `time` (ns) is that of the state they answer.

        most: the effort limits, which go before.
        """
        if self._last_time:
            passed = 1e-9 * max(time - self._last_time, 0)
            rates = self._bounds.rates
            reach = np.where(np.isfinite(rates), rates, 0.0) * passed
            reach[~np.isfinite(rates)] = np.inf
            last, wanted = np.clip(self._last, -most, most), efforts.copy()
            np.clip(efforts, last - reach, last + reach, out=efforts)
            self.limited = np.asarray(efforts != wanted)

    def commanded(self, efforts: Array, time: int) -> None:
        """Take in what was published."""
        if self.watches_efforts:
            self._envelope.commanded(efforts, time)
        if self.limits_rates:
            self._last[:], self._last_time = efforts, time


def _given(what: str, values: Sequence[float], joints: Sequence[str]) -> Array:
    """Infinite where nothing or zero is given."""
    numbers = per_joint(what, values, joints)
    return np.where(numbers > 0.0, numbers, np.inf)
