# SPDX-License-Identifier: Apache-2.0
"""Files that are there as a whole or not at all, whenever the process ends and whatever the disk holds."""

from __future__ import annotations

import errno
import os
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
    """A name to write to beside `path`, which takes its place when all is written; nothing is left where that fails.

    A link stays one, the file that it leads to is written anew. What is no file, such as a pipe or a device, is
    written to itself: nothing may take its place.
    """
    check_file(path)
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        with named(path):
            yield place
        return
    part = place.with_name(f".{place.name}.part")
    try:
        with named(path):
            yield part
            part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def check_file(path: Path) -> None:
    """Whether a file can come there, before minutes of work: OSError, which names it, where it is plain that it cannot.

    What may still go wrong then, such as a disk that is full, is found when it is written.
    """
    with named(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            wrong = errno.ENOTDIR if folder.exists() else errno.ENOENT
            raise OSError(wrong, os.strerror(wrong), str(path))
        target = path if path.exists() and not path.is_file() else folder
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def check_folder(path: Path) -> None:
    """The same of a folder that is made where it is missing."""
    with named(path):
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing. Raises OSError that names the file."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
