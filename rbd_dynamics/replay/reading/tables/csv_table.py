# SPDX-License-Identifier: Apache-2.0
"""Tables as text: commas, semicolons, tabs or spaces between the numbers, names in the first line or nowhere."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.lines_of_messages import told
from rbd_dynamics.replay.reading.tables.long_table import LongTable, is_long
from rbd_dynamics.replay.reading.tables.table import Chunk, Table
from rbd_dynamics.replay.reading.tables.text_head import LONGEST_LINE, Head, head_of, number_in, opened


def text_table(path: Path) -> Table:
    """The table that a text is. Raises RecordingError where it is none."""
    head = head_of(path)
    return LongTable(path, head) if is_long(head) else CsvTable(path, head)


class CsvTable:
    """A .csv, .tsv or .txt file. A line that is no row of numbers is left out and counted, but for the first."""

    def __init__(self, path: Path, head: Head) -> None:
        self.path, self._head = path, head
        self._size = path.stat().st_size
        self.form, self.named = "text", head.named
        if found := told(head):
            (self._head, self.form), self.named = found, True
        self.names = list(self._head.names)

    def chunks(self, columns: Sequence[int], size: int, log: Log) -> Iterator[Chunk]:
        """Chunks as of `Table`."""
        if not columns:
            return
        with opened(self.path, self._head.encoding) as file:
            for _ in range(self._head.skipped):
                file.readline()
            lines, self._number = self._lines(file), self._head.skipped
            separator = self._head.separator
            rows_of = csv.reader(lines, delimiter=separator) if separator else map(str.split, lines)
            first = True
            while True:
                rows: list[list[str]] = []
                try:
                    for row in rows_of:
                        if row:
                            rows.append(row)
                        if len(rows) >= size:
                            break
                except csv.Error as error:
                    raise RecordingError(f"{self.path}: line {self._number}: {error}") from None
                if not rows:
                    return
                fraction = min(1.0, file.buffer.tell() / self._size)
                yield Chunk(self._numbers(rows, columns, log, first), fraction)
                first = False

    def _lines(self, file: TextIO) -> Iterator[str]:
        for line in iter(lambda: file.readline(LONGEST_LINE), ""):
            self._number += 1
            if len(line) >= LONGEST_LINE:
                raise RecordingError(f"{self.path}: line {self._number} has more than {LONGEST_LINE} letters")
            yield line

    def _numbers(self, rows: list[list[str]], columns: Sequence[int], log: Log, first: bool) -> list[np.ndarray]:
        wanted = itemgetter(*columns) if len(columns) > 1 else (lambda row: (row[columns[0]],))
        try:
            return self._columns([wanted(row) for row in rows])
        except (IndexError, ValueError):
            pass
        good = []
        for row in rows:
            try:
                numbers = [self._number_in(cell) for cell in wanted(row)]
            except (IndexError, ValueError) as error:
                if first and row is rows[0]:
                    problem = f"{len(row)} cells for {len(self.names)} columns" if len(row) <= columns[-1] else error
                    raise RecordingError(f"{self.path}: the first row is not all numbers: {problem}") from None
                log.count("undecodable messages")
                continue
            good.append(numbers)
        return self._columns(good) if good else [np.zeros(0) for _ in columns]

    def _number_in(self, cell: str) -> str:
        """The number in a cell, with a decimal point; nan where it is empty. Raises ValueError."""
        text = number_in(cell, self._head.separator != ",")
        if text is None:
            raise ValueError(f"{excerpt(cell)} is not a number")
        return text

    @staticmethod
    def _columns(rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Whole numbers, as those of stamps, stay exact. Raises ValueError."""
        columns = []
        for cells in zip(*rows):
            if len(cells[0]) > 15 and cells[0].isdigit():
                try:
                    columns.append(np.array(list(map(int, cells)), dtype=np.int64))
                    continue
                except (ValueError, OverflowError):
                    pass
            columns.append(np.fromiter(map(float, cells), float, len(cells)))
        return columns
