# SPDX-License-Identifier: Apache-2.0
"""A subscription to std_msgs/String whose messages, however large, keep no other thread of this process waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from rbd_dynamics.nodes.wire.middleware import Middleware, Serialised
from rbd_dynamics.nodes.wire.rclpy_private import bare_subscription

LOOK_PERIOD = 0.05  # s: how soon a message is seen
_HEADER = 8  # bytes before the text: how numbers are written, and the length of what follows


class LargeTexts:
    """The latest text of a topic, as bytes.

    Parameters:
        largest: bytes that a text may have now; of a larger one no Python object is made.
        bound: what sets that, for messages.
        refuse: called with a reason, by `latest`.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        qos: QoSProfile,
        *,
        largest: Callable[[], int],
        bound: str,
        refuse: Callable[[str], None],
    ) -> None:
        """Raises OSError or AttributeError where this is not possible with this ROS."""
        self._middleware = Middleware()
        self._topic, self._largest, self._bound, self._refuse = topic, largest, bound, refuse
        self._handle = bare_subscription(node, String, topic, qos)
        self._latest: bytes | None = None
        self._problem = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, name=f"take {topic}", daemon=True)
        self._thread.start()

    def latest(self) -> bytes | None:
        """The last text that came since the last call."""
        text, self._latest = self._latest, None
        problem, self._problem = self._problem, ""
        if problem:
            self._refuse(problem)
        return text

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._handle.destroy_when_not_in_use()

    def _listen(self) -> None:
        while not self._stop.wait(LOOK_PERIOD):
            while not self._stop.is_set() and self._take():
                pass

    def _take(self) -> bool:
        """Whether there was a message."""
        with self._middleware.message(self._handle) as message:
            if message is not None:
                self._read(message)
            return message is not None

    def _read(self, message: Serialised) -> None:
        head = message.part(0, _HEADER)
        size = int.from_bytes(head[4:], "little" if head[1:2] == b"\1" else "big") - 1  # without the final zero
        most = self._largest()
        if len(head) < _HEADER or not 0 <= size < message.length - _HEADER:
            self._problem = f"{self._topic} refused: the message cannot be read"
        elif size > most:
            self._problem = f"{self._topic} refused: it has {size} bytes, more than {self._bound} ({most})"
        else:
            self._latest = message.part(_HEADER, _HEADER + size)
