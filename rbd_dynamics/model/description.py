"""What a URDF says that matters to dynamics, as plain data, with every number checked.

Only links, their inertials, joints and rotor inertias of transmissions are read; visuals,
collisions, materials, sensors and simulator tags are passed over, so nothing in them can make a
robot unusable. Nothing raises here: what is wrong is added to a list of findings, and the element
gets a harmless value, so that one run finds everything.
"""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.model import Limits, Mimic
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Mat3, Sym3, Vec3, rotate_sym, rotation_from_rpy

JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating", "spherical", "ball")
INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_XACRO = re.compile(r"<\s*xacro:|\$\{|\$\(")


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
    """A URDF as plain data, in file order."""

    name: str = "robot"
    links: list[LinkDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)


def read_description(source: str | os.PathLike[str], findings: Findings) -> Description:
    """Read a URDF, from a path or as XML text; what is wrong goes to `findings`."""
    root = _parse(source, findings)
    description = Description()
    if root is None:
        return description
    description.name = root.get("name") or "robot"
    armatures = _read_transmissions(root, findings)
    for element in root:
        kind = _local(element)
        if kind == "link":
            description.links.append(_read_link(element, findings))
        elif kind == "joint":
            joint = _read_joint(element, armatures, findings)
            if joint is not None:
                description.joints.append(joint)
    return description


# --- XML ----------------------------------------------------------------------------------------


def _parse(source: str | os.PathLike[str], findings: Findings) -> ET.Element | None:
    """The robot element, or None with a finding."""
    where = "robot description"
    text: str | bytes
    if isinstance(source, str) and not source.strip("\ufeff \t\r\n"):
        findings.error(where, "is empty")
        return None
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        text = source.lstrip("\ufeff \t\r\n")
    else:
        shown = str(source) if len(str(source)) < 200 else f"{str(source)[:60]}..."
        where = f"file {shown}"
        try:
            text = Path(source).read_bytes()
        except (OSError, ValueError, TypeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            findings.error(where, f"cannot be read: {reason}", "give a path or the XML text itself")
            return None
        if not text.strip():
            findings.error(where, "is empty")
            return None
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError, LookupError) as error:
        position = getattr(error, "position", None)
        reason = str(error).split(":")[0]
        at = f" at line {position[0]}, column {position[1] + 1}" if position else ""
        plain = text if isinstance(text, str) else text.decode(errors="replace")
        hint = "run xacro on it first" if _XACRO.search(plain) else ""
        findings.error(where, f"is not well-formed XML: {reason}{at}", hint)
        return None
    if _local(root) != "robot":
        findings.error(where, f"has <{_local(root)}> as its root element, expected <robot>")
        return None
    if any("xacro" in element.tag for element in root):
        findings.error(where, "contains xacro elements", "run xacro on it first")
        return None
    return root


def _local(element: ET.Element) -> str:
    """Tag without its namespace."""
    return element.tag.rpartition("}")[2]


def _child(element: ET.Element, tag: str, where: str, findings: Findings) -> ET.Element | None:
    """The first child of that tag; more than one is worth a warning."""
    found = [child for child in element if _local(child) == tag]
    if len(found) > 1:
        findings.warning(where, f"has {len(found)} <{tag}> elements", "the first counts")
    return found[0] if found else None


