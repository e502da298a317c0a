# SPDX-License-Identifier: Apache-2.0
"""rosbag2 files of the sqlite3 plugin: tables `topics` and `messages`, read in the order of their rows."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import Gatherer, RawBlock, RecordingError, Topic, ros2_type

ROWS = 256  # at a time: few enough to stay in the processor's cache
Row = tuple[int, bytes, int]  # time, message, id
MOST_ROWS = 2**48  # of a file whose number of rows cannot be read


class Sqlite3Storage:
    """A .db3 file. Where pages of it are damaged or missing, the rows that can be reached are read."""

    MAGIC = b"SQLite format 3\0"

    def __init__(self, path: Path, log: Log) -> None:
        self.path = path
        self._log = log
        self._cut = ""
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._connection = _connect(self._whole_pages())
        try:
            try:
                self.topics = self._read_topics()
            except sqlite3.DatabaseError:  # so SQLite opens a file that is shorter than it says of itself
                self._connection.execute("PRAGMA writable_schema = ON")
                self.topics = self._read_topics()
        except sqlite3.Error as error:
            self.close()
            raise RecordingError(f"{path} is not a rosbag2 file, or too damaged to read: {error}") from None

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _whole_pages(self) -> Path:
        """The file; where it was cut off inside a page, which SQLite would take for zeros, a copy without that page."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            header = file.read(32)
            page = int.from_bytes(header[16:18], "big")
            page = page if page >= 512 else 65536
            whole = page * int.from_bytes(header[28:], "big")  # as it says of itself; older SQLite: zero
            if size < whole:
                self._cut = f"; the file was cut off at {100 * size / whole:.0f} % of its length"
            rest = size // page * page
            if rest == size:
                return self.path
            self._copy = tempfile.TemporaryDirectory(prefix="rbd_dynamics_")
            target = Path(self._copy.name, self.path.name)
            file.seek(0)
            with target.open("wb") as copy:
                while rest:
                    rest -= copy.write(file.read(min(rest, 1 << 20)))
        return target

    def _read_topics(self) -> list[Topic]:
        rows = self._connection.execute("SELECT id, name, type, serialization_format FROM topics ORDER BY id")
        found = [row for row in rows if row[3] == "cdr" and isinstance(row[1], str) and isinstance(row[2], str)]
        definitions: dict[str, str] = {}
        try:
            query = "SELECT topic_type, encoded_message_definition FROM message_definitions WHERE encoding = 'ros2msg'"
            definitions = dict(self._connection.execute(query))
        except sqlite3.Error:
            pass  # files before Iron have none
        return [
            Topic(id, name, ros2_type(type_name), "cdr", definitions.get(type_name, ""))
            for id, name, type_name, _ in found
        ]

    def blocks(self, topics: Collection[int], size: int) -> Iterator[RawBlock]:
        """Rows come by id, that is as they were written: that needs neither an index nor a sort."""
        last = self._last_id()
        found = Gatherer(size)
        for rows in self._rows(topics, min(size, ROWS), last):
            times, data, _ = zip(*rows)
            if set(map(type, times)) | set(map(type, data)) != {int, bytes}:  # SQLite keeps anything in any column
                good = [row for row in rows if isinstance(row[0], int) and isinstance(row[1], bytes)]
                self._log.count("undecodable messages", number=len(rows) - len(good))
                times, data, _ = zip(*good) if good else ((), (), ())
            found.times += times
            found.data += data
            yield from found.full(rows[-1][2] / last if last else 0.0)
        yield from found.full(1.0, everything=True)

    def _rows(self, topics: Collection[int], size: int, last: int | None) -> Iterator[list[Row]]:
        """Rows in small batches."""
        wanted = ",".join(str(int(topic)) for topic in topics)
        query = f"SELECT timestamp, data, id FROM messages WHERE id > ? AND topic_id IN ({wanted}) ORDER BY id"
        done, step = -(2**63), 1
        while done <= (last or MOST_ROWS):
            rows: list[Row] = []
            problem: Exception | None = None
            try:
                cursor = self._connection.execute(query, (done,))
                while True:
                    rows = []
                    rows.extend(islice(cursor, size))  # keeps what came before an error
                    if not rows:
                        return
                    done, step = rows[-1][2], 1
                    yield rows
            except sqlite3.DatabaseError as error:
                problem = error
            if rows and rows[-1][2] > done:
                done, step = rows[-1][2], 1
                yield rows
            if step == 1:
                self._log.count("damaged parts")
                self._log.remark(f"{self.path.name} is damaged ({problem}): what can be read is used{self._cut}")
            done, step = max(done, 0) + step, 2 * step  # past the damaged page, wherever it ends

    def span(self) -> tuple[int, int] | None:
        """Span as of `Storage`."""
        query = "SELECT timestamp FROM messages ORDER BY id {} LIMIT 1"
        try:
            rows = [self._connection.execute(query.format(order)).fetchone() for order in ("ASC", "DESC")]
        except sqlite3.Error:
            return None
        times = [row[0] for row in rows if row is not None and isinstance(row[0], int)]
        return (times[0], times[1]) if len(times) == 2 else None

    def _last_id(self) -> int | None:
        try:
            return self._connection.execute("SELECT max(id) FROM messages").fetchone()[0]
        except sqlite3.DatabaseError:
            return None


def _connect(path: Path) -> sqlite3.Connection:
    """Read-only; with what a recorder that was killed left in the write-ahead log beside the file."""
    uri = path.resolve().as_uri()
    if any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal")):
        try:
            connection = sqlite3.connect(f"{uri}?mode=ro", uri=True)
            connection.execute("SELECT count(*) FROM topics").fetchone()
            return connection
        except sqlite3.Error:
            pass  # a log that cannot be applied to a file that cannot be written
    return sqlite3.connect(f"{uri}?immutable=1", uri=True)
