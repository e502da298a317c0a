# SPDX-License-Identifier: Apache-2.0
"""Entries of the cache on the disk, and other users who might have written them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from rbd_dynamics.compiler import cache, cache_entry

NAME, KEY, DATA = "inverse_dynamics.o", "UR5 and all that matters", bytes(range(256)) * 4
OTHER_USER = 54321 if os.geteuid() != 54321 else 54322
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@contextlib.contextmanager
def user(number: int):
    """Be another user for a while."""
    mine = os.geteuid()
    os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(mine)


def unprivileged():
    """Be no root for a while."""
    return user(OTHER_USER) if os.geteuid() == 0 else contextlib.nullcontext()


def files(place: Path) -> list[Path]:
    """All but the tag."""
    return sorted(path for path in place.iterdir() if path.name != "CACHEDIR.TAG")


def entry(place: Path, name: str = NAME, key: str = KEY) -> Path:
    return place / cache_entry.Entry(name, key).file_name


def made_anew(place: Path) -> bool:
    """Storing mends it: an entry that can be loaded, and nothing half-written."""
    cache.store(NAME, KEY, DATA)
    return cache.load(NAME, KEY) == DATA and not [path for path in files(place) if path.name.startswith(".")]


def with_status(monkeypatch, where, **changes):
    """Let os.fstat tell another owner, mode... of descriptors of the path `where`."""
    fstat, there = os.fstat, os.stat(where)

    def telling(descriptor):
        status = fstat(descriptor)
        if (status.st_dev, status.st_ino) != (there.st_dev, there.st_ino):
            return status
        fields = {f"st_{field}": getattr(status, f"st_{field}") for field in ("dev", "ino", "size", "mtime")}
        fields |= {f"st_{field}": getattr(status, f"st_{field}") for field in ("uid", "mode", "nlink")}
        return type("Status", (), {**fields, **changes})

    monkeypatch.setattr(os, "fstat", telling)
