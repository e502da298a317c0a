# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come in the wild become stretches of good samples in the order of their stamps.

All decisions that concern a whole recording are made once, from its first messages (`conventions_of`), and all others
from a sample's neighbours, so that the result does not depend on how the messages are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates
from rbd_dynamics.replay.signals.clock import CONTEXT, clock_was_set, wild_stamps
from rbd_dynamics.replay.signals.conventions import SECOND, Conventions
from rbd_dynamics.replay.signals.implausible import Screen
from rbd_dynamics.replay.signals.usual import whole_turns

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

Messages = tuple[Stamps, Stamps, Array]  # stamps, times of reception, numbers

LONGEST_PAUSE = 10**15  # ns: no reception is as late
LARGEST_STEP = 1.5  # periods; after a larger one a message was dropped


@dataclass(frozen=True)
class Samples:
    """Samples of one segment in strictly increasing order: stamps (N,) in ns, numbers (N, 3, joints).

    shift: to be added to the stamps, ns, for a time that goes on where a clock was set.
    """

    segment: int
    stamps: Stamps
    numbers: Array
    shift: int = 0


class Cleaner:
    """Takes blocks of messages, gives `Samples`.

    A message without a stamp, without a position, or with a NaN where a number is needed, is left out and counted, as
    if it had been dropped; so is one with a stamp or a number that cannot be (`clock.py`, `implausible.py`). Stamps
    that are a little out of order are sorted; of equal ones the first counts. A new segment starts where the clock was
    set, the state jumped or brakes held, and after a hole longer than `max_gap`. Angles that jump by whole turns are
    unwrapped.

    Parameters:
        joints: their names. turns: whole turns by which each one's angle may jump, at most, (joints,).
        held: positions (joints,) of joints until a message names them.
        screen: what leaves out damaged samples.
    """

    def __init__(
        self, found: Conventions, joints: Sequence[str], turns: Array, held: Array, log: Log, screen: Screen
    ) -> None:
        self._survey, self._screen = found, screen
        self._log = log
        self._window = found.window
        self._longest = int(found.max_gap / SECOND)
        self._turning = np.flatnonzero((turns > 0.0) & found.sampled)
        self._joints, self._most = tuple(joints), turns[self._turning]
        self._wrapped = np.zeros(len(self._turning), dtype=bool)
        self._held = held.copy()
        self._others = np.flatnonzero(~found.sampled)
        self._needed = np.stack([found.sampled, found.velocity, found.effort])
        self._segment = -1
        self._shift = 0
        self._unjudged = _nothing(len(held))  # messages that wild stamps are told by
        self._judged = 0  # of these are done
        self._pending = Samples(0, np.zeros(0, np.int64), np.zeros((0, 3, len(held))))  # that may yet be preceded
        self._latest: int | None = None  # stamp, of those pending too
        self._received = 0  # of the message before
        self._released: int | None = None  # stamp of the last one that nothing can precede
        self._previous: int | None = None  # stamp handed out
        self._angles = np.zeros(len(self._turning))  # of the previous sample as it came
        self._turns = np.zeros(len(self._turning))

    def feed(self, states: JointStates) -> Iterator[Samples]:
        """Samples that no later message can precede."""
        yield from self._ordered(*self._without_wild(self._usable(states), last=False))

    def finish(self) -> Iterator[Samples]:
        """All that is pending; nothing may come then."""
        yield from self._ordered(*self._without_wild(_nothing(len(self._held)), last=True))
        yield from self._end_of_clock()
        self._screen.remark()
        self._remark()

    def _without_wild(self, messages: Messages, last: bool) -> Messages:
        """Those that two others follow, but for wild stamps."""
        stamps, received, numbers = (np.concatenate(pair) for pair in zip(self._unjudged, messages))
        first, stop = self._judged, len(stamps) if last else max(self._judged, len(stamps) - CONTEXT)
        wild = wild_stamps(stamps, received, self._window)[first:stop]
        begin = max(0, stop - CONTEXT)
        self._unjudged, self._judged = (stamps[begin:], received[begin:], numbers[begin:]), stop - begin
        self._log.count("implausible stamps", number=int(wild.sum()))
        good = slice(first, stop) if not wild.any() else first + np.flatnonzero(~wild)
        return stamps[good], received[good], numbers[good]

    def _ordered(self, stamps: Stamps, received: Stamps, numbers: Array) -> Iterator[Samples]:
        """Sorted where they are a little out of order; a new segment where the clock was set."""
        while len(stamps):
            known = int(self._latest is not None)
            everything = stamps if self._latest is None else np.append(self._latest, stamps)
            came = np.append(self._received, received) if known else received
            latest = np.maximum.accumulate(everything)
            set_at = clock_was_set(everything, latest, came, self._window, self._longest) - known
            stop = int(set_at[0]) if len(set_at) else len(stamps)
            if stop:
                latest = latest[known:][:stop]
                self._append(stamps[:stop], numbers[:stop], int((stamps[:stop] < latest).sum()))
                self._latest, self._received = int(latest[-1]), int(received[stop - 1])
            assert self._latest is not None
            if not len(set_at):
                yield from self._release(self._latest - self._window)
                break
            self._log.count("clock resets")
            took = int(received[stop]) - self._received
            took = took if 0 < took < LONGEST_PAUSE else int(self._survey.period / SECOND)
            shift = self._shift + self._latest + took - int(stamps[stop])
            yield from self._end_of_clock()
            self._shift = shift
            stamps, received, numbers = stamps[stop:], received[stop:], numbers[stop:]

    def _end_of_clock(self) -> Iterator[Samples]:
        yield from self._release(None)
        self._latest = self._released = None

    def _usable(self, states: JointStates) -> Messages:
        """Messages with all they need; the joints that are not in it are filled in."""
        found, log = self._survey, self._log
        stamps = states.stamps if found.clock == "header" else states.received
        numbers = states.numbers
        good = stamps > 0 if found.wall_clock else stamps >= 0
        log.count("messages without a stamp", number=int(len(good) - good.sum()))
        if len(self._others):
            numbers = self._with_held(numbers)
        with np.errstate(invalid="ignore", over="ignore"):
            total = numbers.sum() if self._needed.all() else np.nan
        if good.all() and np.isfinite(total):
            return stamps, states.received, numbers  # the usual case: nothing is missing
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
        received = states.received
        return (stamps, received, numbers) if good.all() else (stamps[good], received[good], numbers[good])

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
        """Those of the pending ones that are final, without duplicates, cut into segments. None: all."""
        pending = self._pending
        count = len(pending.stamps) if until is None else int(np.searchsorted(pending.stamps, until, side="right"))
        self._pending = Samples(0, pending.stamps[count:], pending.numbers[count:])
        stamps, numbers = pending.stamps[:count], pending.numbers[:count]
        if count:
            fresh = np.diff(stamps, prepend=stamps[0] - 1 if self._released is None else self._released) > 0
            self._released = int(stamps[-1])
            if not fresh.all():
                self._log.count("duplicate stamps", number=int(count - fresh.sum()))
                stamps, numbers = stamps[fresh], numbers[fresh]
        for cut, good_stamps, good_numbers in self._screen.feed(stamps, numbers, last=until is None):
            if cut:
                self._previous = None
            yield from self._segments(good_stamps, good_numbers)
        if until is None:
            self._previous = None

    def _segments(self, stamps: Stamps, numbers: Array) -> Iterator[Samples]:
        """Good samples, cut where a hole is too long."""
        first = stamps[0] - 1 if self._previous is None else self._previous
        steps = np.diff(stamps, prepend=first)
        gaps = steps * SECOND > self._survey.max_gap
        missing = np.rint(steps * (SECOND / self._survey.period)) - 1
        dropped = (steps * SECOND > LARGEST_STEP * self._survey.period) & ~gaps
        self._log.count("dropped messages", number=int(missing[dropped].sum()))
        self._log.count("gaps", number=int(gaps.sum()))
        if len(self._turning):
            numbers = self._unwrapped(numbers)
        self._segment += self._previous is None
        self._previous = int(stamps[-1])
        start = 0
        for stop in (*np.flatnonzero(gaps), len(stamps)):
            if stop > start:
                yield Samples(self._segment, stamps[start:stop], numbers[start:stop], self._shift)
            self._segment += stop < len(stamps)
            start = stop

    def _unwrapped(self, numbers: Array) -> Array:
        """Whole turns are counted, so that nothing depends on where a block begins."""
        angles = numbers[:, 0, self._turning]
        if self._previous is None:
            self._angles, self._turns = angles[0], np.zeros(angles.shape[1])
        jumped = whole_turns(np.diff(angles, axis=0, prepend=self._angles[None]), self._most)
        self._angles = angles[-1].copy()
        if not (jumped.any() or self._turns.any()):
            return numbers
        turns = self._turns - np.cumsum(jumped, axis=0)
        self._turns = turns[-1]
        self._wrapped |= jumped.any(axis=0)
        numbers = numbers.copy()
        numbers[:, 0, self._turning] = angles + 2 * np.pi * turns
        return numbers

    def _remark(self) -> None:
        names = [self._joints[k] for k in self._turning[self._wrapped & np.isfinite(self._most)]]
        if names:
            self._log.remark(
                f"positions of {', '.join(names)} wrap by whole turns, though they have limits in the description: "
                "unwrapped"
            )


def _nothing(joints: int) -> Messages:
    return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3, joints))
