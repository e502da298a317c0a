# SPDX-License-Identifier: Apache-2.0
"""What a reader should know of joints that are not compared, or not as recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStateTopic


def remark_on_joints(
    log: Log,
    *,
    others: Sequence[str],
    held: Mapping[str, tuple[float, bool]],
    silent: Sequence[str],
    complex_: Sequence[str],
) -> None:
    """Each once, with all joints that it is said of.

    Parameters:
        others: recorded names that are no joints of the robot.
        held: {joint: (position, whether some messages name it)}.
        silent: joints without efforts.
        complex_: joints with more than one number.
    """
    if others:
        log.remark(f"ignored, since not joints of the robot, or followers of others: {', '.join(others)}")
    some = [name for name, (_, seen) in held.items() if seen]
    if some:
        log.remark(_said(some, "not in every message: held where last seen, and not compared"))
    places: dict[str, list[str]] = {}
    for name, (position, seen) in held.items():
        if not seen:
            places.setdefault(f"{position:g}", []).append(name)
    for place, names in places.items():
        log.remark(_said(names, f"not recorded: held at {place}, and not compared"))
    if complex_:
        log.remark(_said(complex_, "of more than one coordinate: held at the neutral position"))
    if silent:
        log.remark(f"not compared, since without efforts: {', '.join(silent)}")


def remark_on_topics(
    log: Log, chosen: JointStateTopic, there: Sequence[JointStateTopic], missing: Sequence[str]
) -> None:
    """Other topics with joint states than the chosen one; and how those with joints that are missing are joined."""
    others = [topic for topic in there if topic.name not in chosen.names]
    halves = [topic.name for topic in others if set(topic.joints) & set(missing)]
    more = f"; --topic {chosen.name} --topic {halves[0]} joins what they name" if halves else ""
    if others:
        names = ", ".join(topic.name for topic in others)
        log.remark(f"joint states taken from {chosen.name}; there are others: {names}{more}")


def _said(names: Sequence[str], what: str) -> str:
    """What comes first, where there are many names, so that a beginning of the text tells it."""
    return f"{names[0]} is {what}" if len(names) == 1 else f"{len(names)} joints are {what}: {', '.join(names)}"
