# SPDX-License-Identifier: Apache-2.0
"""Simulations of many states side by side, each as `Simulation` does it: for sampling planners and learning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet
from rbd_dynamics.model.excerpt import excerpt
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.real_numbers import real_array
from rbd_dynamics.processors import usable
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.quick_steps import machine_code, time_step_inputs
from rbd_dynamics.simulation.simulation import Simulation, SimulationDiverged, SimulationOptions

if TYPE_CHECKING:
    from rbd_dynamics.compiler.native import BoundKernel

Array = NDArray[np.float64]
Errors = Literal["raise", "nan"]
Law = Callable[[float, Array, Array], ArrayLike]
BLOCK = 1024  # samples whose states go from step to step together: of more the caches hold too little


class Rollouts(NamedTuple):
    """What became of N states, S + 1 times: at the begin and after every `every` steps.

    time (S + 1,): s. q (N, S + 1, nq), v (N, S + 1, nv): NaN from where a sample diverged. diverged (N,): whether it
    did.
    """

    time: Array
    q: Array
    v: Array
    diverged: NDArray[np.bool_]


class BatchSimulation:
    """Simulations of many states of one robot, brakes off.

    What touches nothing and has no constraints moves in vectors of the processor, by the semi-implicit method; all else
    one sample after the other. The numbers are those of `Simulation`, to rounding.

    Parameters: as of `Simulation`. Make it once: it keeps its kernel.
    """

    def __init__(
        self,
        model: Model,
        *,
        options: SimulationOptions | None = None,
        constraints: ConstraintSet | None = None,
        contacts: Sequence[Contact] | ContactSet | ContactFinder = (),
    ) -> None:
        self.model = model
        self._given = {"options": options, "constraints": constraints, "contacts": contacts}
        self._one = self._simulation()
        self.options = self._one.options
        self._quick = self._one.quick is not None

    def _simulation(self) -> Simulation:
        """One that does what many at once cannot."""
        return Simulation(self.model, **self._given)  # type: ignore[arg-type]

    def run(
        self,
        q: ArrayLike,
        v: ArrayLike,
        efforts: ArrayLike | Law,
        steps: int,
        *,
        every: int = 1,
        errors: Errors = "raise",
        executor: Executor | None = None,
        parts: int | None = None,
        out: Rollouts | None = None,
    ) -> Rollouts:
        """Let many states move for so many steps.

        Parameters:
            q, v: (N, nq) and (N, nv), or one for all.
            efforts: of the joints, cut off at their limits where the options say so: an array that broadcasts to
                (N, steps, nv), so (nv,) for ever, (steps, nv) for all, (N, 1, nv) one for each; or a law: a function
                of the time (s), q (N, nq) and v (N, nv) that gives (N, nv) or (nv,).
            every: how many steps there are between samples.
            errors: "raise" SimulationDiverged, or go on with "nan" for the samples that do.
            executor: computes parts of the samples: a ThreadPoolExecutor (the compiled code runs beside other
                threads), a ProcessPoolExecutor, or `client.get_executor()` of Dask; a law gets the samples of its part.
            parts: into how many, by default as there are processors for this process.
            out: what an earlier call gave, for as many samples and states: its arrays get the new states. (Memory that
                is new has to come from the operating system, which may take as long as the steps.)

        Raises ValueError for shapes that do not fit, and for starting states that are not finite.
        """
        for name, value, least in (("steps", steps, 0), ("every", every, 1)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} {excerpt(value)} is not a whole number, {least} or above")
        if errors not in ("raise", "nan"):
            raise ValueError(f"errors {excerpt(errors)} is none of raise, nan")
        start_q, start_v = _starts(self.model, q, v)
        count, steps, every = len(start_q), int(steps), int(every)
        wanted = efforts if callable(efforts) else _efforts(efforts, count, steps, self.model.nv)
        kept = None if out is None else _kept(out, 1 + steps // every, start_q, start_v)
        if executor is None:
            all_q, all_v, ended = self._roll(start_q, start_v, wanted, steps, every, kept)
        else:
            cuts = np.array_split(np.arange(count), max(1, min(count, parts or usable())))
            jobs = []
            for cut in cuts:
                part = slice(cut[0], cut[-1] + 1) if len(cut) else slice(0, 0)
                own = wanted[part] if not callable(wanted) and wanted.ndim == 3 and len(wanted) > 1 else wanted
                jobs.append(executor.submit(self._roll, start_q[part], start_v[part], own, steps, every))
            found = [job.result() for job in jobs]
            all_q, all_v = kept or _empty(1 + steps // every, start_q, start_v)
            for k, array in enumerate((all_q, all_v)):
                np.concatenate([each[k] for each in found], axis=1, out=array)
            ended = np.concatenate([each[2] for each in found])
        h, diverged = self.options.step, ended >= 0
        if errors == "raise" and diverged.any():
            first = int(np.flatnonzero(diverged)[np.argmin(ended[diverged])])
            raise SimulationDiverged(f"sample {first} of {count} has no state after t = {ended[first] * h:.6g} s")
        time = np.arange(0, steps + 1, every, dtype=float) * h
        return Rollouts(time, all_q.swapaxes(0, 1), all_v.swapaxes(0, 1), diverged)

    def _roll(
        self,
        q: Array,
        v: Array,
        efforts: Array | Law,
        steps: int,
        every: int,
        kept: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array, NDArray[np.int64]]:
        """States (S + 1, N, ...), and the last step that each sample has done where it diverged, else -1.

        kept: arrays for them.
        """
        count, samples = len(q), 1 + steps // every
        all_q, all_v = kept or _empty(samples, q, v)
        ended = np.full(count, -1, dtype=np.int64)
        if not callable(efforts):
            efforts = np.broadcast_to(efforts, (count, steps, self.model.nv))
        if not self._quick:
            simulation = self._simulation()
            for k in range(count):
                own = _of_sample(efforts, k)
                ended[k] = _one_by_one(simulation, q[k], v[k], own, steps, every, all_q[:, k], all_v[:, k])
        else:
            size = count if callable(efforts) else BLOCK  # a law may look at all samples at once
            for start in range(0, count, max(size, 1)):
                block = slice(start, start + size)
                all_q[0, block], all_v[0, block] = q[block], v[block]
                some = _Block(self._one, self._simulation, every, all_q[:, block], all_v[:, block])
                ended[block] = some.roll(efforts if callable(efforts) else efforts[block], steps)
        for lost in np.flatnonzero(ended >= 0):
            first = int(ended[lost]) // every + 1
            all_q[first:, lost] = all_v[first:, lost] = math.nan
        return all_q, all_v, ended


def _starts(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """(N, nq) and (N, nv)."""
    start_q = np.asarray(model.configuration(q), dtype=float)
    start_v = real_array(v, "v")
    if start_q.ndim > 2:
        raise ValueError(f"q has shape {start_q.shape}, expected ({model.nq},) or (N, {model.nq})")
    if start_v.ndim not in (1, 2) or start_v.shape[-1] != model.nv:
        raise ValueError(f"v has shape {start_v.shape}, expected ({model.nv},) or (N, {model.nv})")
    counts = {len(array) for array in (start_q, start_v) if array.ndim == 2}
    if len(counts) > 1:
        raise ValueError(f"q has {len(start_q)} samples, v has {len(start_v)}")
    count = counts.pop() if counts else 1
    _check_finite("q", start_q)
    _check_finite("v", start_v)
    return np.broadcast_to(start_q, (count, model.nq)), np.broadcast_to(start_v, (count, model.nv))


def _empty(samples: int, q: Array, v: Array) -> tuple[Array, Array]:
    """For states of so many times (samples, N, ...)."""
    return np.empty((samples, *q.shape)), np.empty((samples, *v.shape))


def _kept(out: Rollouts, samples: int, q: Array, v: Array) -> tuple[Array, Array]:
    """Its arrays, (S + 1, N, ...). Raises ValueError where they are not of this size, or not such arrays."""
    if not isinstance(out, Rollouts):
        raise ValueError(f"out is a {type(out).__name__}, not what `run` gives")
    for name, given, start in zip("qv", (out.q, out.v), (q, v)):
        shape = (len(start), samples, start.shape[1])
        if np.shape(given) != shape:
            raise ValueError(f"out has {name} of shape {np.shape(given)}, expected {shape}")
    arrays = np.swapaxes(out.q, 0, 1), np.swapaxes(out.v, 0, 1)
    for name, array, start in zip("qv", arrays, (q, v)):
        if not (array.flags.c_contiguous and array.flags.writeable and array.dtype == np.float64):
            raise ValueError(f"out has another {name} than `run` gives")
        if np.may_share_memory(array, start):
            raise ValueError(f"{name} is a part of out, which would be overwritten: give a copy")
    return arrays


def _check_finite(name: str, array: Array) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}: number {tuple(int(k) for k in bad[0])} is not finite")


def _of_law(law: Law, time: float, q: Array, v: Array) -> Array:
    """(N, nv) at one time. Raises ValueError for another shape; NaN ends a sample."""
    found = real_array(law(time, q, v), "efforts")
    if found.shape not in (v.shape, v.shape[1:]):
        raise ValueError(f"efforts has shape {found.shape}, expected {v.shape} or {v.shape[1:]}")
    return np.broadcast_to(found, v.shape)


def _efforts(efforts: ArrayLike, count: int, steps: int, nv: int) -> Array:
    """What broadcasts to (N, steps, nv). Raises ValueError."""
    given = real_array(efforts, "efforts")
    _check_finite("efforts", given)
    try:
        np.broadcast_to(given, (count, steps, nv))
    except ValueError:
        raise ValueError(
            f"efforts has shape {given.shape}, expected what broadcasts to ({count}, {steps}, {nv}): "
            "samples, steps, joints"
        ) from None
    return given


def _of_sample(efforts: Array | Law, k: int) -> Callable[[int, float, Array, Array], Array]:
    """Efforts (nv) of one sample by the number of the step, its time and the state."""
    if callable(efforts):
        return lambda step, time, q, v: _of_law(efforts, time, q[None].copy(), v[None].copy())[0]
    own = efforts[k]
    return lambda step, time, q, v: own[step]


def _one_by_one(
    simulation: Simulation, q: Array, v: Array, efforts: Any, steps: int, every: int, all_q: Array, all_v: Array
) -> int:
    """One sample; the last step that it has done if it diverges, else -1."""
    simulation.reset()
    simulation.q, simulation.v = q.copy(), v.copy()
    dofs = np.arange(simulation.model.nv)
    all_q[0], all_v[0] = q, v
    for step in range(steps):
        tau = efforts(step, step * simulation.options.step, simulation.q, simulation.v)
        try:
            if not np.isfinite(tau).all():
                return step
            simulation.command(tau, dofs)
            simulation.advance(1)
        except SimulationDiverged:
            return step
        if (step + 1) % every == 0:
            sample = (step + 1) // every
            all_q[sample], all_v[sample] = simulation.q, simulation.v
    return -1


class _States(NamedTuple):
    """Of a block's samples, as the kernel takes and gives them."""

    q: Array
    v: Array
    a: Array
    side: Array
    counts: Array


