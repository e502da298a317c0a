# SPDX-License-Identifier: Apache-2.0
"""The model files of folders, and of the packages that are installed."""

from __future__ import annotations

import os
import site
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ENDINGS = (".urdf", ".sdf", ".world", ".xml", ".mjcf")
FORMATS = {"robot": "URDF", "sdf": "SDF", "gazebo": "SDF", "mujoco": "MJCF"}


@dataclass(frozen=True, order=True)
class ModelFile:
    """group: the package or folder that it belongs to."""

    group: str
    format: str
    path: Path


def installed() -> list[ModelFile]:
    """Of all Python packages that can be imported, and of ROS packages where ROS is sourced.

    And what packages put into the environment's share folder (icub-models), and what robot_descriptions has fetched.
    """
    folders = [*site.getsitepackages(), *(entry for entry in sys.path if entry.endswith("-packages"))]
    folders.append(f"{sys.prefix}/share")
    folders.append(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", str(Path.home() / ".cache" / "robot_descriptions")))
    folders += [f"{prefix}/share" for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if prefix]
    found = {each.path.resolve(): each for folder in dict.fromkeys(folders) for each in of_folder(Path(folder))}
    return sorted(found.values())


def of_folder(folder: Path, name: str = "") -> Iterator[ModelFile]:
    """All below a folder. The group is `name`, else the first folder in it, below what packages are often put in."""
    for above, below, files in os.walk(folder):
        below[:] = sorted(entry for entry in below if not entry.startswith(".") and entry != "__pycache__")
        for file in sorted(files):
            path = Path(above, file)
            format_ = format_of(path) if path.suffix in ENDINGS else None
            if format_:
                parts = [part for part in path.relative_to(folder).parts if part not in ("cmeel.prefix", "share")]
                yield ModelFile(name or parts[0], format_, path)


def format_of(path: Path) -> str | None:
    """By the root element; None for what is no XML, or a xacro, which is no model yet."""
    try:
        with path.open("rb") as file:
            for _, root in ET.iterparse(file, events=("start",)):
                is_robot = root.tag.rpartition("}")[2] == "robot"
                if is_robot and (path.suffix == ".xml" or b"/xacro" in path.read_bytes()):
                    return None
                return FORMATS.get(root.tag.rpartition("}")[2])
    except (OSError, ET.ParseError, ValueError):
        return FORMATS["robot"] if path.suffix == ".urdf" else None
    return None
