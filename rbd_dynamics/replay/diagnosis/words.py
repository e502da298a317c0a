# SPDX-License-Identifier: Apache-2.0
"""A diagnosis for people: signals first, then what explains what the model does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbd_dynamics.replay.diagnosis.causes import CAUSES
from rbd_dynamics.replay.diagnosis.findings import Cause, DiagnosisResult, JointDiagnosis
from rbd_dynamics.replay.torques.comparison import JointComparison

POOR = 0.7  # nrmse from which the model explains only half of the variance
MAIN = 0.3  # share of the residual that a cause must explain to be named for a joint that the model explains well
NOISE = 1.5  # times that of the torque: a residual that is not larger has nothing in it to be explained
SPEAKS = 0.03  # of the joint's torque: a smaller residual needs no words

LIKE_INERTIAS = ("load", "scale")  # causes that a body with other inertias looks like

WORDS = {name: words for cause in CAUSES for name, words in cause.words.items()}


def sayings(
    found: DiagnosisResult | None, joints: Sequence[JointComparison], *, noise: Mapping[str, float] | None = None
) -> list[str]:
    """Sentences for the top of a report. noise: {joint: standard deviation of what of it is left in its torque}."""
    said = [] if found is None else [str(finding) for finding in (*found.signals, *found.undecided)]
    by_joint = {} if found is None else {joint.joint: joint for joint in found.joints}
    usual = {} if noise is None else noise
    poor = [joint for joint in joints if joint.nrmse > POOR and not joint.rmse < NOISE * usual.get(joint.name, 0.0)]
    for joint in poor:
        share = "nothing" if joint.nrmse > 0.99 else "less than half"
        text = f"{joint.name}: the model explains {share} of the torque (nrmse {joint.nrmse:.2f})"
        said.append(text + _rest(by_joint.get(joint.name)))
    for name, words in WORDS.items():
        named = [
            f"{joint.name} {_short(joint, by_joint[joint.name].causes[0])}"
            for joint in joints
            if joint not in poor and _main(joint, by_joint.get(joint.name)) == name
        ]
        if named:
            said.append(f"what the model lacks is mostly {words}: {', '.join(named)}")
    return said


def inertia_hint(found: DiagnosisResult | None, joints: Sequence[JointComparison]) -> list[str]:
    """A sentence on the joints whose residual is shaped like wrong inertias, where these were not asked for.

    A body that is described wrongly looks like a load at the last body, or scales what gravity asks of a joint.
    """
    by_joint = {} if found is None else {joint.joint: joint for joint in found.joints}
    named = [
        joint.name
        for joint in joints
        if joint.name in by_joint
        and joint.rmse > SPEAKS * joint.measured_rms
        and sum(cause.share for cause in by_joint[joint.name].causes if cause.name in LIKE_INERTIAS) >= MAIN
    ]
    return [f"--inertias tells whether a body is described wrongly: {', '.join(named)}"] if named else []


def _main(joint: JointComparison, found: JointDiagnosis | None) -> str:
    if found is None or not found.causes or not joint.rmse > SPEAKS * joint.measured_rms:
        return ""
    return found.main if found.causes[0].share >= MAIN else ""


def _short(joint: JointComparison, cause: Cause) -> str:
    numbers = [f"{part.value:.3g} {part.unit}".strip() for part in cause.estimates[:1] if part.identifiable]
    return f"({', '.join([f'{100 * cause.share:.0f} % of its {joint.rmse:.3g} RMS squared', *numbers])})"


def _rest(found: JointDiagnosis | None) -> str:
    """What is said of the residual of a joint that the model explains badly."""
    if found is None:
        return ""
    if not found.left <= 1.0:
        return "; why cannot be told: it moves for too little of the recording"
    if not found.causes:
        *most, last = (cause.name for cause in CAUSES)
        return f"; none of {', '.join(most)} or {last} explains the rest"
    parts = [f"{WORDS[cause.name]} ({100 * cause.share:.0f} %)" for cause in found.causes if cause.share >= 0.05]
    how = "most of the rest is" if found.causes[0].share > 0.5 else "of the rest, part is"
    unexplained = f", {100 * found.left:.0f} % unexplained" if found.left >= 0.05 else ""
    return f"; {how} {', then '.join(parts)}{unexplained}"
