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
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
import scipy.interpolate
import scipy.optimize
import scipy.stats
from numpy.typing import NDArray

from rbd_dynamics.control.terms import CORIOLIS, GRAVITY, INERTIA
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.identification import least_squares
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.least_squares import Solution, solve
from rbd_dynamics.replay.identification.misfit import solve_widened
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import (
    Preparation,
    dof_names,
    friction_columns,
    torque_unit,
    with_friction,
)
from rbd_dynamics.replay.identification.validation import Validation, joined, validate
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.rank import normal_solution

Array = NDArray[np.float64]

#: speeds vs that are tried, rad/s or m/s
STRIBECK_SPEEDS = (0.02, 0.028, 0.04, 0.056, 0.08, 0.11, 0.16, 0.22, 0.32, 0.45, 0.64)
OWN = 3 + len(STRIBECK_SPEEDS)  # columns of a joint before those of inertias
SIGNIFICANCE = 0.01
VANISHED = -500.0  # exponent of nothing: numbers that a processor is slow with are smaller
DRIVES = "friction below zero would drive the joint: something else is mixed into it"
DOUBT = 0.02  # of a joint's rms torque: what friction may be at most matters where it is more
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
    """Friction of all joints with a measured effort.

    Attributes:
        exported: {joint: (Coulomb, viscous)} as a description can hold them, at least zero and without Stribeck's term;
            of the joints that they make no worse where they were not fitted, and only where both are known.
        offsets: {joint: N m or N} that belong to them.
        validation: of these joints as exported, of the others as they were; None where the recording is too short.
    """

    joints: tuple[JointFriction, ...]
    terms: tuple[str, ...]
    _: KW_ONLY
    exported: dict[str, tuple[float, float]] = field(default_factory=dict)
    offsets: dict[str, float] = field(default_factory=dict)
    validation: Validation | None = None

    def of(self, joint: str) -> JointFriction:
        """Raises KeyError for a joint without a measured effort."""
        return {found.joint: found for found in self.joints}[joint]

    def model(self, model: Model) -> Model:
        """The model with the friction that is `exported`."""
        return with_friction(model, self.exported)

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


def _bends(v: Array) -> Array:
    """(N, speeds): what friction of each of `STRIBECK_SPEEDS` has beside Coulomb's at velocities v (N,)."""
    found = np.multiply.outer(np.square(v), -1.0 / np.square(STRIBECK_SPEEDS))
    np.maximum(found, VANISHED, out=found)
    np.exp(found, out=found)
    found *= np.tanh(v / COULOMB_SPEED)[:, None]
    return found


