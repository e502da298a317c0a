# SPDX-License-Identifier: Apache-2.0
"""A Panda reaches by Crocoddyl's solver, whose nodes are machine code of this package (node_kernels.py).

Crocoddyl asks one node after the other, and for derivatives where it has asked for the next state before. So each node
keeps what it was asked, and the first one that has to give derivatives computes those of all, in one call.
"""

from __future__ import annotations

from typing import Any

import crocoddyl
import numpy as np
from node_kernels import Array, Horizon, Weights
from picture import new_figure, output_path, save

import rbd_dynamics as rbd

FRAME = "panda_hand_tcp"
POSTURE = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.8])
GOAL = np.array([0.3, 0.4, 0.6])  # m
STEP, NODES = 0.02, 50  # s
NEAR, STILL = 1e-3, 0.02  # m, rad/s
RUNNING = Weights(hand=1.0, posture=0.02, speed=0.02, effort=2e-4)
LAST = Weights(hand=1e4, posture=0.02, speed=10.0, effort=0.0)


class Node(crocoddyl.ActionModelAbstract):  # type: ignore[misc]
    """One node of a horizon. As with Crocoddyl's own models `calcDiff` is of the x and u of the last `calc`."""

    def __init__(self, state: crocoddyl.StateVector, horizon: Horizon, k: int) -> None:
        super().__init__(state, horizon.nv, 0)
        self._horizon, self._k = horizon, k
        self._state, self._u, self._weights = horizon.states[k], horizon.us[k], horizon.weights[k]
        self._next, self._cost = np.zeros(2 * horizon.nv), np.zeros(1)
        self._arrays = (
            self._state, self._u, self._weights, horizon.h[k], *horizon.shared, self._next, self._cost,
        )  # fmt: skip

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        self._state[:] = x
        if u is not None:
            self._u[:] = u
        self._horizon.forget()
        self._horizon.step.fast(*self._arrays)
        data.xnext, data.cost = self._next, self._cost[0]

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        Fx, Fu, Lx, Lu, Lxx, Lxu = self._horizon.derivatives
        k = self._k
        data.Lx, data.Lxx = Lx[k], Lxx[k]
        if u is not None:
            data.Fx, data.Fu, data.Lu, data.Lxu = Fx[k], Fu[k], Lu[k], Lxu[k]

    def createData(self) -> Any:
        data = super().createData()
        data.Luu = self._weights[3] * np.eye(self._horizon.nv)
        return data


def reach(nodes: int = NODES, step: float = STEP) -> tuple[rbd.Robot, Horizon, crocoddyl.ShootingProblem]:
    """The robot, what the nodes share, and the problem."""
    robot = rbd.Robot(rbd.load("panda", joints=[f"panda_joint{k}" for k in range(1, 8)]))
    horizon = Horizon(robot, FRAME, GOAL, POSTURE, step=step, nodes=nodes, running=RUNNING, last=LAST)
    state = crocoddyl.StateVector(2 * horizon.nv)
    *running, last = [Node(state, horizon, k) for k in range(nodes + 1)]
    return robot, horizon, crocoddyl.ShootingProblem(np.append(POSTURE, np.zeros(horizon.nv)), running, last)


def main() -> None:
    path = output_path("reach_crocoddyl", __doc__)
    robot, _, problem = reach()
    solver, n = crocoddyl.SolverFDDP(problem), robot.model.nv
    hold = robot.gravity(POSTURE)
    converged = solver.solve([problem.x0] * (NODES + 1), [hold] * NODES, 100)
    xs, us = np.array(solver.xs), np.array(solver.us)
    hands = robot.pose(xs[:, :n].copy(), FRAME)[:, :3, 3]
    missed, speed = float(np.linalg.norm(hands[-1] - GOAL)), float(np.abs(xs[-1, n:]).max())
    print(f"{solver.iter} iterations, cost {solver.cost:.4g}; the hand ends {1e3 * missed:.2f} mm from its goal")
    assert converged and missed < NEAR and speed < STILL
    figure = new_figure(7.0, 4.5)
    top, bottom = figure.subplots(2, 1, sharex=True)
    times = STEP * np.arange(NODES + 1)
    top.plot(times, np.linalg.norm(hands - GOAL, axis=1))
    top.set_ylabel("hand to goal [m]")
    bottom.step(times[:-1], us - robot.gravity(xs[:-1, :n].copy()), where="post")
    bottom.set_ylabel("torque beside gravity [N m]")
    bottom.set_xlabel("t [s]")
    save(figure, path)


if __name__ == "__main__":
    main()
