# SPDX-License-Identifier: Apache-2.0
"""External torques out of measured ones, by generalised momentum (De Luca and Mattone, 2005).

The momentum p = M v obeys pdot = tau + C^T v - N - friction + tau_ext, in which no acceleration appears. What
of the change of p the known torques do not explain is tau_ext, seen through a first-order filter of rate K.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.coriolis_matrix import coriolis_matrix
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.passive_forces import add_passive_torque
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar, dot

SETTLES = 6.0  # time constants: of what it should have begun with only 0.25 % is missing then

Array = NDArray[np.float64]
Vector = Sequence[Scalar]


class MomentumObserver:
    """Estimates the torque (nv) that something besides the actuators exerts on the joints.

    Where measured torques are right the estimate follows the true one as rate / (s + rate), whatever the
    accelerations. Steps of any length are stable.

    Parameters:
        robot: with friction=True the model's friction counts as known.
        rate: K in 1/s, one for all or (nv,). Larger is faster and noisier.

    Raises ValueError for a rate that is not positive.
    """

    def __init__(self, robot: Robot, *, rate: ArrayLike = 20.0) -> None:
        nv = robot.model.nv
        self.robot = robot
        self.rate = np.broadcast_to(np.asarray(rate, dtype=float), (nv,)).copy()
        if not (np.isfinite(self.rate) & (self.rate > 0.0)).all():
            raise ValueError(f"rate {rate!r} must be positive")
        self.external = np.zeros(nv)
        self._momentum, self._known = np.zeros(nv), np.zeros(nv)
        self._next = np.zeros(nv), np.zeros(nv)
        self._started = False
        self._terms = _terms_kernel(robot)

    @property
    def settling(self) -> float:
        """Time after a beginning, s, until the estimate no longer knows that it began with no external torque."""
        return SETTLES / float(self.rate.min())

    def reset(self) -> None:
        """Begin anew with the next state: no external torque."""
        self._started = False
        self.external[:] = 0.0

    def update(self, q: Array, v: Array, tau: Array, dt: float) -> Array:
        """External torque (nv), the same array each time, after the state and actuator torque measured `dt` later.

        Raises ValueError or ArithmeticError for what is not finite, and then changes nothing.
        """
        momentum, known = self._next
        self._terms((q, v, self.robot.inertia_input), (momentum, known))
        known += tau
        if not np.isfinite(known).all() or not 0.0 <= dt < np.inf:
            raise ValueError(f"tau or dt is not finite, or dt is negative: {tau}, {dt}")
        if self._started:
            unexplained = momentum - self._momentum - 0.5 * dt * (known + self._known)
            keep, gain = _filter(self.rate, dt)
            self.external *= keep
            self.external += gain * unexplained
        self._started = True
        self._next = self._momentum, self._known
        self._momentum, self._known = momentum, known
        return self.external

    def of_samples(self, q: Array, v: Array, tau: Array, dt: float) -> Array:
        """External torques (N, nv) of N samples (N, nq), (N, nv), (N, nv) that follow, `dt` s apart.

        The same as `update` one by one, all at once. Raises ValueError for what is not finite.
        """
        from scipy.signal import lfilter

        if not len(q):
            return np.zeros_like(v)
        momentum, known = self._terms((q, v, self.robot.inertia_input))
        known = known + np.asarray(tau, dtype=float)
        if not np.isfinite(known).all() or not 0.0 < dt < np.inf:
            raise ValueError("tau or dt is not finite, or dt is not positive")
        before = (self._momentum, self._known) if self._started else (momentum[0], known[0])
        change = np.diff(momentum, axis=0, prepend=before[0][None])
        unexplained = change - 0.5 * dt * (known + np.concatenate([before[1][None], known[:-1]]))
        if not self._started:
            unexplained[0] = 0.0
        keep, gain = _filter(self.rate, dt)
        found = np.empty_like(unexplained)
        for k, column in enumerate(unexplained.T):
            found[:, k], _ = lfilter([gain[k]], [1.0, -keep[k]], column, zi=[keep[k] * self.external[k]])
        self._started = True
        self._momentum, self._known = momentum[-1].copy(), known[-1].copy()
        self.external[:] = found[-1]
        return found


def _filter(rate: Array, dt: float) -> tuple[Array, Array]:
    """external <- keep external + gain (change of momentum that is not explained), exact for a constant one."""
    keep = np.exp(-rate * dt)
    return keep, (1.0 - keep) / dt if dt > 0.0 else rate


def _terms_kernel(robot: Robot) -> Evaluation:
    """q, v -> M v, and C^T v - N - springs - friction."""
    own = {name: Argument(name, (robot.model.nv,)) for name in ("momentum", "known")}
    sizes = sizes_of(robot.model)
    signature = Signature(arguments("q v inertia", sizes), arguments("momentum known", sizes, own))

    function = function_of(robot.model, signature, _terms, friction=robot.friction)
    return robot.custom_kernel("momentum_observer", signature, function)


def _terms(x: Inputs) -> list[Vector]:
    C = coriolis_matrix(x.model, x.inertias, x.q, x.v)
    static = inverse_dynamics(x.model, x.inertias, x.q, x.still, x.still)
    passive = add_passive_torque(x.model, static, None, x.v if x.friction else None)
    momentum = [dot(row, x.v) for row in x.mass_matrix()]
    return [momentum, [dot(column, x.v) - n for column, n in zip(zip(*C), passive)]]
