# SPDX-License-Identifier: Apache-2.0
"""How links move, and with them the points where they touch: rows of contacts, and how these change.

Rows are the normal and two tangents. Of a contact of curved bodies the point wanders over both and the normal turns;
theory.md section 10 has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.relative_motion import Kinematics
from rbd_dynamics.collisions.narrow_phase import Touch
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import WORLD, Frame
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]


class LinkMotion(NamedTuple):
    """Of a frame at one state, all in the world.

    R (3, 3), p (3). J, turning (3, nv): of its origin's velocity and of its angular velocity. v, w (3): these
    velocities. a, alpha (3): their rates without joint acceleration.
    """

    R: Array
    p: Array
    J: Array
    turning: Array
    v: Array
    w: Array
    a: Array
    alpha: Array

    def jacobian(self, point: Array) -> Array:
        """(3, nv) of the velocity of the material point that is there."""
        return np.asarray(self.J - _hat(point - self.p) @ self.turning)

    def velocity(self, point: Array) -> Array:
        """Of the material point there."""
        return self.v + _cross(self.w, point - self.p)

    def acceleration(self, point: Array) -> Array:
        """Of the material point there, without joint acceleration."""
        arm = point - self.p
        return self.a + _cross(self.alpha, arm) + _cross(self.w, _cross(self.w, arm))


class LinkMotions:
    """Of frames of a robot, by one compiled function.

    frames: names of links or joints.
    """

    def __init__(self, robot: Robot, frames: Sequence[str]) -> None:
        model, self._count = robot.model, len(frames)
        sizes = sizes_of(model)
        outputs = {
            "poses": Argument("poses", (len(frames), 3, 4)),
            "twists": Argument("twists", (len(frames), 2, 6)),
            "jacobians": Argument("jacobians", (len(frames), 6, model.nv)),
        }
        signature = Signature(arguments("q v", sizes), arguments(" ".join(outputs), sizes, outputs))
        world = Frame("world", WORLD)

        def motions(x: Inputs) -> list[list[Scalar]]:
            kinematics = Kinematics(x.model, x.q, x.v)
            found = [kinematics.relative(x.model.frame(name), world) for name in frames]
            poses, twists, jacobians = [], [], []
            for motion in found:
                R, p = motion.pose.rotation, motion.pose.p
                for k in range(3):
                    poses += [*R[3 * k : 3 * k + 3], p[k]]
                twists += [*motion.twist, *motion.bias]
                jacobians += [column[i] for i in range(6) for column in motion.columns]
            return [poses, twists, jacobians]

        self._kernel = robot.custom_kernel("link_motions", signature, function_of(model, signature, motions))
        still = np.zeros((3, model.nv))
        origin = np.zeros(3)
        #: of what does not move
        self.world = LinkMotion(np.eye(3), origin, still, still, origin, origin, origin, origin)

    def __call__(self, q: Array, v: Array) -> list[LinkMotion]:
        """At one state."""
        poses, twists, jacobians = self._kernel((q, v))
        found = []
        for pose, (twist, rate), J in zip(poses, twists, jacobians):
            R = np.ascontiguousarray(pose[:, :3])
            w, velocity = twist[:3], twist[3:]
            a = R @ (rate[3:] + _cross(w, velocity))
            found.append(
                LinkMotion(R, pose[:, 3].copy(), R @ J[3:], R @ J[:3], R @ velocity, R @ w, a, R @ rate[:3])
            )
        return found


def rows_of(touch: Touch, upper: LinkMotion, lower: LinkMotion) -> tuple[Array, Array, Array]:
    """(A (3, nv), A v, Adot v) of one contact's normal and tangents."""
    N = np.vstack([touch.normal, touch.tangents])
    C, share, radius = touch.curvature
    T = touch.tangents
    relative = upper.velocity(touch.point) - lower.velocity(touch.other)
    slip = T @ relative
    carried = T @ _cross(touch.normal, lower.w)
    turned = T @ _cross(touch.normal, upper.w) - carried
    # by the envelope theorem for max over n of -support_upper(-n) - support_lower(n): theory.md section 10
    turning = (C @ slip - share.T @ turned - carried) @ T  # of the normal
    over_upper = -(share @ slip + radius @ turned) @ T  # of the point, over the upper body
    over_lower = (slip - share @ slip - radius @ turned) @ T
    rate = upper.acceleration(touch.point) + _cross(upper.w, over_upper)
    rate -= lower.acceleration(touch.other) + _cross(lower.w, over_lower)
    bias = N @ rate
    bias[0] += turning @ relative
    bias[1:] -= (T @ turning) * (touch.normal @ relative)
    A = N @ (upper.jacobian(touch.point) - lower.jacobian(touch.other))
    return A, N @ relative, bias


def _cross(a: Array, b: Array) -> Array:
    """np.cross of two vectors, ten times as quick."""
    x, y, z = a
    i, j, k = b
    return np.array([y * k - z * j, z * i - x * k, x * j - y * i])


def _hat(a: Array) -> Array:
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
