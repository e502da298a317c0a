# SPDX-License-Identifier: Apache-2.0
"""The terminal of every command: where tables go, and what is shown while something takes its time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from rich.progress import Progress

FILE_WIDTH = 200  # columns, where the output is no terminal


class OutputConsole(Console):
    """A reader that has seen enough, as in `| head`, is the caller's to judge: rich would end the process with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def output_console() -> Console:
    """Standard output; nothing is folded or left out for a narrow terminal where it is none, unless COLUMNS says so."""
    is_told = os.environ.get("COLUMNS", "").isdigit()
    return OutputConsole(highlight=False, width=None if is_told or sys.stdout.isatty() else FILE_WIDTH)


def plain_table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for k, head in enumerate(heads):
        table.add_column(head, justify="left" if k == 0 else "right")
    return table


def progress_bar() -> Progress:
    """On standard error, so that output can be piped; nothing where that is no terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty(),
    )  # fmt: skip


@contextmanager
def working(text: str) -> Iterator[None]:
    """What is done, and for how long, where nobody knows how much is left: on standard error, if it is a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        progress.add_task(text, total=None)
        yield
