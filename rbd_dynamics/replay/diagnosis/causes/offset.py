# SPDX-License-Identifier: Apache-2.0
"""An offset of a joint's torque."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.causes.base import CauseKind
from rbd_dynamics.replay.identification.samples import JointSamples, Preparation


class Offset(CauseKind):
    name = "offset"
    words = {"offset": "an offset"}
    caveats = {"offset": "where postures differ little, an offset of the torque looks like a load"}
    own = ("offset",)

    def columns(self, prepare: Preparation, samples: JointSamples, dof: int) -> NDArray[np.float64]:
        return np.ones((len(samples.rows), 1))


OFFSET = Offset()
