# SPDX-License-Identifier: Apache-2.0
"""How links move, and with them the points where they touch: rows of contacts, and how these change.

Rows are the normal and two tangents. Of a contact of curved bodies the point wanders over both and the normal turns;
theory.md section 10 has the formulas.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.relative_motion import Kinematics
from rbd_dynamics.collisions.narrow_phase import Touch
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import WORLD, Frame, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class MovedFrames(NamedTuple):
    """n frames and the world, which is the last, at one state, all in the world.

    R (n + 1, 3, 3), p (n + 1, 3). J, turning (n + 1, 3, nv): of their origins' velocities and of their angular
    velocities. v, w (n + 1, 3): these velocities. a, alpha (n + 1, 3): their rates without joint acceleration.
    """

    R: Array
    p: Array
    J: Array
    turning: Array
    v: Array
    w: Array
    a: Array
    alpha: Array


class LinkMotions:
    """Motions of a robot's frames, by one compiled function.

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
        function = function_of(model, signature, functools.partial(_motions, tuple(frames)))
        self._kernel = robot.custom_kernel("link_motions", signature, function)
        self._nv = model.nv
        #: of each frame the first degree of freedom that moves it, and one behind the last
        self.columns = np.array([_columns(model, name) for name in frames], dtype=np.int64).reshape(-1, 2)
        #: calls of it are machine code
        self.compiled = robot.backend == "llvm"

    @property
    def count(self) -> int:
        """How many frames there are."""
        return self._count

    @property
    def nv(self) -> int:
        """Degrees of freedom of the robot."""
        return self._nv

    @property
    def evaluation(self) -> Evaluation:
        """What computes them from q and v."""
        return self._kernel

    def arrays(self, *lead: int) -> tuple[Array, Array, Array]:
        """New ones for what `write` writes, with these axes in front."""
        n = self._count
        return np.zeros((*lead, n, 3, 4)), np.zeros((*lead, n, 2, 6)), np.zeros((*lead, n, 6, self._nv))

    def write(self, q: Array, v: Array, out: tuple[Array, Array, Array]) -> None:
        """What the kernel gives: poses (n, 3, 4), twists (n, 2, 6) and Jacobians (n, 6, nv), all in coordinates of the
        frames, but for the poses."""
        self._kernel((q, v), out)

    def __call__(self, q: Array, v: Array) -> MovedFrames:
        """Motions of the frames at one state."""
        n = self._count
        poses, twists, jacobians = self._kernel((q, v))
        R, p = np.empty((n + 1, 3, 3)), np.zeros((n + 1, 3))
        R[:n], p[:n], R[n] = poses[:, :, :3], poses[:, :, 3], np.eye(3)
        moved = np.zeros((n + 1, 2, 3, self._nv))
        np.matmul(R[:n, None], jacobians.reshape(n, 2, 3, self._nv), out=moved[:n])
        rates = np.zeros((n + 1, 3, 4))  # w, v, their rates without joint acceleration, as columns
        parts = twists.reshape(n, 4, 3).copy()
        parts[:, 3] += times(hats(parts[:, 0]), parts[:, 1])
        np.matmul(R[:n], parts.transpose(0, 2, 1), out=rates[:n])
        w, velocity, alpha, a = (rates[:, :, k] for k in range(4))
        return MovedFrames(R, p, moved[:, 1], moved[:, 0], velocity, w, a, alpha)


def _columns(model: Model, frame: str) -> tuple[int, int]:
    """The first degree of freedom that moves a frame, and one behind the last."""
    dofs, body = list[int](), model.frame(frame).body
    while body != WORLD:
        joint = model.bodies[body].joint
        dofs += range(joint.v_index, joint.v_index + joint.kind.nv)
        body = model.bodies[body].parent
    return min(dofs, default=0), max(dofs, default=-1) + 1


