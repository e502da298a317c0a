# SPDX-License-Identifier: Apache-2.0
"""Integrators of smooth motion, for what is touched by nothing and rubs on nothing.

Positions move on the group (`model.integrate`), so quaternions stay of unit length.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Acceleration = Callable[[Array, Array, Array], Array]  # of q, v, tau


class ExplicitEuler:
    """First order: q' = q + h v, v' = v + h a(q, v). Gains energy; for comparison."""

    def __init__(self, robot: Robot, h: float, acceleration: Acceleration) -> None:
        self.robot, self.h, self.acceleration = robot, h, acceleration

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the acceleration in between)."""
        a = self.acceleration(q, v, tau)
        return self.robot.model.integrate(q, self.h * v), v + self.h * a, a


class RungeKutta4:
    """Classical fourth order, on the group: what is integrated is the displacement x of q = q0 * exp(x)."""

    def __init__(self, robot: Robot, h: float, acceleration: Acceleration) -> None:
        self.robot, self.h, self.acceleration = robot, h, acceleration

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the mean acceleration)."""
        h, acceleration = self.h, self.acceleration
        model = self.robot.model
        a1 = acceleration(q, v, tau)
        x, v2 = 0.5 * h * v, v + 0.5 * h * a1
        k2, a2 = displacement_rate(model, x, v2), acceleration(model.integrate(q, x), v2, tau)
        x, v3 = 0.5 * h * k2, v + 0.5 * h * a2
        k3, a3 = displacement_rate(model, x, v3), acceleration(model.integrate(q, x), v3, tau)
        x, v4 = h * k3, v + h * a3
        k4, a4 = displacement_rate(model, x, v4), acceleration(model.integrate(q, x), v4, tau)
        a = (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0
        return model.integrate(q, h * (v + 2.0 * k2 + 2.0 * k3 + k4) / 6.0), v + h * a, a


MOST_EVALUATIONS = 100_000  # of the acceleration in one step: a second of computing


class Adaptive:
    """Dormand and Prince's method of fifth order with steps as small as its tolerances ask, by SciPy.

    It integrates the displacement x of q = q0 * exp(x), so quaternions stay of unit length.
    """

    def __init__(self, robot: Robot, h: float, acceleration: Acceleration, *, relative: float, absolute: float) -> None:
        self.robot, self.h, self.acceleration = robot, h, acceleration
        self.tolerances = {"rtol": relative, "atol": absolute}

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step of h, in as many inner ones as needed: (q', v', the mean acceleration).

        Raises ArithmeticError where it does not come to the end.
        """
        from scipy.integrate import solve_ivp

        model, n = self.robot.model, len(v)
        left = MOST_EVALUATIONS

        def rate(_: float, y: Array) -> Array:
            nonlocal left
            left -= 1
            if left < 0:
                raise ArithmeticError(f"adaptive integration: a step of {self.h:g} s needs too many inner ones")
            at = model.integrate(q, y[:n])
            return np.concatenate([displacement_rate(model, y[:n], y[n:]), self.acceleration(at, y[n:], tau)])

        y = np.concatenate([np.zeros(n), v])
        found = solve_ivp(rate, (0.0, self.h), y, method="RK45", **self.tolerances)
        if not found.success:
            raise ArithmeticError(f"adaptive integration: {found.message}")
        x, after = found.y[:n, -1], found.y[n:, -1]
        return model.integrate(q, x), after, (after - v) / self.h


def displacement_rate(model: Model, x: Array, v: Array) -> Array:
    """Rate of x (nv) in q = q0 * exp(x) at the velocity v: the inverse right Jacobian of the group, times v."""
    rate = v.copy()
    for joint in model.joints:
        own = slice(joint.v_index, joint.v_index + joint.kind.nv)
        rate[own] = joint.kind.displacement_rate(x[own], v[own])
    return rate
