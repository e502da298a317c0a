# SPDX-License-Identifier: Apache-2.0
"""What a description says of a link's looks: boxes, cylinders, meshes and so on in the link's frame."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.elements import Number, Reader, first_child, local_tag, parse_robot
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.urdf_reading.versions import quaternion_rotation, version_of
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy

Kind = Literal["box", "cylinder", "sphere", "capsule", "ellipsoid", "cone", "mesh"]
Element = Literal["visual", "collision"]
Colour = tuple[float, float, float, float]  # red, green, blue and opacity, 0 to 1

#: the attributes of each kind, one after the other in `Shape.size`
_SIZES: dict[Kind, dict[str, Number]] = {
    "box": {"size": Number(3)},
    "cylinder": {"radius": Number(), "length": Number()},
    "sphere": {"radius": Number()},
    "capsule": {"radius": Number(), "length": Number()},  # of newer URDFs, with half a sphere at each end
    "mesh": {"scale": Number(3, "1 1 1")},
}
_ORIGIN = {"xyz": Number(3, "0 0 0"), "rpy": Number(3, "0 0 0")}


@dataclass(frozen=True)
class Shape:
    """size: of a box its edges x, y, z; of an ellipsoid its semi-axes; else radius and length along z, m, of a cone
    with its tip up; of a mesh the scales of x, y, z.

    placement: in the frame of the link. file: of a mesh, as the description names it. mesh: of one that a description
    has in itself, in place of a file: points (n, 3), m, and triangles (m, 3). colour: None where the
    description says nothing.
    """

    kind: Kind
    size: tuple[float, ...]
    placement: Transform = IDENTITY
    file: str = ""
    mesh: tuple[NDArray[np.float64], NDArray[np.int64]] | None = field(default=None, compare=False, repr=False)
    colour: Colour | None = field(default=None, repr=False)


Shapes = dict[str, dict[Element, list[Shape]]]


def urdf_shapes(urdf: str, findings: Findings) -> Shapes:
    """The shapes of each link's visual and collision elements, {link: {element: shapes}}; links without any are not in.

    urdf: the text. A shape with something wrong about it is left out and an error, one of a kind that is none of these
    a warning: no robot is refused for its looks.
    """
    reading = Findings()
    parsed = parse_robot(urdf.lstrip("\ufeff \t\r\n"), reading)
    findings += reading.errors
    return {} if parsed is None else shapes_of_links(parsed[0], findings)


def report_other_kinds(geometry: ET.Element, known: Collection[str], where: str, findings: Findings) -> None:
    """A warning for each element of a <geometry> that is none of these kinds, and not nothing."""
    for child in geometry:
        if isinstance(child.tag, str) and local_tag(child) not in (*known, "empty"):
            findings.warning(where, f"<{local_tag(child)}>")


def shapes_of_links(root: ET.Element, findings: Findings) -> Shapes:
    """Shapes of the links in a <robot>, as `urdf_shapes` has them."""
    found: Shapes = {}
    version = version_of(root, Findings())
    palette: dict[str, Colour | None] = {}
    for material in root.iter():  # one that a link defines is there for all
        called = material.get("name", "") if isinstance(material.tag, str) and local_tag(material) == "material" else ""
        if called and palette.get(called) is None:
            palette[called] = _colour(material, findings)
    for link in root:
        name = link.get("name")
        if local_tag(link) != "link" or not name:
            continue
        parts: dict[Element, list[Shape]] = {"visual": [], "collision": []}
        for element in link:
            for kind in parts:
                if local_tag(element) == kind:
                    parts[kind] += _shapes(element, version, f"link {name!r}", palette, findings)
        if any(parts.values()):
            found[name] = parts
    return found


def colour_of(words: Sequence[str], where: str, findings: Findings) -> Colour | None:
    """Red, green, blue and, where it is there, opacity; a warning where these are no numbers from 0 to 1."""
    try:
        numbers = [*map(float, words)]
    except ValueError:
        numbers = []
    if len(numbers) in (3, 4) and all(0.0 <= x <= 1.0 for x in numbers):
        red, green, blue, opacity = (*numbers, 1.0)[:4]
        return red, green, blue, opacity
    if words:
        findings.warning(where, f"colour {excerpt(' '.join(words))} is not three or four numbers from 0 to 1")
    return None


def _colour(material: ET.Element | None, findings: Findings) -> Colour | None:
    color = None if material is None else first_child(material, "color")
    if material is None or color is None:
        return None
    return colour_of(color.get("rgba", "").split(), f"material {material.get('name', '')!r}", findings)


def _shapes(
    element: ET.Element,
    version: str,
    where: str,
    palette: Mapping[str, Colour | None],
    findings: Findings,
) -> Iterator[Shape]:
    material = first_child(element, "material")
    called = "" if material is None else material.get("name", "")
    colour = _colour(material, Findings() if called else findings) or palette.get(called)
    geometry, origin = first_child(element, "geometry"), first_child(element, "origin")
    if geometry is not None:
        report_other_kinds(geometry, _SIZES, f"{where}, {local_tag(element)}", findings)
    for kind, attributes in _SIZES.items():
        child = None if geometry is None else first_child(geometry, kind)
        if child is None:
            continue
        before = len(findings)
        size = _numbers(child, attributes, where, findings)
        pose = _numbers(ET.Element("origin") if origin is None else origin, _ORIGIN, where, findings)
        turned = quaternion_rotation(origin, version, where, findings) or rotation_from_rpy(*pose[3:])
        file = Reader(child, where, findings).name("filename") if kind == "mesh" else ""
        if len(findings) == before:
            yield Shape(kind, size, Transform.of(turned, (pose[0], pose[1], pose[2])), file, colour=colour)


def _numbers(element: ET.Element, attributes: dict[str, Number], where: str, findings: Findings) -> tuple[float, ...]:
    reader = Reader(element, where, findings)
    return tuple(float(word) for key, number in attributes.items() for word in reader.words(key, number).split())
