# SPDX-License-Identifier: Apache-2.0
"""A bound on what the cache takes of the disk: what was not used for longest goes first.

Listing the folder at every store would be a waste. A process lists it at its first store, which
follows a compilation and is no moment to save a millisecond, and then knows how much may be stored
until it has to look again. That is a sixteenth of the bound at most, because others store too; and
after a day it looks anyway.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import stat
import time
from typing import NamedTuple

from rbd_dynamics.compiler.cache_entry import ENTRY_NAME, TEMPORARY_NAME, is_entry

#: set this to bound the folder's size, in MB of 2^20 bytes
SIZE_VARIABLE = "RBD_DYNAMICS_CACHE_SIZE"

_DEFAULT = 1024
_HOUR, _DAY = 3600.0, 86400.0
_OLDEST = 180 * _DAY
_log = logging.getLogger("rbd_dynamics")


class _Room(NamedTuple):
    size: int  # bytes that may be stored before the next look
    until: float  # s, monotonic


class _File(NamedTuple):
    used: float  # s since 1970
    name: str
    size: int


#: by device, inode and bound; a lost update between threads is made good at the next look
_rooms: dict[tuple[int, int, int], _Room] = {}


def size_limit() -> int:
    """Bytes that a folder of entries may take."""
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    if not text.isdecimal() or len(text) > 12:
        if text:
            _warn(f"{SIZE_VARIABLE}={text[:40]!r} is not a number of MB; the cache may take {_DEFAULT} MB")
        return _DEFAULT << 20
    return int(text) << 20


@functools.cache
def _warn(message: str) -> None:
    _log.warning("%s", message)


def keep_within_limit(folder: int, stored: str, size: int) -> None:
    """Remove old kernels after `size` bytes were stored as file `stored`, which stays. Raises OSError."""
    limit = size_limit()
    status = os.fstat(folder)
    place = status.st_dev, status.st_ino, limit
    room = _rooms.get(place)
    if room is None or room.size < size or time.monotonic() > room.until:
        left = limit - _evict(folder, stored, limit)
        room = _Room(min(left, limit // 16), time.monotonic() + _DAY)
    else:
        room = room._replace(size=room.size - size)
    _rooms[place] = room


def _evict(folder: int, stored: str, limit: int) -> int:
    """Remove what is too old or too much; the bytes that are left."""
    now = time.time()
    files = []
    with os.scandir(folder) as listing:
        for item in listing:
            writing = TEMPORARY_NAME.fullmatch(item.name)
            if not writing and not ENTRY_NAME.fullmatch(item.name):
                continue
            with contextlib.suppress(OSError):  # another process was faster
                status = item.stat(follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    continue
                if not writing:
                    files.append(_File(status.st_mtime, item.name, status.st_size))
                elif now - status.st_mtime > _HOUR:  # its writer has crashed
                    os.unlink(item.name, dir_fd=folder)
    files.sort()
    total = sum(file.size for file in files)
    if total <= limit and (not files or now - files[0].used <= _OLDEST):
        return total
    files = [file for file in files if is_entry(folder, file.name)]
    total = sum(file.size for file in files)
    goal = limit if total <= limit else limit - limit // 16
    for file in files:
        if total <= goal and now - file.used <= _OLDEST:
            break
        if file.name == stored:
            continue
        try:
            os.unlink(file.name, dir_fd=folder)
        except FileNotFoundError:
            pass
        except OSError:
            continue
        total -= file.size
    return total
