# SPDX-License-Identifier: Apache-2.0
"""SDFormat: one model with what is nested in it and included, its frames resolved (sdformat.org, up to 1.12)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.formats.packages import resolved
from rbd_dynamics.formats.sdf_frames import ROOT, WORLD, FrameGraph
from rbd_dynamics.formats.sdf_joints import KNOWN, SdfJoint, root_joint
from rbd_dynamics.formats.sdf_values import Values
from rbd_dynamics.formats.source import Source, read_file
from rbd_dynamics.model.description import Description, JointDescription, LinkDescription
from rbd_dynamics.model.elements import Number, local_tag, parse_xml
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.spatial.se3 import IDENTITY

#: how deep models may be nested, files that include files among them, and how many there may be
DEEPEST, MOST_MODELS = 20, 1000
_READ = {"link", "joint", "frame", "model", "include", "pose", "static"}
_WITHOUT_DYNAMICS = {
    "plugin",
    "gripper",
    "self_collide",
    "allow_auto_disable",
    "enable_wind",
    "axis",
    "sensor",
    "audio",
}


@dataclass
class SdfDescription:
    description: Description
    gravity: tuple[float, float, float]
    floats: bool


def read_sdf(
    source: Source, root: ET.Element, packages: Mapping[str, Path], base: str | None, findings: Findings
) -> SdfDescription:
    """The model of a file. Raises ModelError for what makes reading on pointless."""
    model, gravity = _only_model(source, root, findings)
    reading = _Reading(packages, findings)
    name = model.get("name", "") or "robot"
    reading.read(_Place(source, root.get("version", "1.0")), Values(model, f"model {name!r}", findings), ROOT, "")
    if not reading.links:
        findings.error(f"model {name!r}", "has no link", "a model needs one at least")
    findings.raise_errors()
    return reading.described(name, gravity, base)


def read_links(
    source: Source, root: ET.Element, packages: Mapping[str, Path], findings: Findings
) -> tuple[FrameGraph, dict[str, tuple[Values, Source]]]:
    """The frames of a file, and each link's element with the file that it is in. Raises ModelError."""
    model, _ = _only_model(source, root, findings)
    reading = _Reading(packages, findings)
    reading.read(_Place(source, root.get("version", "1.0")), Values(model, "model", findings), ROOT, "")
    return reading.frames, reading.elements


def _only_model(source: Source, root: ET.Element, findings: Findings) -> tuple[ET.Element, tuple[float, float, float]]:
    """And the gravity of its world."""
    gravity = (0.0, 0.0, -9.81)
    found = [element for element in root if local_tag(element) == "model"]
    for world in root:
        if local_tag(world) == "world":
            x, y, z = Values(world, source.where, findings).numbers("gravity", Number(3, "0 0 -9.81"))
            gravity = (x, y, z)
            found += [element for element in world if local_tag(element) in ("model", "include")]
    if len(found) != 1:
        names = listed([element.get("name") or element.findtext("uri") or "" for element in found])
        raise ModelError(f"{source.where} has {len(found)} models, expected one" + (f": {names}" if found else ""))
    if local_tag(found[0]) == "include":
        raise ModelError(f"{source.where} includes its model: load {excerpt(found[0].findtext('uri') or '')} itself")
    return found[0], gravity


@dataclass(frozen=True)
class _Place:
    """Place in which an element is written."""

    source: Source
    version: str
    depth: int = 0

    @property
    def axes_are_in_models(self) -> bool:
        """Whether axes are in the axes of the model, as before version 1.5."""
        major, _, minor = self.version.partition(".")
        return major == "1" and minor.isdigit() and int(minor) < 5