class FrictionIdentifier:
    """Takes segments, gives a `FrictionResult`; samples of joints that stand are left out.

    Parameters:
        robot: without friction in its equation of motion.
        low_pass: of the segments (`Segments.low_pass`); None: they are not filtered.
        terms: what the measured efforts contain (`Settings.terms`). With "friction" the model's own counts in
            `rmse_before`; what is found is all of the friction in any case, not what is to be added.
        prepare: of the same robot, filter and terms, to share its work with others; None: its own. base: likewise.
        touched: (from, to), s: then something touches the robot: another offset for each of them and of the segments.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        low_pass: LowPass | None = None,
        terms: Sequence[str] = (INERTIA, CORIOLIS, GRAVITY),
        prepare: Preparation | None = None,
        base: BaseErrors | None = None,
        touched: Sequence[tuple[float, float]] = (),
    ) -> None:
        self._prepare = prepare or Preparation(robot, low_pass, terms)
        self._touched = tuple(touched)
        self._names = dof_names(robot.model)
        self._base = base or BaseErrors(robot)
        sizes = [OWN + len(self._base.felt[dof]) if dof in self._names else 0 for dof in range(robot.model.nv)]
        self._equations = NormalEquations([np.arange(size) for size in sizes], max(sizes, default=0))
        self._torque = np.zeros(robot.model.nv)  # sums of squares of the measured torque

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is None:
            return
        regressor = self._prepare.regressor(samples)
        t = segment.t[samples.rows]
        here = [(begin, end) for begin, end in self._touched if begin <= t[-1] and end >= t[0]]
        touched = [(t >= begin) & (t <= end) for begin, end in here]
        for dof in self._names:
            rows = samples.usable[:, dof] & ~samples.still[:, dof]
            if not rows.any():
                continue
            bends = self._prepare.filtered(_bends(segment.v[:, dof]))[samples.rows]
            inertial = regressor[:, dof, self._base.columns[dof]]
            columns = np.column_stack([friction_columns(samples, dof), bends, inertial, samples.residual[:, dof]])
            for during in (rows & each for each in touched):
                if during.any():  # less their means, as with an offset of its own (Frisch and Waugh 1933)
                    columns[during] -= columns[during].mean(axis=0)
            self._equations.add(dof, samples.stamps[rows], columns[rows, :-1], columns[rows, -1])
            self._torque[dof] += samples.measured[rows, dof] @ samples.measured[rows, dof]

    def merge(self, other: FrictionIdentifier) -> None:
        """Add what was found elsewhere. Raises ValueError for another robot or other terms."""
        self._prepare.check_same(other._prepare)
        self._equations.merge(other._equations)
        self._torque += other._torque

    def results(self) -> FrictionResult:
        """Friction of the joints that have samples; ask as often as you like."""
        dofs = [dof for dof in self._names if self._equations.samples[dof]]
        joints = tuple(map(self._joint, dofs))
        known = [joint.coulomb.identifiable and joint.viscous.identifiable for joint in joints]
        exported, offsets, validation = self._exported([d for d, k in zip(dofs, known) if k])
        return FrictionResult(
            joints, self._prepare.terms, exported=exported, offsets=offsets, validation=validation
        )  # fmt: skip

    def in_doubt(self, found: FrictionResult) -> bool:
        """Whether some joint's Coulomb friction, by these results, may be none and may be so much that it matters."""
        least = {name: DOUBT * float(self._scale(dof)[0]) for dof, name in self._names.items()}
        levels = [(joint.coulomb, least[joint.joint]) for joint in found.joints]
        return any(level.lower <= 0.0 and level.upper > matters for level, matters in levels)

    def _exported(
        self, dofs: Sequence[int]
    ) -> tuple[dict[str, tuple[float, float]], dict[str, float], Validation | None]:
        """Friction and offsets to export of these degrees of freedom, and their validation."""
        friction: dict[str, tuple[float, float]] = {}
        offsets: dict[str, float] = {}
        proofs = []
        for dof in dofs:
            name, prior = self._names[dof], friction_prior(self._prepare, dof)
            equations = self._equations.combined(dof, np.eye(self._size(dof), 3))
            scale = self._scale(dof)

            def fits(part: NormalEquations, prior: Array = prior, scale: Array = scale) -> tuple[Array, Array, Array]:
                braking = fit_braking(part, prior)
                return least_squares.fit(part, scale[:3]).values, braking * [0.0, 1.0, 1.0], braking

            proof = validate(equations, [name], fits, torque=scale[:1])
            if proof is not None and not proof.worse:
                offset, coulomb, viscous = (fit_braking(equations, prior) + prior).tolist()
                friction[name], offsets[name] = (coulomb, viscous), offset
                proofs.append(proof)
        return friction, offsets, joined(proofs)

    def _scale(self, dof: int) -> Array:
        """Large values of offset, Coulomb and viscous friction and the Stribeck term, (4,)."""
        torque = float(np.sqrt(self._torque[dof] / max(1, self._equations.samples[dof])))
        return torque * np.array([1.0, 1.0, 1.0 / UNIT_SPEED, 1.0])

    def _joint(self, dof: int) -> JointFriction:
        name, count = self._names[dof], int(self._equations.samples[dof])
        unit = torque_unit(self._prepare.robot.model, name)
        scale, prior = self._scale(dof), friction_prior(self._prepare, dof)
        straight = self._widened(dof, np.eye(self._size(dof), 3), scale[:3])
        stribeck, curved = self._curved(dof, scale, prior[1], unit)
        fit = straight if stribeck is None else curved
        offset, coulomb, viscous = joint_estimates(fit, range(3), prior, unit)
        before, after = float(straight.rms_before[0]), float(fit.rms_after[0])
        return JointFriction(name, count, offset, coulomb, viscous, stribeck, before, after)

    def _size(self, dof: int) -> int:
        return len(self._equations.columns[dof])

    def _widened(self, dof: int, combination: Array, scale: Array) -> Solution:
        """Parameters of which the columns (n, m) are made, with the errors of the description in their confidence."""
        size = self._size(dof)
        equations = self._equations.combined(dof, np.eye(size))
        errors = np.zeros((size, self._base.errors.shape[1]))
        errors[OWN:] = self._base.errors[self._base.felt[dof]]
        large = np.concatenate([self._scale(dof)[[0, 1, 2]], np.zeros(OWN - 3), self._base.scale[self._base.felt[dof]]])
        return solve_widened(equations, combination, scale, errors, large)

    def _curved(self, dof: int, scale: Array, coulomb: float, unit: str) -> tuple[Stribeck | None, Solution]:
        """The fit with a Stribeck term, and that term if it is significant."""
        logs = np.log(STRIBECK_SPEEDS)
        spline = scipy.interpolate.CubicSpline(logs, np.eye(len(logs)))

        def at(log_speed: float, *more: Array) -> NormalEquations:
            return self._equations.combined(dof, columns(log_speed, *more))

        def columns(log_speed: float, *more: Array) -> Array:
            combination = np.eye(self._size(dof), 4 + len(more))
            combination[3:OWN, 3:] = np.column_stack([spline(log_speed), *more])
            return combination

        def misfit(log_speed: float) -> float:
            return float(least_squares.fit(at(log_speed), scale).after[0])

        place = int(np.argmin([misfit(log_speed) for log_speed in logs]))
        bounds = logs[max(0, place - 1)], logs[min(len(logs) - 1, place + 1)]
        best = float(scipy.optimize.minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 1e-3}).x)
        fit = solve(at(best), scale)
        if not _significant(fit):
            return None, fit
        # linearised in log vs
        linear = self._widened(dof, columns(best, fit.values[3] * spline(best, 1)), np.append(scale, 1.0))
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
    offset, *braking = [
        Estimate.of(name, fit.values[k] + before, fit.errors[k], fit.quantile, of, bool(fit.identifiable[k]))
        for name, k, before, of in zip(
            ("offset", "coulomb", "viscous"), places, prior, (unit, unit, f"{unit} s" if unit == "N m" else "N s/m")
        )
    ]
    return [offset, *(estimate.at_least_zero(DRIVES) for estimate in braking)]


