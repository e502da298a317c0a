# SPDX-License-Identifier: Apache-2.0
"""Samples that nothing measured: damaged numbers, states that jump, and robots that only their brakes hold.

A number beyond its limit is damage, unless more than `LOOK` in a row are: then the limit is not the robot's, or the
unit is another. So is a single number far from its neighbours, which are near each other. The state has jumped where a
way is far beyond what velocities explain in the first messages, or next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_opening

from rbd_dynamics.control.safety.brakes import undriven
from rbd_dynamics.joint_states.plausibility import JITTER
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.signals.usual import FIELDS, UNUSUAL, Usual, not_the_robots, unexplained

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

SPIKE = 8.0  # times as far from its neighbours as they are from each other, and as the noise
OUTER = 3.0  # times as far as the neighbours are from those beyond them
NONSENSE = 1e4  # times a limit: no unit's, however long it lasts
CHUNK = 1024  # samples that the processor's cache holds
LOOK = 8  # samples on either side
SECOND = 1e-9  # of a ns


class Screen:
    """Takes the samples of a segment in order, leaves out what was not measured, and says where a segment must end.

    Parameters:
        max_gap: after a longer step a new segment starts anyway, s.
        falls: whether the robot would move from these positions (joints,) without efforts; None: nobody knows.
    """

    def __init__(
        self, usual: Usual, log: Log, *, max_gap: float = np.inf, falls: Callable[[Array], bool] | None = None
    ) -> None:
        self._usual, self._log, self._max_gap, self._falls = usual, log, max_gap, falls
        self._damage: set[tuple[int, int]] = set()  # fields and joints
        self._limits: set[tuple[int, int]] = set()  # likewise, of limits that are not the robot's
        self._quick = np.where(usual.measured, np.maximum(usual.smallest, SPIKE * usual.noise), np.inf)
        self._quick[0] = np.minimum(self._quick[0], np.where(usual.measured[0], usual.step, np.inf))
        driven = np.flatnonzero(usual.measured[2])
        self._driven = driven[np.argsort(-usual.slack[driven], kind="stable")]  # that which carries most first
        self._reset()

    def _reset(self) -> None:
        self._stamps = np.zeros(0, np.int64)
        self._numbers = np.zeros((0, *self._usual.measured.shape))
        self._done = 0  # of these have been judged
        self._previous: tuple[int, Array] | None = None  # the last good sample
        self._undriven = 0  # samples in a row, up to the last one
        self._jumped = False  # onto one of these
        self._braked = False

    def feed(self, stamps: Stamps, numbers: Array, *, last: bool = False) -> Iterator[tuple[bool, Stamps, Array]]:
        """Runs of good samples, and whether a new segment begins with each. last: nothing follows in this segment."""
        stamps, numbers = np.concatenate([self._stamps, stamps]), np.concatenate([self._numbers, numbers])
        first, stop = self._done, len(stamps) if last else max(self._done, len(stamps) - LOOK)
        if stop > first:
            if not self._undriven and self._unsuspicious(numbers):
                self._previous = int(stamps[stop - 1]), numbers[stop - 1]
                yield False, stamps[first:stop], numbers[first:stop]
            else:
                good = ~self._damaged(numbers, first, stop)
                alone = _alone(stamps, numbers, self._usual, self._max_gap)[first:stop]
                yield from self._runs(stamps[first:stop][good], numbers[first:stop][good], alone[good])
        begin = max(0, stop - LOOK)
        self._stamps, self._numbers, self._done = stamps[begin:], numbers[begin:], stop - begin
        if last:
            self._reset()

    def _unsuspicious(self, numbers: Array) -> bool:
        """Nothing is beyond its limits or far from what comes before it, and some joint is always driven."""
        usual = self._usual
        for begin in range(0, len(numbers), CHUNK):
            part = numbers[begin : begin + CHUNK + 1]
            size = np.abs(part)
            np.abs(part[:, 0] - usual.middle, out=size[:, 0])
            if (size > usual.beyond).any():
                return False
            change = np.diff(part, axis=0)
            if (np.abs(change, out=change) > self._quick).any():
                return False
        if len(self._driven) and self._falls is not None:
            most = self._driven[0]
            return bool(
                (np.abs(numbers[:, 2, most]) > usual.slack[most]).all() or not self._are_undriven(numbers).any()
            )
        return True

    def _damaged(self, numbers: Array, first: int, stop: int) -> Mask:
        """Which samples from `first` to `stop` were not measured so; counted by what is wrong first."""
        usual = self._usual
        size = np.abs(numbers)
        np.abs(numbers[:, 0] - usual.middle, out=size[:, 0])
        beyond = size > usual.beyond
        lasts = _lasting(beyond & (size < NONSENSE * usual.beyond))
        self._limits.update((int(k), int(j)) for k, j in zip(*np.nonzero((lasts & usual.measured).any(axis=0))))
        bad = (((beyond & ~lasts) | _spikes(numbers, usual)) & usual.measured)[first:stop]
        told = np.zeros(stop - first, dtype=bool)
        for field, name in enumerate(FIELDS):
            here = bad[:, field].any(axis=1) & ~told
            told |= here
            self._log.count(f"implausible {name}", number=int(here.sum()))
            self._damage.update((field, int(joint)) for joint in np.flatnonzero(bad[here, field].any(axis=0)))
        return told

    def remark(self) -> None:
        """Tell the log which joints had damaged numbers, and which limits were not the robot's."""
        for field, joint in sorted(self._limits):
            self._log.remark(not_the_robots(self._usual.names[joint], field))
        names = [f"{FIELDS[field]} of {self._usual.names[joint]}" for field, joint in sorted(self._damage)]
        if names:
            self._log.remark(f"some numbers cannot have been measured, their messages are left out: {', '.join(names)}")

    def _runs(self, stamps: Stamps, numbers: Array, alone: Mask) -> Iterator[tuple[bool, Stamps, Array]]:
        """Cut where the state jumps, and around stretches in which brakes hold. alone: where it does for sure."""
        undriven = self._are_undriven(numbers)
        jumped = self._have_jumped(stamps, numbers) | alone
        begin, cut = 0, False
        for k in np.flatnonzero(undriven | jumped | np.append(self._undriven > 0, undriven[:-1])):
            if k > begin:
                yield cut, stamps[begin:k], numbers[begin:k]
                cut = False
            begin = int(k)
            self._jumped = self._jumped or bool(jumped[k])
            if undriven[k] and self._is_braked(numbers[k]):
                self._undriven += 1
                begin += 1
                continue
            cut = self._jumped or self._undriven > 1
            self._log.count("state jumps", number=int(self._jumped and self._undriven <= 1))
            self._log.count("braked stretches", number=int(self._undriven > 1))
            self._undriven, self._jumped = 0, False
        if len(stamps) > begin:
            yield cut, stamps[begin:], numbers[begin:]
        if len(stamps):
            self._previous = int(stamps[-1]), numbers[-1]

    def _are_undriven(self, numbers: Array) -> Mask:
        """Samples in which all joints stand and no effort is measured."""
        usual = self._usual
        if not len(self._driven) or self._falls is None:
            return np.zeros(len(numbers), dtype=bool)
        v, tau = (np.where(usual.measured[k], numbers[:, k], np.nan) for k in (1, 2))
        return undriven(v, tau, usual.slack)

    def _is_braked(self, numbers: Array) -> bool:
        """A stretch without efforts: asked once, since the robot stands."""
        if not self._undriven:
            self._braked = self._falls is not None and self._falls(numbers[0])
        return self._braked

    def _have_jumped(self, stamps: Stamps, numbers: Array) -> Mask:
        """Samples whose way from the one before no velocity explains."""
        found = np.zeros(len(stamps), dtype=bool)
        if self._previous is not None:
            stamps = np.concatenate([[self._previous[0]], stamps])
            numbers = np.concatenate([self._previous[1][None], numbers])
        if len(stamps) > 1:
            usual = self._usual
            elapsed = np.diff(stamps) * SECOND
            way = unexplained(numbers, elapsed, usual.turns)
            known = usual.measured[1]
            fastest = usual.plausibility.bounds[0] * (elapsed[:, None] + JITTER)
            most = np.where(known, usual.jump, np.maximum(usual.jump, fastest))
            jumped = (way > most) & usual.measured[0] & (elapsed <= self._max_gap)[:, None]
            found[len(found) - len(elapsed) :] = jumped.any(axis=1)
        return found


