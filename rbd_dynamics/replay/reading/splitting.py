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
