# SPDX-License-Identifier: Apache-2.0
"""What a benchmark finds: tables of figures with their spread, as Markdown and as JSON, the same in both."""

from __future__ import annotations

import argparse
import json
import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True)
class Figure:
    """A measured number: its median, the quartiles where they are known, and the largest value that is wanted."""

    median: float
    quartiles: tuple[float, float] | None = None
    wanted: float | None = None

    @classmethod
    def of(cls, samples: Sequence[float] | np.ndarray, scale: float = 1.0) -> Figure:
        """Of several measurements, times `scale`."""
        low, middle, high = scale * np.percentile(samples, (25, 50, 75))
        return cls(middle, (low, high))

    @property
    def missed(self) -> bool:
        return self.wanted is not None and self.median > self.wanted

    def text(self) -> str:
        """Three digits; then half the distance of the quartiles, in percent; then what is wanted."""
        text = number(self.median)
        if self.quartiles is not None and self.median:
            low, high = self.quartiles
            percent = 50.0 * (high - low) / abs(self.median)
            text += f" ± {percent:.0f} %" if percent >= 0.95 else f" ± {percent:.1g} %"
        if self.wanted is not None:
            text += f" > {self.wanted:g} (!)" if self.missed else f" ≤ {self.wanted:g}"
        return text


#: a figure, a count, a label; None: there is none
Cell = Figure | int | str | None


@dataclass(frozen=True)
class Row:
    """Of a table. trouble: why it is not measured, or what may have disturbed it."""

    cells: tuple[Cell, ...]
    trouble: str = ""


@dataclass
class Table:
    """What stands in a section of the documentation. labels: how many of the first columns say what a row is about."""

    name: str
    heads: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    labels: int = 1

    def add(self, *cells: Cell, trouble: str = "") -> None:
        """A row; where it was not measured, its labels are enough."""
        if len(cells) > len(self.heads):
            raise ValueError(f"{len(cells)} cells for {len(self.heads)} columns")
        self.rows.append(Row(cells + (None,) * (len(self.heads) - len(cells)), trouble))

    def title(self, row: Row) -> str:
        return ", ".join(str(cell) for cell in row.cells[: self.labels])

    def markdown(self) -> str:
        """The table, and below it which of its rows are in trouble."""
        lines = [self.heads, ("---",) * len(self.heads), *([shown(cell) for cell in row.cells] for row in self.rows)]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
        for why in dict.fromkeys(row.trouble for row in self.rows if row.trouble):
            text += f"\n{'; '.join(self._titles(why))}: {why}.\n"
        return text

    def _titles(self, trouble: str) -> list[str]:
        """Of rows with that trouble; the first label alone where all of its rows have it, and one word for all rows."""
        if all(row.trouble == trouble for row in self.rows):
            return ["all"]
        spared = {row.cells[0] for row in self.rows if row.trouble != trouble}
        titles = [
            self.title(row) if row.cells[0] in spared else str(row.cells[0])
            for row in self.rows
            if row.trouble == trouble
        ]
        return list(dict.fromkeys(titles))

    def missed(self) -> list[str]:
        """Rows with more than is wanted."""
        return [
            self.title(row) for row in self.rows if any(isinstance(cell, Figure) and cell.missed for cell in row.cells)
        ]


@dataclass(frozen=True)
class Results:
    """Of one run of one benchmark. about: a line that says on what, with what and when."""

    about: str
    tables: tuple[Table, ...]

    def save(self, file: Path) -> None:
        """A row a line, so that differences can be read."""

        def text(what: Any) -> str:
            return json.dumps(what, ensure_ascii=False)

        tables = []
        for table in self.tables:
            head = f'{text(table.name)}: {{"labels": {table.labels}, "heads": {text(table.heads)}'
            rows = ",\n   ".join(text(_told(row)) for row in table.rows)
            tables.append(f'  {head}, "rows": [\n   {rows}]}}')
        every = ",\n".join(tables)
        file.write_text(f'{{"about": {text(self.about)},\n "tables": {{\n{every}}}}}\n')

    @classmethod
    def load(cls, file: Path) -> Results:
        told = json.loads(file.read_text())
        return cls(
            told["about"],
            tuple(
                Table(
                    name,
                    tuple(table["heads"]),
                    [Row(tuple(map(_cell, row["cells"])), row.get("trouble", "")) for row in table["rows"]],
                    table["labels"],
                )
                for name, table in told["tables"].items()
            ),
        )


def number(value: float) -> str:
    """At most three digits after the zeros, without an exponent."""
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits > 0 else f"{value:.0f}"


def shown(cell: Cell) -> str:
    """As text in a table."""
    if isinstance(cell, Figure):
        return cell.text()
    return "" if cell is None else str(cell)


def ratio(own: Figure, peer: Figure, wanted: float | None = None) -> Figure:
    """Of the medians of the same run."""
    return Figure(own.median / peer.median, wanted=wanted)


def parser(module: str, about: str | None) -> argparse.ArgumentParser:
    """With the options that all benchmarks have."""
    found = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=(about or "").splitlines()[0])
    found.add_argument(
        "--quick", action="store_true", help="to see that it works: less precise, fewer rows, no waiting"
    )
    found.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    return found


def deliver(arguments: argparse.Namespace, tables: Sequence[Table], *packages: str, settings: str = "") -> int:
    """Print the tables, and write them if asked. packages: that were used. Returns 1 if a row asks for attention."""
    about = about_this_run(*packages, settings=settings)
    print("\n" + "\n".join(table.markdown() for table in tables))
    print(about)
    missed = [title for table in tables for title in table.missed()]
    if missed:
        print(f"more than wanted: {'; '.join(missed)}")
    if arguments.json:
        Results(about, tuple(tables)).save(arguments.json)
    return int(bool(missed) or any(row.trouble for table in tables for row in table.rows))


def about_this_run(*packages: str, settings: str = "") -> str:
    """The machine, the versions, the settings and the day, in a line."""
    versions = [f"{name} {metadata.version(name)}" for name in ("rbd_dynamics", *packages) if installed(name)]
    parts = [processor(), f"Python {platform.python_version()}", *versions, settings, date.today().isoformat()]
    return ", ".join(part for part in parts if part)


def installed(package: str) -> bool:
    """By the name under which it is installed."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def processor() -> str:
    """Its name, as the operating system has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _told(row: Row) -> dict[str, Any]:
    """For JSON."""
    cells = [_plain(cell) for cell in row.cells]
    return {"cells": cells, "trouble": row.trouble} if row.trouble else {"cells": cells}


def _plain(cell: Cell) -> Any:
    if not isinstance(cell, Figure):
        return cell
    told: dict[str, Any] = {"median": _short(cell.median)}
    if cell.quartiles is not None:
        told["quartiles"] = [_short(value) for value in cell.quartiles]
    return told if cell.wanted is None else told | {"wanted": cell.wanted}


def _short(value: float) -> float:
    """Four digits are enough: fewer change from run to run."""
    return float(f"{value:.4g}")


def _cell(told: Any) -> Cell:
    if not isinstance(told, dict):
        return told
    quartiles = told.get("quartiles")
    return Figure(told["median"], quartiles and (quartiles[0], quartiles[1]), told.get("wanted"))
