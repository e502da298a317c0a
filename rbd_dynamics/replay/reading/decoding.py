# SPDX-License-Identifier: Apache-2.0
"""Decodes joint states: bytes to arrays, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.cdr import SECOND, CdrReader, Encoding
from rbd_dynamics.common.extras import require
from rbd_dynamics.joint_states.layout import FIELDS, JointStateLayout, layout_of
from rbd_dynamics.replay.log import Log

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
MOST_LAYOUTS = 64  # kept for messages to come

JOINT_STATE = "sensor_msgs/msg/JointState"
STRING = "std_msgs/msg/String"
WRENCH = "geometry_msgs/msg/WrenchStamped"


@dataclass
class JointStates:
    """Messages as arrays; the joints are those that were asked for, whatever a message names.

    Attributes:
        received: when they were received, ns, (N,).
        stamps: of their headers, ns, (N,).
        numbers: (N, 3, joints): positions, velocities and efforts, rad or m, per s, N m or N; NaN where there is none.
        fraction: how much of the recording has been read.
    """

    received: Stamps
    stamps: Stamps
    numbers: Array
    _: KW_ONLY
    fraction: float = 1.0

    def __len__(self) -> int:
        return len(self.stamps)

    def __getitem__(self, rows: Any) -> JointStates:
        return JointStates(self.received[rows], self.stamps[rows], self.numbers[rows], fraction=self.fraction)

    @property
    def position(self) -> Array:
        return self.numbers[:, 0]

    @property
    def velocity(self) -> Array:
        return self.numbers[:, 1]

    @property
    def effort(self) -> Array:
        return self.numbers[:, 2]

    @classmethod
    def joined(cls, parts: Sequence[JointStates], joints: int) -> JointStates:
        """All of them, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(part.received for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.stamps for part in parts)]),
            np.concatenate([np.zeros((0, 3, joints)), *(part.numbers for part in parts)]),
            fraction=parts[-1].fraction if parts else 1.0,
        )


class JointStateDecoder:
    """Decodes messages of one topic of one file.

    Parameters:
        joints: which joints, in which order.
        encoding: of the messages.
        log: counts those that cannot be decoded.
        generic: another way to decode one message, for those that are not what a JointState should be; it returns the
            stamp in ns, names, positions, velocities and efforts, or raises.
        only_generic: the messages are of another definition than JointState usually has.
    """

    def __init__(
        self,
        joints: Sequence[str],
        encoding: Encoding,
        log: Log,
        generic: Callable[[bytes], tuple[int, Sequence[str], Any, Any, Any]] | None = None,
        only_generic: bool = False,
    ) -> None:
        self.joints = tuple(joints)
        self._index = {name: k for k, name in enumerate(self.joints)}
        self._encoding = encoding
        self._log = log
        self._generic = generic
        self._layouts: dict[int, list[JointStateLayout]] = {}  # by length of the message
        self._only_generic = only_generic

    def decode(self, received: Stamps, data: Sequence[bytes], fraction: float = 1.0) -> JointStates:
        """The messages that can be decoded, in the same order."""
        count = len(data)
        stamps = np.zeros(count, np.int64)
        numbers = np.empty((count, 3, len(self.joints)))
        good = np.ones(count, dtype=bool)
        lengths = np.fromiter(map(len, data), np.int64, count)
        for length in np.unique(lengths):
            if length == lengths[0] and (lengths == length).all():
                rows, chosen = np.arange(count), data
            else:
                rows = np.flatnonzero(lengths == length)
                chosen = [data[row] for row in rows.tolist()]
            block = np.frombuffer(b"".join(chosen), np.uint8).reshape(len(rows), -1)
            self._decode_block(block, rows, data, stamps, numbers, good)
        states = JointStates(np.asarray(received, np.int64), stamps, numbers, fraction=fraction)
        if good.all():
            return states
        self._log.count("undecodable messages", number=int(count - good.sum()))
        return states[good]

    def _decode_block(
        self,
        block: NDArray[np.uint8],
        rows: NDArray[np.intp],
        data: Sequence[bytes],
        stamps: Stamps,
        numbers: Array,
        good: NDArray[np.bool_],
    ) -> None:
        """Messages of one length, `block`, which are those in `rows` of `data`."""
        known = self._layouts.setdefault(block.shape[1], [])
        tried = 0
        while len(rows):
            if tried < len(known):
                layout = known[tried]
                tried += 1
            else:  # learn from the first that no known layout fits
                try:
                    if self._only_generic:
                        raise ValueError
                    layout = layout_of(data[rows[0]], self._encoding)
                    if len(known) < MOST_LAYOUTS:
                        known.append(layout)
                        tried += 1
                except ValueError:
                    good[rows[0]] = self._decode_alone(data[rows[0]], rows[0], stamps, numbers)
                    block, rows = block[1:], rows[1:]
                    continue
            fits = layout.holds(block)
            if fits.all():
                self._take(layout, block, rows, stamps, numbers)
                return
            if fits.any():
                self._take(layout, block[fits], rows[fits], stamps, numbers)
                block, rows = block[~fits], rows[~fits]

    def _take(
        self, layout: JointStateLayout, block: NDArray[np.uint8], rows: NDArray[np.intp], stamps: Stamps, numbers: Array
    ) -> None:
        where: Any = slice(None) if len(rows) == len(stamps) else rows
        stamps[where] = layout.stamps(block)
        found = [(k, self._index[name]) for k, name in enumerate(layout.names) if name in self._index]
        in_order = layout.names == self.joints
        for field, name in enumerate(FIELDS):
            values = layout.numbers(block, name)
            if values is None:
                numbers[where, field] = np.nan
            elif in_order:
                numbers[where, field] = values
            else:
                part = np.full((len(rows), len(self.joints)), np.nan)
                for source, target in found:
                    part[:, target] = values[:, source]
                numbers[where, field] = part

    def _decode_alone(self, message: bytes, row: int, stamps: Stamps, numbers: Array) -> bool:
        if self._generic is None:
            return False
        try:
            stamp, names, *columns = self._generic(message)
            for field, values in enumerate(columns):
                if len(values) not in (0, len(names)):
                    return False
                numbers[row, field] = np.nan
                for name, value in zip(names, values):
                    if name in self._index:
                        numbers[row, field, self._index[name]] = value
        except Exception:  # a message that not even its own definition fits may raise anything
            return False
        stamps[row] = stamp
        return True


