# SPDX-License-Identifier: Apache-2.0
"""A folder that is there with all its files or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def check_free(folder: Path) -> None:
    """Raise OSError, which names the folder, where it is not empty or cannot be written; nothing is made."""
    if folder.is_symlink() or folder.exists():
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(folder))
        if any(folder.iterdir()):
            raise FileExistsError(errno.EEXIST, "the folder is not empty", str(folder))
    place = folder.absolute()
    above = next(each for each in (place, *place.parents) if each.exists())
    if not above.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{above} is not a folder", str(folder))
    if not os.access(above, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"{above} cannot be written", str(folder))


def write_folder(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Make the folder, with those above it, and these files in it. Raises OSError, and then leaves nothing.

    An empty folder is filled and not replaced: a shell may stand in it, or a disk be mounted there.
    """
    check_free(folder)
    place = Path(os.path.realpath(folder))
    is_there = place.exists()
    missing = [parent for parent in place.parents if not parent.exists()]
    part = (place if is_there else place.parent) / f".{place.name}.{os.getpid()}.part"
    moved: list[Path] = []
    try:
        part.mkdir(parents=True)
        for name, content in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        if is_there:
            for path in list(part.iterdir()):
                moved.append(path.rename(place / path.name))
            part.rmdir()
        else:
            part.rename(place)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        for path in moved:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        for parent in missing:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
        if isinstance(error, OSError):
            raise OSError(error.errno or 0, error.strerror or str(error), str(folder)) from error
        raise
