# SPDX-License-Identifier: Apache-2.0
"""Kernels on disk, so that the second start compiles nothing.

Entries live in one folder per version of the code that makes them; folders of other versions are
removed. An entry is written to a temporary file and renamed, so processes that start at once
never see half of one, and it carries a checksum, so a damaged one is made anew. A place that
cannot be written (a read-only home) only costs the time to compile.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import rbd_dynamics

#: set this to choose the folder; an empty value turns the cache off
ENVIRONMENT_VARIABLE = "RBD_DYNAMICS_CACHE_DIR"

_DIGEST = 32


@functools.cache
def code_version() -> str:
    """Hash of the package's version and of all code that decides what a kernel contains."""
    digest = hashlib.sha256(rbd_dynamics.__version__.encode())
    package = Path(rbd_dynamics.__file__).parent
    for room in ("spatial", "model", "algorithms", "compiler", "constraints", "control"):
        for source in sorted((package / room).rglob("*.py")):
            digest.update(source.read_bytes())
    return f"{rbd_dynamics.__version__}-{digest.hexdigest()[:16]}"


@functools.cache
def folder() -> Path | None:
    """Where this version's kernels are kept; None if the cache is off or nothing can be written."""
    for root in _candidates():
        with contextlib.suppress(OSError):
            mine = root / code_version()
            mine.mkdir(parents=True, exist_ok=True, mode=0o700)
            # machine code is run from here: nobody else may have put it there
            if os.access(mine, os.W_OK) and mine.stat().st_uid == os.getuid():
                _remove_other_versions(root)
                return mine
    return None


def _candidates() -> list[Path]:
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen is not None:
        return [Path(chosen) / "kernels"] if chosen else []
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"
    spare = Path(tempfile.gettempdir()) / f"rbd_dynamics-{os.getuid()}"
    return [home / "rbd_dynamics" / "kernels", spare / "kernels"]


def _remove_other_versions(root: Path) -> None:
    for other in root.iterdir():
        if other.is_dir() and other.name != code_version():
            shutil.rmtree(other, ignore_errors=True)


def load(key: str) -> bytes | None:
    """The entry of that key (a file name), or None."""
    place = folder()
    if place is None:
        return None
    try:
        content = (place / key).read_bytes()
    except OSError:
        return None
    digest, data = content[:_DIGEST], content[_DIGEST:]
    return data if hashlib.sha256(data).digest() == digest else None


def store(key: str, data: bytes) -> None:
    """Keep an entry; failing to is no error."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)  # another version may have cleaned up
        handle, name = tempfile.mkstemp(dir=place, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(name, place / key)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
