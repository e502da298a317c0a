# SPDX-License-Identifier: Apache-2.0
"""Recordings and results that lie elsewhere: s3://, gs://, http:// and all else that fsspec knows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.extras import require
from rbd_dynamics.replay.reading import RecordingError

METADATA = "metadata.yaml"
UNCHANGING = ("size", "mtime", "LastModified", "last_modified", "updated", "ETag", "etag", "md5Hash", "created")


def is_elsewhere(place: object) -> bool:
    """Whether it is an address, not a path."""
    return isinstance(place, str) and "://" in place


def name_of(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


def file_system(address: str) -> tuple[Any, str]:
    """(file system, path in it). Raises ValueError where a package is missing, or the protocol is unknown."""
    require("fsspec")
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ValueError(f"{excerpt(address)} cannot be read: {' '.join(str(error).split())}") from error
    return system, path.rstrip("/")


def files_below(address: str) -> list[str]:
    """Addresses of the files in a folder, and below; the file itself. Raises RecordingError where there is nothing."""
    system, path = file_system(address)
    try:
        if system.isfile(path):
            return [address]
        found = [name for name in sorted(system.find(path)) if not name.endswith("/")]
    except (OSError, ValueError) as error:
        raise RecordingError(f"{address} cannot be read: {' '.join(str(error).split())}") from error
    if not found:
        raise RecordingError(f"{address} has no files in it, or does not exist")
    return [f"{_protocol(address)}{name}" for name in found]


def whole_address(address: str) -> str:
    """The address as those that `files_below` gives begin."""
    return f"{_protocol(address)}{file_system(address)[1]}"


def _protocol(address: str) -> str:
    """What stands before a path; for http this is part of it."""
    return "" if address.startswith(("http://", "https://")) else f"{address.partition('://')[0]}://"


def state_of(address: str) -> list[list[Any]]:
    """What changes when a recording does: name, size, and time or digest of each of its files."""
    found = []
    for file in files_below(address):
        system, path = file_system(file)
        about = system.info(path)
        found.append([name_of(file), *(str(about.get(key)) for key in UNCHANGING)])
    return found


@contextmanager
def fetched(address: str) -> Iterator[Path]:
    """The recording on this machine, until the end: a file, or a folder with its files."""
    files = files_below(address)
    with tempfile.TemporaryDirectory(prefix="rbd_dynamics_") as folder:
        target = Path(folder, name_of(address) or "recording")
        is_file = files == [address]
        if not is_file:
            target.mkdir()
        for file in files:
            system, path = file_system(file)
            system.get_file(path, str(target if is_file else target / name_of(file)))
        yield target


def send(folder: Path, address: str, last: str) -> None:
    """Copy all files of a folder, one of them when all others are there."""
    system, path = file_system(address)
    files = sorted((file for file in folder.rglob("*") if file.is_file()), key=lambda file: file.name == last)
    for file in files:
        target = f"{path}/{file.relative_to(folder).as_posix()}"
        system.makedirs(target.rpartition("/")[0], exist_ok=True)
        system.put_file(str(file), target)


def text_at(address: str) -> str:
    """Text of a file. Raises OSError where it is not there."""
    system, path = file_system(address)
    return str(system.cat_file(path).decode("utf-8"))
