# SPDX-License-Identifier: Apache-2.0
"""Which parts a drive needs: those without which more is left of stretches that the fit has not seen.

Parts are added one by one, the one first that takes most away, as long as that is `GAIN` of what is left in the joints
that it acts on, on most of the stretches; then those that later ones have made superfluous are taken out again. All
that is done twice, with the description's inertias as they are and with all of them free, since wrong inertias look
like rotors, springs and gains: they are left free where that predicts better than the best drives without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.drives.columns import DriveColumns, Part
from rbd_dynamics.replay.identification.drives.held_out import HeldOut
from rbd_dynamics.replay.identification.normal_equations import NormalEquations

Array = NDArray[np.float64]

LEAST_STRETCHES = 4
GAIN = 0.05  # of the squares that are left of a joint's torque: a part that takes away less is not needed
MATERIAL = 0.005  # of the torque: less than that is no part
TRIED = 4  # parts that promise most, in each round
MOST = 40  # rounds


@dataclass(frozen=True)
class Choice:
    """Parts that are needed.

    Attributes:
        parts: of all joints. free: whether the description's inertias are.
        left: mean square of each joint on stretches that were not fitted, (joints,); `friction`: with offset, Coulomb
            and viscous friction only, and the description as it is.
        shares: of what is left without a part, in the joints that it acts on, what it takes away.
    """

    parts: tuple[Part, ...]
    free: bool
    left: Array
    friction: Array
    shares: tuple[float, ...]


class Chooser:
    """Chooses among parts of `columns` for equations of their parameters (`NormalEquations.mapped`)."""

    def __init__(self, columns: DriveColumns, equations: NormalEquations, scale: Array) -> None:
        self._columns, self._data = columns, HeldOut(equations, scale)
        self._seen = [k for k, samples in enumerate(equations.samples) if samples]
        self._samples = np.maximum(equations.samples, 1)
        self._torque = columns.torque

    @property
    def enough(self) -> bool:
        """Whether there are stretches to be left out."""
        return self._data.stretches >= LEAST_STRETCHES and bool(self._seen)

    def choose(self) -> Choice:
        """Raises ValueError where there is not `enough`."""
        if not self.enough:
            raise ValueError("too few stretches of motion to leave some out")
        friction = self._data.squares(self._state((), False))
        found = [(free, self._parts(free)) for free in (False, True)]
        held = [self._data.squares(self._state(parts, free)) for free, parts in found]
        better = np.mean(np.log(self._sums(held[1]) / self._sums(held[0]))) < np.log(1.0 - GAIN)
        (free, parts), left = found[int(better)], held[int(better)]
        return Choice(
            tuple(parts), free, self._mean(left), self._mean(friction), tuple(self._shares(parts, free))
        )  # fmt: skip

    def without(self, choice: Choice, part: Part) -> Choice:
        """The choice less one part, and less those that were needed beside it only."""
        parts = self._needed([other for other in choice.parts if other is not part], choice.free)
        left = self._mean(self._data.squares(self._state(parts, choice.free)))
        return Choice(tuple(parts), choice.free, left, choice.friction, tuple(self._shares(parts, choice.free)))

    def parameters(self, choice: Choice) -> NDArray[np.intp]:
        """Numbers of the parameters of a choice: those that every drive has, of parts, and of free inertias."""
        return self._state(choice.parts, choice.free)

    # --- one by one ---------------------------------------------------------------------------------

    def _parts(self, free: bool) -> list[Part]:
        chosen: list[Part] = []
        current = self._data.squares(self._state(chosen, free))
        for _ in range(MOST):
            best: tuple[float, Part, Array] | None = None
            for part in self._promising(chosen, free):
                held = self._data.squares(self._state([*chosen, part], free))
                gain = self._gain(part, current, held)
                if gain > GAIN and (best is None or gain > best[0]) and self._possible([*chosen, part], free):
                    best = gain, part, held
            if best is None:
                break
            chosen.append(best[1])
            current = best[2]
        return self._needed(chosen, free)

    def _needed(self, chosen: list[Part], free: bool) -> list[Part]:
        """The parts without those that others have made superfluous, the least of them first."""
        found = list(chosen)
        while found:
            shares = self._shares(found, free)
            least = int(np.argmin(shares))
            if shares[least] > GAIN:
                break
            del found[least]
        return found

    def _shares(self, chosen: Sequence[Part], free: bool) -> list[float]:
        whole = self._data.squares(self._state(chosen, free))
        rest = [self._data.squares(self._state([p for p in chosen if p is not part], free)) for part in chosen]
        return [self._gain(part, without, whole) for part, without in zip(chosen, rest)]

    def _gain(self, part: Part, before: Array, after: Array) -> float:
        """Share of the squares of the joints that a part acts on; of all others only what gets worse counts.

        before, after: squares (stretches, joints). -inf where it is too little to matter, or helps on few stretches.
        """
        there = [k for k in part.places if k in self._seen]
        level = np.maximum(before.sum(axis=0), 1e-300)
        gained = (before - after) / level
        if not all(
            gained[:, k].sum() * level[k] > MATERIAL**2 * self._samples[k] * self._torque[k] ** 2 for k in there
        ):
            return -np.inf
        inside = gained[:, there].mean(axis=1)
        others = [k for k in self._seen if k not in there]
        if not (there and np.count_nonzero(inside > 0.0) > len(inside) / 2.0):
            return -np.inf
        return float(inside.sum() + np.minimum(gained[:, others].sum(axis=0), 0.0).sum())

    def _possible(self, chosen: Sequence[Part], free: bool) -> bool:
        """No inertia, friction or stiffness below zero by a fit to all; gains turn no sign."""
        state = self._state(chosen, free)
        values = dict(zip(state.tolist(), self._data.values(state).tolist()))
        return all(self._columns.can_be(part, [values[k] for k in part.parameters]) for part in chosen)

    def _promising(self, chosen: Sequence[Part], free: bool) -> list[Part]:
        """Those that would take most away of what is fitted: cheap to know."""
        rest = [
            part
            for part in self._columns.parts
            if part not in chosen and not any(map(part.excludes, chosen)) and set(part.places) <= set(self._seen)
        ]
        gains = self._data.promises(self._state(chosen, free), [np.array(part.parameters) for part in rest])
        shares = [gain / sum(self._samples[k] for k in part.places) for gain, part in zip(gains, rest)]
        return [rest[k] for k in np.argsort(shares)[::-1][:TRIED]]

    def _state(self, parts: Sequence[Part], free: bool) -> NDArray[np.intp]:
        found = [*self._columns.always[self._seen].ravel(), *sorted(k for part in parts for k in part.parameters)]
        return np.array([*found, *(self._columns.inertial if free else ())], dtype=np.intp)

    def _sums(self, held: Array) -> Array:
        return np.asarray(np.maximum(held.sum(axis=0)[self._seen], 1e-300))

    def _mean(self, held: Array) -> Array:
        return np.asarray(held.sum(axis=0) / self._samples)
