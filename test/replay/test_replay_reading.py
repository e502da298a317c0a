# SPDX-License-Identifier: Apache-2.0
"""Recordings of every format, whole and damaged, give the joint states that were written into them."""

from __future__ import annotations

import importlib.util
import sqlite3
import struct
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.recorded.bags import (
    FORMATS,
    START,
    Content,
    Message,
    bare,
    joint_state,
    motion,
    needs_rosbags,
    serialised,
    typestore,
    write_ros1,
    write_ros2,
    write_split,
)
from helpers.wide import table

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import Recording, RecordingError
from rbd_dynamics.replay.reading.decoding import JointStates
from rbd_dynamics.replay.reading.sqlite3_storage import Sqlite3Storage
from rbd_dynamics.replay.reading.storage import unpacked, zstd

pytestmark = needs_rosbags
QOS: Any = None
if importlib.util.find_spec("rosbags"):
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    QOS = Qos(
        QosHistory.KEEP_LAST, 5, QosReliability.BEST_EFFORT, QosDurability.VOLATILE, QosTime(0, 0), QosTime(0, 0),
        QosLiveliness.AUTOMATIC, QosTime(0, 0), False,
    )  # fmt: skip
NAMES = ("j1", "j2", "j3")
MOTION = motion()


def read(path: Path, names=NAMES, topic: str = "/joint_states", block: int = 100) -> tuple[JointStates, Log]:
    recording = Recording(path)
    log = Log()
    blocks = list(recording.joint_states(topic, names, block=block, log=log))
    assert all(len(part) for part in blocks)
    log.merge(recording.log)
    return JointStates.joined(blocks, len(names)), log


def check(found: JointStates, messages: list[Message], received: bool = True) -> None:
    np.testing.assert_array_equal(found.stamps, [message.stamp for message in messages])
    if received:
        np.testing.assert_array_equal(found.received, [message.received for message in messages])
    np.testing.assert_array_equal(found.position, [message.position for message in messages])
    np.testing.assert_array_equal(found.velocity, [message.velocity for message in messages])
    np.testing.assert_array_equal(found.effort, [message.effort for message in messages])


# --- whole recordings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_what_was_written(tmp_path, kind):
    content = Content({"/joint_states": MOTION, "/other": MOTION[:20]}, {"/robot_description": "<robot/>"})
    path = FORMATS[kind](tmp_path, content)
    found, log = read(path)
    check(found, MOTION)
    # without metadata.yaml a file cannot tell more; nothing else is to be warned of
    assert log.warnings == []
    assert log.messages == len(MOTION)
    recording = Recording(path)
    assert recording.robot_description() == "<robot/>"
    assert recording.topics == {
        "/joint_states": "sensor_msgs/msg/JointState",
        "/other": "sensor_msgs/msg/JointState",
        "/robot_description": "std_msgs/msg/String",
    }
    parts = recording.joint_states("/joint_states", NAMES, block=64, log=Log())
    fractions = [states.fraction for states in parts]
    assert fractions == sorted(fractions) and fractions[0] > 0.0 and 0.7 < fractions[-1] <= 1.0


@pytest.mark.parametrize("kind", ["sqlite3", "mcap", "mcap, chunks compressed", "ROS 1", "ROS 1, lz4"])
def test_the_bytes_are_those_that_rosbags_reads(tmp_path, kind):
    from rosbags.highlevel import AnyReader

    path = FORMATS[kind](tmp_path, Content({"/a": MOTION[::2], "/b": MOTION[1::2]}))
    with AnyReader([path]) as reader:
        theirs = [(c.topic, t, bytes(data)) for c, t, data in reader.messages()]
    recording = Recording(path)
    ours = [
        (topic.name, int(time), data)
        for name in ("/a", "/b")
        for topic, raw in recording._raw_blocks(name, 64, Log())
        for time, data in zip(raw.received, raw.data)
    ]
    assert sorted(ours) == sorted(theirs)


