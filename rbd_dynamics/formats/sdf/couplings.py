# SPDX-License-Identifier: Apache-2.0
"""Joints of an SDF that tie two others together, as mimic joints: gearboxes, and screws that close a loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rbd_dynamics.formats.sdf.frames import WORLD, FrameGraph
from rbd_dynamics.formats.sdf.joints import SdfJoint
from rbd_dynamics.formats.sdf.tree import groups
from rbd_dynamics.model import joints as kinds
from rbd_dynamics.model.description import JointDescription
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.spatial.so3 import Vec3, cross, dot3, sub3

_PARALLEL = 1e-3  # sine of the angle between axes, and metres between axes that are one: files round


class _Motion(NamedTuple):
    """A joint between two bodies: q times `sign` is the motion of the one about, or along, an axis of the other."""

    joint: JointDescription
    sign: float
    slides: bool


@dataclass
class Couplings:
    """The joints of a tree, and of which links are fixed to one another."""

    joints: list[JointDescription]
    frames: FrameGraph

    def add(self, joint: SdfJoint) -> bool:
        """Make one of the two joints a mimic of the other.

        False for a screw between links that no two such joints hold; for all else that cannot be, there is an error.
        """
        motions = self._gearbox(joint) if joint.type == "gearbox" else self._screw(joint)
        if motions is None:
            return False
        if isinstance(motions, str):
            joint.values.findings.error(joint.where, f"is a gearbox {motions}")
            return True
        leader, follower, ratio = motions
        if follower.mimic is not None:
            leader, follower, ratio = follower, leader, 1.0 / ratio if ratio else math.inf
        if follower.mimic is not None or not math.isfinite(ratio):
            joint.values.findings.error(joint.where, f"ties {leader.name!r} and {follower.name!r}, which mimic others")
            return True
        k = self.joints.index(follower)
        self.joints[k] = replace(follower, mimic=Mimic(leader.name, multiplier=ratio))
        return True

    def _gearbox(self, joint: SdfJoint) -> tuple[JointDescription, JointDescription, float] | str:
        """theta_child = -ratio theta_parent, both of them relative to the reference body."""
        reference = joint.values.text("gearbox_reference_body")
        if not reference:
            return "without a <gearbox_reference_body>"
        body = self.frames.link_of(joint.scope.whole(reference))
        (first, _), (second, element) = joint.axes(self.frames)
        if joint.values.child("axis2") is None:
            second = first
        parent, child = joint.ends(self.frames)
        one, other = (self._motion(body, link, axis, joint) for link, axis in ((parent, first), (child, second)))
        if one is None or other is None or one.slides or other.slides:
            return f"between links that no revolute joints about its axes hold to {body!r}"
        ratio = joint.values.number("gearbox_ratio", "1")
        return one.joint, other.joint, -ratio * one.sign * other.sign

    def _screw(self, joint: SdfJoint) -> tuple[JointDescription, JointDescription, float] | None:
        """Two joints on one body, one along the screw's axis and one about it, with x = -pitch theta."""
        ((axis, _),) = joint.axes(self.frames)
        parent, child = joint.ends(self.frames)
        pitch = joint.pitch()
        for body in sorted(self._neighbours(parent) & self._neighbours(child)):
            one, other = (self._motion(body, link, axis, joint, coaxial=True) for link in (parent, child))
            if one is not None and other is not None and one.slides != other.slides:
                signs = one.sign * other.sign
                return one.joint, other.joint, -signs * (pitch if other.slides else 1.0 / pitch if pitch else math.inf)
        return None

    def _motion(self, body: str, link: str, axis: Vec3, about: SdfJoint, coaxial: bool = False) -> _Motion | None:
        """The motion of the link relative to the body; axis: in the frame of `about`."""
        same = self._rigid
        start, end = same.get(body, body), same.get(link, link)
        direction = self.frames.pose(about.name).rotate(axis)
        for joint in self.joints:
            sides = same.get(joint.parent, joint.parent), same.get(joint.child, joint.child)
            if (
                {*sides} != {start, end}
                or start == end
                or not isinstance(joint.kind, (kinds.Revolute, kinds.Prismatic))
            ):
                continue
            slides = isinstance(joint.kind, kinds.Prismatic)
            placed = self.frames.pose(joint.name)
            own = placed.rotate(joint.kind.axis)
            apart = sub3(placed.p, self.frames.pose(about.name).p)
            if math.hypot(*cross(own, direction)) > _PARALLEL:
                continue
            if coaxial and not slides and math.hypot(*cross(own, apart)) > _PARALLEL:
                continue
            forward = 1.0 if sides == (start, end) else -1.0
            return _Motion(joint, forward * math.copysign(1.0, dot3(own, direction)), slides)
        return None

    def _neighbours(self, link: str) -> set[str]:
        """Bodies that one joint is between."""
        same = self._rigid
        body = same.get(link, link)
        sides = [(same.get(joint.parent, joint.parent), same.get(joint.child, joint.child)) for joint in self.joints]
        return {other for one, two in sides for other in (one, two) if body in (one, two) and other != body}

    @property
    def _rigid(self) -> Mapping[str, str]:
        fixed: Sequence[tuple[str, str]] = [(j.parent, j.child) for j in self.joints if j.type == "fixed"]
        return groups([(WORLD, WORLD), *fixed])
