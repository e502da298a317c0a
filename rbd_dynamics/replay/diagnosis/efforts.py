# SPDX-License-Identifier: Apache-2.0
"""Measured efforts against the model's: the sums from which each joint's residual is explained, cause by cause."""

from __future__ import annotations

import numpy as np

from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.diagnosis.causes import CAUSES
from rbd_dynamics.replay.diagnosis.causes.base import COMMON, Case
from rbd_dynamics.replay.diagnosis.causes.load import LOAD
from rbd_dynamics.replay.diagnosis.explaining import Step, explanation, with_load
from rbd_dynamics.replay.diagnosis.findings import Cause, Finding, JointDiagnosis
from rbd_dynamics.replay.diagnosis.lags import Lags
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import Preparation, dof_names, friction_columns, torque_unit
from rbd_dynamics.replay.signals.segmentation import Segment

STRETCHES = 8


class EffortCheck:
    """Takes segments, gives each joint's diagnosis and findings about efforts. `prepare`: made for those segments."""

    def __init__(self, prepare: Preparation) -> None:
        if prepare.low_pass is None:
            raise ValueError("a diagnosis needs filtered segments")
        self._prepare, self._lags = prepare, Lags(prepare.low_pass, prepare.step)
        self._names = dof_names(prepare.robot.model)
        model = prepare.robot.model
        self._columns = {dof: _columns(model, dof) for dof in self._names}
        sizes = [COMMON + sum(cause.size(model, dof) for cause in CAUSES) + self._lags.count for dof in self._names]
        self._equations = NormalEquations([np.arange(size) for size in sizes], max(sizes, default=0))

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
            common_and_own = np.column_stack([model[:, dof], motion, *own])[inside]
            columns = np.column_stack([common_and_own, efforts])
            good &= np.isfinite(columns).all(axis=1)
            self._equations.add(place, samples.stamps[inside][good], columns[good], efforts[good, self._lags.reach])

    def results(self) -> tuple[list[JointDiagnosis], list[Finding]]:
        """Diagnoses of the joints with a measured effort, in the model's order, and findings."""
        cases = self._cases()
        found = {name: explanation(case) for name, case in cases.items()}
        if any(steps and steps[0].cause is LOAD for steps, _ in found.values()):
            for name, case in cases.items():  # a load that others feel, too, may look like a scale
                found[name] = with_load(case, *found[name])
        joints, findings = [], []
        for name, (steps, left) in found.items():
            told, signals = self._told(name, cases[name], steps)
            joints.append(JointDiagnosis(name, told, left))
            findings += signals
        for cause in reversed(CAUSES):  # what the simplest finds comes first
            findings = cause.merged(findings)
        return joints, findings

    def _cases(self) -> dict[str, Case]:
        folds = [part for _, part in self._equations.folds(STRETCHES)]
        blocks, samples = self._equations.blocks(), self._equations.block_samples()
        found = {}
        for place, (dof, name) in enumerate(self._names.items()):
            stretches = [part.totals()[place] for part in folds if part.samples[place]]
            if stretches:
                short = np.array([block[place] for block in blocks])
                found[name] = Case(np.array(stretches), short, samples[:, place], self._columns[dof], self._lags)
        return found

    def _told(self, name: str, case: Case, steps: list[Step]) -> tuple[tuple[Cause, ...], list[Finding]]:
        causes = [step.cause for step in steps]
        total = case.stretches.sum(axis=0)
        whole = case.fit(causes, total)
        others = [fit for part in case.stretches if (fit := case.fit(causes, total - part)) is not None]
        if whole is None or len(others) < 2:
            return tuple(Cause(step.cause.name, step.share) for step in steps), []
        unit = torque_unit(self._prepare.robot.model, name)
        told, findings = [], []
        for cause, share in ((step.cause, step.share) for step in steps):
            numbers = cause.estimates(case, whole, others, unit)
            told.append(Cause(cause.told(numbers), share, estimates=numbers))
            if finding := cause.finding(name, numbers, unit):
                findings.append(finding)
        return tuple(told), findings


def _columns(model: Model, dof: int) -> dict[str, tuple[int, ...]]:
    """{cause: the columns whose factors it frees}, in the order of the list after those that all have in common."""
    found, after = {}, COMMON
    for cause in CAUSES:
        before, after = after, after + cause.size(model, dof)
        found[cause.name] = (*cause.common, *range(before, after))
    return found
