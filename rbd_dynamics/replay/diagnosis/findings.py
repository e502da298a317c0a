# SPDX-License-Identifier: Apache-2.0
"""What is said of a recording: in words, with numbers, and with what to do about it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from rbd_dynamics.replay.identification.estimates import Estimate, Plain


@dataclass(frozen=True)
class Finding(Plain):
    """Something about signals that makes further results doubtful.

    Attributes:
        kind: "velocity scale", "velocity sign", "velocity delay", "velocity", "degrees", "position sign", "joint zero",
            "gravity", "effort scale", "effort sign", "effort or position sign", "effort delay", "no efforts"; of what
            is undecided "effort scale or inertias" and "effort delay or friction".
        joints: whose. text: for people. remedy: what of the command line mends it.
        estimate: of the scale or delay, where there is one number.
    """

    kind: str
    joints: tuple[str, ...]
    text: str
    _: KW_ONLY
    remedy: str = ""
    estimate: Estimate | None = None

    def __str__(self) -> str:
        return f"{self.text}; {self.remedy}" if self.remedy else self.text


@dataclass(frozen=True)
class Cause(Plain):
    """What explains some of a joint's residual.

    Attributes:
        name: of the list in `causes`; of a scale that is negative, "sign".
        share: of the residual's squares, on stretches that were not fitted, after the causes before it.
        estimates: of the numbers that describe it.
    """

    name: str
    share: float
    _: KW_ONLY
    estimates: tuple[Estimate, ...] = ()


@dataclass(frozen=True)
class JointDiagnosis(Plain):
    """Diagnosis of one joint: causes in the order of what they explain, the rest unexplained.

    Attributes:
        causes: none where nothing was found that explains a tenth of the residual, or where there is none to speak of.
        left: share of the residual's squares that no cause explains; NaN where the recording is too short to tell.
    """

    joint: str
    causes: tuple[Cause, ...]
    left: float

    @property
    def main(self) -> str:
        """Name of the first cause, or "none"."""
        return self.causes[0].name if self.causes else "none"


@dataclass(frozen=True)
class DiagnosisResult(Plain):
    """First what is wrong with signals, then what explains the residual of each joint.

    Attributes:
        undecided: what may be wrong with signals, or else with the description; nothing is refused for it.
        offsets: {joint: its effort's offset}, of those that have one beside bodies and rotors that are other than
            described; None where they are as described, or that cannot be told.
    """

    signals: tuple[Finding, ...]
    joints: tuple[JointDiagnosis, ...]
    undecided: tuple[Finding, ...] = ()
    offsets: dict[str, Estimate] | None = None

    def of(self, joint: str) -> JointDiagnosis:
        """Raises KeyError for a joint that was not compared."""
        return {found.joint: found for found in self.joints}[joint]

    def doubts(self, joint: str) -> list[Finding]:
        """Findings about the signals of a joint."""
        return [finding for finding in self.signals if joint in finding.joints]
