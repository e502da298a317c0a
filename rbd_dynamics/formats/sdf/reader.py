# SPDX-License-Identifier: Apache-2.0
"""SDFormat: one model with what is nested in it and included, its frames resolved (sdformat.org, 1.2 to 1.12)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.formats.sdf.couplings import Couplings
from rbd_dynamics.formats.sdf.frames import MODEL, ROOT, WORLD, FrameGraph, Scope
from rbd_dynamics.formats.sdf.includes import Included, included
from rbd_dynamics.formats.sdf.joints import KNOWN, SdfJoint, root_joint
from rbd_dynamics.formats.sdf.shapes import AutoInertia
from rbd_dynamics.formats.sdf.tree import FileJoint, Tree, spanned
from rbd_dynamics.formats.sdf.urdf import urdf_parts
from rbd_dynamics.formats.sdf.values import TRUE, Values
from rbd_dynamics.formats.sdf.versions import brought_up, plain
from rbd_dynamics.formats.sdf.worlds import Chosen, chosen, gravity_of
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.description import Description, JointDescription, LinkDescription
from rbd_dynamics.model.elements import local_tag
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.spatial.se3 import IDENTITY

#: how deep models may be nested, files that include files among them, and how many there may be
DEEPEST, MOST_MODELS = 20, 1000


@dataclass
class SdfDescription:
    description: Description
    gravity: tuple[float, float, float]
    floats: bool


def read_sdf(
    source: Source,
    root: ET.Element,
    packages: Mapping[str, Path],
    base: str | None,
    findings: Findings,
    model: str | None = None,
) -> SdfDescription:
    """The model of a file; model: its name, where there are several. Raises ModelError."""
    found = chosen(source, plain(root), model, lambda include: included(source, include, packages), findings)
    brought_up(source, root, findings, unread=found.unread)
    reading = _Reading(packages, findings)
    reading.read_chosen(source, found)
    name = found.model.name or "robot"
    if not reading.bodies:
        findings.error(f"model {name!r}", "has no link", "a model needs one at least")
    findings.raise_errors()
    return reading.described(name, gravity_of(found.world, source.where, findings), base)


class WrittenLink(NamedTuple):
    """A link's element, what names in it stand for, and the file that it is in."""

    values: Values
    scope: Scope
    source: Source


def read_links(
    source: Source, root: ET.Element, packages: Mapping[str, Path], findings: Findings, model: str | None = None
) -> tuple[FrameGraph, dict[str, WrittenLink]]:
    """The frames of a file, and its links by their whole names; model: as for `read_sdf`. Raises ModelError."""
    found = chosen(source, plain(root), model, lambda include: included(source, include, packages), findings)
    reading = _Reading(packages, findings)
    reading.read_chosen(source, found)
    return reading.frames, reading.written


class _Place(NamedTuple):
    """Place in which an element is written."""

    source: Source
    depth: int = 0


