# SPDX-License-Identifier: Apache-2.0
"""Many steps in contact in one call of machine code, of one state or of several side by side.

For what most robots are: on pedestals and on floating bases; without joint friction, constraints, and joints whose rate
of position is not their velocity. Everything else, and each step in which something is rare (a rebound, a limit that is
reached, contacts that take more than sweeps), goes the long way, which comes to the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.loops import Argument, Bound, Kernel, Loops, Table
from rbd_dynamics.contacts import Contact, FoundContacts
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.contact_march import LONG, REFUSED, UNFINISHED

if TYPE_CHECKING:
    from rbd_dynamics.compiler.native import NativeKernel
    from rbd_dynamics.kernels.evaluation import Evaluation

Array = NDArray[np.float64]
Numbers = tuple[tuple[str, int], ...]  # to set, by the names of arguments
FEW = 32  # steps, up to which Python's lock is kept: to give it away and take it back would cost more
ENDLESS = 1 << 60  # steps


class Settings(NamedTuple):
    """What is simulated: the robot, its step (s), and the position limits (nv), infinite where there are none."""

    robot: Robot
    h: float
    lower: Array
    upper: Array


class StepsInContact(ABC):
    """Steps of so many states side by side; None: of one, for which no code for batches is compiled.

    q (states, nq), v, tau, a (states, nv): where they are, what drives them, and the acceleration in the last step.
    moving (states): 0 for those that stay. marks (states): 1 for whom the step just done is left to the long way.
    done: steps since `begin`. After `run`: left: some states are marked; refused: the step that comes is the long
    way's, for all of them.
    """

    def __init__(self, settings: Settings, states: int | None) -> None:
        robot, h, lower, upper = settings
        nq, nv, self.single, self.states = robot.model.nq, robot.model.nv, states is None, states or 1
        count = self.states
        self.robot, self.h, self.done, self.left, self.refused = robot, h, 0, False, False
        self.q, self.v, self.tau, self.a = (np.zeros((count, size)) for size in (nq, nv, nv, nv))
        self._only = self.q[0], self.v[0], self.tau[0], self.a[0]
        self.moving, self.marks = np.ones(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._given = robot.inertia_input
        self.inertia, self.reached = np.array(self._given), np.zeros((count, nv))
        self._before, self._why = np.zeros((count, nq)), np.zeros(2, dtype=np.int64)
        self._alive: list[object] = []  # of what machine code has only the addresses
        self._every, self._efforts, self._rows = ENDLESS, (0, 0), [(0, 0), (0, 0)]  # see `begin`
        self._positions, self._now = dict[str, int](), dict[str, int]()  # of whole numbers that are set
        self._bound: Bound | None = None
        self._arguments: dict[str, Argument] = {
            "steps": 0, "wait": ENDLESS, "efforts_at": 0, "q_to": 0, "v_to": 0,
            "states": count, "single": int(self.single), "nq": nq, "nv": nv, **self._end(h, lower, upper),
            "q": self.q, "v": self.v, "tau": self.tau, "reached": self.reached, "q_before": self._before,
            "moving": self.moving, "marks": self.marks, "why": self._why, "most": np.full(nv, np.inf),
            "efforts": self.tau, "per_step": 0, "per_state": 0, "per_joint": 0,
            "used": 0, "every": ENDLESS, "all_q": self.q, "all_v": self.v, "q_apart": 0, "v_apart": 0,
        }  # fmt: skip

    def _end(self, h: float, lower: Array, upper: Array) -> dict[str, Argument]:
        """What ends a step."""
        model, q_then, v_then = self.robot.model, np.zeros_like(self.q), np.zeros_like(self.v)
        carry: Kernel | int = 0
        carry_at, change = np.zeros(1, dtype=np.int64), np.zeros(self.states)
        floats = any(isinstance(joint.kind, Floating) for joint in model.joints)
        if floats:
            inputs = (self.q, self.v, self.reached, np.array(h), self.inertia)
            carry, carry_at = self.kernel(self.robot.evaluation("free_base_step"), inputs, (q_then, v_then, change))
        dofs = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        q_index = {joint.v_index: joint.q_index for joint in model.joints}
        return {
            "floats": int(floats), "h": np.array([h]), "carry": carry, "carry_at": carry_at, "change": change,
            "joints": len(dofs), "places": np.array([q_index[dof] for dof in dofs.tolist()], dtype=np.int64),
            "lower": np.ascontiguousarray(lower[dofs]), "upper": np.ascontiguousarray(upper[dofs]),
            "q_then": q_then, "v_then": v_then,
        }  # fmt: skip

    # --- what differs -----------------------------------------------------------------------------

    #: whole numbers of a step that begins
    AFRESH: ClassVar[Numbers] = ()

    @abstractmethod
    def _march(self) -> tuple[Loops, dict[str, Argument]] | None:
        """The loops, and their arguments besides what all have in common; None: all goes the long way."""

    @abstractmethod
    def forget(self, state: int = 0) -> None:
        """No forces of a step before are known: the next is as the first."""

    @abstractmethod
    def results(self) -> tuple[tuple[Contact, ...], Array, tuple[FoundContacts, Array] | None]:
        """The last step's, of a single state: contacts, forces (contacts, 3) in N, and what was found, and where."""

    def _resumed(self, state: int) -> Numbers:
        """What to set to go on within a step that has come to that state, and not further."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make what steps need ahead of them."""
        self._make()

    # --- for who makes the loops ------------------------------------------------------------------

    def kernel(self, evaluation: Evaluation, inputs: Sequence[Array], outputs: Sequence[Array]) -> tuple[Kernel, Table]:
        """A kernel as loops call it; of one state or of several, as this has them."""
        kernel = cast("NativeKernel", evaluation.kernel)
        bound = (kernel.bound_single if self.single else kernel.bound)(inputs, outputs)
        self._alive += [kernel, *inputs, *outputs]
        return bound.function, np.array(bound.places)

    @staticmethod
    def moves(loops: Loops, **arrays: Array) -> Table:
        """Arguments of other loops that are another array for each state, as `contact_march.pointed` takes them."""
        places = [(loops.positions[name], array.ctypes.data, array.strides[0]) for name, array in arrays.items()]
        return np.array([len(places), *np.array(places).reshape(-1)], dtype=np.int64)

    def make_anew(self) -> None:
        """Arrays that `_march` gives are others now."""
        self._bound = None

    # --- steps ------------------------------------------------------------------------------------

    def advance(self, q: Array, v: Array, tau: Array, steps: int) -> tuple[int, Array, Array, Array]:
        """Up to so many steps of a single state: (those done, q', v', the acceleration in the last of them).

        It ends before a step that is to go the long way.
        """
        own_q, own_v, own_tau, a = self._only
        own_q[:], own_v[:], own_tau[:] = q, v, tau
        done = self.run(steps)
        return done - self.left, own_q.copy(), own_v.copy(), a.copy()

    def run(self, steps: int) -> int:
        """Up to so many steps; returns how many. It ends after one with `marks`, and before one that is `refused`."""
        begin, aim = self.done, self.done + steps
        if self.robot.inertia_input is not self._given:
            self._given = self.robot.inertia_input
            self.inertia[:] = self._given
        within = self.AFRESH
        while True:
            bound = self._bound or self._make()
            if bound is None:
                self.left, self.refused = False, True
                return self.done - begin
            self._set("steps", aim - self.done)
            if self._every != ENDLESS:
                self._stand()
            for name, number in within:
                self._set(name, number)
            if aim - self.done > FEW:
                self.done += bound.run_aside()
            else:
                bound.run()
                self.done += bound.result
            why = self._why.item(0)
            if why != UNFINISHED:
                self.left, self.refused = why == LONG, why == REFUSED
                return self.done - begin
            within = self._resumed(self._why.item(1))

    def begin(
        self, efforts: Array, begin: int, strides: Sequence[int], most: Array, kept: tuple[Array, Array], first: int,
        every: int,
    ) -> None:  # fmt: skip
        """Steps that come are from the first on.

        Parameters:
            efforts: the one of step s, state i and joint j is number begin + s strides[0] + i strides[1] + j strides[2]
                of it; without strides[0] those in `tau` stay. most (nv): what cuts them off.
            kept: where states (S + 1, N, ...), of which these are from number `first` on, are kept after every so many
                steps; the first are there.
        """
        self.done, self._every, self._efforts = 0, every, (begin, strides[0])
        self._rows = [(first * array.shape[2], array.shape[1] * array.shape[2]) for array in kept]
        arrays = {"efforts": efforts, "most": most, "all_q": kept[0], "all_v": kept[1]}
        numbers = dict(zip(("per_step", "per_state", "per_joint"), strides), every=every)
        numbers["used"] = min(self.states, kept[0].shape[1] - first)
        numbers |= {"q_apart": self._rows[0][1], "v_apart": self._rows[1][1]}
        self._arguments.update(**arrays, **numbers)
        if self._bound is not None:
            for name, array in arrays.items():
                self._bound.place(self._positions[name], array)
            for name, number in numbers.items():
                self._set(name, number)

    def _stand(self) -> None:
        """Say where efforts and kept states of the step that comes are."""
        self._set("wait", self._every - self.done % self._every)
        self._set("efforts_at", self._efforts[0] + self.done * self._efforts[1])
        for name, (begin, apart) in zip(("q_to", "v_to"), self._rows):
            self._set(name, begin + (self.done // self._every + 1) * apart)

    def _make(self) -> Bound | None:
        found = self._march()
        if found is None:
            return None
        loops, own = found
        self._positions, self._now = loops.positions, {}
        self._bound = loops.bind_named(**{**self._arguments, **own})
        return self._bound

    def _set(self, name: str, number: int) -> None:
        if self._now.get(name) != number:
            self._now[name] = number
            assert self._bound is not None
            self._bound.set(self._positions[name], number)
