# SPDX-License-Identifier: Apache-2.0
"""Writes a `Model` as a URDF of which `load_urdf` makes the same dynamics.

A body is a link at its joint's frame with all of its inertia; every other frame is a link without mass, fixed to it.
Numbers are written with all their digits.
"""

from __future__ import annotations

import math
import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from rbd_dynamics.formats.changes import LIMITS, tell, tell_of_frames, tell_of_limits, tell_of_names
from rbd_dynamics.formats.shapes_written import WrittenShapes
from rbd_dynamics.formats.writing import (
    LinkNames,
    angles_of,
    depth_first,
    document,
    fixed_links,
    is_free,
    is_plain,
    spring_of,
    text_of,
)
from rbd_dynamics.model.assembly import inertial_of
from rbd_dynamics.model.description import UNDECLARED
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import Continuous, Floating, JointKind, Planar, Prismatic, Revolute, Spherical
from rbd_dynamics.model.loops import HELD, Loop
from rbd_dynamics.model.model import EARTH, WORLD, Body, Joint, Model
from rbd_dynamics.model.urdf import ROOT_JOINT
from rbd_dynamics.model.urdf_reading.drives import drive_attributes
from rbd_dynamics.model.urdf_reading.parser import INERTIA_ENTRIES
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform

#: the URDF types of joints; whether they have an axis, and position limits
_TYPES: dict[type[JointKind], tuple[str, bool, bool]] = {
    Revolute: ("revolute", True, True),
    Continuous: ("continuous", True, False),
    Prismatic: ("prismatic", True, True),
    Planar: ("planar", True, False),
    Spherical: ("spherical", False, False),
    Floating: ("floating", False, False),
}
_A_FILE = "a URDF"
_SINCE_1_2 = ("acceleration", "deceleration", "jerk")


def write_urdf(model: Model, path: str | os.PathLike[str], *, shapes: bool = True) -> None:
    """Write a model to a URDF file, as `model_to_urdf` has it. Raises ModelError, OSError."""
    Path(path).write_text(model_to_urdf(model, shapes=shapes), encoding="utf-8")


def model_to_urdf(model: Model, *, shapes: bool = True) -> str:
    """The text of a URDF, of which `load_urdf` makes a model with the same dynamics (docs/model_format.md).

    A floating base that does nothing by itself becomes the root link: load it with base="floating", which makes its
    joint "root_joint". One with damping, friction, armature or a spring is a floating joint on a link without mass, and
    loads with either base; so is one beside others on the world, which loads with base="fixed". Joints come depth
    first; a revolute joint without limits is a continuous one.

    Raises ModelError, which names the culprit, for what no URDF can say: joints with screws, cams and chains, passive
    forces other than one spring, names that are there twice. A ModelWarning tells of a spherical joint (`load_urdf` and
    Drake know it, urdfdom, of ROS and Pinocchio, does not), that the base floats, gravity other than (0, 0, -9.81)
    m/s^2, names and an order of joints that are not the model's, and limits and frames that are left out.

    shapes: with those of the file that the model was read from, if it is there.
    """
    looks = WrittenShapes(model, wanted=shapes)
    robot = ET.Element("robot", name=model.name)
    names, order = LinkNames(model), depth_first(model)
    floats = _is_root(model)
    if not floats:
        _link(robot, names.root, model.fixed_inertia, looks)
        _fixed_links(robot, model, names, WORLD, looks)
    for index in order:
        body = model.bodies[index]
        _link(robot, names.links[index], body.inertia, looks)
        if not (floats and index == 0):
            _joint(robot, body, names.of(body.parent), names.links[index])
        _fixed_links(robot, model, names, index, looks)
    for loop in model.loops:
        _loop(robot, loop)
    looks.tell()
    tell_of_names(model, order, names, _A_FILE, joints={}, fixed=True)
    if floats:
        _tell_of_the_base(model)
    if model.gravity != EARTH:
        x, y, z = model.gravity
        told = f"gravity ({x:g}, {y:g}, {z:g}) is left out, which a URDF cannot say: who loads it has to give it"
        tell(f"robot {model.name!r}: {told}")
    return document(robot)


def _is_root(model: Model) -> bool:
    """Whether there is a floating base that does nothing by itself, and nothing beside it."""
    if model.base != "floating" or not model.bodies or model.fixed_inertia != RigidInertia():
        return False
    if any(UNDECLARED in (loop.reference, loop.frame) for loop in model.loops):
        return False
    first, *others = model.bodies
    return is_free(first) and is_plain(first.joint) and all(body.parent != WORLD for body in others)


def _tell_of_the_base(model: Model) -> None:
    """What a URDF cannot say of its root link."""
    joint = model.bodies[0].joint
    called = "" if joint.name == ROOT_JOINT else f", and joint {joint.name!r} is {ROOT_JOINT!r} then"
    tell(f'robot {model.name!r}: floats, which a URDF cannot say: who loads it has to give base="floating"{called}')
    tell_of_limits([joint], LIMITS, "limits of a floating base", _A_FILE)
    lost = [frame.name for frame in model.frames if frame.body == WORLD and frame.name != UNDECLARED]
    tell_of_frames(lost, "fixed to the world beside a floating base", _A_FILE)


