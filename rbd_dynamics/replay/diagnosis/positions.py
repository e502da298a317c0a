# SPDX-License-Identifier: Apache-2.0
"""Whether efforts fit the model better at other positions: degrees taken for radians, an axis turned round; or without
gravity, which many robots take out of their efforts.

A few thousand samples from all over the recording, of which each supposition is tried; scale, offset and friction of
each joint are free, so that these cannot stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import GRAVITY, INERTIA, inverse_dynamics_terms
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.diagnosis.findings import Finding
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.spatial.rank import least_squares

Array = NDArray[np.float64]

MOST = 2000  # samples
BETTER = 0.5  # of a joint's squares must be left at most, in one joint
SURE = 1.0  # by which the logarithms of all joints' squares fall together
EXPLAINED = 0.7  # of that joint's variance, by the better supposition


class PositionCheck:
    """Takes segments, keeps some samples, gives findings. `names`: of the degrees of freedom."""

    def __init__(self, prepare: Preparation, names: Sequence[str]) -> None:
        self._prepare, self._names = prepare, tuple(names)
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
        usual = self._left(q, v, a, tau[:, joints], joints)
        spread = np.square(tau[:, joints] - tau[:, joints].mean(axis=0)).sum(axis=0)

        def gain(qs: Array, vs: Array, accelerations: Array, terms: tuple[str, ...] | None = None) -> float:
            """Fall of the logarithm of all joints' squares; zero where no joint is explained much better."""
            left = self._left(qs, vs, accelerations, tau[:, joints], joints, terms)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = left / usual
                good = (ratio < BETTER) & (left < (1.0 - EXPLAINED) * spread)
                fall = -float(np.log(ratio).sum())
            return fall if good.any() and np.isfinite(fall) else 0.0

        gains: dict[int, float] = {}
        without = tuple(term for term in self._prepare.rigid if term != GRAVITY)
        if without != self._prepare.rigid and INERTIA in without:
            gains[-2] = gain(q, v, a, without)
        if self._turning:
            gains[-1] = gain(*_changed(q, v, a, self._turning, np.pi / 180.0))
        for k, place in enumerate(self._places):
            if np.ptp(q[:, place[0]]) > 0.0:
                gains[k] = gain(*_changed(q, v, a, [place[:2]], -1.0))
        best = max(gains, key=lambda k: gains[k], default=-1)
        if not gains.get(best, 0.0) > SURE:
            return []
        if best == -2:
            names = tuple(self._names[k] for k in joints)
            text = "the efforts have no gravity in them: the robot takes it out before it reports them"
            return [Finding("gravity", names, text, remedy=f"--terms {','.join(without)}")]
        if best < 0:
            names = tuple(self._names[k] for _, k in self._turning)
            return [
                Finding(
                    "degrees",
                    names,
                    "positions and velocities are in degrees, by the efforts",
                    remedy="--angles degrees",
                )
            ]
        alike = [self._places[k][2] for k in gains if k >= 0 and gains[best] - gains[k] < SURE]
        text = f"position of {' or '.join(alike)} has the sign turned, by the efforts"
        return [Finding("position sign", tuple(alike), f"{text}: its axis in the description, or what was recorded")]

    def _left(
        self, q: Array, v: Array, a: Array, tau: Array, joints: NDArray[np.intp], terms: tuple[str, ...] | None = None
    ) -> Array:
        """Sums of squares (joints,) that scale, offset and friction leave; terms: of the model, if not as chosen."""
        model = inverse_dynamics_terms(self._prepare.robot, q, v, a, terms or self._prepare.rigid)
        found = np.zeros(len(joints))
        for k, dof in enumerate(joints):
            columns = np.column_stack([np.ones(len(q)), model[:, dof], v[:, dof], np.tanh(v[:, dof] / COULOMB_SPEED)])
            found[k] = np.square(tau[:, k] - columns @ least_squares(columns, tau[:, k])).sum()
        return found


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
