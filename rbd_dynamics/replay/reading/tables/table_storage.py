# SPDX-License-Identifier: Apache-2.0
"""A table as a file of messages: each row becomes a JointState, so that all that reads those reads tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from struct import pack

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.cdr import SECOND
from rbd_dynamics.joint_states.layout import FIELDS, layout_of
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RawBlock, Topic
from rbd_dynamics.replay.reading.tables.given import Given
from rbd_dynamics.replay.reading.tables.interpretation import interpreted

TOPIC = "table"
LATEST = 2**31 * SECOND  # ns: seconds of a message have 32 bits


class TableStorage:
    """A file of `interpretation.ENDINGS` with joint states. Rows without a time are left out and counted.

    Parameters:
        columns: what somebody says of its columns (`given.py`). rate: of its rows, Hz, where it has no times.
    """

    def __init__(self, path: Path, log: Log, columns: Given | None = None, rate: float | None = None) -> None:
        self.path, self._log, self._rate = path, log, rate
        self.meaning = interpreted(path, columns, rate)
        self._columns, self._unit = self.meaning.columns, self.meaning.time
        for text in self.meaning.said:
            log.guess(text)
        begin, self._shift = self.meaning.begin, 0
        if -LATEST < begin * SECOND < 0.0:
            log.remark(f"times begin at {begin:g} s: counted from there")
            self._shift = -round(begin * SECOND)
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
        read = 0
        for chunk in self.meaning.table.chunks(self._columns.used, size, self._log):
            stamps = self._stamps(chunk.columns, read)
            read += len(stamps)
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

    def _stamps(self, columns: list[np.ndarray], read: int) -> NDArray[np.int64]:
        """ns; -1 where there is none. read: rows before these."""
        used = self._columns.used
        parts = [columns[used.index(column)] for column in self._columns.times]
        if not parts:
            assert self._rate is not None
            return np.rint((read + np.arange(len(columns[0]))) * (SECOND / self._rate)).astype(np.int64)
        if len(parts) == 2:
            return _whole(parts[0], SECOND) + _whole(parts[1], 1)
        if parts[0].dtype.kind == "i" and self._unit == 1e-9:
            return np.asarray(parts[0] + self._shift, np.int64)
        return _whole(parts[0], self._unit * SECOND, self._shift)


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
