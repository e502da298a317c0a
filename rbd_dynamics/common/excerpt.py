# SPDX-License-Identifier: Apache-2.0
"""Values of others in messages: short, whatever they are."""

from __future__ import annotations

import difflib
import heapq
import reprlib
from collections.abc import Sequence
from typing import Any

LONGEST = 60  # characters of a value
LONGEST_MESSAGE = 2000
LONGEST_NAME = 1000
#: names that are longer, and lists that have more, are not searched for near ones
LONGEST_SEARCHED = 100
MOST_NAMES = 1000
SHORTEST_PART = 3  # letters of a name by which a longer one is found
COMPARED = 8  # names, letter by letter: that takes quadratic time
SHOWN_NAMES = 30


class _Repr(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 2 * LONGEST
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 12
        self.maxarray = self.maxdeque = 12
        self.maxlevel = 4

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write down long ones
        return super().repr_int(x, level) if abs(x) < 10**100 else f"an integer of {x.bit_length()} bits"

    def repr_ndarray(self, x: Any, level: int) -> str:
        """An array as the nested lists that it holds, without making them all."""
        if x.ndim == 0 or x.size > 100:
            return self.repr_instance(x, level) if x.ndim == 0 else f"an array of shape {x.shape}"
        return f"array({self.repr1(x.tolist(), level)})"


_repr = _Repr()


def excerpt(value: Any, longest: int = LONGEST) -> str:
    """repr(value), or its begin and its end where it is longer; a large value is not written out for it."""
    return shortened(_repr.repr(value), longest)


def shortened(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """A text whose middle is left out where it is longer."""
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 3
    return f"{text[: longest - 3 - tail]}...{text[len(text) - tail :]}"


def close_names(name: Any, known: Sequence[str], n: int = 3) -> list[str]:
    """Known names near to one, else the shortest that contain it, quoted; none where the search would take long:
    torques may wait for it.
    """
    given = str(name) if isinstance(name, str) else excerpt(name)
    if len(given) > LONGEST_SEARCHED or len(known) > MOST_NAMES:
        return []
    candidates = [other for other in known if isinstance(other, str) and len(other) <= LONGEST_SEARCHED]
    if len(candidates) > COMPARED:
        pairs = _pairs(given)
        candidates = heapq.nlargest(COMPARED, candidates, key=lambda other: len(pairs & _pairs(other)))
    near = difflib.get_close_matches(given, candidates, n=n)
    if not near and len(given) >= SHORTEST_PART:
        part = given.lower()
        containing = [other for other in known if isinstance(other, str) and part in other[:LONGEST_SEARCHED].lower()]
        near = sorted(containing, key=len)[:n]
    return [excerpt(close) for close in near]


def _pairs(name: str) -> set[str]:
    """Pairs of neighbouring letters."""
    return {name[k : k + 2] for k in range(len(name))}


def listed(names: Sequence[str]) -> str:
    """Names one after the other; of many the first."""
    shown = ", ".join(shortened(str(name), LONGEST) for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
