# SPDX-License-Identifier: Apache-2.0
"""Byte layout of a serialised sensor_msgs/JointState.

Messages of one sender differ in their stamp and their numbers only, so that what was found in one of them reads a
whole block of them at once, as NumPy views and without a Python object for each message. Two encodings are known:

- "cdr", of ROS 2: four bytes that say the byte order, then fields aligned to their size, counted from there (OMG CDR,
  XCDR1). Padding holds anything. An empty sequence is its count alone, without padding for elements.
- "ros1": little endian, no padding; the header starts with a sequence number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Encoding = Literal["cdr", "ros1"]
Bytes = NDArray[np.uint8]
FIELDS = ("position", "velocity", "effort")
SECOND = 1_000_000_000  # ns
MOST_JOINTS = 10_000  # a larger count is no count
CHUNK = 256  # messages that the processor's cache holds


@dataclass(frozen=True)
class JointStateLayout:
    """Byte places of the numbers in messages of one length that name the same joints in the same order.

    Attributes:
        names: the joints.
        counts: how many positions, velocities and efforts there are; 0 for a field that was left out.
        record: of a message: `sec`, `nanosec`, and those of `FIELDS` that are not empty.
        significant: of each byte before the last count: must it be as in `pattern` for this layout to hold?
        pattern: these bytes.
    """

    names: tuple[str, ...]
    counts: tuple[int, int, int]
    record: np.dtype
    significant: Bytes
    pattern: Bytes

    @property
    def size(self) -> int:
        """Length of the messages in bytes."""
        return int(self.record.itemsize)

    def holds(self, messages: Bytes) -> NDArray[np.bool_]:
        """Which messages (N, size) have this layout: (N,)."""
        found = np.ones(len(messages), dtype=bool)
        for begin in range(0, len(messages), CHUNK):
            difference = messages[begin : begin + CHUNK, : len(self.pattern)] ^ self.pattern
            difference &= self.significant
            if difference.size and difference.max():
                found[begin : begin + CHUNK] = ~difference.any(axis=1)
        return found

    def stamps(self, messages: Bytes) -> NDArray[np.int64]:
        """Stamps in ns, (N,), of messages (N, size) that have this layout."""
        records = self._records(messages)
        return records["sec"].astype(np.int64) * SECOND + records["nanosec"]

    def numbers(self, messages: Bytes, field: str) -> NDArray[np.float64] | None:
        """One of `FIELDS`, a view (N, count) of messages (N, size) that have this layout; None where it is left out."""
        return self._records(messages)[field] if field in (self.record.names or ()) else None

    def _records(self, messages: Bytes) -> NDArray:
        return messages.reshape(-1).view(self.record)


def layout_of(message: bytes, encoding: Encoding = "cdr") -> JointStateLayout:
    """The layout of a message. Raises ValueError where the bytes are no JointState."""
    cursor = _Cursor(message, encoding)
    if encoding == "ros1":
        cursor.skip(4)  # sequence number
    stamp = cursor.skip(8)
    cursor.text(fixed=False)  # frame
    names = tuple(cursor.text() for _ in range(cursor.count()))
    counts, starts = [], []
    for field in FIELDS:
        count = cursor.count()
        if count not in (0, len(names)):
            raise ValueError(f"joint state has {count} numbers as {field} of {len(names)} joints")
        starts.append(cursor.skip(8 * count, alignment=8) if count else 0)
        counts.append(count)
    used = [k for k in range(3) if counts[k]]
    order = cursor.order
    record = np.dtype({
        "names": ["sec", "nanosec", *(FIELDS[k] for k in used)],
        "formats": [
            f"{order}{'u' if encoding == 'ros1' else 'i'}4", f"{order}u4", *(f"({counts[k]},){order}f8" for k in used)
        ],
        "offsets": [stamp, stamp + 4, *(starts[k] for k in used)],
        "itemsize": len(message),
    })  # fmt: skip
    significant = np.frombuffer(bytes(cursor.significant[: cursor.last_fixed]), np.uint8)
    pattern = np.frombuffer(message, np.uint8, len(significant)) & significant
    return JointStateLayout(names, (counts[0], counts[1], counts[2]), record, significant, pattern)


class _Cursor:
    """Walks through a message and marks the bytes that must stay the same."""

    def __init__(self, message: bytes, encoding: Encoding) -> None:
        self.message = message
        self.significant = bytearray(len(message))
        self.last_fixed = 0
        self.position = self.origin = 0
        self.aligned = encoding == "cdr"
        self.order: Literal["<", ">"] = "<"
        if self.aligned:
            if message[:2] not in (b"\0\0", b"\0\1"):
                raise ValueError(f"encoding {message[:2].hex()} is not plain CDR")
            self.order = ">" if message[1] == 0 else "<"
            self._fix(0, 2)
            self.position = self.origin = 4

    def skip(self, size: int, alignment: int = 4) -> int:
        """Go past `size` bytes; where they start."""
        if self.aligned:
            self.position += -(self.position - self.origin) % alignment
        start, self.position = self.position, self.position + size
        if self.position > len(self.message):
            raise ValueError(f"joint state of {len(self.message)} bytes is cut off")
        return start

    def count(self) -> int:
        start = self.skip(4)
        self._fix(start, start + 4)
        value = int.from_bytes(self.message[start : start + 4], "little" if self.order == "<" else "big")
        if value > max(MOST_JOINTS, len(self.message)):
            raise ValueError(f"joint state has a count of {value}")
        return value

    def text(self, fixed: bool = True) -> str:
        size = self.count()
        start = self.skip(size, alignment=1)
        if fixed:
            self._fix(start, start + size)
        return self.message[start : start + size].rstrip(b"\0").decode(errors="replace")

    def _fix(self, start: int, stop: int) -> None:
        self.significant[start:stop] = b"\xff" * (stop - start)
        self.last_fixed = stop
