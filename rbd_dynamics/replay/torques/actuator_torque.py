# SPDX-License-Identifier: Apache-2.0
"""What the actuators did, from efforts that may lack some terms of the equation of motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import FRICTION, TERMS
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.replay.torques.comparison import Prediction

Array = NDArray[np.float64]


def actuator_torque(segment: Segment, prediction: Prediction, terms: Sequence[str]) -> Array:
    """Torque (N, nv) that moves the rigid robot and overcomes friction, as far as the efforts tell.

    Terms that the robot took out of its efforts (those not in `terms`) are put back by the model, but friction: such a
    robot shows none. A joint without a measured effort has the model's.
    """
    tau = np.where(segment.measured, segment.tau, prediction.tau)
    for name in TERMS:
        if name not in terms and name != FRICTION:
            tau += prediction.by_term[name]
    return tau