@dataclass(frozen=True)
class _Reader:
    """Reads the attributes of one element; `where` names the link or joint in findings."""

    element: ET.Element
    where: str
    findings: Findings

    def number(self, attribute: str, default: float | None = None, infinite: bool = False) -> float:
        """A number; without a default a missing attribute is an error, and then NaN is returned."""
        return self._numbers(attribute, 1, None if default is None else (default,), infinite)[0]

    def vector(self, attribute: str, default: Vec3 | None = None) -> Vec3:
        x, y, z = self._numbers(attribute, 3, default, infinite=False)
        return x, y, z

    def name(self, attribute: str) -> str:
        text = self.element.get(attribute)
        if not text:
            self._error(f"has no {attribute!r}" if text is None else f"has an empty {attribute!r}")
            return ""
        return self._expanded(attribute, text)

    def _numbers(
        self, attribute: str, count: int, default: tuple[float, ...] | None, infinite: bool
    ) -> tuple[float, ...]:
        unknown = (math.nan,) * count
        text = self.element.get(attribute)
        if text is None:
            if default is None:
                self._error(f"has no {attribute!r}")
            return unknown if default is None else default
        words = self._expanded(attribute, text).split()
        plural = "a number" if count == 1 else f"{count} numbers"
        if len(words) != count:
            self._error(f"{attribute}={text!r} is not {plural}")
            return unknown
        for word in words:
            if not (_NUMBER.fullmatch(word) or (infinite and _INFINITE.fullmatch(word))):
                self._error(f"{attribute}={text!r} is not {plural if count > 1 else 'a finite number'}")
                return unknown
        values = tuple(float(word) for word in words)
        if not infinite and not all(map(math.isfinite, values)):
            self._error(f"{attribute}={text!r} is not finite")
            return unknown
        return values

    def _expanded(self, attribute: str, text: str) -> str:
        if "${" in text or "$(" in text:
            self._error(f"{attribute}={text!r} has not been expanded", "run xacro on it first")
        return text

    def _error(self, message: str, hint: str = "") -> None:
        self.findings.error(self.where, f"<{_local(self.element)}> {message}", hint)


# --- links --------------------------------------------------------------------------------------


def _read_link(element: ET.Element, findings: Findings) -> LinkDescription:
    name = _Reader(element, "a link", findings).name("name")
    where = f"link {name!r}"
    inertial = _child(element, "inertial", where, findings)
    return LinkDescription(name, None if inertial is None else _read_inertial(inertial, where, findings))


def _read_inertial(element: ET.Element, where: str, findings: Findings) -> Inertial:
    mass_element = _child(element, "mass", where, findings)
    inertia_element = _child(element, "inertia", where, findings)
    origin = _child(element, "origin", where, findings)
    com: Vec3 = (0.0, 0.0, 0.0)
    rotation: Mat3 | None = None
    if origin is not None:
        com, rotation = _read_origin(origin, where, findings)
    mass = 0.0
    if mass_element is None:
        findings.error(where, "its <inertial> has no <mass>")
    else:
        mass = _Reader(mass_element, where, findings).number("value")
    rotational: Sym3 = (0.0,) * 6
    if inertia_element is None:
        findings.error(where, "its <inertial> has no <inertia>", "give zeros for a point mass")
    else:
        reader = _Reader(inertia_element, where, findings)
        rotational = tuple(reader.number(entry) for entry in INERTIA_ENTRIES)
    return Inertial(mass, com, rotate_sym(rotation, rotational) if rotation is not None else rotational)


def _read_origin(element: ET.Element, where: str, findings: Findings) -> tuple[Vec3, Mat3 | None]:
    """Position and rotation, None for no rotation."""
    reader = _Reader(element, where, findings)
    xyz = reader.vector("xyz", (0.0, 0.0, 0.0))
    roll, pitch, yaw = reader.vector("rpy", (0.0, 0.0, 0.0))
    if (roll, pitch, yaw) == (0.0, 0.0, 0.0):
        return xyz, None
    return xyz, tuple(map(_without_rounding, rotation_from_rpy(roll, pitch, yaw)))


def _without_rounding(entry: float) -> float:
    """Entries of a rotation that are 0, 1 or -1 but for rounding, made so: specialised code drops them."""
    nearest = round(entry) if math.isfinite(entry) else entry
    return float(nearest) if abs(entry - nearest) < 1e-15 else entry


# --- joints -------------------------------------------------------------------------------------


def _read_joint(element: ET.Element, armatures: dict[str, float], findings: Findings) -> JointDescription | None:
    reader = _Reader(element, "a joint", findings)
    name = reader.name("name")
    where = f"joint {name!r}"
    kind = _Reader(element, where, findings).name("type")
    if kind and kind not in JOINT_TYPES:
        findings.error(where, f"has the unknown type {kind!r}", f"known: {', '.join(JOINT_TYPES)}")
    ends = [_read_end(element, tag, where, findings) for tag in ("parent", "child")]
    if kind not in JOINT_TYPES or not all(ends):
        return None
    origin = _child(element, "origin", where, findings)
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
    end = _child(element, tag, where, findings)
    if end is None:
        findings.error(where, f"has no <{tag}>")
        return ""
    return _Reader(end, where, findings).name("link")


