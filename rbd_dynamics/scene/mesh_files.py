# SPDX-License-Identifier: Apache-2.0
"""Meshes: where a description's files are, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.extras import OPTIONAL, needed
from rbd_dynamics.scene.triangles import Mesh, simplified, welded

LARGEST = 64_000_000  # bytes of a file that is read: more is no robot's link
SUFFIXES = (".stl", ".obj", ".dae", ".ply", ".glb", ".off")
_STL = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


class MeshFinder:
    """Finds the files that a description names.

    Parameters:
        folders: where packages are (`folder/package/...`), or packages themselves.
        near: the description's own file, if it has one: files named from there, and the packages that it lies in.
        packages: more folders with packages, looked at last, beside those of ROS (`AMENT_PREFIX_PATH`).
    """

    def __init__(
        self,
        *,
        folders: Sequence[str | os.PathLike[str]] = (),
        near: str | os.PathLike[str] | None = None,
        packages: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self._folders = [Path(folder) for folder in folders]
        self._near = None if near is None else Path(near).resolve().parent
        ros = [Path(prefix, "share") for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
        self._packages = [*ros, *map(Path, packages)]

    @property
    def places(self) -> list[str]:
        """All folders that it looks into."""
        return [str(place) for place in (*self._folders, self._near, *self._packages) if place is not None]

    def find(self, name: str) -> Path | None:
        """The file behind `package://...`, `model://...`, `file://...` or a path; None where there is none."""
        if Path(name).suffix.lower() not in SUFFIXES:
            return None
        for path in self._candidates(name):
            try:
                if path.is_file():
                    return path
            except OSError:  # a name that no file can have
                continue
        return None

    def _candidates(self, name: str) -> Iterator[Path]:
        scheme, _, rest = name.rpartition("://")
        if scheme in ("package", "model"):
            package, _, inside = rest.lstrip("/").partition("/")
            above = [] if self._near is None else [self._near, *self._near.parents]
            for folder in [*self._folders, *above, *self._packages]:
                yield folder / package / inside
                if folder.name == package:
                    yield folder / inside
        elif scheme in ("", "file"):
            yield from (folder / rest for folder in (self._near, *self._folders) if folder is not None)
            if Path(rest).is_absolute():
                yield Path(rest)


def mesh_of(path: Path, most: int) -> Mesh:
    """What is in a file, with at most so many triangles. Binary STL is read here, all else by trimesh.

    Raises ValueError that names the file, where it cannot be read.
    """
    try:
        state = path.stat()
        if state.st_size > LARGEST:
            raise ValueError(f"has {state.st_size / 1e6:.0f} MB, more than {LARGEST / 1e6:.0f}")
        return _mesh_of(path, most, state.st_mtime_ns)
    except ModuleNotFoundError as error:
        told = needed(error.name) if error.name in OPTIONAL else f"needs the module {error.name}"
        raise ValueError(f"{path}: {told}") from error
    except Exception as error:  # whatever trimesh raises for what is in a file
        raise ValueError(f"{path}: {' '.join(str(error).split()) or type(error).__name__}") from error


@lru_cache(maxsize=256)
def _mesh_of(path: Path, most: int, changed: int) -> Mesh:
    """Many recordings are of few robots. changed: of the file, so that a new one is read anew."""
    corners = _binary_stl(path)
    if corners is not None:
        mesh = welded(corners)
    else:
        import trimesh  # takes longer than all the rest

        if path.suffix.lower() == ".dae":
            import collada  # noqa: F401 - trimesh takes a file for empty where this is missing
        loaded = trimesh.load_mesh(path)
        mesh = Mesh(np.asarray(loaded.vertices, dtype=float), np.asarray(loaded.faces, dtype=np.int64))
    if not len(mesh.triangles):
        raise ValueError("has no triangles")
    if not np.isfinite(mesh.points).all():
        raise ValueError("has numbers that are not finite")
    return simplified(mesh, most)


def _binary_stl(path: Path) -> NDArray[np.float64] | None:
    """Corners of its triangles (n, 3, 3); None for all other files."""
    if path.suffix.lower() != ".stl":
        return None
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little")
    if len(data) < 84 or len(data) != 84 + count * _STL.itemsize:
        return None
    return np.asarray(np.frombuffer(data, _STL, offset=84)["corners"], dtype=float)