@pytest.mark.parametrize("block", [1, 7, 100, 5000])
def test_the_size_of_blocks_does_not_matter(tmp_path, block):
    path = write_ros2(tmp_path / "bag", Content({"/joint_states": MOTION}))
    found, _ = read(path, block=block)
    check(found, MOTION)


def test_reordered_extra_and_missing_joints_go_by_name(tmp_path):
    messages = []
    for k, message in enumerate(MOTION):
        order = [(0, 1, 2), (2, 0, 1), (1, 0), (0, 2, 1)][k % 4]
        columns = {f: [getattr(message, f)[j] for j in order] for f in ("position", "velocity", "effort")}
        extra = {f: [*columns[f], 99.0] if k % 4 == 3 else columns[f] for f in columns}
        names = [NAMES[j] for j in order] + (["gripper"] if k % 4 == 3 else [])
        messages.append(replace(message, names=names, **extra))
    found, log = read(write_ros2(tmp_path / "bag", Content({"/joint_states": messages})), names=("j3", "j1", "unknown"))
    for field in ("position", "velocity", "effort"):
        expected = np.array([getattr(message, field) for message in MOTION])
        expected[2::4, 2] = np.nan
        np.testing.assert_array_equal(getattr(found, field), np.c_[expected[:, [2, 0]], np.full(len(MOTION), np.nan)])
    assert log.warnings == []


def test_fields_that_are_left_out_are_nan(tmp_path):
    messages = [replace(m, velocity=(), effort=()) if k % 2 else replace(m, position=()) for k, m in enumerate(MOTION)]
    found, _ = read(write_ros2(tmp_path / "bag", Content({"/joint_states": messages})))
    assert np.isnan(found.position[::2]).all() and np.isfinite(found.position[1::2]).all()
    assert np.isfinite(found.velocity[::2]).all() and np.isnan(found.velocity[1::2]).all()
    assert np.isfinite(found.effort[::2]).all() and np.isnan(found.effort[1::2]).all()


def test_the_topic_that_names_the_robot_is_chosen(tmp_path):
    few = [replace(message, names=("j1", "x", "y")) for message in MOTION]
    silent = [replace(message, effort=()) for message in MOTION]
    content = Content({"/a/joint_states": few, "/b/states": MOTION, "/c/joint_states": silent, "/d/joint_states": few})
    recording = Recording(write_ros2(tmp_path / "bag", content))
    chosen = recording.choose_topic(joints=NAMES)
    assert (chosen.name, chosen.joints, chosen.has_velocity, chosen.has_effort) == ("/b/states", NAMES, True, True)
    assert recording.choose_topic(joints=NAMES, topic="c/joint_states").name == "/c/joint_states"
    with pytest.raises(RecordingError, match="on topic '/x'; it has them on: /a/joint_states, /b/states"):
        recording.choose_topic(joints=NAMES, topic="/x")
    with pytest.raises(RecordingError, match="none of them is a joint of the robot, which has nose"):
        recording.choose_topic(joints=["nose"])


def test_the_description_of_the_same_namespace_is_taken(tmp_path):
    content = Content({"/left/joint_states": MOTION}, {"/right/robot_description": "R", "/left/robot_description": "L"})
    recording = Recording(write_ros2(tmp_path / "bag", content))
    assert recording.robot_description(near="/left/joint_states") == "L"
    assert Recording(write_ros2(tmp_path / "none", Content({"/j": MOTION}))).robot_description() is None


# --- damaged recordings -----------------------------------------------------------------------------------------------


def cut(path: Path, share: float) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    return path


def check_some(found: JointStates, messages: list[Message]) -> None:
    """Each is one of the messages, and they are in order."""
    by_stamp = {message.stamp: message for message in messages}
    check(found, [by_stamp[int(stamp)] for stamp in found.stamps])
    assert (np.diff(found.stamps) > 0).all()


