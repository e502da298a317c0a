# SPDX-License-Identifier: Apache-2.0
"""The stretch of a recording that was asked for, in seconds since its first sample, as reports count them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates, RecordingError
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.signals.cleaning import Samples
from rbd_dynamics.replay.signals.conventions import FIRST_MESSAGES, SECOND, Conventions, conventions_of

LATEST = 2**63 - 1  # ns
FEWEST = 10  # messages, for conventions of their own


class Window:
    """Keeps samples from `start` to `end`, both included, and knows when there can be no more.

    Parameters:
        settings: `start` and `end`, s; None: open.
        first: the recording's earliest stamp, ns.
    """

    def __init__(self, settings: Settings, first: int) -> None:
        self.start = 0.0 if settings.start is None else settings.start
        self.end = np.inf if settings.end is None else settings.end
        self.is_all = settings.start is None and settings.end is None
        self._low = _stamp(first, self.start)
        self._high = _stamp(first, self.end) if settings.end is not None else None
        self._first, self._latest, self._found = first, first, False
        self.over = False

    def of(self, samples: Iterable[Samples]) -> Iterator[Samples]:
        """Those inside; samples come in the order of their times."""
        for part in samples:
            if self.is_all:
                yield part
                continue
            first, last = (int(part.stamps[k]) + part.shift for k in (0, -1))
            self._latest = max(self._latest, last)
            self.over = self.over or (self._high is not None and last > self._high)
            if first < self._low or (self._high is not None and last > self._high):
                times = part.stamps + part.shift
                begin = np.searchsorted(times, self._low)
                stop = len(times) if self._high is None else np.searchsorted(times, self._high, side="right")
                if begin >= stop:
                    continue
                part = replace(part, stamps=part.stamps[begin:stop], numbers=part.numbers[begin:stop])
            self._found = True
            yield part

    def check(self, path: object) -> None:
        """Check after all samples. Raises RecordingError where none was inside."""
        if not (self.is_all or self._found):
            last = (self._latest - self._first) * SECOND
            asked = f"from {self.start:g} s on" if self._high is None else f"from {self.start:g} s to {self.end:g} s"
            raise RecordingError(f"{path}: no samples {asked}: the recording ends at {last:.6g} s")

    def holds(self, states: JointStates, clock: str) -> JointStates:
        """The messages whose stamps, as they are, lie inside."""
        stamps = states.stamps if clock == "header" else states.received
        inside = stamps >= self._low
        return states[inside if self._high is None else inside & (stamps <= self._high)]


def _stamp(first: int, seconds: float) -> int:
    """The stamp so long after the first; times that no stamp can tell are the latest one."""
    return min(first + round(min(seconds, LATEST * SECOND) / SECOND), LATEST)


def conventions_in(
    messages: Callable[[], Iterable[JointStates]], joints: Sequence[str], settings: Settings, log: Log, **limits: Any
) -> Conventions:
    """`conventions_of` the first messages; of the first ones inside the window, where one is asked for.

    Where a clock was set, stamps may show none inside: then the recording's beginning counts.
    """
    first = beginning(messages(), len(joints))
    if settings.start is settings.end is None:
        return conventions_of(first, joints, settings, log, **limits)
    whole = conventions_of(first, joints, settings, Log(), **limits)
    window = Window(settings, whole.first)
    inside = beginning((window.holds(states, whole.clock) for states in messages()), len(joints))
    if len(inside) < FEWEST:
        return conventions_of(first, joints, settings, log, **limits)
    return replace(conventions_of(inside, joints, settings, log, **limits), first=whole.first)


def beginning(blocks: Iterable[JointStates], joints: int) -> JointStates:
    """First blocks, as many as they are decided from."""
    found: list[JointStates] = []
    for states in blocks:
        found.append(states)
        if sum(map(len, found)) >= FIRST_MESSAGES:
            break
    return JointStates.joined(found, joints)[:FIRST_MESSAGES]
