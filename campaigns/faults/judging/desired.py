# SPDX-License-Identifier: Apache-2.0
"""What the robot shall do, as the judge has it: written apart from the nodes' splines."""

from __future__ import annotations

import copy
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Wanted(NamedTuple):
    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class Hold:
    q: Array

    def at(self, stamp: int) -> Wanted:
        rest = np.zeros_like(self.q)
        return Wanted(self.q, rest, rest)


@dataclass(frozen=True, eq=False)
class SetPoint:
    wanted: Wanted

    def at(self, stamp: int) -> Wanted:
        return self.wanted


class Points(NamedTuple):
    """Of a trajectory message whose every point has positions, velocities and accelerations (N, 7)."""

    times: NDArray[np.int64]  # since the start, ns
    q: Array
    v: Array
    a: Array
    start: int  # ns; 0: the state at which it is taken


class Quintics:
    """Through the points ahead, from a state at a time."""

    def __init__(self, points: Points, start: int, now: int, present: Wanted) -> None:
        self.points, self.start, self.after = points, start, Hold(points.q[-1])
        elapsed = (now - start) * 1e-9
        times = points.times * 1e-9
        ahead = times > elapsed
        self.times = [elapsed, *times[ahead].tolist()]
        self._nodes = [present, *(Wanted(*row) for row in zip(points.q[ahead], points.v[ahead], points.a[ahead]))]
        self._pieces: dict[int, Array] = {}
        self.shift = 0  # ns, of `shifted`

    def shifted(self, by: int) -> Quintics:
        """The same, so many ns later."""
        other = copy.copy(self)
        other.start, other.shift = self.start + by, self.shift + by
        return other

    @property
    def empty(self) -> bool:
        return len(self.times) < 2

    def at(self, stamp: int) -> Wanted:
        t = (stamp - self.start) * 1e-9
        if t >= self.times[-1]:
            return self.after.at(stamp)
        k = bisect_right(self.times, t) - 1
        if k < 0:
            return Hold(self._nodes[0].q).at(stamp)
        width = self.times[k + 1] - self.times[k]
        c = self._pieces.get(k)
        if c is None:
            c = self._pieces[k] = _quintic(self._nodes[k], self._nodes[k + 1], width)
        x = (t - self.times[k]) / width
        powers = x ** np.arange(6)
        first = np.array([0, 1, 2 * x, 3 * x**2, 4 * x**3, 5 * x**4]) / width
        second = np.array([0, 0, 2, 6 * x, 12 * x**2, 20 * x**3]) / width**2
        return Wanted(powers @ c, first @ c, second @ c)

    @property
    def ends(self) -> tuple[int, int]:
        """The last ns of the way, and the first after it: what is wanted need not be the same."""
        end = self.start + round(self.times[-1] * 1e9)
        while self.over(end):
            end -= 1
        while not self.over(end + 1):
            end += 1
        return end, end + 1

    def over(self, stamp: int) -> bool:
        return (stamp - self.start) * 1e-9 >= self.times[-1]


#: values and the first two derivatives at 0 and at 1, of the powers of x
_ENDS = np.array([
    [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0],
    [1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5], [0, 0, 2, 6, 12, 20],
], dtype=float)  # fmt: skip


def _quintic(begin: Wanted, end: Wanted, width: float) -> Array:
    """Coefficients (6, joints) in x = t / width."""
    rows = [begin.q, begin.v * width, begin.a * width**2, end.q, end.v * width, end.a * width**2]
    return np.linalg.solve(_ENDS, np.array(rows))


Desired = Hold | SetPoint | Quintics


def holds(desired: Desired, stamp: int) -> bool:
    """Whether it is a hold at a stamp, or has become one at its end."""
    return isinstance(desired, Hold) or (isinstance(desired, Quintics) and desired.over(stamp))
