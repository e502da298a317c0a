# SPDX-License-Identifier: Apache-2.0
"""What signals that are wrong mean for what was identified from them: no numbers."""

from __future__ import annotations

from dataclasses import replace

from rbd_dynamics.replay.diagnosis.diagnosis import grave, harmless
from rbd_dynamics.replay.diagnosis.findings import DiagnosisResult
from rbd_dynamics.replay.diagnosis.telling import EITHER_SIGN
from rbd_dynamics.replay.identification import (
    DriveResult,
    FrictionResult,
    InertiaResult,
    JointDrive,
    JointFit,
    JointFriction,
    PayloadResult,
)
from rbd_dynamics.replay.torques.external_torque import ExternalTorqueResult

EFFORTS = ("effort scale", "effort sign", EITHER_SIGN, "no efforts")  # that are not the model's torques
_BODIES = "bodies other than described explain as much"


def reason(found: DiagnosisResult, joint: str | None = None) -> str:
    """Why nothing follows from the efforts of a joint, or of any joint; empty where it does."""
    wrong = {name for finding in found.signals if finding.kind in EFFORTS for name in finding.joints}
    for finding in found.signals:
        if finding.kind in EFFORTS:
            if joint is None or joint in finding.joints or 0 < len(found.joints) < 2 * len(wrong):
                return f"the efforts are not the model's torques ({finding.kind}, {', '.join(finding.joints)})"
        elif finding.kind == "gravity":
            return "the efforts are without gravity"
        elif finding.kind != "effort delay" and grave(finding):
            return f"the motion is not what was recorded ({finding.kind}, {', '.join(finding.joints)})"
    return ""


def doubted_friction(result: FrictionResult, found: DiagnosisResult) -> FrictionResult:
    """The result without the numbers of joints whose signals are wrong, and with offsets that are some whatever the
    bodies are."""
    why = {joint.joint: reason(found, joint.joint) for joint in result.joints}
    return replace(
        result,
        joints=tuple(_friction(_with_offset(joint, found), why[joint.joint]) for joint in result.joints),
        exported={name: values for name, values in result.exported.items() if not why[name]},
        offsets={name: value for name, value in result.offsets.items() if not why[name]},
    )


def doubted_drives(result: DriveResult, found: DiagnosisResult) -> DriveResult:
    """The result without numbers and parts of joints whose signals are wrong; a scale is what a gain is about."""
    why = {joint.joint: reason(found, joint.joint) for joint in result.joints}
    return replace(
        result,
        joints=tuple(_drive(joint, why[joint.joint]) for joint in result.joints),
        exported={name: drive for name, drive in result.exported.items() if not why[name]},
    )


def doubted_payload(result: PayloadResult, found: DiagnosisResult) -> PayloadResult:
    """The result without numbers where the signals of a joint that carries the load are wrong."""
    why = next((text for joint in result.joints if (text := reason(found, joint.joint))), "")
    if not why:
        return result
    return replace(
        result,
        mass=result.mass.refused(why),
        com=tuple(part.refused(why) for part in result.com),
        inertia=tuple(part.refused(why) for part in result.inertia),
        load=None,
        joints=tuple(_fit(joint, why) for joint in result.joints),
    )


def doubted_inertias(result: InertiaResult, found: DiagnosisResult) -> InertiaResult:
    """The result without numbers where signals are wrong."""
    why = reason(found)
    if not why:
        late = next(
            (finding for finding in found.signals if finding.kind == "effort delay" and not harmless(finding)), None
        )
        if late is None or result.refused:
            return result
        return replace(result, refused=f"not exported, since the inertias would absorb it: {late}")
    return replace(
        result,
        base=tuple(part.refused(why) for part in result.base),
        joints=tuple(_fit(joint, why) for joint in result.joints),
        refused=f"not exported: {why}",
    )


def doubted_contacts(result: ExternalTorqueResult, found: DiagnosisResult) -> ExternalTorqueResult:
    """The result without contacts where the motion is wrong, or of joints whose efforts are."""
    wrong = {name: why for name in result.threshold if (why := reason(found, name))}
    kept = tuple(event for event in result.events if not wrong.keys() >= event.peak.keys())
    if not wrong or (kept == result.events and len(wrong) < len(result.threshold)):
        return result
    doubt = next(iter(wrong.values())) if not kept else ""
    return replace(result, events=kept, omitted=result.omitted if kept else 0, doubt=doubt)


def _with_offset(joint: JointFriction, found: DiagnosisResult) -> JointFriction:
    """Gravity of a body that is described wrongly is nearly constant where the joint moves little."""
    if found.offsets is None:
        return joint
    if joint.joint in found.offsets:
        return replace(joint, offset=found.offsets[joint.joint])
    there = joint.offset.identifiable and joint.offset.lower * joint.offset.upper > 0.0
    return replace(joint, offset=joint.offset.refused(_BODIES)) if there else joint


def _friction(joint: JointFriction, why: str) -> JointFriction:
    if not why:
        return joint
    three = {name: getattr(joint, name).refused(why) for name in ("offset", "coulomb", "viscous")}
    return replace(joint, stribeck=None, **three)


def _drive(joint: JointDrive, why: str) -> JointDrive:
    if not why:
        return joint
    three = {name: getattr(joint, name).refused(why) for name in ("offset", "coulomb", "viscous")}
    kept = tuple(part for part in joint.parts if part.name == "gain")
    return replace(joint, parts=kept, **three)


def _fit(joint: JointFit, why: str) -> JointFit:
    three = {name: part.refused(why) for name in ("offset", "coulomb", "viscous") if (part := getattr(joint, name))}
    return replace(joint, **three)
