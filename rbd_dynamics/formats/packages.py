# SPDX-License-Identifier: Apache-2.0
"""Finds packages: in folders that the caller gives, then those of ROS, then what Gazebo searches."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.markup.xml_text import HasDoctype, parsed
from rbd_dynamics.model.errors import ModelError

#: {package: its folder}, or folders with packages in them, at any depth
Packages = Mapping[str, str | os.PathLike[str]] | Sequence[str | os.PathLike[str]]
#: files that keep a folder out of the search, as in colcon
_IGNORED = frozenset({"COLCON_IGNORE", "AMENT_IGNORE", "CATKIN_IGNORE"})
GIVE_PACKAGES = "give `packages` (--packages), a folder to look in, or source the workspace that has it"
MOST_FOLDERS = 100_000
LONGEST_MANIFEST = 2**20  # bytes
#: variables with folders that have models in them, as Gazebo and SDFormat know them
_MODELS = ("GZ_SIM_RESOURCE_PATH", "SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")


def folders_of(packages: Packages | None) -> dict[str, Path]:
    """{package: folder} of what the caller gave: a mapping, one folder of packages, or several. Raises ModelError."""
    if packages is None:
        return {}
    if isinstance(packages, Mapping):
        found = {str(name): Path(folder) for name, folder in packages.items()}
    else:
        several = [packages] if isinstance(packages, (str, os.PathLike)) else list(packages)
        found = {}
        for folder in (Path(each).expanduser() for each in several):
            if not folder.is_dir():
                raise ModelError(f"packages: {excerpt(str(folder))} is not a folder")
            for name, inner in [*_packages_in(folder), *((inner.name, inner) for inner in sorted(folder.iterdir()))]:
                if inner.is_dir():
                    found.setdefault(name, inner)
    for name, folder in found.items():
        if not folder.is_dir():
            raise ModelError(f"packages: {excerpt(str(folder))} of {name!r} is not a folder")
    return found


def _packages_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and folder of each package in a folder, itself or deeper: what has a package.xml; none is inside another."""
    seen = 0
    for place, inner, files in os.walk(folder):
        seen += 1
        if seen > MOST_FOLDERS:
            raise ModelError(f"packages: {excerpt(str(folder))} has more than {MOST_FOLDERS} folders: give one inside")
        if _IGNORED.intersection(files):
            inner.clear()
        elif "package.xml" in files:
            inner.clear()
            name = _package_name(Path(place, "package.xml"))
            if name:
                yield name, Path(place)
        inner[:] = sorted(each for each in inner if not each.startswith("."))


def _package_name(manifest: Path) -> str:
    try:
        with manifest.open("rb") as file:
            name = parsed(file.read(LONGEST_MANIFEST)).root.findtext("name")
    except (HasDoctype, ET.ParseError, OSError, ValueError, LookupError):
        return ""
    return (name or "").strip()


def package_folder(name: str, packages: Mapping[str, Path]) -> Path | None:
    """The share folder of a package, or a model's folder; None where there is none."""
    if name in packages:
        return packages[name]
    return next((folder for folder in _searched(name) if folder.is_dir()), None)


def _searched(name: str) -> Iterator[Path]:
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix and Path(prefix, "share/ament_index/resource_index/packages", name).exists():
            yield Path(prefix, "share", name)
    for variable in _MODELS:
        for folder in os.environ.get(variable, "").split(os.pathsep):
            if folder:
                yield Path(folder, name)


def resolved(uri: str, folder: Path, packages: Mapping[str, Path], where: str) -> Path:
    """The file of a `package://`, `model://` or `file://` address, or of a path. Raises ModelError.

    A path is from `folder`, or, as with SDFormat, from a folder that has models in it.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator:
        name, *inner = PurePosixPath(uri).parts or ("",)
        found = None if (folder / uri).exists() or ".." in (name, *inner) else package_folder(name, packages)
        return folder / uri if found is None else found.joinpath(*inner)
    if scheme == "file":
        return folder / rest
    if scheme not in ("package", "model"):
        raise ModelError(f"{where}: {excerpt(uri)}: only package://, model://, file:// and paths are read")
    name, *inner = PurePosixPath(rest).parts or ("",)
    if ".." in inner:
        raise ModelError(f"{where}: {excerpt(uri)} leads out of the package")
    found = package_folder(name, packages)
    if found is None and scheme == "model" and (folder.parent / name).is_dir():
        found = folder.parent / name  # models lie side by side
    if found is None:
        raise ModelError(f"{where}: {excerpt(uri)}: there is no package {name!r} ({GIVE_PACKAGES})")
    return found.joinpath(*inner)
