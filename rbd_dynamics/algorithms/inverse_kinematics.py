# SPDX-License-Identifier: Apache-2.0
"""One step of inverse kinematics: Levenberg and Marquardt, damped by the error itself, joints within their limits.

With (R, p) = T^-1 T_d and e = (log R, p), of several frames one below the other, the joints move by
dq = (A^T A + lambda)^-1 A^T e, where -A is the exact derivative of e. lambda = |e|^2 / 2 plus a little needs no line
search, and converges out of reach and at singular postures as well (Sugihara, Solvability-unconcerned inverse
kinematics by the Levenberg-Marquardt method, IEEE Transactions on Robotics 27, 2011). Joints that stand at a limit and
would leave it are held (Bertsekas, Projected Newton methods, SIAM Journal on Control and Optimization 20, 1982).

A posture pulls with lambda_0 g, lambda_0 the little and g the way there: dq = (A^T A + lambda)^-1 (A^T e + lambda_0 g).
Where the frames are in place this is g but for what would move them; where they are not, it is as good as nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.configuration_motion import configuration_difference, moved_configuration
from rbd_dynamics.algorithms.frames import frame_jacobian, frame_pose
from rbd_dynamics.algorithms.tree_factor import factorise
from rbd_dynamics.model.joints.base import JointKind
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.lie import left_jacobian_inverse_so3, log_so3
from rbd_dynamics.spatial.scalar import Scalar, dot, less, where
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import add3, cross

Vector = Sequence[Scalar]
LENGTH = 0.3  # m: a miss by so much weighs as one by 1 rad
LEAST_DAMPING = 1e-6  # keeps the matrix regular where the error is zero
WEIGHTS = (1.0, 1.0, 1.0, *[1.0 / LENGTH] * 3)


class Step(NamedTuple):
    """What a step gives; all but q is of the positions before it.

    Attributes:
        q: positions after the step (nq).
        turn, distance: squares of how far off each frame was, rad^2 and m^2.
        worst: the largest of those. cost: what the step makes smaller, the sum of squares of weighted errors.
        apart: square of the way to the posture.
    """

    q: list[Scalar]
    turn: list[Scalar]
    distance: list[Scalar]
    worst: Scalar
    cost: Scalar
    apart: Scalar


class PoseErrors(NamedTuple):
    """How far F frames are from wanted poses.

    Attributes:
        error: (log R, p) of each, weighted (6F). columns: of A, weighted, for each velocity (nv of 6F); the error's
            derivative is -A.
        turn, distance: squares of each, rad^2 and m^2. off: T^-1 T_d.
    """

    error: list[Scalar]
    columns: list[list[Scalar]]
    turn: list[Scalar]
    distance: list[Scalar]
    off: list[Transform]


def inverse_kinematics_step(
    model: Model,
    q: Vector,
    frames: Sequence[Frame],
    wanted: Sequence[Transform],
    lowest: Vector,
    highest: Vector,
    posture: Vector,
    pull: Scalar,
) -> Step:
    """The step from q; limits (nq), of joints whose velocity is no rate of their positions they only cut these."""
    error, columns, turn, distance, _ = pose_errors(model, q, frames, wanted)
    cost = dot(error, error)
    way = configuration_difference(model, q, posture)
    wish = [pull * x for x in way]
    gradient = [dot(column, error) + LEAST_DAMPING * x for column, x in zip(columns, wish)]
    free = _free(model, q, gradient, lowest, highest)
    moved = _solved(columns, error, wish, free, 0.5 * cost + LEAST_DAMPING)
    after = moved_configuration(model, q, moved)
    bounded = [where(less(x, low), low, where(less(high, x), high, x)) for x, low, high in zip(after, lowest, highest)]
    worst: Scalar = 0.0
    for x in (*turn, *distance):
        worst = where(less(x, worst), worst, x)
    return Step(bounded, turn, distance, worst, cost, dot(way, way))


def pose_errors(model: Model, q: Vector, frames: Sequence[Frame], wanted: Sequence[Transform]) -> PoseErrors:
    """How far frames are from wanted poses, and how that changes."""
    error: list[Scalar] = []
    columns: list[list[Scalar]] = [[] for _ in range(model.nv)]
    found = PoseErrors(error, columns, [], [], [])
    for frame, pose in zip(frames, wanted):
        off = frame_pose(model, q, frame).inverse() @ pose
        phi = log_so3(off.rotation)
        error += [w * x for w, x in zip(WEIGHTS, (*phi, *off.p))]
        for own, column in zip(columns, frame_jacobian(model, q, frame)):
            rate = left_jacobian_inverse_so3(phi, column[:3]) + add3(column[3:], cross(column[:3], off.p))
            own += [w * x for w, x in zip(WEIGHTS, rate)]
        found.turn.append(dot(phi, phi))
        found.distance.append(dot(off.p, off.p))
        found.off.append(off)
    return found


def _free(model: Model, q: Vector, gradient: Vector, lowest: Vector, highest: Vector) -> list[Scalar]:
    """1 for what may move (nv), 0 where a joint stands at a limit and would leave it."""
    found: list[Scalar] = [1.0] * model.nv
    for joint in model.joints:
        if type(joint.kind).integrate is not JointKind.integrate:
            continue
        for k in range(joint.kind.nv):
            at, g = q[joint.q_index + k], gradient[joint.v_index + k]
            low, high = lowest[joint.q_index + k], highest[joint.q_index + k]
            found[joint.v_index + k] = 1.0 - where(less(g, 0.0), less(at, low + 1e-12), less(high - 1e-12, at))
    return found


def _solved(columns: Sequence[Vector], error: Vector, wish: Vector, free: Vector, damping: Scalar) -> list[Scalar]:
    """The motion of what is free, by a matrix of as few rows as there are: of joints, or of errors."""
    if len(columns) <= len(error):
        H = [[f * g * dot(a, b) for g, b in zip(free, columns)] for f, a in zip(free, columns)]
        for k, f in enumerate(free):
            H[k][k] = H[k][k] + damping + (1.0 - f)
        sides = [dot(column, error) + LEAST_DAMPING * x for column, x in zip(columns, wish)]
        return factorise(H).solve([f * g for f, g in zip(free, sides)])
    # (A^T A + damping)^-1 A^T = A^T (A A^T + damping)^-1
    share = LEAST_DAMPING / damping
    way = [f * share * x for f, x in zip(free, wish)]
    rows = list(zip(*columns))
    B: list[list[Scalar]] = [[0.0] * len(rows) for _ in rows]
    for i, one in enumerate(rows):
        freely = [f * a for f, a in zip(free, one)]
        for k in range(i + 1):
            B[i][k] = B[k][i] = dot(freely, rows[k])
        B[i][i] = B[i][i] + damping
    multipliers = factorise(B).solve([e - dot(row, way) for e, row in zip(error, rows)])
    return [x + f * dot(column, multipliers) for x, f, column in zip(way, free, columns)]
