# SPDX-License-Identifier: Apache-2.0
"""Rotor inertia and gear ratio, as the transmissions of a robot description give them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import NamedTuple

from rbd_dynamics.model.elements import Number, Reader, local_tag
from rbd_dynamics.model.errors import Findings

ROTORS = ("rotor_inertia", "rotorInertia", "motorInertia")


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
