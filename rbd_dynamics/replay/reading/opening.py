# SPDX-License-Identifier: Apache-2.0
"""Which format a recording has: it tells by its first bytes, whatever its name."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading.mcap_storage import McapStorage
from rbd_dynamics.replay.reading.rosbag1_storage import Rosbag1Storage
from rbd_dynamics.replay.reading.sqlite3_storage import Sqlite3Storage
from rbd_dynamics.replay.reading.storage import RecordingError, Storage, first_bytes
from rbd_dynamics.replay.reading.tables import TableStorage, is_table
from rbd_dynamics.replay.reading.tables.given import Given


@dataclass(frozen=True)
class Told:
    """What is said of a table: its columns (`tables/given.py`), and the rate of its rows, Hz, if it has no times."""

    _: KW_ONLY
    columns: Given = field(default_factory=dict)
    rate: float | None = None


def open_storage(path: Path, log: Log, told: Told | None = None) -> Storage:
    """Open a file; `log` is told what turns out to be damaged when it is read, and what a table is taken for.

    Raises RecordingError. A compressed file must be `unpacked` before.
    """
    told = told or Told()
    start = first_bytes(path)
    for storage in (Sqlite3Storage, McapStorage, Rosbag1Storage):
        if start.startswith(storage.MAGIC):
            return storage(path, log)
    if not start:
        raise RecordingError(f"{path} is empty")
    if is_table(path, start):
        return TableStorage(path, log, told.columns, told.rate)
    raise RecordingError(
        f"{path} is not a recording: neither sqlite3, nor mcap, nor a ROS 1 bag, nor a table "
        "(.csv, .parquet, .mat, .npz or .h5)"
    )
