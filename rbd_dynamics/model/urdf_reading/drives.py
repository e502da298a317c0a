# SPDX-License-Identifier: Apache-2.0
"""Drives in a URDF, which has no standard for them: attributes of <dynamics>, and rotors of transmissions."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import NamedTuple

from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.elements import Number, Reader, local_tag
from rbd_dynamics.model.errors import Findings, ModelError

_NUMBERS = {"gear_ratio": "gear_ratio", "stiffness": "drive_stiffness", "damping": "drive_damping"}
_ATTRIBUTES = frozenset({*_NUMBERS.values(), "rotor_axis", "rotor_frame"})
RECENT = 20  # findings, of the same joint
ROTORS = ("rotor_inertia", "rotorInertia", "motorInertia")
_KINDS = ("revolute", "continuous", "prismatic")


class GearedRotor(NamedTuple):
    """Inertia as seen at the joint; gear ratio, 1 for several rotors with different ones."""

    inertia: float
    gear_ratio: float


def geared_rotors(root: ET.Element, findings: Findings) -> dict[str, GearedRotor]:
    """The rotor of each joint, for simple transmissions (one joint, one actuator) that give its inertia.

    An actuator's `rotor_inertia`, `rotorInertia` or `motorInertia` (Drake writes drake:rotor_inertia)
    counts times the square of its `gear_ratio` or of the `mechanicalReduction` of the actuator, the
    joint or the transmission. A value is the element's text or its `value`.
    """
    found: dict[str, GearedRotor] = {}
    for transmission in root:
        if local_tag(transmission) != "transmission":
            continue
        joints = [e for e in transmission if local_tag(e) == "joint"]
        actuators = [e for e in transmission if local_tag(e) == "actuator"]
        inertias = [e for a in actuators for e in a if local_tag(e) in ROTORS]
        if not inertias:
            continue
        where = f"transmission {transmission.get('name', '')!r}"
        if len(joints) != 1 or len(inertias) != 1:
            findings.warning(where, "couples several joints or actuators", "their rotor inertia is not used")
            continue
        ratios = [
            _value_of(e, where, findings)
            for owner in (*actuators, *joints, transmission)
            for e in owner
            if local_tag(e) in ("gear_ratio", "mechanicalReduction")
        ]
        inertia = _value_of(inertias[0], where, findings)
        if inertia < 0.0:
            findings.error(where, f"has the negative rotor inertia {inertia:g}")
        joint, ratio = joints[0].get("name", ""), ratios[0] if ratios else 1.0
        other = found.get(joint, GearedRotor(0.0, ratio))
        same = ratio if other.gear_ratio == ratio else 1.0
        found[joint] = GearedRotor(other.inertia + inertia * ratio * ratio, same)
    return found


def _value_of(element: ET.Element, where: str, findings: Findings) -> float:
    holder = ET.Element(local_tag(element), {"value": element.get("value") or (element.text or "").strip()})
    return Reader(holder, where, findings).number("value", Number())


def read_drive(
    element: ET.Element | None, kind: str, rotor: GearedRotor | None, where: str, findings: Findings
) -> Drive | None:
    """The drive that a <dynamics> element tells of, or the rotor of a transmission; None where neither does.

    What is wrong goes to `findings`.
    """
    found = _told(element, kind, where, findings)
    if rotor is None or rotor.gear_ratio in (0.0, 1.0) or not math.isfinite(rotor.gear_ratio) or kind not in _KINDS:
        return found
    if element is not None and "gear_ratio" in element.keys():
        return found
    return replace(found or Drive(), gear_ratio=rotor.gear_ratio)


def _told(element: ET.Element | None, kind: str, where: str, findings: Findings) -> Drive | None:
    given = set() if element is None else _ATTRIBUTES.intersection(element.attrib)
    if element is None or not given:
        return None
    if kind not in _KINDS:
        if given != {"gear_ratio"}:  # which also belongs to a rotor_inertia
            findings.error(where, f"is {kind}, which cannot have a drive")
        return None
    problems = Findings(findings.strict)
    reader = Reader(element, where, problems)
    own: dict[str, float] = {}
    for key, attribute in _NUMBERS.items():
        if attribute in element.keys():
            own[key] = reader.number(attribute, Number(infinite=key == "stiffness"))
    axis = None
    if "rotor_axis" in element.keys():
        x, y, z = map(float, reader.words("rotor_axis", Number(3)).split())
        axis = (x, y, z)
    # a gear ratio is also read with its rotor's inertia, just before
    findings += [problem for problem in problems if problem not in findings[-RECENT:]]
    if problems.errors:
        return None
    try:
        return Drive(**own, rotor_frame=element.get("rotor_frame"), rotor_axis=axis)
    except ModelError as error:
        findings.error(where, f"<dynamics>: {error}")
        return None


def drive_attributes(drive: Drive | None) -> dict[str, str]:
    """What `read_drive` makes the same drive of."""
    if drive is None:
        return {}
    data = drive.to_dict()
    found = {attribute: repr(data[key]) for key, attribute in _NUMBERS.items() if key in data}
    if not found:
        found["gear_ratio"] = "1.0"  # a drive with nothing in particular is one, too
    if drive.rotor_axis is not None:
        found["rotor_axis"] = " ".join(map(repr, drive.rotor_axis))
    if drive.rotor_frame is not None:
        found["rotor_frame"] = drive.rotor_frame
    return found
