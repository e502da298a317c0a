# SPDX-License-Identifier: Apache-2.0
"""Which code of the package runs: the digest of its source files, where the files are what runs."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import sysconfig
import types
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rbd_dynamics.common.imported import since_import

PACKAGE, FOLDER = __name__.partition(".")[0], str(Path(__file__).parents[1])
_STANDARD = sysconfig.get_path("stdlib")
_UNLIKE_ANY = uuid.uuid4().hex


def source_digest(*rooms: str) -> str | None:
    """Digest of the source files of rooms; None where there are none, or one was edited after it was imported here."""
    try:
        changed = max((entry.stat().st_ctime for entry in _files(rooms)), default=None)
        return None if changed is None or since_import(changed) else _digest(rooms)
    except OSError:
        return None


def compiler_digest() -> str:
    """Digest of the code that makes kernels out of programs: while it is being edited, one that nobody else has."""
    return source_digest("compiler") or _UNLIKE_ANY


@functools.cache
def _digest(rooms: tuple[str, ...]) -> str:
    found = hashlib.sha256()
    for path in sorted(entry.path for entry in _files(rooms)):
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        found.update(f"{path.removeprefix(FOLDER)}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def _files(rooms: tuple[str, ...]) -> Iterator[os.DirEntry[str]]:
    """Source files of rooms, which are folders or files of the package, in any order."""
    for entry in os.scandir(FOLDER):
        if entry.name.removesuffix(".py") in rooms:
            yield from _files_in(entry)


def _files_in(entry: os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    if entry.name.endswith((".py", ".pyc")) and not entry.name.startswith("."):
        yield entry
    elif entry.is_dir() and entry.name != "__pycache__":
        for inner in os.scandir(entry.path):
            yield from _files_in(inner)


def replaced_function(*rooms: str) -> str | None:
    """The name of a function or method in these rooms in whose place there is one from elsewhere, as in tests; or None.

    Only functions written in Python are looked at; those of installed libraries may have been imported.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{PACKAGE}.") and name.split(".", 2)[1] in rooms:
            for key, value in list(vars(module).items()):
                if isinstance(value, type):
                    known = value.__module__ != name or all(map(_is_known, vars(value).values()))
                else:
                    known = _is_known(value)
                if not known:
                    return f"{name}.{key}"
    return None


def _is_known(value: Any) -> bool:
    """Whether it is no function, or its code is in the package, made by Python for a class, or of a library."""
    kind = type(value)
    if kind is types.FunctionType:
        return _is_known_file(value.__code__.co_filename)
    if kind is property:
        return _is_known(value.fget)
    if kind is staticmethod or kind is classmethod or kind is types.MethodType:
        return _is_known(value.__func__)
    return kind is not functools.cached_property or _is_known(value.func)


@functools.cache
def _is_known_file(file: str) -> bool:
    return file.startswith((FOLDER, "<", _STANDARD)) or "site-packages" in file or "dist-packages" in file
