# SPDX-License-Identifier: Apache-2.0
"""Findings about efforts, in words: scales, signs, delays, and what the recording cannot tell apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from rbd_dynamics.replay.diagnosis.delays import Delays
from rbd_dynamics.replay.diagnosis.findings import Finding
from rbd_dynamics.replay.diagnosis.free_fit import Array
from rbd_dynamics.replay.diagnosis.intervals import estimate_of
from rbd_dynamics.replay.diagnosis.scales import ALIKE, Scales, is_far
from rbd_dynamics.replay.diagnosis.velocities import DEGREE
from rbd_dynamics.replay.identification.estimates import Estimate

TAKEN_OUT = 0.25  # of the described gravity: no bodies have less
EITHER_SIGN = "effort or position sign"
NEAR_UNIT = 0.25  # of the logarithm: a scale so near to a unit's is that, with masses that are off by as much
KNOWN_LOAD = (
    "drive gains follow from a known load: rbd_dynamics replay LOADED --unloaded UNLOADED --known-load FRAME=MASS,X,Y,Z"
)
UNITS = (
    (1e3, "thousandths of it"),
    (1e-3, "thousands of it"),
    (100.0, "hundredths of it, or percent"),
    (DEGREE, "degrees?"),
)


def silent_findings(names: Sequence[str]) -> list[Finding]:
    """Efforts that are always the same while the joints move."""
    if not names:
        return []
    text = f"no efforts of {', '.join(names)}: they are always the same, or zero, while the joints move"
    return [Finding("no efforts", tuple(names), text)]


def scale_findings(names: Sequence[str], found: Scales, unit: Mapping[str, str]) -> list[Finding]:
    """Findings about scales and signs: one a joint, or one of all joints that have the same scale."""
    estimates = {
        names[j]: Estimate("scale", value, (high - low) / 4.0, low, high, "", True)
        for j, (value, low, high) in found.claimed.items()
    }
    turned = {name: scale for name, scale in estimates.items() if scale.value < 0.0 and not is_far(-scale.value)}
    rest = {name: scale for name, scale in estimates.items() if name not in turned}
    told = []
    for kind, group in (("effort sign", turned), ("effort scale", rest)):
        for alike in _alike(group):
            whole = set(alike) == set(names)
            told.append(_finding(kind, {name: group[name] for name in alike}, unit, whole))
    return told


def _alike(group: Mapping[str, Estimate]) -> list[list[str]]:
    """All names as one group where their scales are alike, else one by one."""
    values = [scale.value for scale in group.values()]
    if len(values) > 1 and np.ptp(values) < ALIKE * abs(float(np.median(values))):
        return [list(group)]
    return [[name] for name in group]


def sign_finding(names: Sequence[str], scale: Estimate, *, whole: bool = False) -> Finding:
    """Efforts of the opposite sign. whole: of all joints."""
    subject, have = (f"efforts of {', '.join(names)}", "have") if len(names) > 1 else (f"effort of {names[0]}", "has")
    said = f"{subject} {have} the opposite sign to the model: {_number(scale)} times its torque"
    return Finding("effort sign", tuple(names), said, remedy=_remedy(() if whole else names, -1.0), estimate=scale)


def either_signs(finding: Finding, either: Collection[str]) -> list[Finding]:
    """A finding about signs of efforts, but one a joint for those whose position may have the opposite sign as well:
    about a vertical axis nothing tells them apart."""
    names = [name for name in finding.joints if name in either]
    if finding.kind != "effort sign" or finding.estimate is None or not names:
        return [finding]
    told = [
        Finding(
            EITHER_SIGN,
            (name,),
            f"either effort or position of {name} has the opposite sign to the model, in the description or in what "
            "was recorded; this recording cannot tell; the joint moved by hand, along its axis, would",
            remedy=f"--effort-scale {name}=-1, or --position-scale {name}=-1",
            estimate=finding.estimate,
        )
        for name in names
    ]
    rest = [name for name in finding.joints if name not in either]
    return [*told, sign_finding(rest, finding.estimate)] if rest else told


def _number(scale: Estimate) -> str:
    return f"{scale.value:.3g} ({scale.lower:.3g} to {scale.upper:.3g})"


def _finding(kind: str, scales: Mapping[str, Estimate], unit: Mapping[str, str], whole: bool) -> Finding:
    """whole: of all joints."""
    names, parts = tuple(scales), list(scales.values())
    value, low, high = (float(np.median([getattr(part, key) for part in parts])) for key in ("value", "lower", "upper"))
    estimate = Estimate("scale", value, (high - low) / 4.0, low, high, "", True)
    if kind == "effort sign":
        return sign_finding(names, estimate, whole=whole)
    number, several = _number(estimate), len(names) > 1
    subject = f"efforts of {', '.join(names)}" if several else f"effort of {names[0]}"
    guess = next((pair for pair in UNITS if abs(np.log(abs(value) / pair[0])) < NEAR_UNIT), None)
    torque = unit[names[0]]
    what = "are not in the model's unit: all are about" if several else "is"
    text = f"{subject} {what} {number} times its torque, whatever inertias, rotors and friction are; "
    if guess is None:
        return Finding(kind, names, f"{text}a motor's current? {KNOWN_LOAD}", estimate=estimate)
    return Finding(
        kind,
        names,
        f"{text}{torque} in {guess[1]}",
        remedy=_remedy(() if whole else names, 1.0 / guess[0]),
        estimate=estimate,
    )


def _remedy(names: Sequence[str], factor: float) -> str:
    return " ".join(f"--effort-scale {name}={factor:.4g}" for name in names) or f"--effort-scale {factor:.4g}"


def gravity_findings(names: Sequence[str], found: Scales, without: Sequence[str]) -> list[Finding]:
    """Efforts in which gravity is not that of bodies like those described, though no joint's scale says why.

    without: the model's terms less gravity.
    """
    if found.claimed or not abs(found.masses) < TAKEN_OUT:
        return []
    text = (
        f"the efforts have {found.masses:.2g} times the gravity of the described bodies in them: no such masses, but "
        "another unit, or efforts out of which the robot takes gravity"
    )
    remedy = f"where the robot does, --terms {','.join(without)}; else {KNOWN_LOAD}"
    return [Finding("gravity", tuple(names), text, remedy=remedy)]


def open_findings(names: Sequence[str], found: Scales, unit: Mapping[str, str]) -> list[Finding]:
    """Efforts that may be another unit's, or those of inertias and rotors that the description lacks."""
    if not found.open:
        return []
    those = tuple(names[j] for j in found.open)
    parts = ", ".join(f"{names[j]} {scale:.3g}" for j, scale in found.open.items())
    text = (
        "either inertias, rotors and friction other than described, or efforts that are so many times torques: "
        f"{parts}; this recording cannot tell; the former is assumed; the same motion with a known load would tell "
        "(--known-load, --unloaded)"
    )
    return [Finding("effort scale or inertias", those, text)]


