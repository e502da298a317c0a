# SPDX-License-Identifier: Apache-2.0
"""What a column is by its name: which field of which joint, measured or commanded, in which unit.

`elbow.position`, `position_elbow`, `/joint_states/elbow/position`, `q1`, `tau[0]`, `actual_qd_3`, `state.tau_J[2]`;
with a unit in brackets (`q1 [deg]`) or, of times, at the end (`time_ms`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rbd_dynamics.replay.reading.tables.vocabulary import (
    COMMANDED,
    CURRENTS,
    DERIVED,
    MEASURED,
    NANOSECONDS,
    SECONDS,
    STAND_INS,
    TIMES,
    WORDS,
)

Kind = Literal["measured", "current", "stand-in", "commanded", "derived"]
#: what is taken rather, where several columns are the same field of a joint
ORDER: tuple[Kind, ...] = ("measured", "current", "stand-in")


@dataclass(frozen=True)
class Signal:
    """A column: a field of `FIELDS` of a joint, what kind it is of, and what its name says besides: `stem`."""

    field: str
    joint: str
    kind: Kind
    stem: str


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_ALL = (*MEASURED, *COMMANDED, *DERIVED)
_QUALIFIERS, _LONG = _any(_ALL), _any([word for word in _ALL if len(word) > 3])  # short ones need something between
_WORDS = _any([word for words in WORDS.values() for word in words])
_CORE = (
    rf"(?P<before>(?:(?:(?:{_QUALIFIERS})[_. ]|{_LONG})(?=[a-z]))*)(?P<word>{_WORDS})"
    rf"(?P<after>(?:[_. ](?:{_QUALIFIERS})(?![a-z]))*)"
)
_UNIT = re.compile(r"(.*?)\s*[\[(]\s*([^\[\]()]*[^\[\]()\d\s][^\[\]()]*)\s*[\])]")  # no number: that is an index
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<path>(?:.*[./:|])?)(?:joint[_ ]?)?{_CORE}[_ ]?[\[(]?(?P<joint>\d+)[\])]?",
        rf"(?P<path>)(?P<joint>.+?)[./:|_ ]{_CORE}",
        rf"(?P<path>(?:.*[./:|])?)(?:joint[_ ])?{_CORE}[_./:| ](?P<joint>.+)",
    )
)
_SPLIT = re.compile(r"[./:|_\[\] ]+")


def split_unit(name: str) -> tuple[str, str]:
    """The name without the unit in brackets behind it, and that unit or ""."""
    match = _UNIT.fullmatch(name.strip())
    return (match[1], match[2].strip()) if match else (name.strip(), "")


@lru_cache(maxsize=4096)
def signal_of(name: str) -> Signal | None:
    """What a column without its unit is; None where its name says nothing of a joint."""
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(name):
            word, path = match["word"].lower(), match["path"]
            field = next(field for field, words in WORDS.items() if word in words)
            qualifiers = set(_words(match["before"])) | set(_words(match["after"]))
            around = qualifiers | set(_words(path))
            stem = "_".join((*_words(match["before"]), word, *_words(match["after"])))
            return Signal(field, f"{path}{match['joint']}", _kind(word, stem, around), stem)
    return None


def _kind(word: str, stem: str, around: set[str]) -> Kind:
    if stem in STAND_INS:
        return "stand-in"
    if around & set(DERIVED):
        return "derived"
    if around & set(COMMANDED):
        return "commanded"
    return "current" if word in CURRENTS else "measured"


def _words(text: str) -> list[str]:
    return [word for word in _SPLIT.split(text.lower()) if word]


def field_of(word: str) -> str | None:
    """Which field a word is, as q is position, with qualifiers or not; None: no such word."""
    found = signal_of(f"{word}_1")
    return found.field if found is not None and found.kind in ORDER and found.joint == "1" else None


def times_among(names: Sequence[str]) -> tuple[tuple[int, ...], str]:
    """Places of the column of times, or of those of seconds and nanoseconds; and its unit, or ""; () where none is."""
    last = [re.split(r"[./]", name.strip().lower())[-1] for name in names]
    pair = [[k for k, name in enumerate(last) if name in words] for words in (SECONDS, NANOSECONDS)]
    if all(pair):
        return (pair[0][0], pair[1][0]), "s"
    for wanted in TIMES:
        for place, name in enumerate(names):
            bare, given = split_unit(name)
            bare = bare.lower().lstrip("/%# ").replace("_", " ") if " " in wanted else bare.lower().lstrip("/%# ")
            if not given and (match := re.fullmatch(rf"({re.escape(wanted)})[_ ](s|sec|ms|us|ns)", bare)):
                bare, given = match[1], match[2]
            if bare == wanted or bare.endswith((f"/{wanted}", f".{wanted}")):
                return (place,), given
    return (), ""
