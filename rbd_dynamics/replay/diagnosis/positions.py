# SPDX-License-Identifier: Apache-2.0
"""Whether efforts fit the model better at other positions: degrees taken for radians, an axis turned round; or without
gravity, which many robots take out of their efforts.

A few thousand samples from all over the recording, of which each supposition is tried where the recording as it is
leaves much; inertias of all bodies, rotors and friction are free, so that none of these can stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import GRAVITY, INERTIA, inverse_dynamics_terms
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.diagnosis.findings import Finding
from rbd_dynamics.replay.diagnosis.free_fit import CHANCE, FreeFit, JointSums, Regression, falls
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.samples import Preparation, regressor_of
from rbd_dynamics.replay.signals.segmentation import Segment

Array = NDArray[np.float64]

_Supposed = tuple[Array, Array, Array, tuple[str, ...]]  # q, v, a and the model's terms

GRAVITY_TAKEN_OUT, DEGREES = -2, -1  # numbers of suppositions beside those of joints
STRETCHES = 8
MOST = 2000  # samples
POOR = 0.03  # of the torque of a joint: what must be left if there is to be a doubt
BETTER = 0.5  # of a joint's squares must be left at most, in one joint
SURE = 1.0  # by which the logarithms of all joints' squares fall together


class PositionCheck:
    """Takes segments, keeps some samples, gives findings. `names`: of the degrees of freedom; base: of the robot."""

    def __init__(self, prepare: Preparation, names: Sequence[str], base: BaseErrors) -> None:
        self._prepare, self._names, self._base = prepare, tuple(names), base
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
        sample = q, v, a, self._prepare.rigid
        as_it_is = self._regression(tau[:, joints], joints, sample)
        if not as_it_is.enough:
            return []
        usual = as_it_is.fit(*as_it_is.none())
        if not (as_it_is.shares(usual) > POOR).any():
            return []
        suppositions = self._suppositions(q, v, a)
        fits = {k: self._regression(tau[:, joints], joints, changed) for k, changed in suppositions.items()}
        better = {k: regression.fit(*regression.none()) for k, regression in fits.items()}
        falls_by = {k: _fall(usual, fit) for k, fit in better.items()}
        best = max(falls_by, key=lambda k: falls_by[k], default=0)
        if not falls_by.get(best, 0.0) > SURE or falls(usual, better[best]) > CHANCE / len(falls_by):
            return []
        if best >= 0 and self._turned_efforts(as_it_is, usual, tau[:, joints], joints, q, v, a) >= falls_by[best]:
            return []  # or an effort's sign, which is said with the efforts
        alike = [self._places[k][2] for k in falls_by if k >= 0 and falls_by[best] - falls_by[k] < SURE]
        return [self._finding(best, joints, alike)]

    def _turned_efforts(
        self,
        regression: Regression,
        usual: FreeFit,
        tau: Array,
        joints: NDArray[np.intp],
        q: Array,
        v: Array,
        a: Array,
    ) -> float:
        """The most that signs of efforts, turned, would explain: of one joint, or of all that seem to be."""
        model = inverse_dynamics_terms(self._prepare.robot, q, v, a, self._prepare.rigid)[:, joints]
        against = np.sum((model - model.mean(axis=0)) * (tau - tau.mean(axis=0)), axis=0) < 0.0
        one = np.eye(len(joints), dtype=bool)
        _, none = regression.none()
        tried = (regression.fit(np.where(turned, -1.0, 1.0), none) for turned in (against, *one))
        return max(_fall(usual, fit) for fit in tried)

    def _suppositions(self, q: Array, v: Array, a: Array) -> dict[int, _Supposed]:
        """{number: positions, velocities, accelerations and terms}, of turned joints by their place."""
        found: dict[int, _Supposed] = {}
        rigid = self._prepare.rigid
        if self._without != rigid and INERTIA in self._without:
            found[GRAVITY_TAKEN_OUT] = q, v, a, self._without
        if self._turning:
            found[DEGREES] = *_changed(q, v, a, self._turning, np.pi / 180.0), rigid
        for k, place in enumerate(self._places):
            if np.ptp(q[:, place[0]]) > 0.0:
                found[k] = *_changed(q, v, a, [place[:2]], -1.0), rigid
        return found

    @property
    def _without(self) -> tuple[str, ...]:
        return tuple(term for term in self._prepare.rigid if term != GRAVITY)

    def _finding(self, which: int, joints: NDArray[np.intp], alike: Sequence[str]) -> Finding:
        if which == GRAVITY_TAKEN_OUT:
            names = tuple(self._names[k] for k in joints)
            text = "the efforts have no gravity in them: the robot takes it out before it reports them"
            return Finding("gravity", names, text, remedy=f"--terms {','.join(self._without)}")
        if which == DEGREES:
            names = tuple(self._names[k] for _, k in self._turning)
            text = "positions and velocities are in degrees, by the efforts"
            return Finding("degrees", names, text, remedy="--angles degrees")
        text = f"position of {' or '.join(alike)} has the sign turned, by the efforts"
        return Finding("position sign", tuple(alike), f"{text}: its axis in the description, or what was recorded")

    def _regression(self, tau: Array, joints: NDArray[np.intp], supposed: _Supposed) -> Regression:
        q, v, a, terms = supposed
        robot, base, one = self._prepare.robot, self._base, np.ones((1, 1))
        regressor = regressor_of(robot, q, v, a, terms)
        model = inverse_dynamics_terms(robot, q, v, a, terms)
        stretches = [part for part in np.array_split(np.arange(len(q)), STRETCHES) if len(part)]
        found = []
        for k, dof in enumerate(joints.tolist()):
            inertial = regressor[:, dof][:, base.columns[dof]] @ base.errors[base.felt[dof]]
            level, nothing = np.tanh(v[:, dof] / COULOMB_SPEED), np.zeros(len(q))
            own = [np.ones(len(q)), level, v[:, dof], a[:, dof], nothing, model[:, dof], tau[:, k]]
            columns = np.column_stack([inertial, *own])
            sums = np.array([columns[part].T @ columns[part] for part in stretches])
            samples = np.array([len(part) for part in stretches], dtype=float)
            found.append(JointSums(self._names[dof], sums, samples, np.array([-np.inf, 0.0, 0.0, 0.0]), one, 0))
        return Regression(found, base.errors.shape[1])


def _fall(usual: FreeFit, other: FreeFit) -> float:
    """Fall of the logarithm of all joints' squares; zero where no joint is explained much better."""
    was, left = (np.maximum(fit.left.sum(axis=0), 1e-300) for fit in (usual, other))
    return float(np.log(was / left).sum()) if (left < BETTER * was).any() else 0.0


def _changed(
    q: Array, v: Array, a: Array, places: Sequence[tuple[int, int]], factor: float
) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of joints at these places in q and v, times a factor."""
    q, v, a = q.copy(), v.copy(), a.copy()
    for q_index, v_index in places:
        q[:, q_index] *= factor
        v[:, v_index] *= factor
        a[:, v_index] *= factor
    return q, v, a
