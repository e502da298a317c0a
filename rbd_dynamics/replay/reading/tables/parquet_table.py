# SPDX-License-Identifier: Apache-2.0
"""Parquet files, with pyarrow, a stretch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.extras import require
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.table import Chunk


class ParquetTable:
    """A .parquet file with columns of numbers or times."""

    MAGIC = b"PAR1"
    form, named = "a Parquet file", True

    def __init__(self, path: Path) -> None:
        require("pyarrow")
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise RecordingError(
                f"{path} is not a Parquet file, or too damaged to read: {excerpt(str(error), 200)}"
            ) from None
        self.names = list(self._file.schema_arrow.names)

    def chunks(self, columns: Sequence[int], size: int, log: Log) -> Iterator[Chunk]:
        """Chunks as of `Table`."""
        import pyarrow as pa

        names, rows, done = [self.names[k] for k in columns], self._file.metadata.num_rows, 0
        try:
            for batch in self._file.iter_batches(batch_size=size, columns=names):
                done += batch.num_rows
                yield Chunk([self._column(batch.column(name), name) for name in names], done / max(rows, 1))
        except (pa.ArrowException, OSError) as error:
            raise RecordingError(f"{self.path} is damaged after {done} rows: {excerpt(str(error), 200)}") from None

    def _column(self, column: Any, name: str) -> np.ndarray:
        import pyarrow as pa

        kind = column.type
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            column = column.cast(pa.timestamp("ns", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("ns"))
            column = column.cast(pa.int64())
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise RecordingError(f"{self.path}: column {excerpt(name)} has no numbers, but {kind}")
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        return values if values.dtype == np.int64 else values.astype(float)
