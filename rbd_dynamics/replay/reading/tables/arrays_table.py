# SPDX-License-Identifier: Apache-2.0
"""Arrays with names as a table: vectors and matrices that are as long as each other, wherever a file keeps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.column_names import field_of, times_among
from rbd_dynamics.replay.reading.tables.table import Chunk

NAMES = ("joint_names", "jointnames", "names", "name", "joints")
#: {path in the file, with / between: array}; names of joints are arrays of texts
Arrays = Mapping[str, np.ndarray]


@lru_cache(maxsize=1)
def _content(read: Callable[[Path], Arrays], path: Path, size: int, changed: int) -> Arrays:
    """The whole file, which several questions need."""
    return read(path)


class ArraysTable:
    """q (N, n) has a column for each joint: those of `joint_names` in the file, else 1, 2, ...

    read: gives the arrays of a file; raises RecordingError.

    Attributes:
        arrays: {path of an array in the file: {joint: its column}}.
    """

    named = True

    def __init__(self, path: Path, read: Callable[[Path], Arrays], form: str) -> None:
        self.path, self.form = path, form
        arrays = _content(read, path, path.stat().st_size, path.stat().st_mtime_ns)
        numbers = {key: _plain(value) for key, value in arrays.items() if value.dtype.kind in "iuf" and value.ndim < 3}
        self.arrays: dict[str, dict[str, str]] = {}
        self._columns = self._all_columns(numbers, _names_in(arrays))
        self.names = list(self._columns)

    def _all_columns(self, arrays: Arrays, joints: Sequence[str]) -> dict[str, np.ndarray]:
        vectors = [key for key, value in arrays.items() if 1 in value.shape and value.size > 1]
        times, _ = times_among([key.replace("/", ".") for key in vectors])
        if times:
            count = arrays[vectors[times[0]]].size
        else:  # the length that most arrays have
            lengths = Counter(max(value.shape) for value in arrays.values() if value.size > 1)
            count = lengths.most_common(1)[0][0] if lengths else 0
        if not count:
            raise RecordingError(f"{self.path} has no arrays of numbers; it has {listed(list(arrays)) or 'nothing'}")
        found: dict[str, np.ndarray] = {}
        for key, value in arrays.items():
            if count not in value.shape:
                continue
            matrix = value if value.shape[0] == count else value.T
            many = range(1, matrix.shape[1] + 1)
            last = key.rpartition("/")[2]
            own = joints if len(joints) == matrix.shape[1] else [str(k) for k in many]
            if field_of(last):
                names = [f"{name}.{last.lower()}" for name in own]
            else:
                names = [key] if matrix.shape[1] == 1 else [f"{key}[{k}]" for k in many]
            self.arrays[key] = dict(zip(own, names))
            for name, column in zip(names, matrix.T):
                if name in found:
                    raise RecordingError(f"{self.path}: two arrays have {excerpt(name)}, one of them {excerpt(key)}")
                found[name] = column
        return found

    def chunks(self, columns: Sequence[int], size: int, log: Log) -> Iterator[Chunk]:
        """Chunks as of `Table`; all of the file is in memory."""
        chosen = [self._columns[self.names[k]] for k in columns]
        count = len(chosen[0]) if chosen else 0
        for start in range(0, count, size):
            stop = min(start + size, count)
            parts = [part[start:stop] for part in chosen]
            parts = [part.astype(np.int64 if part.dtype.kind in "iu" else float) for part in parts]
            yield Chunk(parts, stop / count)


def _plain(value: np.ndarray) -> np.ndarray:
    """A vector as a column."""
    return value.reshape(-1, 1) if value.ndim < 2 else value


def _names_in(arrays: Arrays) -> list[str]:
    """Names of joints: an array of texts."""
    for key, value in arrays.items():
        if key.rpartition("/")[2].lower() in NAMES and value.dtype.kind in "US":
            return [cell.decode(errors="replace").strip() if isinstance(cell, bytes) else str(cell).strip()
                    for cell in value.reshape(-1).tolist()]  # fmt: skip
    return []
