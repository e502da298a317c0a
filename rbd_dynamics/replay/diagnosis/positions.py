# SPDX-License-Identifier: Apache-2.0
"""Whether efforts fit the model better at other positions: degrees taken for radians, an axis turned round, a zero that
is elsewhere; or without gravity, which many robots take out of their efforts.

A few thousand samples from all over the recording, of which each supposition is tried where the recording as it is
leaves much; inertias of all bodies, rotors and friction are free, so that none of these can stand in for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import GRAVITY, INERTIA
from rbd_dynamics.replay.diagnosis.findings import Finding
from rbd_dynamics.replay.diagnosis.free_fit import CHANCE, falls
from rbd_dynamics.replay.diagnosis.supposed import SURE, Standard, Supposed, Supposing, Tried, Zero
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.estimates import Estimate
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.signals.segmentation import Segment

Array = NDArray[np.float64]

GRAVITY_TAKEN_OUT, DEGREES = -2, -1  # numbers of suppositions beside those of joints
MOST = 2000  # samples
FEW = 500  # samples, to see which zeros are worth more
POOR = 0.03  # of the torque of a joint: what must be left if there is to be a doubt
FAR = 0.15  # of the torque: what a zero that is elsewhere by far leaves
LEAST = 0.5  # of a fall that is sure, to be looked at closely
QUARTERS = (0.5 * np.pi, -0.5 * np.pi, np.pi)  # by which zeros of encoders and descriptions often differ
LONG = 20.0  # s: in a shorter recording what presses for some of it looks like a zero that is elsewhere


class PositionCheck:
    """Takes segments, keeps some samples, gives findings. `names`: of the degrees of freedom; base: of the robot."""

    def __init__(self, prepare: Preparation, names: Sequence[str], base: BaseErrors) -> None:
        self._prepare, self._names = prepare, tuple(names)
        self._supposing = Supposing(prepare, base, names)
        self._every = 1
        self._kept: list[tuple[NDArray[np.int64], Array]] = []  # numbers of the samples; q, v, a, effort side by side
        model = prepare.robot.model
        simple = [joint for joint in model.joints if joint.kind.nq == joint.kind.nv == 1]
        self._turning = [(joint.q_index, joint.v_index) for joint in simple if joint.kind.is_angle]
        self._places = [(joint.q_index, joint.v_index, joint.name) for joint in simple]
        #: of the findings: joints whose position may have the opposite sign as well as their effort
        self.either_sign: frozenset[str] = frozenset()

    def add(self, segment: Segment) -> None:
        """Every so-and-so-many-th sample; ever fewer as the recording grows."""
        numbers = np.rint(segment.t * self._rate).astype(np.int64)
        rows = np.flatnonzero((numbers % self._every == 0) & ~segment.filled)
        if not len(rows):
            return
        self._kept.append((numbers[rows], np.hstack([x[rows] for x in (segment.q, segment.v, segment.a, segment.tau)])))
        while sum(len(kept) for kept, _ in self._kept) > 2 * MOST:
            self._every *= 2
            self._kept = [(kept[kept % self._every == 0], rows[kept % self._every == 0]) for kept, rows in self._kept]

    @property
    def _rate(self) -> float:
        return self._prepare.low_pass.rate if self._prepare.low_pass is not None else 1.0

    def _span(self) -> float:
        """Time from the first sample that is kept to the last, s."""
        first, last = (edge(numbers) for edge, (numbers, _) in ((np.min, self._kept[0]), (np.max, self._kept[-1])))
        return float(last - first) / self._rate

    def findings(self) -> list[Finding]:
        """Suppositions under which the efforts fit much better."""
        if not self._kept:
            return []
        rows = np.concatenate([rows for _, rows in self._kept])
        nq, nv = self._prepare.robot.model.nq, self._prepare.robot.model.nv
        q, v, a, tau = np.split(rows, [nq, nq + nv, nq + 2 * nv], axis=1)
        joints = np.flatnonzero(np.isfinite(tau).all(axis=0) & (np.ptp(tau, axis=0) > 0.0))
        if len(rows) < 50 or not len(joints):
            return []
        supposed = Supposed(q, v, a, tau[:, joints], joints, self._prepare.rigid)
        whole, few = (Standard(self._supposing, some) for some in (supposed, supposed.fewer(FEW)))
        if not (whole.enough and few.enough and (whole.shares > POOR).any()):
            return []
        every, fewer = self._suppositions(supposed), self._suppositions(few.supposed)
        quick = {k: few.tried(other) for k, other in fewer.items()}
        turned = [k for k in quick if k >= 0 and few.plain.fall(quick[k]) > LEAST * SURE]
        self.either_sign = frozenset(self._places[k][2] for k in turned if self._either(whole, whole.tried(every[k])))
        seem = [k for k, other in fewer.items() if few.before(other).fall(quick[k]) > LEAST * SURE]
        tried = {("", k): whole.tried(every[k]) for k in seem}
        before = {("", k): whole.before(every[k]) for k in seem}
        zeros = self._zeros(whole, few) if self._span() > LONG else {}
        tried |= {("zero", k): zero.tried for k, zero in zeros.items()}
        better = {
            key: one
            for key, one in tried.items()
            if before.get(key, whole.usual).fall(one) > SURE and whole.usual.cost - one.cost > SURE
        }
        if not better:
            return []
        best = min(better, key=lambda key: better[key].cost)
        if not self._is_sure(before.get(best, whole.usual), better[best]):
            return []
        alike = [key for key, one in better.items() if one.cost - better[best].cost < SURE]
        return [self._finding(best, joints, alike, zeros)]

    def _either(self, whole: Standard, turned: Tried) -> bool:
        """Whether a joint that turns the other way may be what an effort of the other sign, or unit, explains."""
        usual = whole.usual
        as_good = turned.cost - usual.cost < SURE and falls(turned.fit, usual.fit) > self._level
        return as_good and whole.plain.fall(turned) > SURE

    def _is_sure(self, usual: Tried, other: Tried) -> bool:
        """Whether stretches that were not fitted agree, more clearly the less the bodies' errors would tell instead."""
        chance = falls(usual.fit, other.fit)
        wrong = float(np.exp(-0.5 * max(0.0, usual.errors - other.errors)))  # how likely bodies so wrong are
        return chance <= CHANCE and chance * wrong <= self._level

    @property
    def _level(self) -> float:
        """What may be by chance, of each of all suppositions."""
        return CHANCE / max(1, len(self._places) * (2 + len(QUARTERS)))

    def _suppositions(self, supposed: Supposed) -> dict[int, Supposed]:
        """Suppositions by their number, those of turned joints by their place."""
        found: dict[int, Supposed] = {}
        if self._without != supposed.terms and INERTIA in self._without:
            q, v, a, tau, joints = supposed.q, supposed.v, supposed.a, supposed.tau, supposed.joints
            found[GRAVITY_TAKEN_OUT] = Supposed(q, v, a, tau, joints, self._without)
        if self._turning:
            found[DEGREES] = supposed.times(self._turning, np.pi / 180.0)
        for k, place in enumerate(self._places):
            if np.ptp(supposed.q[:, place[0]]) > 0.0:
                found[k] = supposed.times([place[:2]], -1.0)
        return found

    def _zeros(self, whole: Standard, few: Standard) -> dict[int, Zero]:
        """{place of a joint: its zero}, of those that by a few samples seem to be elsewhere; also far away, where much
        is left."""
        far = bool((whole.shares > FAR).any())
        found: dict[int, Zero] = {}
        for k, (q_index, v_index, _) in enumerate(self._places):
            begins = {0.0: _fall(few, few.supposed, [q_index])}
            if far and (q_index, v_index) in self._turning:
                begins |= {quarter: _fall(few, few.supposed.moved(q_index, quarter)) for quarter in QUARTERS}
            begin = max(begins, key=lambda begin: begins[begin])
            if begins[begin] > LEAST * SURE and (zero := whole.zero(q_index, begin)) is not None:
                found[k] = zero
        return found

    @property
    def _without(self) -> tuple[str, ...]:
        return tuple(term for term in self._prepare.rigid if term != GRAVITY)

    def _finding(
        self,
        which: tuple[str, int],
        joints: NDArray[np.intp],
        alike: Sequence[tuple[str, int]],
        zeros: Mapping[int, Zero],
    ) -> Finding:
        kind, number = which
        if number == GRAVITY_TAKEN_OUT:
            names = tuple(self._names[k] for k in joints)
            text = "the efforts have no gravity in them: the robot takes it out before it reports them"
            return Finding("gravity", names, text, remedy=f"--terms {','.join(self._without)}")
        if number == DEGREES:
            names = tuple(self._names[k] for _, k in self._turning)
            text = "positions and velocities are in degrees, by the efforts"
            return Finding("degrees", names, text, remedy="--angles degrees")
        those = [(what, k) for what, k in alike if k >= 0]
        names = tuple(dict.fromkeys(self._places[k][2] for _, k in those))
        texts = [
            f"the zero of {self._places[k][2]} is {_angle(zeros[k])} elsewhere than in the description"
            if what
            else f"position of {self._places[k][2]} has the opposite sign: its axis in the description, or what was "
            "recorded"
            for what, k in those
        ]
        remedies = [
            f"--joint-offset {self._places[k][2]}={zeros[k].value:.4g}"
            if what
            else f"--position-scale {self._places[k][2]}=-1"
            for what, k in those
        ]
        estimate = None
        if kind:
            zero = zeros[number]
            error = (zero.upper - zero.lower) / 4.0
            estimate = Estimate("zero", zero.value, error, zero.lower, zero.upper, "rad", True)
        return Finding(
            "joint zero" if kind else "position sign",
            names,
            f"by the efforts, {', or '.join(texts)}",
            remedy=", or ".join(remedies),
            estimate=estimate,
        )


def _angle(zero: Zero) -> str:
    return f"{zero.value:.3g} rad ({zero.lower:.3g} to {zero.upper:.3g})"


def _fall(few: Standard, other: Supposed, zeros: Sequence[int] = ()) -> float:
    """What another supposition saves of the cost, by a few samples."""
    return few.before(other).fall(few.tried(other, zeros))