def _lasting(found: Mask) -> Mask:
    """Those of (N, ...) that are part of more than `LOOK` in a row."""
    if len(found) <= LOOK or not found.any():
        return np.zeros_like(found)
    size = (LOOK + 1, *(1,) * (found.ndim - 1))
    return np.asarray(binary_opening(found, np.ones(size, dtype=bool)))


def _alone(stamps: Stamps, numbers: Array, usual: Usual, max_gap: float) -> Mask:
    """Samples (N,) whose way from the one before is beyond the velocities, while the ways next to it are not."""
    found = np.zeros(len(stamps), dtype=bool)
    if len(stamps) < 4:
        return found
    elapsed = np.diff(stamps) * SECOND
    with np.errstate(invalid="ignore"):
        way = unexplained(numbers, elapsed, usual.turns)
    near = np.zeros_like(way)
    for shift in (1, 2):
        near[shift:] = np.fmax(near[shift:], way[:-shift])
        near[:-shift] = np.fmax(near[:-shift], way[shift:])
    there = (way > usual.step) & (way > UNUSUAL * near) & usual.measured[0] & usual.measured[1]
    found[1:] = there.any(axis=1) & (elapsed <= max_gap)
    return found


def _spikes(numbers: Array, usual: Usual) -> NDArray[np.bool_]:
    """Numbers (N, 3, joints) far from the mean of both neighbours, by more than steps and bends near there explain.

    Where a signal steps or bends, its slope between the neighbours is another than between those beyond them; where it
    chatters, the neighbours are far from those beyond them, too.
    """
    found = np.zeros(numbers.shape, dtype=bool)
    if len(numbers) < 3:
        return found
    padded = np.concatenate([numbers[:1], numbers, numbers[-1:]])
    before, after = padded[1:-3], padded[3:-1]
    away = np.abs(numbers[1:-1] - 0.5 * (before + after))
    least = np.maximum(usual.smallest, SPIKE * usual.noise)
    if not (away > least).any():
        return found
    bend = np.abs(0.5 * (after - before) - 0.25 * (padded[4:] - padded[:-4]))
    chatter = np.maximum(np.abs(before - padded[:-4]), np.abs(padded[4:] - after))
    found[1:-1] = (away > least) & (away > SPIKE * bend) & (away > OUTER * chatter)
    return found
