# SPDX-License-Identifier: Apache-2.0
"""The quadratic program of frames that follow poses: what their errors ask of the joints' velocities.

With (R, p) = T^-1 T_d and e = (log R, p) of each frame, de/dt = -A v + e_d, A the exact derivative of e and e_d what
the wanted pose's own body twist does to it. Asked is de/dt = -k e: the least |A v - k e - e_d|^2 (task priorities by
quadratic programs: Kanoun, Lamiraux, Wieber, Kinematic control of redundant manipulators, IEEE Transactions on Robotics
27, 2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.inverse_kinematics import WEIGHTS, pose_errors
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.lie import left_jacobian_inverse_so3
from rbd_dynamics.spatial.scalar import Scalar, dot
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import matvec

Vector = Sequence[Scalar]


class VelocityTask(NamedTuple):
    """Least v^T H v / 2 - g^T v, as H (nv rows) and g; turn, distance: squares of how far off each frame is."""

    H: list[list[Scalar]]
    g: list[Scalar]
    turn: list[Scalar]
    distance: list[Scalar]


def velocity_task(
    model: Model,
    q: Vector,
    frames: Sequence[Frame],
    wanted: Sequence[Transform],
    twists: Sequence[Vector],
    gain: Scalar,
) -> VelocityTask:
    """twists: of the wanted poses, in their own axes, angular part first. gain: k, 1/s."""
    found = pose_errors(model, q, frames, wanted)
    asked: list[Scalar] = []
    for k, (off, twist) in enumerate(zip(found.off, twists)):
        phi = tuple(found.error[6 * k : 6 * k + 3])
        # R_dot = R [w]x: of the logarithm by the inverse right Jacobian, J_r(x) = J_l(-x)
        turning = left_jacobian_inverse_so3(tuple(-x for x in phi), tuple(twist[:3]))
        moving = matvec(off.rotation, tuple(twist[3:]))
        rates = [w * x for w, x in zip(WEIGHTS, (*turning, *moving))]
        asked += [gain * e + rate for e, rate in zip(found.error[6 * k : 6 * k + 6], rates)]
    n = len(found.columns)
    H: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i, one in enumerate(found.columns):
        for k in range(i + 1):
            H[i][k] = H[k][i] = dot(one, found.columns[k])
    return VelocityTask(H, [dot(column, asked) for column in found.columns], found.turn, found.distance)
