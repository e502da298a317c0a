# SPDX-License-Identifier: Apache-2.0
"""Serialised messages are read field by field; what is cut off or garbled is one kind of error, and costs nothing."""

from __future__ import annotations

import struct

import pytest

from rbd_dynamics.common.cdr import CdrError, CdrReader

TEXT, NUMBERS = "größe".encode() + b"\0", (1.5, -2.0)


def message(order):
    head = b"\0\1\0\0" if order == "<" else b"\0\0\0\0"
    raw = struct.pack(order + "iII", 3, 7, len(TEXT)) + TEXT
    raw += b"x" * (-len(raw) % 4) + struct.pack(order + "I", len(NUMBERS))
    raw += b"x" * (-len(raw) % 8) + struct.pack(order + "2d", *NUMBERS) + struct.pack(order + "I", 0)
    return head + raw


def content(reader):
    time, text, count = reader.time(), reader.text(), reader.count(8)
    return time, text, reader.numbers(count), reader.count(8)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_message_is_read_in_its_byte_order_and_to_its_end(order):
    raw = message(order)
    reader = CdrReader(raw)
    assert content(reader) == (3_000_000_007, "größe", NUMBERS, 0)
    assert (reader.order, reader.place) == (order, len(raw))
    place = reader.place
    assert reader.numbers(0) == () and reader.place == place  # nothing needs no padding


def test_ros1_has_neither_byte_order_nor_padding():
    raw = struct.pack("<I", 3) + b"abc" + struct.pack("<Id", 1, 0.5)
    reader = CdrReader(raw, "ros1")
    assert (reader.text(), reader.numbers(reader.count(8)), reader.place) == ("abc", (0.5,), len(raw))


def test_what_is_cut_off_is_refused_wherever():
    raw = message("<")
    for size in range(len(raw)):
        with pytest.raises(CdrError, match="cut off|not plain CDR"):
            content(CdrReader(raw[:size]))


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", "encoding  is not plain CDR"),
        (b"\0\3\0\0", "encoding 0003 is not plain CDR"),
        (b"\0\1\0\0" + b"\xff" * 4, "8 bytes is cut off, or its count of 4294967295 is wrong"),
        (b"\0\1\0\0\2\0\0\0\xff\0", "10 bytes has a garbled text"),
    ],
)
def test_what_is_garbled_is_refused(raw, text):
    with pytest.raises(CdrError, match=text):
        CdrReader(raw).text()
