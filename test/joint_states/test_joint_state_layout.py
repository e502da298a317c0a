# SPDX-License-Identifier: Apache-2.0
"""Where the numbers lie in the bytes of a joint state: against rosbags, which writes them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.recorded.bags import Message, needs_rosbags, serialised

from rbd_dynamics.joint_states.layout import FIELDS, layout_of

pytestmark = needs_rosbags
NAMES = ("a", "elbow", "wrist_3")
ENCODINGS = [("cdr", 2, True), ("cdr", 2, False), ("ros1", 1, True)]


def block(messages: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1)


@pytest.mark.parametrize(("encoding", "ros", "little"), ENCODINGS)
@pytest.mark.parametrize("frame", ["", "base", "base_link"])
@pytest.mark.parametrize("given", [(3, 3, 3), (3, 0, 3), (3, 3, 0), (0, 3, 3), (3, 0, 0), (0, 0, 3), (0, 0, 0)])
def test_numbers_are_those_that_were_written(encoding, ros, little, frame, given):
    rng = np.random.default_rng(0)
    made = [
        Message(1_700_000_000_123_456_789 + k, NAMES, *(rng.normal(size=count) for count in given), frame=frame)
        for k in range(5)
    ]
    raw = [serialised(message, ros, little) for message in made]
    layout = layout_of(raw[0], encoding)
    assert layout.names == NAMES
    assert layout.counts == given
    assert layout.holds(block(raw)).all()
    np.testing.assert_array_equal(layout.stamps(block(raw)), [message.stamp for message in made])
    for field in FIELDS:
        numbers = layout.numbers(block(raw), field)
        if len(getattr(made[0], field)):
            np.testing.assert_array_equal(numbers, [getattr(message, field) for message in made])
        else:
            assert numbers is None


@pytest.mark.parametrize(("encoding", "ros", "little"), ENCODINGS)
def test_another_message_of_the_same_length_is_told_apart(encoding, ros, little):
    usual = serialised(Message(5, NAMES, (1.0,) * 3, (2.0,) * 3), ros, little)
    others = [
        serialised(Message(5, ("a", "elbow", "wrist_2"), (1.0,) * 3, (2.0,) * 3), ros, little),
        serialised(Message(5, ("elbow", "a", "wrist_3"), (1.0,) * 3, (2.0,) * 3), ros, little),
        serialised(Message(5, NAMES, (1.0,) * 3, (), (2.0,) * 3), ros, little),
        usual,
    ]
    others = [other.ljust(len(usual), b"\0") for other in others]  # how much padding ends a message is not fixed
    np.testing.assert_array_equal(layout_of(usual, encoding).holds(block(others)), [False, False, False, True])


def test_padding_may_hold_anything():
    raw = serialised(Message(5, NAMES, (1.0,) * 3, (2.0,) * 3, (3.0,) * 3))
    layout = layout_of(raw)
    dirty = bytearray(raw)
    rng = np.random.default_rng(0)
    numbers = np.zeros(len(raw), dtype=bool)
    for name in layout.record.names or ():
        kind, offset = layout.record.fields[name][:2]
        numbers[offset : offset + kind.itemsize] = True
    significant = np.zeros(len(raw), dtype=bool)
    significant[: len(layout.significant)] = layout.significant > 0
    padding = np.flatnonzero(~numbers & ~significant)
    assert len(padding) > 8
    for k in padding:
        dirty[k] = rng.integers(1, 256)
    assert layout.holds(block([bytes(dirty)])).all()
    assert layout_of(bytes(dirty)).names == NAMES


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda raw: raw[:40], "cut off"),
        (lambda raw: raw[:-8], "cut off"),
        (lambda raw: b"", "not plain CDR"),
        (lambda raw: b"\0\3" + raw[2:], "not plain CDR"),
        (lambda raw: raw[:12] + b"\xff" * 4 + raw[16:], "count of"),
    ],
)
def test_what_is_no_joint_state_is_refused(damage, text):
    raw = serialised(Message(5, NAMES, (1.0,) * 3, (2.0,) * 3, (3.0,) * 3))
    with pytest.raises(ValueError, match=text):
        layout_of(damage(raw))


def test_numbers_that_do_not_fit_the_names_are_refused():
    with pytest.raises(ValueError, match="2 numbers as velocity of 3 joints"):
        layout_of(serialised(Message(5, NAMES, (1.0,) * 3, (2.0,) * 2)))