def _link(robot: ET.Element, name: str, inertia: RigidInertia, looks: WrittenShapes) -> None:
    link = ET.SubElement(robot, "link", name=name)
    looks.add_to_urdf_link(link, name)
    if inertia == RigidInertia():
        return
    mass = inertia.mass
    if mass == 0.0 and any(inertia.moment):
        raise ModelError(f"link {name!r} has a first moment but no mass, which a URDF cannot say")
    inertial = ET.SubElement(link, "inertial")
    about = inertial_of(inertia)
    ET.SubElement(inertial, "origin", xyz=text_of(about.com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=text_of([mass]))
    moments = (text_of([entry]) for entry in about.rotational)
    ET.SubElement(inertial, "inertia", dict(zip(INERTIA_ENTRIES, moments)))


def _fixed_links(robot: ET.Element, model: Model, names: LinkNames, index: int, looks: WrittenShapes) -> None:
    for link in fixed_links(model, names, index):
        looks.add_to_urdf_link(ET.SubElement(robot, "link", name=link.name), link.name)
        joint = names.new_joint(link.joint or f"{link.name}_fixed")
        _ends(ET.SubElement(robot, "joint", name=joint, type="fixed"), names.of(index), link.name, link.placement)


def _ends(element: ET.Element, parent: str, child: str, placement: Transform) -> None:
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    _origin(element, placement)


def _origin(element: ET.Element, placement: Transform) -> None:
    ET.SubElement(element, "origin", xyz=text_of(placement.p), rpy=angles_of(placement))


def _joint(robot: ET.Element, body: Body, parent: str, child: str) -> None:
    joint, kind = body.joint, body.joint.kind
    where = f"joint {joint.name!r}"
    if type(kind) not in _TYPES:
        raise ModelError(f"{where} is {kind.name}, which no URDF joint is")
    name, has_axis, bounded = _TYPES[type(kind)]
    if isinstance(kind, Spherical):
        tell(f"{where} is spherical, which load_urdf and Drake read, and urdfdom (ROS, Pinocchio) refuses")
    lower, upper = joint.limits.lower, joint.limits.upper
    if isinstance(kind, Revolute):
        bounded = math.isfinite(lower) or math.isfinite(upper)
        name = "revolute" if bounded else "continuous"
    if not bounded and (math.isfinite(lower) or math.isfinite(upper)):
        raise ModelError(f"{where} is {kind.name} and has position limits, which a URDF cannot say")
    element = ET.SubElement(robot, "joint", name=joint.name, type=name)
    _ends(element, parent, child, body.placement)
    if has_axis:
        ET.SubElement(element, "axis", xyz=text_of(kind.axis))  # type: ignore[attr-defined]
    limits = {"lower": lower, "upper": upper} if bounded else {}
    limits |= {"effort": joint.limits.effort, "velocity": joint.limits.velocity}
    newer = {key: value for key in _SINCE_1_2 if math.isfinite(value := getattr(joint.limits, key))}
    if "acceleration" in newer:  # else that would be the deceleration, too
        newer["deceleration"] = joint.limits.deceleration
    if newer:
        robot.set("version", "1.2")
        limits |= newer
    if bounded or any(map(math.isfinite, limits.values())):
        largest = sys.float_info.max  # for none: "inf" is not taken by other readers
        ET.SubElement(element, "limit", {key: text_of([max(-largest, min(x, largest))]) for key, x in limits.items()})
    dynamics = {key: text_of([value]) for key, value in _dynamics(joint).items()} | drive_attributes(joint.drive)
    if dynamics:  # urdfdom refuses the element without either of these
        ET.SubElement(element, "dynamics", {"damping": "0.0", "friction": "0.0"} | dynamics)
    if joint.mimic is not None:
        mimic = {key: text_of([getattr(joint.mimic, key)]) for key in ("multiplier", "offset")}
        ET.SubElement(element, "mimic", {"joint": joint.mimic.leader} | mimic)


def _dynamics(joint: Joint) -> dict[str, float]:
    found = {key: getattr(joint, key) for key in ("damping", "friction", "armature") if getattr(joint, key)}
    spring = spring_of(joint, _A_FILE)
    return found | ({"spring_stiffness": spring.stiffness, "spring_reference": spring.rest} if spring else {})


def _loop(robot: ET.Element, loop: Loop) -> None:
    kind = loop.joint_type
    if kind is None or kind not in HELD:
        held = "what a screw does" if loop.pitch else ", ".join(loop.directions)
        raise ModelError(f"loop {loop.name!r} holds {held}, which no joint of a URDF does")
    element = ET.SubElement(robot, "loop", name=loop.name, type=kind)
    for tag, link, placement in (
        ("predecessor", loop.reference, loop.reference_placement),
        ("successor", loop.frame, loop.placement),
    ):
        _origin(ET.SubElement(element, tag, link=link), placement)
    ET.SubElement(element, "axis", xyz="0 0 1")
