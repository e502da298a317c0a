# SPDX-License-Identifier: Apache-2.0
"""What a torque node looks at besides the law: are measured efforts plausible, and do commands change too fast?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.feedforward import per_joint
from rbd_dynamics.control.safety.effort_envelope import EffortEnvelope
from rbd_dynamics.nodes.interface.torque import TorqueParameters

Array = NDArray[np.float64]


class Safeguards:
    """Of the controlled joints, in the order of the efforts. Raises ValueError for lists that do not fit them."""

    def __init__(self, params: TorqueParameters, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self._tolerance = _given("plausible_effort", params.plausible_effort, joints)
        self._rates = _given("effort_rate_limits", params.effort_rate_limits, joints)
        self.watches_efforts = bool(np.isfinite(self._tolerance).any())
        self.limits_rates = bool(np.isfinite(self._rates).any())
        self._envelope = EffortEnvelope(len(joints))
        self._last, self._last_time = np.zeros(len(joints)), 0
        self.limited = np.zeros(len(joints), dtype=bool)  # by the rate, at the last command

    def reset(self) -> None:
        """Forget what was commanded."""
        self._envelope.reset()
        self._last_time = 0

    def continues(self, other: Safeguards) -> None:
        """Go on with what another of the same joints knows."""
        if other.joints == self.joints:
            self._envelope, self._last, self._last_time = other._envelope, other._last, other._last_time

    def implausible(self, measured: Array, time: int) -> str:
        """Why efforts (controlled joints, NaN where none is measured) at `time` (ns) cannot be; empty if they can."""
        return self._envelope.problem(measured, self._tolerance, self.joints, time)

    def limit(self, efforts: Array, time: int, most: Array) -> None:
        """Keep efforts within reach of the last ones; `time` (ns) is that of the state they answer.

        most: the effort limits, which go before.
        """
        if self._last_time:
            passed = 1e-9 * max(time - self._last_time, 0)
            reach = np.where(np.isfinite(self._rates), self._rates, 0.0) * passed
            reach[~np.isfinite(self._rates)] = np.inf
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
