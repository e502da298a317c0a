# SPDX-License-Identifier: Apache-2.0
"""A rotor that the description lacks: a torque in proportion to the joint's own acceleration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.diagnosis.causes.base import CauseKind
from rbd_dynamics.replay.identification.samples import JointSamples, Preparation


class Rotor(CauseKind):
    name = "rotor"
    words = {"rotor": "a rotor, or inertia about the joint's axis, that the description lacks"}
    caveats = {"rotor": "a rotor missing from the description distorts the identified inertias"}
    own = ("rotor inertia",)
    resists = True

    def columns(self, prepare: Preparation, samples: JointSamples, dof: int) -> NDArray[np.float64]:
        return samples.a[:, [dof]]

    def unit(self, factor: str, torque: str) -> str:
        return "kg m^2" if torque == "N m" else "kg"


ROTOR = Rotor()
