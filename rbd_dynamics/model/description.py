# SPDX-License-Identifier: Apache-2.0
"""What a URDF says that matters to dynamics, as plain data, with every number checked.

Only links, their inertials, joints and rotor inertias of transmissions are read; visuals, collisions,
materials, sensors and simulator tags are passed over, so nothing in them can make a robot unusable.
Nothing raises here: what is wrong is added to a list of findings, and the element gets a harmless
value, so that one run finds everything.
"""

from __future__ import annotations

import math
import os
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.elements import Number, Reader, local_tag, name_of, parse_robot
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.model.model import Limits, Mimic
from rbd_dynamics.model.passive_forces import PassiveForce, Spring
from rbd_dynamics.model.urdf_reading.drives import GearedRotor, geared_rotors, read_drive
from rbd_dynamics.model.urdf_reading.loops import read_loop
from rbd_dynamics.model.urdf_reading.parser import (
    Origin,
    Parts,
    read_axis,
    read_dynamics,
    read_inertial,
    read_limit,
    read_mimic,
)
from rbd_dynamics.model.urdf_reading.versions import acceleration_limits, check_range, version_of
from rbd_dynamics.model.urdf_reading.vocabulary import report_unused
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import ZERO3, Mat3, Sym3, Vec3, rotate_sym, rotation_about, rotation_from_rpy

JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating", "spherical", "ball")
LARGEST = sys.float_info.max
LARGEST_ANGLE = 6.0 * math.pi  # rad: of a placement, beyond which it looks like degrees
#: a parent link that need not be declared: the world, as in Drake
UNDECLARED = "world"
_AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Inertial:
    """A link's inertial: mass kg, centre of mass in the link frame m, inertia about it, link axes, kg m^2."""

    mass: float
    com: Vec3
    rotational: Sym3

    @property
    def inertia(self) -> RigidInertia:
        """The inertia at the link frame."""
        return RigidInertia.from_com(self.mass, self.com, self.rotational)


@dataclass
class LinkDescription:
    name: str
    inertial: Inertial | None = None


@dataclass
class JointDescription:
    """A joint as a file has it. Beyond URDF: a `kind` where `type` says too little, a pose of the child link."""

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
    passive: tuple[PassiveForce, ...] = ()
    drive: Drive | None = None
    kind: JointKind | None = None
    child_origin: Transform = IDENTITY  # of the child link in the frame that the joint moves


