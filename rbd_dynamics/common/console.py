# SPDX-License-Identifier: Apache-2.0
"""The terminal of every command: where tables go, and what is shown while something takes its time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rich.progress import Progress

FILE_WIDTH = 200  # columns, where the output is no terminal
GAP = 2  # columns after each of a plain table
LEAST = 16  # columns for the first one


class OutputConsole(Console):
    """A reader that has seen enough, as in `| head`, is the caller's to judge: rich would end the process with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def output_console() -> Console:
    """Standard output; nothing is folded or left out for a narrow terminal where it is none, unless COLUMNS says so."""
    is_told = os.environ.get("COLUMNS", "").isdigit()
    return OutputConsole(highlight=False, width=None if is_told or sys.stdout.isatty() else FILE_WIDTH)


def plain_table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, GAP, 0, 0), header_style="bold")
    for k, head in enumerate(heads):
        table.add_column(head, justify="left" if k == 0 else "right")
    return table


def print_table(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table of texts, or where it is too wide several with the first column each: no number is broken."""
    rows = [list(row) for row in rows]
    widths = [max(map(cell_len, column)) + GAP for column in zip(heads, *rows)]
    first = widths[0] if sum(widths) <= console.width else min(widths[0], max(console.width // 3, LEAST))
    groups: list[list[int]] = [[]]
    for k in range(1, len(widths)):
        if groups[-1] and first + sum(widths[j] for j in (*groups[-1], k)) > console.width:
            groups.append([])
        groups[-1].append(k)
    for group in groups:
        table = plain_table()
        table.add_column(heads[0], width=first - GAP, overflow="fold")
        for k in group:
            table.add_column(heads[k], justify="right", overflow="fold", no_wrap=first + widths[k] <= console.width)
        for row in rows:
            table.add_row(*(escape(row[k]) for k in (0, *group)))
        console.print(table)


def progress_bar() -> Progress:
    """A progress bar on standard error, so that output can be piped; nothing where that is no terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty(),
    )  # fmt: skip


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """What is done, and for how long, where nobody knows how much is left: on standard error, if it is a terminal.

    What is yielded takes another text.
    """
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(text, total=None)
        yield lambda text: progress.update(task, description=text)
