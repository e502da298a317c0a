# SPDX-License-Identifier: Apache-2.0
"""All that is said of a recording, as claims: none may be there beside one that excludes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rbd_dynamics.replay.diagnosis.consequences import EFFORTS, reason
from rbd_dynamics.replay.diagnosis.findings import DiagnosisResult, JointDiagnosis

Claim = tuple[str, str]  # what is claimed, and of which joint; "" of all

_CONTACT = "contact"  # the cause
_FROM_EFFORTS = ("friction", "base parameters", "load", "a contact", "exported inertias", "exported friction")
#: of one joint, or of all, these exclude each other
EXCLUDE: tuple[tuple[str, str], ...] = (
    ("contact is a cause", "no contact"),
    ("late", "late, or friction"),
    ("no torque", "a scale, or inertias"),
    ("the motion is wrong", "no torque"),
    ("the motion is wrong", "late"),
    *(("no torque", what) for what in _FROM_EFFORTS),
    *(("the motion is wrong", what) for what in _FROM_EFFORTS),
)


def claims(answers: Mapping[str, Any]) -> set[Claim]:
    """Claims in the answers {name of a question: its answer}."""
    return set(_claims(answers))


def contradictions(answers: Mapping[str, Any]) -> list[tuple[Claim, Claim]]:
    """Pairs that exclude each other."""
    found = sorted(claims(answers))
    return [
        (one, other)
        for one in found
        for other in found
        if (one[0], other[0]) in EXCLUDE and (one[1] == other[1] or "" in (one[1], other[1]))
    ]


def agreed(answers: Mapping[str, Any]) -> dict[str, Any]:
    """The answers, of which none contradicts another.

    Contacts are looked for by thresholds: where one could be set and nothing passed it, what stands out for a while in
    a joint's residual is none, and remains unexplained. Where none could be set, no contact can be told.
    """
    found = dict(answers)
    diagnosis, external = found.get("diagnosis"), found.get("external_torque")
    if diagnosis is None or external is None:
        return found
    doubtful = [joint.joint for joint in diagnosis.joints if any(c.name == _CONTACT for c in joint.causes)]
    touched = {name for event in external.events for name in event.peak}
    unset = [name for name in doubtful if not np.isfinite(external.threshold.get(name, np.inf))]
    if unset and not external.events and not external.doubt:
        why = f"no threshold could be set for {', '.join(unset)}, of which something stands out for a while"
        found["external_torque"] = replace(external, doubt=why)
    drop = {name for name in doubtful if name not in touched and name not in unset}
    joints = tuple(_without_contact(joint) if joint.joint in drop else joint for joint in diagnosis.joints)
    found["diagnosis"] = replace(diagnosis, joints=joints)
    return found


def _without_contact(joint: JointDiagnosis) -> JointDiagnosis:
    share = sum(cause.share for cause in joint.causes if cause.name == _CONTACT)
    kept = tuple(cause for cause in joint.causes if cause.name != _CONTACT)
    return replace(joint, causes=kept, left=joint.left + share)


def _claims(answers: Mapping[str, Any]) -> Iterator[Claim]:
    why = answers.get("diagnosis") or DiagnosisResult((), ())
    for finding in why.signals:
        for joint in finding.joints:
            if finding.kind == "effort delay":
                yield "late", joint
            elif finding.kind in EFFORTS:
                yield "no torque", joint
    if (general := reason(why)).startswith("the motion"):
        yield "the motion is wrong", ""
    elif general == "the efforts are without gravity":
        yield "no torque", ""
    for finding in why.undecided:
        for joint in finding.joints:
            yield ("late, or friction" if "delay" in finding.kind else "a scale, or inertias"), joint
    for one in why.joints:
        if any(cause.name == _CONTACT for cause in one.causes):
            yield "contact is a cause", one.joint
    yield from _of_answers(answers)


def _of_answers(answers: Mapping[str, Any]) -> Iterator[Claim]:
    friction, inertias = answers.get("friction"), answers.get("inertias")
    payload, external = answers.get("payload"), answers.get("external_torque")
    for joint in friction.joints if friction is not None else ():
        if joint.coulomb.identifiable or joint.viscous.identifiable:
            yield "friction", joint.joint
    for name in friction.exported if friction is not None else ():
        yield "exported friction", name
    if inertias is not None and any(part.identifiable for part in inertias.base):
        yield "base parameters", ""
    if inertias is not None and not inertias.refused:
        yield "exported inertias", ""
    if payload is not None and payload.mass.identifiable:
        for joint in payload.joints:
            yield "load", joint.joint
    if external is None:
        return
    touched = {name for event in external.events for name in event.peak}
    for name, threshold in external.threshold.items():
        if name in touched:
            yield "a contact", name
        elif not external.doubt and np.isfinite(threshold):
            yield "no contact", name
