# SPDX-License-Identifier: Apache-2.0
"""Measured efforts against the model's: the sums from which `causes` explains each joint's residual."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.replay.diagnosis.causes import (
    COULOMB,
    LOAD,
    MODEL,
    OFFSET,
    VISCOUS,
    Case,
    Name,
    Step,
    explain,
    explanation,
    interval,
)
from rbd_dynamics.replay.diagnosis.findings import Cause, Finding, JointDiagnosis
from rbd_dynamics.replay.diagnosis.lags import Lags
from rbd_dynamics.replay.diagnosis.velocities import DEGREE, merge_delays
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import Preparation, dof_names, friction_columns, torque_unit
from rbd_dynamics.replay.signals.segmentation import Segment

Array = NDArray[np.float64]

STRETCHES = 8
CURRENT = 0.5  # a scale beyond this or its inverse is hardly a wrong mass
TWICE, MUCH = 2.0, 0.1  # as much of the residual may be left, or so much more, if a load is to stand for a scale
KNOWN = 0.2  # of a scale: one with a wider interval says nothing of units


class EffortCheck:
    """Takes segments, gives each joint's diagnosis and findings about efforts. `prepare`: made for those segments."""

    def __init__(self, prepare: Preparation) -> None:
        if prepare.low_pass is None:
            raise ValueError("a diagnosis needs filtered segments")
        self._prepare, self._lags = prepare, Lags(prepare.low_pass, prepare.step)
        self._names = dof_names(prepare.robot.model)
        tips = _tips(prepare.robot.model)
        self._loads = {
            dof: [k for body in tips.get(dof, ()) for k in range(10 * body, 10 * body + 10)] for dof in self._names
        }
        sizes = [LOAD + len(self._loads[dof]) + self._lags.count for dof in self._names]
        self._equations = NormalEquations([np.arange(size) for size in sizes], max(sizes, default=0))

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is None:
            return
        if len(samples.rows) < self._lags.count:
            return
        regressor = self._prepare.regressor(samples) if any(self._loads.values()) else None
        model, inside, twice = samples.measured - samples.residual, self._lags.inside, 2 * self._lags.reach
        for place, dof in enumerate(self._names):
            usable = samples.usable[:, dof]
            good = usable[inside] & usable[:-twice] & usable[twice:]
            if not good.any():
                continue
            efforts = self._lags.of(samples.measured[:, dof])
            parts = [friction_columns(samples, dof)[inside], model[inside, dof]]
            if regressor is not None:
                parts.append(regressor[inside, dof][:, self._loads[dof]])
            columns = np.column_stack([*parts, efforts])
            good &= np.isfinite(columns).all(axis=1)
            self._equations.add(place, samples.stamps[inside][good], columns[good], efforts[good, self._lags.reach])

    def results(self) -> tuple[list[JointDiagnosis], list[Finding]]:
        """Diagnoses of the joints with a measured effort, in the model's order, and findings."""
        cases = self._cases()
        found = {name: explanation(case) for name, case in cases.items()}
        if any(steps and steps[0].name == "load" for steps, _ in found.values()):
            for name, case in cases.items():  # a load that others feel, too, may look like a scale
                found[name] = _with_load(case, *found[name])
        joints, findings = [], []
        for name, (steps, left) in found.items():
            told, signals = self._told(name, cases[name], steps)
            joints.append(JointDiagnosis(name, told, left))
            findings += signals
        return joints, _scales(merge_delays(findings, "effort"))

    def _cases(self) -> dict[str, Case]:
        folds = [part for _, part in self._equations.folds(STRETCHES)]
        blocks, samples = self._equations.blocks(), self._equations.block_samples()
        found = {}
        for place, (dof, name) in enumerate(self._names.items()):
            stretches = [part.totals()[place] for part in folds if part.samples[place]]
            if stretches:
                short = np.array([block[place] for block in blocks])
                found[name] = Case(
                    np.array(stretches), short, samples[:, place], len(self._loads[dof]), self._lags
                )  # fmt: skip
        return found

    def _told(self, name: str, case: Case, steps: list[Step]) -> tuple[tuple[Cause, ...], list[Finding]]:
        causes: list[Name] = [step.name for step in steps if step.name != "contact"]
        total = case.stretches.sum(axis=0)
        whole = case.fit(causes, total)
        others = [fit for part in case.stretches if (fit := case.fit(causes, total - part)) is not None]
        if whole is None or len(others) < 2:
            return tuple(Cause(step.name, step.share) for step in steps), []
        unit = torque_unit(self._prepare.robot.model, name)

        def estimate(what: str, column: int, of: str) -> Estimate:
            way = whole.way if column in (COULOMB, VISCOUS) else 1.0
            value = way * float(whole.coefficients[column])
            return _estimate(what, value, np.array([way * fit.coefficients[column] for fit in others]), of)

        told, findings = [], []
        for step in steps:
            label, numbers = str(step.name), []
            if step.name == "offset":
                numbers = [estimate("offset", OFFSET, unit)]
            elif step.name == "friction":
                rate = f"{unit} s" if unit == "N m" else "N s/m"
                numbers = [estimate("coulomb", COULOMB, unit), estimate("viscous", VISCOUS, rate)]
            elif step.name == "delay":
                tried = case.lags.tried
                places = np.array([tried[fit.place] for fit in others])
                numbers = [_estimate("delay", float(tried[whole.place]), places, "s")]
                findings.append(_late(name, numbers[0]))
            elif step.name == "scale":
                numbers = [estimate("scale", MODEL, "")]
                label = "sign" if numbers[0].value < 0.0 else "scale"
                if _doubtful(numbers[0]):
                    findings.append(_scaled(name, numbers[0], unit))
            told.append(Cause(label, step.share, estimates=tuple(numbers)))
        return tuple(told), findings