CUT = ("sqlite3, bare", "mcap, bare", "mcap, chunks compressed", "ROS 1", "ROS 1, lz4")


@pytest.mark.parametrize(
    ("share", "kind"),
    table(
        [(share, kind) for share in (0.5, 0.8, 0.99) for kind in CUT], lambda case: case[0] == 0.8 or case[1] in CUT[:2]
    ),
)
def test_of_a_file_that_is_cut_off_the_beginning_is_read(tmp_path, kind, share):
    messages = motion(6000)
    path = FORMATS[kind](tmp_path, Content({"/joint_states": messages}))
    if path.is_dir():
        path = bare(path)
    found, log = read(cut(path, share), block=512)
    check_some(found, messages)
    assert (share - 0.35) * len(messages) < len(found) <= len(messages)
    assert found.stamps[0] == messages[0].stamp
    assert log.events["damaged parts"] == 1
    assert any(path.name in text for text in log.remarks)


def test_where_damage_leaves_nothing_the_error_says_so(tmp_path):
    """A .db3 of which two per cent are there, and a description in a part that is missing."""
    path = write_ros2(tmp_path / "bag", Content({"/joint_states": motion(6000)}))
    cut(next(path.glob("*.db3")), 0.02)
    with pytest.raises(RecordingError, match=r"no joint states \(bag.db3 is damaged .* cut off at 2 % of its length\)"):
        Recording(path).choose_topic()
    path = write_split(tmp_path / "split", Content({"/joint_states": MOTION}, {"/robot_description": "<robot/>"}))
    (path / "split_0.db3").unlink()
    (path / "split_2.db3").unlink()  # with the description
    recording = Recording(path)
    assert recording.robot_description() is None
    assert recording.damage.count("which metadata.yaml lists, is missing") == 2


def test_what_follows_the_compressed_data_is_damage(tmp_path):
    path, log = tmp_path / "part.mcap.zstd", Log()
    path.write_bytes(2 * zstd().compress(b"as it was") + b"no frame")
    assert unpacked(path, tmp_path, log).read_bytes() == 2 * b"as it was"
    assert log.events == {"damaged parts": 1} and "part.mcap.zstd" in log.remarks[0]


def test_the_copy_of_an_sqlite3_file_that_is_cut_off_is_deleted(tmp_path, monkeypatch):
    path = bare(write_ros2(tmp_path / "bag", Content({"/joint_states": motion(600)})))
    path.write_bytes(path.read_bytes()[:-100])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    storage = Sqlite3Storage(path, Log())
    assert [topic.name for topic in storage.topics] == ["/joint_states"] and len(list(scratch.iterdir())) == 1
    storage.close()
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("plugin", ["SQLITE3", "MCAP"])
def test_of_a_compressed_file_that_is_cut_off_the_beginning_is_read(tmp_path, plugin):
    messages = motion(6000, noise=1.0)
    path = write_ros2(tmp_path / "bag", Content({"/joint_states": messages}), plugin, "FILE")
    cut(next(path.glob("*.zstd")), 0.7)
    found, log = read(path)
    check_some(found, messages)
    assert 1000 < len(found) < 6000
    assert log.events["lost messages"] == 6000 - len(found)
    assert log.events["damaged parts"] >= 1


def test_damage_inside_an_sqlite3_file_costs_the_messages_there(tmp_path):
    messages = motion(6000)
    folder = write_ros2(tmp_path / "bag", Content({"/joint_states": messages}))
    path = next(folder.glob("*.db3"))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 8192] = b"\xaa" * 8192
    path.write_bytes(data)
    found, log = read(folder, block=512)
    assert 6000 - 100 < len(found) < 6000
    assert log.events["lost messages"] == 6000 - len(found)
    check_some(found, messages)
    assert found.stamps[-1] == messages[-1].stamp


