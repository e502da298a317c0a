# SPDX-License-Identifier: Apache-2.0
"""Tables as text: commas, semicolons or tabs between the numbers, names in the first line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.table import Chunk

SEPARATORS = (",", ";", "\t")
LONGEST_LINE = 1 << 20  # bytes


class CsvTable:
    """A .csv, .tsv or .txt file. A line that is no row of numbers is left out and counted, but for the first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = path.stat().st_size
        with path.open("rb") as file:
            head = file.readline(LONGEST_LINE)
        text = head.decode("utf-8-sig", errors="replace").strip()
        if len(head) == LONGEST_LINE or "\0" in text:
            raise RecordingError(f"{path} is no table: its first line has no names of columns")
        self._separator = max(SEPARATORS, key=text.count)
        names = next(csv.reader([text], delimiter=self._separator), [])
        self.names = [name.strip() for name in names]
        if self.names:
            self.names[0] = self.names[0].lstrip("#% ")

    def chunks(self, columns: Sequence[int], size: int, log: Log) -> Iterator[Chunk]:
        """Chunks as of `Table`."""
        with self.path.open("rb") as file:
            self._read = len(file.readline())
            reader = csv.reader(self._lines(file), delimiter=self._separator)
            first = True
            while True:
                rows: list[list[str]] = []
                try:
                    for row in reader:
                        if row:
                            rows.append(row)
                        if len(rows) >= size:
                            break
                except csv.Error as error:
                    raise RecordingError(f"{self.path}: line {reader.line_num + 1}: {error}") from None
                if not rows:
                    return
                yield Chunk(self._numbers(rows, columns, log, first), self._read / self._size)
                first = False

    def _lines(self, file: BinaryIO) -> Iterator[str]:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=2):
            if len(line) == LONGEST_LINE:
                raise RecordingError(f"{self.path}: line {number} has more than {LONGEST_LINE} bytes")
            self._read += len(line)
            yield line.decode(errors="replace")

    def _numbers(self, rows: list[list[str]], columns: Sequence[int], log: Log, first: bool) -> list[np.ndarray]:
        wanted = itemgetter(*columns) if len(columns) > 1 else (lambda row: (row[columns[0]],))
        try:
            return self._columns([wanted(row) for row in rows])
        except (IndexError, ValueError):
            pass
        good = []
        for row in rows:
            try:
                numbers = [self._number(cell) for cell in wanted(row)]
            except (IndexError, ValueError) as error:
                if first and row is rows[0]:
                    problem = f"{len(row)} cells for {len(self.names)} columns" if len(row) <= columns[-1] else error
                    raise RecordingError(f"{self.path}: the first row is none of numbers: {problem}") from None
                log.count("undecodable messages")
                continue
            good.append(numbers)
        return self._columns(good) if good else [np.zeros(0) for _ in columns]

    def _number(self, cell: str) -> str:
        """The number in a cell, with a decimal point; nan where it is empty. Raises ValueError."""
        text = cell.strip().lower()
        if text in ("", "null", "none", "na", "n/a"):
            return "nan"
        text = text.replace(",", ".") if self._separator != "," else text
        try:
            float(text)
        except ValueError:
            raise ValueError(f"{excerpt(cell)} is no number") from None
        return text

    @staticmethod
    def _columns(rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Whole numbers, as those of stamps, stay exact. Raises ValueError."""
        columns = []
        for cells in zip(*rows):
            column = np.array(cells)
            try:
                columns.append(column.astype(np.int64) if len(cells[0]) > 15 else column.astype(float))
            except (ValueError, OverflowError):
                columns.append(column.astype(float))
        return columns
