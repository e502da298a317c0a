# SPDX-License-Identifier: Apache-2.0
"""Shapes in files that are written: those of the file that a model was read from."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import get_args

from rbd_dynamics.common.example_robots import shares
from rbd_dynamics.formats.changes import tell
from rbd_dynamics.formats.load import urdf_text
from rbd_dynamics.formats.packages import folders_of, resolved
from rbd_dynamics.formats.shapes import shapes_of
from rbd_dynamics.formats.source import read_source
from rbd_dynamics.formats.writing import SHOWN, angles_of
from rbd_dynamics.formats.writing import text_of as text
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.shapes import Element, Shape, Shapes
from rbd_dynamics.spatial.quaternions import quaternion_from_rotation
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

#: what MuJoCo reads, by the ending of the file
MUJOCO = (".stl", ".obj", ".msh")
_ATTRIBUTES = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "ellipsoid": ("radii",),
    "cone": ("radius", "length"),
}
#: kinds that a format has no word for
_NO_URDF, _NO_MJCF = ("ellipsoid", "cone"), ("cone",)


class WrittenShapes:
    """The shapes of a model's links, as far as the file that it was read from is there; none of other models.

    A mesh is named as there, or by its whole path; where a format has no place for a shape it is left out, and `tell`
    warns of it.
    """

    def __init__(self, model: Model, *, wanted: bool = True) -> None:
        self._frames = {frame.name: frame for frame in reversed(model.frames) if frame.element == "link"}
        self._folder: Path | None = None
        self._left_out: list[str] = []
        self._of: Shapes = {}
        self._meshes: dict[tuple[str, tuple[float, ...]], str] = {}
        if wanted and model.source is not None and os.path.isfile(model.source):
            try:
                described = urdf_text(model.source) or read_source(Path(model.source))
            except ModelError as error:
                self._left_out.append(str(error))
                return
            self._folder = Path(model.source).parent
            findings = Findings()
            self._of = shapes_of(described, findings, model.name)
            self._left_out += map(str, findings)

    def on_body(self, index: int) -> list[tuple[Element, Shape]]:
        """Those of all links of a body, or of the world, placed in its frame."""
        found = []
        for link, parts in self._of.items():
            frame = self._frames.get(link)
            if frame is not None and frame.body == index:
                for kind in get_args(Element):
                    for shape in parts[kind]:
                        found.append((kind, replace(shape, placement=frame.placement @ shape.placement)))
        return found

    # --- in a URDF --------------------------------------------------------------------------------

    def add_to_urdf_link(self, link: ET.Element, name: str) -> None:
        """The shapes of the link of that name."""
        parts = self._of.get(name)
        for kind in get_args(Element) if parts is not None and name in self._frames else ():
            for shape in parts[kind]:  # type: ignore[index]
                if shape.kind in _NO_URDF:
                    self._left_out.append(f"link {name!r}, {kind}: {shape.kind}")
                    continue
                for plain in _without_capsules(shape):
                    file = self._file(plain)
                    if file is None:
                        continue
                    element = ET.SubElement(link, kind)
                    ET.SubElement(element, "origin", xyz=text(plain.placement.p), rpy=angles_of(plain.placement))
                    own = {"filename": file, "scale": text(plain.size)} if plain.kind == "mesh" else _sizes(plain)
                    ET.SubElement(ET.SubElement(element, "geometry"), plain.kind, own)
                    if plain.colour is not None and kind == "visual":
                        rgba = text(plain.colour)
                        material = ET.SubElement(element, "material", name=f"rgba_{rgba.replace(' ', '_')}")
                        ET.SubElement(material, "color", rgba=rgba)

    # --- in an SDF --------------------------------------------------------------------------------

    def add_to_sdf_link(self, link: ET.Element, index: int) -> None:
        """The shapes of a body, or of the world."""
        for number, (kind, shape) in enumerate(self.on_body(index), start=1):
            file = self._file(shape)
            if file is None:
                continue
            element = ET.SubElement(link, kind, name=f"{kind}_{number}")
            ET.SubElement(element, "pose").text = f"{text(shape.placement.p)} {angles_of(shape.placement)}"
            own = {"uri": file, "scale": text(shape.size)} if shape.kind == "mesh" else _sizes(shape)
            geometry = ET.SubElement(ET.SubElement(element, "geometry"), shape.kind)
            for key, value in own.items():
                ET.SubElement(geometry, key).text = value
            if shape.colour is not None and kind == "visual":
                ET.SubElement(ET.SubElement(element, "material"), "diffuse").text = text(shape.colour)

    # --- in an MJCF -------------------------------------------------------------------------------

    def add_to_mjcf_body(self, body: ET.Element, assets: ET.Element, index: int) -> None:
        """The shapes of a body, or of the world: what is only seen in group 2, what touches in group 3."""
        for kind, shape in self.on_body(index):
            geom = {"type": shape.kind, "group": "2" if kind == "visual" else "3"}
            if kind == "visual":
                geom |= {"contype": "0", "conaffinity": "0"}
            if shape.kind in _NO_MJCF:
                self._left_out.append(f"link {body.get('name', 'world')!r}, {kind}: {shape.kind}")
                continue
            if shape.kind == "mesh":
                mesh = self._asset(shape, assets)
                if mesh is None:
                    continue
                geom["mesh"] = mesh
            else:
                halves = {"box": (0.5,) * 3, "ellipsoid": (1.0,) * 3, "sphere": (1.0,)}.get(shape.kind, (1.0, 0.5))
                geom["size"] = text([half * size for half, size in zip(halves, shape.size)])
            x, y, z, w = quaternion_from_rotation(shape.placement.rotation)
            geom |= {"pos": text(shape.placement.p), "quat": text((w, x, y, z))}
            if shape.colour is not None:
                geom["rgba"] = text(shape.colour)
            ET.SubElement(body, "geom", geom)

    def _asset(self, shape: Shape, assets: ET.Element) -> str | None:
        """The name of a mesh that MuJoCo reads, which is there once for each size."""
        path = self._path(shape)
        if path is None or path.suffix.lower() not in MUJOCO:
            self._left_out.append(shape.file)
            return None
        key = str(path), shape.size
        if key not in self._meshes:
            self._meshes[key] = f"mesh_{len(self._meshes) + 1}_{path.stem}"
            ET.SubElement(assets, "mesh", name=self._meshes[key], file=str(path), scale=text(shape.size))
        return self._meshes[key]

    # --- meshes -----------------------------------------------------------------------------------

    def _file(self, shape: Shape) -> str | None:
        """What a mesh is called, empty for other shapes; None for one that is in no file."""
        if shape.kind != "mesh":
            return ""
        if shape.mesh is not None:
            self._left_out.append(shape.file)
            return None
        if "://" in shape.file or self._folder is None:
            return shape.file
        return (self._folder / shape.file).as_uri()

    def _path(self, shape: Shape) -> Path | None:
        if shape.mesh is not None or self._folder is None:
            return None
        for folders in (folders_of(None), folders_of(shares())):
            try:
                path = resolved(shape.file, self._folder, folders, "mesh")
            except ModelError:
                continue
            if path.is_file():
                return path.resolve()
        return None

    def tell(self) -> None:
        """Warn of what was left out."""
        names = list(dict.fromkeys(self._left_out))
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            tell(f"shapes are left out: {', '.join(names[:SHOWN])}{more}")


def _sizes(shape: Shape) -> dict[str, str]:
    keys = _ATTRIBUTES[shape.kind]
    if len(keys) == 1:
        return {keys[0]: text(shape.size)}
    return {key: text([size]) for key, size in zip(keys, shape.size)}


def _without_capsules(shape: Shape) -> list[Shape]:
    """A capsule as what each reader of URDFs knows: a cylinder between two spheres."""
    if shape.kind != "capsule":
        return [shape]
    radius, length = shape.size
    ends = [shape.placement @ Transform.of(p=(0.0, 0.0, side * 0.5 * length)) for side in (-1.0, 1.0)]
    rod = replace(shape, kind="cylinder", placement=shape.placement @ IDENTITY)
    return [rod, *(replace(shape, kind="sphere", size=(radius,), placement=end) for end in ends)]