def test_rows_of_other_types_cost_themselves_only(tmp_path):
    """SQLite keeps anything in any column."""
    folder = write_ros2(tmp_path / "bag", Content({"/joint_states": MOTION}))
    with sqlite3.connect(next(folder.glob("*.db3"))) as database:
        database.execute("UPDATE messages SET timestamp = 'noon' WHERE id = 100")
        database.execute("UPDATE messages SET data = 'words' WHERE id = 200")
    found, log = read(folder)
    check(found, [message for k, message in enumerate(MOTION, 1) if k not in (100, 200)])
    assert log.events["undecodable messages"] == 2


@pytest.mark.parametrize("compression", ["NONE", "STORAGE"])
def test_damage_inside_an_mcap_file_costs_its_chunk(tmp_path, compression):
    messages = motion(12000, noise=1.0)
    folder = write_ros2(tmp_path / "bag", Content({"/joint_states": messages}), "MCAP", compression)
    path = next(folder.glob("*.mcap"))
    data = bytearray(path.read_bytes())
    # the length of a record, or the beginning of a chunk
    where = data.index(serialised(messages[100])) - 30 if compression == "NONE" else data.index(b"\x28\xb5\x2f\xfd")
    data[where : where + 8] = b"\x7f" * 8
    path.write_bytes(data)
    found, log = read(folder)
    check_some(found, messages)
    assert 1000 < log.events["lost messages"] < 9000
    assert log.events["lost messages"] == 12000 - len(found)
    assert log.events["damaged parts"] == 1
    assert found.stamps[-1] == messages[-1].stamp


def test_damage_inside_a_ros1_bag_costs_its_chunk(tmp_path):
    messages = motion(2000)
    path = write_ros1(tmp_path / "some.bag", Content({"/joint_states": messages}), "BZ2")
    data = bytearray(path.read_bytes())
    middle = data.index(b"BZh", len(data) // 2)
    data[middle : middle + 64] = b"\xaa" * 64
    path.write_bytes(data)
    found, log = read(path)
    assert 1800 < len(found) < 2000
    assert log.events["damaged parts"] == 1
    assert found.stamps[-1] == messages[-1].stamp


def test_a_ros1_bag_without_index_is_read(tmp_path):
    path = write_ros1(tmp_path / "some.bag.active", Content({"/joint_states": MOTION}))
    data = path.read_bytes()
    where = data.index(b"index_pos=") + 10
    end = struct.unpack_from("<Q", data, where)[0]
    path.write_bytes(data[:where] + bytes(8) + data[where + 8 : end])
    found, log = read(path)
    check(found, MOTION)
    assert log.warnings == []


def test_compressed_messages_are_known_without_metadata(tmp_path):
    found, _ = read(bare(write_ros2(tmp_path / "bag", Content({"/joint_states": MOTION}), compression="MESSAGE")))
    check(found, MOTION)


@pytest.mark.parametrize("kind", ["mcap", "ROS 1"])
def test_several_publishers_of_a_topic_are_read_together(tmp_path, kind):
    """Each has a connection of its own in the file; their messages come in the order of the file."""
    if kind == "mcap":
        from rosbags.rosbag2 import StoragePlugin, Writer

        path = tmp_path / "bag"
        writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        options = [{}, {"offered_qos_profiles": [QOS]}]
    else:
        from rosbags.rosbag1 import Writer

        path = tmp_path / "some.bag"
        writer = Writer(path)
        options = [{"callerid": "/left"}, {"callerid": "/right"}]
    ros = 1 if kind == "ROS 1" else 2
    with writer:
        connections = [
            writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=typestore(ros), **option)
            for option in options
        ]
        for k, message in enumerate(MOTION):
            writer.write(connections[k % 2], message.received, serialised(message, ros))
    found, log = read(path, block=64)
    check(found, MOTION)
    assert log.warnings == []


