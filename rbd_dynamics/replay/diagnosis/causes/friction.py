# SPDX-License-Identifier: Apache-2.0
"""Coulomb and viscous friction of a joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.causes.base import MOTION, CauseKind
from rbd_dynamics.replay.identification.samples import JointSamples, Preparation, friction_columns


class Friction(CauseKind):
    name = "friction"
    words = {"friction": "friction"}
    common = {MOTION: "coulomb"}
    own = ("viscous",)
    resists = True

    def columns(self, prepare: Preparation, samples: JointSamples, dof: int) -> NDArray[np.float64]:
        return friction_columns(samples, dof)[:, 2:]

    def unit(self, factor: str, torque: str) -> str:
        if factor == "coulomb":
            return torque
        return "N m s" if torque == "N m" else "N s/m"


FRICTION = Friction()
