# SPDX-License-Identifier: Apache-2.0
"""How a table is written as text: its encoding, its separator, its names of columns, and where its rows begin."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TextIO

from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.vocabulary import is_unit

SEPARATORS = (",", ";", "\t", None)  # None: any number of spaces
LONGEST_LINE = 1 << 20  # letters
MOST_LINES = 200  # before the first row
COMMENTS = ("#", "%", "//")
EMPTY = ("", "null", "none", "na", "n/a", "nan", "-nan", "inf", "-inf")
ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Head:
    """What stands before the rows.

    Attributes:
        separator: between cells; None: spaces.
        names: of columns, with units of a line of their own in brackets; 1, 2, ... where there are none.
        named: whether they stand in the file.
        skipped: lines before the first row.
        first: cells of the first row; () where there is none.
    """

    encoding: str
    separator: str | None
    names: tuple[str, ...]
    named: bool
    skipped: int
    first: tuple[str, ...] = ()


def opened(path: Path, encoding: str) -> TextIO:
    """The text of a file; line ends are kept as they are."""
    return io.TextIOWrapper(path.open("rb"), encoding=encoding, errors="replace", newline="")


def encoding_of(start: bytes) -> str:
    """Encoding by the mark at the beginning of a file; without one UTF-16 by its zeros, else UTF-8."""
    for mark, encoding in ENCODINGS.items():
        if start.startswith(mark):
            return encoding
    for zeros, encoding in ((start[1::2], "utf-16-le"), (start[::2], "utf-16-be")):
        if len(start) >= 8 and not any(zeros) and start.count(0) == len(zeros):
            return encoding
    return "utf-8"


def cells_of(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]
    except csv.Error:  # a cell without end
        return []


def number_in(cell: str, comma: bool) -> str | None:
    """The number in a cell with a decimal point, nan for an empty cell; None where there is none. comma: may be one."""
    text = cell.strip().lower()
    if text in EMPTY:
        return text if text.endswith(("nan", "inf")) else "nan"
    if comma:
        text = text.replace(",", ".")
    try:
        float(text)
    except ValueError:
        return None
    return text


def head_of(path: Path) -> Head:
    """Raises RecordingError where the beginning is no table's."""
    with path.open("rb") as file:
        encoding = encoding_of(file.read(64))
    with opened(path, encoding) as text:
        lines: list[str] = []
        for line in islice(iter(lambda: text.readline(LONGEST_LINE), ""), MOST_LINES):
            if len(line) >= LONGEST_LINE or "\0" in line:
                raise RecordingError(f"{path} is not a table: line {len(lines) + 1} is not text")
            lines.append(line.rstrip("\r\n"))
    said, begin = None, 0
    if lines and lines[0].lower().startswith("sep=") and len(lines[0]) == 5:  # as Excel writes and reads it
        said, begin = lines[0][4], 1
    heads = [_head(lines, begin, separator, encoding) for separator in ([said] if said else SEPARATORS)]
    return max(heads, key=_merit)


def _merit(head: Head) -> tuple[bool, bool, bool, int]:
    """Rather a head with rows, of several columns, whose first row fits its names; then with more numbers in it."""
    numbers = sum(number_in(cell, head.separator != ",") is not None and cell != "" for cell in head.first)
    return bool(head.first), len(head.names) > 1, len(head.first) == len(head.names), numbers


def _head(lines: list[str], begin: int, separator: str | None, encoding: str) -> Head:
    """The head for one separator."""
    empty = Head(encoding, separator, (), False, len(lines))
    before: list[tuple[int, list[str]]] = []
    for place in range(begin, len(lines)):
        line = lines[place].strip(" ")
        if not line.strip():
            continue
        cells = cells_of(line, separator)
        if not line.startswith(COMMENTS) and _is_row(cells, separator):
            return _named(replace(empty, skipped=place, first=tuple(cells)), before)
        if not _is_rule(line):
            before.append((place, cells_of(_uncommented(line), separator)))
    names = next((cells for _, cells in before), [])
    return replace(empty, names=tuple(names), named=bool(names), skipped=before[0][0] + 1 if before else len(lines))


def _named(head: Head, before: list[tuple[int, list[str]]]) -> Head:
    """The head with names and units from the lines before the first row."""
    units: list[str] = []
    if before and len(before[-1][1]) == len(head.first) and all(map(is_unit, before[-1][1])) and len(before) > 1:
        units = [cell.strip().strip("[]()").strip() for cell in before.pop()[1]]
    fitting = [cells for _, cells in before if len(cells) == len(head.first)]
    names = fitting[-1] if fitting else before[-1][1] if before and len(before[-1][1]) > 1 else []
    if not names:
        return replace(head, names=tuple(str(k + 1) for k in range(len(head.first))))
    if units:
        names = [f"{name} [{unit}]" if unit not in ("", "-", "1") else name for name, unit in zip(names, units)]
    return replace(head, names=tuple(names), named=True)


def _is_row(cells: list[str], separator: str | None) -> bool:
    """Whether at least half of the cells, and one at all, are numbers."""
    numbers = [number_in(cell, separator != ",") for cell in cells]
    given = [number for cell, number in zip(cells, numbers) if cell]
    return bool(given) and 2 * sum(number is not None for number in given) >= len(given)


def _uncommented(line: str) -> str:
    for mark in COMMENTS:
        if line.startswith(mark):
            return line[len(mark) :].strip()
    return line


def _is_rule(line: str) -> bool:
    """A line that only separates, as ----|---- or ====."""
    return not line.strip("-=+|*#_ \t")
