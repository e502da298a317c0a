# SPDX-License-Identifier: Apache-2.0
"""Recordings in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rbd_dynamics.replay.reading import RecordingError

PARTS = (".db3", ".mcap", ".db3.zstd", ".mcap.zstd")  # of rosbag2; a folder of them may be one recording
WHOLE = (".bag", ".bag.active")


@dataclass(frozen=True)
class Found:
    """A recording, and its name below what was searched: unique, and fit for a path."""

    path: Path
    name: str


def find_recordings(paths: Iterable[str | os.PathLike[str]]) -> list[Found]:
    """All recordings in files and folders, in the order of their names, each once.

    A folder with a metadata.yaml is one recording; so is one whose files differ in their number only (run_0.mcap,
    run_1.mcap). Other files are recordings of their own. Raises RecordingError where a path does not exist or has none.
    """
    found: dict[Path, str] = {}
    for given in paths:
        root = Path(given)
        if not root.exists():
            raise RecordingError(f"{root} does not exist")
        below = [root] if root.is_file() else sorted(_inside(root))
        if not below:
            raise RecordingError(f"{root} has no recording in it: no .db3, .mcap or .bag file")
        for path in below:
            name = path.name if path == root else path.relative_to(root).as_posix()
            found.setdefault(path.resolve(), name)
    taken: dict[str, int] = {}
    unique = []
    for path, name in found.items():
        taken[name] = taken.get(name, 0) + 1
        unique.append(Found(path, name if taken[name] == 1 else f"{name}~{taken[name]}"))
    return unique


def _inside(folder: Path) -> list[Path]:
    entries = sorted(folder.iterdir())
    parts = [entry for entry in entries if entry.is_file() and entry.name.endswith(PARTS)]
    if (folder / "metadata.yaml").is_file():
        return [folder]
    found = [entry for entry in entries if entry.is_file() and entry.name.endswith(WHOLE)]
    stems = {re.sub(r"_\d+$", "", part.name.split(".", 1)[0]) for part in parts}
    found += [folder] if len(parts) > 1 and len(stems) == 1 and not found else parts
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            found += _inside(entry)
    return found