def delay_findings(names: Sequence[str], found: Delays, tried: Array) -> tuple[list[Finding], list[Finding]]:
    """One for all joints that a common delay mends, else one a joint; and those that may be friction's."""
    estimates = {j: _delay(float(tried[at]), tried[found.others[j]], tried) for j, at in found.claimed.items()}
    if found.common >= 0:
        value = float(tried[found.common])
        low, high = (float(np.median([getattr(e, key) for e in estimates.values()])) for key in ("lower", "upper"))
        those = tuple(names[j] for j in estimates)
        text = f"efforts of {', '.join(those)} are {1e3 * value:.3g} ms late against the model's torques"
        estimate = Estimate("delay", value, (high - low) / 4.0, low, high, "s", True)
        return [Finding("effort delay", those, text, remedy=f"--delay effort={value:.4g}", estimate=estimate)], []
    told, undecided = [], []
    for j, delay in estimates.items():
        late = f"{1e3 * delay.value:.3g} ms late ({1e3 * delay.lower:.3g} to {1e3 * delay.upper:.3g})"
        text = f"effort of {names[j]} is {late} against the model's torque"
        if j in found.rubs:
            text += (
                ", or its friction needs some motion to reverse: this recording cannot tell; the joint alone, fast "
                "and over its range, would"
            )
            undecided.append(Finding("effort delay or friction", (names[j],), text, estimate=delay))
        else:
            remedy = f"--delay effort:{names[j]}={delay.value:.4g}"
            told.append(Finding("effort delay", (names[j],), text, remedy=remedy, estimate=delay))
    return told, undecided


def _delay(value: float, others: Array, tried: Array) -> Estimate:
    """A delay, which is not known better than those that are tried are apart."""
    found, apart = estimate_of("delay", value, others, "s"), float(np.diff(tried).max(initial=0.0))
    lower, upper = found.lower - 0.5 * apart, found.upper + 0.5 * apart
    return Estimate("delay", value, (upper - lower) / 4.0, lower, upper, "s", True)
