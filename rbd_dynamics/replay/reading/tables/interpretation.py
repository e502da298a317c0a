# SPDX-License-Identifier: Apache-2.0
"""What a table is taken for: its columns, the units that were said and those that were found; to be told, and kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rbd_dynamics.joint_states.layout import FIELDS
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.array_files import HDF5, MATLAB, NPY, hdf5_table, mat_table, numpy_table
from rbd_dynamics.replay.reading.tables.arrays_table import ArraysTable
from rbd_dynamics.replay.reading.tables.column_names import split_unit
from rbd_dynamics.replay.reading.tables.columns import Columns, columns_of, unused
from rbd_dynamics.replay.reading.tables.csv_table import text_table
from rbd_dynamics.replay.reading.tables.given import Given, with_columns_of_arrays
from rbd_dynamics.replay.reading.tables.parquet_table import ParquetTable
from rbd_dynamics.replay.reading.tables.table import Table
from rbd_dynamics.replay.reading.tables.units import UNITS, units_of
from rbd_dynamics.replay.reading.tables.vocabulary import DEGREE, PLAIN, TIME

ENDINGS: dict[str, Callable[[Path], Table]] = {
    ".csv": text_table, ".tsv": text_table, ".txt": text_table, ".log": text_table, ".dat": text_table,
    ".parquet": ParquetTable, ".mat": mat_table, ".npz": numpy_table, ".npy": numpy_table, ".h5": hdf5_table,
    ".hdf5": hdf5_table,
}  # fmt: skip
MAGIC: dict[bytes, Callable[[Path], Table]] = {
    ParquetTable.MAGIC: ParquetTable, MATLAB: mat_table, HDF5: hdf5_table, NPY: numpy_table,
}  # fmt: skip
LOOKED_AT = 2000  # rows, for units


def is_table(path: Path, start: bytes) -> bool:
    """Whether this is a table, by how the file begins, and what is only text by its name."""
    return path.suffix.lower() in ENDINGS or start.startswith(tuple(MAGIC))


def open_table(path: Path) -> Table:
    """Raises RecordingError where it cannot be read, ValueError where a package is missing."""
    with path.open("rb") as file:
        start = file.read(16)
    kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    return (kind or ENDINGS[path.suffix.lower()])(path)


@dataclass(frozen=True)
class Interpretation:
    """A table and what it is taken for.

    Attributes:
        columns: with all factors to SI.
        time: unit of the times, s; begin: of the first one, s.
        angles_said: whether it is known that angles are in the unit that they are taken for.
        said: every guess, in words.
    """

    table: Table
    columns: Columns
    time: float
    begin: float
    angles_said: bool
    said: tuple[str, ...]

    def mapping(self) -> dict[str, Any]:
        """What `--columns` takes, to read the same again without a guess."""
        names, found = self.table.names, self.columns
        mapping: dict[str, Any] = {}
        if len(found.times) == 1:
            mapping[TIME] = _with_unit(names[found.times[0]], UNITS.get(self.time, "s"))
        for field, (places, factors) in found.fields.items():
            mapping[field] = {
                joint: _with_unit(names[place], _unit(field, found.units[field], factor))
                for joint, place, factor in zip(found.joints, places, factors)
                if place >= 0
            }
        return mapping

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(column, taken for, unit, why) of each that is used, in the order of the table."""
        found, names = self.columns, self.table.names
        rows: dict[int, tuple[str, str, str, str]] = {}
        for place in found.times:
            rows[place] = names[place], "time", UNITS.get(self.time, "s"), found.why[TIME]
        for field, (places, factors) in found.fields.items():
            for joint, place, factor in zip(found.joints, places, factors):
                if place >= 0:
                    unit = _unit(field, found.units[field], factor)
                    rows[place] = names[place], f"{field} of {joint}", unit, found.why[field]
        return [rows[place] for place in sorted(rows)]

    def left(self) -> list[str]:
        """Columns that are not used."""
        return unused(self.table.names, self.columns)


def interpreted(path: Path, given: Given | None = None, rate: float | None = None) -> Interpretation:
    """Raises RecordingError where it cannot be told what the columns are."""
    about = path.stat()
    return _interpreted(path, json.dumps(given or {}), rate, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=1)  # each pass over a table opens it again
def _interpreted(path: Path, mapping: str, rate: float | None, size: int, changed: int) -> Interpretation:
    given: Given = json.loads(mapping)
    table = open_table(path)
    if not table.named and not given:
        raise RecordingError(
            f"{path} has no names of columns, and {len(table.names)} numbers in its first row: say what they are, as "
            "--columns t=1 --columns q=2-8 --columns tau=9-15, or --rate HZ where none is the time"
        )
    given = with_columns_of_arrays(given, table.arrays) if isinstance(table, ArraysTable) else given
    columns = columns_of(table.names, path, given, rate)
    first = next(table.chunks(columns.used, LOOKED_AT, Log()), None)
    if first is None or not len(first.columns[0]):
        raise RecordingError(f"{path} has names of columns, but no rows")
    place = dict(zip(columns.used, first.columns))
    said = list(columns.remarks)
    if table.form.startswith("messages"):
        said.insert(0, f"its lines are {table.form}")
    if not columns.times:
        said.append(f"it has no times: {columns.why[TIME]}")
        return Interpretation(table, columns, 1.0, 0.0, _said(columns), tuple(said))
    times = place[columns.times[0]].astype(float)
    good = np.isfinite(times)
    if not good.any():
        raise RecordingError(f"{path} has no time in its first {len(times)} rows")
    q, v = (_numbers(columns, field, place, good) for field in ("position", "velocity"))
    clock = times[good] if len(columns.times) == 1 else times[good] + 1e-9 * place[columns.times[1]][good]
    angles = bool(columns.units.get("position")) and bool(columns.units.get("velocity"))
    found = units_of(clock, q, v, time=columns.unit, angles=angles)
    columns = replace(columns.scaled(found.factors), why=_reasons(columns, found.factors, found.why))
    known = _said(columns) or "position" in found.factors
    return Interpretation(table, columns, found.time, float(clock[0]) * found.time, known, (*said, *found.said))


def _said(columns: Columns) -> bool:
    return bool(columns.units.get("position"))


def _reasons(columns: Columns, factors: dict[str, float], time: str) -> dict[str, str]:
    why = dict(columns.why)
    why.update({field: f"{why[field]}; unit by velocities" for field in factors})
    if time:
        why[TIME] = f"{why[TIME]}; unit since {time}"
    return why


def _numbers(columns: Columns, field: str, place: dict[int, np.ndarray], good: np.ndarray) -> np.ndarray | None:
    """(N, joints) of a field, NaN for joints without; None where there is none."""
    if field not in columns.fields:
        return None
    places, factors = columns.fields[field]
    return np.stack(
        [place[k][good] * factor if k >= 0 else np.full(int(good.sum()), np.nan) for k, factor in zip(places, factors)],
        axis=1,
    )


def _unit(field: str, said: str, factor: float) -> str:
    if said:
        return said
    by_factor = {
        "position": {DEGREE: "deg", 1.0: "rad"}, "velocity": {DEGREE: "deg/s", np.pi / 30.0: "rpm", 1.0: "rad/s"},
    }.get(field, {})  # fmt: skip
    return by_factor.get(factor, PLAIN[field])


def _with_unit(name: str, unit: str) -> str:
    return name if split_unit(name)[1] else f"{name} [{unit}]"


assert set(PLAIN) == {TIME, *FIELDS}
