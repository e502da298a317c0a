# SPDX-License-Identifier: Apache-2.0
"""Nodes of a reaching problem: what each computes is written here over numbers or what stands for them, and becomes
machine code by `Robot.custom_kernel`. The nodes' derivatives come out of one call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.algorithms.frame_reference import REFERENCES
from rbd_dynamics.algorithms.frames import frame_jacobian, frame_pose
from rbd_dynamics.algorithms.hybrid_dynamics import forward_dynamics
from rbd_dynamics.algorithms.hybrid_dynamics_derivatives import forward_dynamics_derivatives
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.spatial.row_sweeps import finished

Array = NDArray[np.float64]


class Weights(NamedTuple):
    """Of halves of squares: hand [1/m^2] its distance to the goal; posture [1/rad^2]; speed [s^2/rad^2]; effort
    [1/(N m)^2] beside gravity."""

    hand: float
    posture: float
    speed: float
    effort: float


def residuals(x: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Of the hand (3), of posture and velocity (2 nv), and the torques (nv) beside gravity.

    x: inputs of a kernel, numbers or what stands for them.
    """
    n = x.model.nv
    q, v = x.state[:n], x.state[n:]
    hand = [a - b for a, b in zip(frame_pose(x.model, q, x.frame).p, x.goal)]
    weight = inverse_dynamics(x.model, x.inertias, q, x.still, x.still)
    return hand, [*(a - b for a, b in zip(q, x.posture)), *v], [a - b for a, b in zip(x.u, weight)]


def step_of_node(x: Any) -> list[list[Any]]:
    """The next state, by v' = v + h a and q' = q + h v', and the cost."""
    n, (h,) = x.model.nv, x.h
    q, v = x.state[:n], x.state[n:]
    after = [y + h * a for y, a in zip(v, forward_dynamics(x.model, x.inertias, q, v, x.u))]
    (hand, state, effort), w = residuals(x), Weights(*x.weights)
    cost = w.hand * _square(hand) + w.posture * _square(state[:n]) + w.speed * _square(state[n:])
    return [[*(y + h * z for y, z in zip(q, after)), *after], [0.5 * (cost + w.effort * _square(effort))]]


def expansion(x: Any) -> list[list[Any]]:
    """Derivatives of the next state by state and torque, and of the cost, Gauss-Newton: Fx, Fu, Lx, Lu, Lxx, Lxu."""
    n, (h,) = x.model.nv, x.h
    q, v = x.state[:n], x.state[n:]
    of_a = finished(forward_dynamics_derivatives(x.model, x.inertias, q, v, x.u))
    by_q, by_v, by_u = ([list(rows[n * i : n * i + n]) for i in range(n)] for rows in of_a)
    after_x = [[h * a for a in by_q[i]] + [h * a + (i == j) for j, a in enumerate(by_v[i])] for i in range(n)]
    next_x = [[h * a + (i == j) for j, a in enumerate(row)] for i, row in enumerate(after_x)]
    after_u = [[h * a for a in row] for row in by_u]

    (hand, state, effort), w = residuals(x), Weights(*x.weights)
    J = [column[3:] for column in frame_jacobian(x.model, q, x.frame, REFERENCES["aligned"])]  # in world axes
    by_posture, _, _ = inverse_dynamics_derivatives(x.model, x.inertias, q, x.still, x.still)
    G = [[row[i] for row in by_posture] for i in range(n)]  # of the weights, by each joint
    Lu = [w.effort * r for r in effort]
    scale = [w.posture] * n + [w.speed] * n
    Lx = [s * r for s, r in zip(scale, state)]
    Lxx = [[scale[i] if i == j else 0.0 for j in range(2 * n)] for i in range(2 * n)]
    Lxu = [[-w.effort * g for g in G[i]] if i < n else [0.0] * n for i in range(2 * n)]
    for i in range(n):
        Lx[i] = Lx[i] + w.hand * _dot(J[i], hand) - _dot(G[i], Lu)
        for j in range(n):
            Lxx[i][j] = Lxx[i][j] + w.hand * _dot(J[i], J[j]) + w.effort * _dot(G[i], G[j])
    next_u = [[h * a for a in row] for row in after_u]
    return [_flat(next_x + after_x), _flat(next_u + after_u), Lx, Lu, _flat(Lxx), _flat(Lxu)]


def _dot(a: list[Any], b: list[Any]) -> Any:
    return sum((x * y for x, y in zip(a, b)), 0.0)


def _square(a: list[Any]) -> Any:
    return _dot(a, a)


def _flat(rows: list[list[Any]]) -> list[Any]:
    return [entry for row in rows for entry in row]


class Horizon:
    """What the nodes share. states (N + 1, 2 nv), us (N + 1, nv): what they were asked for last.

    A node's running cost counts for a step; the last node has none of it, and no u.
    """

    def __init__(
        self, robot: rbd.Robot, frame: str, goal: Array, posture: Array, *, step: float, nodes: int,
        running: Weights, last: Weights,
    ) -> None:  # fmt: skip
        n = self.nv = robot.model.nv
        self.states, self.us = np.zeros((nodes + 1, 2 * n)), np.zeros((nodes + 1, n))
        self.weights = np.array([[step * w for w in running]] * nodes + [last._replace(effort=0.0)])
        self.h = np.append(np.full(nodes, step), 0.0)[:, None]
        self.shared = goal, posture, robot.inertia_input
        own = {"state": 2 * n, "u": n, "weights": 4, "h": 1}
        inputs = (
            *(Argument(name, (size,)) for name, size in own.items()), Argument("goal", (3,), shared=True),
            Argument("posture", (n,), shared=True), Argument("inertia", (len(robot.model.bodies), 10), shared=True),
        )  # fmt: skip
        xx, xu = (2 * n, 2 * n), (2 * n, n)
        shapes = {"Fx": xx, "Fu": xu, "Lx": (2 * n,), "Lu": (n,), "Lxx": xx, "Lxu": xu}
        made = []
        for function, outputs in ((step_of_node, {"next": (2 * n,), "cost": (1,)}), (expansion, shapes)):
            signature = Signature(inputs, tuple(Argument(name, shape) for name, shape in outputs.items()))
            traced = function_of(robot.model, signature, function, frame=frame)
            made.append(robot.custom_kernel(function.__name__, signature, traced, batches=True))
        self.step, self._expand = made
        self._found = tuple(np.zeros((nodes + 1, *shape)) for shape in shapes.values())
        self._is_known = False

    def forget(self) -> None:
        """A node was asked for something else."""
        self._is_known = False

    @property
    def derivatives(self) -> tuple[Array, ...]:
        """Fx, Fu, Lx, Lu, Lxx and Lxu of all nodes (N + 1, ...), where they were asked last."""
        if not self._is_known:
            self._expand((self.states, self.us, self.weights, self.h, *self.shared), out=self._found)
            self._is_known = True
        return self._found
