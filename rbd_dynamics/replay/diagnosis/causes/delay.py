# SPDX-License-Identifier: Apache-2.0
"""Efforts that are late, or early, against the model's torque."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.causes.base import Case, CauseKind, Fit
from rbd_dynamics.replay.diagnosis.intervals import estimate_of
from rbd_dynamics.replay.identification.estimates import Estimate

Array = NDArray[np.float64]


class Delay(CauseKind):
    name = "delay"
    words = {"delay": "a delay"}
    caveats = {"delay": "late efforts distort the identified inertias"}
    shifts = True
    yields = True  # it takes away some of what a sign or a scale does

    def left(self, case: Case, chosen: Sequence[CauseKind], current: Array) -> Array | None:
        """None as well for a delay as long as any that is tried: that is none."""
        fit = case.fit([*chosen, self], case.stretches.sum(axis=0))
        at_a_limit = fit is not None and fit.place in (0, len(case.lags.tried) - 1)
        return None if at_a_limit else super().left(case, chosen, current)

    def estimates(self, case: Case, whole: Fit, others: Sequence[Fit], torque: str) -> tuple[Estimate, ...]:
        tried = case.lags.tried
        return (estimate_of("delay", float(tried[whole.place]), tried[[fit.place for fit in others]], "s"),)


DELAY = Delay()