def _read_axis(element: ET.Element, kind: str, where: str, findings: Findings) -> Vec3:
    """The unit axis; (1, 0, 0) where none is given, as URDF says."""
    axis = _child(element, "axis", where, findings)
    if axis is None:
        if kind not in ("floating", "spherical", "ball"):
            findings.warning(where, "has no <axis>", "URDF's default is x, (1, 0, 0)")
        return 1.0, 0.0, 0.0
    x, y, z = _Reader(axis, where, findings).vector("xyz")
    length = math.hypot(x, y, z)
    if length < 1e-9:
        findings.error(where, f"<axis> xyz={axis.get('xyz')!r} has no direction")
        return 1.0, 0.0, 0.0
    if abs(length - 1.0) > 1e-3:
        findings.note(where, f"<axis> has length {length:.6g}", "it is normalised")
    return x / length, y / length, z / length


def _read_limits(element: ET.Element, kind: str, where: str, findings: Findings) -> Limits:
    limit = _child(element, "limit", where, findings)
    bounded = kind in ("revolute", "prismatic")
    if limit is None:
        if bounded:
            findings.warning(where, "has no <limit>", "its position, speed and effort count as unlimited")
        return Limits()
    reader = _Reader(limit, where, findings)
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
    dynamics = _child(element, "dynamics", where, findings)
    if dynamics is None:
        return 0.0, 0.0, None
    reader = _Reader(dynamics, where, findings)
    damping, friction = (_not_negative(reader, key) for key in ("damping", "friction"))
    if "armature" in dynamics.keys():
        return damping, friction, _not_negative(reader, "armature")
    for key in ("rotor_inertia", "rotorInertia"):
        if key in dynamics.keys():
            ratio = reader.number("gear_ratio", 1.0)
            return damping, friction, _not_negative(reader, key) * ratio**2
    return damping, friction, None


def _not_negative(reader: _Reader, key: str, infinite: bool = False, default: float = 0.0) -> float:
    value = reader.number(key, default, infinite)
    if value < 0.0:
        tag = _local(reader.element)
        reader.findings.error(reader.where, f"<{tag}> {key}={reader.element.get(key)!r} is negative")
    return value


def _read_mimic(element: ET.Element, where: str, findings: Findings) -> Mimic | None:
    mimic = _child(element, "mimic", where, findings)
    if mimic is None:
        return None
    reader = _Reader(mimic, where, findings)
    return Mimic(reader.name("joint"), reader.number("multiplier", 1.0), reader.number("offset", 0.0))


# --- transmissions ------------------------------------------------------------------------------


def _read_transmissions(root: ET.Element, findings: Findings) -> dict[str, float]:
    """Rotor inertia seen at each joint, for simple transmissions (one joint, one actuator) that give it.

    An actuator's `rotor_inertia`, or `rotorInertia` (Drake writes drake:rotor_inertia), counts times
    the square of its `gear_ratio` or of the `mechanicalReduction` of the actuator or the joint. A
    value is the element's text or its `value`.
    """
    found: dict[str, float] = {}
    for transmission in root:
        if _local(transmission) != "transmission":
            continue
        joints = [e for e in transmission if _local(e) == "joint"]
        actuators = [e for e in transmission if _local(e) == "actuator"]
        inertias = [e for a in actuators for e in a if _local(e) in ("rotor_inertia", "rotorInertia")]
        if not inertias:
            continue
        where = f"transmission {transmission.get('name', '')!r}"
        if len(joints) != 1 or len(inertias) != 1:
            findings.warning(where, "couples several joints or actuators", "their rotor inertia is not used")
            continue
        ratios = [
            _value_of(e, where, findings)
            for owner in (*actuators, *joints)
            for e in owner
            if _local(e) in ("gear_ratio", "mechanicalReduction")
        ]
        inertia = _value_of(inertias[0], where, findings)
        if inertia < 0.0:
            findings.error(where, f"has the negative rotor inertia {inertia:g}")
        joint = joints[0].get("name", "")
        found[joint] = found.get(joint, 0.0) + inertia * (ratios[0] ** 2 if ratios else 1.0)
    return found


def _value_of(element: ET.Element, where: str, findings: Findings) -> float:
    holder = ET.Element(_local(element), {"value": element.get("value") or (element.text or "").strip()})
    return _Reader(holder, where, findings).number("value")
