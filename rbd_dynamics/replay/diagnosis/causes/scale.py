# SPDX-License-Identifier: Apache-2.0
"""Efforts that are a multiple of the model's torque: another unit, a sign, or a model too heavy or too light."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbd_dynamics.replay.diagnosis.causes.base import MODEL, CauseKind
from rbd_dynamics.replay.diagnosis.findings import Finding
from rbd_dynamics.replay.diagnosis.velocities import DEGREE
from rbd_dynamics.replay.identification.estimates import Estimate

CURRENT = 0.5  # a scale beyond this or its inverse is hardly a wrong mass
KNOWN = 0.2  # of a scale: one with a wider interval says nothing of units


class Scale(CauseKind):
    name = "scale"
    words = {
        "scale": "a scale: another unit, or a model that is too heavy or too light",
        "sign": "a sign that is turned",
    }
    caveats = {"scale": "a scale of the efforts, or a model that is too heavy or too light, feels like a load"}
    common = {MODEL: "scale"}

    def unit(self, factor: str, torque: str) -> str:
        return ""

    def told(self, estimates: Sequence[Estimate]) -> str:
        return "sign" if estimates and estimates[0].value < 0.0 else "scale"

    def finding(self, joint: str, estimates: Sequence[Estimate], torque: str) -> Finding | None:
        return _scaled(joint, estimates[0], torque) if _doubtful(estimates[0]) else None

    def merged(self, found: list[Finding]) -> list[Finding]:
        return _merged(found)


SCALE = Scale()


def _doubtful(scale: Estimate) -> bool:
    """So far from one that it is no wrong mass: another unit, a gain, a sign."""
    sure = scale.upper - scale.lower < 2.0 * KNOWN * abs(scale.value)
    return sure and not (CURRENT < scale.value < 1.0 / CURRENT)


def _scaled(name: str, scale: Estimate, unit: str) -> Finding:
    value = f"{scale.value:.3g} ({scale.lower:.3g} to {scale.upper:.3g})"
    remedy = f"--effort-scale {name}={1.0 / scale.value:.4g}"
    if abs(scale.value + 1.0) < 1.0 - CURRENT:
        text = f"effort of {name} has the sign turned against the model: {value} times its torque"
        return Finding("effort sign", (name,), text, remedy=remedy, estimate=scale)
    guess = next((what for factor, what in _UNITS if abs(abs(scale.value) / factor - 1.0) < 0.1), "")
    guess = guess or f"a motor's current, with {1.0 / scale.value:.3g} {unit} per ampere? or another unit"
    text = f"effort of {name} is {value} times the model's torque: no {unit}; {guess}"
    return Finding("effort scale", (name,), text, remedy=remedy, estimate=scale)


_UNITS = (
    (1e3, "thousandths of it"),
    (1e-3, "thousands of it"),
    (100.0, "hundredths of it, or percent"),
    (DEGREE, "degrees?"),
)


def _merged(found: list[Finding]) -> list[Finding]:
    """One for all joints that have the same scale."""
    for kind in ("effort sign", "effort scale"):
        alike = [finding for finding in found if finding.kind == kind and finding.estimate is not None]
        values = [finding.estimate.value for finding in alike if finding.estimate is not None]
        if len(alike) < 2 or not np.ptp(values) < 0.1 * abs(np.median(values)):
            continue
        median = float(np.median(values))
        names = tuple(name for finding in alike for name in finding.joints)
        said = "have the sign turned against the model" if kind == "effort sign" else "are not in the model's unit"
        text = f"efforts of {', '.join(names)} {said}: all are about {median:.3g} times its torque"
        low, high = (float(np.median([getattr(f.estimate, key) for f in alike])) for key in ("lower", "upper"))
        estimate = Estimate("scale", median, (high - low) / 4.0, low, high, "", True)
        remedy = f"--effort-scale {1.0 / median:.4g}" if len(names) > 2 else "; ".join(f.remedy for f in alike)
        one = Finding(kind, names, text, remedy=remedy, estimate=estimate)
        found = [one, *(finding for finding in found if finding not in alike)]
    return found