class MessageTypes:
    """Decodes single messages with rosbags, by the definition in the recording or else that of a distribution."""

    def __init__(
        self, encoding: Encoding, type_name: str, definition: str = "", distribution: str | None = None
    ) -> None:
        require("rosbags")
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore

        stores = {store.value: store for store in Stores}
        default = Stores.ROS1_NOETIC if encoding == "ros1" else stores.get(f"ros2_{distribution}", Stores.ROS2_HUMBLE)
        self._store = usual = get_typestore(default)
        self._type_name = type_name
        self._is_ros1 = encoding == "ros1"
        #: is the definition the one that `layout_of` knows?
        self.is_usual = True
        if definition:
            try:
                own = get_typestore(Stores.EMPTY)
                own.register(get_types_from_msg(definition, type_name))
                names = (type_name, "std_msgs/msg/Header") if type_name == JOINT_STATE else (type_name,)
                self.is_usual = all(_fields(own, name) == _fields(usual, name) for name in names)
            except Exception:  # rosbags raises what its parser meets: a damaged definition is taken for the usual one
                return
            self._store = own

    def message(self, data: bytes) -> Any:
        """Raises whatever rosbags raises."""
        read = self._store.deserialize_ros1 if self._is_ros1 else self._store.deserialize_cdr
        return read(data, self._type_name)

    def joint_state(self, data: bytes) -> tuple[int, Sequence[str], Any, Any, Any]:
        """Stamp in ns, names, positions, velocities, efforts."""
        state = self.message(data)
        stamp = state.header.stamp
        return stamp.sec * SECOND + stamp.nanosec, state.name, state.position, state.velocity, state.effort


def _fields(store: Any, type_name: str) -> Any:
    """Names and types of a message's fields, without constants."""
    return [(name, type_name) for name, type_name in store.fielddefs[type_name][1]]


def text_of(data: bytes, encoding: Encoding) -> str:
    """The text of a std_msgs/String. Raises ValueError where there is none."""
    found = CdrReader(data, encoding).encoded()
    if not found:
        raise ValueError("a message without a text")
    return found.rstrip(b"\0").decode(errors="replace")


def wrench_of(data: bytes, encoding: Encoding) -> tuple[int, tuple[float, ...]]:
    """Stamp in ns, and (m, f) (6,), of a geometry_msgs/WrenchStamped. Raises ValueError where there is none."""
    reader = CdrReader(data, encoding)
    if encoding == "ros1":
        reader.skip(4, 4)  # sequence number
    stamp = reader.time()
    reader.encoded()  # frame
    numbers = reader.numbers(6)
    if not np.isfinite(numbers).all():
        raise ValueError("a wrench that is not finite")
    return stamp, (*numbers[3:], *numbers[:3])
