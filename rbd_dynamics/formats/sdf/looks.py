# SPDX-License-Identifier: Apache-2.0
"""What an SDF says of its links' looks."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import get_args

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.formats.packages import folders_of
from rbd_dynamics.formats.sdf.frames import FrameGraph, Scope
from rbd_dynamics.formats.sdf.reader import read_links
from rbd_dynamics.formats.sdf.values import Values
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.elements import Number
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.shapes import Element, Kind, Shape, Shapes, colour_of, report_other_kinds
from rbd_dynamics.spatial.se3 import Transform

#: of each kind, what is in `Shape.size`
_SIZES: dict[Kind, dict[str, Number]] = {
    "box": {"size": Number(3)},
    "cylinder": {"radius": Number(), "length": Number()},
    "sphere": {"radius": Number()},
    "capsule": {"radius": Number(), "length": Number()},
    "ellipsoid": {"radii": Number(3)},
    "cone": {"radius": Number(), "length": Number()},
    "mesh": {"scale": Number(3, "1 1 1")},
}


def sdf_shapes(source: Source, root: ET.Element, findings: Findings, model: str | None = None) -> Shapes:
    """The shapes of each link, by its whole name; what is wrong, or of another kind, is left out and a finding.

    model: name of the one, where a file with several has it.
    """
    reading = Findings()  # of all but shapes, which `load` tells
    try:
        try:
            frames, links = read_links(source, root, folders_of(None), reading, model)
        except ModelError:
            if model is None:
                raise
            frames, links = read_links(source, root, folders_of(None), reading)  # whatever the robot is called
    except ModelError as error:
        findings.error(source.where, str(error).removeprefix(source.where).lstrip(": "))
        return {}
    found: Shapes = {}
    for name, (link, scope, file) in links.items():
        parts: dict[Element, list[Shape]] = {"visual": [], "collision": []}
        for kind in get_args(Element):
            for element in link.children(kind):
                where = f"{link.where}, {kind} {excerpt(element.get('name', ''))}"
                parts[kind] += _shapes(name, Values(element, where, findings), scope, file, frames)
        if any(parts.values()):
            found[name] = parts
    return found


def _shapes(link: str, element: Values, scope: Scope, file: Source, frames: FrameGraph) -> Iterator[Shape]:
    geometry, material = element.child("geometry"), element.child("material")
    colour = None if material is None else colour_of(material.text("diffuse").split(), element.where, element.findings)
    if geometry is not None:
        report_other_kinds(geometry.element, _SIZES, element.where, element.findings)
    for kind, sizes in _SIZES.items():
        shape = None if geometry is None else geometry.child(kind)
        if shape is None:
            continue
        before = len(element.findings)
        if kind == "ellipsoid" and shape.child("a"):  # Drake's
            sizes = dict.fromkeys("abc", Number())
        size = [number for tag, expected in sizes.items() for number in shape.numbers(tag, expected)]
        pose, relative_to = element.pose()
        at = frames.relative(scope.whole(relative_to), link) if relative_to else Transform.of()
        mesh = shape.text("uri") if kind == "mesh" else ""
        if kind == "mesh" and not mesh:
            element.findings.error(element.where, "has a <mesh> without <uri>")
        if len(element.findings) == before:
            yield Shape(kind, tuple(size), at @ pose, _whole(mesh, file), colour=colour)


def _whole(mesh: str, file: Source) -> str:
    """The name of a mesh beside the file that names it, which another file may include."""
    if not mesh or "://" in mesh or file.folder is None:
        return mesh
    return str(file.folder / mesh)
