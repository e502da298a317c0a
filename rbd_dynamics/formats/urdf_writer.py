# SPDX-License-Identifier: Apache-2.0
"""Writes a `Model` as a URDF of which `load_urdf` makes the same dynamics.

A body is a link at its joint's frame with all of its inertia; every other frame is a link without mass, fixed to it.
Numbers are written with all their digits.
"""

from __future__ import annotations

import math
import os
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.checks import about_com
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import Continuous, Floating, JointKind, Planar, Prismatic, Revolute, Spherical
from rbd_dynamics.model.loops import HELD, Loop
from rbd_dynamics.model.model import WORLD, Body, Frame, Joint, Model
from rbd_dynamics.model.passive_forces import Spring
from rbd_dynamics.model.urdf_drives import drive_attributes
from rbd_dynamics.model.urdf_parser import INERTIA_ENTRIES
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Mat3

#: the URDF types of joints; whether they have an axis, and position limits
_TYPES: dict[type[JointKind], tuple[str, bool, bool]] = {
    Revolute: ("revolute", True, True),
    Continuous: ("continuous", True, False),
    Prismatic: ("prismatic", True, True),
    Planar: ("planar", True, False),
    Spherical: ("spherical", False, False),
    Floating: ("floating", False, False),
}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ROOT = "world"
_SINCE_1_2 = ("acceleration", "deceleration", "jerk")


