# SPDX-License-Identifier: Apache-2.0
"""A subscription to std_msgs/String whose messages, however large, keep no other thread of this process waiting.

rclpy takes a message out of the middleware and makes a Python object of it while it holds the interpreter's lock:
20 MB take 20 ms and more, in which no torque is computed. Here the C functions are called that rclpy calls, by ctypes,
which gives the lock back meanwhile, in a thread of its own.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from rbd_dynamics.nodes.rclpy_private import bare_subscription

LOOK_PERIOD = 0.05  # s: how soon a message is seen
_HEADER = 8  # bytes before the text: how numbers are written, and the length of what follows


class _Allocator(ctypes.Structure):
    """rcutils_allocator_t"""

    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero_allocate", "state")]


class _Buffer(ctypes.Structure):
    """rcutils_uint8_array_t, which is rcl_serialized_message_t"""

    _fields_ = [
        ("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]  # fmt: skip


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
        self._rcl, self._rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")
        self._rcutils.rcutils_get_default_allocator.restype = _Allocator
        self._rcl.rcl_take_serialized_message.argtypes = [ctypes.c_void_p] * 4
        self._make_bytes = ctypes.pythonapi.PyBytes_FromStringAndSize
        self._make_bytes.restype, self._make_bytes.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_ssize_t]
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
        buffer = _Buffer()
        allocator = self._rcutils.rcutils_get_default_allocator()
        self._rcutils.rcutils_uint8_array_init(ctypes.byref(buffer), ctypes.c_size_t(0), ctypes.byref(allocator))
        try:
            with self._handle:
                code = self._rcl.rcl_take_serialized_message(self._handle.pointer, ctypes.byref(buffer), None, None)
            if code != 0:
                self._rcutils.rcutils_reset_error()
                return False
            self._read(buffer)
        finally:
            self._rcutils.rcutils_uint8_array_fini(ctypes.byref(buffer))
        return True

    def _read(self, buffer: Any) -> None:
        head = ctypes.string_at(buffer.data, min(_HEADER, buffer.length))
        size = int.from_bytes(head[4:], "little" if head[1:2] == b"\1" else "big") - 1  # without the final zero
        most = self._largest()
        if len(head) < _HEADER or not 0 <= size < buffer.length - _HEADER:
            self._problem = f"{self._topic} refused: the message cannot be read"
        elif size > most:
            self._problem = f"{self._topic} refused: it has {size} bytes, more than {self._bound} ({most})"
        else:
            text = self._make_bytes(None, size)  # not filled yet, and nobody else has it
            ctypes.memmove(ctypes.cast(text, ctypes.c_void_p), buffer.data + _HEADER, size)
            self._latest = text