class _Reading:
    """What has been read of all models, with whole names."""

    def __init__(self, packages: Mapping[str, Path], findings: Findings) -> None:
        self.packages, self.findings = packages, findings
        self.frames = FrameGraph()
        self.bodies: list[LinkDescription] = []
        self.written: dict[str, WrittenLink] = {}
        self.carried: list[str] = []  # <frame>s
        self.automatic: dict[str, AutoInertia] = {}
        self.joints: list[FileJoint] = []
        self.loops: list[Loop] = []
        self.static: set[str] = set()
        self.models = 0
        self.files: set[Path | None] = set()
        self._heads: list[tuple[str, str, bool]] = []  # prefix and frame of each link and model, whether it is a link

    def read_chosen(self, source: Source, found: Chosen) -> None:
        """The model, and what of its world it hangs on."""
        world = Scope("", ROOT, found.model.name if found.world is not None else None, frozenset(found.others))
        assert found.model.opened is not None
        self._model(_Place(source), found.model.opened, world, Scope("", MODEL))
        for name, other in found.others.items():
            assert other.opened is not None
            self._nested(_Place(source), other.opened, replace(world, chosen=None), False, name)
        if found.world is None or not (found.joints or _refers_to_world(found.model.element)):
            return
        for element in found.world:
            if local_tag(element) == "frame":
                self._frame(Values(element, "a frame", self.findings), world)
        for element in found.joints:
            self._joint(Values(element, "a joint", self.findings), world)

    def _model(self, place: _Place, file: Included, parent: Scope, scope: Scope, static: bool = False) -> None:
        """Add a model, which is in the frame of `parent`; its elements' names are of `scope`."""
        self.models += 1
        model = Values(file.model, f"model {file.model.get('name') or scope.prefix or 'robot'!r}", self.findings)
        if place.depth > DEEPEST or self.models > MOST_MODELS:
            raise ModelError(
                f"{model.where}: models are nested more than {DEEPEST} deep, or there are more than {MOST_MODELS}"
            )
        if file.source.path not in self.files:  # said once of each
            self.files.add(file.source.path)
            self.findings += file.findings
        static = static or model.flag("static")
        first = len(self._heads)
        if file.robot is not None:
            self._urdf(file.source, file.robot, scope, static)
        else:
            self._elements(_Place(file.source, place.depth), model, scope, static)
        canonical = model.element.get("canonical_link", "")
        heads = [head for head in self._heads[first:] if head[0] == scope.prefix]
        heads.sort(key=lambda head: not head[2])  # a link of its own comes before one of a model in it
        attached = scope.whole(canonical) if canonical else heads[0][1] if heads else WORLD
        pose, relative_to = model.pose()
        placed = model.element.get("placement_frame", "")
        at = parent.whole(relative_to) if relative_to else parent.own
        self.frames.add(scope.own, at, pose, WORLD if static else attached, scope.whole(placed) if placed else "")

    def _elements(self, place: _Place, model: Values, scope: Scope, static: bool) -> None:
        for element in model.element:
            tag = local_tag(element)
            if tag == "link":
                self._link(place, Values(element, "a link", self.findings), scope, static)
            elif tag == "joint":
                self._joint(Values(element, "a joint", self.findings), scope)
            elif tag == "frame":
                self._frame(Values(element, "a frame", self.findings), scope)
            elif tag == "model":
                inner = _Place(place.source, place.depth + 1)
                self._nested(inner, Included(place.source, element), scope, static)
            elif tag == "include":
                self._include(place, Values(element, "an include", self.findings), scope, static)

    def _link(self, place: _Place, link: Values, scope: Scope, static: bool) -> None:
        name = scope.whole(link.name())
        link = Values(link.element, f"link {name!r}", self.findings)
        self.written[name] = WrittenLink(link, scope, place.source)
        pose, relative_to = link.pose()
        self.frames.add(name, scope.whole(relative_to) if relative_to else scope.own, pose, name)
        inertial = link.child("inertial")
        if inertial is not None and inertial.element.get("auto") in TRUE:
            found = AutoInertia.of(link, inertial, scope)
            if found is not None:
                self.automatic[name] = found
            self._body(LinkDescription(name), scope, static)
        else:
            self._body(LinkDescription(name, link.inertial()), scope, static)
        if not link.flag("gravity", True):
            self.findings.defect(link.where, "feels no gravity in the file, here it does")

    def _body(self, link: LinkDescription, scope: Scope, static: bool) -> None:
        self.bodies.append(link)
        self._heads.append((scope.prefix, link.name, True))
        if static:
            self.static.add(link.name)

    def _frame(self, frame: Values, scope: Scope) -> None:
        name = scope.whole(frame.name())
        frame = Values(frame.element, f"frame {name!r}", self.findings)
        attached = frame.element.get("attached_to", "")
        pose, relative_to = frame.pose()
        default = scope.whole(attached) if attached else scope.own
        self.frames.add(name, scope.whole(relative_to) if relative_to else default, pose, default)
        self.carried.append(name)

    def _joint(self, joint: Values, scope: Scope) -> None:
        name = scope.whole(joint.name())
        joint = Values(joint.element, f"joint {name!r}", self.findings)
        kind = joint.name("type").lower()
        if kind not in KNOWN:
            self.findings.error(joint.where, f"is {excerpt(kind)}, which is not read", f"known: {', '.join(KNOWN)}")
            return
        ends = {tag: joint.text(tag) for tag in ("parent", "child")}
        for tag, end in ends.items():
            if not end or (tag == "child" and end == WORLD):
                self.findings.error(joint.where, f"its <{tag}> is {excerpt(end)}" if end else f"has no <{tag}>")
                return
        parent = WORLD if ends["parent"] == WORLD else scope.whole(ends["parent"])
        child = scope.whole(ends["child"])
        pose, relative_to = joint.pose()
        self.frames.add(name, scope.whole(relative_to) if relative_to else child, pose, child)
        self.joints.append(SdfJoint(name, joint, kind, parent, child, scope))

    def _nested(self, place: _Place, file: Included, scope: Scope, static: bool, name: str = "") -> None:
        name = name or scope.whole(Values(file.model, "a model", self.findings).name())
        inner = Scope(f"{name}::", f"{name}::{MODEL}")
        self._heads.append((scope.prefix, inner.own, False))
        self._model(place, file, scope, inner, static)
        self.frames.add(name, inner.own, IDENTITY, inner.own)

    def _include(self, place: _Place, include: Values, scope: Scope, static: bool) -> None:
        file = included(place.source, include, self.packages)
        inside = _Place(place.source, place.depth + 1)
        if include.element.get("merge") in TRUE:
            own = f"{scope.prefix}_merged__{file.model.get('name', '')}__model__"
            self._model(inside, file, scope, Scope(scope.prefix, own), static)
        else:
            self._nested(inside, file, scope, static)

    def _urdf(self, source: Source, robot: ET.Element, scope: Scope, static: bool) -> None:
        parts = urdf_parts(robot, source, scope, self.frames, self.findings)
        for link in sorted(parts.links, key=lambda link: link.name != parts.root):  # which the model is attached to
            self._body(link, scope, static)
        self.joints += parts.joints
        self.loops += parts.loops

    # --- the whole -----------------------------------------------------------------------------------

    def described(self, name: str, gravity: tuple[float, float, float], base: str | None) -> SdfDescription:
        """The robot as one tree on the world, and loops. Raises ModelError for frames that are not there."""
        self.frames.check()
        links = [
            replace(link, inertial=self.automatic[link.name].inertial(link.name, self.frames))
            if link.name in self.automatic
            else link
            for link in self.bodies
        ]
        frames = [LinkDescription(frame) for frame in self.carried]
        gears = [joint for joint in self.joints if isinstance(joint, SdfJoint) and joint.type == "gearbox"]
        holding = [joint for joint in self.joints if joint not in gears]
        tree = spanned(holding, [link.name for link in links], self.static, self.frames, self.findings)
        for joint in tree.joints:
            if joint.type != "fixed" and {joint.parent, joint.child} <= self.static | {WORLD}:
                self.findings.defect(f"joint {joint.name!r}", "is in a static model, which does not move; here it does")
        free = set() if base == "fixed" else set(tree.roots) - self.static
        if base == "floating" and not free:
            raise ModelError(f"model {name!r} is fixed to the world, it cannot float")
        tree.closing += gears
        joints, loops = self._closed(tree, [*tree.joints, *self._fixtures(tree, free)])
        description = Description(name, [LinkDescription(WORLD), *links, *frames], joints, [*self.loops, *loops])
        return SdfDescription(description, gravity, bool(free))

    def _fixtures(self, tree: Tree, free: set[str]) -> list[JointDescription]:
        """Joints from the world to what no joint holds, and of frames to their links."""
        found = []
        for frame in self.carried:
            carrier = self.frames.link_of(frame)
            at = self.frames.pose(frame) if carrier == WORLD else self.frames.relative(frame, carrier)
            found.append(JointDescription("", "fixed", carrier, frame, at))
        for root in tree.roots:
            name = "root_joint" if len(free) == 1 else f"{root}_root_joint"
            found.append(root_joint(root, name, root in free, self.frames))
        return found

    def _closed(self, tree: Tree, joints: list[JointDescription]) -> tuple[list[JointDescription], list[Loop]]:
        """The joints, those that another ties together as mimics, and loops."""
        couplings, loops = Couplings(joints, self.frames), []
        for joint in tree.closing:
            if isinstance(joint, SdfJoint) and joint.type in ("screw", "gearbox") and couplings.add(joint):
                continue
            loop = joint.loop(self.frames)
            loops += [] if loop is None else [loop]
        return couplings.joints, loops


def _refers_to_world(element: ET.Element) -> bool:
    """Whether a model's pose is relative to a frame of its world."""
    return any(local_tag(pose) == "pose" and pose.get("relative_to") for pose in element)
