# SPDX-License-Identifier: Apache-2.0
"""Files of records, MCAP and ROS 1: what topics there are stands in an index at the end, if it was written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, ClassVar

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.storage import RawBlock, Topic


class RecordFile(ABC):
    """An open file of records. Without an index at its end all of it is read once, to know its topics."""

    MAGIC: ClassVar[bytes]

    def __init__(self, path: Path, log: Log) -> None:
        self.path = path
        self._log = log
        self._file: BinaryIO = path.open("rb")
        self._size = path.stat().st_size
        self._topics: dict[int, Topic] = {}
        self._counts: dict[int, int] = {}
        self._span: tuple[int, int] | None = None
        if not self._read_index():
            self._log = Log()  # what is damaged is told when messages are read
            for _ in self.blocks((), 1):
                pass
            self._log = log
        self.topics = [replace(topic, messages=self._counts.get(topic.id)) for topic in self._topics.values()]

    def close(self) -> None:
        self._file.close()

    def span(self) -> tuple[int, int] | None:
        """Span as of `Storage`: what the index says."""
        return self._span

    def _read_at_most(self, size: int) -> bytes:
        """The next bytes, fewer at the end of the file: memory is taken for what is there, whatever a length says."""
        return self._file.read(max(0, min(size, self._size - self._file.tell())))

    @abstractmethod
    def blocks(self, topics: Collection[int], size: int) -> Iterator[RawBlock]:
        """Blocks as of `Storage`; on the way it finds `_topics`."""

    @abstractmethod
    def _read_index(self) -> bool:
        """Find `_topics` and `_counts` at the end of the file. False: no index was written."""

    def _cut_off(self, start: int) -> None:
        self._log.count("damaged parts")
        self._log.remark(f"{self.path.name} is cut off at byte {start} of {self._size}: all before it is used")

    def _damaged(self, start: int, why: object) -> None:
        self._log.count("damaged parts")
        self._log.remark(f"{self.path.name} is damaged at byte {start} ({why}): that part is left out")
