# SPDX-License-Identifier: Apache-2.0
"""Many poses of inverse kinematics side by side: tries from where they begin, and pulls towards a posture."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Limits = tuple[Array, Array]
STEPS = 28  # of one try: who has not come by then is better off elsewhere
SIFTED = 4  # steps of many poses between two looks at which are reached
PULLS, CORRECTIONS = 100, 6  # towards a posture, and back to the pose after each
LEAST_PULL = 1e-5  # of the way: as short a pull that does not come nearer is the last
SUFFICIENT = 0.5  # of what a pull promises to first order: less means that it was too long
ROUNDED = 1e-10  # of the square of the distance to a posture: less is no progress


class Steps(Protocol):
    """Steps of the search, for one frame or several."""

    def step(self, at: Samples, limits: Limits, wanted: Array, after: Array, posture: Array, pull: Array) -> None:
        """A step of each sample from `at` to `after`; what it gives of the positions before is written to `at`."""

    def samples(self, q: Array) -> Samples:
        """Samples at q (N, nq), of which nothing is known yet."""


class Samples(NamedTuple):
    """Positions (N, nq), squares of their errors (N, ...), and of their distance from a posture (N)."""

    q: Array
    turn: Array
    distance: Array
    worst: Array
    cost: Array
    apart: Array

    def take(self, which: Indices | NDArray[np.bool_], others: Samples, rows: Indices | NDArray[np.bool_]) -> None:
        """Put rows of others in place of some."""
        for own, other in zip(self, others):
            own[which] = other[rows]


class PoseSearch:
    """The best positions of each pose (N) so far."""

    def __init__(self, solver: Steps, limits: Limits, wanted: Array, most: float) -> None:
        self._solver, self._limits, self._wanted, self._most = solver, limits, wanted, most
        self.found = solver.samples(np.zeros((len(wanted), len(limits[0]))))

    @property
    def missed(self) -> NDArray[np.bool_]:
        """Which poses are not reached."""
        return ~(self.found.worst <= self._most)

    def run(self, which: Indices, q: Array, steps: int = STEPS) -> None:
        """One try of these poses, from q (n, nq)."""
        if not len(which):
            return
        wanted, at, after = self._wanted[which], self._solver.samples(np.array(q, order="C")), np.empty(q.shape)
        none = np.zeros(len(q))
        for step in range(steps + 1):
            self._solver.step(at, self._limits, wanted, after, at.q, none[: len(at.q)])
            done = at.worst <= self._most
            if step == steps or done.all():
                self._keep(which, at)
                return
            if not done.any():
                at, after = at._replace(q=after), at.q
            elif step % SIFTED:
                after[done] = at.q[done]
                at, after = at._replace(q=after), at.q
            else:
                self._keep(which[done], Samples(*(x[done] for x in at)))
                which, wanted = which[~done], wanted[~done]
                at = self._solver.samples(after[~done])
                after = np.empty(at.q.shape)

    def _keep(self, which: Indices, at: Samples) -> None:
        """Take those that are nearer than what was found before."""
        better = at.cost < self.found.cost[which]
        self.found.take(which[better], at, better)

    def pull(self, posture: Array) -> None:
        """Move what has reached its pose towards a posture (N, nq), as far as the frames stay where they are."""
        which = np.flatnonzero(~self.missed)
        share = np.ones(len(which))
        for _ in range(PULLS):
            if not len(which):
                return
            at = self._solver.samples(self.found.q[which])
            wanted, rest, moved = self._wanted[which], posture[which], np.empty(at.q.shape)
            self._solver.step(at, self._limits, wanted, moved, rest, share)
            before, length = at.apart.copy(), np.square(moved - at.q).sum(axis=1)
            progress = np.maximum(SUFFICIENT * length / share, ROUNDED * before)
            for _ in range(CORRECTIONS):
                at = at._replace(q=moved)
                moved = np.empty(at.q.shape)
                self._solver.step(at, self._limits, wanted, moved, rest, np.zeros(len(which)))
                off = ~(at.worst <= self._most)
                if not off.any():
                    break
                moved[~off] = at.q[~off]
            nearer = (at.worst <= self._most) & (at.apart < before - progress)
            self.found.take(which[nearer], at, nearer)
            share = np.where(nearer, np.minimum(1.0, 2.0 * share), 0.5 * share)
            on = share >= LEAST_PULL
            which, share = which[on], share[on]
