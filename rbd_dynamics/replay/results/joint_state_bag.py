# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 of joint states, written without ROS. Needs rosbags."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.extras import require
from rbd_dynamics.common.whole_files import named

Array = NDArray[np.float64]
SECOND = 1_000_000_000
JOINT_STATE = "sensor_msgs/msg/JointState"


class JointStateBag:
    """Open until `close`.

    Parameters:
        path: a folder; one that is there is replaced. joints: the names in every message.
        storage: "mcap" or "sqlite3".
    """

    def __init__(self, path: Path, joints: Sequence[str], *, storage: str = "mcap") -> None:
        require("rosbags")
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore

        if path.exists():
            shutil.rmtree(path)
        plugin = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}[storage]
        self._path, self._joints = path, list(joints)
        self._types = get_typestore(Stores.ROS2_HUMBLE)
        self._writer = Writer(path, version=9, storage_plugin=plugin)
        self._writer.open()
        self._connections: dict[str, Any] = {}

    def add_topic(self, topic: str) -> None:
        """Once is enough."""
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, JOINT_STATE, typestore=self._types)

    def write(self, topic: str, stamp: int, position: Array, velocity: Array, effort: Array) -> None:
        """A message, stamped and received at `stamp` (ns), of a topic that was added. Raises OSError that names it."""
        message, header, time = (
            self._types.types[name] for name in (JOINT_STATE, "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
        )
        state = message(header(time(*divmod(stamp, SECOND)), ""), self._joints, position, velocity, effort)
        data = self._types.serialize_cdr(state, JOINT_STATE)
        with named(self._path):
            self._writer.write(self._connections[topic], stamp, data)

    def close(self) -> None:
        """Raises OSError that names it."""
        with named(self._path):
            self._writer.close()