def write_urdf(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a URDF file, as `model_to_urdf` has it. Raises ModelError, OSError."""
    Path(path).write_text(model_to_urdf(model), encoding="utf-8")


def model_to_urdf(model: Model) -> str:
    """The text of a URDF, of which `load_urdf` makes a model with the same dynamics (docs/model_format.md).

    A floating base becomes the root link: load it with base="floating". A URDF says nothing about gravity and has
    the joints depth first. Raises ModelError, which names the culprit, for what no URDF can say: joints with
    screws, cams and chains, passive forces other than one spring, names that are there twice.
    """
    robot = ET.Element("robot", name=model.name)
    names = _Names(model)
    first = model.bodies[0] if model.bodies else None
    floats = model.base == "floating" and first is not None and _is_base(first)
    if floats and (len(model.bodies) > 1 and any(body.parent == WORLD for body in model.bodies[1:])):
        raise ModelError(f"joint {first.joint.name!r}: a URDF's floating base carries all that moves")  # type: ignore[union-attr]
    if not floats:
        _link(robot, names.root, model.fixed_inertia)
        _fixed_links(robot, model, names, WORLD)
    elif model.fixed_inertia != RigidInertia():
        raise ModelError(f"robot {model.name!r}: beside a floating base, a URDF has nothing that is fixed to the world")
    for index in _depth_first(model, WORLD):
        body = model.bodies[index]
        _link(robot, names.links[index], body.inertia)
        if not (floats and index == 0):
            parent = names.root if body.parent == WORLD else names.links[body.parent]
            _joint(robot, body, parent, names.links[index])
        _fixed_links(robot, model, names, index)
    for loop in model.loops:
        _loop(robot, loop, names)
    _check_texts(robot)
    ET.indent(robot)
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


class _Names:
    """What the links are called: a body's own name where its link's frame is the body's."""

    def __init__(self, model: Model) -> None:
        self.taken = Counter(frame.name for frame in model.frames if frame.element == "link")
        for name, count in self.taken.items():
            if count > 1:
                raise ModelError(f"link {name!r} is there {count} times, in a URDF it is there once")
        at_body = {frame.name: frame.body for frame in model.frames if _is_link(frame) and frame.placement == IDENTITY}
        self.links = [
            body.name if at_body.get(body.name, index if body.name not in self.taken else None) == index
            else self.new(f"{body.name}_body")
            for index, body in enumerate(model.bodies)
        ]  # fmt: skip
        fixed = [name for name, body in at_body.items() if body == WORLD]
        self.root = fixed[0] if fixed else self.new(_ROOT)
        self.taken.update(self.links)
        self.joints = {body.joint.name for body in model.bodies}

    def new(self, name: str) -> str:
        """A name like this one that is not there yet."""
        while name in self.taken:
            name += "_"
        self.taken[name] += 1
        return name

    def new_joint(self, name: str) -> str:
        while name in self.joints:
            name += "_"
        self.joints.add(name)
        return name


def _is_link(frame: Frame) -> bool:
    return frame.element == "link"


def _is_base(body: Body) -> bool:
    joint = body.joint
    plain = not (joint.damping or joint.friction or joint.armature or joint.passive)
    return isinstance(joint.kind, Floating) and body.parent == WORLD and body.placement == IDENTITY and plain


def _depth_first(model: Model, root: int) -> Iterator[int]:
    roots = [k for k, body in enumerate(model.bodies) if body.parent == root]
    waiting = roots[::-1]
    while waiting:
        index = waiting.pop()
        yield index
        waiting.extend(reversed(model.children[index]))


def _link(robot: ET.Element, name: str, inertia: RigidInertia) -> None:
    link = ET.SubElement(robot, "link", name=name)
    if inertia == RigidInertia():
        return
    mass = inertia.mass
    if mass == 0.0 and any(inertia.moment):
        raise ModelError(f"link {name!r} has a first moment but no mass, which a URDF cannot say")
    inertial = ET.SubElement(link, "inertial")
    com = [entry / mass if mass else 0.0 for entry in inertia.moment]
    ET.SubElement(inertial, "origin", xyz=_text(com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=_text([mass]))
    moments = (_text([entry]) for entry in about_com(inertia))
    ET.SubElement(inertial, "inertia", dict(zip(INERTIA_ENTRIES, moments)))


def _fixed_links(robot: ET.Element, model: Model, names: _Names, index: int) -> None:
    """The frames of a body, or of the world, but for its own link."""
    own = names.root if index == WORLD else names.links[index]
    moving = {body.joint.name for body in model.bodies}
    named: str | None = None  # joint frame whose link comes next
    for frame in model.frames:
        if frame.body != index:
            continue
        if frame.element == "joint":
            named = frame.name if frame.name not in moving else None
            if named is not None and not _has_link(model, frame):
                _fixed_link(robot, own, names.new(f"{frame.name}_link"), names.new_joint(frame.name), frame.placement)
                named = None
        elif frame.name != own:
            joint = names.new_joint(named or f"{frame.name}_fixed")
            _fixed_link(robot, own, frame.name, joint, frame.placement)
            named = None


def _has_link(model: Model, frame: Frame) -> bool:
    """Whether the next frame is that of the link that this fixed joint holds."""
    after = model.frames.index(frame) + 1
    return after < len(model.frames) and model.frames[after] == Frame(
        model.frames[after].name, frame.body, placement=frame.placement, element="link"
    )


def _fixed_link(robot: ET.Element, parent: str, name: str, joint: str, placement: Transform) -> None:
    ET.SubElement(robot, "link", name=name)
    element = ET.SubElement(robot, "joint", name=joint, type="fixed")
    _ends(element, parent, name, placement)


def _ends(element: ET.Element, parent: str, child: str, placement: Transform) -> None:
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    _origin(element, placement)


def _origin(element: ET.Element, placement: Transform) -> None:
    rpy = roll_pitch_yaw(placement.rotation) if placement.factors else (0.0, 0.0, 0.0)
    ET.SubElement(element, "origin", xyz=_text(placement.p), rpy=_text(rpy))


def _joint(robot: ET.Element, body: Body, parent: str, child: str) -> None:
    joint, kind = body.joint, body.joint.kind
    where = f"joint {joint.name!r}"
    if type(kind) not in _TYPES:
        raise ModelError(f"{where} is {kind.name}, which no URDF joint is")
    name, has_axis, bounded = _TYPES[type(kind)]
    lower, upper = joint.limits.lower, joint.limits.upper
    if isinstance(kind, Revolute):
        bounded = math.isfinite(lower) or math.isfinite(upper)
        name = "revolute" if bounded else "continuous"
    if not bounded and (math.isfinite(lower) or math.isfinite(upper)):
        raise ModelError(f"{where} is {kind.name} and has position limits, which a URDF cannot say")
    element = ET.SubElement(robot, "joint", name=joint.name, type=name)
    _ends(element, parent, child, body.placement)
    if has_axis:
        ET.SubElement(element, "axis", xyz=_text(kind.axis))  # type: ignore[attr-defined]
    limits = {"lower": lower, "upper": upper} if bounded else {}
    limits |= {"effort": joint.limits.effort, "velocity": joint.limits.velocity}
    newer = {key: value for key in _SINCE_1_2 if math.isfinite(value := getattr(joint.limits, key))}
    if newer:
        robot.set("version", "1.2")
        limits |= newer
    if bounded or any(map(math.isfinite, limits.values())):
        largest = sys.float_info.max  # for none: "inf" is not taken by other readers
        ET.SubElement(element, "limit", {key: _text([max(-largest, min(x, largest))]) for key, x in limits.items()})
    dynamics = {key: _text([value]) for key, value in _dynamics(joint, where).items()} | drive_attributes(joint.drive)
    if dynamics:
        ET.SubElement(element, "dynamics", dynamics)
    if joint.mimic is not None:
        mimic = {key: _text([getattr(joint.mimic, key)]) for key in ("multiplier", "offset")}
        ET.SubElement(element, "mimic", {"joint": joint.mimic.leader} | mimic)


def _dynamics(joint: Joint, where: str) -> dict[str, float]:
    found = {key: getattr(joint, key) for key in ("damping", "friction", "armature") if getattr(joint, key)}
    for force in joint.passive:
        if not isinstance(force, Spring) or "spring_stiffness" in found:
            raise ModelError(f"{where} has a {force.name} beside what a URDF can say: damping, friction and one spring")
        if force.stiffness:
            found |= {"spring_stiffness": force.stiffness, "spring_reference": force.rest}
    return found


def _loop(robot: ET.Element, loop: Loop, names: _Names) -> None:
    kind = next((kind for kind, held in HELD.items() if held == loop.directions), None)
    if kind is None:
        raise ModelError(f"loop {loop.name!r} holds {', '.join(loop.directions)}, which no joint of a URDF does")
    element = ET.SubElement(robot, "loop", name=loop.name, type=kind)
    for tag, link, placement in (
        ("predecessor", loop.reference, loop.reference_placement),
        ("successor", loop.frame, loop.placement),
    ):
        _origin(ET.SubElement(element, tag, link=link), placement)
    ET.SubElement(element, "axis", xyz="0 0 1")


def roll_pitch_yaw(rotation: Mat3) -> tuple[float, float, float]:
    """Angles of which `rotation_from_rpy` makes that rotation, to rounding, also where the pitch is a quarter turn."""
    r00, r01, r02, r10, r11, r12, r20, _, _ = map(float, rotation)
    yaw = math.atan2(r10, r00)
    c, s = math.cos(yaw), math.sin(yaw)
    return math.atan2(s * r02 - c * r12, c * r11 - s * r01), math.atan2(-r20, c * r00 + s * r10), yaw


def _text(numbers: Sequence[float]) -> str:
    return " ".join(repr(float(x) + 0.0) for x in numbers)  # no -0


def _check_texts(robot: ET.Element) -> None:
    for element in robot.iter():
        for text in element.attrib.values():
            if _NO_XML.search(text):
                raise ModelError(f"{excerpt(text)} has a character that XML cannot hold")
