# SPDX-License-Identifier: Apache-2.0
"""What constraints see of the robot: relative motions of frames, and q as a function of time.

Generic over the scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from rbd_dynamics.algorithms.frames import frame_jacobian
from rbd_dynamics.algorithms.kinematics import BodyState, accelerations, body_poses, support, velocities
from rbd_dynamics.model.model import WORLD, Frame, Model
from rbd_dynamics.spatial.jets import Jet, level_above
from rbd_dynamics.spatial.scalar import Scalar, dot
from rbd_dynamics.spatial.se3 import ZERO6, Transform, Vec6, ad, add6, sub6, twist_to_child


class RelativeMotion(NamedTuple):
    """Frame b seen from frame a. Twists are those of b relative to a, in b's axes, at b's origin."""

    pose: Transform  # T_ab
    twist: Vec6
    bias: Vec6  # component-wise rate of the twist at zero joint acceleration
    columns: list[Vec6]  # of the Jacobian, one for each degree of freedom
    terms: Scalar  # the sum of the squares of what the columns are differences of


class Kinematics:
    """One state of the robot."""

    def __init__(self, model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> None:
        self.model, self.q, self.v = model, q, v

    @cached_property
    def _poses(self) -> list[Transform]:
        return body_poses(self.model, self.q)

    @cached_property
    def _states(self) -> list[BodyState]:
        return velocities(self.model, self.q, self.v)

    @cached_property
    def _biases(self) -> list[Vec6]:
        return accelerations(self.model, self._states, [0.0] * self.model.nv, ZERO6)

    def _frame(self, frame: Frame) -> RelativeMotion:
        """A frame seen from the world."""
        if frame.body == WORLD:
            return RelativeMotion(frame.placement, ZERO6, ZERO6, [ZERO6] * self.model.nv, 0.0)
        columns = frame_jacobian(self.model, self.q, frame)
        return RelativeMotion(
            self._poses[frame.body] @ frame.placement,
            twist_to_child(frame.placement, self._states[frame.body].twist),
            twist_to_child(frame.placement, self._biases[frame.body]),
            columns,
            _squares(columns),
        )

    def relative(self, frame: Frame, reference: Frame) -> RelativeMotion:
        """`frame` seen from `reference`."""
        b, a = self._frame(frame), self._frame(reference)
        pose = a.pose.inverse() @ b.pose
        pose = Transform.of(pose.rotation, pose.p)
        if reference.body == WORLD:
            return b._replace(pose=pose)
        carried = twist_to_child(pose, a.twist)
        twist = sub6(b.twist, carried)
        # Ad_{T_ba} changes with the relative motion itself
        bias = add6(sub6(b.bias, twist_to_child(pose, a.bias)), ad(twist, carried))
        apart = self._dofs_between(frame.body, reference.body)  # the others move both frames alike
        others = [twist_to_child(pose, column) if k in apart else ZERO6 for k, column in enumerate(a.columns)]
        own = [column if k in apart else ZERO6 for k, column in enumerate(b.columns)]
        columns = [sub6(column, other) for column, other in zip(own, others)]
        return RelativeMotion(pose, twist, bias, columns, _squares(own) + _squares(others))

    def _dofs_between(self, one: int, other: int) -> set[int]:
        """Degrees of freedom of the joints that move one body against another."""
        bodies = set(support(self.model, one)) ^ set(support(self.model, other))
        joints = [self.model.bodies[index].joint for index in bodies]
        return {dof for joint in joints for dof in range(joint.v_index, joint.v_index + joint.kind.nv)}


def _squares(columns: Sequence[Vec6]) -> Scalar:
    return sum((dot(column, column) for column in columns), 0.0)


def moving_configuration(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Jet]:
    """q as it moves with the constant velocity v: jets of a new variable, all of one level."""
    level = level_above(*q, *v)
    moving: list[Jet] = []
    for joint in model.joints:
        own = q[joint.q_index : joint.q_index + joint.kind.nq]
        first, second = joint.kind.rates(own, v[joint.v_index : joint.v_index + joint.kind.nv])
        moving += [Jet(x, d, dd, level) for x, d, dd in zip(own, first, second)]
    return moving


def moving_pose(pose: Transform, twist: Sequence[Scalar]) -> Transform:
    """T exp([V] t) as jets: the pose that moves with a constant body twist. One level above its parts."""
    level = level_above(*pose.rotation, *pose.p, *twist)
    a, b, c, x, y, z = twist
    wx, wy, wz = b * z - c * y, c * x - a * z, a * y - b * x  # w x v
    entries: list[Jet] = []
    for k in range(3):
        row = pose.rotation[3 * k : 3 * k + 3]
        once = _row_times_hat(row, a, b, c)
        entries += [Jet(r, d, dd, level) for r, d, dd in zip(row, once, _row_times_hat(once, a, b, c))]
    p = []
    for k in range(3):
        r0, r1, r2 = pose.rotation[3 * k : 3 * k + 3]
        p.append(Jet(pose.p[k], r0 * x + r1 * y + r2 * z, r0 * wx + r1 * wy + r2 * wz, level))
    return Transform((tuple(entries),), (p[0], p[1], p[2]))


def _row_times_hat(row: Sequence[Scalar], a: Scalar, b: Scalar, c: Scalar) -> Sequence[Scalar]:
    """r^T [w]."""
    x, y, z = row
    return y * c - z * b, z * a - x * c, x * b - y * a
