# SPDX-License-Identifier: Apache-2.0
"""What a URDF says that matters to dynamics, as plain data, with every number checked.

Only links, their inertials, joints and rotor inertias of transmissions are read; visuals,
collisions, materials, sensors and simulator tags are passed over, so nothing in them can make a
robot unusable. Nothing raises here: what is wrong is added to a list of findings, and the element
gets a harmless value, so that one run finds everything.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

from rbd_dynamics.model.elements import Reader, child_of, local_tag, parse_robot
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.model import Limits, Mimic
from rbd_dynamics.model.transmissions import rotor_inertias
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Mat3, Sym3, Vec3, rotate_sym, rotation_from_rpy

JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating", "spherical", "ball")
INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True)
class Inertial:
    """A link's inertial: mass kg, centre of mass in the link frame m, inertia about it, link axes, kg m^2."""

    mass: float
    com: Vec3
    rotational: Sym3

    @property
    def inertia(self) -> RigidInertia:
        """At the link frame."""
        return RigidInertia.from_com(self.mass, self.com, self.rotational)


@dataclass(frozen=True)
class LinkDescription:
    name: str
    inertial: Inertial | None = None


@dataclass(frozen=True)
class JointDescription:
    name: str
    type: str
    parent: str
    child: str
    origin: Transform = IDENTITY
    axis: Vec3 = (1.0, 0.0, 0.0)
    limits: Limits = Limits()
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None