@dataclass
class Description:
    """A file as plain data, in its order. Not `complete`: some link or joint could not be read."""

    name: str = "robot"
    links: list[LinkDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    complete: bool = True


def read_description(source: str | os.PathLike[str], findings: Findings) -> Description:
    """Read a URDF, from a path or as XML text; what is wrong goes to `findings`."""
    parsed = parse_robot(source, findings)
    return Description(complete=False) if parsed is None else description_of(parsed[0], findings, content=parsed[1])


def description_of(root: ET.Element, findings: Findings, *, content: str | bytes | None = None) -> Description:
    """What a <robot> element says; what is wrong goes to `findings`. content: the text of it, for lines."""
    description = Description()
    description.name = root.get("name") or "robot"
    version = version_of(root, findings)
    rotors = geared_rotors(root, findings)
    for element in root:
        kind = local_tag(element)
        if kind == "link":
            link = _read_link(element, version, findings)
            description.links.append(link)
            description.complete &= bool(link.name)
        elif kind == "joint":
            joint = _read_joint(element, rotors.get(element.get("name", "")), version, findings)
            if joint is not None:
                description.joints.append(joint)
            description.complete &= joint is not None
        elif kind == "loop":
            loop = read_loop(element, version, findings)
            if loop is not None:
                description.loops.append(loop)
    ends = [joint.parent for joint in description.joints]
    if UNDECLARED in ends and UNDECLARED not in {link.name for link in description.links}:
        description.links.insert(0, LinkDescription(UNDECLARED))
    report_unused(root, content, version, findings)
    return description


# --- links --------------------------------------------------------------------------------------


def _read_link(element: ET.Element, version: str, findings: Findings) -> LinkDescription:
    name = name_of(element, "name", "a link", findings)
    where = f"link {name!r}"
    inertial = read_inertial(Parts(element, where, findings, version), where, findings, version)
    if inertial is None:
        return LinkDescription(name)
    _check_angles(where, inertial.origin, findings)
    com, rotation = _placement(inertial.origin)
    rotational = inertial.inertia if rotation is None else rotate_sym(rotation, inertial.inertia)
    return LinkDescription(name, Inertial(inertial.mass, com, rotational))


def _placement(origin: Origin) -> tuple[Vec3, Mat3 | None]:
    """Position and rotation, None for no rotation."""
    if origin.turned is not None:
        return origin.xyz, without_rounding(origin.turned)
    if origin.rpy == ZERO3:
        return origin.xyz, None
    turns = [k for k, angle in enumerate(origin.rpy) if angle]
    if len(turns) == 1:  # nearly always
        return origin.xyz, without_rounding(rotation_about(_AXES[turns[0]], origin.rpy[turns[0]]))
    return origin.xyz, without_rounding(rotation_from_rpy(*origin.rpy))


def _check_angles(where: str, origin: Origin, findings: Findings) -> None:
    if origin.rpy != ZERO3 and (large := [angle for angle in origin.rpy if abs(angle) > LARGEST_ANGLE]):
        findings.warning(where, f"<origin> has the angle {large[0]:g} in rpy", "is the unit rad?")


def without_rounding(rotation: Mat3) -> Mat3:
    """A rotation in which entries that are 0, 1 or -1 but for rounding are made so."""
    return tuple([entry if 1e-15 <= abs(entry) <= 0.999 else _clean(entry) for entry in rotation])


def _clean(entry: float) -> float:
    if entry == 0.0 or not math.isfinite(entry):
        return 0.0 if entry == 0.0 else entry
    nearest = round(entry)
    return float(nearest) if abs(entry - nearest) < 1e-15 else entry


# --- joints -------------------------------------------------------------------------------------


def _read_joint(
    element: ET.Element, rotor: GearedRotor | None, version: str, findings: Findings
) -> JointDescription | None:
    name = name_of(element, "name", "a joint", findings)
    where = f"joint {name!r}"
    kind = name_of(element, "type", where, findings)
    if kind and kind not in JOINT_TYPES:
        findings.error(where, f"has the unknown type {excerpt(kind)}", f"known: {', '.join(JOINT_TYPES)}")
    parts = Parts(element, where, findings, version)
    parent, child = parts.name("parent", "link"), parts.name("child", "link")
    if not (name and parent and child) or kind not in JOINT_TYPES:
        return None
    origin = parts.origin()
    _check_angles(where, origin, findings)
    p, rotation = _placement(origin)
    placement = Transform(() if rotation is None else (rotation,), p)
    if kind == "fixed":
        return JointDescription(name, kind, parent, child, placement)
    mimic = read_mimic(parts)
    damping, friction, armature = _dynamics(parts, where, findings)
    if armature is not None and rotor is not None and not math.isclose(armature, rotor.inertia):
        findings.defect(
            where,
            f"<dynamics> gives {armature:g} as its armature and a transmission {rotor.inertia:g}, which is left out",
        )
    dynamics = parts.get("dynamics")
    return JointDescription(
        name,
        "spherical" if kind == "ball" else kind,
        parent,
        child,
        placement,
        axis=_axis(parts, kind, where, findings),
        limits=_limits(parts, kind, version, where, findings),
        damping=damping,
        friction=friction,
        armature=(rotor.inertia if rotor else 0.0) if armature is None else armature,
        mimic=mimic and Mimic(mimic.joint, multiplier=mimic.multiplier, offset=mimic.offset),
        passive=_spring(dynamics, kind, where, findings),
        drive=read_drive(dynamics, kind, rotor if armature is None else None, where, findings),
    )


def _axis(parts: Parts, kind: str, where: str, findings: Findings) -> Vec3:
    """The unit axis; (1, 0, 0) where none is given, as URDF says."""
    xyz, element = read_axis(parts), parts.get("axis")
    if xyz is None or element is None:
        if kind not in ("floating", "spherical", "ball"):
            findings.warning(where, "has no <axis>", "URDF's default is x, (1, 0, 0)")
        return 1.0, 0.0, 0.0
    x, y, z = xyz
    length = math.hypot(x, y, z)
    if length < 1e-9:
        findings.error(where, f"<axis> xyz={excerpt(element.get('xyz'))} has no direction")
        return 1.0, 0.0, 0.0
    if abs(length - 1.0) > 1e-3:
        findings.note(where, f"<axis> has length {length:.6g}", "it is normalised")
    return x / length, y / length, z / length


def _limits(parts: Parts, kind: str, version: str, where: str, findings: Findings) -> Limits:
    bounded = kind in ("revolute", "prismatic")
    limit, element = read_limit(parts), parts.get("limit")
    if limit is None or element is None:
        if bounded:
            findings.warning(where, "has no <limit>", "its position, speed and effort count as unlimited")
        return Limits()
    check_range(element, kind, version, where, findings)
    lower, upper = (_or_none(limit.lower), _or_none(limit.upper)) if bounded else (-math.inf, math.inf)
    if lower > upper:
        findings.error(where, f"has limits lower={lower:g} > upper={upper:g}")
    _check_not_negative(limit.velocity, element, "velocity", where, findings)
    _check_not_negative(limit.effort, element, "effort", where, findings)
    accelerations = acceleration_limits(element, version, where, findings)
    further = {key: _or_none(value) for key, value in accelerations.items()} if accelerations else {}
    return Limits(lower=lower, upper=upper, velocity=_or_none(limit.velocity), effort=_or_none(limit.effort), **further)


def _or_none(limit: float) -> float:
    """The largest float is how a URDF says that there is none: other readers do not take "inf"."""
    return math.copysign(math.inf, limit) if abs(limit) == LARGEST else limit


def _dynamics(parts: Parts, where: str, findings: Findings) -> tuple[float, float, float | None]:
    """Damping, Coulomb friction and rotor inertia seen at the joint, which is no part of URDF: None where it is not
    given here."""
    element = parts.get("dynamics")
    if element is None:
        return 0.0, 0.0, None
    damping, friction = read_dynamics(parts)
    _check_not_negative(damping, element, "damping", where, findings)
    _check_not_negative(friction, element, "friction", where, findings)
    reader = Reader(element, where, findings)
    for key in ("armature", "rotor_inertia", "rotorInertia"):
        if key in element.attrib:
            ratio = 1.0 if key == "armature" else reader.number("gear_ratio", Number(default="1"))
            inertia = reader.number(key, Number())
            _check_not_negative(inertia, element, key, where, findings)
            return damping, friction, inertia * ratio * ratio
    return damping, friction, None


def _spring(element: ET.Element | None, kind: str, where: str, findings: Findings) -> tuple[PassiveForce, ...]:
    """Springs are no part of URDF: the attributes have the names that SDFormat has for them."""
    if element is None or "spring_stiffness" not in element.attrib:
        return ()
    reader = Reader(element, where, findings)
    stiffness = reader.number("spring_stiffness", Number())
    rest = reader.number("spring_reference", Number(default="0"))
    _check_not_negative(stiffness, element, "spring_stiffness", where, findings)
    if kind not in ("revolute", "continuous", "prismatic"):
        findings.error(where, f"is {kind}, which cannot have a spring")
    sound = math.isfinite(stiffness) and math.isfinite(rest) and stiffness > 0.0
    return (Spring(stiffness, rest=rest),) if sound else ()


def _check_not_negative(value: float, element: ET.Element, key: str, where: str, findings: Findings) -> None:
    if value < 0.0:
        findings.error(where, f"<{local_tag(element)}> {key}={excerpt(element.get(key))} is negative")
