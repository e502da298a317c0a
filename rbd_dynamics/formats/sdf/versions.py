# SPDX-License-Identifier: Apache-2.0
"""A parsed SDF as its newest version writes it, and a word on what of it is not used."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.markup.unused import remarks
from rbd_dynamics.formats.sdf.frames import WORLD
from rbd_dynamics.formats.sdf_vocabulary import ROOTS, SDF
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.elements import first_child, local_tag, report
from rbd_dynamics.model.errors import Findings

#: Drake's elements that are read, and which of them are none of SDFormat's; the table has them with the prefix `drake`
_DRAKES = ("rotor_inertia", "gear_ratio", "mimic")
_FOREIGN = _DRAKES[:2]
NEWEST = 12  # of version 1
_TRUE = ("1", "true", "True", "TRUE")


def brought_up(
    source: Source, root: ET.Element, findings: Findings, where: str = "", unread: Collection[ET.Element] = ()
) -> None:
    """Change the tree as libsdformat converts what is older; what is not used goes to the findings.

    where: the file, if it is not the one that is read. unread: elements of which nothing is said.
    """
    version = root.get("version", "")
    if not version:
        findings.defect(where or source.where, "has no 'version'", f"it is read as SDFormat 1.{NEWEST}")
    if version in ("1.0", "1"):
        findings.warning(
            where or source.where, "is SDFormat 1.0, whose attributes are not read", "`gz sdf` converts it"
        )
    report(remarks(root, SDF, content=source.content, version=version, but=unread), findings, where)
    major, _, minor = version.partition(".")
    known = major == "1" and minor.isdecimal() and int(minor) <= NEWEST
    age = int(minor) if known else NEWEST
    if version and not known:
        findings.defect(where or source.where, f"is SDFormat {excerpt(version)}", f"it is read as 1.{NEWEST}")
    for element in list(root.iter()):
        for inner in list(element):
            space, _, name = inner.tag.rpartition("}")
            if not (name in _DRAKES and "drake" in space) if space else name in _FOREIGN:
                element.remove(inner)
        tag = local_tag(element)
        if tag == "pose" and age < 7 and element.get("frame"):
            element.attrib.setdefault("relative_to", element.attrib.pop("frame"))
        elif tag in ("axis", "axis2") and age < 7:
            _express_axis(element, always=age < 5)
        elif tag == "world" and age < 6:
            _move_gravity(element)
        elif tag == "model" and age < 7:
            _rename_joints(element, findings)


def plain(root: ET.Element) -> ET.Element:
    """The same, called <sdf>, without the namespace of the root wherever that is."""
    space = root.tag[: len(root.tag) - len(local_tag(root))]
    for element in root.iter() if space else ():
        element.tag = element.tag.removeprefix(space)
    root.tag = ROOTS[0]
    return root


def _express_axis(axis: ET.Element, always: bool) -> None:
    """Say that it is in the axes of the model, which all are up to version 1.4, and some to 1.6."""
    chosen = first_child(axis, "use_parent_model_frame")
    if always or (chosen is not None and (chosen.text or "").strip() in _TRUE):
        xyz = first_child(axis, "xyz")
        if xyz is None:
            xyz = ET.SubElement(axis, "xyz")
            xyz.text = "0 0 1"
        xyz.set("expressed_in", "__model__")


def _rename_joints(model: ET.Element, findings: Findings) -> None:
    """Those that are called like a link, a model or the world, which was allowed up to version 1.6."""
    names = {element.get("name", "") for element in model if local_tag(element) in ("link", "model")} | {WORLD}
    for joint in [element for element in model if local_tag(element) == "joint"]:
        name = joint.get("name", "")
        if name in names:
            joint.set("name", f"{name}_joint")
            findings.warning(
                f"joint {name!r}", "has the name of a link, a model or the world", f"it is {name}_joint here"
            )


def _move_gravity(world: ET.Element) -> None:
    """Take it out of the physics, where it was up to version 1.5."""
    physics = first_child(world, "physics")
    gravity = None if physics is None else first_child(physics, "gravity")
    if gravity is not None and first_child(world, "gravity") is None:
        world.append(gravity)
