# SPDX-License-Identifier: Apache-2.0
"""A parsed SDF as its newest version writes it, and a word on what of it is not used."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from rbd_dynamics.formats.sdf_vocabulary import SDF
from rbd_dynamics.formats.source import Source
from rbd_dynamics.formats.vocabulary import remarks, report
from rbd_dynamics.model.elements import first_child, local_tag
from rbd_dynamics.model.errors import Findings

#: elements of other namespaces that are read; the table has them with the prefix `drake`
_FOREIGN = ("rotor_inertia", "gear_ratio")
_TRUE = ("1", "true", "True", "TRUE")


def brought_up(source: Source, root: ET.Element, findings: Findings, where: str = "") -> ET.Element:
    """The root element, changed in place as libsdformat converts what is older; what is not used goes to the findings.

    where: the file, if it is not the one that is read.
    """
    version = root.get("version", "")
    if not version:
        findings.defect(where or source.where, "has no 'version'", "it is read as SDFormat 1.12")
    report(remarks(_plain(root), SDF, content=source.content, version=version), findings, where)
    major, _, minor = version.partition(".")
    age = int(minor) if major == "1" and minor.isdecimal() else 12
    for element in list(root.iter()):
        for inner in list(element):
            space, _, name = inner.tag.rpartition("}")
            if bool(space) != (name in _FOREIGN) or (space and "drake" not in space):
                element.remove(inner)
        tag = local_tag(element)
        if tag == "pose" and age < 7 and element.get("frame"):
            element.attrib.setdefault("relative_to", element.attrib.pop("frame"))
        elif tag in ("axis", "axis2") and age < 7:
            _express_axis(element, always=age < 5)
        elif tag == "world" and age < 6:
            _move_gravity(element)
    return root


def _plain(root: ET.Element) -> ET.Element:
    """The same, with the namespace of the root left out of every tag that has it."""
    space = root.tag[: len(root.tag) - len(local_tag(root))]
    for element in root.iter() if space else ():
        element.tag = element.tag.removeprefix(space)
    return root


def _express_axis(axis: ET.Element, always: bool) -> None:
    """In the axes of the model, which all are up to version 1.4, and some to 1.6."""
    chosen = first_child(axis, "use_parent_model_frame")
    if always or (chosen is not None and (chosen.text or "").strip() in _TRUE):
        xyz = first_child(axis, "xyz")
        if xyz is None:
            xyz = ET.SubElement(axis, "xyz")
            xyz.text = "0 0 1"
        xyz.set("expressed_in", "__model__")


def _move_gravity(world: ET.Element) -> None:
    """Out of the physics, where it was up to version 1.5."""
    physics = first_child(world, "physics")
    gravity = None if physics is None else first_child(physics, "gravity")
    if gravity is not None and first_child(world, "gravity") is None:
        world.append(gravity)
