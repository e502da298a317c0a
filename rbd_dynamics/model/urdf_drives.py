# SPDX-License-Identifier: Apache-2.0
"""Drives in a URDF, which has no standard for them: further attributes of a joint's <dynamics>."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.elements import Number, Reader
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.transmissions import GearedRotor

_NUMBERS = {"gear_ratio": "gear_ratio", "stiffness": "drive_stiffness", "damping": "drive_damping"}
RECENT = 20  # findings, of the same joint
_KINDS = ("revolute", "continuous", "prismatic")


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
    given = set() if element is None else set(element.keys()) & {*_NUMBERS.values(), "rotor_axis", "rotor_frame"}
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
