# SPDX-License-Identifier: Apache-2.0
"""Shapes for collision as plain data, as scenes in YAML have them; docs/contacts.md describes the format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from rbd_dynamics.collisions.collision_set import LAW, CollisionSet
from rbd_dynamics.collisions.shapes import CollisionShape
from rbd_dynamics.collisions.urdf_shapes import TRIANGLES, collision_shapes
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints import WORLD_FRAME
from rbd_dynamics.constraints.dictionary import named
from rbd_dynamics.constraints.forms import number, value_of
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.open_kinds import built, check_keys
from rbd_dynamics.scene.mesh_files import MeshFinder, mesh_of
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

KEYS = ("description", "shapes", "ignore", "ignore_overlapping", "laws", "cone", *LAW)
LARGEST = 16_000_000  # bytes of a description


def read_collisions(data: Any, model: Model, *, folder: str | Path = ".") -> CollisionSet:
    """A `CollisionSet` of a dictionary.

    Parameters:
        folder: that files are named from.

    Raises ValueError that names the shape and the key, KeyError for a frame or shape that there is not,
    ModuleNotFoundError without `coal`.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"collisions: expected a dictionary with `shapes`, got {excerpt(data)}")
    check_keys(data, KEYS, "collisions")
    finder = MeshFinder(near=Path(folder) / "scene")
    shapes = _described(data["description"], model, Path(folder)) if "description" in data else []
    shapes += [_shape(entry, k, finder) for k, entry in enumerate(_list(data, "shapes"))]
    if not shapes:
        raise ValueError("collisions: there are no shapes")
    options: dict[str, Any] = {key: number(data[key], f"collisions: {key}") for key in LAW if key in data}
    if "cone" in data:
        options["cone"] = data["cone"]
    if "ignore_overlapping" in data:
        options["ignore_overlapping"] = value_of(bool, data["ignore_overlapping"], "collisions: ignore_overlapping")
    ignore = [_pair(entry, f"collisions: ignore {k}") for k, entry in enumerate(_list(data, "ignore"))]
    laws = dict(_law(entry, f"collisions: law {k}") for k, entry in enumerate(_list(data, "laws")))
    return CollisionSet(model, shapes, ignore=ignore, laws=laws, **options)


@dataclass(frozen=True)
class _Entry:
    name: str
    type: str
    _: KW_ONLY
    frame: str = WORLD_FRAME
    size: tuple[float, ...] = ()
    placement: Transform = IDENTITY
    file: str = ""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


def _shape(data: Any, index: int, finder: MeshFinder) -> CollisionShape:
    where = named(data, "collision shape", index)
    entry = built(_Entry, data, where, value_of)
    points: Any = ()
    if entry.type == "mesh":
        path = finder.find(entry.file)
        if path is None:
            raise ValueError(f"{where}: mesh {excerpt(entry.file)} was not found")
        try:
            points = mesh_of(path, TRIANGLES).points * entry.scale
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    elif entry.file:
        raise ValueError(f"{where}: a {excerpt(entry.type)} has no file")
    kind: Any = entry.type
    return CollisionShape(entry.name, entry.frame, kind, size=entry.size, placement=entry.placement, points=points)


def _described(file: Any, model: Model, folder: Path) -> list[CollisionShape]:
    """Shapes of the robot's own description."""
    where = "collisions: description"
    path = folder / value_of(str, file, where)
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{where}: {path} has more than {LARGEST / 1e6:.0f} MB")
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: {path} cannot be read: {error}") from None
    return collision_shapes(model, text, find=MeshFinder(near=path).find)


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    found = data.get(key) or []
    if not isinstance(found, list):
        raise ValueError(f"collisions: {key}: expected a list, got {excerpt(found)}")
    return found


def _pair(data: Any, where: str) -> tuple[str, str]:
    names: tuple[str, ...] = value_of(tuple[str, ...], data, where)
    if len(names) != 2:
        raise ValueError(f"{where}: expected two names, got {excerpt(data)}")
    return names[0], names[1]


def _law(data: Any, where: str) -> tuple[tuple[str, str], dict[str, float]]:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where}: expected a dictionary with `pair`, got {excerpt(data)}")
    check_keys(data, ("pair", *LAW), where)
    if "pair" not in data:
        raise ValueError(f"{where}: `pair` is missing")
    return _pair(data["pair"], where), {key: number(data[key], f"{where}: {key}") for key in LAW if key in data}
