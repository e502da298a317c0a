# SPDX-License-Identifier: Apache-2.0
"""Lines that are messages: `ros2 topic echo --csv`, which has no names of columns, and `rostopic echo -p`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from rbd_dynamics.joint_states.layout import FIELDS
from rbd_dynamics.replay.reading.tables.text_head import Head, number_in

ROSTOPIC = re.compile(r"(?:%?\s*)field\.(?:(?P<header>header\.stamp)|name(?P<name>\d+)|"
                      rf"(?P<field>{'|'.join(FIELDS)})(?P<index>\d+))")  # fmt: skip


class Told(NamedTuple):
    """A head with names that columns can be told by, and what these lines are."""

    head: Head
    form: str


def told(head: Head) -> Told | None:
    """None where lines are no messages."""
    return _rostopic(head) or _ros2_topic(head)


def _ros2_topic(head: Head) -> Told | None:
    """sec, nanosec, frame, names, positions, velocities, efforts; an array without numbers is an empty cell."""
    cells = head.first
    if head.named or head.separator != "," or len(cells) < 5 or not (cells[0].isdigit() and cells[1].isdigit()):
        return None
    count = 0
    while 3 + count < len(cells) and cells[3 + count] and number_in(cells[3 + count], False) is None:
        count += 1
    names, rest = cells[3 : 3 + count], list(cells[3 + count :])
    titles = ["sec", "nanosec", "frame", *(f"name {k}" for k in range(count))]
    for field in FIELDS:
        if rest[:1] == [""] or len(rest) < count:
            rest, titles = rest[1:], [*titles, f"no {field}"] if rest else titles
        elif all(number_in(cell, False) is not None for cell in rest[:count]):
            rest, titles = rest[count:], [*titles, *(f"{name}.{field}" for name in names)]
    if not count or rest or len(titles) != len(cells):
        return None
    return Told(replace(head, names=tuple(titles)), "messages as `ros2 topic echo --csv` prints them")


def _rostopic(head: Head) -> Told | None:
    """Columns field.name0, field.position0, ...: joints have the names that the first row has."""
    matches = [ROSTOPIC.fullmatch(name) for name in head.names]
    if len(head.first) != len(head.names) or not any(match and match["field"] for match in matches):
        return None
    joints = {m["name"]: cell for m, cell in zip(matches, head.first) if m and m["name"] is not None}
    names = list(head.names)
    for k, match in enumerate(matches):
        if match and match["field"] and match["index"] in joints:
            names[k] = f"{joints[match['index']]}.{match['field']}"
        elif match and match["header"]:
            names[k] = "header.stamp [ns]"
    return Told(replace(head, names=tuple(names)), "messages as `rostopic echo -p` prints them")
