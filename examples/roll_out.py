# SPDX-License-Identifier: Apache-2.0
"""Motion of any robot, by Runge-Kutta steps that keep their fourth order with ball and floating joints too."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from group_step import group_step
from numpy.typing import ArrayLike, NDArray

import rbd_dynamics as rbd
from rbd_dynamics import spatial
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.joints import Floating, Spherical

Array = NDArray[np.float64]


class Motion(NamedTuple):
    """times (N,) [s], positions (N, nq), velocities (N, nv)."""

    times: Array
    q: Array
    v: Array


def roll_out(
    robot: rbd.Robot,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    steps: int,
    torque: Callable[[Array, Array], Array] | None = None,
    constraints: ConstraintSet | None = None,
) -> Motion:
    """Motion from q (nq), v (nv) in equal steps; torque(q, v) is the generalised force (nv), none by default."""
    model = robot.model
    at, velocity = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    zero = np.zeros(model.nv)

    def acceleration(q: Array, v: Array) -> Array:
        tau = zero if torque is None else torque(q, v)
        if constraints is not None:
            return robot.constrained_forward_dynamics(q, v, tau, constraints).a
        return robot.forward_dynamics(q, v, tau)

    def jacobian_inverse(x: Array) -> Array:
        result = np.eye(model.nv)
        for joint in model.joints:
            own = slice(joint.v_index, joint.v_index + joint.kind.nv)
            if isinstance(joint.kind, Spherical):
                result[own, own] = spatial.right_jacobian_inverse_so3(x[own])
            elif isinstance(joint.kind, Floating):
                result[own, own] = spatial.right_jacobian_inverse_se3(x[own])
        return result

    positions, velocities = [at], [velocity]
    for _ in range(steps):
        at, velocity = group_step(at, velocity, duration / steps, acceleration, model.integrate, jacobian_inverse)
        positions.append(at)
        velocities.append(velocity)
    return Motion(np.linspace(0.0, duration, steps + 1), np.array(positions), np.array(velocities))