def _with_load(case: Case, steps: list[Step], left: float) -> tuple[list[Step], float]:
    """The steps with a load in place of a scale near one, where it explains about as much."""
    if not steps or steps[0].name != "scale":
        return steps, left
    whole = case.fit([step.name for step in steps if step.name != "contact"], case.stretches.sum(axis=0))
    if whole is None or not CURRENT < whole.coefficients[MODEL] < 1.0 / CURRENT:
        return steps, left
    others, rest = explain(case, without=("scale",))
    as_good = rest <= max(TWICE * left, left + MUCH) and any(step.name == "load" for step in others)
    return (others, rest) if as_good else (steps, left)


def _tips(model: Model) -> dict[int, list[int]]:
    """Last bodies that each degree of freedom carries: where loads are."""
    parents = {body.parent for body in model.bodies}
    found: dict[int, list[int]] = {}
    for tip in (k for k in range(len(model.bodies)) if k not in parents):
        index = tip
        while index != WORLD:
            joint = model.bodies[index].joint
            for dof in range(joint.v_index, joint.v_index + joint.kind.nv):
                found.setdefault(dof, []).append(tip)
            index = model.bodies[index].parent
    return {dof: tips[:2] for dof, tips in found.items()}  # of a hand any finger tells as much


def _estimate(name: str, value: float, others: Array, unit: str) -> Estimate:
    low, high = interval(others, value)
    return Estimate(name, value, (high - low) / 4.0, low, high, unit, True)


def _doubtful(scale: Estimate) -> bool:
    """So far from one that it is no wrong mass: another unit, a gain, a sign."""
    sure = scale.upper - scale.lower < 2.0 * KNOWN * abs(scale.value)
    return sure and not (CURRENT < scale.value < 1.0 / CURRENT)


def _scaled(name: str, scale: Estimate, unit: str) -> Finding:
    value = f"{scale.value:.3g} ({scale.lower:.3g} to {scale.upper:.3g})"
    remedy = f"--effort-scale {name}={1.0 / scale.value:.4g}"
    if abs(scale.value + 1.0) < 1.0 - CURRENT:
        text = f"effort of {name} has the sign turned against the model: {value} times its torque"
        return Finding("effort sign", (name,), text, remedy=remedy, estimate=scale)
    guess = next((what for factor, what in _UNITS if abs(abs(scale.value) / factor - 1.0) < 0.1), "")
    guess = guess or f"a motor's current, with {1.0 / scale.value:.3g} {unit} per ampere? or another unit"
    text = f"effort of {name} is {value} times the model's torque: no {unit}; {guess}"
    return Finding("effort scale", (name,), text, remedy=remedy, estimate=scale)


_UNITS = (
    (1e3, "thousandths of it"),
    (1e-3, "thousands of it"),
    (100.0, "hundredths of it, or percent"),
    (DEGREE, "degrees?"),
)


def _late(name: str, delay: Estimate) -> Finding:
    way = "late" if delay.value > 0.0 else "early"
    value = f"{1e3 * abs(delay.value):.3g} ms {way} ({1e3 * delay.lower:.3g} to {1e3 * delay.upper:.3g})"
    remedy = f"--delay effort:{name}={delay.value:.4g}"
    return Finding(
        "effort delay",
        (name,),
        f"effort of {name} is {value} against the model's torque",
        remedy=remedy,
        estimate=delay,
    )


def _scales(found: list[Finding]) -> list[Finding]:
    """One for all joints that have the same scale."""
    for kind in ("effort sign", "effort scale"):
        alike = [finding for finding in found if finding.kind == kind and finding.estimate is not None]
        values = [finding.estimate.value for finding in alike if finding.estimate is not None]
        if len(alike) < 2 or not np.ptp(values) < 0.1 * abs(np.median(values)):
            continue
        median = float(np.median(values))
        names = tuple(name for finding in alike for name in finding.joints)
        said = "have the sign turned against the model" if kind == "effort sign" else "are not in the model's unit"
        text = f"efforts of {', '.join(names)} {said}: all are about {median:.3g} times its torque"
        low, high = (float(np.median([getattr(f.estimate, key) for f in alike])) for key in ("lower", "upper"))
        estimate = Estimate("scale", median, (high - low) / 4.0, low, high, "", True)
        remedy = f"--effort-scale {1.0 / median:.4g}" if len(names) > 2 else "; ".join(f.remedy for f in alike)
        one = Finding(kind, names, text, remedy=remedy, estimate=estimate)
        found = [one, *(finding for finding in found if finding not in alike)]
    return found
