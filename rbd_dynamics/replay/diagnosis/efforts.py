# SPDX-License-Identifier: Apache-2.0
"""Measured efforts against the model's: the sums from which each joint's residual is explained, cause by cause.

What is said of the efforts themselves, that they have another unit, a reversed sign or are late, is said beside a
regression of all joints in which inertias, rotors and friction are free (`free_fit`); what explains a joint's residual
with the description as it is comes after that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import GRAVITY
from rbd_dynamics.replay.diagnosis.beside import FRICTION as DYNAMIC
from rbd_dynamics.replay.diagnosis.beside import Beside
from rbd_dynamics.replay.diagnosis.causes import CAUSES
from rbd_dynamics.replay.diagnosis.causes.base import COMMON, MODEL, MOTION, Case, CauseKind
from rbd_dynamics.replay.diagnosis.causes.contact import standing_out
from rbd_dynamics.replay.diagnosis.causes.delay import DELAY
from rbd_dynamics.replay.diagnosis.causes.friction import FRICTION
from rbd_dynamics.replay.diagnosis.causes.load import LOAD
from rbd_dynamics.replay.diagnosis.causes.offset import OFFSET
from rbd_dynamics.replay.diagnosis.causes.rotor import ROTOR
from rbd_dynamics.replay.diagnosis.causes.scale import SCALE
from rbd_dynamics.replay.diagnosis.delays import claimed_delays
from rbd_dynamics.replay.diagnosis.explaining import Step, explanation, with_load
from rbd_dynamics.replay.diagnosis.findings import Cause, Finding, JointDiagnosis
from rbd_dynamics.replay.diagnosis.free_fit import Array, FreeFit, JointSums, Regression
from rbd_dynamics.replay.diagnosis.free_torque import FreeTorque, JointValues, is_believed
from rbd_dynamics.replay.diagnosis.intervals import estimate_of
from rbd_dynamics.replay.diagnosis.lags import Lags
from rbd_dynamics.replay.diagnosis.loads import loads_of
from rbd_dynamics.replay.diagnosis.offsets import claimed_offsets
from rbd_dynamics.replay.diagnosis.scales import Scales, claimed_scales, is_far, is_needed
from rbd_dynamics.replay.diagnosis.telling import (
    delay_findings,
    gravity_findings,
    open_findings,
    scale_findings,
    silent_findings,
)
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import Preparation, dof_names, friction_columns, torque_unit
from rbd_dynamics.replay.signals.segmentation import Segment

STRETCHES = 8
MOVING = 0.05  # of the samples
SAME = 1e-12  # of the square: variation that is rounding
#: what is free where blocks are looked for that stand out; the less, where that would drive
FREE: tuple[tuple[CauseKind, ...], ...] = tuple(
    (OFFSET, SCALE, LOAD, *beside) for beside in ((ROTOR, FRICTION), (FRICTION,), (ROTOR,), ())
)


class EffortCheck:
    """Takes segments, gives each joint's diagnosis and findings about efforts.

    Parameters:
        prepare: made for those segments. base: of the same robot.
    """

    def __init__(self, prepare: Preparation, base: BaseErrors) -> None:
        if prepare.low_pass is None:
            raise ValueError("a diagnosis needs filtered segments")
        self._prepare, self._lags = prepare, Lags(prepare.low_pass, prepare.step)
        self._beside = Beside(prepare, base)
        self._names = dof_names(prepare.robot.model)
        model = prepare.robot.model
        self._first = {dof: COMMON + sum(cause.size(model, dof) for cause in CAUSES) for dof in self._names}
        sizes = [first + self._beside.size(dof) + self._lags.count for dof, first in self._first.items()]
        self._equations = NormalEquations([np.arange(size) for size in sizes], max(sizes, default=0))
        # of the results, where bodies or rotors are other than described
        self.free: FreeTorque | None = None
        self.offsets: dict[str, Estimate] | None = None

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is None:
            return
        if len(samples.rows) < self._lags.count:
            return
        model, inside, twice = samples.measured - samples.residual, self._lags.inside, 2 * self._lags.reach
        for place, dof in enumerate(self._names):
            usable = samples.usable[:, dof]
            good = usable[inside] & usable[:-twice] & usable[twice:]
            if not good.any():
                continue
            efforts = self._lags.of(samples.measured[:, dof])
            motion = friction_columns(samples, dof)[:, 1]
            own = [cause.columns(self._prepare, samples, dof) for cause in CAUSES]
            own.append(self._beside.columns(samples, dof))
            common_and_own = np.column_stack([model[:, dof], motion, *own])[inside]
            columns = np.column_stack([common_and_own, efforts])
            good &= np.isfinite(columns).all(axis=1)
            self._equations.add(place, samples.stamps[inside][good], columns[good], efforts[good, self._lags.reach])

    @property
    def joints(self) -> list[str]:
        """Those with a measured effort, in the model's order."""
        return [name for name, samples in zip(self._names.values(), self._equations.samples) if samples]

    def results(self) -> tuple[list[JointDiagnosis], list[Finding], list[Finding]]:
        """Diagnoses of the joints with a measured effort, in the model's order; findings, and what remains open."""
        every = self._cases()
        silent = [name for name, case in every.items() if is_silent(case)]
        cases = {name: case for name, case in every.items() if name not in silent}
        names, unit = list(cases), {name: torque_unit(self._prepare.robot.model, name) for name in cases}
        signals = silent_findings(silent)
        undecided: list[Finding] = []
        scaled, late, shifted, unsure = set[str](), set[str](), set(names), set[str]()
        scales: Scales | None = None
        regression = self._regression(cases)
        if regression.enough:
            suspected = {names.index(name): scale for name, case in cases.items() if (scale := suspicion(case))}
            scales = claimed_scales(regression, suspected)
            signals += scale_findings(names, scales, unit)
            signals += gravity_findings(names, scales, [term for term in self._prepare.rigid if term != GRAVITY])
            undecided += open_findings(names, scales, unit)
            delays = claimed_delays(regression, scales.fit.scales, self._lags.tried)
            told, open_ = delay_findings(names, delays, self._lags.tried)
            signals, undecided = signals + told, undecided + open_
            scaled, unsure = ({names[j] for j in those} for those in (scales.claimed, scales.unsure))
            late = {names[j] for j in delays.claimed if j not in delays.rubs}
            shifted = {names[j] for j in claimed_offsets(regression, scales.fit)}
            places = regression.none()[1]
            if delays.common >= 0:
                places[:] = delays.common
            places[list(delays.claimed)] = list(delays.claimed.values())
            fit = regression.fit(scales.fit.scales, places)
            self.free = self._free(names, regression, fit)
            if self.free is not None:
                values, others = regression.offsets(fit)
                self.offsets = {
                    name: estimate_of("offset", float(values[j]), others[:, j], unit[name])
                    for j, name in enumerate(names)
                    if name in shifted
                }

        def is_scaled(name: str) -> bool:
            """Whether a joint's scale that is near one is another all the same."""
            return scales is None or (name not in unsure and is_needed(regression, scales.fit, names.index(name)))

        explained = self._explained(cases, scaled, is_scaled, late=late, shifted=shifted, unsure=unsure)
        joints = {name: self._joint(name, *found) for name, found in explained.items()}
        return [joints.get(name, JointDiagnosis(name, (), np.nan)) for name in every], signals, undecided

    def _free(self, names: Sequence[str], regression: Regression, fit: FreeFit) -> FreeTorque | None:
        low_pass = self._prepare.low_pass
        assert low_pass is not None
        most = max(float(joint.samples.sum()) for joint in regression.joints)
        if not is_believed(regression, fit, most * self._prepare.step / low_pass.rate):
            return None
        dofs = {name: dof for dof, name in self._names.items()}
        values = {
            dofs[name]: JointValues(float(scale), float(self._lags.tried[place]), own)
            for name, scale, place, own in zip(names, fit.scales, fit.delays, regression.own(fit))
        }
        return FreeTorque(self._prepare, self._beside, values, fit.values[: regression.shared])

    def _explained(
        self,
        cases: Mapping[str, Case],
        scaled: set[str],
        is_scaled: Callable[[str], bool],
        *,
        late: set[str],
        shifted: set[str],
        unsure: set[str],
    ) -> dict[str, tuple[Case, list[Step], float]]:
        """What explains the residuals, with no scale, delay or offset that is none beside all else, and no load of
        joints of which it is not known how many times a torque their efforts are."""
        found = {}
        excluded = (DELAY, late), (OFFSET, shifted), (LOAD, cases.keys() - unsure)
        never_of: dict[str, list[CauseKind]] = {
            name: [cause for cause, those in excluded if name not in those] for name in cases
        }
        for name, case in cases.items():
            never = never_of[name]
            steps, left = explanation(case, never=never)
            if name not in scaled and any(step.cause is SCALE for step in steps):
                fit = case.fit([step.cause for step in steps], case.stretches.sum(axis=0))
                if fit is None or is_far(float(fit.coefficients[MODEL])) or not is_scaled(name):
                    steps, left = explanation(case, never=[*never, SCALE])
            found[name] = case, steps, left
        if any(steps and steps[0].cause is LOAD for _, steps, _ in found.values()):
            for name, (case, steps, left) in found.items():  # a load that others feel, too, may look like a scale
                found[name] = case, *with_load(case, steps, left, never=never_of[name])
        return found

    def _cases(self) -> dict[str, Case]:
        folds = [part for _, part in self._equations.folds(STRETCHES)]
        blocks, samples = self._equations.blocks(), self._equations.block_samples()
        found = {}
        for place, (dof, name) in enumerate(self._names.items()):
            stretches = [part.totals()[place] for part in folds if part.samples[place]]
            if stretches:
                short = np.array([block[place] for block in blocks])
                found[name] = Case(np.array(stretches), short, samples[:, place], self._columns(dof), self._lags)
        return found

    def _regression(self, cases: Mapping[str, Case]) -> Regression:
        """Regression of all joints together over the same stretches, without blocks in which something touched it."""
        folds = self._free_folds(cases)
        joints = []
        for place, (dof, name) in enumerate(self._names.items()):
            if name not in cases:
                continue
            errors = self._beside.errors[dof]
            first, lags = self._first[dof], self._lags.count
            own = [self._columns(dof)[cause.name][-1] for cause in (OFFSET, FRICTION, ROTOR)]
            own = [own[0], MOTION, *own[1:], *(first + np.arange(DYNAMIC))]
            chosen = [*own, first + DYNAMIC, MODEL]
            inertial = first + DYNAMIC + 1
            change = np.zeros((inertial + len(errors) + lags + 1, self._beside.shared + len(chosen) + lags))
            change[inertial : inertial + len(errors), : self._beside.shared] = errors
            change[chosen, self._beside.shared + np.arange(len(chosen))] = 1.0
            change[inertial + len(errors) : -1, self._beside.shared + len(chosen) :] = np.eye(lags)
            sums = np.array([change.T @ part[place] @ change for part, _ in folds])
            rotor = self._prepare.robot.model.joint(name).armature
            lower = np.array([-np.inf, 0.0, 0.0, -rotor, *np.zeros(DYNAMIC)])
            samples = np.array([count[place] for _, count in folds], dtype=float)
            joints.append(JointSums(name, sums, samples, lower, self._lags.weights, self._lags.here))
        return Regression(joints, self._beside.shared, loads=loads_of(self._prepare.robot))

    def _free_folds(self, cases: Mapping[str, Case]) -> list[tuple[list[Array], NDArray[np.int64]]]:
        """Sums of each joint, and its samples, of each stretch, less the blocks that stand out."""
        touched = np.zeros(len(self._equations.blocks()), dtype=bool)
        for case in cases.values():
            found = next((f for causes in FREE if (f := standing_out(case, causes)) is not None), None)
            if found is not None:
                touched[np.flatnonzero(case.samples > 0)[found[0]]] = True
        folds, first = [], 0
        for _, part in self._equations.folds(STRETCHES):
            blocks, counts = part.blocks(), part.block_samples()
            kept = np.flatnonzero(~touched[first : first + len(blocks)])
            first += len(blocks)
            if len(kept):
                sums = [np.sum([blocks[k][place] for k in kept], axis=0) for place in range(len(self._names))]
                folds.append((sums, counts[kept].sum(axis=0)))
        return folds

    def _columns(self, dof: int) -> dict[str, tuple[int, ...]]:
        """{cause: the columns whose factors it frees}, in the order of the list after those that all have in common."""
        found, after = {}, COMMON
        for cause in CAUSES:
            before, after = after, after + cause.size(self._prepare.robot.model, dof)
            found[cause.name] = (*cause.common, *range(before, after))
        return found

    def _joint(self, name: str, case: Case, steps: Sequence[Step], left: float) -> JointDiagnosis:
        causes = [step.cause for step in steps]
        total = case.stretches.sum(axis=0)
        whole = case.fit(causes, total)
        others = [fit for part in case.stretches if (fit := case.fit(causes, total - part)) is not None]
        if whole is None or len(others) < 2:
            return JointDiagnosis(name, tuple(Cause(step.cause.name, step.share) for step in steps), left)
        unit = torque_unit(self._prepare.robot.model, name)
        told = []
        for cause, share in ((step.cause, step.share) for step in steps):
            numbers = cause.estimates(case, whole, others, unit)
            told.append(Cause(cause.told(numbers), share, estimates=numbers))
        return JointDiagnosis(name, tuple(told), left)


def is_silent(case: Case) -> bool:
    """Whether an effort is always the same though the joint moves: it is not measured then."""
    total, own = case.stretches.sum(axis=0), case.columns[OFFSET.name][-1]
    count, mean, square = total[own, own], total[own, -1], total[-1, -1]
    moves = total[MOTION, MOTION] > MOVING * count
    return bool(moves and square - mean**2 / max(count, 1.0) <= SAME * square)


def suspicion(case: Case) -> float:
    """So many times the given model's torque an effort seems to be, beside offset, friction and a rotor; zero where
    that is near one, or cannot be told."""
    total = case.stretches.sum(axis=0)
    for beside in ([ROTOR, FRICTION], [FRICTION], [ROTOR], []):  # of what would drive there is none
        fit = case.fit([SCALE, OFFSET, *beside], total)
        if fit is not None:
            scale = float(fit.coefficients[MODEL])
            return scale if is_far(scale) else 0.0
    return 0.0
