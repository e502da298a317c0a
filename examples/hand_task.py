# SPDX-License-Identifier: Apache-2.0
"""What an arm's hand has to do, as a problem for ilqr.py: reach or follow goals with little effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ilqr import Quadratic
from numpy.typing import NDArray

import rbd_dynamics as rbd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """Of squares; halves of them are added up over the nodes, `last` and `rest` count at the last node alone.

    hand [1/m^2]: distance to the goal. axis: of the hand's z axis to the wanted one. rest [s^2/rad^2]: velocity at the
    end. speed [s^2/rad^2]: velocity. effort [1/(N m)^2]: torque beside gravity. posture [1/rad^2]: distance to the
    comfortable one. limits: what positions and speeds are beyond 97 % of their limits.
    """

    hand: float = 0.0
    last: float = 0.0
    axis: float = 0.0
    rest: float = 0.0
    speed: float = 1e-3
    effort: float = 1e-5
    posture: float = 0.0
    limits: float = 100.0


class HandTask:
    """States (q, v) of an arm whose joints have one degree of freedom each; controls are its torques.

    goals: (N + 1, 3) in the world, m. axis: where the hand's z axis points. step: between nodes, s. Time steps are
    semi-implicit: v' = v + h a, q' = q + h v'.
    """

    def __init__(
        self, robot: rbd.Robot, frame: str, goals: Array, weights: Weights, *, step: float,
        axis: Sequence[float] = (0.0, 0.0, -1.0), posture: Array | None = None,
    ) -> None:  # fmt: skip
        model = robot.model
        self.robot, self.frame, self.goals, self.weights, self.h = robot, frame, goals, weights, step
        self.axis, self.nv = np.asarray(axis, dtype=float), model.nv
        self.posture = model.start_position() if posture is None else posture
        self.lower, self.upper = -model.effort_limit, model.effort_limit
        middle, half = 0.5 * (model.lower + model.upper), 0.5 * (model.upper - model.lower)
        self._most = np.concatenate([middle + 0.97 * half, 0.97 * model.velocity_limit])
        self._least = np.concatenate([middle - 0.97 * half, -0.97 * model.velocity_limit])
        N = len(goals) - 1
        self._hand = np.append(np.full(N, weights.hand), weights.last)  # weights of each node
        self._speed = np.append(np.full(N, weights.speed), weights.rest)

    def step(self, k: int, x: Array, u: Array) -> Array:
        q, v = x[: self.nv], x[self.nv :]
        v = v + self.h * self.robot.forward_dynamics(q, v, u)
        return np.concatenate([q + self.h * v, v])

    def difference(self, start: Array, end: Array) -> Array:
        return end - start

    def linearised(self, xs: Array, us: Array) -> tuple[Array, Array]:
        h, n = self.h, self.nv
        q, v = xs[:-1, :n], xs[:-1, n:]
        by_q, by_v, by_u = self.robot.forward_dynamics_derivatives(q, v, us)
        A, B = np.empty((len(us), 2 * n, 2 * n)), np.empty((len(us), 2 * n, n))
        A[:, n:, :n], A[:, n:, n:], B[:, n:] = h * by_q, np.eye(n) + h * by_v, h * by_u
        A[:, :n], B[:, :n] = h * A[:, n:], h * B[:, n:]
        A[:, :n, :n] += np.eye(n)
        return A, B

    def cost(self, xs: Array, us: Array) -> float:
        q, v, w = xs[:, : self.nv], xs[:, self.nv :], self.weights
        pose = self.robot.pose(q, self.frame)
        squares = (
            self._hand @ _square(pose[:, :3, 3] - self.goals) + w.axis * _square(pose[:, :3, 2] - self.axis).sum()
            + self._speed @ _square(v) + w.posture * _square(q - self.posture).sum()
            + w.effort * _square(us - self.robot.gravity(q[:-1])).sum() + w.limits * _square(self._beyond(xs)).sum()
        )  # fmt: skip
        return 0.5 * float(squares)

    def quadratic(self, xs: Array, us: Array) -> Quadratic:
        """Gauss-Newton: squares of the linearised residuals."""
        n, w = self.nv, self.weights
        q, v, robot = xs[:, :n], xs[:, n:], self.robot
        x, xx = np.zeros((len(xs), 2 * n)), np.zeros((len(xs), 2 * n, 2 * n))
        pose, J = robot.pose(q, self.frame), robot.jacobian(q, self.frame)
        R = pose[:, :3, :3]
        moved, turned = R @ J[:, 3:], R[:, :, :2] @ np.stack([J[:, 1], -J[:, 0]], axis=1)  # d R e_z = R (w x e_z)
        both = np.concatenate([moved, turned], axis=1)
        weight = np.concatenate([np.tile(self._hand[:, None], 3), np.full((len(xs), 3), w.axis)], axis=1)
        residual = np.concatenate([pose[:, :3, 3] - self.goals, pose[:, :3, 2] - self.axis], axis=1)
        weighted = (weight[:, :, None] * both).swapaxes(1, 2)
        x[:, :n] = (weighted @ residual[:, :, None])[:, :, 0] + w.posture * (q - self.posture)
        x[:, n:] = self._speed[:, None] * v
        xx[:, :n, :n] = weighted @ both + w.posture * np.eye(n)
        xx[:, n:, n:] = self._speed[:, None, None] * np.eye(n)
        still = np.zeros_like(us)
        by_q = robot.inverse_dynamics_derivatives(q[:-1], still, still)[0]
        u = w.effort * (us - robot.gravity(q[:-1]))
        x[:-1, :n] -= (u[:, None] @ by_q)[:, 0]
        xx[:-1, :n, :n] += w.effort * by_q.swapaxes(1, 2) @ by_q
        xu = np.zeros((len(us), 2 * n, n))
        xu[:, :n] = -w.effort * by_q.swapaxes(1, 2)
        beyond = self._beyond(xs)
        x += w.limits * beyond
        xx[:, np.arange(2 * n), np.arange(2 * n)] += w.limits * (beyond != 0)
        return Quadratic(x, u, xx, xu, np.tile(w.effort * np.eye(n), (len(us), 1, 1)))

    def _beyond(self, xs: Array) -> Array:
        return np.maximum(xs - self._most, 0.0) + np.minimum(xs - self._least, 0.0)


def _square(rows: Array) -> Array:
    return np.einsum("ki,ki->k", rows, rows)
