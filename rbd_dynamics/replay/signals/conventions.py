# SPDX-License-Identifier: Apache-2.0
"""What is decided once for a whole recording, from its first messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates, RecordingError
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.signals.clock import wild_stamps
from rbd_dynamics.replay.signals.usual import Usual

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FIRST_MESSAGES = 2000  # messages
LONG_AGO = 10**15  # ns: a later time is that of the day, an earlier one may be a simulation's
SHORTEST_MAX_GAP = 0.05  # s
FEWEST = 3.0  # periods: of the window in which stamps are sorted
FEW = 20  # messages: fewer tell nothing of where they come from
#: rad or m from one message to the next, and back to within a share of that, so often: no joint moves like that
APART, RETURNS, OFTEN = 0.02, 0.2, 0.05
OFTEN_EQUAL = 0.3  # among messages of which several may have the same stamp
SECOND = 1e-9  # of a ns


@dataclass(frozen=True)
class Conventions:
    """What holds for all of a recording. Arrays (joints,).

    Attributes:
        clock: whether stamps are those of the headers or of the reception.
        wall_clock: stamps are times of the day, so that a zero is none.
        period: usual distance of two samples, s.
        max_gap: up to which a hole is bridged, s.
        sampled: joints that every sample has; the others are held where they were last seen.
        velocity: sampled joints whose velocity is measured.
        effort: sampled joints whose effort is measured.
        window: how far a stamp may lie behind an earlier one, ns.
        first: the earliest stamp, ns.
        usual: what the joints can do, and what numbers look like.
    """

    clock: Literal["header", "received"]
    wall_clock: bool
    period: float
    max_gap: float
    sampled: Mask
    velocity: Mask
    effort: Mask
    window: int
    first: int
    usual: Usual


def conventions_of(
    states: JointStates,
    joints: Sequence[str],
    settings: Settings,
    log: Log,
    *,
    limits: Array | None = None,
    turns: Array | None = None,
) -> Conventions:
    """Decide what holds for the whole recording. Raises RecordingError where there is too little to go by.

    limits: of the joints (joints, 4): lowest and highest position, velocity, effort; None: unknown. turns: whole
    turns by which each joint's angle may jump, at most; None: none.
    """
    clock = _clock(states, settings, log)
    stamps = states.stamps if clock == "header" else states.received
    finite = np.isfinite(states.numbers)
    sampled = _sampled(finite)
    if not sampled.any():
        raise RecordingError(f"no position of {', '.join(joints)} in the first {len(states)} messages")
    rows = finite[:, 0, sampled].all(axis=1)
    count = len(np.unique(stamps[rows]))
    if count < 2:
        raise RecordingError(f"{count} sample with all of {', '.join(_named(joints, sampled))}: too few")
    _check_one_source(stamps[rows], states.numbers[rows, 0], joints, sampled)
    first, steps = _times(stamps[rows], states.received[rows], int(settings.reorder_window / SECOND))
    period = _period(steps.astype(float) * SECOND, log)
    velocity = sampled & (settings.velocity != "differentiated") & finite[rows, 1].any(axis=0)
    if settings.velocity == "measured" and (velocity != sampled).any():
        raise RecordingError(f"no velocities of {', '.join(_named(joints, sampled & ~velocity))}")
    if settings.velocity == "auto":
        idle = velocity & _stuck(states.numbers[rows])
        for name in _named(joints, idle):
            log.remark(f"the velocity of {name} is zero while it moves: differentiated from its position instead")
        velocity &= ~idle
        missing = _named(joints, sampled & ~velocity & ~idle)
        if missing:
            log.remark(f"no velocities of {', '.join(missing)}: differentiated from positions")
    effort = sampled & finite[rows, 2].any(axis=0)
    max_gap = settings.max_gap if settings.max_gap is not None else max(5.0 * period, SHORTEST_MAX_GAP)
    wall_clock = bool(np.median(stamps) > LONG_AGO)
    window = int(max(settings.reorder_window, FEWEST * period) / SECOND)
    if limits is None:
        limits = np.tile([-np.inf, np.inf, np.inf, np.inf], (len(joints), 1))
    usual = Usual.of(
        states.numbers[rows],
        period,
        names=joints,
        measured=np.stack([sampled, velocity, effort]),
        limits=limits[:, :3],
        efforts=limits[:, 3],
        turns=np.zeros(len(joints)) if turns is None else turns,
        log=log,
    )
    return Conventions(clock, wall_clock, period, max_gap, sampled, velocity, effort, window, first, usual)


def _times(stamps: NDArray[np.int64], received: NDArray[np.int64], window: int) -> tuple[int, NDArray[np.int64]]:
    """The earliest stamp before the clock is first set back, and the steps of the longest stretch without that."""
    stamps = stamps[~wild_stamps(stamps, received, window)]
    behind = stamps < np.maximum.accumulate(stamps) - window
    parts = [np.unique(part) for part in np.split(stamps, np.flatnonzero(np.diff(behind, prepend=False)))]
    first = next((int(part[part > 0][0]) for part in parts if (part > 0).any()), 0)
    return first, np.diff(max(parts, key=len))


def _period(steps: Array, log: Log) -> float:
    """The median, but where samples come in bursts the mean without the longest holes."""
    median, mean = float(np.median(steps)), float(np.mean(steps[steps <= np.quantile(steps, 0.95)]))
    if median > 0.5 * mean:
        return median
    log.remark(f"messages come in bursts, on average one in {1e3 * mean:.3g} ms")
    return mean


def _clock(states: JointStates, settings: Settings, log: Log) -> Literal["header", "received"]:
    if settings.clock != "auto":
        return settings.clock
    if len(np.unique(states.stamps)) > max(1, len(states) // 10):
        return "header"
    log.remark("the headers' stamps stand still: times are those of the reception, which jitter more")
    return "received"


def _sampled(finite: Mask) -> Mask:
    """Joints that a sample must have: of the patterns that are frequent, that with most efforts, then most joints."""
    patterns, which, counts = np.unique(finite[:, 0], axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    efforts = [int(finite[which == k, 2].any(axis=0).sum()) for k in range(len(patterns))]
    frequent = [k for k in range(len(patterns)) if counts[k] >= 0.1 * len(finite)]
    return patterns[max(frequent or range(len(patterns)), key=lambda k: (efforts[k], patterns[k].sum(), counts[k]))]


def _stuck(numbers: Array) -> Mask:
    """Joints that move although their velocity is always zero."""
    position, velocity = numbers[:, 0], np.nan_to_num(numbers[:, 1])
    return (velocity == 0.0).all(axis=0) & (np.ptp(position, axis=0) > 1e-3)


def _check_one_source(stamps: NDArray[np.int64], positions: Array, joints: Sequence[str], sampled: Mask) -> None:
    """Raises RecordingError where positions (N, joints) go back and forth as those of two robots on one topic do.

    Both in the order of the stamps, which may be out of order, and in that in which they came, in which the clock may
    have been set; of equal stamps the first counts, unless there are two of most.
    """
    _, first = np.unique(stamps, return_index=True)
    for rows, often in ((np.sort(first), OFTEN), (np.arange(len(stamps)), OFTEN_EQUAL)):
        by_stamp = rows[np.argsort(stamps[rows], kind="stable")]
        there, sorted_ = (_back_and_forth(positions[order]) for order in (rows, by_stamp))
        for k in np.flatnonzero(sampled & (there.mean(axis=0) > often) & (sorted_.mean(axis=0) > often)).tolist():
            at = rows[int(np.flatnonzero(there[:, k])[0]) :]
            one, other = positions[at[0], k], positions[at[1], k]
            raise RecordingError(
                f"the position of {joints[k]} goes back and forth, as from {one:.3g} to {other:.3g}, in "
                f"{100 * there[:, k].mean():.0f} % of the messages: two robots publish on one topic; record each on "
                "its own"
            )


def _back_and_forth(positions: Array) -> Mask:
    """Samples at which positions (N, joints) leave and return at once, (N - 2, joints); nowhere in a few."""
    if len(positions) < FEW:
        return np.zeros((1, positions.shape[1]), dtype=bool)
    step, back = np.abs(positions[1:-1] - positions[:-2]), np.abs(positions[2:] - positions[:-2])
    return np.asarray((step > APART) & (back < RETURNS * step))


def _named(joints: Sequence[str], mask: Mask) -> list[str]:
    return [name for name, chosen in zip(joints, mask) if chosen]
