# SPDX-License-Identifier: Apache-2.0
"""Files that hold messages: what those of every format offer, and what all of them need.

All are read from front to end in large blocks, so that memory stays bounded, and what is damaged is passed over.
The formats are read directly, not with the reader of `rosbags`: that one refuses a file whose end is missing, keeps an
index of all messages of a ROS 1 bag in memory, and takes a Python call for every message (measured per message: sqlite3
0.7, mcap 1.3, ROS 1 2.8 us). Tests compare what both read.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.cdr import Encoding
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.extras import needed
from rbd_dynamics.replay.log import Log


class RecordingError(ValueError):
    """A file or folder that is no recording, or one without what is needed; the message names it."""


@dataclass(frozen=True)
class Topic:
    """A topic of one file. `type` as in ROS 2, `sensor_msgs/msg/JointState`; `definition` as the file has it, or ""."""

    id: int
    name: str
    type: str
    encoding: Encoding = "cdr"
    definition: str = ""
    messages: int | None = None  # how many there are, where the file says
    is_usual: bool = False  # its messages are known to be as they should: nothing else needs to be tried


class RawBlock(NamedTuple):
    """Messages in the order of the file: when they were received, ns, and their bytes."""

    received: NDArray[np.int64]
    data: list[bytes]
    fraction: float  # of the file that has been read


class Storage(Protocol):
    """An open file."""

    topics: list[Topic]

    def blocks(self, topics: Collection[int], size: int) -> Iterator[RawBlock]:
        """Messages of some topics, by their ids and all together, in blocks of about `size`."""
        ...

    def span(self) -> tuple[int, int] | None:
        """Times (ns) at which the first and the last message were received, if known without reading all."""
        ...

    def close(self) -> None: ...


def first_bytes(path: Path) -> bytes:
    """Raises RecordingError where the file cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None


# --- compression ------------------------------------------------------------------------------------------------------

LARGEST_PART = 1 << 30  # bytes of a message or of a chunk of them, unpacked
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def zstd() -> Any:
    """The module for Zstandard: of Python from 3.14 on, before that one that rosbags depends on."""
    try:
        from compression import zstd as module
    except ImportError:
        try:
            from backports import zstd as module
        except ImportError:
            raise RecordingError(f"compressed {needed('rosbags')}") from None
    return module


def decompressed(data: bytes, compression: str, partial: bool = False) -> bytes:
    """A part of a file; `partial`: its end is missing, what is there is wanted.

    Raises RecordingError for an unknown compression, and what the decompressor raises.
    """
    if compression in ("", "none"):
        return data
    if compression == "zstd":
        return _all_frames(zstd().ZstdDecompressor, data, partial)
    if compression == "bz2":
        return _all_frames(bz2.BZ2Decompressor, data, partial)
    if compression == "lz4":
        try:
            from lz4 import frame
        except ImportError:
            raise RecordingError(f"compressed {needed('rosbags')}") from None
        return _all_frames(frame.LZ4FrameDecompressor, data, partial)
    raise RecordingError(f"unknown compression {excerpt(compression)}")


def _all_frames(decompressor: Callable[[], Any], data: bytes, partial: bool) -> bytes:
    """What frames one after another hold. Raises ValueError where the last is cut off (and not `partial`), or for a
    few bytes that stand for gigabytes."""
    found = bytearray()
    while True:
        frame = decompressor()
        found += frame.decompress(data, LARGEST_PART + 1 - len(found))
        if len(found) > LARGEST_PART:
            raise ValueError(f"unpacks to more than {LARGEST_PART >> 20} MB")
        if not frame.eof:
            if not partial:
                raise ValueError("the compressed data are cut off")
            return bytes(found)
        data = frame.unused_data or b""
        if not data or partial:
            return bytes(found)


def unpacked(path: Path, folder: Path, log: Log) -> Path:
    """A file compressed as a whole is unpacked into a folder, as far as that goes."""
    target = folder / path.stem
    decompressor = zstd().ZstdDecompressor()
    complete = False
    with path.open("rb") as source, target.open("wb") as file:
        try:
            while part := source.read(1 << 20):
                while part:
                    if decompressor.eof:  # a file may have several frames
                        decompressor = zstd().ZstdDecompressor()
                    file.write(decompressor.decompress(part))
                    part = decompressor.unused_data if decompressor.eof else b""
            complete = decompressor.eof
        except zstd().ZstdError:
            pass
    if not complete:
        log.count("damaged parts")
        log.remark(f"{path.name} is damaged or cut off: read as far as it can be unpacked")
    return target


# --- small things that all need ---------------------------------------------------------------------------------------


LATEST = 2**63 - 1  # ns: files have unsigned times


class Gatherer:
    """Collects messages one by one, as `times` (ns) and `data`, into blocks."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.times: list[int] = []
        self.data: list[bytes] = []

    def full(self, fraction: float, everything: bool = False) -> Iterator[RawBlock]:
        """A block, if there are enough messages for one, or any at all if `everything`."""
        if len(self.data) >= self._size or (everything and self.data):
            yield RawBlock(_stamps(self.times), list(self.data), fraction)
            self.times.clear()
            self.data.clear()


def _stamps(times: list[int]) -> NDArray[np.int64]:
    try:
        return np.array(times, dtype=np.int64)
    except OverflowError:
        return np.array([min(time, LATEST) for time in times], dtype=np.int64)


def ros2_type(name: str) -> str:
    """sensor_msgs/JointState, as ROS 1 writes it, is sensor_msgs/msg/JointState."""
    return re.sub(r"^(\w+)/(\w+)$", r"\1/msg/\2", name)
