# SPDX-License-Identifier: Apache-2.0
"""Samples that nothing measured: damaged numbers, states that jump, and robots that only their brakes hold.

What a joint can do is decided by `joint_states.plausibility`, as for the nodes, where the description's limits are not
passed by more than `RARELY` of the first messages: then they are not the robot's. Beyond that a single number far from
its neighbours, which are near each other, is damage.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.safety.brakes import slack_of, undriven
from rbd_dynamics.joint_states.plausibility import JITTER, WHOLE_TURN, Plausibility, unexplained_way
from rbd_dynamics.replay.log import Log

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

FIELDS = ("positions", "velocities", "efforts")
RARELY = 0.01  # of the first messages may be beyond a limit of the description
EFFORT = 2.0  # times its limit is no effort
SPIKE = 8.0  # times as far from its neighbours as they are from each other, and as the noise
OUTER = 3.0  # times as far as the neighbours are from those beyond them
SMALLEST = (5e-3, 0.1)  # rad or m, and per s: less than that is no spike
SMALLEST_EFFORT = 0.02  # of the limit, or 0.1 of the efforts' range, whatever is less
JUMP = 2e-3  # rad or m beyond what the velocity explains
UNUSUAL = 5.0  # times what is usual (its 99.9th percentile)
CHUNK = 1024  # samples that the processor's cache holds
LOOK = 2  # samples on either side
SECOND = 1e-9  # of a ns


@dataclass(frozen=True)
class Usual:
    """What the joints can do, and what is usual in the recording's first messages. Arrays (joints,) or (3, joints).

    Attributes:
        measured: which positions, velocities and efforts there are.
        beyond: sizes of velocities and efforts, and distance of positions from `middle`, that cannot be.
        noise: of a number against its neighbours' mean; a spike is more than `SPIKE` times that, and than `smallest`.
        jump: way beyond what the velocity explains, from which on the state has jumped.
        slack: effort up to which a joint is not driven.
        turning: joints whose angle may jump by whole turns.
    """

    _: KW_ONLY
    names: Sequence[str]
    plausibility: Plausibility
    measured: Mask
    beyond: Array
    middle: Array
    noise: Array
    smallest: Array
    jump: Array
    slack: Array
    turning: Mask

    @classmethod
    def of(
        cls,
        numbers: Array,
        period: float,
        *,
        names: Sequence[str],
        measured: Mask,
        limits: Array,
        efforts: Array,
        turning: Mask,
        log: Log,
    ) -> Usual:
        """Usual values from messages (N, 3, joints), the description's limits (joints, 3) and efforts' (joints,)."""
        plausibility = Plausibility(names, limits, turning.tolist())
        velocity, farthest = plausibility.bounds
        beyond = np.stack([farthest, velocity, np.where(efforts > 0.0, EFFORT * efforts, np.inf)])
        beyond[~measured] = np.inf
        away = numbers.copy()
        away[:, 0] -= plausibility.middle
        with np.errstate(invalid="ignore"):
            often = (np.abs(away) > beyond).mean(axis=0) > RARELY
        for field, joint in zip(*np.nonzero(often)):
            log.remark(f"{names[joint]}: the description's limits are not those of its {FIELDS[field]}; not used")
        beyond[often] = np.inf
        noise, spread = np.zeros((2, *beyond.shape))  # of few messages nothing is known
        jump = np.full(len(names), JUMP)
        if len(numbers) > 2:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of joints without velocities or efforts
                second = np.abs(numbers[1:-1] - 0.5 * (numbers[2:] + numbers[:-2]))
                noise = np.nan_to_num(np.nanquantile(second, 0.9, axis=0))
                spread = np.nan_to_num(np.diff(np.nanquantile(numbers, (0.01, 0.99), axis=0), axis=0)[0])
                way = _unexplained(numbers, np.full(len(numbers) - 1, period), turning)
                jump = np.maximum(JUMP, UNUSUAL * np.nan_to_num(np.nanquantile(way, 0.999, axis=0)))
        limit = np.where(efforts > 0.0, efforts, np.inf)
        share = np.maximum(0.1 * spread[2], 1e-3 * np.where(np.isfinite(limit), limit, 0.0))
        smallest = np.stack([np.full(len(names), level) for level in (*SMALLEST, 0.0)])
        smallest[2] = np.maximum(np.minimum(SMALLEST_EFFORT * limit, share), 1e-9)
        slack = slack_of(limit)
        return cls(
            names=tuple(names), plausibility=plausibility, measured=measured, beyond=beyond,
            middle=plausibility.middle, noise=noise, smallest=smallest, jump=jump, slack=slack, turning=turning,
        )  # fmt: skip


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
        self._quick = np.where(usual.measured, np.maximum(usual.smallest, SPIKE * usual.noise), np.inf)
        self._quick[0] = np.minimum(self._quick[0], np.where(usual.measured[0], usual.jump, np.inf))
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
                yield from self._runs(stamps[first:stop][good], numbers[first:stop][good])
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
        size = np.abs(numbers[first:stop])
        np.abs(numbers[first:stop, 0] - usual.middle, out=size[:, 0])
        bad = ((size > usual.beyond) | _spikes(numbers, usual)[first:stop]) & usual.measured
        told = np.zeros(stop - first, dtype=bool)
        for field, name in enumerate(FIELDS):
            here = bad[:, field].any(axis=1) & ~told
            told |= here
            self._log.count(f"implausible {name}", number=int(here.sum()))
            self._damage.update((field, int(joint)) for joint in np.flatnonzero(bad[here, field].any(axis=0)))
        return told

    def remark(self) -> None:
        """Tell the log which joints had damaged numbers."""
        names = [f"{FIELDS[field]} of {self._usual.names[joint]}" for field, joint in sorted(self._damage)]
        if names:
            self._log.remark(f"some numbers cannot have been measured, their messages are left out: {', '.join(names)}")

    def _runs(self, stamps: Stamps, numbers: Array) -> Iterator[tuple[bool, Stamps, Array]]:
        """Cut where the state jumps, and around stretches in which brakes hold."""
        undriven = self._are_undriven(numbers)
        jumped = self._have_jumped(stamps, numbers)
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
            way = _unexplained(numbers, elapsed, usual.turning)
            known = usual.measured[1]
            fastest = usual.plausibility.bounds[0] * (elapsed[:, None] + JITTER)
            most = np.where(known, usual.jump, np.maximum(usual.jump, fastest))
            jumped = (way > most) & usual.measured[0] & (elapsed <= self._max_gap)[:, None]
            found[len(found) - len(elapsed) :] = jumped.any(axis=1)
        return found


def _unexplained(numbers: Array, elapsed: Array, turning: Mask) -> Array:
    """Ways (N - 1, joints) between samples beyond what their velocities explain."""
    way = np.diff(numbers[:, 0], axis=0)
    way -= np.where(turning, WHOLE_TURN * np.round(way / WHOLE_TURN), 0.0)
    return unexplained_way(way, numbers[1:, 1], numbers[:-1, 1], elapsed[:, None])


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
