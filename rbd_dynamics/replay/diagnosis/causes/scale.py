# SPDX-License-Identifier: Apache-2.0
"""Efforts that are a multiple of the model's torque: another unit, a sign, or a model too heavy or too light."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.replay.diagnosis.causes.base import MODEL, CauseKind
from rbd_dynamics.replay.identification.estimates import Estimate


class Scale(CauseKind):
    name = "scale"
    words = {
        "scale": "a scale: another unit, or a model that is too heavy or too light",
        "sign": "a reversed sign",
    }
    caveats = {"scale": "a scale of the efforts, or a model that is too heavy or too light, looks like a load"}
    common = {MODEL: "scale"}

    def unit(self, factor: str, torque: str) -> str:
        return ""

    def told(self, estimates: Sequence[Estimate]) -> str:
        return "sign" if estimates and estimates[0].value < 0.0 else "scale"


SCALE = Scale()
