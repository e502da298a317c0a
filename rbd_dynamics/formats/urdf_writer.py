# SPDX-License-Identifier: Apache-2.0
"""Writes a `Model` as a URDF of which `load_urdf` makes the same dynamics.

A body is a link at its joint's frame with all of its inertia; every other frame is a link without mass, fixed to it.
Numbers are written with all their digits.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

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
from rbd_dynamics.model.errors import ModelError, ModelWarning
from rbd_dynamics.model.joints import Continuous, Floating, JointKind, Planar, Prismatic, Revolute, Spherical
from rbd_dynamics.model.loops import HELD, Loop
from rbd_dynamics.model.model import EARTH, WORLD, Body, Joint, Model
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
_SINCE_1_2 = ("acceleration", "deceleration", "jerk")


def write_urdf(model: Model, path: str | os.PathLike[str], *, shapes: bool = True) -> None:
    """Write a model to a URDF file, as `model_to_urdf` has it. Raises ModelError, OSError."""
    Path(path).write_text(model_to_urdf(model, shapes=shapes), encoding="utf-8")


def model_to_urdf(model: Model, *, shapes: bool = True) -> str:
    """The text of a URDF, of which `load_urdf` makes a model with the same dynamics (docs/model_format.md).

    A floating base that does nothing by itself becomes the root link: load it with base="floating". One with damping,
    friction, armature or a spring is a floating joint on a link without mass, and loads with either base. A URDF has
    the joints depth first. Raises ModelError, which names the culprit, for what no URDF can say: joints with screws,
    cams and chains, passive forces other than one spring, names that are there twice. A ModelWarning is a spherical
    joint (`load_urdf` and Drake know it, urdfdom, of ROS and Pinocchio, does not), and gravity other than (0, 0, -9.81)
    m/s^2, about which a URDF says nothing.

    shapes: with those of the file that the model was read from, if it is there.
    """
    looks = WrittenShapes(model, wanted=shapes)
    robot = ET.Element("robot", name=model.name)
    names = LinkNames(model)
    first = model.bodies[0] if model.bodies else None
    floats = model.base == "floating" and first is not None and is_free(first) and is_plain(first.joint)
    if floats and (len(model.bodies) > 1 and any(body.parent == WORLD for body in model.bodies[1:])):
        raise ModelError(f"joint {first.joint.name!r}: a URDF's floating base carries all that moves")  # type: ignore[union-attr]
    if not floats:
        _link(robot, names.root, model.fixed_inertia, looks)
        _fixed_links(robot, model, names, WORLD, looks)
    elif model.fixed_inertia != RigidInertia():
        raise ModelError(f"robot {model.name!r}: beside a floating base, a URDF has nothing that is fixed to the world")
    for index in depth_first(model):
        body = model.bodies[index]
        _link(robot, names.links[index], body.inertia, looks)
        if not (floats and index == 0):
            _joint(robot, body, names.of(body.parent), names.links[index])
        _fixed_links(robot, model, names, index, looks)
    for loop in model.loops:
        _loop(robot, loop)
    looks.tell()
    if model.gravity != EARTH:
        x, y, z = model.gravity
        told = f"gravity ({x:g}, {y:g}, {z:g}) is left out, which a URDF cannot say: who loads it has to give it"
        warnings.warn(f"robot {model.name!r}: {told}", ModelWarning, stacklevel=3)
    return document(robot)


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
        warnings.warn(
            f"{where} is spherical, which load_urdf and Drake read, and urdfdom (ROS, Pinocchio) refuses",
            ModelWarning,
            stacklevel=4,
        )
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
    spring = spring_of(joint, "a URDF")
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
