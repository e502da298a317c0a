# SPDX-License-Identifier: Apache-2.0
"""Simulations of many states side by side, each as `Simulation` does it: for sampling planners and learning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.process.processors import usable
from rbd_dynamics.common.real_numbers import all_finite, real_array
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet
from rbd_dynamics.model.model import Model
from rbd_dynamics.simulation.quick_steps import SEMI_IMPLICIT
from rbd_dynamics.simulation.rollout_block import Block, Law, of_law
from rbd_dynamics.simulation.rollout_in_contact import SIDE_BY_SIDE, BlockInContact
from rbd_dynamics.simulation.simulation import Simulation, SimulationDiverged, SimulationOptions

Array = NDArray[np.float64]
Errors = Literal["raise", "nan"]
FEW = 20_000  # numbers of states: to make what they move in takes longer than to copy them
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
    """Simulations of many states of one robot, brakes off; of one thread.

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
        self._quick = self._one.quick is not None and self._one.quick.kernel is SEMI_IMPLICIT
        self._blocks: dict[tuple[int, int, int], Block] = {}  # what has rolled last, for the next time
        self._in_contact: dict[int, BlockInContact] = {}  # the same

    def __getstate__(self) -> dict[str, Any]:
        """State for copies and other processes, which make what they move in."""
        return {**vars(self), "_blocks": {}, "_in_contact": {}}

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
            raise ValueError(f"errors {excerpt(errors)} is not one of raise, nan")
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
        if not self._quick:
            all_q[0], all_v[0] = q, v
            self._roll_otherwise((all_q, all_v), efforts, steps, every, ended)
        elif 0 < all_q.size + all_v.size <= FEW:
            key = count, samples, every
            block = self._blocks.pop(key, None)  # of two threads one makes another
            if block is None:
                block = Block(self._one, self._simulation, every, *_empty(samples, q, v), 0, count)
            block.begin_anew(q, v)
            ended = block.roll(efforts, steps).copy()
            all_q[:], all_v[:] = block.states
            self._blocks.clear()  # the latest is kept: mostly the next is as large
            self._blocks[key] = block
        else:
            size = count if callable(efforts) else BLOCK  # a law may look at all samples at once
            all_q[0], all_v[0] = q, v
            for first in range(0, count, max(size, 1)):
                some = Block(self._one, self._simulation, every, all_q, all_v, first, min(size, count - first))
                ended[some.samples] = some.roll(efforts, steps)
        for lost in (ended >= 0).nonzero()[0]:
            first = int(ended[lost]) // every + 1
            all_q[first:, lost] = all_v[first:, lost] = math.nan
        return all_q, all_v, ended

    def _roll_otherwise(
        self, kept: tuple[Array, Array], efforts: Array | Law, steps: int, every: int, ended: NDArray[np.int64]
    ) -> None:
        """What touches something, or has constraints."""
        count = len(ended)
        size = max(count if callable(efforts) else min(count, SIDE_BY_SIDE), 1)
        block = self._in_contact.pop(size, None)  # of two threads one makes another
        if block is None:
            alone = self._simulation()  # `_one` stays without kernels, which cannot be copied
            found = alone.steps_in_contact(size)
            block = None if found is None else BlockInContact(found, alone)
        if block is None:
            simulation = self._simulation()
            given = efforts if callable(efforts) else np.broadcast_to(efforts, (count, steps, self.model.nv))
            for k in range(count):
                own = _of_sample(given, k)
                ended[k] = _one_by_one(simulation, own, steps, every, kept[0][:, k], kept[1][:, k])
            return
        for first in range(0, count, size):
            some = slice(first, first + size)
            ended[some] = block.roll(kept, first, efforts, steps, every)
        self._in_contact = {size: block}


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
    _check_finite("v", start_v)
    return _for_each(start_q, count), _for_each(start_v, count)


def _for_each(state: Array, count: int) -> Array:
    """(N, ...) of what may be one for all."""
    return state if state.ndim == 2 else np.broadcast_to(state, (count, len(state)))


def _empty(samples: int, q: Array, v: Array) -> tuple[Array, Array]:
    """Arrays for the states of so many times (samples, N, ...)."""
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
            raise ValueError(f"out has a {name} that differs from what `run` gives")
        if np.may_share_memory(array, start):
            raise ValueError(f"{name} is a part of out, which would be overwritten: give a copy")
    return arrays


def _check_finite(name: str, array: Array) -> None:
    if not all_finite(array):
        bad = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}: number {bad} is not finite")


def _efforts(efforts: ArrayLike, count: int, steps: int, nv: int) -> Array:
    """What broadcasts to (N, steps, nv). Raises ValueError."""
    given = real_array(efforts, "efforts")
    _check_finite("efforts", given)
    wanted = (count, steps, nv)
    if given.ndim > 3 or any(own not in (1, size) for own, size in zip(given.shape[::-1], wanted[::-1])):
        raise ValueError(
            f"efforts has shape {given.shape}, expected what broadcasts to ({count}, {steps}, {nv}): "
            "samples, steps, joints"
        )
    return given


def _of_sample(efforts: Array | Law, k: int) -> Callable[[int, float, Array, Array], Array]:
    """Efforts (nv) of one sample by the number of the step, its time and the state."""
    if callable(efforts):
        return lambda step, time, q, v: of_law(efforts, time, q[None].copy(), v[None].copy())[0]
    own = efforts[k]
    return lambda step, time, q, v: own[step]


def _one_by_one(simulation: Simulation, efforts: Any, steps: int, every: int, all_q: Array, all_v: Array) -> int:
    """One sample; the last step that it has done if it diverges, else -1."""
    simulation.reset()
    simulation.q, simulation.v = all_q[0].copy(), all_v[0].copy()
    dofs = np.arange(simulation.model.nv)
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
