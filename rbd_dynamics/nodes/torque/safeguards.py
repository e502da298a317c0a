# SPDX-License-Identifier: Apache-2.0
"""What a torque node looks at besides the law: are measured efforts plausible, and do commands change too fast?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.feedforward import per_joint
from rbd_dynamics.control.safety.effort_envelope import EffortEnvelope
from rbd_dynamics.control.safety.effort_rates import USUAL_RATE, usual_effort_rates
from rbd_dynamics.nodes.interface.torque import TorqueParameters
from rbd_dynamics.nodes.managed.part import Part

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """What parameters say of some joints; infinite where there is no bound."""

    joints: tuple[str, ...]
    tolerance: Array  # of measured efforts, N m or N
    rates: Array | None  # of commanded ones, N m/s or N/s; None: what is usual for their effort limits

    @classmethod
    def of(cls, joints: Sequence[str], params: TorqueParameters) -> Bounds:
        """Raises ValueError for lists that do not fit the joints."""
        rates = params.effort_rate_limits
        return cls(
            tuple(joints),
            _given("plausible_effort", params.plausible_effort, joints),
            _given("effort_rate_limits", rates, joints) if rates else None,
        )

    def rates_of(self, effort_limits: Array) -> Array:
        """Largest rates of efforts (joints) for these limits (joints)."""
        if self.rates is not None:
            return self.rates
        return usual_effort_rates(effort_limits)

    @property
    def urgent_rates(self) -> Array:
        """Largest rates (joints) where a tool has to let go: what is usual for small joints does not hold then."""
        return np.full(len(self.joints), USUAL_RATE) if self.rates is None else self.rates


class Safeguards(Part):
    """What guards the efforts of the controlled joints, in their order; nothing until `use`."""

    _bounds: Bounds

    def __init__(self) -> None:
        self._use_anew(Bounds.of((), TorqueParameters()))

    def use(self, bounds: Bounds, effort_limits: Array) -> None:
        """Use these from now on; of the same joints what was commanded stays known. effort_limits: (joints)."""
        if bounds.joints != self._bounds.joints:
            self._use_anew(bounds)
        self._bounds, self._rates = bounds, bounds.rates_of(effort_limits)
        self._urgent = np.maximum(bounds.urgent_rates, self._rates)
        self._rate_list, self._urgent_list = self._rates.tolist(), self._urgent.tolist()
        self.watches_efforts = bool(np.isfinite(bounds.tolerance).any())
        self.limits_rates = bool(np.isfinite(self._rates).any())

    def _use_anew(self, bounds: Bounds) -> None:
        count = len(bounds.joints)
        self._bounds, self._rates = bounds, np.full(count, np.inf)
        self._urgent = self._rates
        self._rate_list = self._urgent_list = self._rates.tolist()
        self.watches_efforts = self.limits_rates = False
        self._envelope = EffortEnvelope(count)
        self._last, self._last_time, self._was_limited = [0.0] * count, 0, False
        self.limited = np.zeros(count, dtype=bool)  # by the rate, at the last command
        self.behind = 0.0  # s, by which the last command was later than the law wanted it

    @property
    def rates(self) -> Array:
        """Rates at which efforts may change (joints), N m/s or N/s; infinite where they may jump."""
        return self._rates

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

    def limit(
        self, efforts: Array, time: int, most: Array, *, urgent: bool = False, together: bool = False
    ) -> None:  # fmt: skip
        """Keep efforts within reach of the last ones; `time` (ns) is that of the state they answer.

        most: the effort limits, which go before. urgent: a tool has to let go, or joints come near their
        velocity limits. together: the change of all joints is shortened in proportion, so that no wrist has its effort
        before the shoulder has its own, and is thrown. A law whose gains do not fall meanwhile swings by that.
        """
        passed = 1e-9 * (time - self._last_time)
        if self._was_limited:
            self._was_limited, self.limited[:], self.behind = False, False, 0.0
        if not self._last_time:
            return
        rates, rate_list = (self._urgent, self._urgent_list) if urgent else (self._rates, self._rate_list)
        # a loop over plain numbers: most efforts are within reach, and for so few it takes less than arrays do
        for effort, last, rate in zip(efforts.tolist(), self._last, rate_list):
            if abs(effort - last) > rate * passed:
                break
        else:
            return
        # times infinity zero is no number
        reach = rates * passed if passed > 0.0 else np.where(np.isfinite(rates), 0.0, np.inf)
        before = np.clip(self._last, -most, most)
        change, wanted = efforts - before, efforts.copy()
        np.greater(np.abs(change), reach, out=self.limited)
        if together:
            late = self.limited
            change *= (reach[late] / np.abs(change[late])).min(initial=1.0)
        np.clip(before + np.clip(change, -reach, reach), -most, most, out=efforts)
        self.behind = float((np.abs(wanted - efforts) / rates).max())
        self._was_limited = True

    def commanded(self, efforts: Array, time: int) -> None:
        """Take in what was published."""
        if self.watches_efforts:
            self._envelope.commanded(efforts, time)
        if self.limits_rates:
            self._last, self._last_time = efforts.tolist(), time


def _given(what: str, values: Sequence[float], joints: Sequence[str]) -> Array:
    """Infinite where nothing or zero is given."""
    numbers = per_joint(what, values, joints)
    return np.where(numbers > 0.0, numbers, np.inf)
