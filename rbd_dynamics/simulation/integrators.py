"""Fixed-step integrators of the equation of motion.

Positions move on the group (`model.integrate`), so quaternions stay of unit length.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
FRICTION_ITERATIONS = 3
LIMIT_ITERATIONS = 6
SLOWEST = 1e-6  # rad/s, m/s: below it Coulomb friction is as at this speed


class SemiImplicitEuler:
    """First order, symplectic: v' = v + h a, q' = q + h v', with friction and joint limits taken implicitly.

    Friction acts as it is at v': stiff Coulomb friction neither chatters nor explodes, whatever the
    step. At a position limit the joint stops without rebound, and the reaction goes through the whole
    robot: the joint's acceleration is prescribed so that it stands at its limit after the step.

    Parameters:
        robot: without friction.
        friction: the robot's joint friction acts.
        lower, upper: position limits of each degree of freedom, infinite where there are none.
    """

    def __init__(self, robot: Robot, h: float, friction: bool, lower: Array, upper: Array) -> None:
        self.robot, self.h, self.friction = robot, h, friction
        self.lower, self.upper = lower, upper
        self._limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        self._q_index = np.array([q_index_of(robot, int(dof)) for dof in self._limited], dtype=np.intp)

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the acceleration in between)."""
        h = self.h
        mass = self.robot.mass_matrix(q)
        free = tau - self.robot.bias(q, v)
        drag = self._drag(v)
        iterations = FRICTION_ITERATIONS if drag is not None else 1
        for _ in range(iterations):
            matrix, right = mass, free
            if drag is not None:  # M a = tau - b - drag (v + h a)
                matrix, right = mass + np.diag(h * drag), free - drag * v
            a = self._within_limits(q, v, matrix, right)
            if drag is not None:
                drag = self._drag(v + h * a)
        v_new = v + h * a
        return self.robot.model.integrate(q, h * v_new), v_new, a

    def _drag(self, v: Array) -> Array | None:
        """Friction torque over speed, for each degree of freedom."""
        if not self.friction:
            return None
        speed = np.where(np.abs(v) < SLOWEST, SLOWEST, v)
        drag: Array = np.divide(self.robot.friction_torque(speed), speed, dtype=float)
        return drag

    def _within_limits(self, q: Array, v: Array, matrix: Array, right: Array) -> Array:
        """The acceleration of matrix a = right + reactions, such that no joint passes its limit."""
        h, dofs = self.h, self._limited
        a = np.asarray(np.linalg.solve(matrix, right), dtype=float)
        if not dofs.size:
            return a
        position, speed = q[self._q_index], v[dofs]
        lower, upper = self.lower[dofs], self.upper[dofs]
        side = np.zeros(len(dofs), dtype=int)  # +1: held at the upper limit, -1: at the lower one
        for _ in range(LIMIT_ITERATIONS):
            reached = position + h * (speed + h * a[dofs])
            tolerance = 1e-12 + 1e-9 * np.abs(reached)
            hit = np.where(reached > upper + tolerance, 1, np.where(reached < lower - tolerance, -1, 0))
            pulls = side * (matrix @ a - right)[dofs] > 0.0  # a limit pushes, it does not pull
            new = np.where(pulls, 0, np.where(side != 0, side, hit))
            if np.array_equal(new, side):
                break
            side = new
            held = side != 0
            limit = np.where(side > 0, upper, lower)
            constrained, target = matrix.copy(), right.copy()
            constrained[dofs[held]] = np.eye(len(right))[dofs[held]]
            target[dofs[held]] = (((limit - position) / h - speed) / h)[held]
            a = np.asarray(np.linalg.solve(constrained, target), dtype=float)
        return a


class RungeKutta4:
    """Classical fourth order, friction explicit. A step that would pass a joint limit is done by `fallback`.

    Of fourth order where velocities are rates of positions, that is without ball, floating and planar
    joints; with them of second order.
    """

    def __init__(self, robot: Robot, h: float, fallback: SemiImplicitEuler) -> None:
        self.robot, self.h, self.fallback = robot, h, fallback

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the mean acceleration)."""
        h = self.h
        integrate: Callable[[Array, Array], Array] = self.robot.model.integrate
        acceleration = self.robot.forward_dynamics
        a1 = acceleration(q, v, tau)
        v2 = v + 0.5 * h * a1
        a2 = acceleration(integrate(q, 0.5 * h * v), v2, tau)
        v3 = v + 0.5 * h * a2
        a3 = acceleration(integrate(q, 0.5 * h * v2), v3, tau)
        v4 = v + h * a3
        a4 = acceleration(integrate(q, h * v3), v4, tau)
        a = (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0
        q_new = integrate(q, h * (v + 2.0 * v2 + 2.0 * v3 + v4) / 6.0)
        limits, dofs = self.fallback, self.fallback._limited
        at = q_new[limits._q_index]
        if np.any(at > limits.upper[dofs]) or np.any(at < limits.lower[dofs]):
            return limits.step(q, v, tau)
        return q_new, v + h * a, a


def q_index_of(robot: Robot, dof: int) -> int:
    """Where the position of a one-degree-of-freedom joint is in q, given where its velocity is in v."""
    return next(joint.q_index for joint in robot.model.joints if joint.v_index == dof)
