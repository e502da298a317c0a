# SPDX-License-Identifier: Apache-2.0
"""What went over the wire: kept as it came, written as a rosbag2, read back as arrays."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.nodes.tools.bag_types import BagTypes

Array = NDArray[np.float64]
SECOND = 1_000_000_000  # ns


@dataclass
class Recording:
    """Serialised messages of some topics with the time of their arrival (ns)."""

    types: dict[str, Any] = field(default_factory=dict)  # message class by topic
    messages: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)

    def add_topic(self, topic: str, ros_type: Any) -> None:
        self.types[topic] = ros_type
        self.messages[topic] = []

    def add(self, topic: str, message: bytes) -> None:
        self.messages[topic].append((time.time_ns(), message))

    def latest(self, topic: str) -> Any:
        """The last message of a topic, deserialised; None where there is none yet."""
        from rclpy.serialization import deserialize_message

        found = self.messages[topic]
        return deserialize_message(found[-1][1], self.types[topic]) if found else None

    def stamp(self, topic: str) -> int:
        """Stamp of the last message, ns; 0 where there is none yet."""
        found = self.latest(topic)
        return 0 if found is None else found.header.stamp.sec * SECOND + found.header.stamp.nanosec

    def mark(self) -> dict[str, int]:
        """How many messages of each topic there are now; the beginning of a part, for `since`."""
        return {topic: len(found) for topic, found in self.messages.items()}

    def since(self, mark: dict[str, int], topic: str) -> list[Any]:
        """The messages of a topic that came after a mark, deserialised."""
        from rclpy.serialization import deserialize_message

        ros_type = self.types[topic]
        return [deserialize_message(data, ros_type) for _, data in self.messages[topic][mark[topic] :]]

    def discard(self, mark: dict[str, int]) -> None:
        """Take out what came after a mark: a part that is no result."""
        for topic, count in self.mark().items():
            del self.messages[topic][mark.get(topic, 0) : count]


def missing(times: Array, rate: float) -> int:
    """How many are missing between the first and the last of these times (N,), s, that come at this rate, per s."""
    return round((times[-1] - times[0]) * rate) + 1 - len(times) if len(times) else 0


@dataclass(frozen=True)
class JointSeries:
    """Numbers of named joints over time: (N,) stamps in ns, (N, joints) arrays, NaN where there is none."""

    stamps: NDArray[np.int64]
    position: Array
    velocity: Array
    effort: Array

    @classmethod
    def of(cls, messages: Sequence[Any], joints: Sequence[str]) -> JointSeries:
        """Series from sensor_msgs/JointState, in the order of stamps, the joints in the order asked for."""
        rows: dict[int, tuple[list[float], ...]] = {}
        empty = [np.nan] * len(joints)
        for message in messages:
            index = {name: k for k, name in enumerate(message.name)}
            if any(name not in index for name in joints):
                continue
            stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
            columns = [index[name] for name in joints]
            rows[stamp] = tuple(
                [values[k] for k in columns] if len(values) else empty
                for values in (message.position, message.velocity, message.effort)
            )
        stamps = sorted(rows)
        arrays = np.array([rows[stamp] for stamp in stamps], dtype=float).reshape(-1, 3, len(joints))
        return cls(np.array(stamps, dtype=np.int64), arrays[:, 0], arrays[:, 1], arrays[:, 2])


def write_bag(recording: Recording, folder: Path, distro: str) -> None:
    """Write all messages as a rosbag2 folder (sqlite3, readable by every ROS 2), in place of an older one."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    types = BagTypes(distro)
    shutil.rmtree(folder, ignore_errors=True)
    with Writer(folder, version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        entries = []
        for topic, ros_type in recording.types.items():
            kind = f"{ros_type.__module__.split('.')[0]}/msg/{ros_type.__name__}"
            connection = types.add(writer, topic, kind)
            entries += [(stamp, connection, data) for stamp, data in recording.messages[topic]]
        for stamp, connection, data in sorted(entries, key=lambda entry: entry[0]):
            writer.write(connection, stamp, data)
