# SPDX-License-Identifier: Apache-2.0
"""ROS 1 bags, format 2.0 (http://wiki.ros.org/Bags/Format/2.0), read record by record, without the index."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from struct import Struct

from rbd_dynamics.replay.reading.record_file import RecordFile
from rbd_dynamics.replay.reading.storage import Gatherer, RawBlock, Topic, decompressed, ros2_type

MESSAGE, BAG_HEADER, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 5, 6, 7
LENGTH = Struct("<I")
TIME = Struct("<II")
LARGEST = 1 << 32  # bytes of a record
SECOND = 1_000_000_000


class Rosbag1Storage(RecordFile):
    """A .bag file, also one that was not closed (.active) and has no index."""

    MAGIC = b"#ROSBAG V2.0\n"

    def _read_index(self) -> bool:
        """Find all connections at the end of the file. False: it was not written."""
        self._file.seek(len(self.MAGIC))
        record = self._next()
        start = int.from_bytes((record or ({}, b""))[0].get("index_pos", b""), "little")
        if not 0 < start < self._size:
            return False
        self._file.seek(start)
        while (record := self._next()) is not None:
            fields, data = record
            if fields["op"][0] == CONNECTION:
                try:
                    self._take_connection(fields, data)
                except KeyError:  # damaged: what the file has is found by reading it
                    return False
            elif fields["op"][0] == CHUNK_INFO:
                for k in range(0, len(data) - 7, 8):
                    topic = int.from_bytes(data[k : k + 4], "little")
                    self._counts[topic] = self._counts.get(topic, 0) + int.from_bytes(data[k + 4 : k + 8], "little")
        return bool(self._topics)

    def blocks(self, topics: Collection[int], size: int) -> Iterator[RawBlock]:
        """Messages in the order of the file."""
        found = Gatherer(size)
        wanted = frozenset(topics)
        self._file.seek(len(self.MAGIC))
        while True:
            start = self._file.tell()
            record = self._next()
            if record is None:
                if self._file.tell() < self._size or start < self._size:
                    self._cut_off(start)
                break
            fields, data = record
            operation = fields["op"][0]
            try:
                if operation == CHUNK:
                    self._take_all(decompressed(data, fields["compression"].decode()), wanted, found)
                elif operation == CONNECTION:
                    self._take_connection(fields, data)
                elif operation == MESSAGE and int.from_bytes(fields["conn"], "little") in wanted:
                    found.times.append(_time(fields["time"], 0))
                    found.data.append(data)
            except Exception as problem:  # whatever a decompressor raises, and fields that are missing
                self._damaged(start, problem)
            yield from found.full(self._file.tell() / self._size)
        yield from found.full(1.0, everything=True)

    def _next(self) -> tuple[dict[str, bytes], bytes] | None:
        """The fields and the data of the record here; None: there is none."""
        try:
            fields = _fields(self._read(self._length()))
            return (fields, self._read(self._length())) if fields.get("op") else None
        except EOFError:
            return None

    def _length(self) -> int:
        return LENGTH.unpack(self._read(4))[0]

    def _read(self, size: int) -> bytes:
        data = self._read_at_most(size) if size < LARGEST else b""
        if len(data) < size:
            raise EOFError
        return data

    def _take_all(self, records: bytes, wanted: frozenset[int], found: Gatherer) -> None:
        """Note connections and gather wanted messages of a chunk."""
        position, end = 0, len(records)
        times, data = found.times, found.data
        at_kind = at_connection = at_time = 0
        while position + 8 <= end:
            start = position + 4
            middle = start + LENGTH.unpack_from(records, position)[0]
            stop = middle + 4 + LENGTH.unpack_from(records, middle)[0]
            if stop > end:
                raise ValueError("a record is longer than its chunk")
            position = stop
            header = records[start:middle]
            # The headers of a writer's messages differ in their numbers only: find out once where those are.
            if header[at_kind - 3 : at_kind + 1] != b"op=\x02" or header[at_time - 5 : at_time] != b"time=":
                fields = _fields(header)
                if fields["op"][0] != MESSAGE:
                    if fields["op"][0] == CONNECTION:
                        self._take_connection(fields, records[middle + 4 : stop])
                    continue
                at_kind, at_connection, at_time = (header.index(key) + len(key) for key in (b"op=", b"conn=", b"time="))
            topic = LENGTH.unpack_from(header, at_connection)[0]
            if topic in wanted:
                times.append(_time(header, at_time))
                data.append(records[middle + 4 : stop])

    def _take_connection(self, fields: dict[str, bytes], data: bytes) -> None:
        number = int.from_bytes(fields["conn"], "little")
        more = _fields(data)
        type_name, definition = (
            more.get(name, b"").decode(errors="replace") for name in ("type", "message_definition")
        )
        name = (more.get("topic") or fields["topic"]).decode(errors="replace")
        self._topics[number] = Topic(number, name, ros2_type(type_name), "ros1", definition)


def _time(data: bytes, start: int) -> int:
    seconds, rest = TIME.unpack_from(data, start)
    return seconds * SECOND + rest


def _fields(header: bytes) -> dict[str, bytes]:
    """Each is a length, then name=value."""
    found, position = {}, 0
    while position + 4 <= len(header):
        end = position + 4 + LENGTH.unpack_from(header, position)[0]
        name, _, value = header[position + 4 : end].partition(b"=")
        found[name.decode(errors="replace")] = value
        position = end
    return found