class _Reading:
    """What has been read of all models, with whole names."""

    def __init__(self, packages: Mapping[str, Path], findings: Findings) -> None:
        self.packages, self.findings = packages, findings
        self.frames = FrameGraph()
        self.links: list[LinkDescription] = []
        self.elements: dict[str, tuple[Values, Source]] = {}
        self.joints: list[SdfJoint] = []
        self.static: set[str] = set()
        self.models = 0

    def read(
        self, place: _Place, model: Values, parent: str, scope: str, static: bool = False, merged: str = ""
    ) -> None:
        """Add a model, which is in the frame `parent`; its names begin with `scope`. merged: of one that adds its
        elements to the model it is in, the name of its own frame.
        """
        self.models += 1
        if place.depth > DEEPEST or self.models > MOST_MODELS:
            raise ModelError(
                f"{model.where}: models are nested more than {DEEPEST} deep, or there are more than {MOST_MODELS}"
            )
        own = scope + (merged or "__model__")
        outer = scope if merged else _outer(scope)
        static = static or model.flag("static")
        first = len(self.links)
        for element in model.element:
            tag = local_tag(element)
            if tag == "link":
                self._link(place, Values(element, "a link", self.findings), own, scope, static)
            elif tag == "joint":
                self._joint(place, Values(element, "a joint", self.findings), own, scope)
            elif tag == "frame":
                self._frame(Values(element, "a frame", self.findings), own, scope)
            elif tag == "model":
                self._nested(place, Values(element, "a model", self.findings), own, scope, static)
            elif tag == "include":
                self._include(place, Values(element, "an include", self.findings), own, scope, static)
            elif tag not in _WITHOUT_DYNAMICS | _READ or (tag in _READ and "drake" in element.tag):
                self.findings.defect(model.where, f"has a <{tag}>, which is not read")
        canonical = model.element.get("canonical_link", "")
        link = scope + canonical if canonical else self.links[first].name if len(self.links) > first else WORLD
        pose, relative_to = model.pose()
        placed = model.element.get("placement_frame", "")
        at = outer + relative_to if relative_to else parent
        self.frames.add(own, at, pose, link, scope + placed if placed else "")

    def _link(self, place: _Place, link: Values, own: str, scope: str, static: bool) -> None:
        name = scope + link.name()
        link = Values(link.element, f"link {name!r}", self.findings)
        pose, relative_to = link.pose()
        self.frames.add(name, scope + relative_to if relative_to else own, pose, name)
        self.links.append(LinkDescription(name, link.inertial()))
        self.elements[name] = link, place.source
        if not link.flag("gravity", True):
            self.findings.defect(link.where, "feels no gravity in the file, here it does")
        if static:
            self.static.add(name)

    def _frame(self, frame: Values, own: str, scope: str) -> None:
        name = scope + frame.name()
        frame = Values(frame.element, f"frame {name!r}", self.findings)
        attached = frame.element.get("attached_to", "")
        pose, relative_to = frame.pose()
        default = scope + attached if attached else own
        self.frames.add(name, scope + relative_to if relative_to else default, pose, default)
        self.links.append(LinkDescription(name))

    def _joint(self, place: _Place, joint: Values, own: str, scope: str) -> None:
        name = scope + joint.name()
        joint = Values(joint.element, f"joint {name!r}", self.findings)
        kind = joint.name("type")
        if kind not in KNOWN:
            self.findings.error(joint.where, f"is {excerpt(kind)}, which is not read", f"known: {', '.join(KNOWN)}")
            return
        ends = {tag: joint.text(tag) for tag in ("parent", "child")}
        for tag, end in ends.items():
            if not end or (tag == "child" and end == WORLD):
                self.findings.error(joint.where, f"its <{tag}> is {excerpt(end)}" if end else f"has no <{tag}>")
                return
        parent = WORLD if ends["parent"] == WORLD else scope + ends["parent"]
        child = scope + ends["child"]
        pose, relative_to = joint.pose()
        self.frames.add(name, scope + relative_to if relative_to else child, pose, child)
        if place.axes_are_in_models:
            for axis in [*joint.children("axis"), *joint.children("axis2")]:
                axis.set("model_frame", "1")
        self.joints.append(SdfJoint(name, joint, kind, parent, child, scope, own))

    def _nested(self, place: _Place, model: Values, own: str, scope: str, static: bool) -> None:
        name = scope + model.name()
        inner = Values(model.element, f"model {name!r}", self.findings)
        self.read(_Place(place.source, place.version, place.depth + 1), inner, own, f"{name}::", static)
        self.frames.add(name, f"{name}::__model__", IDENTITY, f"{name}::__model__")

    def _include(self, place: _Place, include: Values, own: str, scope: str, static: bool) -> None:
        uri = include.text("uri")
        include = Values(include.element, f"<include> of {excerpt(uri)}", self.findings)
        if not uri:
            raise ModelError(f"{place.source.where}: an <include> has no <uri>")
        path = resolved(uri, place.source.folder, self.packages, f"{place.source.where}: <include>")
        source = read_file(_file_of(path, include.where))
        root = parse_xml(source.content, source.where, self.findings)
        self.findings.raise_errors()
        assert root is not None
        if local_tag(root) != "sdf":
            raise ModelError(f"{source.where} has <{local_tag(root)}> as its root element, expected <sdf>")
        model, _ = _only_model(source, root, self.findings)
        for tag in ("name", "pose", "static"):  # what the include says counts
            for said in include.children(tag):
                if tag == "name":
                    model.set("name", (said.text or "").strip())
                else:
                    for old in [element for element in model if local_tag(element) == tag]:
                        model.remove(old)
                    model.append(said)
        placed = include.text("placement_frame")
        if placed:
            model.set("placement_frame", placed)
        inside = _Place(source, root.get("version", "1.0"), place.depth + 1)
        if include.element.get("merge") in ("1", "true"):
            name = f"_merged__{model.get('name', '')}__model__"
            self.read(inside, Values(model, f"model {name!r}", self.findings), own, scope, static, merged=name)
        else:
            self._nested(
                _Place(source, root.get("version", "1.0"), place.depth), Values(model, "a model", self.findings),
                own, scope, static,
            )  # fmt: skip

    # --- the whole -----------------------------------------------------------------------------------

    def described(self, name: str, gravity: tuple[float, float, float], base: str | None) -> SdfDescription:
        """The robot as one tree on the world, and loops. Raises ModelError for frames that are not there."""
        self.frames.check()
        description = Description(name, [LinkDescription(WORLD), *self.links])
        above: dict[str, str] = {}
        highest: dict[str, str] = {}  # some link above, or the one at the top of its tree

        def top(link: str) -> str:
            while link in highest:
                highest[link] = highest.get(highest[link], highest[link])
                link = highest[link]
            return link

        ends = {joint.name: self.frames.link_of(joint.parent) for joint in self.joints}
        for joint in sorted(self.joints, key=lambda joint: ends[joint.name] != WORLD):
            child = self.frames.link_of(joint.child)
            if child == WORLD:
                self.findings.error(joint.values.where, "its child is fixed to the world")
            elif child in above or top(ends[joint.name]) == child:
                loop = joint.loop(self.frames)
                description.loops += [] if loop is None else [loop]
            else:
                above[child] = highest[child] = ends[joint.name]
                description.joints.append(joint.described(self.frames))
        order = {joint.name: k for k, joint in enumerate(self.joints)}
        description.joints.sort(key=lambda joint: order[joint.name])
        floats = self._roots(description, above, base)
        return SdfDescription(description, gravity, floats)

    def _roots(self, description: Description, above: Mapping[str, str], base: str | None) -> bool:
        """Join what no joint holds to the world, frames to their links; whether something floats."""
        bodies = [link.name for link in self.links if link.inertial is not None]
        for link in self.links:
            if link.inertial is None:  # a <frame>
                carrier = self.frames.link_of(link.name)
                at = self.frames.pose(link.name) if carrier == WORLD else self.frames.relative(link.name, carrier)
                description.joints.append(JointDescription("", "fixed", carrier, link.name, at))
        roots = [name for name in bodies if name not in above]
        free = set() if base == "fixed" else set(roots) - self.static
        for root in roots:
            name = "root_joint" if len(free) == 1 else f"{root}_root_joint"
            description.joints.append(root_joint(root, name, root in free, self.frames))
        if base == "floating" and not free:
            raise ModelError(f"model {description.name!r} is fixed to the world, it cannot float")
        return bool(free)


def _outer(scope: str) -> str:
    """The scope around, as in: "arm::" of "arm::hand::"."""
    inner = scope.removesuffix("::")
    return inner[: inner.rfind("::") + 2] if "::" in inner else ""


def _file_of(path: Path, where: str) -> Path:
    """The SDF that a path stands for: the file itself, or that of a model's folder."""
    if not path.is_dir():
        return path
    if (path / "model.sdf").is_file():
        return path / "model.sdf"
    config = path / "model.config"
    if not config.is_file():
        raise ModelError(f"{where}: {excerpt(str(path))} has neither model.sdf nor model.config")
    findings = Findings()
    root = parse_xml(read_file(config).content, f"file {config}", findings)
    findings.raise_errors()
    assert root is not None
    names = [(element.text or "").strip() for element in root if local_tag(element) == "sdf"]
    if not names or ".." in Path(names[-1]).parts:
        raise ModelError(f"{where}: {excerpt(str(config))} names no <sdf> file")
    return path / names[-1]
