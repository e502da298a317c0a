# SPDX-License-Identifier: Apache-2.0
"""Folders and files that nobody else can have written, for what is executed.

The rules are those of ssh's StrictModes. They are checked on open descriptors, each opened in the
one above it without following links, so that what was checked is what is used: nothing that is
renamed or linked meanwhile makes a difference. Access control lists need no look of their own:
where one lets others write, the group bits of the mode say so.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from collections.abc import Sequence
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: folders above need not be readable, only searchable
_FOLDER_ABOVE = _FOLDER | getattr(os, "O_PATH", 0)
#: a pipe or a terminal in the place of a file is not waited for
READ_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotTrusted(OSError):
    """Somebody else may have written there, or nobody can say who; the text names the path and says why."""


@functools.cache
def _nobody() -> frozenset[int]:
    """User ids that stand for every owner that this user namespace, or an NFS server, does not know."""
    try:
        return frozenset({65534, int(Path("/proc/sys/kernel/overflowuid").read_text())})
    except (OSError, ValueError):
        return frozenset({65534})


def open_folder(base: str, own: Sequence[str], *, create: bool = False) -> tuple[int, bool]:
    """A descriptor of base/own[0]/own[1]..., and whether that folder was made just now.

    Every folder on the real path of `base` must belong to root or to the effective user, and only
    its owner may write to it; or it is a shared one with the sticky bit, such as /tmp, and what lies
    in it belongs to the effective user. The folders of `own` are no links, belong to the effective
    user, and nobody else may write there. `create` makes what is missing, for the user alone.

    Raises NotTrusted where that is not so, and other OSErrors.
    """
    names = [*Path(os.path.realpath(base)).parts, *own]
    path, made = names[0], False
    folder = os.open(path, _FOLDER_ABOVE)
    try:
        shared = _check_folder(os.fstat(folder), path, mine=False)
        for depth, name in enumerate(names[1:], start=1):
            path = os.path.join(path, name)
            inside, made = _open_in(folder, name, path, _FOLDER if depth == len(names) - 1 else _FOLDER_ABOVE, create)
            os.close(folder)
            folder = inside
            mine = depth >= len(names) - len(own)
            shared = _check_folder(os.fstat(folder), path, mine=mine, shared_above=shared)
    except BaseException:
        os.close(folder)
        raise
    return folder, made


def _open_in(folder: int, name: str, path: str, flags: int, create: bool) -> tuple[int, bool]:
    try:
        return os.open(name, flags, dir_fd=folder), False
    except FileNotFoundError:
        if not create:
            raise
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise NotTrusted(f"{path} is a link or a file, not a folder") from None
        raise
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(name, 0o700, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder), True
    return os.open(name, flags, dir_fd=folder), False


def _check_folder(status: os.stat_result, path: str, *, mine: bool, shared_above: bool = False) -> bool:
    """Whether it is a shared one, in which only the owner of a thing can move it."""
    user = os.geteuid()
    owners = {user} if mine or shared_above else {user, 0}
    if status.st_uid not in owners - _nobody():
        raise NotTrusted(f"{path} belongs to user {status.st_uid}, and this is user {user}")
    others_write = bool(status.st_mode & _OTHERS_WRITE)
    if others_write and (mine or not status.st_mode & stat.S_ISVTX):
        raise NotTrusted(f"others may write to {path} (mode {stat.S_IMODE(status.st_mode):o}; chmod go-w mends it)")
    return others_write


def open_file(folder: int, name: str) -> tuple[int, os.stat_result]:
    """A descriptor of a file in an open folder, to read, and its status.

    It is a regular file of the effective user under this one name, and nobody else may write it.
    Raises NotTrusted where that is not so, and other OSErrors.
    """
    file = os.open(name, READ_FILE, dir_fd=folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise NotTrusted(f"{name} is not a regular file")
        if status.st_uid != os.geteuid() or status.st_uid in _nobody():
            raise NotTrusted(f"{name} belongs to user {status.st_uid}")
        # no name at all: it was replaced or removed since it was opened, and is as good as it was
        if status.st_nlink > 1 or status.st_mode & _OTHERS_WRITE:
            raise NotTrusted(f"others may write to {name}, or it has other names")
    except BaseException:
        os.close(file)
        raise
    return file, status
