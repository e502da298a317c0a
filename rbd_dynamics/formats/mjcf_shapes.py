# SPDX-License-Identifier: Apache-2.0
"""What an MJCF says of its bodies' looks: its geoms, as MuJoCo compiles them, with the meshes it has read."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbd_dynamics.formats.mjcf import pose_of
from rbd_dynamics.formats.mjcf_compiled import compiled
from rbd_dynamics.formats.mjcf_names import Names, name_of
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.shapes import Element, Kind, Shape, Shapes

#: mjtGeom: kind, and what of its size is there, halves doubled
_KINDS: dict[int, tuple[Kind, tuple[float, ...]]] = {
    2: ("sphere", (1.0,)), 3: ("capsule", (1.0, 2.0)), 5: ("cylinder", (1.0, 2.0)), 6: ("box", (2.0, 2.0, 2.0)),
}  # fmt: skip
_MESH = 7
#: geoms of further groups are not seen in MuJoCo's viewers, unless one asks for them
SEEN = 3


def mjcf_shapes(source: Source, findings: Findings) -> Shapes:
    """The geoms of each body; those of the groups 0 to 2 are visual, those that may touch something collision."""
    try:
        m = compiled(source, findings)
    except ModelError as error:
        findings.error(source.where, str(error))
        return {}
    names = Names(m)
    found: Shapes = {}
    for k in range(m.ngeom):
        name = names.body(int(m.geom_bodyid[k]))
        shape = _shape(m, k)
        if shape is None:
            continue
        parts = found.setdefault(name, {"visual": [], "collision": []})
        seen: dict[Element, bool] = {
            "visual": int(m.geom_group[k]) < SEEN,
            "collision": bool(m.geom_contype[k] or m.geom_conaffinity[k]),
        }
        for element, there in seen.items():
            if there:
                parts[element].append(shape)
    return found


def _shape(m: Any, k: int) -> Shape | None:
    """None for planes, height fields and ellipsoids, which have no counterpart."""
    kind, placement = int(m.geom_type[k]), pose_of(m.geom_pos[k], m.geom_quat[k])
    if kind in _KINDS:
        name, factors = _KINDS[kind]
        return Shape(name, tuple(f * float(size) for f, size in zip(factors, m.geom_size[k])), placement)
    number = int(m.geom_dataid[k])
    if kind != _MESH or number < 0:
        return None
    points = slice(int(m.mesh_vertadr[number]), int(m.mesh_vertadr[number]) + int(m.mesh_vertnum[number]))
    faces = slice(int(m.mesh_faceadr[number]), int(m.mesh_faceadr[number]) + int(m.mesh_facenum[number]))
    mesh = np.array(m.mesh_vert[points], dtype=float), np.array(m.mesh_face[faces], dtype=np.int64)
    return Shape("mesh", (1.0, 1.0, 1.0), placement, name_of(m, "mesh", number), mesh)
