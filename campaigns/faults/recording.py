# SPDX-License-Identifier: Apache-2.0
"""All that a judge was told, in a file: two hours can be judged again when a judge has learned something."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Look = tuple[int, list[tuple[str, float, str, Any]], dict[str, Any]]  # known until (ns), events, what has arrived


class Recording:
    """To a file, or to none. 140 MB an hour and node at 500 Hz. Pickles: for files of one's own."""

    def __init__(self, path: Path | None, motions: dict[str, Any]) -> None:
        self._file = gzip.open(path, "wb", compresslevel=1) if path else None
        if self._file:
            pickle.dump(motions, self._file)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def write(self, look: bytes) -> None:
        """look: a pickled `Look`."""
        if self._file:
            self._file.write(look)


def recorded(path: Path) -> tuple[dict[str, Any], Iterator[Look]]:
    """(motions of the nodes, looks). A file that was cut off is read as far as it goes. Raises OSError."""
    file = gzip.open(path, "rb")
    motions = pickle.load(file)

    def looks() -> Iterator[Look]:
        with file:
            while True:
                try:
                    yield pickle.load(file)
                except EOFError:
                    return

    return motions, looks()
