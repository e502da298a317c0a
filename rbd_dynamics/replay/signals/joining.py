# SPDX-License-Identifier: Apache-2.0
"""Messages that name some of the joints each, arm by arm or joint by joint, become messages with all of them.

The joints that are named most often keep their messages; all others are interpolated to the stamps of these, in
straight lines between two messages and by cubics (Lagrange) where there are four at about equal distances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import listed
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Mask = NDArray[np.bool_]

WHOLE = 0.5  # share of the messages with a position that have all that any has: then messages are not joined
SLOWEST = 5.0  # times fewer messages than the others: a joint that is named more seldom is held, not interpolated
GAP = 5.0  # periods of a joint's own messages, over which it is not interpolated
SHORTEST_GAP = 50_000_000  # ns
EVEN = 0.5  # of the distance between two messages: with others closer to them there is no cubic
LONGEST_WAIT = 1_000_000_000  # ns, for joints that have fallen silent
BACK = 500_000_000  # ns: a stamp that is farther behind is that of a clock which was set


@dataclass(frozen=True)
class Plan:
    """Who is joined to whom.

    Attributes:
        leader: joints (indices) whose messages are kept.
        followers: groups of joints that come together, each interpolated to these.
        gaps: ns, of each group.
        by_header: whether stamps count, or the time of reception, where stamps stand still.
    """

    leader: NDArray[np.intp]
    followers: tuple[NDArray[np.intp], ...]
    gaps: tuple[int, ...]
    by_header: bool

    def times(self, states: JointStates) -> Stamps:
        return states.stamps if self.by_header else states.received


def plan_of(states: JointStates, joints: Sequence[str], log: Log) -> Plan | None:
    """A plan, by the first messages; None where they have all that there is, or what is missing comes too seldom.

    log: is told what is joined.
    """
    there = np.isfinite(states.position)
    named = there.any(axis=1)
    seen = there.any(axis=0)
    if seen.sum() < 2 or not named.any() or (there[named][:, seen].all(axis=1)).mean() >= WHOLE:
        return None
    counts = there.sum(axis=0)
    most = int(np.argmax(counts))
    leader = np.flatnonzero((there == there[:, [most]]).all(axis=0))
    groups: dict[bytes, list[int]] = {}
    for k in np.flatnonzero(seen).tolist():
        if k not in leader and SLOWEST * counts[k] >= counts[most]:
            groups.setdefault(there[:, k].tobytes(), []).append(k)
    if not groups:
        return None
    by_header = len(np.unique(states.stamps)) > max(1, len(states) // 10)
    times = states.stamps if by_header else states.received
    followers = tuple(np.array(group, dtype=np.intp) for group in groups.values())
    periods = [float(np.median(np.diff(np.unique(times[there[:, group[0]]])))) for group in followers]
    gaps = tuple(max(int(GAP * period), SHORTEST_GAP) for period in periods)
    told = [listed([joints[k] for k in group]) for group in (leader, *followers)]
    log.guess(
        f"messages name some of the joints each ({'; '.join(told)}): joined by interpolation at the times of the first"
    )
    return Plan(leader, followers, gaps, by_header)


def joined(blocks: Iterable[JointStates], plan: Plan) -> Iterator[JointStates]:
    """Messages with all the joints, as far as these were there around that time; NaN where they were not."""
    pending: JointStates | None = None
    for block in blocks:
        for part in _by_clock(pending, block, plan):
            if pending is not None and len(pending) and plan.times(part)[0] < plan.times(pending).max() - BACK:
                yield from _given(_completed(pending, plan, None)[0])
                pending = None
            pending = part if pending is None else JointStates.joined([pending, part], part.numbers.shape[2])
            ready, pending = _completed(pending, plan, _settled(pending, plan))
            yield from _given(ready)
    if pending is not None:
        yield from _given(_completed(pending, plan, None)[0])


def _given(states: JointStates) -> Iterator[JointStates]:
    if len(states):
        yield states


def _by_clock(pending: JointStates | None, block: JointStates, plan: Plan) -> Iterator[JointStates]:
    """The block in parts, each of a clock that was not set back."""
    times = plan.times(block)
    before = int(plan.times(pending).max()) if pending is not None and len(pending) else int(times[0])
    highest = np.maximum.accumulate(np.append(before, times))[:-1]
    cuts = np.flatnonzero(np.diff((times < highest - BACK).astype(int), prepend=0) > 0)
    for start, stop in zip((0, *cuts.tolist()), (*cuts.tolist(), len(block))):
        if stop > start:
            yield block[start:stop]


def _settled(states: JointStates, plan: Plan) -> int:
    """Time up to which all groups have two messages more, or have been silent for too long."""
    times, there = plan.times(states), np.isfinite(states.position)
    newest = int(times.max())
    until = newest
    for group in plan.followers:
        own = np.sort(times[there[:, group[0]]])
        until = min(until, int(own[-3]) if len(own) > 2 else int(times.min()) - 1)
    return max(until, newest - LONGEST_WAIT)


def _completed(states: JointStates, plan: Plan, until: int | None) -> tuple[JointStates, JointStates]:
    """(messages of the leader up to a time, completed; those that are still needed). None: all."""
    times, there = plan.times(states), np.isfinite(states.position)
    led = there[:, plan.leader[0]]
    ready = led if until is None else led & (times <= until)
    rows = np.flatnonzero(ready)
    found = states.numbers[rows].copy()
    for group, gap in zip(plan.followers, plan.gaps):
        own = np.flatnonzero(there[:, group[0]])
        own = own[np.argsort(times[own], kind="stable")]
        own = own[np.diff(times[own], prepend=times[own[0]] - 1 if len(own) else 0) > 0]
        found[:, :, group] = _interpolated(times[rows], times[own], states.numbers[own][:, :, group], gap)
    done = JointStates(states.received[rows], states.stamps[rows], found, fraction=states.fraction)
    if until is None:
        return done, states[:0]
    keep = (led & ~ready) | (~led & (times > until - 4 * max(plan.gaps)))
    for group in plan.followers:  # a joint that the leader's message names as well
        keep |= there[:, group[0]] & (times > until - 4 * max(plan.gaps)) & ~ready
    return done, states[keep]


def _interpolated(at: Stamps, times: Stamps, values: Array, gap: int) -> Array:
    """(N, 3, k) at some times, of values (M, 3, k) at increasing ones; NaN outside, and within gaps."""
    found = np.full((len(at), *values.shape[1:]), np.nan)
    if len(times) < 2 or not len(at):
        return found
    right = np.clip(np.searchsorted(times, at), 1, len(times) - 1)
    left = right - 1
    inside = (at >= times[left]) & (at <= times[right]) & (times[right] - times[left] <= gap)
    step = (times[right] - times[left]).astype(float)
    share = (at - times[left]) / step
    line = values[left] + share[:, None, None] * (values[right] - values[left])
    found[inside] = line[inside]
    first, last = np.clip(left - 1, 0, None), np.clip(right + 1, None, len(times) - 1)
    outer = np.minimum(times[left] - times[first], times[last] - times[right])
    far = np.maximum(times[left] - times[first], times[last] - times[right])
    cubic = inside & (first < left) & (last > right) & (outer > EVEN * step) & (far <= gap)
    if cubic.any():
        points = np.stack([(times[k][cubic] - at[cubic]).astype(float) for k in (first, left, right, last)])
        curve = np.zeros((int(cubic.sum()), *values.shape[1:]))
        for k, rows in enumerate((first, left, right, last)):
            weight = np.ones(points.shape[1])
            for other in range(4):
                if other != k:
                    weight *= points[other] / (points[other] - points[k])
            curve += weight[:, None, None] * values[rows[cubic]]
        found[cubic] = np.where(np.isfinite(curve), curve, found[cubic])
    return found