@dataclass
class Description:
    """A URDF as plain data, in file order. Not `complete`: some link or joint could not be read."""

    name: str = "robot"
    links: list[LinkDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    complete: bool = True


def read_description(source: str | os.PathLike[str], findings: Findings) -> Description:
    """Read a URDF, from a path or as XML text; what is wrong goes to `findings`."""
    root = parse_robot(source, findings)
    if root is None:
        return Description(complete=False)
    description = Description()
    description.name = root.get("name") or "robot"
    armatures = rotor_inertias(root, findings)
    for element in root:
        kind = local_tag(element)
        if kind == "link":
            link = _read_link(element, findings)
            description.links.append(link)
            description.complete &= bool(link.name)
        elif kind == "joint":
            joint = _read_joint(element, armatures, findings)
            if joint is not None:
                description.joints.append(joint)
            description.complete &= joint is not None
    return description


# --- links --------------------------------------------------------------------------------------


def _read_link(element: ET.Element, findings: Findings) -> LinkDescription:
    name = Reader(element, "a link", findings).name("name")
    where = f"link {name!r}"
    inertial = child_of(element, "inertial", where, findings)
    return LinkDescription(name, None if inertial is None else _read_inertial(inertial, where, findings))


def _read_inertial(element: ET.Element, where: str, findings: Findings) -> Inertial:
    mass_element = child_of(element, "mass", where, findings)
    inertia_element = child_of(element, "inertia", where, findings)
    origin = child_of(element, "origin", where, findings)
    com: Vec3 = (0.0, 0.0, 0.0)
    rotation: Mat3 | None = None
    if origin is not None:
        com, rotation = _read_origin(origin, where, findings)
    mass = 0.0
    if mass_element is None:
        findings.error(where, "its <inertial> has no <mass>")
    else:
        mass = Reader(mass_element, where, findings).number("value")
    rotational: Sym3 = (0.0,) * 6
    if inertia_element is None:
        findings.error(where, "its <inertial> has no <inertia>", "give zeros for a point mass")
    else:
        reader = Reader(inertia_element, where, findings)
        rotational = tuple(reader.number(entry) for entry in INERTIA_ENTRIES)
    return Inertial(mass, com, rotate_sym(rotation, rotational) if rotation is not None else rotational)


def _read_origin(element: ET.Element, where: str, findings: Findings) -> tuple[Vec3, Mat3 | None]:
    """Position and rotation, None for no rotation."""
    reader = Reader(element, where, findings)
    xyz = reader.vector("xyz", (0.0, 0.0, 0.0))
    roll, pitch, yaw = map(_as_meant, reader.vector("rpy", (0.0, 0.0, 0.0)))
    if (roll, pitch, yaw) == (0.0, 0.0, 0.0):
        return xyz, None
    return xyz, without_rounding(rotation_from_rpy(roll, pitch, yaw))


def _as_meant(angle: float) -> float:
    """Quarter turns that a file writes with eleven decimals or more, such as 1.57079632679, made exact.

    It moves nothing by more than 1e-11 rad, and the zeros it gives make specialised code up to a
    third shorter.
    """
    exact = round(angle / (math.pi / 2)) * (math.pi / 2) if math.isfinite(angle) else angle
    return exact if abs(angle - exact) < 1e-11 else angle


def without_rounding(rotation: Mat3) -> Mat3:
    """A rotation in which entries that are 0, 1 or -1 but for rounding are made so."""

    def clean(entry: float) -> float:
        nearest = round(entry) if math.isfinite(entry) else entry
        return float(nearest) if abs(entry - nearest) < 1e-15 else entry

    return tuple(map(clean, rotation))


# --- joints -------------------------------------------------------------------------------------


def _read_joint(element: ET.Element, armatures: dict[str, float], findings: Findings) -> JointDescription | None:
    reader = Reader(element, "a joint", findings)
    name = reader.name("name")
    where = f"joint {name!r}"
    kind = Reader(element, where, findings).name("type")
    if kind and kind not in JOINT_TYPES:
        findings.error(where, f"has the unknown type {kind!r}", f"known: {', '.join(JOINT_TYPES)}")
    ends = [_read_end(element, tag, where, findings) for tag in ("parent", "child")]
    if not name or kind not in JOINT_TYPES or not all(ends):
        return None
    origin = child_of(element, "origin", where, findings)
    placement = IDENTITY
    if origin is not None:
        p, rotation = _read_origin(origin, where, findings)
        placement = Transform(() if rotation is None else (rotation,), p)
    joint = JointDescription(name, kind, ends[0], ends[1], placement)
    if kind == "fixed":
        return joint
    damping, friction, armature = _read_dynamics(element, where, findings)
    return JointDescription(
        name,
        "spherical" if kind == "ball" else kind,
        ends[0],
        ends[1],
        placement,
        _read_axis(element, kind, where, findings),
        _read_limits(element, kind, where, findings),
        damping,
        friction,
        armatures.get(name, 0.0) if armature is None else armature,
        _read_mimic(element, where, findings),
    )


def _read_end(element: ET.Element, tag: str, where: str, findings: Findings) -> str:
    end = child_of(element, tag, where, findings)
    if end is None:
        findings.error(where, f"has no <{tag}>")
        return ""
    return Reader(end, where, findings).name("link")


def _read_axis(element: ET.Element, kind: str, where: str, findings: Findings) -> Vec3:
    """The unit axis; (1, 0, 0) where none is given, as URDF says."""
    axis = child_of(element, "axis", where, findings)
    if axis is None:
        if kind not in ("floating", "spherical", "ball"):
            findings.warning(where, "has no <axis>", "URDF's default is x, (1, 0, 0)")
        return 1.0, 0.0, 0.0
    x, y, z = Reader(axis, where, findings).vector("xyz")
    length = math.hypot(x, y, z)
    if length < 1e-9:
        findings.error(where, f"<axis> xyz={axis.get('xyz')!r} has no direction")
        return 1.0, 0.0, 0.0
    if abs(length - 1.0) > 1e-3:
        findings.note(where, f"<axis> has length {length:.6g}", "it is normalised")
    return x / length, y / length, z / length


def _read_limits(element: ET.Element, kind: str, where: str, findings: Findings) -> Limits:
    limit = child_of(element, "limit", where, findings)
    bounded = kind in ("revolute", "prismatic")
    if limit is None:
        if bounded:
            findings.warning(where, "has no <limit>", "its position, speed and effort count as unlimited")
        return Limits()
    reader = Reader(limit, where, findings)
    lower, upper = reader.number("lower", 0.0, infinite=True), reader.number("upper", 0.0, infinite=True)
    if lower > upper and bounded:
        findings.error(where, f"has limits lower={lower:g} > upper={upper:g}")
    velocity = _not_negative(reader, "velocity", infinite=True, default=math.inf)
    effort = _not_negative(reader, "effort", infinite=True, default=math.inf)
    if not bounded:
        lower, upper = -math.inf, math.inf
    return Limits(lower, upper, velocity, effort)


def _read_dynamics(element: ET.Element, where: str, findings: Findings) -> tuple[float, float, float | None]:
    """Damping, Coulomb friction and rotor inertia seen at the joint (None where not given here)."""
    dynamics = child_of(element, "dynamics", where, findings)
    if dynamics is None:
        return 0.0, 0.0, None
    reader = Reader(dynamics, where, findings)
    damping, friction = (_not_negative(reader, key) for key in ("damping", "friction"))
    if "armature" in dynamics.keys():
        return damping, friction, _not_negative(reader, "armature")
    for key in ("rotor_inertia", "rotorInertia"):
        if key in dynamics.keys():
            ratio = reader.number("gear_ratio", 1.0)
            return damping, friction, _not_negative(reader, key) * ratio**2
    return damping, friction, None


def _not_negative(reader: Reader, key: str, infinite: bool = False, default: float = 0.0) -> float:
    value = reader.number(key, default, infinite)
    if value < 0.0:
        tag = local_tag(reader.element)
        reader.findings.error(reader.where, f"<{tag}> {key}={reader.element.get(key)!r} is negative")
    return value


def _read_mimic(element: ET.Element, where: str, findings: Findings) -> Mimic | None:
    mimic = child_of(element, "mimic", where, findings)
    if mimic is None:
        return None
    reader = Reader(mimic, where, findings)
    return Mimic(reader.name("joint"), reader.number("multiplier", 1.0), reader.number("offset", 0.0))
