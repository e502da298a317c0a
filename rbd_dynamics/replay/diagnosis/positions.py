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
from rbd_dynamics.replay.diagnosis.free_fit import CHANCE, FreeFit, Regression, falls
from rbd_dynamics.replay.diagnosis.supposed import Supposed, Supposing, Zero
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
BETTER = 0.5  # of a joint's squares must be left at most, in one joint
SURE = 1.0  # by which the logarithms of all joints' squares fall together
LEAST = 0.5  # of that, to be looked at closely
QUARTERS = (0.5 * np.pi, -0.5 * np.pi, np.pi)  # by which zeros of encoders and descriptions often differ
LONG = 20.0  # s: in a shorter recording what presses for some of it looks like a zero that is elsewhere
SMALLEST = 0.01  # rad or m: a zero that is nearer is the same


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
        as_it_is = self._supposing.regression(supposed)
        if not as_it_is.enough:
            return []
        usual = as_it_is.fit(*as_it_is.none())
        if not (as_it_is.shares(usual) > POOR).any():
            return []
        fits = {k: self._fit(other) for k, other in self._suppositions(supposed).items()}
        long = self._span() > LONG
        zeros = self._zeros(supposed, far=bool((as_it_is.shares(usual) > FAR).any())) if long else {}
        tried: dict[tuple[str, int], FreeFit] = {("", k): fit for k, fit in fits.items()}
        tried |= {("zero", k): zero.fit for k, zero in zeros.items()}
        falls_by = {key: _fall(usual, fit) for key, fit in tried.items()}
        best = max(falls_by, key=lambda key: falls_by[key], default=("", 0))
        level = CHANCE / max(1, len(self._places) * (2 + len(QUARTERS)))
        if not falls_by.get(best, 0.0) > SURE or falls(usual, tried[best]) > level:
            return []
        if best[1] != GRAVITY_TAKEN_OUT and self._by_scales(as_it_is, usual, supposed) >= falls_by[best]:
            return []  # or efforts of another unit or sign, which is said with the efforts
        alike = [key for key in falls_by if falls_by[best] - falls_by[key] < SURE and falls_by[key] > 0.0]
        return [self._finding(best, joints, alike, zeros)]

    def _fit(self, supposed: Supposed) -> FreeFit:
        regression = self._supposing.regression(supposed)
        return regression.fit(*regression.none())

    def _by_scales(self, regression: Regression, usual: FreeFit, supposed: Supposed) -> float:
        """The most that signs of efforts, turned, or units would explain: of one joint, or of all that seem to be."""
        model = self._supposing.model(supposed)
        model, tau = model - model.mean(axis=0), supposed.tau - supposed.tau.mean(axis=0)
        both, square = np.sum(model * tau, axis=0), np.sum(np.square(model), axis=0)
        seems = np.where(both != 0.0, both / np.where(square > 0.0, square, 1.0), 1.0)
        scales = [np.where(turned, -1.0, 1.0) for turned in (both < 0.0, *np.eye(len(tau.T), dtype=bool))]
        _, none = regression.none()
        return max(_fall(usual, regression.fit(scale, none)) for scale in (*scales, seems, np.abs(seems)))

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

    def _zeros(self, supposed: Supposed, *, far: bool) -> dict[int, Zero]:
        """{place of a joint: its zero}, of those that seem to be elsewhere; far: by much, too."""
        few = supposed.fewer(FEW)
        before = self._fit(few)
        found: dict[int, Zero] = {}
        for k, (q_index, v_index, _) in enumerate(self._places):
            begins = {0.0: self._supposing.regression(few, [q_index])}
            if far and (q_index, v_index) in self._turning:
                begins |= {quarter: self._supposing.regression(few.moved(q_index, quarter)) for quarter in QUARTERS}
            gains = {begin: _fall(before, one.fit(*one.none())) for begin, one in begins.items()}
            begin = max(gains, key=lambda begin: gains[begin])
            if gains[begin] > LEAST * SURE:
                zero = self._supposing.zero(supposed, q_index, begin)
                if zero is not None and abs(zero.value) > SMALLEST and zero.lower * zero.upper > 0.0:
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


def _fall(usual: FreeFit, other: FreeFit) -> float:
    """Fall of the logarithm of all joints' squares; zero where no joint is explained much better."""
    was, left = (np.maximum(fit.left.sum(axis=0), 1e-300) for fit in (usual, other))
    return float(np.log(was / left).sum()) if (left < BETTER * was).any() else 0.0
