# SPDX-License-Identifier: Apache-2.0
"""Gains of hybrid position/force control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.law import Law

Array = NDArray[np.float64]

#: (kp, kd) of the task that hold with actuators of 30 Hz and sensors that are 5 ms late (docs/hybrid_control.md)
TASK_GAINS: dict[Law, tuple[float, float]] = {"geometric": (1200.0, 70.0), "gauge_invariant": (30.0, 40.0)}


@dataclass(frozen=True)
class HybridGains:
    """Gains; k is the number of task rows. kp and kd are one number for all rows, or one for each.

    kp, kd: of the task, by default `TASK_GAINS` of the law. Geometric law: e'' + kd e' + kp (e + task_ki int e) = 0,
        kp in 1/s^2 and kd in 1/s. Gauge-invariant law: (d/dt + kd)(e' + kp (e + task_ki int e)) = 0, both in 1/s,
        and kd one number for all. Rows without h (wheels) have no position, and kd alone counts: with the error s of
        their rates s' + kd s = 0 in either law (Li and Wu, section 5: u_d' - K (u - u_d)).
    task_ki: of the task error's integral, 1/s. task_integral_limit: of what that adds to the acceleration, m/s^2 or
        rad/s^2.
    ki: of the force error's integral, 1/s. integral_limit: of ki times the integral, N or N m.
    normal_damping: of velocity against the constraints, 1/s, for contacts that give. `hybrid_stability` says
        which of these are stable on what contact.
    posture_kp, posture_kd: 1/s^2, 1/s, of what constraints and task leave free; the gauge-invariant law
        damps that with its kd.

    Integrals need `dt`; neither grows while an effort limit cuts off.
    """

    _: KW_ONLY
    kp: float | Sequence[float] | None = None
    kd: float | Sequence[float] | None = None
    ki: float = 0.0
    integral_limit: float = 20.0
    normal_damping: float = 0.0
    posture_kp: float = 0.0
    posture_kd: float = 5.0
    task_ki: float = 0.0
    task_integral_limit: float = 20.0

    def of_law(self, law: Law) -> HybridGains:
        """The gains with kp and kd filled in."""
        kp, kd = TASK_GAINS[law]
        return replace(self, kp=kp if self.kp is None else self.kp, kd=kd if self.kd is None else self.kd)

    def numbers(self, law: Law, rows: Sequence[str]) -> Array:
        """kp and kd of each task row, then the others, as `HybridLaw` takes them.

        Raises ValueError for another number of rows, and for gains that are no gains.
        """
        given: list[Array] = []
        for what, value in (("kp", self.kp), ("kd", self.kd)):
            values = np.asarray(value, dtype=float).reshape(-1)
            if values.size not in (1, len(rows)):
                raise ValueError(f"{what} has {values.size} values for {len(rows)} task rows: {rows}")
            given.append(np.broadcast_to(values, (len(rows),)))
        names = ("ki", "integral_limit", "normal_damping", "posture_kp", "posture_kd", "task_ki", "task_integral_limit")
        everything = np.concatenate([*given, [getattr(self, name) for name in names]])
        bad = ~(np.isfinite(everything) & (everything >= 0.0))
        if bad.any():
            name = (*["kp"] * len(rows), *["kd"] * len(rows), *names)[int(bad.argmax())]
            raise ValueError(f"{name} = {everything[bad][0]:g}: gains must be finite and not negative")
        if law == "gauge_invariant" and np.ptp(given[1]) > 0:
            raise ValueError("the gauge-invariant law needs one kd for all task rows")
        return everything


def quotient(value: Array, gain: Array) -> Array:
    """Their quotient, zero where there is no gain."""
    gain = np.broadcast_to(gain, np.broadcast_shapes(value.shape, gain.shape))
    return np.divide(value, gain, out=np.zeros(gain.shape), where=gain > 0.0)
