# SPDX-License-Identifier: Apache-2.0
"""Byte layout of a serialised sensor_msgs/JointState.

Messages of one sender differ in their stamp and their numbers only, so that what was found in one of them reads a
whole block of them at once, as NumPy views and without a Python object for each message. In ROS 1 the header starts
with a sequence number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.cdr import SECOND, CdrReader, Encoding

Bytes = NDArray[np.uint8]
FIELDS = ("position", "velocity", "effort")
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
        cursor.skip(4, 4)  # sequence number
    stamp = cursor.skip(8, 4)
    cursor.encoded()  # frame
    names = tuple(cursor.name() for _ in range(cursor.count(4)))
    counts, starts = [], []
    for field in FIELDS:
        count = cursor.count(8)
        if count not in (0, len(names)):
            raise ValueError(f"joint state has {count} numbers as {field} of {len(names)} joints")
        starts.append(cursor.skip(8 * count, 8))
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


class _Cursor(CdrReader):
    """Marks the bytes that must stay the same: byte order, counts, names."""

    def __init__(self, message: bytes, encoding: Encoding) -> None:
        super().__init__(message, encoding)
        self.significant = bytearray(len(message))
        self.last_fixed = 0
        if encoding == "cdr":
            self._fix(0, 2)

    def count(self, size: int) -> int:
        value = super().count(size)
        self._fix(self.place - 4, self.place)
        return value

    def name(self) -> str:
        found = self.encoded()
        self._fix(self.place - len(found), self.place)
        return found.rstrip(b"\0").decode(errors="replace")

    def _fix(self, start: int, stop: int) -> None:
        self.significant[start:stop] = b"\xff" * (stop - start)
        self.last_fixed = stop
