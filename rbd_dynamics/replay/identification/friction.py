"""Joint friction from recordings: offset, Coulomb, viscous and Stribeck, each joint by itself.

torque = offset + (Fc + (Fs - Fc) exp(-(v / vs)^2)) sign(v) + Fv v, fitted to the measured torque less the model's
rigid one. It is linear but for vs, of which a number of values are tried (`STRIBECK_SPEEDS`). The Stribeck term is
accepted if Fs - Fc is positive by a one-sided t-test at `SIGNIFICANCE`, divided by the number of speeds tried
(Bonferroni), with the error of blocks of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.algorithms.joint_friction import COULOMB_SPEED
from rbd_dynamics.control.terms import CORIOLIS, GRAVITY, INERTIA
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.identification.estimates import Estimate, plain
from rbd_dynamics.replay.identification.least_squares import Solution, solve
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import (
    Preparation,
    dof_names,
    friction_columns,
    torque_unit,
    with_friction,
)
from rbd_dynamics.replay.segments import Segment
from rbd_dynamics.replay.signals import LowPass
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

#: speeds vs that are tried, rad/s or m/s
STRIBECK_SPEEDS = (0.03, 0.05, 0.08, 0.13, 0.2, 0.3, 0.5)
SIGNIFICANCE = 0.01
UNIT_SPEED = 1.0  # rad/s or m/s: at that speed viscous friction is compared with the torque


@dataclass(frozen=True)
class Stribeck:
    """Friction that falls from `breakaway` (Fs) at rest to Coulomb's over the speed `speed` (vs).

    `speed_between`: the smallest and the largest of the tried speeds that explain the torque about as well.
    """

    breakaway: Estimate
    speed: float
    speed_between: tuple[float, float]


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint, as far as the motion shows it.

    Attributes:
        samples: of the moving joint.
        offset, coulomb, viscous: with the Stribeck term, where there is one.
        stribeck: None: not identifiable.
        rmse_before: of measured less predicted torque, with the friction that the terms name.
        rmse_after: with the friction found.
    """

    joint: str
    samples: int
    offset: Estimate
    coulomb: Estimate
    viscous: Estimate
    stribeck: Stribeck | None
    rmse_before: float
    rmse_after: float


