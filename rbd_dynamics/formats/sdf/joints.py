# SPDX-License-Identifier: Apache-2.0
"""Joints of an SDF: what moves, how far, and what closes a loop."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from typing import Any

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.formats.sdf.frames import WORLD, FrameGraph, Scope
from rbd_dynamics.formats.sdf.values import Values
from rbd_dynamics.model import joints as kinds
from rbd_dynamics.model.description import JointDescription
from rbd_dynamics.model.elements import Number, Reader
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.loops import HELD, Loop, joint_loop, universal_loop
from rbd_dynamics.model.model import Limits, Mimic
from rbd_dynamics.model.passive_forces import Spring
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Vec3

#: from here on a limit is SDFormat's way to write "none"
UNLIMITED = 1e16
_ONE_AXIS = ("revolute", "continuous", "prismatic", "screw")
_TWO_AXES = ("universal", "revolute2", "gearbox")
KNOWN = ("fixed", *_ONE_AXIS, *_TWO_AXES, "ball")


@dataclass(frozen=True)
class SdfJoint:
    """A joint as it is written; names are whole ones, as frames have them."""

    name: str
    values: Values
    type: str
    parent: str
    child: str
    scope: Scope

    @property
    def where(self) -> str:
        return self.values.where

    def ends(self, frames: FrameGraph) -> tuple[str, str]:
        """The links, or the world, that it connects. Raises ModelError for one that it connects to itself."""
        parent, child = frames.link_of(self.parent), frames.link_of(self.child)
        if parent == child:
            raise ModelError(f"{self.where}: its parent and its child are both {parent!r}")
        return parent, child

    def described(self, frames: FrameGraph) -> JointDescription:
        """The joint as one of the tree. Raises ModelError for frames that are not there."""
        parent, child = self.ends(frames)
        axes = self.axes(frames)
        kind = self._kind([axis for axis, _ in axes])
        common: dict[str, Any] = {"kind": kind}
        if axes and kind is not None:
            first = Values(axes[0][1], self.values.where, self.values.findings)
            common |= self._own_motion(first, kind)
        at_parent, at_child = self._placement(parent, frames), self._placement(child, frames).inverse()
        name = "fixed" if kind is None else kind.name
        return JointDescription(self.name, name, parent, child, at_parent, child_origin=at_child, **common)

    def loop(self, frames: FrameGraph) -> Loop | None:
        """The joint as one that closes a loop, or None with a finding."""
        parent, child = self.ends(frames)
        at_parent, at_child = self._placement(parent, frames), self._placement(child, frames)
        loop = Loop(self.name, child, parent, placement=at_child, reference_placement=at_parent)
        axes = [axis for axis, _ in self.axes(frames)]
        findings, where = self.values.findings, self.values.where
        if self.type in ("universal", "revolute2"):
            return universal_loop(loop, axes[0], axes[1])
        if self.type == "screw":
            pitch = self.pitch()
            held = joint_loop(loop, "cylindrical" if pitch else "revolute", axes[0])
            return replace(held, pitch=pitch or None)
        if self.type not in HELD:
            findings.error(where, f"is {self.type} and closes a loop, which is not read")
            return None
        for axis in self.values.children("axis"):
            dynamics = Values(axis, where, findings).child("dynamics")
            if dynamics is not None and (dynamics.number("damping", "0") or dynamics.number("friction", "0")):
                findings.defect(where, "closes a loop: its damping and friction are left out")
        return joint_loop(loop, self.type, axes[0] if axes else (0.0, 0.0, 1.0))

    def _kind(self, axes: list[Vec3]) -> kinds.JointKind | None:
        if self.type == "fixed":
            return None
        if self.type == "ball":
            return kinds.Spherical()
        if self.type in _TWO_AXES:
            return kinds.Universal(axes[0], axes[1])
        if self.type == "screw":
            return kinds.Helical(axes[0], self.pitch())
        if self.type == "prismatic":
            return kinds.Prismatic(axes[0])
        return kinds.Continuous(axes[0]) if self.type == "continuous" else kinds.Revolute(axes[0])

    def _placement(self, link: str, frames: FrameGraph) -> Transform:
        """Pose of the joint in a link or the world."""
        return frames.pose(self.name) if link == WORLD else frames.relative(self.name, link)

    def pitch(self) -> float:
        """m/rad. `thread_pitch` is in rad/m with the other sign, as SDFormat has it; 1 m a turn where there is none."""
        if self.values.child("screw_thread_pitch") is not None or self.values.child("thread_pitch") is None:
            return self.values.number("screw_thread_pitch", "1") / (2.0 * math.pi)
        old = self.values.number("thread_pitch", "1")
        if old == 0.0:
            self.values.findings.error(self.values.where, "has the <thread_pitch> 0")
        return -1.0 / old if old else 0.0

    def axes(self, frames: FrameGraph) -> list[tuple[Vec3, ET.Element]]:
        """Unit vectors in the joint's frame, with their elements."""
        tags = ("axis",) if self.type in _ONE_AXIS else ("axis", "axis2") if self.type in _TWO_AXES else ()
        found = []
        for tag in tags:
            axis = self.values.child(tag)
            given = Values(ET.Element(tag), self.values.where, self.values.findings) if axis is None else axis
            x, y, z = given.numbers("xyz", Number(3, "0 0 1"))
            length = math.hypot(x, y, z)
            if not length > 1e-9:
                if length == length:
                    given.findings.error(given.where, f"<{tag}> <xyz> {excerpt(given.text('xyz'))} has no direction")
                x, y, z, length = 0.0, 0.0, 1.0, 1.0
            direction = (x / length, y / length, z / length)
            found.append((self._in_joint(direction, given, frames), given.element))
        return found

    def _in_joint(self, direction: Vec3, axis: Values, frames: FrameGraph) -> Vec3:
        xyz = axis.child("xyz")
        frame = "" if xyz is None else xyz.element.get("expressed_in", "")
        return frames.relative(self.scope.whole(frame), self.name).rotate(direction) if frame else direction

    def _own_motion(self, axis: Values, kind: kinds.JointKind) -> dict[str, Any]:
        """Limits, friction, springs and mimic of the first axis; those of a second one have to be the same."""
        limit, dynamics, findings = axis.child("limit"), axis.child("dynamics"), axis.findings
        found: dict[str, Any] = {}
        if limit is not None:
            lower = limit.number("lower", "-inf", infinite=True)
            upper = limit.number("upper", "inf", infinite=True)
            speed, effort = (limit.number(key, "inf", infinite=True) for key in ("velocity", "effort"))
            found["limits"] = Limits(
                lower=-math.inf if lower <= -UNLIMITED or self.type == "continuous" else lower,
                upper=math.inf if upper >= UNLIMITED or self.type == "continuous" else upper,
                velocity=math.inf if speed < 0.0 else speed,
                effort=math.inf if effort < 0.0 else effort,
            )
            if lower > upper:
                findings.error(axis.where, f"has limits lower={lower:g} > upper={upper:g}")
        if dynamics is not None:
            found |= {key: dynamics.number(key, "0") for key in ("damping", "friction")}
            for key in ("damping", "friction"):
                if found[key] < 0.0:
                    findings.error(axis.where, f"has the negative {key} {found[key]:g}")
                    found[key] = 0.0
            stiffness = dynamics.number("spring_stiffness", "0")
            if stiffness > 0.0:
                found["passive"] = (Spring(stiffness, rest=dynamics.number("spring_reference", "0")),)
        found["armature"] = self._rotor()
        mimic = axis.child("mimic")
        for element in self.values.children("mimic"):
            if "drake" in element.tag:
                found["mimic"] = self._drakes_mimic(element)
        if mimic is not None:
            multiplier, offset = mimic.number("multiplier", "1"), mimic.number("offset", "0")
            start = mimic.number("reference", "0")
            leader = self.scope.whole(mimic.name("joint"))
            found["mimic"] = Mimic(leader, multiplier=multiplier, offset=offset - multiplier * start)
        second = self.values.child("axis2")
        if kind.nv == 2 and second is not None:
            for tag in ("limit", "dynamics"):
                one, other = axis.child(tag), second.child(tag)
                texts = [None if each is None else ET.tostring(each.element).split() for each in (one, other)]
                if texts[0] != texts[1]:
                    findings.defect(
                        axis.where, f"its two axes differ in <{tag}>", "that of the first one counts for both"
                    )
        return found

    def _drakes_mimic(self, element: ET.Element) -> Mimic:
        read = Reader(element, self.values.where, self.values.findings)
        multiplier, offset = (read.number(key, Number()) for key in ("multiplier", "offset"))
        return Mimic(self.scope.whole(read.name("joint")), multiplier=multiplier, offset=offset)

    def _rotor(self) -> float:
        """Drake's elements: the rotor's inertia times the square of the gear ratio."""
        inertia, ratio = self.values.number("rotor_inertia", "0"), self.values.number("gear_ratio", "1")
        if inertia < 0.0:
            self.values.findings.error(self.values.where, f"has the negative rotor inertia {inertia:g}")
        return max(inertia, 0.0) * ratio * ratio


def root_joint(link: str, name: str, floating: bool, frames: FrameGraph) -> JointDescription:
    """Joint of a link that none holds: floating, q is its pose in the world, or fixed where the file shows it."""
    if floating:
        return JointDescription(name, "floating", WORLD, link, IDENTITY, kind=kinds.Floating())
    return JointDescription("", "fixed", WORLD, link, frames.pose(link))
