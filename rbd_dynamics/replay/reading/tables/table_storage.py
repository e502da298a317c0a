# SPDX-License-Identifier: Apache-2.0
"""A table as a file of messages: each row becomes a JointState, so that all that reads those reads tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from struct import pack

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.cdr import SECOND
from rbd_dynamics.joint_states.layout import FIELDS, layout_of
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RawBlock, RecordingError, Topic
from rbd_dynamics.replay.reading.tables.column_names import EPOCHS, columns_of
from rbd_dynamics.replay.reading.tables.csv_table import CsvTable
from rbd_dynamics.replay.reading.tables.mat_table import MatTable
from rbd_dynamics.replay.reading.tables.parquet_table import ParquetTable
from rbd_dynamics.replay.reading.tables.table import Table

ENDINGS: dict[str, Callable[[Path], Table]] = {
    ".csv": CsvTable, ".tsv": CsvTable, ".txt": CsvTable, ".parquet": ParquetTable, ".mat": MatTable,
}  # fmt: skip
TOPIC = "table"
LOOKED_AT = 100  # rows, for the unit of times
LATEST = 2**31 * SECOND  # ns: seconds of a message have 32 bits


def is_table(path: Path, start: bytes) -> bool:
    """Whether this is a table, by how the file begins, and what is only text by its name."""
    return path.suffix.lower() in ENDINGS or start.startswith((ParquetTable.MAGIC, MatTable.MAGIC))


class TableStorage:
    """A .csv, .parquet or .mat file with times and joint states. Rows without a time are left out and counted."""

    def __init__(self, path: Path, log: Log) -> None:
        self.path, self._log = path, log
        kind = ENDINGS.get(path.suffix.lower())
        with path.open("rb") as file:
            start = file.read(16)
        for table in (ParquetTable, MatTable):
            kind = table if start.startswith(table.MAGIC) else kind
        assert kind is not None
        self._table = kind(path)
        self._columns = columns_of(self._table.names, path)
        first = next(self._table.chunks(self._columns.used, LOOKED_AT, Log()), None)
        if first is None or not len(first.columns[0]):
            raise RecordingError(f"{path} has names of columns, but no rows")
        self._unit, self._shift = self._time_of(first.columns)
        self._message = _message(self._columns.joints, [field in self._columns.fields for field in FIELDS])
        self._layout = layout_of(self._message)
        self.topics = [Topic(0, TOPIC, "sensor_msgs/msg/JointState", "cdr", is_usual=True)]

    def close(self) -> None:
        pass

    def span(self) -> tuple[int, int] | None:
        """Not known without reading all."""
        return None

    def blocks(self, topics: Collection[int], size: int) -> Iterator[RawBlock]:
        """Rows in the order of the table."""
        place = {column: k for k, column in enumerate(self._columns.used)}
        for chunk in self._table.chunks(self._columns.used, size, self._log):
            stamps = self._stamps(chunk.columns)
            good = (stamps >= 0) & (stamps < LATEST)
            self._log.count("messages without a stamp", number=int(len(good) - good.sum()))
            count = int(good.sum())
            records = np.frombuffer(self._message * count, np.uint8).copy().view(self._layout.record)
            records["sec"], records["nanosec"] = np.divmod(stamps[good], SECOND)
            for field, (places, factors) in self._columns.fields.items():
                for k, (column, factor) in enumerate(zip(places, factors)):
                    records[field][:, k] = chunk.columns[place[column]][good] * factor if column >= 0 else np.nan
            data, length = records.tobytes(), self._layout.size
            if count:
                messages = [data[k : k + length] for k in range(0, len(data), length)]
                yield RawBlock(stamps[good], messages, chunk.fraction)

    def _stamps(self, columns: list[np.ndarray]) -> NDArray[np.int64]:
        """ns; -1 where there is none."""
        used = self._columns.used
        parts = [columns[used.index(column)] for column in self._columns.times]
        if len(parts) == 2:
            return _whole(parts[0], SECOND) + _whole(parts[1], 1)
        if parts[0].dtype.kind == "i" and self._unit == 1e-9:
            return np.asarray(parts[0] + self._shift, np.int64)
        return _whole(parts[0], self._unit * SECOND, self._shift)

    def _time_of(self, first: list[np.ndarray]) -> tuple[float, int]:
        """Unit of the times in s, and ns to add, so that they begin at zero where they began below."""
        used = self._columns.used
        times = first[used.index(self._columns.times[0])]
        times = times[np.isfinite(times)]
        if not len(times):
            raise RecordingError(f"{self.path} has no time in its first {LOOKED_AT} rows")
        unit = self._columns.unit
        if unit is None:
            size = float(np.abs(times[0]))
            unit = next((unit for least, unit in EPOCHS if size >= least), 1.0)
        begin = float(times[0]) * unit
        if not -LATEST < begin * SECOND < 0.0:
            return unit, 0
        self._log.remark(f"times begin at {begin:g} s: counted from there")
        return unit, -round(begin * SECOND)


def _whole(values: np.ndarray, factor: float, shift: int = 0) -> NDArray[np.int64]:
    """values * factor + shift, rounded; -1 where that is no time."""
    scaled = np.asarray(values, float) * factor + shift
    good = np.isfinite(scaled) & (np.abs(scaled) < LATEST)
    return np.where(good, np.rint(np.where(good, scaled, 0.0)), -1.0).astype(np.int64)


def _message(joints: tuple[str, ...], has: list[bool]) -> bytes:
    """A JointState in little endian CDR, all numbers zero."""
    text = pack("<iII", 0, 0, 1) + b"\0"  # stamp and an empty frame
    text += b"\0" * (-len(text) % 4) + pack("<I", len(joints))
    for name in joints:
        letters = name.encode() + b"\0"
        text += b"\0" * (-len(text) % 4) + pack("<I", len(letters)) + letters
    for there in has:
        text += b"\0" * (-len(text) % 4) + pack("<I", len(joints) if there else 0)
        if there:
            text += b"\0" * (-len(text) % 8) + b"\0" * (8 * len(joints))
    return b"\0\1\0\0" + text
