# SPDX-License-Identifier: Apache-2.0
"""Record topics into a bag that `replay` reads, where there is no `ros2 bag`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rclpy.node import Node

from rbd_dynamics.nodes.tools.bag_types import BagTypes
from rbd_dynamics.nodes.tools.listening import Spin, matching
from rbd_dynamics.nodes.tools.message_values import message_class

LOOK = 1.0  # s between two looks for topics
#: types of what replay compares, and names of other topics that it reads
KINDS = ("sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped")
NAMES = ("robot_description",)


class Recorder:
    """Writes the messages of topics as they come, also of topics that appear later.

    Parameters:
        node, spin: of `listening.visitor`. folder: of the bag, which is not there yet.
        wanted: names of topics; none: all that `replay` reads.
        say: told of topics whose first message has come. warn: of those that cannot be recorded.

    Attributes:
        counts: {topic: messages written}.

    Raises FileExistsError, OSError.
    """

    def __init__(
        self,
        node: Node,
        spin: Spin,
        folder: Path,
        wanted: Sequence[str],
        *,
        say: Callable[[str], object],
        warn: Callable[[str], object],
    ) -> None:
        from rbd_dynamics.common.extras import require

        require("rosbags")
        from rosbags.rosbag2 import StoragePlugin, Writer

        if folder.exists():
            raise FileExistsError(f"{folder} is there already: a recording is not overwritten")
        self._node, self._spin, self._say, self._warn = node, spin, say, warn
        self._wanted = {node.resolve_topic_name(each) for each in wanted}
        self._types = BagTypes(os.environ.get("ROS_DISTRO", ""))
        self._came: list[tuple[str, int, bytes]] = []
        self._connections: dict[str, Any] = {}
        self.counts: dict[str, int] = {}
        self._writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()

    def run(self, seconds: float | None) -> None:
        """Record for some seconds, or until KeyboardInterrupt."""
        begun, looked = time.monotonic(), 0.0
        while seconds is None or time.monotonic() - begun < seconds:
            if time.monotonic() - looked > LOOK:
                self._look()
                looked = time.monotonic()
            self._spin(0.05)
            self._write()

    def close(self) -> None:
        """Write what has come, and end the file."""
        self._write()
        self._writer.close()

    def missing(self) -> list[str]:
        """Topics that were asked for and have not brought a message."""
        return sorted(name for name in self._wanted if not self.counts.get(name))

    def _look(self) -> None:
        for name, kinds in self._node.get_topic_names_and_types():
            if name in self._connections or not self._is_wanted(name, kinds[0]):
                continue
            publishers = self._node.get_publishers_info_by_topic(name)
            if publishers:
                self._add(name, kinds[0], publishers)

    def _is_wanted(self, name: str, kind: str) -> bool:
        if self._wanted:
            return name in self._wanted
        return kind in KINDS or name.rpartition("/")[2] in NAMES

    def _add(self, name: str, kind: str, publishers: list[Any]) -> None:
        try:
            self._connections[name] = self._types.add(self._writer, name, kind)
            found = message_class(kind)
        except ValueError as error:
            self._connections[name] = None  # said once
            self._warn(f"{name} is not recorded: {error}")
            return
        self.counts[name] = 0
        self._node.create_subscription(
            found, name, lambda data: self._came.append((name, time.time_ns(), data)), matching(publishers), raw=True
        )

    def _write(self) -> None:
        came, self._came = self._came, []
        for name, stamp, data in came:
            self._writer.write(self._connections[name], stamp, data)
            self.counts[name] += 1
            if self.counts[name] == 1:
                self._say(name)
