# SPDX-License-Identifier: Apache-2.0
"""All checks of signals and the diagnosis of each joint, together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from rbd_dynamics.replay.diagnosis.efforts import EffortCheck
from rbd_dynamics.replay.diagnosis.findings import DiagnosisResult, Finding, JointDiagnosis
from rbd_dynamics.replay.diagnosis.positions import PositionCheck
from rbd_dynamics.replay.diagnosis.velocities import VelocityCheck
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.signals.segmentation import Segment

SAME = 0.5  # of a delay of velocities: so near to it, turned round, a delay of efforts is the same
HARMLESS = 0.02  # s: velocities that are late by less leave the rest believable


class Diagnosis:
    """Takes segments, gives a `DiagnosisResult`.

    Parameters:
        prepare: made for the segments, with their filter.
        names: of the degrees of freedom (nv). velocities: joints whose velocity is measured.
    """

    def __init__(self, prepare: Preparation, names: Sequence[str], *, velocities: Collection[str]) -> None:
        if prepare.low_pass is None:
            raise ValueError("a diagnosis needs filtered segments")
        measured = [joint for joint in prepare.robot.model.joints if joint.name in velocities]
        self._velocities = VelocityCheck(
            prepare.low_pass,
            prepare.step,
            {joint.v_index: joint.name for joint in measured},
            {joint.v_index: joint.q_index for joint in measured},
        )
        self._efforts = EffortCheck(prepare)
        self._positions = PositionCheck(prepare, names)

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        self._velocities.add(segment)
        self._efforts.add(segment)
        self._positions.add(segment)

    def results(self) -> DiagnosisResult:
        """Findings of all that was added. Where the motion is doubtful, nothing is said of efforts."""
        motion = self._velocities.findings()
        if not any(map(grave, motion)):
            motion += self._positions.findings()
        joints, efforts = self._efforts.results()
        if any(map(grave, motion)):
            return DiagnosisResult(tuple(motion), tuple(JointDiagnosis(k.joint, (), np.nan) for k in joints))
        return DiagnosisResult((*motion, *_of_their_own(efforts, motion)), tuple(joints))


def _of_their_own(efforts: Sequence[Finding], motion: Sequence[Finding]) -> list[Finding]:
    """Findings without delays of efforts that are those of velocities: the model's torque is late with these."""
    late = {name: found.estimate for found in motion if found.kind == "velocity delay" for name in found.joints}

    def is_theirs(finding: Finding) -> bool:
        if finding.kind != "effort delay" or finding.estimate is None:
            return False
        others = [late.get(name) for name in finding.joints]
        effort = finding.estimate.value
        return all(other is not None and abs(effort + other.value) < SAME * abs(other.value) for other in others)

    return [finding for finding in efforts if not is_theirs(finding)]


def grave(finding: Finding) -> bool:
    """Whether a finding is one of the motion that makes accelerations, and so the model's torques, wrong."""
    late = finding.kind == "velocity delay" and finding.estimate is not None
    return not (late and finding.estimate is not None and abs(finding.estimate.value) < HARMLESS)
