# SPDX-License-Identifier: Apache-2.0
"""What a description can hold, fitted to a recording: bodies that exist, friction that brakes, rotors, and offsets.

Minimises the weighted squares of the residuals themselves, over log-Cholesky parameters of all bodies (Rucker and
Wensing 2022), Coulomb and viscous friction and rotor inertias of at least zero, and offsets; and the divergence from
the given bodies and rotors.
Inertias that are made possible first, with friction and offsets left as the unconstrained fit had them, can explain far
less: offsets and gravity stand in for each other, so all have to give way together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from rbd_dynamics.analysis.base_parameters import BaseParameters
from rbd_dynamics.replay.identification.leave_one_out import gram
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.pseudo_inertia import LogCholesky, by_numbers, possible

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_STEPS = 300
PRECISION = 1e-6  # of the cost
OFFSET, ROTOR = 0, 3  # kinds of what a joint has for itself


@dataclass(frozen=True)
class Possible:
    """Parameters (bodies, 10), the deviations (count + own,) from the prior that they and friction are, and the
    numbers of the bodies' charts."""

    parameters: Array
    values: Array
    numbers: Array


class PossibleModel:
    """A fit of what can exist.

    Parameters:
        given: inertial parameters (bodies, 10); bodies without mass stay as they are. base: their combinations.
        weight: of each given body, in independent observations.
        own: deviations of friction where a joint's is not looked for, (own,): offset, Coulomb, viscous, and rotor of
            each joint; none at all, (0,), where no friction was asked for. kind: numbers of these, 0 to 3, (own,).
        least: smallest deviations, (own,), -inf for offsets. usual: their usual sizes. free: which are looked for.
    """

    def __init__(
        self, given: Array, base: BaseParameters, weight: float, *, own: Array, least: Array, usual: Array, free: Mask,
        kind: NDArray[np.intp],
    ) -> None:  # fmt: skip
        self._given, self._base, self._weight = given, base, weight
        self._kind = kind
        self._own, self._least, self._usual, self._free = own, least, np.maximum(usual, 1e-9), free
        self._bodies = [k for k in range(len(given)) if given[k, 0] > 0.0]
        self._charts = LogCholesky(np.array([possible(given[k]) for k in self._bodies]).reshape(-1, 10))
        columns = base.combination.reshape(-1, len(given), 10)[:, self._bodies]
        self._combination = columns.reshape(len(columns), -1)
        self._prior = self._combination @ given[self._bodies].ravel()

    def fit(
        self,
        equations: NormalEquations,
        weights: Array,
        *,
        colour: float,
        offset: float,
        bodies: bool = True,
        rotors: bool = True,
        begin: Possible | None = None,
        precision: float = PRECISION,
    ) -> Possible:
        """Fit to normal equations, whose joints have these weights.

        colour: by how much fewer observations there are than samples. offset: how large an offset may be, in its usual
        size, until it counts as much as an observation; zero: there is none. bodies, rotors: whether these are looked
        for; else they stay as given. begin: where the search begins. precision: of the cost.

        Raises ArithmeticError where the search does not settle.
        """
        whole = gram(equations.columns, equations.totals(), weights, equations.count)
        strength, directions = np.linalg.eigh(whole / max(colour, 1.0))
        root = np.sqrt(np.maximum(strength, 0.0))[:, None] * directions.T
        count, size = self._base.count, 10 * len(self._bodies)
        to_base, to_own, pull = root[:, :count] @ self._combination, root[:, count:-1], np.sqrt(self._weight)
        free = self._free.copy()
        if not offset:
            free[self._kind == OFFSET] = False
        if not rotors:
            free[self._kind == ROTOR] = False
        usual, rests = self._usual[free], np.zeros((int(free.sum()), size + int(free.sum())))
        sought = np.append(np.full(size, bodies), np.ones(len(usual), dtype=bool))
        ridge = np.where(self._kind == OFFSET, 1.0 / max(offset, 1e-12), np.where(self._kind == ROTOR, pull, 0.0))[free]
        rests[:, size:] = np.diag(ridge)
        start = np.where(self._free, 0.0, self._own)

        def friction(numbers: Array) -> Array:
            own = start.copy()
            own[free] = usual * numbers[size:]
            return own

        def rows(numbers: Array) -> Array:
            return numbers[:size].reshape(-1, 10)

        def residuals(numbers: Array) -> Array:
            misses = root[:, -1] - to_own @ friction(numbers)
            if bodies:
                misses += root[:, :count] @ self._prior - to_base @ self._charts(rows(numbers))[0].ravel()
            return np.concatenate([misses, pull * LogCholesky.divergence(rows(numbers))[0].ravel(), rests @ numbers])

        def all_numbers(some: Array) -> Array:
            found = np.zeros(len(sought))
            found[sought] = some
            return found

        def slopes(numbers: Array) -> Array:
            found = np.zeros((len(root) + size + len(usual), size + len(usual)))
            found[: len(root), :size] = -by_numbers(to_base, self._charts(rows(numbers))[1])
            found[: len(root), size:] = -to_own[:, free] * usual
            pulls = LogCholesky.divergence(rows(numbers))[1].ravel()
            found[len(root) + np.arange(size), np.arange(size)] = pull * pulls
            found[len(root) + size :] = rests
            return found

        first = np.zeros(size + len(usual))
        if begin is not None:
            first[:size] = begin.numbers
            first[size:] = begin.values[count:][free] / usual
        lower = np.concatenate([np.full(size, -np.inf), self._least[free] / usual - 1e-12])
        first[size:] = np.maximum(first[size:], lower[size:] + 1e-6)
        numbers = first
        if sought.any():
            found = scipy.optimize.least_squares(
                lambda some: residuals(all_numbers(some)),
                first[sought],
                lambda some: slopes(all_numbers(some))[:, sought],
                bounds=(lower[sought], np.inf),
                method="trf",
                max_nfev=MOST_STEPS,
                ftol=precision,
            )
            if found.status < 0 or not np.isfinite(found.x).all():
                raise ArithmeticError(f"no consistent inertias found: {found.message}")
            numbers = all_numbers(found.x)
        parameters = self._given.copy()
        if self._bodies and bodies:
            parameters[self._bodies] = self._charts(rows(numbers))[0]
        deviation = self._base.of(parameters) - self._base.of(self._given)
        return Possible(parameters, np.concatenate([deviation, friction(numbers)]), numbers[:size])

    def without_offsets(self, values: Array) -> Array:
        """The same deviations (count + own,) with no offsets."""
        found = values.copy()
        found[self._base.count :][self._kind == OFFSET] = 0.0
        return found
