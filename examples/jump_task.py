# SPDX-License-Identifier: Apache-2.0
"""A quadruped's jump (Solo 12) as a problem for ilqr.py: stance, flight, impact and landing, with contact forces.

Phases as in "Differential dynamic programming for multi-phase rigid contact dynamics" (Budhiraja et al. 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ilqr import Array, Quadratic
from scipy.interpolate import BPoly

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, placement

FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
LEGS = np.array([0.0, 0.8, -1.6] * 2 + [0.0, -0.8, 1.6] * 2)  # rad, standing
STEP, STANCE, FLIGHT, LANDING = 0.01, 30, 26, 40  # s, nodes
TOUCHDOWN, NODES = STANCE + FLIGHT, STANCE + FLIGHT + LANDING
TORQUE = 2.5  # N m: what the motors give for a short time; the description has no limit
SLOPE, LEAST = 0.4, 1.5  # tangential over normal force that is planned with; least normal force, N
GRAVITY = 9.81  # m/s^2


class Jump:
    """The problem for ilqr.py: x = (q, v) with a floating base, u the twelve torques."""

    def __init__(self) -> None:
        model = rbd.load("solo12", base="floating")
        self.robot, self.model, self.nv = rbd.Robot(model), model, model.nv
        q = np.concatenate([np.zeros(6), [1.0], LEGS])
        q[2] = -self.robot.pose(q, FEET[0])[2, 3]
        self.stand = np.concatenate([q, np.zeros(self.nv)])
        held = [
            FrameConstraint(
                foot, foot, directions=("x", "y", "z"), reference_placement=placement(self.robot.pose(q, foot)[:3, 3])
            )
            for foot in FEET
        ]
        self.feet = ConstraintSet(model, held, stabilization=20.0)
        self.upper = np.full(12, TORQUE)
        self.lower = -self.upper
        self.on_feet = np.r_[:STANCE, TOUCHDOWN:NODES]
        self.weights = np.tile(np.concatenate([[1.0] * 3, [0.0] * 3, [0.05] * 12, [0.01] * 18]), (NODES + 1, 1))
        self.weights[-1] = np.concatenate([[1e3] * 6, [1e2] * 12, [1e2] * 18])
        self.effort, self.cone, self.back = 0.01, 10.0, 1e5
        one = np.array([[1, 0, -SLOPE / 2**0.5], [-1, 0, -SLOPE / 2**0.5], [0, 1, -SLOPE / 2**0.5],
                        [0, -1, -SLOPE / 2**0.5], [0, 0, -1]])  # fmt: skip
        self.sides = np.kron(np.eye(4), one)  # of the cones' pyramids: negative inside
        self.margin = np.tile([0, 0, 0, 0, LEAST], 4)
        self._last: tuple[Any, Any, Any] = (None, None, None)

    # --- dynamics ---

    def split(self, x: Array) -> tuple[Array, Array]:
        return x[..., : self.model.nq], x[..., self.model.nq :]

    def step(self, k: int, x: Array, u: Array) -> Array:
        q, v = self.split(x)
        tau = np.concatenate([np.zeros(6), u])
        if k == TOUCHDOWN:
            v = self.robot.constraint_impulse(q, v, self.feet)[0]
        if STANCE <= k < TOUCHDOWN:
            a = self.robot.forward_dynamics(q, v, tau)
        else:
            a = self.robot.constrained_forward_dynamics(q, v, tau, self.feet).a
        v = v + STEP * a
        return np.concatenate([self.model.integrate(q, STEP * v), v])

    def difference(self, start: Array, end: Array) -> Array:
        (q0, v0), (q1, v1) = self.split(start), self.split(end)
        return np.concatenate([self.model.difference(q0, q1), v1 - v0], axis=-1)

    def states(self, xs: Array) -> tuple[Array, Array, Array]:
        """q, v before the impact at touchdown, and v after it, of the nodes with controls."""
        q, v = self.split(xs[:NODES])
        after = v.copy()
        after[TOUCHDOWN] = self.robot.constraint_impulse(q[TOUCHDOWN], v[TOUCHDOWN], self.feet)[0]
        return q, v, after

    def derivatives(self, xs: Array, us: Array) -> Any:
        """Of dynamics on the feet and of the impulse; kept for the next call."""
        if self._last[0] is not xs or self._last[1] is not us:
            q, v, after = self.states(xs)
            on, tau = self.on_feet, np.concatenate([np.zeros((NODES, 6)), us], axis=1)
            standing = self.robot.constrained_forward_dynamics_derivatives(q[on], after[on], tau[on], self.feet)
            impact = self.robot.constraint_impulse_derivatives(q[TOUCHDOWN], v[TOUCHDOWN], self.feet)
            self._last = (xs, us, (q, v, after, tau, standing, impact))
        return self._last[2]

    def linearised(self, xs: Array, us: Array) -> tuple[Array, Array]:
        n, h = self.nv, STEP
        q, v, after, tau, standing, impact = self.derivatives(xs, us)
        flying = slice(STANCE, TOUCHDOWN)
        rows = np.empty((NODES, n, 3 * n))
        rows[self.on_feet] = np.concatenate(standing[:3], axis=2)
        rows[flying] = np.concatenate(
            self.robot.forward_dynamics_derivatives(q[flying], v[flying], tau[flying]), axis=2
        )
        A, B = np.zeros((NODES, 2 * n, 2 * n)), np.zeros((NODES, 2 * n, 12))
        A[:, n:], B[:, n:] = h * rows[:, :, : 2 * n], h * rows[:, :, 2 * n + 6 :]
        A[:, n:, n:] += np.eye(n)
        _, next_v = self.split(xs[1:])
        moved, own = np.tile(np.eye(n), (NODES, 1, 1)), np.tile(np.eye(n), (NODES, 1, 1))
        moved[:, :6, :6] = spatial.right_jacobian_se3(h * next_v[:, :6])
        own[:, :6, :6] = spatial.adjoint(spatial.exp_se3(-h * next_v[:, :6]))
        A[:, :n], B[:, :n] = h * moved @ A[:, n:], h * moved @ B[:, n:]
        A[:, :n, :n] += own
        A[TOUCHDOWN] = A[TOUCHDOWN] @ self.impact_matrix(impact)
        return A, B

    def impact_matrix(self, impact: Any) -> Array:
        return np.block([[np.eye(self.nv), np.zeros((self.nv, self.nv))], [impact.v_dq, impact.v_dv]])

    # --- cost ---

    def forces(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """(nodes on the feet, 12) [N] on the feet in world axes, and the impulse (12) [N s] at touchdown."""
        q, v, after = self.states(xs)
        on, tau = self.on_feet, np.concatenate([np.zeros((NODES, 6)), us], axis=1)
        found = self.robot.constrained_forward_dynamics(q[on], after[on], tau[on], self.feet).multipliers
        return found, self.robot.constraint_impulse(q[TOUCHDOWN], v[TOUCHDOWN], self.feet)[1]

    def outside(self, xs: Array, us: Array) -> tuple[Array, Array]:
        """How far forces and the impulse are outside the planned cones, the impulse as if it took a node."""
        forces, impulse = self.forces(xs, us)
        return (
            np.maximum(forces @ self.sides.T + self.margin, 0.0),
            np.maximum(impulse / STEP @ self.sides.T + self.margin, 0.0),
        )

    def cost(self, xs: Array, us: Array) -> float:
        change = self.difference(self.stand, xs)
        off = self.robot.constraint_rows(*self.split(xs[TOUCHDOWN]), self.feet).h
        forces, impulse = self.outside(xs, us)
        squares = (self.weights * change**2).sum() + self.effort * (us**2).sum() + self.back * off @ off
        return 0.5 * float(squares + self.cone * ((forces**2).sum() + impulse @ impulse))

    def quadratic(self, xs: Array, us: Array) -> Quadratic:
        """Gauss-Newton: squares of the linearised residuals."""
        n = self.nv
        change = self.difference(self.stand, xs)
        J = np.tile(np.eye(2 * n), (NODES + 1, 1, 1))
        J[:, :6, :6] = spatial.right_jacobian_inverse_se3(change[:, :6])
        weighted = (self.weights[:, :, None] * J).swapaxes(1, 2)
        x, xx = (weighted @ change[:, :, None])[:, :, 0], weighted @ J
        u, uu = self.effort * us, np.tile(self.effort * np.eye(12), (NODES, 1, 1))
        xu = np.zeros((NODES, 2 * n, 12))
        rows = self.robot.constraint_rows(*self.split(xs[TOUCHDOWN]), self.feet)
        x[TOUCHDOWN, :n] += self.back * rows.A.T @ rows.h
        xx[TOUCHDOWN, :n, :n] += self.back * rows.A.T @ rows.A
        standing, impact = self.derivatives(xs, us)[4:]
        forces, impulse = self.outside(xs, us)
        by = self.sides @ np.concatenate(standing[3:], axis=2)
        by = np.concatenate([by[:, :, : 2 * n], by[:, :, 2 * n + 6 :]], axis=2)
        by[STANCE, :, : 2 * n] = by[STANCE, :, : 2 * n] @ self.impact_matrix(impact)  # the first node after touchdown
        out = self.cone * by.swapaxes(1, 2)
        gradient, hessian = (out @ forces[:, :, None])[:, :, 0], (out * (forces > 0)[:, None]) @ by
        on = self.on_feet
        x[on], u[on] = x[on] + gradient[:, : 2 * n], u[on] + gradient[:, 2 * n :]
        xx[on], xu[on] = xx[on] + hessian[:, : 2 * n, : 2 * n], xu[on] + hessian[:, : 2 * n, 2 * n :]
        uu[on] += hessian[:, 2 * n :, 2 * n :]
        by = self.sides @ np.hstack([impact.impulses_dq, impact.impulses_dv]) / STEP
        x[TOUCHDOWN] += self.cone * impulse @ by
        xx[TOUCHDOWN] += self.cone * (by.T * (impulse > 0)) @ by
        return Quadratic(x, u, xx, xu, uu)


def by_hand(problem: Jump) -> Array:
    """Torques (NODES, 12) of a jump to start from: the base along a polynomial, joints held to postures by PD laws."""
    robot, model, duration = problem.robot, problem.model, STANCE * STEP
    low, leave, speed = problem.stand[2], 0.27, 0.5 * GRAVITY * FLIGHT * STEP
    height = BPoly.from_derivatives([0.0, duration], [[low, 0.0, 0.0], [leave, speed, -0.5 * GRAVITY]])
    times = STEP * np.arange(STANCE)
    z, rate, acceleration = height(times), height(times, 1), height(times, 2)
    length = low / np.cos(LEGS[1])  # of both links of a leg, equally long
    angle = np.arccos(z / length)
    turn = -rate / (length * np.sin(angle))
    twice = (-acceleration - length * np.cos(angle) * turn**2) / (length * np.sin(angle))
    legs = LEGS / LEGS[1]
    q = np.tile(problem.stand[: model.nq], (STANCE, 1))
    q[:, 2], q[:, 7:] = z, angle[:, None] * legs
    v, a = np.zeros((2, STANCE, problem.nv))
    v[:, 5], v[:, 6:], a[:, 5], a[:, 6:] = rate, turn[:, None] * legs, acceleration, twice[:, None] * legs
    needed = robot.constrained_inverse_dynamics(
        q, v, a, problem.feet, actuated=np.arange(problem.nv) >= 6, objective="constraint_force"
    ).tau[:, 6:]
    still = robot.constrained_inverse_dynamics(
        *problem.split(problem.stand), np.zeros(problem.nv), problem.feet, actuated=np.arange(problem.nv) >= 6,
        objective="constraint_force",
    ).tau[6:]  # fmt: skip
    x, us = problem.stand, np.empty((NODES, 12))
    for k in range(NODES):
        wanted, rates = (q[k, 7:], v[k, 6:]) if k < STANCE else (LEGS, np.zeros(12))
        ahead = needed[k] if k < STANCE else still * (k >= TOUCHDOWN)
        stiffness, damping = (3.0, 0.05) if STANCE <= k < TOUCHDOWN else (10.0, 0.3)
        joints, speeds = x[7 : model.nq], x[model.nq + 6 :]
        us[k] = np.clip(ahead + stiffness * (wanted - joints) + damping * (rates - speeds), -TORQUE, TORQUE)
        x = problem.step(k, x, us[k])
    return us
