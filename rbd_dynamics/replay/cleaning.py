# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come in the wild become stretches of good samples in the order of their stamps.

All decisions that concern a whole recording are made once, from its first messages (`survey`), and all others from a
sample's neighbours, so that the result does not depend on how the messages are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.survey import SECOND, Survey

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

LARGEST_STEP = 1.5  # periods; after a larger one a message was dropped


@dataclass(frozen=True)
class Samples:
    """Samples of one segment in strictly increasing order: stamps (N,) in ns, numbers (N, 3, joints)."""

    segment: int
    stamps: Stamps
    numbers: Array


class Cleaner:
    """Takes blocks of messages, gives `Samples`.

    A message without a stamp, without a position, or with a NaN where a number is needed, is left out and counted, as
    if it had been dropped. Stamps that are a little out of order are sorted; of equal ones the first counts; a stamp
    far in the past, and a hole longer than `max_gap`, starts a new segment. Angles of continuous joints are unwrapped.

    Parameters:
        continuous: joints (joints,) whose angle may jump by whole turns.
        held: positions (joints,) of joints until a message names them.
    """

    def __init__(self, found: Survey, settings: Settings, continuous: Mask, held: Array, log: Log) -> None:
        self._survey = found
        self._log = log
        self._window = int(settings.reorder_window / SECOND)
        self._continuous = np.flatnonzero(continuous & found.sampled)
        self._held = held.copy()
        self._others = np.flatnonzero(~found.sampled)
        self._needed = np.stack([found.sampled, found.velocity, found.effort])
        self._segment = -1
        self._pending = Samples(0, np.zeros(0, np.int64), np.zeros((0, 3, len(held))))  # that may yet be preceded
        self._latest: int | None = None  # stamp, of those pending too
        self._previous: int | None = None  # stamp handed out
        self._angles = np.zeros(len(self._continuous))  # of the previous sample as it came
        self._turns = np.zeros(len(self._continuous))

    def feed(self, states: JointStates) -> Iterator[Samples]:
        """Samples that no later message can precede."""
        stamps, numbers = self._usable(states)
        while len(stamps):
            latest = np.maximum.accumulate(stamps)
            if self._latest is not None:
                np.maximum(latest, self._latest, out=latest)
            behind = np.flatnonzero(stamps < latest - self._window)
            stop = int(behind[0]) if len(behind) else len(stamps)
            if stop:
                self._append(stamps[:stop], numbers[:stop], int((stamps[:stop] < latest[:stop]).sum()))
                self._latest = int(latest[stop - 1])
            if len(behind):
                self._log.count("clock resets")
                yield from self.finish()
                stamps, numbers = stamps[stop:], numbers[stop:]
            else:
                yield from self._release(self._latest - self._window if self._latest is not None else 0)
                break

    def finish(self) -> Iterator[Samples]:
        """All that is pending; what comes then is another segment."""
        yield from self._release(None)
        self._latest = self._previous = None

    def _usable(self, states: JointStates) -> tuple[Stamps, Array]:
        """Messages with all they need; the joints that are not in it are filled in."""
        found, log = self._survey, self._log
        stamps = states.stamps if found.clock == "header" else states.received
        numbers = states.numbers
        good = stamps > 0 if found.wall_clock else stamps >= 0
        log.count("messages without a stamp", number=int(len(good) - good.sum()))
        if len(self._others):
            numbers = self._with_held(numbers)
        finite = np.isfinite(numbers)
        complete: Mask = np.asarray((finite | ~self._needed).all(axis=2))
        if not complete.all():
            some = finite[:, :, found.sampled]
            nothing = good & ~some.any(axis=(1, 2))
            partial = good & ~nothing & ~some[:, 0].any(axis=1)
            empty_of_sampled = nothing & np.isfinite(states.numbers).any(axis=(1, 2))
            log.count("partial messages", number=int(empty_of_sampled.sum()))
            log.count("messages without positions", number=int((partial | (nothing & ~empty_of_sampled)).sum()))
            good = good & ~nothing & ~partial
            for field, event in enumerate(("NaN positions", "NaN velocities", "NaN efforts")):
                bad = good & ~complete[:, field]
                log.count(event, number=int(bad.sum()))
                good = good & ~bad
        return (stamps, numbers) if good.all() else (stamps[good], numbers[good])

    def _with_held(self, numbers: Array) -> Array:
        """Joints that are not in every sample stay where they were last seen, at rest."""
        numbers = numbers.copy()
        for joint in self._others:
            column = np.concatenate([self._held[[joint]], numbers[:, 0, joint]])
            seen = np.maximum.accumulate(np.where(np.isfinite(column), np.arange(len(column)), 0))
            numbers[:, 0, joint] = column[seen[1:]]
            self._held[joint] = column[seen[-1]]
        numbers[:, 1, self._others] = 0.0
        numbers[:, 2, self._others] = np.nan
        return numbers

    def _append(self, stamps: Stamps, numbers: Array, late: int) -> None:
        """`late`: how many come after a message with a later stamp."""
        if len(self._pending.stamps):
            stamps = np.concatenate([self._pending.stamps, stamps])
            numbers = np.concatenate([self._pending.numbers, numbers])
        if late:
            self._log.count("reordered messages", number=late)
            order = np.argsort(stamps, kind="stable")
            stamps, numbers = stamps[order], numbers[order]
        self._pending = Samples(0, stamps, numbers)

    def _release(self, until: int | None) -> Iterator[Samples]:
        """Those of the pending ones that are final, without duplicates, cut into segments."""
        pending = self._pending
        count = len(pending.stamps) if until is None else int(np.searchsorted(pending.stamps, until, side="right"))
        self._pending = Samples(0, pending.stamps[count:], pending.numbers[count:])
        stamps, numbers = pending.stamps[:count], pending.numbers[:count]
        if not count:
            return
        first = stamps[0] - 1 if self._previous is None else self._previous
        steps = np.diff(stamps, prepend=first)
        fresh = steps > 0
        if not fresh.all():
            self._log.count("duplicate stamps", number=int(count - fresh.sum()))
            stamps, numbers = stamps[fresh], numbers[fresh]
            if not len(stamps):
                return
            steps = np.diff(stamps, prepend=first)
        gaps = steps * SECOND > self._survey.max_gap
        missing = np.rint(steps * (SECOND / self._survey.period)) - 1
        dropped = (steps * SECOND > LARGEST_STEP * self._survey.period) & ~gaps
        self._log.count("dropped messages", number=int(missing[dropped].sum()))
        self._log.count("gaps", number=int(gaps.sum()))
        if len(self._continuous):
            numbers = self._unwrapped(numbers)
        self._segment += self._previous is None
        self._previous = int(stamps[-1])
        start = 0
        for stop in (*np.flatnonzero(gaps), len(stamps)):
            if stop > start:
                yield Samples(self._segment, stamps[start:stop], numbers[start:stop])
            self._segment += stop < len(stamps)
            start = stop

    def _unwrapped(self, numbers: Array) -> Array:
        """Whole turns are counted, so that nothing depends on where a block begins."""
        angles = numbers[:, 0, self._continuous]
        if self._previous is None:
            self._angles, self._turns = angles[0], np.zeros(angles.shape[1])
        turns = self._turns - np.cumsum(
            np.rint(np.diff(angles, axis=0, prepend=self._angles[None]) / (2 * np.pi)), axis=0
        )
        self._angles, self._turns = angles[-1].copy(), turns[-1]
        numbers = numbers.copy()
        numbers[:, 0, self._continuous] = angles + 2 * np.pi * turns
        return numbers