def test_a_folder_without_metadata_is_read_in_the_order_of_its_parts(tmp_path):
    path = write_split(tmp_path / "bag", Content({"/joint_states": MOTION}), parts=12)
    (path / "metadata.yaml").unlink()
    found, log = read(path)
    check(found, MOTION)
    assert log.remarks == ["bag has no readable metadata.yaml: its files are taken by their names"]


@pytest.mark.parametrize(
    ("gone", "left"), [((0,), 3), ((0, 2), 2), ((0, 1, 2), 1)], ids=["the first", "two", "all but the last"]
)
def test_parts_that_are_missing_are_named_without_metadata(tmp_path, gone, left):
    path = write_split(tmp_path / "bag", Content({"/joint_states": MOTION}), parts=4)
    (path / "metadata.yaml").unlink()
    for k in gone:
        (path / f"bag_{k}.db3").unlink()
    found, log = read(path)
    assert len(found) == left * len(MOTION) // 4
    assert log.remarks[1] == f"by the names of the others, parts are missing: {', '.join(f'bag_{k}.db3' for k in gone)}"
    assert log.events["damaged parts"] == len(gone)


@pytest.mark.parametrize("damage", ["missing", "empty", "nonsense"])
def test_a_part_that_cannot_be_read_is_left_out(tmp_path, damage):
    path = write_split(tmp_path / "bag", Content({"/joint_states": MOTION}), parts=4)
    file = path / "bag_1.db3"
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(b"" if damage == "empty" else b"nonsense" * 100)
    found, log = read(path)
    check(found, MOTION[:100] + MOTION[200:])
    assert log.events["lost messages"] == 100
    assert any("bag_1.db3" in text for text in log.remarks)


def test_what_a_killed_recorder_left_in_the_write_ahead_log_is_read(tmp_path):
    source = next(write_ros2(tmp_path / "bag", Content({"/joint_states": MOTION})).glob("*.db3"))
    other = sqlite3.connect(source)
    other.execute("PRAGMA journal_mode=WAL")
    other.execute("PRAGMA wal_autocheckpoint=0")
    late = Message(START + 10**10, NAMES, (1.0,) * 3, (2.0,) * 3, (3.0,) * 3, START + 10**10)
    row = 1, late.received, serialised(late)
    other.execute("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)", row)
    other.commit()
    copy = tmp_path / "copy.db3"  # of all there is while the recorder has not closed it
    for end in ("", "-wal"):
        copy.with_name(copy.name + end).write_bytes(source.with_name(source.name + end).read_bytes())
    other.close()
    found, _ = read(copy)
    check(found, [*MOTION, late])


def test_messages_that_are_no_joint_states_are_counted(tmp_path):
    from rosbags.rosbag2 import StoragePlugin, Writer

    good = [serialised(message) for message in MOTION]
    bad = [good[0][:50], b"", good[0][:20] + b"\xff" * 4 + good[0][24:]]
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=typestore())
        for k, data in enumerate([*good[:100], *bad, *good[100:]]):
            writer.write(connection, START + k, data)
    found, log = read(tmp_path / "bag")
    check(found, MOTION, received=False)
    assert log.events == {"undecodable messages": len(bad)}


