# SPDX-License-Identifier: Apache-2.0
"""One step of inverse kinematics: Levenberg and Marquardt, damped by the error itself, joints within their limits.

With (R, p) = T^-1 T_d and e = (log R, p) the joints move by dq = (A^T A + lambda)^-1 A^T e, where -A is the exact
derivative of e. lambda = |e|^2 / 2 plus a little needs no line search, and converges out of reach and at singular
postures as well (Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method, IEEE
Transactions on Robotics 27, 2011). Joints that stand at a limit and would leave it are held (Bertsekas, Projected
Newton methods, SIAM Journal on Control and Optimization 20, 1982).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.frames import frame_jacobian, frame_pose
from rbd_dynamics.algorithms.tree_factor import factorise
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.lie import left_jacobian_inverse_so3, log_so3
from rbd_dynamics.spatial.scalar import Scalar, dot, less, where
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import add3, cross

Vector = Sequence[Scalar]
LENGTH = 0.3  # m: a miss by so much weighs as one by 1 rad
LEAST_DAMPING = 1e-6  # keeps the matrix regular where the error is zero


class Step(NamedTuple):
    """Positions after the step (nv), and the square of how far off the frame was before it: rad^2, m^2."""

    q: list[Scalar]
    turn: Scalar
    distance: Scalar


def inverse_kinematics_step(
    model: Model, q: Vector, frame: Frame, wanted: Transform, lower: Vector, upper: Vector
) -> Step:
    """The step from q; positions are those of joints with as many velocities as positions."""
    off = frame_pose(model, q, frame).inverse() @ wanted
    phi = log_so3(off.rotation)
    e = [*phi, *off.p]
    columns = [
        left_jacobian_inverse_so3(phi, column[:3]) + add3(column[3:], cross(column[:3], off.p))
        for column in frame_jacobian(model, q, frame)
    ]
    weights = (1.0, 1.0, 1.0, *[1.0 / LENGTH] * 3)
    error = [w * x for w, x in zip(weights, e)]
    A = [[w * x for w, x in zip(weights, column)] for column in columns]
    damping = 0.5 * dot(error, error) + LEAST_DAMPING
    wish = [dot(column, error) for column in A]
    free = [
        1.0 - where(less(g, 0.0), less(at, low + 1e-12), less(high - 1e-12, at))
        for g, at, low, high in zip(wish, q, lower, upper)
    ]
    H = [[f * g * dot(a, b) for g, b in zip(free, A)] for f, a in zip(free, A)]
    for k, f in enumerate(free):
        H[k][k] = H[k][k] + damping + (1.0 - f)
    moved = factorise(H).solve([f * g for f, g in zip(free, wish)])
    reached = [at + dq for at, dq in zip(q, moved)]
    bounded = [where(less(x, low), low, where(less(high, x), high, x)) for x, low, high in zip(reached, lower, upper)]
    return Step(bounded, dot(phi, phi), dot(off.p, off.p))
