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
from rbd_dynamics.model.shapes import Colour, Element, Kind, Shape, Shapes

#: mjtGeom: kind, and what of its size is there, halves doubled
_KINDS: dict[int, tuple[Kind, tuple[float, ...]]] = {
    2: ("sphere", (1.0,)), 3: ("capsule", (1.0, 2.0)), 4: ("ellipsoid", (1.0, 1.0, 1.0)),
    5: ("cylinder", (1.0, 2.0)), 6: ("box", (2.0, 2.0, 2.0)),
}  # fmt: skip
#: those with a mesh: one of a file, that of a signed distance function
_MESHES = (7, 8)
_OTHERS = {0: "plane", 1: "height field"}
#: colour of a geom that is given none
GREY = np.array([0.5, 0.5, 0.5, 1.0])
#: geoms of further groups are not seen in MuJoCo's viewers, unless one asks for them
SEEN = 3


def mjcf_shapes(source: Source, findings: Findings) -> Shapes:
    """The geoms of each body; those of the groups 0 to 2 are visual, those that may touch something collision.

    Planes, height fields, flexes and skins are left out, each with a warning.
    """
    try:
        m = compiled(source, Findings())  # all but shapes is told by `load`
    except ModelError as error:
        findings.error(source.where, str(error))
        return {}
    names = Names(m)
    found: Shapes = {}
    for k in range(m.ngeom):
        name = names.body(int(m.geom_bodyid[k]))
        shape = _shape(m, k)
        if shape is None:
            kind = _OTHERS.get(int(m.geom_type[k]), "mesh that MuJoCo has not read")
            findings.warning(f"body {name!r}, geom {name_of(m, 'geom', k) or str(k)!r}", f"a {kind}")
            continue
        parts = found.setdefault(name, {"visual": [], "collision": []})
        seen: dict[Element, bool] = {
            "visual": int(m.geom_group[k]) < SEEN,
            "collision": bool(m.geom_contype[k] or m.geom_conaffinity[k]),
        }
        for element, there in seen.items():
            if there:
                parts[element].append(shape)
    for kind in ("flex", "skin"):
        for k in range(int(getattr(m, f"n{kind}", 0))):
            findings.warning(f"{kind} {name_of(m, kind, k) or str(k)!r}", "no shape of a body")
    return found


def _colour(m: Any, k: int) -> Colour | None:
    """The geom's own, where it has one, else that of its material; of single precision."""
    own, material = m.geom_rgba[k], int(m.geom_matid[k])
    if (own == GREY).all():
        if material < 0:
            return None
        own = m.mat_rgba[material]
    red, green, blue, opacity = (round(float(x), 6) for x in own)
    return red, green, blue, opacity


def _shape(m: Any, k: int) -> Shape | None:
    """None for planes and height fields, which have no counterpart."""
    kind, placement = int(m.geom_type[k]), pose_of(m.geom_pos[k], m.geom_quat[k])
    if kind in _KINDS:
        name, factors = _KINDS[kind]
        size = tuple(f * float(size) for f, size in zip(factors, m.geom_size[k]))
        return Shape(name, size, placement, colour=_colour(m, k))
    number = int(m.geom_dataid[k])
    if kind not in _MESHES or number < 0:
        return None
    points = slice(int(m.mesh_vertadr[number]), int(m.mesh_vertadr[number]) + int(m.mesh_vertnum[number]))
    faces = slice(int(m.mesh_faceadr[number]), int(m.mesh_faceadr[number]) + int(m.mesh_facenum[number]))
    mesh = np.array(m.mesh_vert[points], dtype=float), np.array(m.mesh_face[faces], dtype=np.int64)
    return Shape("mesh", (1.0, 1.0, 1.0), placement, name_of(m, "mesh", number), mesh, _colour(m, k))
