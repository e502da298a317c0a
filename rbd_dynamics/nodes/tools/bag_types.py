# SPDX-License-Identifier: Apache-2.0
"""Types of messages for bags: those that rosbags knows, and others as their packages have installed them."""

from __future__ import annotations

import re
from typing import Any


class BagTypes:
    """The types of a distribution of ROS 2, "jazzy"; of one that rosbags does not know, those of Humble."""

    def __init__(self, distro: str) -> None:
        from rosbags.typesys import Stores, get_typestore

        stores = {store.value: store for store in Stores}
        self._store = get_typestore(stores.get(f"ros2_{distro}", Stores.ROS2_HUMBLE))

    def add(self, writer: Any, topic: str, kind: str) -> Any:
        """A connection of a writer of rosbags for messages of a type. Raises ValueError where it is not installed."""
        self._learn(kind)
        return writer.add_connection(topic, kind, typestore=self._store)

    def _learn(self, kind: str) -> None:
        from rosbags.typesys import get_types_from_msg

        if kind in self._store.types:
            return
        text = _definition(kind)
        found = get_types_from_msg(text, kind)
        package = kind.partition("/")[0]
        for other in re.findall(r"^\s*([A-Za-z]\w*(?:/\w+)*)(?:\[[^\]]*\])?\s", text, re.MULTILINE):
            if "/" in other or other[0].isupper():
                parts = other.split("/")
                self._learn(f"{parts[0] if len(parts) > 1 else package}/msg/{parts[-1]}")
        self._store.register(found)


def _definition(kind: str) -> str:
    """The text of its .msg file. Raises ValueError."""
    from ament_index_python import get_package_share_path

    package, _, name = kind.rpartition("/")
    package = package.partition("/")[0]
    try:
        return str((get_package_share_path(package) / "msg" / f"{name}.msg").read_text())
    except (LookupError, OSError) as error:
        raise ValueError(f"the definition of {kind} is not installed") from error
