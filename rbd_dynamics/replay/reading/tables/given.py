# SPDX-License-Identifier: Apache-2.0
"""What somebody says of columns: `{"position": "pos_meas{}"}`, of some fields or all; the rest goes by names.

A field is `time`, `position`, `velocity` or `effort`, or any word for one of them (t, q, dq, tau). Its columns are the
name of one or of an array; a pattern with `{}` where the joint's name or number stands; numbers of columns from 1, as
`2-8` or `2,4,6`; or {joint: column}. A unit in brackets may follow: `cur{} [mA]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rbd_dynamics.common.excerpt import close_names, excerpt, listed
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.column_names import field_of, split_unit
from rbd_dynamics.replay.reading.tables.vocabulary import TIME, TIMES

Given = Mapping[str, Any]
HOLE = "{}"
_NUMBERS = re.compile(r"\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*")
_MANY = 10_000  # columns of a table, by their numbers


class Taken(NamedTuple):
    """A column that was named for a joint ("" for the time). unit: as given or as its name has it, or ""."""

    place: int
    joint: str
    unit: str


def checked_columns(given: Any) -> dict[str, Any]:
    """The same with fields by their own names. Raises ValueError that names what is wrong."""
    if not isinstance(given, Mapping):
        raise ValueError(f"columns must be {{field: columns}}, got {excerpt(given)}")
    found: dict[str, Any] = {}
    for key, value in given.items():
        field = _field(key)
        if field is None:
            raise ValueError(f"columns: {excerpt(key)} is not one of time, position, velocity, effort (t, q, dq, tau)")
        if isinstance(value, Mapping) and field != TIME:
            wrong = [pair for pair in value.items() if not all(isinstance(x, str) and x.strip() for x in pair)]
            if wrong or not value:
                raise ValueError(f"columns: {field} must be {{joint: column}}, got {excerpt(dict(value))}")
            found[field] = {**found.get(field, {}), **value} if isinstance(found.get(field), dict) else dict(value)
        elif isinstance(value, str) and value.strip():
            found[field] = value.strip()
        else:
            raise ValueError(f"columns: {field} must be a column's name, a pattern or numbers, got {excerpt(value)}")
    return found


def _field(key: Any) -> str | None:
    if not isinstance(key, str):
        return None
    word = key.strip().lower()
    return TIME if word == TIME or word in TIMES else field_of(word)


def with_columns_of_arrays(given: Given, arrays: Mapping[str, Mapping[str, str]]) -> Given:
    """The same with the path of an array, as `observations/qpos`, replaced by its columns.

    arrays: {path of an array in the file: {joint: its column}}.
    """

    def replaced(field: str, text: Any) -> Any:
        bare, unit = split_unit(text) if isinstance(text, str) else ("", "")
        columns = arrays.get(bare.strip("/"))
        if columns is None or field == TIME:
            return text
        return {joint: f"{column} [{unit}]" if unit else column for joint, column in columns.items()}

    return {field: replaced(field, text) for field, text in given.items()}


def taken(field: str, given: str | Mapping[str, str], names: Sequence[str], path: object) -> list[Taken]:
    """The columns that are meant. Raises RecordingError where there is none, or more than one where one is needed."""
    if isinstance(given, Mapping):
        return [_named(joint, text, names, field, path) for joint, text in given.items()]
    found = _matching(given, names)
    if not found:
        raise _none(field, given, names, path)
    return found


def _named(joint: str, text: str, names: Sequence[str], field: str, path: object) -> Taken:
    found = _matching(text, names)
    if len(found) != 1:
        raise _none(field, text, names, path)
    return found[0]._replace(joint=joint)


def _matching(text: str, names: Sequence[str], unit: str = "") -> list[Taken]:
    for place, name in enumerate(names):
        if name.strip() == text:
            return [Taken(place, "1", unit or split_unit(text)[1])]
    if HOLE in text:
        pattern = re.compile("(.+?)".join(map(re.escape, text.split(HOLE))))
        holes = []
        for place, name in enumerate(names):
            bare, own = split_unit(name)
            if match := pattern.fullmatch(bare) or pattern.fullmatch(name):
                holes.append(Taken(place, match[1].strip("[]() _."), unit or own))
        if holes:
            return holes
    elif _NUMBERS.fullmatch(text):
        places = _places(text)
        return [Taken(place, str(k), unit) for k, place in enumerate(places, 1)] if max(places) < len(names) else []
    elif found := _matching(f"{text}[{HOLE}]", names, unit):
        return found
    bare, said = split_unit(text)
    return _matching(bare, names, said) if said and not unit else []


def _places(text: str) -> list[int]:
    places: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        places += range(int(first) - 1, min(int(last or first), _MANY))
    return places if places and min(places) >= 0 else [_MANY]


def _none(field: str, text: str, names: Sequence[str], path: object) -> RecordingError:
    near = close_names(text, names)
    return RecordingError(
        f"{path}: --columns: no column, or not just one, is {excerpt(text)}, which is to be the {field}; "
        + (f"near to it: {', '.join(near)}; " if near else "")
        + f"its columns: {listed(names)}"
    )