class _Block:
    """Samples that move together, and the states that they have.

    one: what has their kernel and limits; alone: makes what does a sample alone. all_q, all_v: (S + 1, N, ...), after
    every so many steps; the first are there.
    """

    def __init__(
        self, one: Simulation, alone: Callable[[], Simulation], every: int, all_q: Array, all_v: Array
    ) -> None:
        assert one.quick is not None
        self._model, self._h, self._alone = one.model, one.options.step, alone
        self._effort_limit = one.effort_limit
        robot: Robot = one.quick.robot
        q, v = all_q[0], all_v[0]
        count, nv = len(q), one.model.nv
        self._tau = np.zeros((count, nv))
        self._alive, self._ended = np.ones(count, dtype=bool), np.full(count, -1, dtype=np.int64)
        self._steps = np.tile([1.0, 0.0], (count, 1))  # what is to be done: one step of each that is alive
        # Each step is from one state to the next: where the kernel refuses a sample, the one before is there. Where all
        # are kept they are where they stay.
        self._every, self._all_q, self._all_v = every, all_q, all_v
        self._track = (all_q, all_v) if every == 1 else (np.array([q, q]), np.array([v, v]))
        self._turns = [(np.zeros((count, nv)), np.zeros((count, nv)), np.zeros((count, 2))) for _ in range(2)]
        few = _States(q.copy(), v.copy(), np.zeros((count, nv)), np.zeros((count, nv)), np.zeros((count, 2)))
        shared = (*time_step_inputs(self._h, *one.limits), np.array(robot.inertia_input))
        few_tau = np.zeros((count, nv))
        self._kernel, self._shared = machine_code(robot), shared  # kept alive, like all that is bound
        self._next_q = len(self._kernel.signature.inputs)  # the number of an argument
        self._bases = [(track.ctypes.data, track.strides[0]) for track in self._track]
        self._now = self._then = self._state(0)
        first = _States(q, v, *self._turns[0]), _States(q, v, *self._turns[1])
        self._runs = [self._bound(self._tau, *first), self._bound(self._tau, *first[::-1])]  # q and v move on
        self._few, self._run_few = (few_tau, few), self._bound(few_tau, few, few)

    def _bound(self, tau: Array, before: _States, after: _States) -> BoundKernel:
        step, lower, upper, inertia = self._shared
        return self._kernel.bound((*before[:3], tau, step, lower, upper, *before[3:], inertia), after)

    def _state(self, step: int) -> _States:
        """Before that step."""
        q, v = self._track
        return _States(q[self._place(step)], v[self._place(step)], *self._turns[step % 2])

    def _place(self, step: int) -> int:
        return step if self._every == 1 else step % 2

    def roll(self, efforts: Array | Law, steps: int) -> NDArray[np.int64]:
        """Fill the states of all samples; the last step that each has done where it diverged, else -1."""
        limit = self._effort_limit
        lasting = not callable(efforts) and efforts.strides[1] == 0 and steps > 0
        if lasting:
            np.clip(efforts[:, 0], -limit, limit, out=self._tau)  # type: ignore[index]
        for step in range(steps):
            self._now, self._then = self._state(step), self._state(step + 1)
            if callable(efforts):
                np.clip(
                    _of_law(efforts, step * self._h, self._now.q.copy(), self._now.v.copy()), -limit, limit, self._tau
                )
                self._end(self._alive & ~np.isfinite(self._tau).all(axis=1), step)
                self._tau[~self._alive] = 0.0
            elif not lasting:
                np.clip(efforts[:, step], -limit, limit, out=self._tau)
            self._do(step)
            if self._every > 1 and (step + 1) % self._every == 0:
                sample = (step + 1) // self._every
                self._all_q[sample], self._all_v[sample] = self._then.q, self._then.v
        return self._ended

    def _do(self, step: int) -> None:
        """One step of all that are alive."""
        self._now.counts[:] = self._steps
        run = self._runs[step % 2]
        for k, (base, stride) in enumerate(self._bases):
            run.move(k, base + stride * self._place(step))
            run.move(self._next_q + k, base + stride * self._place(step + 1))
        if run(len(self._tau)):
            self._long_way(step)
        else:
            left = self._then.counts[:, 0]
            if left.any():
                if self._settle():
                    self._end(self._then.counts[:, 0] < 0.0, step)
                else:
                    self._long_way(step)

    def _settle(self) -> bool:
        """Samples whose joints come to limits or leave them take more evaluations; False: one is refused."""
        then, (few_tau, few) = self._then, self._few
        while (rows := np.flatnonzero(then.counts[:, 0] > 0.0)).size:
            few_tau[: rows.size] = self._tau[rows]
            for some, array in zip(few, then):
                some[: rows.size] = array[rows]
            if self._run_few(rows.size):
                return False
            for some, array in zip(few, then):
                array[rows] = some[: rows.size]
        return True

    def _end(self, which: NDArray[np.bool_], step: int) -> None:
        """These have diverged."""
        if which.any():
            self._alive &= ~which
            self._ended[which] = step
            self._steps[which] = 0.0

    def _long_way(self, step: int) -> None:
        """The kernel has refused a sample or more: each as `Simulation` does it alone."""
        for then, now in zip(self._then, self._now):
            then[:] = now
        simulation, dofs = self._alone(), np.arange(self._model.nv)
        for k in np.flatnonzero(self._alive):
            simulation.reset()
            simulation.q, simulation.v = self._now.q[k].copy(), self._now.v[k].copy()
            simulation.command(self._tau[k], dofs)
            try:
                simulation.advance(1)
            except SimulationDiverged:
                self._end(np.arange(len(self._tau)) == k, step)
                continue
            self._then.q[k], self._then.v[k], self._then.side[k] = simulation.q, simulation.v, 0.0