def _motions(frames: tuple[str, ...], x: Inputs) -> list[list[Scalar]]:
    world, kinematics = Frame("world", WORLD), Kinematics(x.model, x.q, x.v)
    poses, twists, jacobians = [], [], []
    for name in frames:
        motion = kinematics.relative(x.model.frame(name), world)
        R, p = motion.pose.rotation, motion.pose.p
        for k in range(3):
            poses += [*R[3 * k : 3 * k + 3], p[k]]
        twists += [*motion.twist, *motion.bias]
        jacobians += [column[i] for i in range(6) for column in motion.columns]
    return [poses, twists, jacobians]


class _Points(NamedTuple):
    """Material points (k) of frames: arms (k, 3) from their origins, as `hats`, and of the angular velocities."""

    frames: Indices
    arms: Array
    turns: Array

    @staticmethod
    def of(moved: MovedFrames, frames: Indices, points: list[Array]) -> _Points:
        return _Points(frames, np.array(points) - moved.p[frames], hats(moved.w[frames]))

    def velocities(self, moved: MovedFrames) -> Array:
        """(k, 3)"""
        return moved.v[self.frames] + times(self.turns, self.arms)

    def accelerations(self, moved: MovedFrames, wandering: Array) -> Array:
        """(k, 3) Without joint acceleration, of what wanders over the bodies with these velocities (k, 3)."""
        turning = times(hats(moved.alpha[self.frames]), self.arms)
        return moved.a[self.frames] + turning + times(self.turns, times(self.turns, self.arms) + wandering)

    def rows(self, moved: MovedFrames, N: Array) -> Array:
        """(k, 3, nv) Along N (k, 3, 3)."""
        return N @ moved.J[self.frames] - (N @ hats(self.arms)) @ moved.turning[self.frames]


def rows_of(touches: Sequence[Touch], moved: MovedFrames, upper: Indices, lower: Indices) -> tuple[Array, Array, Array]:
    """(A (3k, nv), A v (3k), Adot v (3k)) of k points of contact: normal and tangents of each.

    upper, lower (k): numbers of the frames on which forces act, and of those on which the opposite ones do.
    """
    normal, T = np.array([touch.normal for touch in touches]), np.array([touch.tangents for touch in touches])
    N = np.concatenate([normal[:, None], T], axis=1)
    C, share, radius = (np.array(part) for part in zip(*(touch.curvature for touch in touches)))
    above = _Points.of(moved, upper, [touch.point for touch in touches])
    below = _Points.of(moved, lower, [touch.other for touch in touches])
    relative = above.velocities(moved) - below.velocities(moved)
    across = hats(normal)
    slip, carried = times(T, relative), times(T, times(across, moved.w[lower]))
    turned = times(T, times(across, moved.w[upper])) - carried
    # by the envelope theorem for max over n of -support_upper(-n) - support_lower(n): theory.md section 10
    turning = times(C, slip) - times(share.transpose(0, 2, 1), turned) - carried  # of the normal, along the tangents
    wandering = times(share, slip) + times(radius, turned)
    back = T.transpose(0, 2, 1)
    over_upper, over_lower = times(back, -wandering), times(back, slip - wandering)  # of the point, over each body
    rate = above.accelerations(moved, over_upper) - below.accelerations(moved, over_lower)
    bias, velocity = times(N, rate), times(N, relative)
    bias[:, 0] += (turning * slip).sum(axis=1)
    bias[:, 1:] -= turning * velocity[:, :1]
    A = above.rows(moved, N) - below.rows(moved, N)
    return A.reshape(-1, A.shape[-1]), velocity.reshape(-1), bias.reshape(-1)


def times(matrices: Array, vectors: Array) -> Array:
    """(k, m) of (k, m, n) and (k, n)."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def hats(a: Array) -> Array:
    """(k, 3, 3) of (k, 3): a x b as a product."""
    return (a @ _HATS).reshape(-1, 3, 3)


_HATS = np.array([np.cross(np.eye(3), unit) for unit in np.eye(3)]).reshape(3, 9)
