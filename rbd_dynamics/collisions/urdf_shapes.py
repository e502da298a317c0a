# SPDX-License-Identifier: Apache-2.0
"""Collision shapes of a URDF's <collision> elements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np

from rbd_dynamics.collisions.shapes import CollisionShape, ShapeKind
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.shapes import Shape, urdf_shapes
from rbd_dynamics.scene.mesh_files import mesh_of

TRIANGLES = 1_000_000  # of a mesh that is read whole; its hull has far fewer corners


def collision_shapes(
    model: Model, urdf: str, *, find: Callable[[str], Path | None] = lambda name: None
) -> list[CollisionShape]:
    """The shapes of all links that the model has, named like their links: "foot", and if there are more "foot 1" ...

    Parameters:
        urdf: the text that the model was made of.
        find: the file of a mesh by its name in the description, as `scene.mesh_files.MeshFinder.find` does. Of a mesh
            the convex hull counts.

    Raises ValueError that names the link for a shape or a mesh that cannot be read, TypeError for what is no text.
    """
    if not isinstance(urdf, str):
        raise TypeError(f"collision shapes: urdf is a {type(urdf).__name__}, not a text")
    findings = Findings()
    shapes = urdf_shapes(urdf, findings)
    if findings.errors:
        raise ValueError(f"collision shapes: {findings.errors[0]}")
    links = {frame.name for frame in model.frames if frame.element == "link"}
    found = []
    for link, parts in shapes.items():
        for k, shape in enumerate(parts["collision"] if link in links else ()):
            found.append(_shape(f"{link} {k}" if k else link, link, shape, find))
    return found


def _shape(name: str, link: str, shape: Shape, find: Callable[[str], Path | None]) -> CollisionShape:
    if shape.kind != "mesh":
        kind = cast(ShapeKind, shape.kind)  # of a URDF, whose kinds all are
        return CollisionShape(name, link, kind, size=shape.size, placement=shape.placement)
    path = find(shape.file)
    if path is None:
        raise ValueError(f"collision shape {name!r}: mesh {shape.file} was not found")
    points = mesh_of(path, TRIANGLES).points * np.array(shape.size)
    return CollisionShape(name, link, "mesh", placement=shape.placement, points=points)
