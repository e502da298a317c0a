# SPDX-License-Identifier: Apache-2.0
"""Iterative LQR with bounds on the controls, for the examples of optimal control.

Differential dynamic programming with Gauss-Newton Hessians (Li and Todorov 2004), and in the backward pass a small
quadratic program a node in place of a linear solution, so that bounds hold exactly ("Control-limited differential
dynamic programming", Tassa, Mansard and Todorov 2014). A problem gives its dynamics linearised at all nodes in one
call, so that derivatives come out of one batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

Array = NDArray[np.float64]


class Quadratic(NamedTuple):
    """The cost about a trajectory, of N steps: x (N + 1, n), u (N, m), xx (N + 1, n, n), xu (N, n, m), uu (N, m, m)."""

    x: Array
    u: Array
    xx: Array
    xu: Array
    uu: Array


class Problem(Protocol):
    """States xs (N + 1, ...) in any coordinates, their small changes in n; controls us (N, m) from lower to upper (m).

    step: the next state. linearised: A (N, n, n), B (N, n, m) of the next change. difference: changes (..., n) that
    lead from states to others. cost: of all nodes together. quadratic: its expansion, xx and uu at least semidefinite.
    """

    lower: Array
    upper: Array

    def step(self, k: int, x: Array, u: Array) -> Array: ...
    def linearised(self, xs: Array, us: Array) -> tuple[Array, Array]: ...
    def difference(self, start: Array, end: Array) -> Array: ...
    def cost(self, xs: Array, us: Array) -> float: ...
    def quadratic(self, xs: Array, us: Array) -> Quadratic: ...


class Policy(NamedTuple):
    """u = us + feedforward (N, m) + gains (N, m, n) (x - xs). slope: rate of the cost along the feedforward, < 0."""

    feedforward: Array
    gains: Array
    slope: float


@dataclass
class Solution:
    """xs, us and the policy about them. costs: of each iteration. converged: nothing is left to gain."""

    xs: Array
    us: Array
    policy: Policy
    costs: list[float] = field(default_factory=list)
    converged: bool = False


def bounded_minimum(H: Array, g: Array, lower: Array, upper: Array) -> tuple[Array, NDArray[np.bool_]]:
    """x that minimises x^T H x / 2 + g^T x from lower to upper, and which entries are free: projected Newton."""
    x = np.minimum(np.maximum(0.0, lower), upper)
    gradient = g + H @ x
    free = np.ones(len(g), dtype=bool)
    for _ in range(50):
        free = ~(((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0)))
        if not free.any():
            break
        direction = np.zeros_like(g)
        direction[free] = -dposv(H[np.ix_(free, free)], gradient[free])[1]
        slope, now, length = float(gradient @ direction), float(x @ (0.5 * H @ x + g)), 1.0
        if slope > -1e-14 * (1.0 + abs(now)):
            break
        while True:
            tried = np.minimum(np.maximum(x + length * direction, lower), upper)
            if float(tried @ (0.5 * H @ tried + g)) <= now + 0.1 * float(gradient @ (tried - x)) or length < 1e-8:
                break
            length *= 0.5
        x = tried
        gradient = g + H @ x
    return x, free


def backward(problem: Problem, xs: Array, us: Array, proximal: float = 0.0) -> Policy:
    """The best policy for the linearised problem; `proximal` / 2 |change of u|^2 is added to the cost of each node.

    Raises LinAlgError where that cost has no minimum.
    """
    A, B = problem.linearised(xs, us)
    cost = problem.quadratic(xs, us)
    N, n, m = B.shape
    lower, upper = problem.lower - us, problem.upper - us
    F = np.concatenate([A, B], axis=2)
    L = np.empty((N, n + m, n + m))
    L[:, :n, :n], L[:, :n, n:], L[:, n:, n:] = cost.xx[:-1], cost.xu, cost.uu + proximal * np.eye(m)
    L[:, n:, :n] = cost.xu.swapaxes(1, 2)
    at = np.concatenate([cost.x[:-1], cost.u], axis=1)
    feedforward, gains, slope = np.empty((N, m)), np.empty((N, m, n)), 0.0
    right = np.empty((m, n + 1), order="F")
    V, v = cost.xx[-1], cost.x[-1]
    for k in range(N - 1, -1, -1):
        Q, q = L[k] + F[k].T @ V @ F[k], at[k] + v @ F[k]
        right[:, :n], right[:, n] = Q[n:, :n], q[n:]
        solved, failed = dposv(Q[n:, n:], right)[1:]
        if failed:
            raise np.linalg.LinAlgError(f"node {k}: the cost has no minimum")
        ahead, K = -solved[:, n], -solved[:, :n]
        if (ahead < lower[k]).any() or (ahead > upper[k]).any():
            ahead, free = bounded_minimum(Q[n:, n:], q[n:], lower[k], upper[k])
            K = np.zeros((m, n))
            if free.any():
                K[free] = -dposv(Q[n:, n:][np.ix_(free, free)], Q[n:, :n][free])[1]
        V, v = Q[:n, :n] + Q[:n, n:] @ K, q[:n] + Q[:n, n:] @ ahead
        V += V.T
        V *= 0.5
        slope += float(q[n:] @ ahead)
        feedforward[k], gains[k] = ahead, K
    return Policy(feedforward, gains, slope)


def projected_gradient(problem: Problem, xs: Array, us: Array) -> Array:
    """(N, m) of the cost by the controls, states following; zero where a bound keeps from going down. By adjoints."""
    A, B = problem.linearised(xs, us)
    cost = problem.quadratic(xs, us)
    gradient, adjoint = np.empty_like(us), cost.x[-1]
    for k in range(len(us) - 1, -1, -1):
        gradient[k] = cost.u[k] + adjoint @ B[k]
        adjoint = cost.x[k] + adjoint @ A[k]
    held = ((us <= problem.lower) & (gradient > 0)) | ((us >= problem.upper) & (gradient < 0))
    return np.where(held, 0.0, gradient)


def forward(problem: Problem, start: Array, xs: Array, us: Array, policy: Policy, length: float) -> tuple[Array, Array]:
    """States and controls from `start` on, with the policy about xs and us, its feedforward times `length`."""
    new_xs, new_us = np.empty_like(xs), np.empty_like(us)
    new_xs[0] = start
    for k in range(len(us)):
        change = problem.difference(xs[k], new_xs[k])
        u = us[k] + length * policy.feedforward[k] + policy.gains[k] @ change
        new_us[k] = np.minimum(np.maximum(u, problem.lower), problem.upper)
        new_xs[k + 1] = problem.step(k, new_xs[k], new_us[k])
    return new_xs, new_us


def roll_out_controls(problem: Problem, start: Array, us: Array) -> Array:
    """States (N + 1, ...) from `start` on under given controls."""
    xs = [np.asarray(start, dtype=float)]
    for k, u in enumerate(us):
        xs.append(problem.step(k, xs[-1], u))
    return np.array(xs)


def solve(problem: Problem, start: Array, us: Array, iterations: int = 100, tolerance: float = 1e-9) -> Solution:
    """Iterate from the controls us (N, m) until an iteration can gain no more than `tolerance` of the cost."""
    us = np.clip(us, problem.lower, problem.upper)
    xs = roll_out_controls(problem, start, us)
    found = Solution(xs, us, Policy(np.zeros_like(us), np.zeros(0), 0.0), [problem.cost(xs, us)])
    proximal = 0.0
    for _ in range(iterations):
        try:
            found.policy = backward(problem, found.xs, found.us, proximal)
        except np.linalg.LinAlgError:
            proximal = max(10.0 * proximal, 1e-8)
            continue
        if -found.policy.slope <= tolerance * found.costs[-1]:
            found.converged = True
            break
        for length in 0.5 ** np.arange(12):
            try:
                xs, us = forward(problem, start, found.xs, found.us, found.policy, length)
            except ArithmeticError:  # too far: the motion runs away
                continue
            cost = problem.cost(xs, us)
            if cost <= found.costs[-1] + 1e-4 * length * found.policy.slope:  # not so where it is no number
                found.xs, found.us = xs, us
                found.costs.append(cost)
                proximal = proximal / 10.0 if proximal > 1e-8 and length > 0.2 else 0.0 if length > 0.2 else proximal
                break
        else:
            proximal = max(10.0 * proximal, 1e-8)
    return found
