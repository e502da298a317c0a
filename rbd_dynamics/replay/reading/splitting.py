# SPDX-License-Identifier: Apache-2.0
"""Files without metadata: parts of one recording that a recorder split, or recordings of their own?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.opening import open_storage
from rbd_dynamics.replay.reading.storage import ZSTD_MAGIC, RecordingError, first_bytes

PART = re.compile(r"(.*)_(0|[1-9]\d*)((?:\.(?:db3|mcap|zstd))+)")
APART = 10 * 10**9  # ns between parts: a recorder goes on at once
MOST_PARTS = 1000  # that are looked for
BEFORE = 10**9  # ns by which the first message of a part may precede the last one before it


def is_split(files: Sequence[Path]) -> bool:
    """Whether these are parts of one recording: bag_0.mcap, bag_1.mcap ..., each from when the last one ends on.

    A part may be missing, or be too damaged to tell its times.
    """
    named = [PART.fullmatch(file.name) for file in files]
    names = [match for match in named if match is not None]
    if len(names) < len(files) or len({(match[1], match[3]) for match in names}) > 1:
        return False
    numbers = [int(match[2]) for match in names]
    parts = sorted(zip(numbers, files))
    spans = [(number, _span(file)) for number, file in parts]
    known = [(number, span) for number, span in spans if span is not None]
    return all(
        -BEFORE <= after[0] - before[1] and (after[0] - before[1] <= APART or later > number + 1)
        for (number, before), (later, after) in pairwise(known)
    )


def missing_parts(files: Sequence[Path]) -> list[str]:
    """Names of the parts that are not there, up to the last that is, of files that are all parts of one recording.

    A single file is a part where it has the name of its folder, as recorders have it.
    """
    found = [PART.fullmatch(file.name) for file in files]
    parts = {int(match[2]): match for match in found if match is not None}
    if len(parts) < max(1, len(files)) or (len(files) == 1 and parts[max(parts)][1] != files[0].parent.name):
        return []
    last = parts[max(parts)]
    return [f"{last[1]}_{k}{last[3]}" for k in range(min(max(parts), MOST_PARTS)) if k not in parts]


def _span(file: Path) -> tuple[int, int] | None:
    """Times of the first and the last message, ns; None where the file does not say."""
    try:
        if first_bytes(file).startswith(ZSTD_MAGIC):
            return None
        storage = open_storage(file, Log())
    except (RecordingError, OSError):
        return None
    try:
        return storage.span()
    finally:
        storage.close()
