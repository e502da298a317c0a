# SPDX-License-Identifier: Apache-2.0
"""What is left of measured efforts beside the bodies, rotors and friction that a recording's own regression found.

Of a description that is wrong the difference to the measured efforts changes with the motion, and seems a contact
wherever the robot goes for the first time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.beside import FRICTION, Beside
from rbd_dynamics.replay.diagnosis.free_fit import CHANCE, FreeFit, Regression, falls
from rbd_dynamics.replay.identification.samples import Preparation, friction_columns
from rbd_dynamics.replay.signals.segmentation import Segment

Array = NDArray[np.float64]

LONG = 20.0  # s of motion: in less a press that lasts looks like bodies that are described wrongly


@dataclass(frozen=True)
class JointValues:
    """What makes a joint's effort: scale (model + Y E x) + own columns times `own`, `delay` s later."""

    scale: float
    delay: float
    own: Array


class FreeTorque:
    """Efforts of segments by a fit. values: {degree of freedom: its joint's}; x: errors of all bodies."""

    def __init__(self, prepare: Preparation, beside: Beside, values: Mapping[int, JointValues], x: Array) -> None:
        self._prepare, self._beside, self._values, self._x = prepare, beside, dict(values), x

    def missing(self, segment: Segment) -> Array:
        """What measured efforts lack of these (N, nv); NaN for joints, and segments, of which nothing is known."""
        found = np.full_like(segment.tau, np.nan)
        samples = self._prepare(segment)
        if samples is None or self._prepare.low_pass is None:
            return found
        here, rate = np.arange(len(segment), dtype=float), self._prepare.low_pass.rate
        for dof, joint in self._values.items():
            columns = self._beside.columns(samples, dof)
            model = samples.measured[:, dof] - samples.residual[:, dof]
            rigid = model + columns[:, FRICTION + 1 :] @ (self._beside.errors[dof] @ self._x)
            own = np.column_stack([friction_columns(samples, dof), samples.a[:, dof], columns[:, :FRICTION]])
            effort = joint.scale * rigid + own @ joint.own
            found[:, dof] = np.interp(here - joint.delay * rate, samples.rows, effort) - segment.tau[:, dof]
        return found


def is_believed(regression: Regression, free: FreeFit, seconds: float) -> bool:
    """Whether stretches that were not fitted agree that bodies or rotors are other than described."""
    if seconds < LONG:
        return False
    described = regression.fit(free.scales, free.delays, bodies=False)
    return falls(described, free) <= CHANCE
