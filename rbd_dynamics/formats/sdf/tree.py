# SPDX-License-Identifier: Apache-2.0
"""Joints as a tree on the world: which close loops, and which the tree goes through from their child's side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rbd_dynamics.formats.sdf.frames import WORLD, FrameGraph
from rbd_dynamics.model import joints as kinds
from rbd_dynamics.model.description import JointDescription
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.spatial.so3 import Vec3


class FileJoint(Protocol):
    """A joint of a file; names are whole ones."""

    @property
    def name(self) -> str: ...

    @property
    def where(self) -> str: ...

    def ends(self, frames: FrameGraph) -> tuple[str, str]:
        """The links, or the world, that it connects: its parent's and its child's."""

    def described(self, frames: FrameGraph) -> JointDescription:
        """A joint of the tree, from its parent to its child."""

    def loop(self, frames: FrameGraph) -> Loop | None:
        """A joint that closes a loop, or None with a finding."""


@dataclass
class Tree:
    """joints: each from the link nearer to the root, in the order of the file. roots: links that no joint holds."""

    joints: list[JointDescription]
    closing: list[FileJoint]
    roots: list[str]


def spanned(
    joints: Sequence[FileJoint], bodies: Sequence[str], static: set[str], frames: FrameGraph, findings: Findings
) -> Tree:
    """The tree of the joints.

    Links of static models are roots, whatever holds them: they do not move. Of other links that hang together, and not
    on the world, the root is the first that is no joint's child; of a ring the first.

    A joint whose two ends hang together already closes a loop; those to the world and within static models come first,
    then all in order.
    """
    ends = {joint.name: joint.ends(frames) for joint in joints}
    children = {child for _, child in ends.values()}
    order = {name: k for k, name in enumerate(bodies)}
    ranked = sorted(bodies, key=lambda link: (link in children, order[link]))
    whole = _Groups()
    standing = [link for link in ranked if link in static]
    at_rest = _Groups()
    for pair in ends.values():
        if set(pair) <= static | {WORLD}:
            at_rest.join(*pair)
    anchors: dict[str, str] = {at_rest.of(WORLD): WORLD}  # one of each static model whose own joints hold it together
    for link in standing:
        anchors.setdefault(at_rest.of(link), link)
    for anchor in anchors.values():
        whole.join(WORLD, anchor)
    beside: dict[str, list[FileJoint]] = {}
    closing = []
    for joint in sorted(joints, key=lambda one: (WORLD not in ends[one.name], not set(ends[one.name]) <= static)):
        if whole.join(*ends[joint.name]):
            for end in ends[joint.name]:
                beside.setdefault(end, []).append(joint)
        else:
            closing.append(joint)
    roots, found, reached = [], {}, {WORLD}
    for root in (*anchors.values(), *ranked):
        if root != WORLD:
            if root in reached:
                continue
            roots.append(root)
            reached.add(root)
        waiting = [root]
        while waiting:
            link = waiting.pop()
            for joint in beside.get(link, ()):
                parent, child = ends[joint.name]
                other = child if link == parent else parent
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
                    described = joint.described(frames)
                    found[joint.name] = described if link == parent else turned(described, joint.where, findings)
    roots.sort(key=order.__getitem__)
    return Tree([found[joint.name] for joint in joints if joint.name in found], closing, roots)


def turned(joint: JointDescription, where: str, findings: Findings) -> JointDescription:
    """The joint from its child to its parent: the same motion at the same q, v and effort.

    Of a universal joint the two angles change places, of a ball joint q is the inverse rotation; that is a warning.
    Raises ModelError for a kind that has no such form.
    """
    x, y, z = joint.axis
    kind = joint.kind
    if isinstance(kind, kinds.Universal):
        kind = kinds.Universal(_opposite(kind.second), _opposite(kind.first))
        findings.warning(where, "is turned round, its child carries its parent: its two angles change places")
    elif isinstance(kind, kinds.Spherical) or (kind is None and joint.type == "spherical"):
        findings.warning(where, "is turned round, its child carries its parent: its q is the parent's rotation")
    elif isinstance(kind, (kinds.Revolute, kinds.Prismatic, kinds.Helical)):
        kind = replace(kind, axis=_opposite(kind.axis))
    elif kind is not None or joint.type not in ("fixed", "revolute", "continuous", "prismatic"):
        raise ModelError(f"{where}: is {joint.type}, which cannot be turned round, and its child carries its parent")
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        origin=joint.child_origin.inverse(),
        child_origin=joint.origin.inverse(),
        kind=kind,
        axis=(-x, -y, -z),
    )


def groups(pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """{name: one name of all that are the same by these pairs}, of those in them."""
    whole = _Groups()
    for pair in pairs:
        whole.join(*pair)
    return {name: whole.of(name) for pair in pairs for name in pair}


class _Groups:
    """Names that hang together."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        while name in self._above:
            self._above[name] = self._above.get(self._above[name], self._above[name])
            name = self._above[name]
        return name

    def join(self, one: str, other: str) -> bool:
        """False where they hang together already."""
        first, second = self.of(one), self.of(other)
        if first == second:
            return False
        self._above[second] = first
        return True


def _opposite(axis: Vec3) -> Vec3:
    x, y, z = axis
    return -x, -y, -z
