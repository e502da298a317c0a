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

    def velocities(self, arms: Array) -> Array:
        """(k, 3) of the material points there. arms (k, 3): from the origin to them."""
        return self.v + arms @ hat(self.w).T

    def accelerations(self, arms: Array) -> Array:
        """(k, 3) of the material points there, without joint acceleration."""
        turning = hat(self.w)
        return self.a + arms @ (hat(self.alpha) + turning @ turning).T


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
            a = R @ (rate[3:] + hat(w) @ velocity)
            found.append(LinkMotion(R, pose[:, 3].copy(), R @ J[3:], R @ J[:3], R @ velocity, R @ w, a, R @ rate[:3]))
        return found


def rows_of(touches: Sequence[Touch], upper: LinkMotion, lower: LinkMotion) -> tuple[Array, Array, Array]:
    """(A (3k, nv), A v (3k), Adot v (3k)) of the k points in which one pair touches: normal and tangents of each."""
    normal, T = touches[0].normal, touches[0].tangents
    N = np.vstack([normal, T])
    C, share, radius = touches[0].curvature
    above = np.array([touch.point for touch in touches]) - upper.p
    below = np.array([touch.other for touch in touches]) - lower.p
    relative = upper.velocities(above) - lower.velocities(below)
    slip = relative @ T.T
    carried = T @ (hat(normal) @ lower.w)
    turned = T @ (hat(normal) @ upper.w) - carried
    # by the envelope theorem for max over n of -support_upper(-n) - support_lower(n): theory.md section 10
    turning = (slip @ C.T - turned @ share - carried) @ T  # of the normal
    wandering = slip @ share.T + radius @ turned
    over_upper, over_lower = -wandering @ T, (slip - wandering) @ T  # of the point, over each body
    rate = upper.accelerations(above) + over_upper @ hat(upper.w).T
    rate -= lower.accelerations(below) + over_lower @ hat(lower.w).T
    bias = rate @ N.T
    bias[:, 0] += np.einsum("ki,ki->k", turning, relative)
    bias[:, 1:] -= (turning @ T.T) * (relative @ normal)[:, None]
    moved = N @ (upper.J - lower.J)
    turns = [[np.cross(N, arms[k]) for arms in (above, below)] for k in range(len(touches))]
    A = [moved - own @ upper.turning + other @ lower.turning for own, other in turns]
    return np.concatenate(A), (relative @ N.T).reshape(-1), bias.reshape(-1)


def hat(a: Array) -> Array:
    """(3, 3): a x b as a product."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
