# SPDX-License-Identifier: Apache-2.0
"""MATLAB's files up to version 7, with SciPy: vectors and matrices of equal length, also in structures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.column_names import TIMES, field_of
from rbd_dynamics.replay.reading.tables.table import Chunk

NAMES = ("joint_names", "jointnames", "names", "name", "joints")
DEEPEST = 8  # structures inside each other


@lru_cache(maxsize=1)
def _content(path: Path, size: int, changed: int) -> dict[str, Any]:
    """The whole file, which several questions need."""
    from scipy.io import loadmat

    try:
        return dict(loadmat(path))
    except NotImplementedError:
        raise RecordingError(f"{path} is of MATLAB 7.3: save it with '-v7', or as a CSV or Parquet file") from None
    except Exception as error:  # whatever its parser meets in a damaged file
        problem = excerpt(str(error), 200)
        raise RecordingError(f"{path} is no file of MATLAB, or too damaged to read: {problem}") from None


class MatTable:
    """A .mat file. q (N, n) has a column for each joint: those of `joint_names` in the file, else 1, 2, ..."""

    MAGIC = b"MATLAB "

    def __init__(self, path: Path) -> None:
        self.path = path
        content = _content(path, path.stat().st_size, path.stat().st_mtime_ns)
        parts = {key: value for key, value in content.items() if not key.startswith("__")}
        arrays = dict(_flat(parts))
        numbers = {key: value for key, value in arrays.items() if value.dtype.kind in "iuf" and value.ndim == 2}
        self._columns = self._all_columns(numbers, _names_in(arrays))
        self.names = list(self._columns)

    def _all_columns(self, arrays: Mapping[str, np.ndarray], joints: Sequence[str]) -> dict[str, np.ndarray]:
        vectors = {key: value.reshape(-1) for key, value in arrays.items() if 1 in value.shape}
        times = [key for word in TIMES for key in vectors if _last(key) == word or _last(key).startswith(f"{word}_")]
        if not times:
            raise RecordingError(f"{self.path} has no vector of times, as t or time; it has {listed(list(arrays))}")
        count = len(vectors[times[0]])
        found: dict[str, np.ndarray] = {}
        for key, value in arrays.items():
            if count not in value.shape:
                continue
            matrix = value if value.shape[0] == count else value.T
            if field_of(_last(key)):
                names = joints if len(joints) == matrix.shape[1] else [str(k + 1) for k in range(matrix.shape[1])]
                names = [f"{name}.{_last(key)}" for name in names]
            else:
                names = [key] if matrix.shape[1] == 1 else []
            for name, column in zip(names, matrix.T):
                if name in found:
                    raise RecordingError(f"{self.path}: two arrays have {excerpt(name)}, one of them {excerpt(key)}")
                found[name] = column
        return found

    def chunks(self, columns: Sequence[int], size: int, log: Log) -> Iterator[Chunk]:
        """Chunks as of `Table`; all of the file is in memory."""
        chosen = [self._columns[self.names[k]] for k in columns]
        count = len(chosen[0])
        for start in range(0, count, size):
            stop = min(start + size, count)
            parts = [part[start:stop] for part in chosen]
            parts = [part.astype(np.int64 if part.dtype.kind in "iu" else float) for part in parts]
            yield Chunk(parts, stop / count)


def _last(key: str) -> str:
    return key.rpartition("/")[2].lower()


def _flat(content: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays in structures as structure/name."""
    for key, value in content.items():
        if not isinstance(value, np.ndarray):
            continue
        if value.dtype.names and value.size == 1 and depth < DEEPEST:
            inner = {name: value.reshape(-1)[0][name] for name in value.dtype.names}
            yield from _flat(inner, f"{prefix}{key}/", depth + 1)
        else:
            yield f"{prefix}{key}", value


def _names_in(arrays: Mapping[str, np.ndarray]) -> list[str]:
    """Names of joints: a cell array, or a matrix of letters with a name in each row."""
    for key, value in arrays.items():
        if _last(key) in NAMES and value.dtype.kind in "UO":
            cells = [np.asarray(cell).reshape(-1) for cell in value.reshape(-1)]
            return [str(cell[0]).strip() for cell in cells if cell.size and cell.dtype.kind == "U"]
    return []
