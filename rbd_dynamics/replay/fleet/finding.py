# SPDX-License-Identifier: Apache-2.0
"""Recordings in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from rbd_dynamics.replay.fleet.places import METADATA, files_below, is_elsewhere, name_of, whole_address
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import RecordingError
from rbd_dynamics.replay.reading.recording_files import parts_of
from rbd_dynamics.replay.reading.splitting import is_split

PARTS = (".db3", ".mcap", ".db3.zstd", ".mcap.zstd")  # of rosbag2; a folder of them may be one recording
WHOLE = (".bag", ".bag.active")


#: what a fleet's own files are called
TAKEN = ("fleet.html", "fleet.json", "fleet.csv", "scripts")


@dataclass(frozen=True)
class Found:
    """A recording, a path or an address elsewhere; its name below what was searched, and a folder for its results.

    Name and folder are nobody else's.
    The folder's name is not one of the fleet's own files', nor that of another folder in other letters, since there are
    disks that do not tell these apart.
    """

    path: Path | str
    name: str
    folder: str


def find_recordings(paths: Iterable[str | os.PathLike[str]]) -> list[Found]:
    """All recordings in files and folders, here or at addresses elsewhere, in the order of their names, each once.

    A folder with a metadata.yaml is one recording; so is one with the parts of a recording that was split (run_0.mcap,
    run_1.mcap, one after the other). Other files are recordings of their own, also beside those of a metadata.yaml.
    Raises RecordingError where a path does not exist or has none.
    """
    found: dict[Path | str, str] = {}
    for given in paths:
        if is_elsewhere(given):
            found.update(_elsewhere(str(given)))
            continue
        root = Path(given)
        if not root.exists():
            raise RecordingError(f"{root} does not exist")
        below = [root] if root.is_file() else sorted(_inside(root))
        if not below:
            raise RecordingError(f"{root} has no recording in it: no .db3, .mcap or .bag file")
        for place in below:
            name = place.name if place == root else place.relative_to(root).as_posix()
            found.setdefault(place.resolve(), name)
    names: set[str] = set()
    folders = set(TAKEN)
    unique = []
    for path, name in found.items():
        unique.append(Found(path, _free(name, names), _free(name.replace("/", "__"), folders)))
    return unique


def _elsewhere(address: str) -> dict[Path | str, str]:
    """{address: name} of recordings in a folder elsewhere: files, and folders that have a metadata.yaml."""
    files = files_below(address)
    if files == [address]:
        return {address: name_of(address)}
    whole = {file.rpartition("/")[0] for file in files if name_of(file) == METADATA}
    single = [file for file in files if file.endswith((*PARTS, *WHOLE)) and file.rpartition("/")[0] not in whole]
    root = len(whole_address(address))
    places = sorted([*whole, *single])
    found: dict[Path | str, str] = {place: place[root:].strip("/") or name_of(place) for place in places}
    if not found:
        raise RecordingError(f"{address} has no recording in it: no .db3, .mcap or .bag file")
    return found


def _free(name: str, taken: set[str]) -> str:
    """The name, or name~2 ..., that nobody has yet; now it is taken."""
    candidates = chain([name], (f"{name}~{k}" for k in count(2)))
    free = next(candidate for candidate in candidates if candidate.casefold() not in taken)
    taken.add(free.casefold())
    return free


def _inside(folder: Path) -> list[Path]:
    entries = sorted(folder.iterdir())
    files = [entry for entry in entries if entry.is_file() and entry.name.endswith((*PARTS, *WHOLE))]
    found: list[Path] = []
    if (folder / "metadata.yaml").is_file():
        found, files = [folder], _beside(folder, files)
    parts = [file for file in files if file.name.endswith(PARTS)]
    if len(parts) > 1 and len(parts) == len(files) and not found and is_split(parts):
        found, files = [folder], []
    found += files
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            found += _inside(entry)
    return found


def _beside(folder: Path, files: Sequence[Path]) -> list[Path]:
    """Files that the recording in this folder does not have; a part may be there compressed as well."""
    try:
        own = {file.name.removesuffix(".zstd") for file in parts_of(folder, Log()).files}
    except RecordingError:
        return []  # it is the recording that is damaged
    return [file for file in files if file.name.removesuffix(".zstd") not in own]
