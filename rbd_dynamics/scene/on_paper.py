# SPDX-License-Identifier: Apache-2.0
"""A robot as matplotlib draws it: its triangles seen from afar, the farthest first."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from rbd_dynamics.scene.scene import Scene

Array = NDArray[np.float64]
AROUND = 24  # corners of a circle
LIGHT = np.array([-0.35, 0.75, 0.55])  # from where it comes: right, up, and towards the eye
DARKEST = 0.45  # share of the colour that is left where no light falls


class View:
    """The viewer's direction: angles in degrees, about z from x, and up."""

    def __init__(self, azimuth: float, elevation: float) -> None:
        a, e = np.radians([azimuth, elevation])
        right = [-np.sin(a), np.cos(a), 0.0]
        up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
        self._axes = np.array([right, up, [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]])

    def __call__(self, points: Array) -> Array:
        """(..., 3) m in the world as right, up and towards the eye."""
        return np.asarray(points @ self._axes.T)


def triangles_of(scene: Scene) -> dict[int, Array]:
    """{body: corners (n, 3, 3) of its triangles in the body's frame}, the world being -1."""
    meshes = [_unpacked(mesh) for mesh in scene.content["meshes"]]
    found: dict[int, list[Array]] = {}
    for shape in scene.content["shapes"]:
        rows = np.reshape(shape["at"], (3, 4))
        corners = meshes[shape["mesh"]] * shape["size"] if shape["kind"] == "mesh" else _hull(_outline(shape))
        found.setdefault(shape["body"], []).append(corners @ rows[:, :3].T + rows[:, 3])
    return {body: np.concatenate(parts) for body, parts in found.items()}


def draw_robot(
    axes: Any, triangles: Mapping[int, Array], poses: Mapping[int, Array], view: View, *, color: str, pale: float = 0.0
) -> None:
    """poses: (4, 4) of each body. pale: share of white, for what is not to be looked at first."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    seen = view(np.concatenate([part @ poses[body][:3, :3].T + poses[body][:3, 3] for body, part in triangles.items()]))
    normal = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
    normal *= np.where(normal[:, 2:] < 0.0, -1.0, 1.0) / np.maximum(np.linalg.norm(normal, axis=1), 1e-12)[:, None]
    lit = DARKEST + (1.0 - DARKEST) * np.clip(normal @ (LIGHT / np.linalg.norm(LIGHT)), 0.0, 1.0)
    colors = pale + (1.0 - pale) * lit[:, None] * np.array(to_rgb(color))
    order = np.argsort(seen[..., 2].mean(axis=1))
    # edges of the same colour, else the background shines through between triangles
    axes.add_collection(
        PolyCollection(list(seen[order, :, :2]), facecolors=colors[order], edgecolors=colors[order], linewidths=0.3)
    )


def _unpacked(mesh: Mapping[str, Any]) -> Array:
    """Corners (n, 3, 3) of what `triangles.packed` made."""
    numbers = np.frombuffer(b64decode(mesh["points"]), "<u2").reshape(-1, 3)
    corners = np.frombuffer(b64decode(mesh["triangles"]), "<u4" if mesh["wide"] else "<u2").reshape(-1, 3)
    return np.asarray((numbers * np.array(mesh["step"]) + np.array(mesh["low"]))[corners])


def _outline(shape: Mapping[str, Any]) -> Array:
    """Points (n, 3) whose hull a shape is that is not a mesh."""
    size: Sequence[float] = shape["size"]
    if shape["kind"] == "ellipsoid":
        return _outline({"kind": "sphere", "size": [1.0]}) * size
    if shape["kind"] == "cone":
        ends = _outline({"kind": "cylinder", "size": size})
        return np.where(ends[:, 2:] > 0.0, (0.0, 0.0, size[1] / 2.0), ends)
    if shape["kind"] == "box":
        return np.array(np.meshgrid(*([-x / 2.0, x / 2.0] for x in size))).reshape(3, -1).T
    radius, length = size[0], size[1] if len(size) > 1 else 0.0
    rings = [0.0] if shape["kind"] == "cylinder" else np.linspace(0.0, np.pi / 2.0, AROUND // 4 + 1)
    around = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    side, up, turn = (part.ravel() for part in np.meshgrid([-1.0, 1.0], rings, around))
    across, along = radius * np.cos(up), side * (length / 2.0 + radius * np.sin(up))
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), along])


def _hull(points: Array) -> Array:
    return np.asarray(points[ConvexHull(points).simplices])
