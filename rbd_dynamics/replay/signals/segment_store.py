# SPDX-License-Identifier: Apache-2.0
"""Segments kept on disk from one pass over a recording to the next, in place of reading and filtering them again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.signals.segmentation import Progress, Segment

#: bytes on disk; of a longer recording nothing is kept
LARGEST = 1 << 30

_ARRAYS = tuple(field.name for field in fields(Segment) if field.name not in ("number", "start", "measured"))


class _Kept(NamedTuple):
    """What is not in the file, and how the arrays stand there."""

    number: int
    start: int
    measured: NDArray[np.bool_]
    arrays: list[tuple[np.dtype[Any], tuple[int, ...]]]


class SegmentStore:
    """Takes the segments of a first pass as they go by, and has them for others, if there was room for all.

    The file is a temporary one without a name. A full disk is no error: the recording is there to be read again.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self._room = largest
        self._kept: list[_Kept] = []
        self._file: Any = None
        #: are all of them there?
        self.complete = False

    def passing(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """The segments, each of which is kept."""
        try:
            self._file = tempfile.TemporaryFile(prefix="rbd_dynamics_", dir=_folder())
        except OSError:
            self._file = None
        for segment in segments:
            if self._file is not None:
                self._keep(segment)
            yield segment
        self.complete = self._file is not None

    def segments(self, progress: Progress, *, last: bool = True) -> Iterator[Segment]:
        """They once more; only where they are `complete`. last: nothing is kept any longer."""
        assert self.complete
        self._file.seek(0)
        for count, kept in enumerate(self._kept, start=1):
            arrays = (
                np.fromfile(self._file, dtype, int(np.prod(shape))).reshape(shape) for dtype, shape in kept.arrays
            )
            yield Segment(
                number=kept.number, start=kept.start, measured=kept.measured, **dict(zip(_ARRAYS, arrays, strict=True))
            )
            progress(count / len(self._kept))
        if last:
            self._forget()

    def _keep(self, segment: Segment) -> None:
        arrays = [np.ascontiguousarray(getattr(segment, name)) for name in _ARRAYS]
        self._room -= sum(array.nbytes for array in arrays)
        if self._room < 0:
            self._forget()
            return
        try:
            for array in arrays:
                array.tofile(self._file)
        except OSError:
            self._forget()
            return
        self._kept.append(
            _Kept(segment.number, segment.start, segment.measured, [(array.dtype, array.shape) for array in arrays])
        )

    def _forget(self) -> None:
        self._file.close()
        self._file, self.complete = None, False
        self._kept.clear()


def _folder() -> str | None:
    """Folder for large temporary files: /tmp is memory on many systems. None: the usual place."""
    large = "/var/tmp"
    return large if "TMPDIR" not in os.environ and os.access(large, os.W_OK) else None
