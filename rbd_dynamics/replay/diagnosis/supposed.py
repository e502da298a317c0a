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

from rbd_dynamics.control.terms import GRAVITY, inverse_dynamics_terms
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.diagnosis.free_fit import FreeFit, JointSums, Regression
from rbd_dynamics.replay.diagnosis.intervals import interval
from rbd_dynamics.replay.diagnosis.scales import is_far, is_implausible, masses
from rbd_dynamics.replay.diagnosis.telling import UNITS
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.samples import Preparation, regressor_of

Array = NDArray[np.float64]

STRETCHES = 8
INDEPENDENT = 300.0  # samples of a joint, at most: what no model explains is alike in neighbouring ones
STEP = 1e-4  # rad or m, of differences
BETTER = 0.5  # of a joint's squares must be left at most, in one joint
SURE = 1.0  # by which what is left of all joints falls, in logarithms, with what the bodies' errors cost
SMALLEST = 0.01  # rad or m: a zero that is nearer is the same
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
class Tried:
    """A fit, what it costs, and the square of the bodies' errors that it takes (`Regression`)."""

    fit: FreeFit
    cost: float
    errors: float

    @classmethod
    def best(cls, regression: Regression, scales: Sequence[Array] = ()) -> Tried:
        """The fit that costs least: efforts as they are, or times one of these scales."""
        ones, none = regression.none()
        fit = min((regression.fit(scale, none) for scale in (ones, *scales)), key=regression.cost)
        return cls(fit, regression.cost(fit), regression.errors(fit))

    def fall(self, other: Tried) -> float:
        """What another saves of the cost; zero where it explains no joint much better."""
        was, left = (one.fit.left.sum(axis=0) for one in (self, other))
        return self.cost - other.cost if (left < BETTER * was).any() else 0.0


@dataclass(frozen=True)
class Zero:
    """What must be added to positions, with its interval, rad or m, and the fit then."""

    value: float
    lower: float
    upper: float
    tried: Tried


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
        model, gravity = self.model(supposed), self.model(replace(supposed, terms=(GRAVITY,)))
        slopes = [
            (self.model(supposed.moved(place, STEP)) - self.model(supposed.moved(place, -STEP))) / (2.0 * STEP)
            for place in zeros
        ]
        stretches = [part for part in np.array_split(np.arange(len(model)), STRETCHES) if len(part)]
        found = []
        for k, dof in enumerate(supposed.joints.tolist()):
            inertial = regressor[:, dof][:, base.columns[dof]] @ base.errors[base.felt[dof]]
            v = supposed.v[:, dof]
            own = [np.ones(len(model)), np.tanh(v / COULOMB_SPEED), v, supposed.a[:, dof], gravity[:, k], model[:, k]]
            columns = np.column_stack([inertial, *(slope[:, k] for slope in slopes), *own, supposed.tau[:, k]])
            sums = np.array([columns[part].T @ columns[part] for part in stretches])
            samples = np.array([len(part) for part in stretches], dtype=float)
            found.append(JointSums(self._names[dof], sums, samples, np.array([-np.inf, 0.0, 0.0, 0.0]), one, 0))
        independent = min(1.0, INDEPENDENT / max(1, len(model)))
        return Regression(found, base.errors.shape[1] + len(slopes), independent=independent)

    def other_units(self, supposed: Supposed) -> list[Array]:
        """Scales that the efforts seem to have, where these are far from one: signs, units, both."""
        model = self.model(supposed)
        model, tau = model - model.mean(axis=0), supposed.tau - supposed.tau.mean(axis=0)
        both, square = np.sum(model * tau, axis=0), np.sum(np.square(model), axis=0)
        seems = np.where(both != 0.0, both / np.where(square > 0.0, square, 1.0), 1.0)
        found = [np.where(both < 0.0, -1.0, 1.0)] if (both < 0.0).any() else []
        return [*found, seems, np.abs(seems)] if any(map(is_far, seems)) else found

    def zero(self, supposed: Supposed, place: int, begin: float, scales: Array) -> Zero | None:
        """The zero of the joint at a place in q that explains most, from a first guess on; None where none settles."""
        value = begin
        for _ in range(STEPS):
            regression = self.regression(supposed.moved(place, value), [place])
            fit = regression.fit(scales, regression.none()[1])
            step = float(fit.values[regression.shared - 1])
            if abs(step) < SETTLED:
                low, high = interval(fit.without[:, regression.shared - 1], step)
                return Zero(value + step, value + low, value + high, Tried.best(regression, [scales]))
            value += float(np.clip(step, -FARTHEST, FARTHEST))
        return None


class Standard:
    """What suppositions about some samples are measured by: these as they are, their efforts in other units, too.

    Attributes:
        plain: as they are. usual: with the scale or sign of efforts that explains most, which is said with the efforts.
        shares: what is left of each joint then, of its torque. enough: whether there are stretches to be left out.
    """

    def __init__(self, supposing: Supposing, supposed: Supposed) -> None:
        self.supposing, self.supposed = supposing, supposed
        regression = supposing.regression(supposed)
        self.enough = regression.enough
        if not self.enough:
            return
        self.plain = Tried.best(regression)
        self.shares = regression.shares(self.plain.fit)
        signs = 1.0 - 2.0 * np.eye(len(supposed.joints))
        units = [np.full(len(supposed.joints), factor) for factor, _ in UNITS if self._is_plausible(regression, factor)]
        self.usual = Tried.best(regression, [*signs, *supposing.other_units(supposed), *units])
        self._in_units = self.plain.cost - self.usual.cost > SURE

    @staticmethod
    def _is_plausible(regression: Regression, factor: float) -> bool:
        """Whether efforts so many times torques have about the gravity of the described bodies in them."""
        ones, none = regression.none()
        ratio, _ = masses(regression, regression.fit(factor * ones, none))
        return ratio > 0.0 and not is_implausible(ratio)

    def tried(self, other: Supposed, zeros: Sequence[int] = ()) -> Tried:
        """Another supposition; with efforts in other units, if they may be and have the same terms."""
        may = self._in_units and other.terms == self.supposed.terms
        scales = [self.usual.fit.scales, *self.supposing.other_units(other)] if may else []
        return Tried.best(self.supposing.regression(other, zeros), scales)

    def before(self, other: Supposed) -> Tried:
        """What another supposition is to be better than: one of other terms, than the efforts as they are."""
        return self.usual if other.terms == self.supposed.terms else self.plain

    def zero(self, place: int, begin: float) -> Zero | None:
        """The zero of the joint at a place in q, from a first guess on; None where none settles, or it is none."""
        scales = self.tried(self.supposed.moved(place, begin)).fit.scales
        found = self.supposing.zero(self.supposed, place, begin, scales)
        told = found is not None and abs(found.value) > SMALLEST and found.lower * found.upper > 0.0
        return found if told else None
