# SPDX-License-Identifier: Apache-2.0
"""MCAP files (https://mcap.dev/spec), read record by record from the front: neither footer nor index is needed."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from struct import Struct, error

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.cdr import Encoding
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.record_file import RecordFile
from rbd_dynamics.replay.reading.storage import Gatherer, RawBlock, Topic, decompressed, ros2_type

SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END, STATISTICS = 0x03, 0x04, 0x05, 0x06, 0x0F, 0x0B
RECORD = Struct("<BQ")  # opcode, length
MESSAGE_HEAD = Struct("<BQHIQQ")  # opcode, length, channel, sequence, log time, publish time
CHUNK_HEAD = Struct("<QQQI")  # first and last log time, uncompressed size, checksum
SAME = 11  # bytes of opcode, length and channel
FEWEST, MOST = 32, 4096  # messages that are taken at once
LARGEST = 1 << 32  # bytes of a record
ENCODINGS: dict[str, Encoding] = {"cdr": "cdr", "ros1": "ros1"}


class McapStorage(RecordFile):
    """A .mcap file. A damaged chunk is passed over; of a file that was cut off, what is there is read."""

    MAGIC = b"\x89MCAP0\r\n"

    def __init__(self, path: Path, log: Log) -> None:
        self._schemas: dict[int, tuple[str, str, str]] = {}  # name, encoding, text
        super().__init__(path, log)

    def _read_index(self) -> bool:
        """Find all channels at the end of the file. False: there is no such summary."""
        self._file.seek(max(0, self._size - 37))
        footer = self._file.read(37)
        start = int.from_bytes(footer[9:17], "little")
        if not footer.endswith(self.MAGIC) or footer[0] != 0x02 or not 0 < start < self._size:
            return False
        self._file.seek(start)
        try:
            self._take_all(self._file.read(self._size - 37 - start))
        except (error, ValueError):
            return False
        return bool(self._topics)

    def blocks(self, topics: Collection[int], size: int) -> Iterator[RawBlock]:
        """Messages in the order of the file."""
        found = Gatherer(size)
        wanted = frozenset(topics)
        self._file.seek(len(self.MAGIC))
        while True:
            start = self._file.tell()
            head = self._file.read(RECORD.size)
            if len(head) < RECORD.size:
                self._cut_off(start)
                break
            opcode, length = RECORD.unpack(head)
            if opcode == DATA_END or (opcode == 0x02 and length == 20):
                break
            if opcode == 0 or length > LARGEST:
                self._damaged(start, "no record")
                break
            content = self._read_at_most(length)
            whole = len(content) == length
            if opcode == CHUNK:
                content = self._unpacked(content, start, whole)
            elif opcode in (SCHEMA, CHANNEL, MESSAGE):
                content = head + content
            else:
                content = b""
            try:
                self._take_all(content, wanted, found, whole)
            except (error, ValueError) as problem:
                self._damaged(start, problem)
            if not whole:
                self._cut_off(start)
                break
            yield from found.full(self._file.tell() / self._size)
        yield from found.full(1.0, everything=True)

    def _unpacked(self, content: bytes, start: int, whole: bool) -> bytes:
        """The records in a chunk; nothing of one that is damaged, but the beginning of one that is cut off."""
        try:
            _, _, size, checksum = CHUNK_HEAD.unpack_from(content)
            name_end = 32 + int.from_bytes(content[28:32], "little")
            compression = content[32:name_end].decode()
            packed = int.from_bytes(content[name_end : name_end + 8], "little")
            records = decompressed(content[name_end + 8 : name_end + 8 + packed], compression, partial=not whole)
            if whole and (len(records) != size or (checksum and zlib.crc32(records) != checksum)):
                raise ValueError("wrong checksum")
        except Exception as problem:  # whatever a decompressor raises
            if whole:
                self._damaged(start, problem)
            return b""
        return records

    def _take_all(
        self, records: bytes, wanted: frozenset[int] = frozenset(), found: Gatherer | None = None, whole: bool = True
    ) -> None:
        """Note schemas and channels, gather wanted messages. Raises ValueError where `whole` records are cut off."""
        position, end = 0, len(records)
        found = found or Gatherer(1)
        times, data = found.times, found.data
        most = FEWEST
        while position + RECORD.size <= end:
            if records[position] == MESSAGE:
                if position + MESSAGE_HEAD.size > end:
                    break
                _, length, channel, _, time, _ = MESSAGE_HEAD.unpack_from(records, position)
                following = position + RECORD.size + length
                if records[following : following + SAME] == records[position : position + SAME]:
                    alike = _alike(records, position, length + RECORD.size, most)
                    most = min(2 * most, MOST) if len(alike) == most else FEWEST
                    if len(alike) > 1:
                        if channel in wanted:
                            times += np.ascontiguousarray(alike[:, 15:23]).view("<u8").ravel().tolist()
                            begins = range(position, position + alike.size, alike.shape[1])
                            size, head = alike.shape[1], MESSAGE_HEAD.size
                            data += [records[k + head : k + size] for k in begins]
                        position += alike.size
                        continue
                if channel in wanted and following <= end:
                    times.append(time)
                    data.append(records[position + MESSAGE_HEAD.size : following])
                position = following
                continue
            opcode, length = RECORD.unpack_from(records, position)
            content = records[position + RECORD.size : position + RECORD.size + length]
            position += RECORD.size + length
            if position > end:
                break
            if opcode == SCHEMA:
                number = int.from_bytes(content[:2], "little")
                name, encoding, text = _texts(content, 2, 3)
                self._schemas[number] = name, encoding, text
            elif opcode == CHANNEL:
                self._take_channel(content)
            elif opcode == STATISTICS:
                if int.from_bytes(content[:8], "little") and len(content) >= 42:
                    first, last = (int.from_bytes(content[k : k + 8], "little") for k in (26, 34))
                    self._span = first, last
                for k in range(46, len(content) - 9, 10):
                    self._counts[int.from_bytes(content[k : k + 2], "little")] = int.from_bytes(
                        content[k + 2 : k + 10], "little"
                    )

        if whole and position != end:
            raise ValueError("a record is longer than what is around it")

    def _take_channel(self, content: bytes) -> None:
        number, schema = int.from_bytes(content[:2], "little"), int.from_bytes(content[2:4], "little")
        topic, encoding = _texts(content, 4, 2)
        name, language, text = self._schemas.get(schema, ("", "", ""))
        if encoding in ENCODINGS and number not in self._topics:
            definition = text if language in ("ros2msg", "ros1msg") else ""
            self._topics[number] = Topic(number, topic, ros2_type(name), ENCODINGS[encoding], definition)


def _alike(records: bytes, position: int, size: int, most: int) -> NDArray[np.uint8]:
    """The messages (N, size) from a position on, at most `most`, that have one channel and one length."""
    count = min(most, (len(records) - position) // size) if size >= MESSAGE_HEAD.size else 0
    block = np.frombuffer(records, np.uint8, count * size, position).reshape(count, size)
    same = (block[:, :SAME] == block[:1, :SAME]).all(axis=1)
    return block if same.all() else block[: int(same.argmin())]


def _texts(content: bytes, start: int, count: int) -> list[str]:
    """Strings, each after its length."""
    found = []
    for _ in range(count):
        end = start + 4 + int.from_bytes(content[start : start + 4], "little")
        if end > len(content):
            raise ValueError("a text is cut off")
        found.append(content[start + 4 : end].decode(errors="replace"))
        start = end
    return found