@dataclass(frozen=True)
class FrictionResult:
    """Friction of all joints with a measured effort."""

    joints: tuple[JointFriction, ...]
    terms: tuple[str, ...]

    def of(self, joint: str) -> JointFriction:
        """Raises KeyError for a joint without a measured effort."""
        return {found.joint: found for found in self.joints}[joint]

    def model(self, model: Model) -> Model:
        """The model with Coulomb and viscous friction where they are identifiable, not less than zero."""
        return with_friction(model, {found.joint: (found.coulomb.value, found.viscous.value) for found in self.joints})

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is not identifiable is None."""
        found: dict[str, Any] = plain(self)
        return found


class FrictionIdentifier:
    """Takes segments, gives a `FrictionResult`; samples of joints that stand are left out.

    Parameters:
        robot: without friction in its equation of motion.
        low_pass: of the segments (`Segments.low_pass`); None: they are not filtered.
        terms: what the measured efforts contain (`Settings.terms`). With "friction" the model's own counts in
            `rmse_before`; what is found is all of the friction in any case, not what is to be added.
    """

    def __init__(
        self, robot: Robot, low_pass: LowPass | None = None, terms: Sequence[str] = (INERTIA, CORIOLIS, GRAVITY)
    ) -> None:
        self._prepare = Preparation(robot, low_pass, terms)
        self._names = dof_names(robot.model)
        self._each = 3 + len(STRIBECK_SPEEDS)
        own = [self._own(dof) if dof in self._names else range(0) for dof in range(robot.model.nv)]
        self._equations = NormalEquations([np.array(list(k), dtype=np.intp) for k in own], self._each * robot.model.nv)
        self._torque = np.zeros(robot.model.nv)  # sums of squares of the measured torque

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is None:
            return
        for dof in self._names:
            rows = samples.usable[:, dof] & ~samples.still[:, dof]
            if not rows.any():
                continue
            speed = segment.v[:, dof, None]
            level = np.tanh(speed / COULOMB_SPEED) * np.exp(-((speed / np.array(STRIBECK_SPEEDS)) ** 2))
            columns = np.column_stack([friction_columns(samples, dof), self._prepare.filtered(level)])
            self._equations.add(dof, samples.stamps[rows], columns[rows], samples.residual[rows, dof])
            self._torque[dof] += samples.measured[rows, dof] @ samples.measured[rows, dof]

    def merge(self, other: FrictionIdentifier) -> None:
        """Add what was found elsewhere. Raises ValueError for another robot or other terms."""
        if (self._names, self._prepare.terms) != (other._names, other._prepare.terms):
            raise ValueError("cannot merge friction of other joints or terms")
        self._equations.merge(other._equations)
        self._torque += other._torque

    def results(self) -> FrictionResult:
        """Of the joints that have samples; ask as often as you like."""
        dofs = [dof for dof in self._names if self._equations.samples[dof]]
        return FrictionResult(tuple(map(self._joint, dofs)), self._prepare.terms)

    def _own(self, dof: int) -> range:
        return range(self._each * dof, self._each * (dof + 1))

    def _joint(self, dof: int) -> JointFriction:
        own, count = self._own(dof), int(self._equations.samples[dof])
        torque = float(np.sqrt(self._torque[dof] / count))
        scale = torque * np.array([1.0, 1.0, 1.0 / UNIT_SPEED, 1.0])
        plain_fit = solve(self._equations.only(own[:3]), scale[:3])
        curved = [solve(self._equations.only([*own[:3], own[3 + k]]), scale) for k in range(len(STRIBECK_SPEEDS))]
        best = int(np.argmin([fit.rms_after[0] for fit in curved]))
        accepted = _significant(curved[best])
        fit = curved[best] if accepted else plain_fit
        prior = np.append(friction_prior(self._prepare, dof), 0.0)
        unit = torque_unit(self._prepare.robot.model, self._names[dof])
        offset, coulomb, viscous = joint_estimates(fit, range(3), prior, unit)
        stribeck = None
        if accepted:
            sum_of_two = np.array([0.0, 1.0, 0.0, 1.0])
            error = float(np.sqrt(sum_of_two @ fit.covariance @ sum_of_two))
            value = float(sum_of_two @ (fit.values + prior))
            breakaway = Estimate.of("breakaway", value, error, fit.quantile, unit, bool(fit.identifiable[1]))
            stribeck = Stribeck(breakaway, STRIBECK_SPEEDS[best], _between(curved, best, count))
        return JointFriction(
            self._names[dof], count, offset, coulomb, viscous, stribeck,
            float(plain_fit.rms_before[0]), float(fit.rms_after[0]),
        )  # fmt: skip


def joint_estimates(fit: Solution, places: Sequence[int], prior: Array, unit: str) -> list[Estimate]:
    """Offset, Coulomb and viscous friction of a solution, in which they stand at these places."""
    return [
        Estimate.of(name, fit.values[k] + before, fit.errors[k], fit.quantile, of, bool(fit.identifiable[k]))
        for name, k, before, of in zip(
            ("offset", "coulomb", "viscous"), places, prior, (unit, unit, f"{unit} s" if unit == "N m" else "N s/m")
        )
    ]


def friction_prior(preparation: Preparation, dof: int) -> Array:
    """Offset, Coulomb and viscous friction that the model's terms already have, (3,)."""
    return np.array([0.0, *preparation.friction[:, dof]])


def _significant(fit: Solution) -> bool:
    if not fit.identifiable[[1, 3]].all():
        return False
    level = 1.0 - SIGNIFICANCE / len(STRIBECK_SPEEDS)
    return bool(fit.values[3] > float(scipy.stats.t.ppf(level, fit.blocks - 1)) * fit.errors[3])


def _between(fits: Sequence[Solution], best: int, samples: int) -> tuple[float, float]:
    """Speeds whose fit is not worse by a likelihood ratio at 95 %, with as many samples as are independent."""
    least, independent = fits[best].rms_after[0], samples / max(1.0, fits[best].colour)
    limit = float(scipy.stats.chi2.ppf(0.95, 1))
    near = [
        speed
        for speed, other in zip(STRIBECK_SPEEDS, fits)
        if 2.0 * independent * np.log(max(other.rms_after[0], 1e-300) / max(least, 1e-300)) <= limit
    ]
    return near[0], near[-1]
