# SPDX-License-Identifier: Apache-2.0
"""Joint states straight out of their serialised form: most of a message is the same as in the one before it.

Making a Python message of each costs more than all the dynamics. Where the numbers lie in the bytes is found once for
each sender (`joint_states/layout.py`); a message that does not look like one of those seen before is
deserialised as usual.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from rbd_dynamics.joint_states.layout import layout_of
from rbd_dynamics.nodes.managed.messages import SECOND, nanoseconds

Numbers = Sequence[float]
MOST_LAYOUTS = 8  # of as many senders
MOST_FAILURES = 20


@dataclass(frozen=True)
class _Layout:
    """The places where the changing parts of messages of one length are, and what is between them."""

    names: list[str]
    stamp: int  # where it is; the numbers come after it
    numbers: struct.Struct  # of the stamp and all numbers
    ends: tuple[int, int, int]  # of positions, velocities and efforts among them
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

    def read(self, raw: bytes) -> tuple[int, list[str], Numbers, Numbers, Numbers]:
        """Stamp in ns, names, positions, velocities, efforts. Equal names are the same list each time."""
        layout = self._layouts.get(len(raw))
        if layout is not None and layout.fits(raw):
            numbers = layout.numbers.unpack_from(raw, layout.stamp)
            q, v, tau = layout.ends
            return numbers[0] * SECOND + numbers[1], layout.names, numbers[2:q], numbers[q:v], numbers[v:tau]
        message = deserialize_message(raw, JointState)
        self._learn(raw, message)
        return nanoseconds(message.header.stamp), message.name, message.position, message.velocity, message.effort

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
    """The layout of a message; None: it cannot be told."""
    try:
        found = layout_of(raw)
    except ValueError:
        return None
    fields: dict[str, Any] = dict(found.record.fields or {})
    if not found.record.isnative or list(found.names) != list(message.name):
        return None
    stamp = end = fields["sec"][1]
    form, fixed = "=", [(slice(0, stamp), raw[:stamp])]
    for kind, start, *_ in fields.values():
        if start > end:
            form += f"{start - end}x"
            fixed.append((slice(end, start), raw[end:start]))
        form += f"{math.prod(kind.shape)}{kind.base.char}"
        end = start + kind.itemsize
    if len(found.pattern) > end:
        fixed.append((slice(end, len(found.pattern)), raw[end : len(found.pattern)]))
    q, v, tau = found.counts
    ends = 2 + q, 2 + q + v, 2 + q + v + tau
    return _Layout(list(message.name), stamp, struct.Struct(form), ends, tuple(fixed))
