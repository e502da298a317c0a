# SPDX-License-Identifier: Apache-2.0
"""What is inside a link or a joint of a URDF, every number checked and every default as URDF has it.

Other elements and attributes are passed over. A number that is none is reported with its link or joint and becomes
nan, and reading goes on.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

from rbd_dynamics.model.elements import Number, Numbers, Reader, local_tag, name_of
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.urdf_reading.versions import quaternion_rotation
from rbd_dynamics.spatial.so3 import Mat3, Sym3, Vec3

INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

#: quarter turns: what files round, and what computing with angles leaves, in rad
ROUNDED_ANGLE, COMPUTED_ANGLE = 1e-11, 4e-15
#: from so many digits on, an angle is written as exactly as a float is
EXACT_DIGITS = 16
QUARTER = math.pi / 2

_ZERO, _BOUND, _NONE = Number(default="0"), Number(default="0", infinite=True), Number(default="inf", infinite=True)
_ORIGIN = Numbers(xyz=Number(3, "0 0 0"), rpy=Number(3, "0 0 0"))
_MASS = Numbers(value=Number())
_INERTIA = Numbers(**dict.fromkeys(INERTIA_ENTRIES, Number()))
_AXIS = Numbers(xyz=Number(3))
_LIMIT = Numbers(lower=_BOUND, upper=_BOUND, velocity=_NONE, effort=_NONE)
_DYNAMICS = Numbers(damping=_ZERO, friction=_ZERO)
_MIMIC = Numbers(multiplier=Number(default="1"), offset=_ZERO)
_MANTISSA = re.compile(r"[+-]?0*\.?0*([\d.]*)")


class Origin(NamedTuple):
    """A placement: position, m, and roll, pitch and yaw, rad, or the rotation of a quaternion."""

    xyz: Vec3 = (0.0, 0.0, 0.0)
    rpy: Vec3 = (0.0, 0.0, 0.0)
    turned: Mat3 | None = None


NO_ORIGIN = Origin()


class InertialElement(NamedTuple):
    mass: float
    inertia: Sym3  # about the centre of mass, in the axes of `origin`
    origin: Origin


class LimitElement(NamedTuple):
    lower: float
    upper: float
    velocity: float
    effort: float


class MimicElement(NamedTuple):
    joint: str
    multiplier: float
    offset: float


class Parts:
    """The elements inside a link, a joint or an inertial, by tag. `where` names it in findings."""

    def __init__(self, element: ET.Element, where: str, findings: Findings, version: str) -> None:
        self._first: dict[str, ET.Element] = {}
        self._further: list[str] = []
        self._where, self._findings, self._version = where, findings, version
        for child in element:
            tag = child.tag
            if tag[0] == "{":
                tag = local_tag(child)
            if tag in self._first:
                self._further.append(tag)
            else:
                self._first[tag] = child

    def get(self, tag: str) -> ET.Element | None:
        """The first of that tag, or None; more than one is worth a warning."""
        if self._further and tag in self._further:
            count = 1 + self._further.count(tag)
            self._findings.warning(self._where, f"has {count} <{tag}> elements", "the first counts")
            self._further = [other for other in self._further if other != tag]
        return self._first.get(tag)

    def numbers(self, tag: str, expected: Numbers) -> list[float] | None:
        """Those in attributes of the first of that tag, or None."""
        element = self.get(tag) if self._further else self._first.get(tag)
        if element is None:
            return None
        return expected.finite(element) or Reader(element, self._where, self._findings).numbers(expected)

    def name(self, tag: str, attribute: str) -> str:
        """A name in an attribute of the first of that tag; empty with a finding where there is none."""
        element = self.get(tag)
        if element is None:
            self._findings.error(self._where, f"has no <{tag}>")
            return ""
        return name_of(element, attribute, self._where, self._findings)

    def origin(self) -> Origin:
        """The placement that <origin> gives; identity where there is none."""
        found = self.numbers("origin", _ORIGIN)
        if found is None:
            return NO_ORIGIN
        x, y, z, *angles = found
        element = self._first["origin"]
        turned = quaternion_rotation(element, self._version, self._where, self._findings)
        if turned is not None:
            return Origin((x, y, z), turned=turned)
        if not any(angles):
            return Origin((x, y, z))
        words = element.get("rpy", "").split()
        roll, pitch, yaw = map(_as_meant, angles, words) if len(words) == 3 else angles
        return Origin((x, y, z), (roll, pitch, yaw))


def read_inertial(parts: Parts, where: str, findings: Findings, version: str) -> InertialElement | None:
    """The <inertial> of a link, or None if there is none."""
    element = parts.get("inertial")
    if element is None:
        return None
    inside = Parts(element, where, findings, version)
    mass, entries = inside.numbers("mass", _MASS), inside.numbers("inertia", _INERTIA)
    if mass is None:
        findings.error(where, "its <inertial> has no <mass>")
    if entries is None:
        findings.error(where, "its <inertial> has no <inertia>", "give zeros for a point mass")
    return InertialElement(mass[0] if mass else 0.0, tuple(entries or (0.0,) * 6), inside.origin())


def read_axis(parts: Parts) -> list[float] | None:
    """What <axis> says, of any length."""
    return parts.numbers("axis", _AXIS)


def read_limit(parts: Parts) -> LimitElement | None:
    """What <limit> says: bounds that are not given are 0, as in URDF; a speed or effort is infinite."""
    found = parts.numbers("limit", _LIMIT)
    return None if found is None else LimitElement(*found)


def read_dynamics(parts: Parts) -> list[float]:
    """Damping and friction of <dynamics>."""
    return parts.numbers("dynamics", _DYNAMICS) or [0.0, 0.0]


def read_mimic(parts: Parts) -> MimicElement | None:
    """What <mimic> says, or None."""
    found = parts.numbers("mimic", _MIMIC)
    return None if found is None else MimicElement(parts.name("mimic", "joint"), *found)


def _as_meant(angle: float, word: str) -> float:
    """Quarter turns that a file rounds, such as 1.57079632679, made exact, unless it has as many digits as a float.

    It moves nothing by more than 1e-11 rad, and the zeros it gives make specialised code up to a
    third shorter.
    """
    if angle == 0.0:
        return angle
    exact = round(angle / QUARTER) * QUARTER if math.isfinite(angle) else angle
    off = abs(angle - exact)
    if off > ROUNDED_ANGLE or off == 0.0:
        return angle
    return exact if off < COMPUTED_ANGLE or digits_of(word) < EXACT_DIGITS else angle


def digits_of(word: str) -> int:
    """How many significant digits a number is written with."""
    mantissa = _MANTISSA.match(word)
    return 0 if mantissa is None else len(mantissa[1].replace(".", ""))
