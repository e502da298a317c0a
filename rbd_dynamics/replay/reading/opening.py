# SPDX-License-Identifier: Apache-2.0
"""Which format a recording has: it tells by its first bytes, whatever its name."""

from __future__ import annotations

from pathlib import Path

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.mcap_storage import McapStorage
from rbd_dynamics.replay.reading.rosbag1_storage import Rosbag1Storage
from rbd_dynamics.replay.reading.sqlite3_storage import Sqlite3Storage
from rbd_dynamics.replay.reading.storage import RecordingError, Storage, first_bytes
from rbd_dynamics.replay.reading.tables import TableStorage, is_table


def open_storage(path: Path, log: Log) -> Storage:
    """Open a file; `log` is told what turns out to be damaged when it is read.

    Raises RecordingError. A compressed file must be `unpacked` before.
    """
    start = first_bytes(path)
    for storage in (Sqlite3Storage, McapStorage, Rosbag1Storage):
        if start.startswith(storage.MAGIC):
            return storage(path, log)
    if not start:
        raise RecordingError(f"{path} is empty")
    if is_table(path, start):
        return TableStorage(path, log)
    raise RecordingError(
        f"{path} is no recording: neither sqlite3, nor mcap, nor a ROS 1 bag, nor a table (.csv, .parquet or .mat)"
    )
