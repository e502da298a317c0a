# SPDX-License-Identifier: Apache-2.0
"""Recordings for tests, written with rosbags: joint states with known numbers, in every format.

Call `needs_rosbags` (a mark) where rosbags may be missing.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

needs_rosbags = pytest.mark.skipif(importlib.util.find_spec("rosbags") is None, reason="needs rosbags")

START = 1_700_000_000 * 10**9  # ns
JOINT_STATE = "sensor_msgs/msg/JointState"
STRING = "std_msgs/msg/String"
WRENCH = "geometry_msgs/msg/WrenchStamped"


@dataclass
class Message:
    """One joint state; `stamp` of the header and `received`, ns."""

    stamp: int
    names: Sequence[str]
    position: Any = ()
    velocity: Any = ()
    effort: Any = ()
    received: int | None = None
    frame: str = ""


@dataclass
class Content:
    """What a recording has: {topic: messages}, {topic: text}, {topic: [(stamp in ns, (m, f))]}."""

    states: dict[str, list[Message]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    wrenches: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)


def motion(count: int = 400, rate: float = 200.0, joints: int = 3, noise: float = 0.0) -> list[Message]:
    """Smooth motion of joints j1, j2, ...; efforts are different for each joint and time."""
    rng = np.random.default_rng(5)
    names = [f"j{k + 1}" for k in range(joints)]
    frequency = 1.0 + 0.7 * np.arange(joints)
    found = []
    for k in range(count):
        t = k / rate
        q, v = np.sin(frequency * t), frequency * np.cos(frequency * t)
        tau = 10.0 * np.arange(1, joints + 1) + np.cos(3.0 * t)
        q, v, tau = (x + noise * rng.normal(size=joints) for x in (q, v, tau))
        stamp = START + round(t * 1e9)
        found.append(Message(stamp, names, q, v, tau, stamp + 300_000))
    return found


# --- serialising --------------------------------------------------------------------------------------------------


@cache
def typestore(ros: int = 2) -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS1_NOETIC if ros == 1 else Stores.ROS2_JAZZY)


def joint_state(message: Message, ros: int = 2) -> Any:
    """The message as rosbags has it."""
    types = typestore(ros).types
    time = types["builtin_interfaces/msg/Time"](message.stamp // 10**9, message.stamp % 10**9)
    sequence = (7,) if ros == 1 else ()
    header = types["std_msgs/msg/Header"](*sequence, time, message.frame)
    numbers = (np.array(x, dtype=float) for x in (message.position, message.velocity, message.effort))
    return types[JOINT_STATE](header, list(message.names), *numbers)


def serialised(message: Message | str, ros: int = 2, little_endian: bool = True) -> bytes:
    store = typestore(ros)
    kind = STRING if isinstance(message, str) else JOINT_STATE
    made = store.types[STRING](message) if isinstance(message, str) else joint_state(message, ros)
    if ros == 1:
        return bytes(store.serialize_ros1(made, kind))
    return bytes(store.serialize_cdr(made, kind, little_endian=little_endian))


def serialised_wrench(stamp: int, numbers: Any, ros: int = 2) -> bytes:
    store = typestore(ros)
    types = store.types
    time = types["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9)
    header = types["std_msgs/msg/Header"](*((7,) if ros == 1 else ()), time, "tool")
    torque, force = (types["geometry_msgs/msg/Vector3"](*map(float, part)) for part in np.split(np.array(numbers), 2))
    made = types[WRENCH](header, types["geometry_msgs/msg/Wrench"](force, torque))
    return bytes(store.serialize_ros1(made, WRENCH) if ros == 1 else store.serialize_cdr(made, WRENCH))


# --- writing ------------------------------------------------------------------------------------------------------


def write_into(writer: Any, content: Content, ros: int = 2) -> None:
    store, entries = typestore(ros), []
    for topic, text in content.texts.items():
        connection = writer.add_connection(topic, STRING, typestore=store)
        entries.append((0, connection, serialised(text, ros)))
    for topic, messages in content.states.items():
        connection = writer.add_connection(topic, JOINT_STATE, typestore=store)
        for message in messages:
            received = message.stamp if message.received is None else message.received
            entries.append((received, connection, serialised(message, ros)))
    for topic, readings in content.wrenches.items():
        connection = writer.add_connection(topic, WRENCH, typestore=store)
        entries += [(stamp, connection, serialised_wrench(stamp, numbers, ros)) for stamp, numbers in readings]
    for received, connection, data in entries:
        writer.write(connection, received or START, data)


def write_ros2(path: Path, content: Content, plugin: str = "SQLITE3", compression: str = "NONE") -> Path:
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

    writer = Writer(path, version=9, storage_plugin=StoragePlugin[plugin])
    if compression != "NONE":
        writer.set_compression(CompressionMode[compression], CompressionFormat.ZSTD)
    with writer:
        write_into(writer, content)
    return path


def write_ros1(path: Path, content: Content, compression: str = "NONE") -> Path:
    from rosbags.rosbag1 import Writer

    writer = Writer(path)
    writer.chunk_threshold = 1 << 14  # several chunks
    if compression != "NONE":
        writer.set_compression(Writer.CompressionFormat[compression])
    with writer:
        write_into(writer, content, ros=1)
    return path


def write_split(path: Path, content: Content, plugin: str = "SQLITE3", parts: int = 3) -> Path:
    """A folder of several files, as a recorder makes it when one gets too large."""
    import yaml

    path.mkdir(parents=True)
    names, total = [], 0
    for part in range(parts):
        states = {topic: messages[part::1][:0] for topic, messages in content.states.items()}
        for topic, messages in content.states.items():
            size = -(-len(messages) // parts)
            states[topic] = messages[part * size : (part + 1) * size]
            total += len(states[topic])
        folder = write_ros2(path / f"part{part}", Content(states, content.texts if part == 0 else {}), plugin)
        file = next(file for file in folder.iterdir() if file.name != "metadata.yaml")
        names.append(f"{path.name}_{part}{file.suffix}")
        file.rename(path / names[-1])
        metadata = yaml.safe_load((folder / "metadata.yaml").read_text())
        shutil.rmtree(folder)
    information = metadata["rosbag2_bagfile_information"]
    information["relative_file_paths"] = names
    for topic in information["topics_with_message_count"]:
        topic["message_count"] = len(content.states.get(topic["topic_metadata"]["name"], ()))
    (path / "metadata.yaml").write_text(yaml.safe_dump(metadata))
    return path


def bare(folder: Path) -> Path:
    """The file in a rosbag2 folder, after metadata.yaml was removed."""
    (folder / "metadata.yaml").unlink()
    return next(folder.iterdir())


#: {name: writes a recording into a folder}
FORMATS: dict[str, Callable[[Path, Content], Path]] = {
    "sqlite3": lambda folder, content: write_ros2(folder / "bag", content),
    "sqlite3, bare": lambda folder, content: bare(write_ros2(folder / "bag", content)),
    "sqlite3, messages compressed": lambda folder, content: write_ros2(folder / "bag", content, compression="MESSAGE"),
    "sqlite3, file compressed": lambda folder, content: write_ros2(folder / "bag", content, compression="FILE"),
    "sqlite3, split": lambda folder, content: write_split(folder / "bag", content),
    "mcap": lambda folder, content: write_ros2(folder / "bag", content, "MCAP"),
    "mcap, bare": lambda folder, content: bare(write_ros2(folder / "bag", content, "MCAP")),
    "mcap, chunks compressed": lambda folder, content: write_ros2(folder / "bag", content, "MCAP", "STORAGE"),
    "mcap, messages compressed": lambda folder, content: write_ros2(folder / "bag", content, "MCAP", "MESSAGE"),
    "mcap, file compressed": lambda folder, content: write_ros2(folder / "bag", content, "MCAP", "FILE"),
    "mcap, split": lambda folder, content: write_split(folder / "bag", content, "MCAP"),
    "ROS 1": lambda folder, content: write_ros1(folder / "some.bag", content),
    "ROS 1, bz2": lambda folder, content: write_ros1(folder / "some.bag", content, "BZ2"),
    "ROS 1, lz4": lambda folder, content: write_ros1(folder / "some.bag", content, "LZ4"),
}
