# SPDX-License-Identifier: Apache-2.0
"""Files that are there as a whole or not at all, whenever the process ends and whatever the disk holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Errors of the operating system name the file: that a disk is full is said of no file by itself."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and error.errno is not None:
            raise
        raise OSError(error.errno or 0, error.strerror or str(error), str(path)) from error


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name to write to beside `path`, which takes its place when all is written; nothing is left where that fails."""
    part = path.with_name(f".{path.name}.part")
    try:
        with named(path):
            yield part
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing. Raises OSError that names the file."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
