# SPDX-License-Identifier: Apache-2.0
"""All checks of signals and the diagnosis of each joint, together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from rbd_dynamics.replay.diagnosis.efforts import EffortCheck
from rbd_dynamics.replay.diagnosis.findings import DiagnosisResult, Finding, JointDiagnosis
from rbd_dynamics.replay.diagnosis.free_torque import FreeTorque
from rbd_dynamics.replay.diagnosis.positions import PositionCheck
from rbd_dynamics.replay.diagnosis.telling import either_signs
from rbd_dynamics.replay.diagnosis.velocities import VelocityCheck
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.signals.segmentation import Segment

HARMLESS = 0.02  # s: signals that are late by less leave the rest believable


class Diagnosis:
    """Takes segments, gives a `DiagnosisResult`.

    Parameters:
        prepare: made for the segments, with their filter.
        names: of the degrees of freedom (nv). velocities: joints whose velocity is measured.
        base: of the same robot, to share its work with others; None: its own.
    """

    def __init__(
        self,
        prepare: Preparation,
        names: Sequence[str],
        *,
        velocities: Collection[str],
        base: BaseErrors | None = None,
    ) -> None:
        if prepare.low_pass is None:
            raise ValueError("a diagnosis needs filtered segments")
        measured = [joint for joint in prepare.robot.model.joints if joint.name in velocities]
        self._velocities = VelocityCheck(
            prepare.low_pass,
            prepare.step,
            {joint.v_index: joint.name for joint in measured},
            {joint.v_index: joint.q_index for joint in measured},
        )
        base = base or BaseErrors(prepare.robot)
        self._efforts = EffortCheck(prepare, base)
        self._positions = PositionCheck(prepare, names, base)

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        self._velocities.add(segment)
        self._efforts.add(segment)
        self._positions.add(segment)

    @property
    def free(self) -> FreeTorque | None:
        """Efforts by the recording's own fit, once there are results; None where the description is as good."""
        return self._efforts.free

    def results(self) -> DiagnosisResult:
        """Findings of all that was added. Where the motion is doubtful, nothing is said of efforts."""
        motion = self._velocities.findings()
        if not any(map(grave, motion)):
            motion += self._positions.findings()
        if any(map(grave, motion)):
            return DiagnosisResult(tuple(motion), tuple(JointDiagnosis(k, (), np.nan) for k in self._efforts.joints))
        joints, efforts, undecided = self._efforts.results()
        efforts = [told for finding in efforts for told in either_signs(finding, self._positions.either_sign)]
        return DiagnosisResult((*motion, *efforts), tuple(joints), tuple(undecided), self._efforts.offsets)


def grave(finding: Finding) -> bool:
    """Whether a finding is one of the motion that makes accelerations, and so the model's torques, wrong."""
    return not (finding.kind == "velocity delay" and harmless(finding))


def harmless(finding: Finding) -> bool:
    """Whether a delay is so short that inertias hardly make up for it."""
    return finding.estimate is not None and abs(finding.estimate.value) < HARMLESS
