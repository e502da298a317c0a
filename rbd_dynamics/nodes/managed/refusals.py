# SPDX-License-Identifier: Apache-2.0
"""Input that was not used: counted by kind for the diagnostics, each kind logged at most once a second."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

MOST_KINDS = 20  # that are told apart
PERIOD = 1.0  # s, between two lines in the log about a kind
OTHERS = "other input was refused"


def kind_of(reason: str) -> str:
    """A reason without what differs within its kind: names, which are quoted, and numbers."""
    return re.sub(r"'[^']*'|[-+]?\d[\d.]*(e[-+]?\d+)?", "_", reason)


class Refusals:
    """What was refused since the last report. say: for the log; clock: s.

    Each kind by itself: a joint state that is refused all the time does not hide that a trajectory was.
    """

    def __init__(self, say: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._found: dict[str, tuple[str, int]] = {}  # by kind: the last reason, how often
        self._said: dict[str, float] = {}  # by kind, s
        self._last = (0.0, "")  # s, reason; however long ago

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, reason: str) -> None:
        now, kind = self._clock(), kind_of(reason)
        self._last = now, reason
        if kind not in self._found and len(self._found) >= MOST_KINDS:
            kind, reason = OTHERS, OTHERS
        self._found[kind] = reason, self._found.get(kind, (reason, 0))[1] + 1
        if now - self._said.get(kind, -PERIOD) >= PERIOD:
            self._said = {each: when for each, when in self._said.items() if now - when < PERIOD}
            self._said[kind] = now
            self._say(reason)

    @property
    def last(self) -> str:
        """The last reason and how long ago it was, "" where there was none."""
        when, reason = self._last
        return f"{self._clock() - when:.0f} s ago: {reason}" if reason else ""

    def take(self) -> list[tuple[str, int]]:
        """(the last reason of a kind, how often it was refused)."""
        found = list(self._found.values())
        self._found.clear()
        return found
