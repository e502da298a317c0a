# SPDX-License-Identifier: Apache-2.0
"""Triangles that share their corners: joined, made fewer, and packed for a page."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FINEST, COARSEST = 1024, 2  # cells along the longest edge
STEPS = 65535  # of packed coordinates: 15 micrometres in a link of 1 m


class Mesh(NamedTuple):
    """points (n, 3), m; triangles (m, 3): their corners, counterclockwise from outside."""

    points: NDArray[np.float64]
    triangles: NDArray[np.int64]


def welded(corners: NDArray[np.float64]) -> Mesh:
    """Mesh of the corners (m, 3, 3) of triangles that do not know of each other; those without area are left out."""
    points, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return Mesh(points, _proper(index.reshape(-1, 3)))


def simplified(mesh: Mesh, most: int) -> Mesh:
    """Mesh with at most so many triangles: points in one cell of a grid, as fine as may be, become their mean.

    Edges are lost that are finer than a cell; nothing moves by more than its diagonal.
    """
    if len(mesh.triangles) <= most:
        return mesh
    low, high, best = COARSEST, FINEST, _clustered(mesh, COARSEST)
    while high - low > 1:
        cells = (low + high) // 2
        found = _clustered(mesh, cells)
        if len(found.triangles) <= most:
            low, best = cells, found
        else:
            high = cells
        if len(best.triangles) > 0.8 * most:
            break
    return best


def packed(mesh: Mesh) -> dict[str, Any]:
    """The mesh for JSON: `low` and `step` (3,), `points` and `triangles` little-endian in base 64: 16 bits each, and 16
    or 32 a corner (`wide`)."""
    low = mesh.points.min(axis=0)
    step = np.maximum(np.ptp(mesh.points, axis=0), 1e-12) / STEPS
    wide = len(mesh.points) > STEPS
    return {
        "low": _rounded(low),
        "step": _rounded(step),
        "points": _base64(np.rint((mesh.points - low) / step).astype("<u2")),
        "triangles": _base64(mesh.triangles.astype("<u4" if wide else "<u2")),
        "wide": wide,
    }


def _clustered(mesh: Mesh, cells: int) -> Mesh:
    low = mesh.points.min(axis=0)
    size = max(float(np.ptp(mesh.points, axis=0).max()), 1e-12) / cells
    places = np.minimum(((mesh.points - low) / size).astype(np.int64), cells)
    keys = (places[:, 0] * (cells + 1) + places[:, 1]) * (cells + 1) + places[:, 2]
    _, cell = np.unique(keys, return_inverse=True)
    count = np.bincount(cell)
    points = np.stack([np.bincount(cell, mesh.points[:, axis]) / count for axis in range(3)], axis=1)
    triangles = _proper(cell[mesh.triangles])
    rolled = np.take_along_axis(triangles, (np.argmin(triangles, axis=1)[:, None] + np.arange(3)) % 3, axis=1)
    triangles = np.unique(rolled, axis=0)
    used, corners = np.unique(triangles, return_inverse=True)
    return Mesh(points[used], corners.reshape(-1, 3))


def _proper(triangles: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those with three different corners."""
    a, b, c = triangles.T
    return triangles[(a != b) & (b != c) & (c != a)]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.7g}") for value in values]


def _base64(values: NDArray[Any]) -> str:
    return b64encode(values.tobytes()).decode("ascii")
