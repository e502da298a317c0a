# SPDX-License-Identifier: Apache-2.0
"""Tables with a row for each number, as Foxglove's plots export them: the name of the series stands in a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.column_names import times_among
from rbd_dynamics.replay.reading.tables.table import Chunk
from rbd_dynamics.replay.reading.tables.text_head import Head, cells_of, number_in, opened

SERIES = ("topic", "series", "signal", "variable", "label")
VALUE = "value"
MOST_SERIES = 10_000


def is_long(head: Head) -> bool:
    """Whether there are just a time, the name of a series, and a value."""
    names = [name.lower() for name in head.names]
    return VALUE in names and any(name in SERIES for name in names) and bool(times_among(names)[0])


class LongTable:
    """Rows of one time become one row; all of the file is in memory."""

    form, named = "a row for each number, as Foxglove's plots export them", True

    def __init__(self, path: Path, head: Head) -> None:
        self.path = path
        names = [name.lower() for name in head.names]
        series, value = next(k for k, name in enumerate(names) if name in SERIES), names.index(VALUE)
        time = times_among([name if head.first[k] else "" for k, name in enumerate(names)])[0][0]
        times: dict[str, list[float]] = {}
        values: dict[str, list[float]] = {}
        with opened(path, head.encoding) as file:
            for number, line in enumerate(file):
                if number < head.skipped or not line.strip():
                    continue
                cells = cells_of(line, head.separator)
                numbers = [number_in(cells[k], False) for k in (time, value)] if len(cells) == len(names) else [None]
                if None in numbers:
                    continue
                times.setdefault(cells[series], []).append(float(numbers[0] or "nan"))
                values.setdefault(cells[series], []).append(float(numbers[1] or "nan"))
                if len(times) > MOST_SERIES:
                    raise RecordingError(f"{path} has more than {MOST_SERIES} series, as {excerpt(cells[series])}")
        grid = np.unique(np.concatenate([np.array(part) for part in times.values()])) if times else np.zeros(0)
        self._columns = {head.names[time]: grid}
        for name, at in times.items():
            column = np.full(len(grid), np.nan)
            column[np.searchsorted(grid, np.array(at))] = values[name]
            self._columns[name] = column
        self.names = list(self._columns)

    def chunks(self, columns: Sequence[int], size: int, log: Log) -> Iterator[Chunk]:
        """Chunks as of `Table`."""
        chosen = [self._columns[self.names[k]] for k in columns]
        count = len(chosen[0]) if chosen else 0
        for start in range(0, count, size):
            stop = min(start + size, count)
            yield Chunk([part[start:stop] for part in chosen], stop / count)
