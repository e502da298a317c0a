# SPDX-License-Identifier: Apache-2.0
"""URDF that an SDF includes: its links, joints and loops with the names and frames that they have in the SDF."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace

from rbd_dynamics.formats.sdf.frames import WORLD, FrameGraph, Scope
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.description import JointDescription, LinkDescription, description_of
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.spatial.se3 import IDENTITY


@dataclass(frozen=True)
class UrdfJoint:
    """A joint of a URDF with whole names; see `tree.FileJoint`."""

    joint: JointDescription

    @property
    def name(self) -> str:
        return self.joint.name

    @property
    def where(self) -> str:
        return f"joint {self.name!r}"

    def ends(self, frames: FrameGraph) -> tuple[str, str]:
        return frames.link_of(self.joint.parent), frames.link_of(self.joint.child)

    def described(self, frames: FrameGraph) -> JointDescription:
        parent, child = self.ends(frames)
        at = frames.pose(self.name) if parent == WORLD else self.joint.origin
        return replace(self.joint, parent=parent, child=child, origin=at)

    def loop(self, frames: FrameGraph) -> Loop | None:
        raise ModelError(f"{self.where}: {self.joint.child!r} has a second parent, which a URDF cannot have")


@dataclass(frozen=True)
class UrdfParts:
    links: list[LinkDescription]
    joints: list[UrdfJoint]
    loops: list[Loop]
    root: str


def urdf_parts(robot: ET.Element, source: Source, scope: Scope, frames: FrameGraph, findings: Findings) -> UrdfParts:
    """What a <robot> has; frames of its links and joints are added, its root's at the model's. Raises ModelError."""
    own = Findings(findings.strict, findings.inertias)
    description = description_of(robot, own, content=source.content)
    findings += [replace(finding, element=f"{source.where}, {finding.element}") for finding in own]
    findings.raise_errors()
    joints = [_whole(joint, scope) for joint in description.joints]
    held = {joint.child: joint for joint in joints}
    names = [scope.whole(link.name) for link in description.links]
    free = [name for name in names if name not in held]
    if len(free) != 1:
        raise ModelError(f"{source.where} has {len(free)} links that are not the child of a joint, expected one")
    (root,) = free
    on_world = root == scope.whole(WORLD)
    for name in names:
        if name == root:
            frames.add(name, scope.own, IDENTITY, WORLD if on_world else name)
        else:
            frames.add(name, held[name].name, held[name].child_origin, name)
    for joint in joints:
        frames.add(joint.name, joint.parent, joint.origin, joint.child)
    links = [
        replace(link, name=name) for link, name in zip(description.links, names) if not (on_world and name == root)
    ]
    loops = [
        replace(
            loop,
            name=scope.whole(loop.name),
            frame=scope.whole(loop.frame),
            reference=loop.reference if loop.reference == WORLD else scope.whole(loop.reference),
        )
        for loop in description.loops
    ]
    return UrdfParts(links, [UrdfJoint(joint) for joint in joints], loops, root)


def _whole(joint: JointDescription, scope: Scope) -> JointDescription:
    drive, mimic = joint.drive, joint.mimic
    if drive is not None and drive.rotor_frame is not None:
        drive = replace(drive, rotor_frame=scope.whole(drive.rotor_frame))
    if mimic is not None:
        mimic = replace(mimic, leader=scope.whole(mimic.leader))
    name, parent, child = (scope.whole(each) for each in (joint.name, joint.parent, joint.child))
    return replace(joint, name=name, parent=parent, child=child, drive=drive, mimic=mimic)
