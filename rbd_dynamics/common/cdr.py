# SPDX-License-Identifier: Apache-2.0
"""Serialised messages, read from their beginning: every count is compared with what there is before it is believed.

- "cdr", of ROS 2: four bytes that say the byte order, then fields aligned to their size, counted from there (OMG CDR,
  XCDR1). Padding holds anything. An empty sequence is its count alone, without padding for elements.
- "ros1": little endian, no padding.
"""

from __future__ import annotations

import struct
from typing import Literal

Encoding = Literal["cdr", "ros1"]
ORIGIN = 4  # alignment counts from here
SECOND = 1_000_000_000  # ns


class CdrError(ValueError):
    """Bytes that are cut off or garbled."""


class CdrReader:
    """Goes through the bytes of a message from `begin` on. All methods raise CdrError where they cannot be.

    Attributes:
        order: of bytes in numbers. place: of the next byte.
    """

    def __init__(self, raw: bytes | bytearray, encoding: Encoding = "cdr", *, begin: int = ORIGIN) -> None:
        self.raw, self._size = raw, len(raw)
        self.order: Literal["<", ">"] = "<"
        self._aligned = encoding == "cdr"
        self.place = begin if self._aligned else 0
        if self._aligned:
            if bytes(raw[:2]) not in (b"\0\0", b"\0\1"):
                raise CdrError(f"the message's encoding {bytes(raw[:2]).hex()} is not plain CDR")
            self.order = "<" if raw[1] else ">"
        self._count = struct.Struct(self.order + "I")
        self._time = struct.Struct(self.order + "iI")

    def skip(self, size: int, alignment: int) -> int:
        """Go past `size` bytes that begin at a multiple of `alignment`; where they begin. Nothing needs no padding."""
        start = self.place
        if self._aligned and size:
            start += (ORIGIN - start) % alignment
        self.place = end = start + size
        if end > self._size:
            raise CdrError(f"the message of {self._size} bytes is cut off")
        return start

    def count(self, size: int) -> int:
        """Number of elements that follow, each of at least so many bytes."""
        value: int = self._count.unpack_from(self.raw, self.skip(4, 4))[0]
        if value * size > self._size - self.place:
            raise CdrError(f"the message of {self._size} bytes is cut off, or its count of {value} is wrong")
        return value

    def encoded(self) -> bytes:
        """The bytes of a text, with the zero that ends it in CDR."""
        start = self.skip(self.count(1), 1)
        return bytes(self.raw[start : self.place])

    def text(self) -> str:
        """A text in UTF-8."""
        try:
            return self.encoded().rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise CdrError(f"the message of {self._size} bytes has a garbled text") from None

    def time(self) -> int:
        """A Time or Duration, ns."""
        seconds: int
        seconds, rest = self._time.unpack_from(self.raw, self.skip(8, 4))
        return seconds * SECOND + rest

    def number(self) -> float:
        """A double."""
        return self.numbers(1)[0]

    def numbers(self, count: int) -> tuple[float, ...]:
        """So many doubles."""
        return struct.unpack_from(f"{self.order}{count}d", self.raw, self.skip(8 * count, 8))
