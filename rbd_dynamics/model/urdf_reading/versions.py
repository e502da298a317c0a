# SPDX-License-Identifier: Apache-2.0
"""What URDF has gained since 1.0, as urdfdom 6 reads it: quaternions (1.1), limits of acceleration and jerk (1.2)."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.elements import Number, Reader
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.spatial.so3 import Mat3, rotation_from_quaternion

VERSIONS = ("1.0", "1.1", "1.2")
WITH_QUATERNIONS, WITH_ACCELERATIONS = "1.1", "1.2"
#: how far from 1 the norm of a quaternion may be; it is normalised
QUATERNION_TOLERANCE = 1e-2
#: said of a joint without a range
STAYS = "it cannot move"
_SINCE_1_2 = ("acceleration", "deceleration", "jerk")
#: of strtol: white space, a sign, digits; minus for zero alone
_NUMBER = re.compile(r"[ \t\n\v\f\r]*(?:\+|-(?=0+$))?([0-9]+)")
_QUATERNION, _MAGNITUDE = Number(4), Number(infinite=True)


def version_of(robot: ET.Element, findings: Findings) -> str:
    """The version that a <robot> says it has, as in `VERSIONS`; 1.0 where it says none.

    Numbers are read as urdfdom reads them: "1.01" is 1.1, "1" and "1.1.0" are errors. The newest, with an error, for
    one that is not known.
    """
    said = robot.get("version")
    if said is None:
        return VERSIONS[0]
    parts = said.removesuffix(".").split(".")
    found = [_NUMBER.fullmatch(part) for part in parts]
    known = f"known: {', '.join(VERSIONS)}"
    if len(parts) != 2 or not all(found):
        findings.error("robot", f"has the version {excerpt(said)} of URDF, which is not two numbers and a dot", known)
        return VERSIONS[-1]
    version = ".".join(number[1].lstrip("0") or "0" for number in found if number is not None)
    if version not in VERSIONS:
        findings.error("robot", f"has the version {excerpt(said)} of URDF, which is not known", known)
        return VERSIONS[-1]
    if version != said:
        findings.note("robot", f"has the version {excerpt(said)} of URDF, which is read as {version}")
    return version


LEAST_NORM = 1e-6  # of a quaternion: below, rounding would choose the rotation


def quaternion_rotation(origin: ET.Element | None, version: str, where: str, findings: Findings) -> Mat3 | None:
    """The rotation of `quat_xyzw`; None where there is none, or where the version does not have it."""
    if version < WITH_QUATERNIONS or origin is None or "quat_xyzw" not in origin.attrib:
        return None
    if "rpy" in origin.attrib:
        findings.error(where, "<origin> has rpy and quat_xyzw", "give one of them")
        return None
    x, y, z, w = map(float, Reader(origin, where, findings).words("quat_xyzw", _QUATERNION).split())
    norm = math.hypot(x, y, z, w)
    said = f"<origin> quat_xyzw={excerpt(origin.get('quat_xyzw'))} has norm {norm:.6g}"
    if not LEAST_NORM < norm < math.inf:
        findings.error(where, f"{said}: that is no rotation")
        return None
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        findings.defect(where, f"{said}, here it is divided by that")
    return rotation_from_quaternion((x / norm, y / norm, z / norm, w / norm))


def acceleration_limits(limit: ET.Element, version: str, where: str, findings: Findings) -> dict[str, float]:
    """acceleration, deceleration (by default as acceleration) and jerk of a <limit>, where its version has them.

    Drake's drake:acceleration counts in every version.
    """
    given: dict[str, str] = {}
    for attribute in limit.attrib:
        if attribute in _SINCE_1_2 and version >= WITH_ACCELERATIONS:
            given[attribute] = attribute
        elif attribute[0] == "{" and "drake" in attribute and attribute.endswith("}acceleration"):
            given.setdefault("acceleration", attribute)
    if not given:
        return {}
    found: dict[str, float] = {}
    reader = Reader(limit, where, findings)
    for key, attribute in given.items():
        found[key] = reader.number(attribute, _MAGNITUDE)
        if found[key] < 0.0:
            findings.error(where, f"<limit> {key}={excerpt(limit.get(attribute))} is negative")
    if "acceleration" in found:
        found.setdefault("deceleration", found["acceleration"])
    return found


def check_range(limit: ET.Element, kind: str, version: str, where: str, findings: Findings) -> None:
    """What a <limit> says of the range of positions, or does not say though it should."""
    missing = [key for key in ("lower", "upper") if key not in limit.attrib]
    if kind in ("revolute", "prismatic"):
        if missing and version >= WITH_ACCELERATIONS:
            findings.error(where, f"has no {' and no '.join(missing)} in <limit>", f"URDF {version} needs both")
        elif missing:
            counts = f"count as 0: {STAYS}" if len(missing) == 2 else "counts as 0"
            findings.warning(
                where, f"has no {' and no '.join(missing)} in <limit>, which {counts}", "URDF's default; give both"
            )
    elif len(missing) < 2 and _is_a_range(limit, where):
        given = " and ".join(f"{key}={excerpt(limit.get(key))}" for key in ("lower", "upper") if key not in missing)
        findings.defect(
            where,
            f"is {kind} and has {given}: its position is not limited",
            "make it revolute, or leave them out" if kind == "continuous" else "leave them out",
        )


def _is_a_range(limit: ET.Element, where: str) -> bool:
    """Not 0 and 0, which exporters write, nor one that is infinite or no number."""
    reader = Reader(limit, where, Findings())
    bounds = [reader.number(key, Number(default="0", infinite=True)) for key in ("lower", "upper")]
    return any(math.isfinite(x) and x != 0.0 and abs(x) < 1e9 for x in bounds)
