# SPDX-License-Identifier: Apache-2.0
"""What the columns of a table are, by their names: the time, and positions, velocities and efforts of joints.

`elbow.position`, `position_elbow`, `/joint_states/elbow/position`, `q1`, `tau[0]`, `actual_qd_3`; with a unit in
brackets (`q1 [deg]`) or, of times, at the end (`time_ms`). Other columns are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbd_dynamics.common.excerpt import excerpt, listed
from rbd_dynamics.joint_states.layout import FIELDS
from rbd_dynamics.replay.reading.storage import RecordingError

#: what columns of each field are called
WORDS = {
    "position": ("position", "positions", "pos", "angle", "q", "qpos", "actual_q", "q_actual", "q_measured"),
    "velocity": (
        "velocity", "velocities", "vel", "speed", "v", "qd", "dq", "qvel", "qdot", "q_dot", "actual_qd", "qd_actual",
        "dq_measured",
    ),
    "effort": (
        "effort", "efforts", "eff", "torque", "torques", "tau", "force", "current", "tau_measured", "torque_measured",
        "measured_torque", "actual_current", "actual_torque",
    ),
}  # fmt: skip
TIMES = ("__time", "header.stamp", "stamp", "timestamp", "t", "time")  # the first that is there counts
SECONDS, NANOSECONDS = ("sec", "secs"), ("nanosec", "nanosecs", "nsec", "nsecs")
#: {unit: factor to s, rad or m, rad/s or m/s, N m or N}
UNITS = {
    "time": {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "position": {"rad": 1.0, "deg": np.pi / 180.0, "°": np.pi / 180.0, "m": 1.0, "mm": 1e-3},
    "velocity": {
        "rad/s": 1.0, "deg/s": np.pi / 180.0, "°/s": np.pi / 180.0, "rpm": np.pi / 30.0, "m/s": 1.0, "mm/s": 1e-3,
    },
    "effort": {"nm": 1.0, "n m": 1.0, "n*m": 1.0, "n·m": 1.0, "n": 1.0, "mnm": 1e-3, "knm": 1e3, "a": 1.0, "ma": 1e-3},
}  # fmt: skip
#: names of times that begin with one of these: by their size they are seconds, ms, us or ns since 1970
EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))

_UNIT = re.compile(r"(.*?)\s*[\[(]\s*([^\[\]()]*[^\[\]()\d\s][^\[\]()]*)\s*[\])]")  # no number: that is an index
_WORDS = "|".join(sorted((re.escape(word) for words in WORDS.values() for word in words), key=len, reverse=True))
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<joint>.+?)[./:|_ ](?P<word>{_WORDS})",
        rf"(?P<path>(?:.*[/:|])?)(?P<word>{_WORDS})[_./:| ](?P<joint>.+)",
        rf"(?P<path>(?:.*[/:|])?)(?P<word>{_WORDS})\s*[\[(]?(?P<joint>\d+)[\])]?",
    )
)


@dataclass(frozen=True)
class Columns:
    """Places of columns.

    Attributes:
        times: of the time, or of its seconds and nanoseconds.
        unit: of the time in s; None: by its size.
        joints: their names, in the order of the table.
        fields: {field: (places, factors)}, one for each joint, of those of position, velocity and effort that are
            there; place -1 for a joint without.
    """

    times: tuple[int, ...]
    unit: float | None
    joints: tuple[str, ...]
    fields: dict[str, tuple[tuple[int, ...], tuple[float, ...]]]

    @property
    def used(self) -> list[int]:
        """Places, in increasing order."""
        places = {place for found, _ in self.fields.values() for place in found if place >= 0}
        return sorted(places | set(self.times))


def columns_of(names: Sequence[str], path: object) -> Columns:
    """Raises RecordingError where there is no time, no position, or more than one column for the same thing."""
    times, unit = _times(names, path)
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for place, name in enumerate(names):
        bare, given = _split_unit(name)
        named = None if place in times else _signal(bare)
        if named is None and given:  # position(elbow)
            named, given = _signal(f"{bare}_{given}"), ""
        if named is None:
            continue
        if named in found:
            raise RecordingError(
                f"{path}: columns {excerpt(names[found[named][0]])} and {excerpt(name)} are both the {named[0]} of "
                f"{excerpt(named[1])}: leave one of them out"
            )
        found[named] = place, _factor(named[0], given, name, path)
    if not any(field == "position" for field, _ in found):
        raise RecordingError(
            f"{path} has no position of any joint, as elbow.position, q_elbow or q1; its columns: {listed(names)}"
        )
    joints = tuple(dict.fromkeys(joint for _, joint in found))
    fields = {}
    for field in FIELDS:
        places = [found.get((field, joint), (-1, 1.0)) for joint in joints]
        if any(place >= 0 for place, _ in places):
            fields[field] = tuple(place for place, _ in places), tuple(factor for _, factor in places)
    return Columns(times, unit, _without_common_path(joints), fields)


def field_of(word: str) -> str | None:
    """Which field a word is, as q is position; None: no such word."""
    return next((field for field, words in WORDS.items() if word.lower() in words), None)


def _times(names: Sequence[str], path: object) -> tuple[tuple[int, ...], float | None]:
    last = [re.split(r"[./]", name.strip().lower())[-1] for name in names]
    pair = [[k for k, name in enumerate(last) if name in words] for words in (SECONDS, NANOSECONDS)]
    if all(pair):
        return (pair[0][0], pair[1][0]), 1.0
    for wanted in TIMES:
        for place, name in enumerate(names):
            bare, given = _split_unit(name)
            bare = bare.lower().lstrip("/")
            if not given and (match := re.fullmatch(rf"({re.escape(wanted)})_(s|sec|ms|us|ns)", bare)):
                bare, given = match[1], match[2]
            if bare == wanted or bare.endswith((f"/{wanted}", f".{wanted}")):
                return (place,), _factor("time", given, name, path) if given else None
    raise RecordingError(f"{path} has no column of times, as t, time, stamp or time_ms; its columns: {listed(names)}")


def _split_unit(name: str) -> tuple[str, str]:
    match = _UNIT.fullmatch(name.strip())
    return (match[1], match[2].strip()) if match else (name.strip(), "")


def _factor(field: str, unit: str, name: str, path: object) -> float:
    known = UNITS[field]
    if unit and unit.lower() not in known:
        raise RecordingError(
            f"{path}: column {excerpt(name)}: unknown unit {excerpt(unit)} of a {field}; known: {', '.join(known)}"
        )
    return known[unit.lower()] if unit else 1.0


def _signal(name: str) -> tuple[str, str] | None:
    """(field, joint) of a column."""
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(name):
            field = field_of(match["word"])
            assert field is not None
            return field, f"{match.groupdict().get('path') or ''}{match['joint']}"
    return None


def _without_common_path(joints: tuple[str, ...]) -> tuple[str, ...]:
    """shoulder and elbow, of /joint_states/shoulder and /joint_states/elbow."""
    common = os.path.commonprefix(joints) if len(joints) > 1 else joints[0]
    cut = max(common.rfind("/"), common.rfind(".")) + 1
    return tuple(joint[cut:] for joint in joints)
