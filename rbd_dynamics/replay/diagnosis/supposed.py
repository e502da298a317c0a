# SPDX-License-Identifier: Apache-2.0
"""The free regression (`free_fit`) of some samples, of which positions or terms are supposed to be others.

A zero of a joint that is elsewhere adds to all joints' torques what these change by with that joint's position; the
angle is then a parameter that they share. So large ones are found step by step (Gauss and Newton).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.diagnosis.free_fit import FreeFit, JointSums, Regression
from rbd_dynamics.replay.diagnosis.intervals import interval
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.samples import Preparation, regressor_of

Array = NDArray[np.float64]

STRETCHES = 8
STEP = 1e-4  # rad or m, of differences
STEPS, SETTLED = 6, 0.02  # steps towards a zero, and rad or m, from which on one more is none
FARTHEST = 1.0  # rad or m of one step


@dataclass(frozen=True)
class Supposed:
    """Samples (N, ...): motion, the measured efforts of `joints`, and the terms that the efforts have in them."""

    q: Array
    v: Array
    a: Array
    tau: Array
    joints: NDArray[np.intp]
    terms: tuple[str, ...]

    def times(self, places: Sequence[tuple[int, int]], factor: float) -> Supposed:
        """Positions, velocities and accelerations of joints at these places in q and v, times a factor."""
        q, v, a = self.q.copy(), self.v.copy(), self.a.copy()
        for q_index, v_index in places:
            q[:, q_index] *= factor
            v[:, v_index] *= factor
            a[:, v_index] *= factor
        return replace(self, q=q, v=v, a=a)

    def moved(self, q_index: int, by: float) -> Supposed:
        """The same with another zero of a joint."""
        q = self.q.copy()
        q[:, q_index] += by
        return replace(self, q=q)

    def fewer(self, most: int) -> Supposed:
        """The same with about so many of the samples, at most."""
        rows = slice(None, None, max(1, len(self.q) // most))
        return replace(self, q=self.q[rows], v=self.v[rows], a=self.a[rows], tau=self.tau[rows])


@dataclass(frozen=True)
class Zero:
    """What must be added to positions, with its interval, rad or m, and the fit then."""

    value: float
    lower: float
    upper: float
    fit: FreeFit


class Supposing:
    """Makes regressions. names: of the degrees of freedom."""

    def __init__(self, prepare: Preparation, base: BaseErrors, names: Sequence[str]) -> None:
        self._robot, self._base, self._names = prepare.robot, base, tuple(names)

    def model(self, supposed: Supposed) -> Array:
        """The description's torques (N, joints)."""
        found = inverse_dynamics_terms(self._robot, supposed.q, supposed.v, supposed.a, supposed.terms)
        return np.asarray(found[:, supposed.joints])

    def regression(self, supposed: Supposed, zeros: Sequence[int] = ()) -> Regression:
        """zeros: places in q of joints whose zero is sought, one more shared parameter each."""
        base, one = self._base, np.ones((1, 1))
        regressor = regressor_of(self._robot, supposed.q, supposed.v, supposed.a, supposed.terms)
        model = self.model(supposed)
        slopes = [
            (self.model(supposed.moved(place, STEP)) - self.model(supposed.moved(place, -STEP))) / (2.0 * STEP)
            for place in zeros
        ]
        stretches = [part for part in np.array_split(np.arange(len(model)), STRETCHES) if len(part)]
        found = []
        for k, dof in enumerate(supposed.joints.tolist()):
            inertial = regressor[:, dof][:, base.columns[dof]] @ base.errors[base.felt[dof]]
            v, nothing = supposed.v[:, dof], np.zeros(len(model))
            own = [nothing + 1.0, np.tanh(v / COULOMB_SPEED), v, supposed.a[:, dof], nothing, model[:, k]]
            columns = np.column_stack([inertial, *(slope[:, k] for slope in slopes), *own, supposed.tau[:, k]])
            sums = np.array([columns[part].T @ columns[part] for part in stretches])
            samples = np.array([len(part) for part in stretches], dtype=float)
            found.append(JointSums(self._names[dof], sums, samples, np.array([-np.inf, 0.0, 0.0, 0.0]), one, 0))
        return Regression(found, base.errors.shape[1] + len(slopes))

    def zero(self, supposed: Supposed, place: int, begin: float) -> Zero | None:
        """The zero of the joint at a place in q that explains most, from a first guess on; None where none settles."""
        value = begin
        for _ in range(STEPS):
            regression = self.regression(supposed.moved(place, value), [place])
            fit = regression.fit(*regression.none())
            step = float(fit.values[regression.shared - 1])
            if abs(step) < SETTLED:
                low, high = interval(fit.without[:, regression.shared - 1], step)
                return Zero(value + step, value + low, value + high, fit)
            value += float(np.clip(step, -FARTHEST, FARTHEST))
        return None
