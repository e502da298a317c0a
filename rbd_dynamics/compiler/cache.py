# SPDX-License-Identifier: Apache-2.0
"""Kernels on disk, so that the second start compiles nothing.

What lies there is executed, and moves robots. So an entry is used only if it was made for exactly
the key that is asked for and is whole (`cache_entry`), and only from a folder and a file that
nobody else can have written (`trusted_folder`). Versions and checkouts share one folder: the key
tells them apart. Its size is bounded (`cache_size`), and nothing is removed that was not made here.

Nothing that happens to the disk is an error: it costs the time to compile. Every call begins with
the environment variables and the path, so both may change while a process runs, and forked
processes need no care.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from collections.abc import Generator, Iterator
from pathlib import Path

from rbd_dynamics.compiler.cache_entry import HEADER_SIZE, LARGEST, Entry
from rbd_dynamics.compiler.cache_size import keep_within_limit, size_limit
from rbd_dynamics.compiler.trusted_folder import NotTrusted, open_folder

#: set this to choose the folder; an empty value turns the cache off
ENVIRONMENT_VARIABLE = "RBD_DYNAMICS_CACHE_DIR"

#: keeps backups away, see https://bford.info/cachedir/
_TAG = b"""\
Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by rbd_dynamics.
# For information about cache directory tags, see https://bford.info/cachedir/
"""

_log = logging.getLogger("rbd_dynamics")


def load(name: str, key: str) -> bytes | None:
    """What was stored under exactly this name and key, or None."""
    entry = Entry(name, key)
    with contextlib.closing(_folders(create=False)) as folders:
        for folder in folders:
            data = entry.read(folder)
            if data is not None:
                return data
    return None


def store(name: str, key: str, data: bytes) -> None:
    """Keep the data, where that is possible.

    Parameters:
        name: a readable part of the file's name, and its suffix, such as "inverse_dynamics.o".
        key: a text of any length that says everything the data depend on.
        data: up to 256 MB.
    """
    entry, size = Entry(name, key), HEADER_SIZE + len(data)
    if len(data) > LARGEST or size > size_limit():
        return
    with contextlib.suppress(OSError), contextlib.closing(_folders(create=True)) as folders:
        for folder in folders:
            if _writable(folder):
                entry.write(folder, data)
                keep_within_limit(folder, entry.file_name, size)


def keeps() -> bool:
    """Whether `store` has a folder to write to."""
    with contextlib.suppress(OSError), contextlib.closing(_folders(create=True)) as folders:
        return any(map(_writable, folders))
    return False


def folder() -> Path | None:
    """Folder that `store` writes to, made if it was not there; None where there is none."""
    with contextlib.suppress(OSError), contextlib.closing(_folders(create=True)) as folders:
        for each in folders:
            if _writable(each):
                return Path(os.readlink(f"/proc/self/fd/{each}"))
    return None


def _folders(*, create: bool) -> Generator[int, None, None]:
    """Descriptors of the folders that may be used: those that can only be read, and the first that can be written."""
    for base, own in _places():
        try:
            folder, made = open_folder(base, own, create=create)
        except NotTrusted as reason:
            _warn(f"no kernels are kept in {os.path.join(base, *own)}: {reason}")
            continue
        except OSError:
            continue
        try:
            if made:
                _tag(folder)
            yield folder
            if _writable(folder):
                return
        finally:
            os.close(folder)


def _places() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Places for kernels, best first: a path, and the folders in it that are this cache's own."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen is not None:
        if chosen:
            yield chosen, ("kernels",)
        return
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # to be ignored, says the standard
        home = os.path.expanduser("~/.cache")
    if os.path.isabs(home):  # else there is no home
        yield os.path.join(home, "rbd_dynamics"), ("kernels",)
    # not tempfile.gettempdir(), which falls back to the working directory
    temporary = os.environ.get("TMPDIR") or "/tmp"
    if os.path.isdir(temporary):
        yield temporary, (f"rbd_dynamics-{os.geteuid()}", "kernels")


def _writable(folder: int) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(".", os.W_OK, dir_fd=folder, effective_ids=effective)


def _tag(folder: int) -> None:
    with contextlib.suppress(OSError):
        file = os.open("CACHEDIR.TAG", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
        with open(file, "wb") as stream:
            stream.write(_TAG)


@functools.cache
def _warn(message: str) -> None:
    """Once per process."""
    _log.warning("%s", message)
