# SPDX-License-Identifier: Apache-2.0
"""Which files a recording has, and what its metadata.yaml says of them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rbd_dynamics.common.excerpt import listed
from rbd_dynamics.common.safe_yaml import LARGE, read_file
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.splitting import is_split, missing_parts
from rbd_dynamics.replay.reading.storage import RecordingError, first_bytes

LONGEST_FILE_NAME = 255  # bytes, of the file systems in use
ENDINGS = (".db3", ".mcap", ".bag", ".active", ".zstd")


@dataclass(frozen=True)
class Parts:
    """The files of a recording, in order.

    Attributes:
        expected: {topic: number of messages}, where the metadata say.
        compressed: each message by itself.
        distribution: of ROS 2, where the metadata say.
    """

    files: list[Path]
    expected: dict[str, int] = field(default_factory=dict)
    compressed: bool = False
    distribution: str | None = None


def parts_of(path: Path, log: Log) -> Parts:
    """The file itself; of a folder those that metadata.yaml lists, or, without it, all by their numbers.

    Raises RecordingError where there is none, or where they are not those of one recording.
    """
    if not path.exists():
        raise RecordingError(f"{path} does not exist")
    if not path.is_dir():
        return Parts([path])
    found = _metadata(path)
    if found is None:
        log.remark(f"{path.name} has no readable metadata.yaml: its files are taken by their names")
        found = Parts([])
    for file in found.files:
        if not file.exists():
            log.count("damaged parts")
            log.remark(f"{file.name}, which metadata.yaml lists, is missing")
    files = [file for file in found.files if file.exists()]
    if not files:
        there = [f for f in path.iterdir() if f.is_file() and f.suffix in ENDINGS and first_bytes(f)]
        files = sorted(there, key=lambda f: [int(k) if k.isdigit() else k for k in re.split(r"(\d+)", f.name)])
        if len(files) > 1 and not is_split(files):
            raise RecordingError(
                f"{path} has {len(files)} recordings in it, not the parts of one (bag_0, bag_1 ..., each after the "
                f"last): name one of them, {files[0].name} or another"
            )
        if missing := missing_parts(files):
            log.count("damaged parts", number=len(missing))
            log.remark(f"by the names of the others, parts are missing: {listed(missing)}")
    if not files:
        raise RecordingError(f"{path} has no recording in it: no .db3, .mcap or .bag file")
    return Parts(files, found.expected, found.compressed, found.distribution)


def _metadata(folder: Path) -> Parts | None:
    """What metadata.yaml says; None where it cannot be read."""
    try:
        content = read_file(folder / "metadata.yaml", "metadata.yaml", LARGE)
        found: dict[str, Any] = content["rosbag2_bagfile_information"]
        topics = found.get("topics_with_message_count") or ()
        distribution = found.get("ros_distro")
        return Parts(
            [folder / _file_name(name) for name in found.get("relative_file_paths") or ()],
            {topic["topic_metadata"]["name"]: int(topic["message_count"]) for topic in topics},
            str(found.get("compression_mode") or "").lower() == "message",
            distribution if isinstance(distribution, str) else None,
        )
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return None


def _file_name(path: Any) -> str:
    """Name of a file in the folder, whatever folder it once had. Raises ValueError."""
    name = Path(str(path)).name
    if name in ("", "..") or "\0" in name or len(os.fsencode(name)) > LONGEST_FILE_NAME:
        raise ValueError(f"{name[:60]!r} is not the name of a file")
    return name