def fit_braking(equations: NormalEquations, prior: Array) -> Array:
    """Deviations (3,) of offset, Coulomb and viscous friction, these two not below zero, that fit one joint best."""
    (total,) = equations.totals()
    best = np.inf, np.array([0.0, -prior[1], -prior[2]])
    for held in ((), (1,), (2,), (1, 2)):  # each may be at its bound
        found = np.array([0.0, *(-prior[k] if k in held else 0.0 for k in (1, 2))])
        free = [k for k in range(3) if k not in held]
        moment = total[free, 3] - total[np.ix_(free, range(3))] @ found
        found[free] += normal_solution(total[np.ix_(free, free)], moment)
        left = np.append(-found, 1.0)
        if (found[1:] + prior[1:] >= -1e-12).all() and left @ total @ left < best[0]:
            best = float(left @ total @ left), found
    return best[1]


def friction_prior(preparation: Preparation, dof: int) -> Array:
    """Offset, Coulomb and viscous friction that the model's terms already have, (3,)."""
    return np.array([0.0, *preparation.friction[:, dof]])


def _significant(fit: Solution) -> bool:
    if not fit.identifiable[[1, 3]].all():
        return False
    level = 1.0 - SIGNIFICANCE / len(STRIBECK_SPEEDS)
    return bool(fit.values[3] > float(scipy.stats.t.ppf(level, fit.blocks - 1)) * fit.errors[3])
