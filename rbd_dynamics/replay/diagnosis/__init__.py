# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a recording's signals, and what explains what the model does not; in sums, in one pass."""

from rbd_dynamics.replay.diagnosis.diagnosis import Diagnosis
from rbd_dynamics.replay.diagnosis.findings import Cause, DiagnosisResult, Finding, JointDiagnosis

__all__ = ["Cause", "Diagnosis", "DiagnosisResult", "Finding", "JointDiagnosis"]
