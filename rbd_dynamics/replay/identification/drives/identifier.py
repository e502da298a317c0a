# SPDX-License-Identifier: Apache-2.0
"""Models of drives from recordings: of what a drive may have, each joint gets what it needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import WITHOUT_FRICTION
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.drive_gains import inverse_of
from rbd_dynamics.replay.identification.drives.columns import SHARED, DriveColumns, Part
from rbd_dynamics.replay.identification.drives.exported import exportable
from rbd_dynamics.replay.identification.drives.results import DrivePart, DriveResult, JointDrive
from rbd_dynamics.replay.identification.drives.selection import Choice, Chooser
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.friction import DRIVES, friction_prior, joint_estimates
from rbd_dynamics.replay.identification.least_squares import Solution, solve
from rbd_dynamics.replay.identification.misfit import solve_widened
from rbd_dynamics.replay.identification.samples import Preparation, torque_unit
from rbd_dynamics.replay.identification.validation import joined
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

SHORT = "too short for held-out stretches: nothing was decided"
NOT_APART = "or the inertia of what the joint moves about its axis: no motion tells them apart"
INERTIAS = "or the inertias of the description, all by one share"


class DriveIdentifier:
    """Takes segments, gives a `DriveResult`; samples of joints that stand are left out.

    Parameters:
        robot: without friction in its equation of motion.
        low_pass: of the segments (`Segments.low_pass`); None: they are not filtered.
        terms: what the measured efforts contain (`Settings.terms`). Of friction all is found, also with "friction".
        prepare: of the same robot, filter and terms, to share its work with others; None: its own. base: likewise.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        low_pass: LowPass | None = None,
        terms: Sequence[str] = WITHOUT_FRICTION,
        prepare: Preparation | None = None,
        base: BaseErrors | None = None,
    ) -> None:
        self._prepare = prepare or Preparation(robot, low_pass, terms)
        self._columns = DriveColumns(self._prepare, base or BaseErrors(robot))

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        self._columns.add(segment)

    def merge(self, other: DriveIdentifier) -> None:
        """Add what was found elsewhere. Raises ValueError for another robot or other terms."""
        self._columns.merge(other._columns)

    def results(self) -> DriveResult:
        """Drives of the joints that have samples; ask as often as you like."""
        columns = self._columns
        combination = columns.combination()
        scale = columns.scale(combination)
        chooser = Chooser(columns, columns.equations.mapped(combination), scale)
        if not chooser.enough:
            return DriveResult((), False, self._prepare.terms, finding=SHORT)
        choice = chooser.choose()
        while True:
            state = chooser.parameters(choice)
            found = self._solved(combination[:, state], scale[state], choice.free)
            fit = _Fit(found, {int(k): place for place, k in enumerate(state)})
            unsure = [part for part in choice.parts if not self._sure(part, fit)]
            if not unsure:
                break
            choice = chooser.without(choice, unsure[-1])
        seen = [place for place in range(len(columns.dofs)) if columns.equations.samples[place]]
        joints = tuple(self._joint(place, choice, fit) for place in seen)
        exported, proofs = {}, []
        for place, joint in zip(seen, joints if not choice.free else ()):
            prior = friction_prior(self._prepare, columns.dofs[place])
            drive = exportable(columns, place, [part.name for part in joint.parts], prior)
            if drive is not None:
                exported[joint.joint] = drive[0]
                proofs.append(drive[1])
        return DriveResult(
            joints, choice.free, self._prepare.terms, exported=exported, validation=joined(proofs)
        )  # fmt: skip

    def _solved(self, combination: Array, scale: Array, free: bool) -> Solution:
        """Solution with the description's errors in the confidence, where it is not free."""
        columns, base = self._columns, self._columns.base
        if free:
            return solve(columns.equations.mapped(combination), scale)
        felt = [base.felt[dof] for dof in columns.dofs]
        inertial = np.concatenate([own[first:] for own, first in zip(columns.equations.columns, columns.first)])
        both = np.column_stack([combination, np.eye(columns.equations.count)[:, inertial]])
        errors = np.vstack([np.zeros((len(scale), base.errors.shape[1])), *(base.errors[rows] for rows in felt)])
        large = np.concatenate([scale, *(base.scale[rows] for rows in felt)])
        sought = np.eye(both.shape[1], len(scale))
        return solve_widened(columns.equations.mapped(both), sought, scale, errors, large)

    def _sure(self, part: Part, fit: _Fit) -> bool:
        """Whether its numbers are known not to be zero: of a shared motor two, which must be above."""
        if part.name == SHARED:
            return sum(fit.known(k) and fit.value(k) > fit.reach(k) for k in part.parameters) > 1
        return fit.known(part.parameters[0]) and abs(fit.value(part.parameters[0])) > fit.reach(part.parameters[0])

    def _joint(self, place: int, choice: Choice, fit: _Fit) -> JointDrive:
        columns = self._columns
        dof = columns.dofs[place]
        name = columns.names[dof]
        unit = torque_unit(self._prepare.robot.model, name)
        places = [fit.places[int(k)] for k in columns.always[place]]
        offset, coulomb, viscous = joint_estimates(fit.solution, places, friction_prior(self._prepare, dof), unit)
        own = [(share, part) for share, part in zip(choice.shares, choice.parts) if place in part.places]
        parts = tuple(self._part(part, share, place, fit) for share, part in sorted(own, key=lambda pair: -pair[0]))
        count = int(columns.equations.samples[place])
        total = columns.equations.totals()[place][-1, -1] / count
        before, friction, after = (
            float(np.sqrt(max(x, 0.0))) for x in (total, choice.friction[place], choice.left[place])
        )
        return JointDrive(name, count, offset, coulomb, viscous, parts, before, friction, after)

    def _part(self, part: Part, share: float, place: int, fit: _Fit) -> DrivePart:
        columns, model = self._columns, self._prepare.robot.model
        dof = columns.dofs[place]
        joint = model.joint(columns.names[dof])
        unit, turns = torque_unit(model, joint.name), joint.kind.is_angle
        rate, mass, stiff = ("N m s", "kg m^2", "N m/rad") if turns else ("N s/m", "kg", "N/m")
        first = part.parameters[0]
        if part.name == SHARED:
            parent, child = (columns.names[columns.dofs[k]] for k in part.places)
            numbers = tuple(
                fit.estimate(name, k, of).at_least_zero(DRIVES)
                for name, k, of in zip(("coulomb", "viscous", "rotor inertia"), part.parameters, (unit, rate, mass))
            )
            motor = f"{child} {'+' if part.ratio > 0.0 else '-'} {parent}"
            return DrivePart(part.name, share, numbers, motor=motor)
        if part.name == "rotor inertia":
            found = fit.estimate(part.name, first, mass, joint.armature).at_least_zero(DRIVES)
            return DrivePart(part.name, share, (found,), note="" if self._columns.base.apart[dof] else NOT_APART)
        if part.name == "spring":
            return DrivePart(part.name, share, (fit.estimate("stiffness", first, stiff),))
        if part.name == "friction with load":
            return DrivePart(part.name, share, (fit.estimate("share of the torque", first, ""),))
        if part.name == "gain":
            return DrivePart(part.name, share, (inverse_of(fit.estimate("gain", first, "", 1.0)),), note=INERTIAS)
        if part.name == "friction falling with speed":
            coulomb = int(columns.always[place][1])
            most = fit.sum_of(
                "breakaway", (coulomb, first), (1.0, 1.0), unit, float(friction_prior(self._prepare, dof)[1])
            )
            speed = f"over about {part.speed:g} {'rad/s' if turns else 'm/s'}"
            return DrivePart(part.name, share, (most,), note=speed)
        viscous = int(columns.always[place][2])
        prior = float(friction_prior(self._prepare, dof)[2])
        both = (
            fit.sum_of(name, (viscous, first), (1.0, sign), rate, prior).at_least_zero(DRIVES)
            for name, sign in (("viscous forth", 1.0), ("viscous back", -1.0))
        )
        return DrivePart(part.name, share, tuple(both))


class _Fit:
    """A solution, by the numbers of all candidates' parameters."""

    def __init__(self, solution: Solution, places: dict[int, int]) -> None:
        self.solution, self.places = solution, places

    def known(self, parameter: int) -> bool:
        return bool(self.solution.identifiable[self.places[parameter]])

    def value(self, parameter: int) -> float:
        return float(self.solution.values[self.places[parameter]])

    def reach(self, parameter: int) -> float:
        return self.solution.quantile * float(self.solution.errors[self.places[parameter]])

    def estimate(self, name: str, parameter: int, unit: str, prior: float = 0.0) -> Estimate:
        return self.sum_of(name, (parameter,), (1.0,), unit, prior)

    def sum_of(
        self, name: str, parameters: Sequence[int], factors: Sequence[float], unit: str, prior: float
    ) -> Estimate:
        """Estimate of the sum of `prior` and so many times the parameters."""
        places, weights = [self.places[k] for k in parameters], np.array(factors)
        error = float(np.sqrt(weights @ self.solution.covariance[np.ix_(places, places)] @ weights))
        value = prior + float(weights @ self.solution.values[places])
        known = all(map(self.known, parameters))
        return Estimate.of(name, value, error, self.solution.quantile, unit, known)
