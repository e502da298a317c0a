# SPDX-License-Identifier: Apache-2.0
"""Writes a `Model` as an SDF (1.11) of which `load` and Drake make the same dynamics.

A body is a link at its joint's frame with all of its inertia; every other frame is a <frame>.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from rbd_dynamics.formats.changes import LIMITS, tell, tell_of_joints, tell_of_limits, tell_of_names
from rbd_dynamics.formats.shapes_written import WrittenShapes
from rbd_dynamics.formats.writing import (
    LinkNames,
    angles_of,
    depth_first,
    document,
    fixed_frames,
    fixed_links,
    is_free,
    is_plain,
    spring_of,
)
from rbd_dynamics.formats.writing import text_of as text
from rbd_dynamics.model.assembly import inertial_of
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import (
    Continuous,
    Floating,
    Helical,
    JointKind,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.model.model import EARTH, WORLD, Joint, Model
from rbd_dynamics.model.urdf import ROOT_JOINT
from rbd_dynamics.model.urdf_reading.parser import INERTIA_ENTRIES
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Vec3

_A_FILE = "an SDF"
_DRAKE = "http://drake.mit.edu"
#: of what a loop holds: the joint of SDFormat that does
_LOOPS = {kind: kind for kind in ("fixed", "revolute", "prismatic", "screw")} | {"spherical": "ball"}
CLOSED = 1e-9  # m and rad: how far a loop may be open where all joints are at zero


def write_sdf(model: Model, path: str | os.PathLike[str], *, shapes: bool = True) -> None:
    """Write a model to an SDF file, as `model_to_sdf` has it. Raises ModelError, OSError."""
    Path(path).write_text(model_to_sdf(model, shapes=shapes), encoding="utf-8")


def model_to_sdf(model: Model, *, shapes: bool = True) -> str:
    """The text of an SDF, of which `load` and Drake make the same dynamics (docs/model_format.md).

    Joints come depth first, what floats on the world last. Rotors are Drake's elements. Other gravity than (0, 0,
    -9.81) m/s^2 is that of a world around the model. Links, joints and frames share their names in an SDF: where a
    joint has a link's, it is written with "_joint" after it. What floats has no joint there: `load` calls it
    "root_joint", and where several bodies float each by its link, as "ball_root_joint". Joints that are fixed become
    frames of their names.

    Raises ModelError, which names the culprit, for what no SDF can say: joints with screws other than a nut's, planes,
    cams and chains, floating joints on other bodies or that do something by themselves, balls that do, passive forces
    other than one spring, loops of other kinds or that are open where all joints are at zero. A ModelWarning tells what
    is left out: gears and elasticity of drives, limits of acceleration and jerk, limits of what floats, a link without
    mass that is the world's; of names and an order of joints that are not the model's; and of links without mass, which
    other readers refuse.

    shapes: with those of the file that the model was read from, if it is there.
    """
    ET.register_namespace("drake", _DRAKE)
    root = ET.Element("sdf", version="1.11")
    holder = root
    if model.gravity != EARTH:
        holder = ET.SubElement(root, "world", name="default")
        _say(holder, "gravity", model.gravity)
    element = ET.SubElement(holder, "model", name=model.name)
    looks = WrittenShapes(model, wanted=shapes)
    _Writer(model, element, looks).write()
    looks.tell()
    return document(root)


class _Writer:
    """Links, frames and joints of one model."""

    def __init__(self, model: Model, element: ET.Element, looks: WrittenShapes) -> None:
        self._model, self._element, self._looks = model, element, looks
        self._names = LinkNames(model, "world_link", reserved="world")
        self._taken = set(self._names.taken)
        self._joints = {body.joint.name: self._joint_name(body.joint.name) for body in model.bodies}
        self._massless: list[str] = []

    def write(self) -> None:
        model, names = self._model, self._names
        fixed = [link for link in fixed_links(model, names, WORLD) if link.name != "world"]
        if (
            model.fixed_inertia != RigidInertia()
            or fixed
            or self._looks.on_body(WORLD)
            or any(_at_world(model, loop) for loop in model.loops)
        ):
            self._link(names.root, model.fixed_inertia, "", WORLD)
            joint = self._joint_element(self._new(f"{names.root}_fixed"), "fixed", "world", names.root)
            ET.SubElement(joint, "pose", relative_to="__model__").text = "0 0 0 0 0 0"
            self._frames(WORLD)
        elif names.root in model.frame_names and names.root != "world":
            told = "has no mass, with which libsdformat refuses it"
            tell(f"link {names.root!r} is left out, which is where the world is: it {told}")
        order = depth_first(model, free_last=True)
        for index in order:
            body = model.bodies[index]
            link, joint_name = names.links[index], self._joints[body.joint.name]
            free = is_free(body)
            self._link(link, body.inertia, "" if free else joint_name, index)
            if not free:
                parent = "world" if body.parent == WORLD else names.links[body.parent]
                self._joint(body.joint, body.placement, parent, link)
            elif not is_plain(body.joint):
                raise ModelError(
                    f"joint {body.joint.name!r} floats and has damping, friction, a rotor or a spring, {_NO}"
                )
            self._frames(index)
        for loop in model.loops:
            self._loop(loop)
        self._tell(order)

    def _tell(self, order: list[int]) -> None:
        """What is not there as it is in the model."""
        model, links = self._model, self._names.links
        free = [index for index in order if is_free(model.bodies[index])]
        read_as = {links[index]: f"{links[index]}_root_joint" if len(free) > 1 else ROOT_JOINT for index in free}
        renamed = {}
        for index in free:
            name, called = model.bodies[index].joint.name, read_as[links[index]]
            if name != called:
                renamed[name] = f"floats, and has no name in {_A_FILE}: `load` calls it {called!r}"
        for body in model.bodies:
            written = self._joints[body.joint.name]
            if written != body.joint.name and not is_free(body):
                renamed[body.joint.name] = f"has the name of a link, which no SDF can say: it is written as {written!r}"
        tell_of_names(model, order, self._names, _A_FILE, joints=renamed)
        joints = [body.joint for body in model.bodies]
        tell_of_limits([model.bodies[k].joint for k in free], LIMITS, "limits of what floats", _A_FILE)
        tell_of_limits(joints, ("acceleration", "deceleration", "jerk"), "limits of acceleration and jerk", _A_FILE)
        tell_of_joints([joint.name for joint in joints if joint.drive is not None],
                       "a gear or its elasticity is left out", _A_FILE)  # fmt: skip
        if self._massless:
            more = f" and {len(self._massless) - 1} more" if len(self._massless) > 1 else ""
            tell(f"link {self._massless[0]!r}{more} without mass: libsdformat (Gazebo) refuses the file")

    # --- names ------------------------------------------------------------------------------------

    def _new(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _joint_name(self, name: str) -> str:
        return self._new(name if name not in self._taken else f"{name}_joint")

    # --- links and frames -------------------------------------------------------------------------

    def _link(self, name: str, inertia: RigidInertia, joint: str, index: int) -> None:
        link = ET.SubElement(self._element, "link", name=name)
        if joint:
            ET.SubElement(link, "pose", relative_to=joint).text = "0 0 0 0 0 0"
        about = inertial_of(inertia)
        if about.mass == 0.0:
            if any(inertia.moment):
                raise ModelError(f"link {name!r} has a first moment but no mass, {_NO}")
            self._massless.append(name)
        inertial = ET.SubElement(link, "inertial")
        _pose(inertial, Transform.of(p=about.com))
        _say(inertial, "mass", [about.mass])
        matrix = ET.SubElement(inertial, "inertia")
        for entry, value in zip(INERTIA_ENTRIES, about.rotational):
            _say(matrix, entry, [value])
        self._looks.add_to_sdf_link(link, index)

    def _frames(self, index: int) -> None:
        own = self._names.of(index)
        for link in fixed_frames(self._model, self._names, index):
            if link.name == "world":  # it is there
                continue
            frame = ET.SubElement(self._element, "frame", name=link.name, attached_to=own)
            _pose(frame, link.placement, own)
            self._taken.add(link.name)

    # --- joints -----------------------------------------------------------------------------------

    def _joint_element(self, name: str, kind: str, parent: str, child: str) -> ET.Element:
        joint = ET.SubElement(self._element, "joint", name=name, type=kind)
        ET.SubElement(joint, "parent").text = parent
        ET.SubElement(joint, "child").text = child
        return joint

    def _joint(self, joint: Joint, placement: Transform, parent: str, child: str) -> None:
        kind, axes = _type(joint)
        element = self._joint_element(self._joints[joint.name], kind, parent, child)
        _pose(element, placement, "__model__" if parent == "world" else parent)
        if isinstance(joint.kind, Helical):
            _say(element, "screw_thread_pitch", [2.0 * math.pi * joint.kind.pitch])
        if not axes and not (is_plain(joint) and joint.limits == type(joint.limits)()):
            raise ModelError(f"joint {joint.name!r} is {joint.kind.name} and has limits, friction or a rotor, {_NO}")
        for tag, xyz in zip(("axis", "axis2"), axes):
            axis = ET.SubElement(element, tag)
            _say(axis, "xyz", xyz)
            self._motion(axis, joint)
        if joint.armature:
            ratio = 1.0 if joint.drive is None else joint.drive.gear_ratio
            _say(element, f"{{{_DRAKE}}}rotor_inertia", [joint.armature / (ratio * ratio)])
            _say(element, f"{{{_DRAKE}}}gear_ratio", [ratio])

    def _motion(self, axis: ET.Element, joint: Joint) -> None:
        """What SDFormat says beside a direction: limits, friction, a spring, and what it follows."""
        limits, spring = joint.limits, spring_of(joint, _A_FILE)
        bounds = {key: getattr(limits, key) for key in ("lower", "upper", "effort", "velocity")}
        if isinstance(joint.kind, Continuous) and (math.isfinite(limits.lower) or math.isfinite(limits.upper)):
            raise ModelError(f"joint {joint.name!r} is continuous and has position limits, {_NO}")
        _group(axis, "limit", {key: value for key, value in bounds.items() if math.isfinite(value)})
        dynamics = {"damping": joint.damping, "friction": joint.friction}
        if spring is not None:
            dynamics |= {"spring_reference": spring.rest, "spring_stiffness": spring.stiffness}
        if any(dynamics.values()):
            _group(axis, "dynamics", dynamics)
        if joint.mimic is not None:
            mimic = ET.SubElement(axis, "mimic", joint=self._joints[joint.mimic.leader])
            for key, value in (
                ("multiplier", joint.mimic.multiplier),
                ("offset", joint.mimic.offset),
                ("reference", 0.0),
            ):
                _say(mimic, key, [value])

    def _loop(self, loop: Loop) -> None:
        """A joint to a link that has one already: it closes the loop."""
        kind = _LOOPS.get(loop.joint_type or "")
        if kind is None:
            raise ModelError(f"loop {loop.name!r} holds {', '.join(loop.directions)}, which no joint of an SDF does")
        if loop.frame == "world":
            raise ModelError(f"loop {loop.name!r} holds the world, which is not the child of a joint of an SDF")
        off = _opening(self._model, loop)
        if off > CLOSED:
            raise ModelError(f"loop {loop.name!r} is open by {off:.3g} where all joints are at zero, {_NO}")
        parent = self._names.root if _at_world(self._model, loop) and loop.reference == "world" else loop.reference
        name = self._new(loop.name)
        if name != loop.name:
            tell(f"loop {loop.name!r} has the name of a link, joint or frame: it is written as {name!r}")
        element = self._joint_element(name, kind, parent, loop.frame)
        _pose(element, loop.placement, loop.frame)
        if kind in ("revolute", "prismatic", "screw"):
            _say(ET.SubElement(element, "axis"), "xyz", (0.0, 0.0, 1.0))
        if loop.pitch is not None:
            _say(element, "screw_thread_pitch", [2.0 * math.pi * loop.pitch])


_NO = "which no SDF can say"


def _type(joint: Joint) -> tuple[str, list[Vec3]]:
    """The type of SDFormat, and its axes. Raises ModelError where there is none."""
    kind: JointKind = joint.kind
    if isinstance(kind, Continuous):
        return "continuous", [kind.axis]
    if isinstance(kind, Revolute):
        return "revolute", [kind.axis]
    if isinstance(kind, Prismatic):
        return "prismatic", [kind.axis]
    if isinstance(kind, Helical):
        return "screw", [kind.axis]
    if isinstance(kind, Universal):
        return "universal", [kind.first, kind.second]
    if isinstance(kind, Spherical):
        return "ball", []
    floats = isinstance(kind, Floating)
    told = "floats on another body or a placement" if floats else f"is {kind.name}"
    raise ModelError(f"joint {joint.name!r} {told}, {_NO}")


def _at_world(model: Model, loop: Loop) -> bool:
    return loop.reference == "world" or (
        loop.reference in model.frame_names and model.frame(loop.reference).body == WORLD
    )


def _opening(model: Model, loop: Loop) -> float:
    """How far what a loop holds is from its place where all joints are at zero, m and rad."""
    poses: list[Transform] = []
    for body in model.bodies:
        at = body.placement if body.parent == WORLD else poses[body.parent] @ body.placement
        poses.append(Transform.of(at.rotation, at.p))
    ends = []
    for name, placement in ((loop.reference, loop.reference_placement), (loop.frame, loop.placement)):
        frame = None if name == "world" and "world" not in model.frame_names else model.frame(name)
        carrier = IDENTITY if frame is None else frame.placement
        on = IDENTITY if frame is None or frame.body == WORLD else poses[frame.body]
        ends.append(on @ carrier @ placement)
    away = ends[0].inverse() @ ends[1]
    R = np.reshape(np.array(away.rotation, dtype=float), (3, 3))
    turned = (R[2, 1] - R[1, 2]) / 2.0, (R[0, 2] - R[2, 0]) / 2.0, (R[1, 0] - R[0, 1]) / 2.0
    flipped = max(0.0, 1.0 - float(np.trace(R))) if {"rx", "ry", "rz"} <= set(loop.directions) else 0.0
    off = dict(zip(("rx", "ry", "rz", "x", "y", "z"), (*turned, *away.p)))
    if loop.pitch is not None:
        along = float(away.p[2]) / loop.pitch - math.atan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
        flipped = abs(math.remainder(along, 2.0 * math.pi))
    return max(flipped, *(abs(float(off[direction])) for direction in loop.directions))


def _group(parent: ET.Element, tag: str, values: dict[str, float]) -> None:
    if values:
        element = ET.SubElement(parent, tag)
        for key, value in values.items():
            _say(element, key, [value])


def _say(parent: ET.Element, tag: str, numbers: tuple[float, ...] | list[float]) -> None:
    ET.SubElement(parent, tag).text = text(numbers)


def _pose(parent: ET.Element, placement: Transform, relative_to: str = "") -> None:
    element = ET.SubElement(parent, "pose", {"relative_to": relative_to} if relative_to else {})
    element.text = f"{text(placement.p)} {angles_of(placement)}"
