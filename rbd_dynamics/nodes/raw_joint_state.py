"""Joint states straight out of their serialised form: most of a message is the same as in the one before it.

Making a Python message of each costs more than all the dynamics. Where the numbers lie in the bytes is found by
serialising a probe, so nothing here knows an encoding; a message that does not look like one of those seen before is
deserialised as usual.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from rbd_dynamics.nodes.messages import SECOND, nanoseconds

Array = NDArray[np.float64]
MOST_LAYOUTS = 8  # of as many senders
MOST_FAILURES = 20
STAMP = struct.Struct("=iI")


@dataclass(frozen=True)
class _Layout:
    """Where the changing parts of messages of one length are, and what is between them."""

    names: list[str]
    stamp: int
    position: int
    velocity: int
    count: tuple[int, int]  # of positions and velocities
    fixed: tuple[tuple[slice, bytes], ...]

    def fits(self, raw: bytes) -> bool:
        """Is all that does not change as it was?"""
        for part, content in self.fixed:
            if raw[part] != content:
                return False
        return True


class RawJointStates:
    """Reads serialised sensor_msgs/JointState."""

    def __init__(self) -> None:
        self._layouts: dict[int, _Layout] = {}
        self._failures = 0  # to find a layout, in a row

    def read(self, raw: bytes) -> tuple[int, list[str], Any, Any]:
        """Stamp in ns, names, positions, velocities. Equal names are the same list each time."""
        layout = self._layouts.get(len(raw))
        if layout is not None and layout.fits(raw):
            seconds, rest = STAMP.unpack_from(raw, layout.stamp)
            q = np.frombuffer(raw, float, layout.count[0], layout.position)
            v = np.frombuffer(raw, float, layout.count[1], layout.velocity)
            return seconds * SECOND + rest, layout.names, q, v
        message = deserialize_message(raw, JointState)
        self._learn(raw, message)
        return nanoseconds(message.header.stamp), message.name, message.position, message.velocity

    def _learn(self, raw: bytes, message: JointState) -> None:
        if self._failures >= MOST_FAILURES:
            return
        found = _layout(raw, message)
        self._failures = self._failures + 1 if found is None else 0
        if found is not None:
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            self._layouts[len(raw)] = found


def _layout(raw: bytes, message: JointState) -> _Layout | None:
    """The layout of a message, by a probe that differs from it in all that changes; None: it cannot be told."""
    probe = JointState(header=message.header, name=message.name)
    columns = []
    for start, numbers in ((1.25, message.position), (2.25, message.velocity), (3.25, message.effort)):
        columns.append(np.array([start * 1.1**k for k in range(len(numbers))]))
    probe.position, probe.velocity, probe.effort = (column.tolist() for column in columns)
    stamp = message.header.stamp
    old = stamp.sec, stamp.nanosec
    stamp.sec, stamp.nanosec = 0x1234567, 0x2345678
    try:
        probed = bytes(serialize_message(probe))
    finally:
        stamp.sec, stamp.nanosec = old
    size = min(len(raw), len(probed))  # how much padding follows at the end is not always the same
    patterns = [STAMP.pack(0x1234567, 0x2345678), *(column.tobytes() for column in columns)]
    if any(pattern and probed.count(pattern, 0, size) != 1 for pattern in patterns):
        return None
    spans = [(probed.find(pattern), len(pattern)) for pattern in patterns]
    fixed, end = [], 0
    for start, length in sorted(span for span in spans if span[1]):
        fixed.append(slice(end, start))
        end = start + length
    fixed.append(slice(end, size))
    if any(raw[part] != probed[part] for part in fixed):
        return None
    (at_stamp, _), (at_position, _), (at_velocity, _), _ = spans
    counts = len(columns[0]), len(columns[1])
    contents = tuple((part, raw[part]) for part in fixed if raw[part])
    return _Layout(list(message.name), at_stamp, at_position, at_velocity, counts, contents)

