# SPDX-License-Identifier: Apache-2.0
"""A recording: one file, or a folder with the parts of one; its topics, joint states and robot description."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbd_dynamics.joint_states.layout import layout_of
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.decoding import (
    JOINT_STATE,
    STRING,
    JointStateDecoder,
    JointStates,
    MessageTypes,
    text_of,
)
from rbd_dynamics.replay.reading.opening import open_storage
from rbd_dynamics.replay.reading.parts import parts_of
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

SAMPLE = 50  # messages looked at to tell what a topic has


@dataclass(frozen=True)
class JointStateTopic:
    """What the first messages of a topic have: the joints they name, and whether there are velocities and efforts."""

    name: str
    joints: tuple[str, ...]
    has_velocity: bool
    has_effort: bool


class Recording:
    """A recording on disk. Nothing but names is kept in memory; each question reads the files again, in blocks.

    Parameters:
        path: a rosbag2 folder (with or without metadata.yaml; sqlite3 or mcap; compressed by message or by file; any
            number of parts), one such file, or a ROS 1 bag.

    What is damaged is passed over, and `log` says so. Raises RecordingError (a ValueError) where nothing can be read.

    Attributes:
        files: its parts, in order.
        log: what was lost.
        expected: {topic: number of messages} as the metadata say, where there are any.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.log = Log()
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
            storage.close()
            if self.expected and self._topics.keys() >= self.expected.keys():
                break  # the other parts have the same topics: they are opened when it is their turn
        if not self._topics and problems:
            raise problems[0]

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

    def choose_topic(self, *, joints: Collection[str] = (), topic: str | None = None) -> JointStateTopic:
        """The topic that names most of `joints` (of any, if none are given), rather one with efforts and velocities.

        topic: choose this one. Raises RecordingError that says what there is instead.
        """
        found = self.joint_state_topics()
        names = ", ".join(candidate.name for candidate in found) or "none"
        if topic is not None:
            for candidate in found:
                if candidate.name.lstrip("/") == topic.lstrip("/"):
                    return candidate
            raise RecordingError(f"{self.path} has no joint states on topic {topic!r}; it has them on: {names}")
        if not found:
            there = ", ".join(f"{name} ({type_name})" for name, type_name in sorted(self.topics.items())) or "none"
            raise RecordingError(f"{self.path} has no joint states (sensor_msgs/JointState); its topics: {there}")

        def merit(candidate: JointStateTopic) -> tuple[int, bool, bool, bool, int]:
            known = len(set(candidate.joints) & set(joints)) if joints else len(candidate.joints)
            usual = candidate.name.endswith("joint_states")
            return known, candidate.has_effort, candidate.has_velocity, usual, -len(candidate.name)

        best = max(found, key=merit)
        if joints and not set(best.joints) & set(joints):
            raise RecordingError(
                f"{self.path}: topic {best.name} names {', '.join(best.joints)}; none of them is a joint of the robot, "
                f"which has {', '.join(joints)}"
            )
        return best

    def robot_description(self, *, near: str | None = None) -> str | None:
        """The URDF on a topic `robot_description`, rather of the namespace of topic `near`; None: there is none."""
        found = [
            name
            for name, type_name in self.topics.items()
            if type_name == STRING and name.endswith("robot_description")
        ]
        home = (near or "/").rpartition("/")[0]
        for name in sorted(found, key=lambda name: (name.rpartition("/")[0] != home, len(name), name)):
            for message in self._first(name, 1):
                try:
                    return text_of(message, self._topics[name].encoding)
                except ValueError:
                    self.log.remark(f"the message on {name} cannot be read")
        return None

    # --- messages ---------------------------------------------------------------------------------

    def joint_states(
        self, topic: str, joints: Sequence[str], *, block: int = 16384, log: Log | None = None
    ) -> Iterator[JointStates]:
        """All joint states of a topic, in the order they were written, for joints by name.

        log: where to count what is lost; the recording's own if None.
        """
        log = self.log if log is None else log
        read = 0
        decoder: JointStateDecoder | None = None
        previous: Topic | None = None
        for entry, raw in self._raw_blocks(topic, block, log):
            if decoder is None or entry != previous:
                decoder, previous = self._decoder(entry, joints, log), entry
            read += len(raw.data)
            states = decoder.decode(raw.received, raw.data, raw.fraction)
            log.messages += len(raw.data)
            if len(states):
                yield states
        log.count("lost messages", number=max(0, self.expected.get(topic, 0) - read))

    def _decoder(self, topic: Topic, joints: Sequence[str], log: Log) -> JointStateDecoder:
        try:
            types = MessageTypes(topic.encoding, topic.type, topic.definition, self._distribution)
        except ImportError:
            return JointStateDecoder(joints, topic.encoding, log)
        if not types.is_usual:
            log.remark(f"{topic.name} has a definition of JointState of its own: read slowly")
        return JointStateDecoder(joints, topic.encoding, log, types.joint_state, not types.is_usual)

    def _first(self, name: str, count: int) -> list[bytes]:
        """Its first messages. Damage is noted when all are read."""
        messages: list[bytes] = []
        for _, raw in self._raw_blocks(name, count, Log()):
            messages += raw.data
            if len(messages) >= count:
                break
        return messages[:count]

    def _raw_blocks(self, name: str, size: int, log: Log) -> Iterator[tuple[Topic, RawBlock]]:
        """Messages of a topic, part by part, with the topic as that part has it."""
        for part, file in enumerate(self.files):
            try:
                storage = self._open(file, log)
            except RecordingError as error:
                log.count("damaged parts")
                log.remark(f"{error}: left out")
                continue
            try:
                here = [topic for topic in storage.topics if topic.name == name]  # one for each publisher
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
            return open_storage(file, log)
        if self._unpacked is None or self._unpacked[0] != file:
            self._unpacked = None
            folder = tempfile.TemporaryDirectory(prefix="rbd_dynamics_")
            self._unpacked = file, unpacked(file, Path(folder.name), log), folder
        return open_storage(self._unpacked[1], log)

    def _decompressed(self, raw: RawBlock, log: Log) -> RawBlock:
        """With each message unpacked, without those that cannot be."""
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
