# SPDX-License-Identifier: Apache-2.0
"""Numbers, names and poses out of the elements of an SDF; what is wrong goes to the findings."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.description import Inertial, without_rounding
from rbd_dynamics.model.elements import Number, Reader, child_of, local_tag
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotate_sym, rotation_from_quaternion, rotation_from_rpy

#: entries of an inertia with what they are where they are not given
_MOMENTS = {"ixx": "1", "ixy": "0", "ixz": "0", "iyy": "1", "iyz": "0", "izz": "1"}
TRUE = ("1", "true", "True")


@dataclass(frozen=True)
class Values:
    """Values of one element; `where` names the link, joint or model in findings."""

    element: ET.Element
    where: str
    findings: Findings

    def child(self, tag: str) -> Values | None:
        found = child_of(self.element, tag, self.where, self.findings)
        return None if found is None else Values(found, self.where, self.findings)

    def children(self, tag: str) -> list[ET.Element]:
        return [element for element in self.element if local_tag(element) == tag]

    def name(self, attribute: str = "name") -> str:
        return Reader(self.element, self.where, self.findings).name(attribute)

    def text(self, tag: str, default: str = "") -> str:
        child = self.child(tag)
        return default if child is None else (child.element.text or "").strip()

    def flag(self, tag: str, default: bool = False) -> bool:
        return self.text(tag, str(default)) in TRUE

    def number(self, tag: str, default: str, infinite: bool = False) -> float:
        return self.numbers(tag, Number(1, default, infinite))[0]

    def numbers(self, tag: str, expected: Number) -> list[float]:
        """The text of a child, nan where it is wrong."""
        text = self.text(tag, expected.default or "") or (expected.default or "")
        holder = ET.Element(tag, {"value": text})
        return list(map(float, Reader(holder, self.where, self.findings).words("value", expected).split()))

    def pose(self) -> tuple[Transform, str]:
        """The pose in <pose>, and what that is relative to; identity and empty where there is none."""
        child = self.child("pose")
        if child is None:
            return IDENTITY, ""
        relative_to = child.element.get("relative_to", "")
        quaternion = child.element.get("rotation_format") == "quat_xyzw"
        empty = "0 0 0 0 0 0 1" if quaternion else "0 0 0 0 0 0"
        x, y, z, *turn = self.numbers("pose", Number(7 if quaternion else 6, empty))
        if math.isnan(x):
            return IDENTITY, relative_to
        if quaternion:
            norm = math.hypot(*turn)
            if abs(norm - 1.0) > 1e-2:
                self.findings.error(self.where, f"<pose> has a quaternion of norm {norm:.6g}, expected 1")
                return IDENTITY, relative_to
            i, j, k, w = (entry / norm for entry in turn)
            return Transform.of(without_rounding(rotation_from_quaternion((i, j, k, w))), (x, y, z)), relative_to
        scale = math.pi / 180.0 if child.element.get("degrees") in TRUE else 1.0
        roll, pitch, yaw = (scale * angle for angle in turn)
        return Transform.of(without_rounding(rotation_from_rpy(roll, pitch, yaw)), (x, y, z)), relative_to

    def inertial(self) -> Inertial:
        """The inertial of a link's <inertial>; 1 kg and 1 kg m^2 where nothing is given, as SDFormat says."""
        inertial = self.child("inertial") or Values(ET.Element("inertial"), self.where, self.findings)
        mass = inertial.number("mass", "1")
        matrix = inertial.child("inertia") or Values(ET.Element("inertia"), self.where, self.findings)
        moments = tuple(matrix.number(entry, default) for entry, default in _MOMENTS.items())
        pose, relative_to = inertial.pose()
        if relative_to:
            self.findings.error(
                self.where, f"the <pose> of its <inertial> is relative to {excerpt(relative_to)}", "it is in the link"
            )
        return Inertial(mass, pose.p, rotate_sym(pose.rotation, moments) if pose.factors else moments)
