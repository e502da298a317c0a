# SPDX-License-Identifier: Apache-2.0
"""Samples of a rollout that move together, in vectors of the processor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.simulation import march
from rbd_dynamics.simulation.quick_steps import machine_code, time_step_inputs
from rbd_dynamics.simulation.simulation import Simulation, SimulationDiverged

if TYPE_CHECKING:
    from rbd_dynamics.compiler.loops import Argument
    from rbd_dynamics.compiler.native import BoundKernel

Array = NDArray[np.float64]
Law = Callable[[float, Array, Array], ArrayLike]
LONGEST = (
    100_000  # steps of samples in one call of machine code: some tenths of a second, then Python may be interrupted
)


def strides_of(efforts: Array) -> tuple[int, int, int]:
    """How far apart the numbers of samples, steps and joints are in what broadcasts to (N, steps, nv), contiguous."""
    samples, steps, joints = (1, 1, 1, *efforts.shape)[-3:]
    return steps * joints if samples > 1 else 0, joints if steps > 1 else 0, 1 if joints > 1 else 0


def constant(efforts: Array, samples: slice) -> Array:
    """Efforts of these samples where they are the same in all steps: what broadcasts to (N, nv)."""
    if efforts.ndim < 3:
        return efforts
    return efforts[samples, 0] if len(efforts) > 1 else efforts[0, 0]


def of_law(law: Law, time: float, q: Array, v: Array) -> Array:
    """(N, nv) at one time. Raises ValueError for another shape; NaN ends a sample."""
    found = real_array(law(time, q, v), "efforts")
    if found.shape not in (v.shape, v.shape[1:]):
        raise ValueError(f"efforts has shape {found.shape}, expected {v.shape} or {v.shape[1:]}")
    return np.broadcast_to(found, v.shape)


@functools.cache
def _loops() -> Loops:
    return Loops(march.copied, march.limited, march.march, machine_code=True)


class Block:
    """Samples `first` to `first` + `count`.

    one: what has their kernel and limits; alone: makes what does a sample alone. all_q, all_v: states (S + 1, N, ...)
    after every so many steps, contiguous; the first are there.
    """

    def __init__(
        self, one: Simulation, alone: Callable[[], Simulation], every: int, all_q: Array, all_v: Array,
        first: int, count: int,
    ) -> None:  # fmt: skip
        assert one.quick is not None
        self.samples = slice(first, first + count)
        self._model, self._h, self._limit, self._alone = one.model, one.options.step, one.effort_limit, alone
        self._count, self._every, self._kept = count, every, (all_q[:, self.samples], all_v[:, self.samples])
        nq, nv = one.model.nq, one.model.nv
        self._done = 0  # steps
        self._lost = False  # some have diverged
        self._alive, self._ended = np.ones(count, dtype=bool), np.full(count, -1, dtype=np.int64)
        self._to_do = np.ones(count)  # steps of each that is alive
        # Each step is from one state to the next: where the kernel refuses a sample, the one before is there. Where all
        # are kept they are where they stay, else in two places by turns, as all that is not kept.
        self._direct = every == 1
        q, v = (kept[0] for kept in self._kept)
        tracks = (all_q, all_v) if self._direct else (np.array([q, q]), np.array([v, v]))
        self._tracks = [track[:, self.samples] if self._direct else track for track in tracks]
        self._begin = [track.shape[2] * first if self._direct else 0 for track in tracks]  # numbers before the first's
        self._apart = [track.shape[1] * track.shape[2] for track in tracks]
        sizes = (nv, nv, 2)
        self._blank = np.zeros(2 * count * sum(sizes) + count * nv)  # what begins with zeros
        *parts, tau = np.split(self._blank, np.cumsum([2 * count * size for size in sizes]))
        a, side, self._counts = self._turns = [part.reshape(2, count, -1) for part in parts]
        self._tau = tau.reshape(count, nv)
        few = [np.zeros((count, size)) for size in (nq, nv, nv, nv, 2)]
        few_tau = np.zeros((count, nv))
        kernel = machine_code(one.quick.robot)
        step, lower, upper = time_step_inputs(self._h, *one.limits)
        self._robot, self._inertia = one.quick.robot, np.array(one.quick.robot.inertia_input)

        def bound(tau: Array, states: Sequence[Array]) -> BoundKernel:
            return kernel.bound((*states[:3], tau, step, lower, upper, *states[3:], self._inertia), states)

        many = bound(self._tau, (q, v, a[0], side[0], self._counts[0]))
        self._why = np.zeros(1, dtype=np.int64)
        addresses = np.array([array.ctypes.data for array in (*tracks, a, side, self._counts)])
        self._fixed: list[Argument] = [
            count, nq, nv, many.function, np.array(many.places), np.array(bound(few_tau, few).places), addresses,
            *tracks, 1 if self._direct else -1, a, side, self._counts, self._to_do, self._tau,
        ]  # fmt: skip
        self._rest: list[Argument] = [
            self._limit * np.ones(nv),
            *few[:3],
            few_tau,
            *few[3:],
            np.zeros(count, dtype=np.int64),
            self._why,
        ]
        self._keeps = kernel, step, lower, upper  # alive, like all that is bound

        # where it stands, and the efforts, are set before it runs
        self._bound = _loops().bind(0, 0, 0, 0, 0, 0, 0, *self._fixed, self._tau, 0, 0, 0, *self._rest)
        self._place_of_efforts = 7 + len(self._fixed)

    def begin_anew(self, q: Array, v: Array) -> None:
        """The samples at other states, as if made for them."""
        np.copyto(self._inertia, self._robot.inertia_input)
        self._done = 0
        self._blank[:] = 0.0
        if self._lost:
            self._lost, self._alive[:], self._ended[:], self._to_do[:] = False, True, -1, 1.0
        for kept, state in zip(self._kept, (q, v)):
            kept[0] = state
        if not self._direct:
            for track, state in zip(self._tracks, (q, v)):
                track[:] = state

    @property
    def states(self) -> tuple[Array, Array]:
        """q, v (S + 1, N, ...), that are written anew by the next roll."""
        return self._kept

    def roll(self, efforts: Array | Law, steps: int) -> NDArray[np.int64]:
        """Fill the states of all samples; the last step that each has done where it diverged, else -1.

        efforts: what broadcasts to (N, steps, nv), or a law.
        """
        if callable(efforts):
            self._roll_by_law(efforts, steps)
            return self._ended
        numbers = np.ascontiguousarray(efforts)
        per_sample, per_step, per_joint = strides_of(numbers)
        if per_step == 0 and steps > 0:
            np.minimum(np.maximum(constant(numbers, self.samples), -self._limit), self._limit, out=self._tau)
        if per_step:
            self._efforts(numbers, per_step, per_sample, per_joint)
        begin = self.samples.start * per_sample
        longest = max(1, LONGEST // self._count) if self._direct else self._every
        while self._done < steps:
            self._march(min(longest, steps - self._done), begin, per_step)
        if per_step:
            self._efforts(self._tau, 0, 0, 0)  # those of the caller are not kept: they may be large
        return self._ended

    def _roll_by_law(self, law: Law, steps: int) -> None:
        limit = self._limit
        for step in range(steps):
            q, v = self._state(step)[:2]
            np.clip(of_law(law, step * self._h, q.copy(), v.copy()), -limit, limit, out=self._tau)
            self._end(self._alive & ~np.isfinite(self._tau).all(axis=1), step)
            self._tau[~self._alive] = 0.0
            self._march(1, 0, 0)

    def _efforts(self, efforts: Array, *strides: int) -> None:
        """Tell `march` where it reads efforts: without a `per_step` nowhere, those in `_tau` stay."""
        _loops().check(self._place_of_efforts, efforts)
        self._bound.place(self._place_of_efforts, efforts)
        for k, stride in enumerate(strides, start=1):
            self._bound.set(self._place_of_efforts + k, stride)

    def _march(self, steps: int, efforts_begin: int, per_step: int) -> None:
        """So many steps, of which the last one may be kept."""
        bound = self._bound
        aim = self._done + steps
        while self._done < aim:
            turn = self._done % 2
            place = self._done if self._direct else turn
            back = -1 if turn and not self._direct else 1
            now = [begin + place * apart for begin, apart in zip(self._begin, self._apart)]
            ahead = [back * apart for apart in self._apart]
            for k, value in enumerate((aim - self._done, turn, *now, *ahead, efforts_begin + self._done * per_step)):
                bound.set(k, value)
            self._done += bound.run_aside()
            if self._why[0] == march.ENDED:
                self._end(self._counts[self._done % 2, :, 0] < 0.0, self._done - 1)
            elif self._why[0] == march.REFUSED:
                self._long_way()
                self._done += 1
        if not self._direct and self._done % self._every == 0:
            for kept, state in zip(self._kept, self._state(self._done)):
                kept[self._done // self._every] = state

    def _state(self, step: int) -> list[Array]:
        """q, v, a, side and counts before that step."""
        turn = step % 2
        return [track[step if self._direct else turn] for track in self._tracks] + [each[turn] for each in self._turns]

    def _end(self, which: NDArray[np.bool_], step: int) -> None:
        """These have diverged."""
        if which.any():
            self._lost = True
            self._alive &= ~which
            self._ended[which] = step
            self._to_do[which] = 0.0

    def _long_way(self) -> None:
        """The kernel has refused a sample or more: each does the step that comes as `Simulation` does it alone."""
        step = self._done
        now, then = self._state(step), self._state(step + 1)
        for before, after in zip(now, then):
            after[:] = before
        simulation, dofs = self._alone(), np.arange(self._model.nv)
        for k in np.flatnonzero(self._alive):
            simulation.reset()
            simulation.q, simulation.v = now[0][k].copy(), now[1][k].copy()
            simulation.command(self._tau[k], dofs)
            try:
                simulation.advance(1)
            except SimulationDiverged:
                self._end(np.arange(self._count) == k, step)
                continue
            then[0][k], then[1][k], then[3][k] = simulation.q, simulation.v, 0.0
