# SPDX-License-Identifier: Apache-2.0
"""A recording: one file, or a folder with the parts of one; its topics, joint states and robot description."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.joint_states.layout import layout_of
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.choosing import (
    JointStateTopic,
    best_topic,
    home,
    of_robot,
    one_of,
    robots_there,
    topics_there,
)
from rbd_dynamics.replay.reading.decoding import (
    JOINT_STATE,
    STRING,
    WRENCH,
    JointStateDecoder,
    JointStates,
    MessageTypes,
    text_of,
    wrench_of,
)
from rbd_dynamics.replay.reading.opening import Told, open_storage
from rbd_dynamics.replay.reading.recording_files import parts_of
from rbd_dynamics.replay.reading.storage import (
    ZSTD_MAGIC,
    RawBlock,
    RecordingError,
    Storage,
    Topic,
    decompressed,
    first_bytes,
    unpacked,
)
from rbd_dynamics.replay.reading.tables import TableStorage
from rbd_dynamics.replay.reading.tables.given import Given
from rbd_dynamics.replay.reading.tables.interpretation import Interpretation

SAMPLE = 50  # messages looked at to tell what a topic has


class Recording:
    """A recording on disk. Nothing but names is kept in memory; each question reads the files again, in blocks.

    Parameters:
        path: a rosbag2 folder (with or without metadata.yaml; sqlite3 or mcap; compressed by message or by file; any
            number of parts), one such file, a ROS 1 bag, or a table (CSV, Parquet, MATLAB, HDF5, NumPy;
            `reading/tables/`).
        columns: of a table: {field: columns}, as `time_ms`, `pos_meas{}`, `2-8` or {joint: column}; what is not said
            goes by the columns' names.
        rate: of the rows of a table without times, Hz.

    What is damaged is passed over, and `log` says so. Raises RecordingError (a ValueError) where nothing can be read.

    Attributes:
        files: its parts, in order.
        log: what was lost.
        expected: {topic: number of messages} as the metadata say, where there are any.
        meaning: what a table is taken for; None for all other recordings, whose messages say what they are.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, columns: Given | None = None, rate: float | None = None
    ) -> None:
        self.path = Path(path)
        self.log = Log()
        self._looked = Log()  # what was noticed where only the first messages were read
        self._told = Told(columns=columns or {}, rate=rate)
        self.meaning: Interpretation | None = None
        parts = parts_of(self.path, self.log)
        self.files, self.expected = parts.files, parts.expected
        self._compressed, self._distribution = parts.compressed, parts.distribution
        self._topics: dict[str, Topic] = {}
        self._unpacked: tuple[Path, Path, tempfile.TemporaryDirectory[str]] | None = None
        problems = []
        for file in self.files:
            try:
                storage = self._open(file, self.log)
            except RecordingError as error:
                problems.append(error)
                continue
            for topic in storage.topics:
                self._topics.setdefault(topic.name, topic)
            if isinstance(storage, TableStorage):
                self.meaning = storage.meaning
            storage.close()
            if self.expected and self._topics.keys() >= self.expected.keys():
                break  # the other parts have the same topics: they are opened when it is their turn
        if not self._topics and problems:
            raise problems[0]

    @property
    def damage(self) -> str:
        """What of its files is missing or damaged, so far as is known, for an error: " (...)"; else empty."""
        logs = [log for log in (self.log, self._looked) if log.events["damaged parts"]]
        told = list(dict.fromkeys(remark for log in logs for remark in log.remarks))
        return f" ({'; '.join(told)})" if told else ""

    # --- topics -----------------------------------------------------------------------------------

    @property
    def topics(self) -> dict[str, str]:
        """{name: type}."""
        return {name: topic.type for name, topic in self._topics.items()}

    def joint_state_topics(self) -> list[JointStateTopic]:
        """Topics of sensor_msgs/JointState that have messages."""
        found = []
        for name in sorted(name for name, type_name in self.topics.items() if type_name == JOINT_STATE):
            joints: dict[str, None] = {}
            has_velocity = has_effort = False
            for message in self._first(name, SAMPLE):
                try:
                    layout = layout_of(message, self._topics[name].encoding)
                except ValueError:
                    continue
                joints.update(dict.fromkeys(layout.names))
                has_velocity |= bool(layout.counts[1])
                has_effort |= bool(layout.counts[2])
            if joints:
                found.append(JointStateTopic(name, tuple(joints), has_velocity, has_effort))
        return found

    def choose_topic(
        self,
        *,
        joints: Collection[str] = (),
        topic: str | Sequence[str] | None = None,
        robot: str | None = None,
        names: Collection[str] | None = None,
    ) -> JointStateTopic:
        """The topic that names most of `joints` (of any, if none are given), rather one with efforts and velocities.

        topic: choose this one, or these, which name different joints, as one.
        robot: of those in its namespace, or beside its description, where there are any; else one with joints whose
        names begin with it. names: by which the joints may be called; None: their own.
        Raises RecordingError that says what there is instead.
        """
        found = self.joint_state_topics()
        there = ", ".join(candidate.name for candidate in found) or "none"
        if topic is not None:
            chosen = []
            for wanted in dict.fromkeys([topic] if isinstance(topic, str) else topic):
                named = [candidate for candidate in found if candidate.name.lstrip("/") == wanted.lstrip("/")]
                if not named:
                    raise RecordingError(
                        f"{self.path} has no joint states on topic {wanted!r}; it has them on: {there}"
                    )
                chosen += named
            return one_of(chosen, self.path)
        if not found:
            there = topics_there(self.topics, JOINT_STATE)
            raise RecordingError(f"{self.path} has no joint states{self.damage}; {there}")
        if robot is not None:
            found = self._of_robot(robot, found)
        return best_topic(found, joints if names is None else names, joints, self.path)

    def _of_robot(self, robot: str, found: list[JointStateTopic]) -> list[JointStateTopic]:
        descriptions = self._descriptions()
        own = of_robot(robot, [candidate.name for candidate in found], descriptions, self.path)
        beside = [candidate for candidate in found if candidate.name in own]
        named = [candidate for candidate in found if any(name.startswith(robot) for name in candidate.joints)]
        if not (own or named):
            raise RecordingError(
                f"{self.path} has no robot {excerpt(robot)}; there are: {robots_there(found, descriptions)}"
            )
        return beside or named or found

    def _descriptions(self) -> dict[str, str]:
        """{topic: text} of all that can be read."""
        texts = {}
        for name, type_name in sorted(self.topics.items()):
            if type_name != STRING or not name.endswith("robot_description"):
                continue
            for message in self._first(name, 1):
                try:
                    texts[name] = text_of(message, self._topics[name].encoding)
                except ValueError:
                    self.log.remark(f"the message on {name} cannot be read")
        return texts

    def robot_description(self, *, near: str | None = None, robot: str | None = None) -> str | None:
        """The URDF on a topic `robot_description`, rather of the namespace of topic `near`; None: there is none.

        robot: of this one, where some are in its namespace or have its name.
        """
        found = self._descriptions()
        if robot is not None:
            own = of_robot(robot, (), found, self.path)
            found = {name: found[name] for name in own} or found
        near = f"/{(near or '').lstrip('/')}"
        chosen = min(found, key=lambda name: (home(name) != home(near), len(name), name), default=None)
        return None if chosen is None else found[chosen]

    # --- messages ---------------------------------------------------------------------------------

    def joint_states(
        self, topic: str | Sequence[str], joints: Sequence[str], *, block: int = 16384, log: Log | None = None
    ) -> Iterator[JointStates]:
        """All joint states of a topic, or of several, in the order they were written, for joints by name.

        log: where to count what is lost; the recording's own if None.
        """
        log = self.log if log is None else log
        read, topics = 0, [topic] if isinstance(topic, str) else list(topic)
        decoder: JointStateDecoder | None = None
        previous: Topic | None = None
        for entry, raw in self._raw_blocks(topics, block, log):
            if decoder is None or entry != previous:
                decoder, previous = self._decoder(entry, joints, log), entry
            read += len(raw.data)
            states = decoder.decode(raw.received, raw.data, raw.fraction)
            log.messages += len(raw.data)
            if len(states):
                yield states
        log.count("lost messages", number=max(0, sum(self.expected.get(name, 0) for name in topics) - read))

    def wrenches(self, *, topic: str | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Times (N,) in ns, of the headers or else of arrival, and (m, f) (N, 6) in N m and N, of a WrenchStamped.

        topic: None: the only one. What cannot be decoded, or is not finite, is left out and counted. Raises
        RecordingError that says which there are, where it is not there.
        """
        there = sorted(name for name, type_name in self.topics.items() if type_name == WRENCH)
        chosen = [name for name in there if topic is None or name.lstrip("/") == topic.lstrip("/")]
        if len(chosen) != 1:
            wanted = "one topic with wrenches" if topic is None else f"wrenches on topic {topic!r}"
            raise RecordingError(f"{self.path} has not {wanted}; it has them on: {', '.join(there) or 'none'}")
        times, numbers = [], []
        for entry, raw in self._raw_blocks(chosen, 16384, self.log):
            for received, message in zip(raw.received.tolist(), raw.data):
                try:
                    stamp, wrench = wrench_of(message, entry.encoding)
                except ValueError:
                    self.log.count("undecodable messages")
                    continue
                times.append(stamp or received)
                numbers.append(wrench)
        return np.array(times, dtype=np.int64), np.array(numbers, dtype=float).reshape(-1, 6)

    def _decoder(self, topic: Topic, joints: Sequence[str], log: Log) -> JointStateDecoder:
        if topic.is_usual:
            return JointStateDecoder(joints, topic.encoding, log)
        try:
            types = MessageTypes(topic.encoding, topic.type, topic.definition, self._distribution)
        except ImportError:
            return JointStateDecoder(joints, topic.encoding, log)
        if not types.is_usual:
            log.remark(f"{topic.name} has a definition of JointState of its own: read slowly")
        return JointStateDecoder(joints, topic.encoding, log, types.joint_state, not types.is_usual)

    def _first(self, name: str, count: int) -> list[bytes]:
        """Its first messages. Damage is counted when all are read."""
        messages: list[bytes] = []
        for _, raw in self._raw_blocks([name], count, self._looked):
            messages += raw.data
            if len(messages) >= count:
                break
        return messages[:count]

    def _raw_blocks(self, names: Collection[str], size: int, log: Log) -> Iterator[tuple[Topic, RawBlock]]:
        """Messages of topics of one type, part by part, with the topic as that part has it."""
        for part, file in enumerate(self.files):
            try:
                storage = self._open(file, log)
            except RecordingError as error:
                log.count("damaged parts")
                log.remark(f"{error}: left out")
                continue
            try:
                here = [topic for topic in storage.topics if topic.name in names]  # one for each publisher
                for raw in storage.blocks([topic.id for topic in here], size) if here else ():
                    raw = raw._replace(fraction=(part + raw.fraction) / len(self.files))
                    if self._compressed or raw.data[0].startswith(ZSTD_MAGIC):
                        raw = self._decompressed(raw, log)
                    yield here[0], raw
            finally:
                storage.close()

    def _open(self, file: Path, log: Log) -> Storage:
        """One file that is compressed as a whole stays unpacked until the next one, or the end of this object."""
        if not first_bytes(file).startswith(ZSTD_MAGIC):
            return open_storage(file, log, self._told)
        if self._unpacked is None or self._unpacked[0] != file:
            self._unpacked = None
            folder = tempfile.TemporaryDirectory(prefix="rbd_dynamics_")
            self._unpacked = file, unpacked(file, Path(folder.name), log), folder
        return open_storage(self._unpacked[1], log, self._told)

    def _decompressed(self, raw: RawBlock, log: Log) -> RawBlock:
        """The block with each message unpacked, without those that cannot be."""
        kept, data = [], []
        for row, message in enumerate(raw.data):
            try:
                data.append(decompressed(message, "zstd"))
                kept.append(row)
            except RecordingError:
                raise
            except Exception:  # whatever the decompressor raises
                log.count("undecodable messages")
        return raw._replace(received=raw.received[np.array(kept, dtype=np.intp)], data=data)
