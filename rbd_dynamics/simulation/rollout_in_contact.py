# SPDX-License-Identifier: Apache-2.0
"""Samples of a rollout in contact, side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.simulation.rollout_block import Law, constant, of_law, strides_of
from rbd_dynamics.simulation.simulation import Simulation, SimulationDiverged
from rbd_dynamics.simulation.steps_in_contact import StepsInContact

Array = NDArray[np.float64]
SIDE_BY_SIDE = 16  # samples: of more the caches hold too little
LONGEST = 5_000  # steps of samples in one call: some tenths of a second, then Python may be interrupted


class BlockInContact:
    """Moves up to as many samples as `steps` has states.

    alone: does the steps that are rare.
    """

    def __init__(self, steps: StepsInContact, alone: Simulation) -> None:
        self._steps, self._alone, self._dofs = steps, alone, np.arange(alone.model.nv)
        self._efforts: Array | None = None  # (N, steps, nv)
        self._ended = np.full(steps.states, -1, dtype=np.int64)

    def roll(
        self, kept: tuple[Array, Array], first: int, efforts: Array | Law, steps: int, every: int
    ) -> NDArray[np.int64]:
        """Fill kept states (S + 1, N, ...) of the samples from `first` on, of which the first are there.

        Returns the last step that each has done where it diverged, else -1. efforts: what broadcasts to (N, steps, nv),
        or a law.
        """
        own, count = self._steps, min(self._steps.states, kept[0].shape[1] - first)
        self._kept, self._samples, self._every, self._ended[:] = kept, slice(first, first + count), every, -1
        own.q[:], own.v[:], own.tau[:], own.moving[:] = self._alone.start, 0.0, 0.0, 0
        own.q[:count], own.v[:count], own.moving[:count] = kept[0][0, self._samples], kept[1][0, self._samples], 1
        for k in range(count):
            own.forget(k)
        limit = self._alone.effort_limit
        if callable(efforts):
            own.begin(own.tau, 0, (0, 0, 0), limit, kept, first, every)
            for step in range(steps):
                given = of_law(efforts, step * own.h, own.q[:count].copy(), own.v[:count].copy())
                np.clip(given, -limit, limit, out=own.tau[:count])
                for k in np.flatnonzero(~np.isfinite(own.tau[:count]).all(axis=1)).tolist():
                    self._end(k, step)
                self._march(step + 1)
            return self._ended[:count]
        numbers = np.ascontiguousarray(efforts)
        per_sample, per_step, per_joint = strides_of(numbers)
        if per_step == 0:
            np.clip(constant(numbers, self._samples), -limit, limit, out=own.tau[:count])
        else:
            self._efforts = np.broadcast_to(numbers, (kept[0].shape[1], steps, len(limit)))
        own.begin(numbers, first * per_sample, (per_step, per_sample, per_joint), limit, kept, first, every)
        longest = max(1, LONGEST // own.states)
        while own.done < steps:
            self._march(min(steps, own.done + longest))
        self._efforts = None
        own.begin(own.tau, 0, (0, 0, 0), limit, kept, first, every)  # those of the caller may be large
        return self._ended[:count]

    def _march(self, aim: int) -> None:
        """Steps up to that one."""
        own = self._steps
        while own.done < aim:
            own.run(aim - own.done)
            if own.refused:  # before the step
                if self._efforts is not None:
                    given, limit = self._efforts[self._samples, own.done], self._alone.effort_limit
                    np.clip(given, -limit, limit, out=own.tau[: len(given)])
                own.done += 1
                self._long_way(np.flatnonzero(own.moving))
            elif own.left:
                self._long_way(np.flatnonzero(own.marks > 0))

    def _long_way(self, which: NDArray[np.intp]) -> None:
        """The step just done, of some samples; kept states of it."""
        own, alone = self._steps, self._alone
        for k in which.tolist():
            alone.reset()
            alone.q, alone.v = own.q[k].copy(), own.v[k].copy()
            alone.command(own.tau[k], self._dofs)
            try:
                alone.long_step()
                own.q[k], own.v[k] = alone.q, alone.v
            except SimulationDiverged:
                self._end(k, own.done - 1)
        if own.done % self._every == 0:
            count = self._samples.stop - self._samples.start
            for kept, state in zip(self._kept, (own.q, own.v)):
                kept[own.done // self._every, self._samples] = state[:count]

    def _end(self, k: int, step: int) -> None:
        """That sample has diverged; it rests where nothing can go wrong."""
        own = self._steps
        own.moving[k], self._ended[k] = 0, step
        own.q[k], own.v[k], own.tau[k] = self._alone.start, 0.0, 0.0
