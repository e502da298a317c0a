# SPDX-License-Identifier: Apache-2.0
"""Columns of a joint beside those of causes: what a description may have wrong, and friction that remembers.

Friction falls from breakaway to Coulomb's with speed (Stribeck), and grows to it over some displacement after each
reversal (Dahl 1968): dz = (sign(dx) - z) |dx| / reach. The latter looks like an effort that is late. It also grows with
the torque that the gear carries.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.samples import JointSamples, Preparation
from rbd_dynamics.replay.signals.filtering import LowPass

Array = NDArray[np.float64]

SPEEDS = (0.04, 0.16)  # rad/s or m/s, over which friction falls
REACHES = (0.003, 0.01, 0.03, 0.1)  # rad or m, over which it grows
FRICTION = len(SPEEDS) + len(REACHES) + 1


class Beside:
    """Makes the columns: friction, those of the given model's gravity, and of base parameters.

    Attributes:
        errors: {degree of freedom: (base parameters that it feels, errors of bodies)}: columns of base parameters times
            these are those of errors in units of the largest.
    """

    def __init__(self, prepare: Preparation, base: BaseErrors) -> None:
        self._prepare, self._base = prepare, base
        low_pass = prepare.low_pass
        rate = 0.0 if low_pass is None else low_pass.rate / prepare.step
        self._filter = None if low_pass is None else LowPass(low_pass.cutoff, low_pass.order, rate)
        self._rate = rate
        self.errors = {dof: base.errors[felt] for dof, felt in enumerate(base.felt)}
        self._last: tuple[JointSamples, Array, Array] | None = None

    @property
    def shared(self) -> int:
        """Errors of all bodies."""
        return int(self._base.errors.shape[1])

    def size(self, dof: int) -> int:
        return FRICTION + 1 + len(self._base.columns[dof])

    def columns(self, samples: JointSamples, dof: int) -> Array:
        """(N, size) of one degree of freedom."""
        friction, gravity = self._of_all(samples)
        by_load = samples.level[:, dof] * np.abs(samples.measured[:, dof] - samples.residual[:, dof])
        own = np.column_stack([friction[:, dof], by_load]) * ~samples.still[:, [dof]]
        inertial = self._prepare.regressor(samples)[:, dof][:, self._base.columns[dof]]
        return np.column_stack([own, gravity[:, dof], inertial])

    def _of_all(self, samples: JointSamples) -> tuple[Array, Array]:
        if self._last is None or self._last[0] is not samples:
            v = samples.speed[:, :, None]
            falling = np.tanh(v / COULOMB_SPEED) * np.exp(-np.square(v / np.array(SPEEDS)))
            both = np.concatenate([falling, remembered(samples.speed, self._rate)], axis=2)
            filtered = both if self._filter is None else self._filter.both_ways(both)
            self._last = samples, filtered, self._prepare.robot.gravity(samples.q)
        return self._last[1:]


def remembered(v: Array, rate: float) -> Array:
    """Dahl's z (N, nv, reaches) of velocities (N, nv): how much of Coulomb friction is there.

    z_k = a_k z_(k-1) + b_k, all at once: pairs (a, b) of neighbours are joined, then of joined ones, and so on.
    """
    moved = (v / max(rate, 1e-9))[:, :, None] / np.array(REACHES)
    a = np.exp(-np.abs(moved))
    b = (1.0 - a) * np.sign(moved)
    if len(v):
        a[0], b[0] = 0.0, np.tanh(v[0] / COULOMB_SPEED)[:, None]
    step = 1
    while step < len(v) and a.max(initial=0.0) > 1e-9:
        b[step:] = b[step:] + a[step:] * b[:-step]
        a[step:] = a[step:] * a[:-step]
        step *= 2
    return b
