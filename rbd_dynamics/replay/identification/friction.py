# SPDX-License-Identifier: Apache-2.0
"""Joint friction from recordings: offset, Coulomb, viscous and Stribeck, each joint by itself.

torque = offset + (Fc + (Fs - Fc) exp(-(v / vs)^2)) sign(v) + Fv v, fitted to the measured torque less the model's
rigid one. It is linear but for vs. The columns of a number of vs are kept (`STRIBECK_SPEEDS`), those between follow by
splines in log vs, so that the best vs can be searched for afterwards; its error is that of the linearised model.

The Stribeck term is accepted if Fs - Fc is positive by a one-sided t-test at `SIGNIFICANCE`, divided by the number of
speeds tried (Bonferroni), with the error of blocks of time, and if vs is known and lies among these speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.interpolate
import scipy.optimize
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.control.terms import CORIOLIS, GRAVITY, INERTIA
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.identification import least_squares
from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.least_squares import Solution, solve
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import (
    Preparation,
    dof_names,
    friction_columns,
    torque_unit,
    with_friction,
)
from rbd_dynamics.replay.segmentation import Segment
from rbd_dynamics.replay.signals import LowPass
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

#: speeds vs that are tried, rad/s or m/s
STRIBECK_SPEEDS = (0.02, 0.028, 0.04, 0.056, 0.08, 0.11, 0.16, 0.22, 0.32, 0.45, 0.64)
SIGNIFICANCE = 0.01
UNIT_SPEED = 1.0  # rad/s or m/s: at that speed viscous friction is compared with the torque


@dataclass(frozen=True)
class Stribeck:
    """Friction that falls from `breakaway` (Fs) at rest to Coulomb's over the speed `speed` (vs)."""

    breakaway: Estimate
    speed: Estimate


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
class FrictionResult(Plain):
    """Friction of all joints with a measured effort."""

    joints: tuple[JointFriction, ...]
    terms: tuple[str, ...]

    def of(self, joint: str) -> JointFriction:
        """Raises KeyError for a joint without a measured effort."""
        return {found.joint: found for found in self.joints}[joint]

    def model(self, model: Model) -> Model:
        """The model with Coulomb and viscous friction where they are identifiable, not less than zero."""
        return with_friction(model, {found.joint: (found.coulomb.value, found.viscous.value) for found in self.joints})

    def torque(self, names: Sequence[str], v: Array, *, offset: bool = True) -> Array:
        """Torque (N, nv) that overcomes what was found, at velocities (N, nv) of the joints `names`.

        offset: with the offset, which may be something else than friction.
        """
        torque = np.zeros_like(v)
        for joint in self.joints:
            k = list(names).index(joint.joint)
            found = [p.value if p.identifiable else 0.0 for p in (joint.offset, joint.coulomb, joint.viscous)]
            bend = None
            if joint.stribeck is not None:
                bend = joint.stribeck.breakaway.value, joint.stribeck.speed.value
            torque[:, k] = friction_curve(v[:, k], found[0] if offset else 0.0, found[1], found[2], stribeck=bend)
        return torque


def friction_curve(
    v: Array, offset: float, coulomb: float, viscous: float, *, stribeck: tuple[float, float] | None = None
) -> Array:
    """Torque that overcomes friction at velocities v; `stribeck`: breakaway torque and speed."""
    level: Array | float = coulomb
    if stribeck is not None:
        breakaway, speed = stribeck
        level = coulomb + (breakaway - coulomb) * np.exp(-((v / speed) ** 2))
    return np.asarray(offset + level * np.tanh(v / COULOMB_SPEED) + viscous * v)


class FrictionIdentifier:
    """Takes segments, gives a `FrictionResult`; samples of joints that stand are left out.

    Parameters:
        robot: without friction in its equation of motion.
        low_pass: of the segments (`Segments.low_pass`); None: they are not filtered.
        terms: what the measured efforts contain (`Settings.terms`). With "friction" the model's own counts in
            `rmse_before`; what is found is all of the friction in any case, not what is to be added.
    """

    def __init__(
        self, robot: Robot, *, low_pass: LowPass | None = None, terms: Sequence[str] = (INERTIA, CORIOLIS, GRAVITY)
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
        self._prepare.check_same(other._prepare)
        self._equations.merge(other._equations)
        self._torque += other._torque

    def results(self) -> FrictionResult:
        """Of the joints that have samples; ask as often as you like."""
        dofs = [dof for dof in self._names if self._equations.samples[dof]]
        return FrictionResult(tuple(map(self._joint, dofs)), self._prepare.terms)

    def _own(self, dof: int) -> range:
        return range(self._each * dof, self._each * (dof + 1))

    def _joint(self, dof: int) -> JointFriction:
        name, count = self._names[dof], int(self._equations.samples[dof])
        unit = torque_unit(self._prepare.robot.model, name)
        torque = float(np.sqrt(self._torque[dof] / count))
        scale = torque * np.array([1.0, 1.0, 1.0 / UNIT_SPEED, 1.0])
        prior = friction_prior(self._prepare, dof)
        straight = solve(self._equations.combined(dof, np.eye(self._each, 3)), scale[:3])
        stribeck, curved = self._curved(dof, scale, prior[1], unit)
        fit = straight if stribeck is None else curved
        offset, coulomb, viscous = joint_estimates(fit, range(3), prior, unit)
        before, after = float(straight.rms_before[0]), float(fit.rms_after[0])
        return JointFriction(name, count, offset, coulomb, viscous, stribeck, before, after)

    def _curved(self, dof: int, scale: Array, coulomb: float, unit: str) -> tuple[Stribeck | None, Solution]:
        """The fit with a Stribeck term, and that term if it is significant."""
        logs = np.log(STRIBECK_SPEEDS)
        spline = scipy.interpolate.CubicSpline(logs, np.eye(len(logs)))

        def at(log_speed: float, *more: Array) -> NormalEquations:
            combination = np.eye(self._each, 4 + len(more))
            combination[3:, 3:] = np.column_stack([spline(log_speed), *more])
            return self._equations.combined(dof, combination)

        def misfit(log_speed: float) -> float:
            return float(least_squares.fit(at(log_speed), scale).after[0])

        place = int(np.argmin([misfit(log_speed) for log_speed in logs]))
        bounds = logs[max(0, place - 1)], logs[min(len(logs) - 1, place + 1)]
        best = float(scipy.optimize.minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 1e-3}).x)
        fit = solve(at(best), scale)
        if not _significant(fit):
            return None, fit
        # linearised in log vs
        linear = solve(at(best, fit.values[3] * spline(best, 1)), np.append(scale, 1.0))
        if not (linear.identifiable[[1, 3, 4]].all() and logs[0] + 0.01 < best < logs[-1] - 0.01):
            return None, fit  # vs is anywhere, or beyond the speeds tried
        errors = linear.errors[:4]
        fit = replace(fit, covariance=linear.covariance[:4, :4], errors=errors, identifiable=linear.identifiable[:4])
        both = np.array([0.0, 1.0, 0.0, 1.0])
        error = float(np.sqrt(both @ fit.covariance @ both))
        breakaway = Estimate.of("breakaway", float(both @ fit.values) + coulomb, error, fit.quantile, unit, True)
        speed = float(np.exp(best))
        unit = "rad/s" if unit == "N m" else "m/s"
        found = Estimate.of("speed", speed, speed * float(linear.errors[4]), fit.quantile, unit, True)
        return Stribeck(breakaway, found), fit


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
