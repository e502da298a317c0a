# SPDX-License-Identifier: Apache-2.0
"""Serialised JointTrajectory messages, written without ROS and for any content."""

from __future__ import annotations

import struct


def serialised(names, points, stamp=0, frame="", order="<"):
    """CDR of a JointTrajectory, written here by the rules of OMG CDR; points: (ns, positions, velocities, ...)."""
    out = bytearray()

    def align(size):
        out.extend(b"\0" * (-len(out) % size))

    def put(code, *values):
        align(8 if code == "d" else 4)
        out.extend(struct.pack(order + code * len(values), *values))

    def text(value):
        put("I", len(value.encode()) + 1)
        out.extend(value.encode() + b"\0")

    put("i", stamp // 10**9)
    put("I", stamp % 10**9)
    text(frame)
    put("I", len(names))
    for name in names:
        text(name)
    put("I", len(points))
    for ns, *rows in points:
        for row in [*rows, *[()] * (4 - len(rows))]:
            put("I", len(row))
            if len(row):
                put("d", *row)
        put("i", ns // 10**9)
        put("I", ns % 10**9)
    return (b"\0\1\0\0" if order == "<" else b"\0\0\0\0") + bytes(out)