def test_a_definition_of_its_own_is_followed(tmp_path):
    """A type named JointState whose fields stand in another order is read by the definition in the recording."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    definition, _ = typestore().generate_msgdef("sensor_msgs/msg/JointState", ros_version=2)
    lines = definition.split("\n")
    at = next(k for k, line in enumerate(lines) if line.startswith("float64[] position"))
    lines[at], lines[at + 2] = lines[at + 2], lines[at]
    store.register(get_types_from_msg("\n".join(lines), "sensor_msgs/msg/JointState"))
    kind = store.types["sensor_msgs/msg/JointState"]
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for message in MOTION:
            usual = joint_state(message)
            made = kind(usual.header, usual.name, usual.effort, usual.velocity, usual.position)
            writer.write(connection, message.received, bytes(store.serialize_cdr(made, kind.__msgtype__)))
    found, log = read(tmp_path / "bag")
    check(found, MOTION)
    assert "definition of JointState of its own" in log.warnings[0]


def mcap_records() -> list[bytes]:
    """Schema, channel and messages, one by one."""

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode()

    found = [mcap_record(3, struct.pack("<H", 1) + text("sensor_msgs/msg/JointState") + text("ros2msg") + text(""))]
    found.append(mcap_record(4, struct.pack("<HH", 5, 1) + text("/joint_states") + text("cdr") + struct.pack("<I", 0)))
    for message in MOTION:
        head = struct.pack("<HIQQ", 5, 0, message.received, message.received)
        found.append(mcap_record(5, head + serialised(message)))
    return found


def mcap_record(kind: int, content: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(content)) + content


def write_mcap(path: Path, records: list[bytes]) -> Path:
    """A file without summary."""
    magic = b"\x89MCAP0\r\n"
    path.write_bytes(b"".join([magic, mcap_record(1, bytes(8)), *records, mcap_record(15, bytes(4))]))
    with path.open("ab") as file:
        file.write(mcap_record(2, bytes(20)) + magic)
    return path


def test_an_mcap_file_without_chunks_and_summary_is_read(tmp_path):
    found, log = read(write_mcap(tmp_path / "some.mcap", mcap_records()))
    check(found, MOTION)
    assert log.warnings == []


@pytest.mark.parametrize("hole", [bytes(40), struct.pack("<BQ", 5, 1 << 40)], ids=["zeros", "length"])
def test_an_mcap_file_is_read_up_to_what_is_no_record(tmp_path, hole):
    """As a file system leaves it that lost a page, or a length that no record has."""
    records = mcap_records()
    found, log = read(write_mcap(tmp_path / "some.mcap", [*records[:102], hole, *records[102:]]))
    check(found, MOTION[:100])
    assert log.events == {"damaged parts": 1} and "no record" in log.remarks[0]


@pytest.mark.parametrize("right", [True, False])
def test_checksums_of_chunks_count(tmp_path, right):
    """Chunks as other recorders write them: compressed with lz4, with a checksum; a wrong one costs its chunk."""
    frame = pytest.importorskip("lz4.frame")
    records = mcap_records()
    chunks = []
    for part in (records[:202], records[202:]):
        data = b"".join(part)
        packed = frame.compress(data)
        checksum = zlib.crc32(data) + (0 if right or len(chunks) == 0 else 1)
        head = struct.pack("<QQQII", 0, 0, len(data), checksum, 3) + b"lz4" + struct.pack("<Q", len(packed))
        chunks.append(mcap_record(6, head + packed))
    found, log = read(write_mcap(tmp_path / "some.mcap", chunks))
    check(found, MOTION if right else MOTION[:200])
    assert log.events == ({} if right else {"damaged parts": 1})
    assert right or "wrong checksum" in log.remarks[0]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: path / "nowhere", "does not exist"),
        (lambda path: path, "has no recording in it"),
        (lambda path: (path / "a.db3", (path / "a.db3").write_bytes(b""))[0], "a.db3 is empty"),
        (lambda path: (path / "a.db3", (path / "a.db3").write_bytes(b"hello" * 9))[0], "a.db3 is not a recording"),
        (
            lambda path: (path / "a.db3", sqlite3.connect(path / "a.db3").execute("CREATE TABLE t(x)"))[0],
            "not a rosbag2",
        ),
    ],
)
def test_what_is_no_recording_is_refused_by_name(tmp_path, make, text):
    with pytest.raises(RecordingError, match=text):
        Recording(make(tmp_path))


def test_a_recording_without_joint_states_says_what_it_has(tmp_path):
    path = write_ros2(tmp_path / "bag", Content({}, {"/robot_description": "<robot/>"}))
    with pytest.raises(RecordingError, match=r"its topics: /robot_description \(std_msgs/msg/String\)"):
        Recording(path).choose_topic()
