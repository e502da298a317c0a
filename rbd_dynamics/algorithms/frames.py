# SPDX-License-Identifier: Apache-2.0
"""Poses, Jacobians and velocities of frames (theory.md sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.frame_reference import BODY, FrameReference
from rbd_dynamics.algorithms.kinematics import combine, joint_motion, support
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import IDENTITY, ZERO6, Transform, Vec6, ad, add6, scale6, twist_to_child


def frame_pose(model: Model, q: Sequence[Scalar], frame: Frame) -> Transform:
    """Pose of the frame in the world."""
    pose = IDENTITY
    for index in support(model, frame.body):
        pose = pose @ joint_motion(model.bodies[index], q).transform
    return pose @ frame.placement


def frame_jacobian(model: Model, q: Sequence[Scalar], frame: Frame, reference: FrameReference = BODY) -> list[Vec6]:
    """Columns (nv) of J: the frame's twist (w, v) = J v, as the reference expresses it."""
    found = FrameMotion.of(model, q, None, frame)
    return reference.twists(found.pose, found.J)


def frame_jacobian_dot(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], frame: Frame, reference: FrameReference = BODY
) -> list[Vec6]:
    """Columns (nv) of dJ/dt: the rate of the twist is J vdot + Jdot v, component-wise."""
    found = FrameMotion.of(model, q, v, frame)
    return reference.rates(found.pose, found.twist, found.J, found.J_dot)


def frame_velocity(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], frame: Frame, reference: FrameReference = BODY
) -> Vec6:
    """The frame's twist (w, v)."""
    found = FrameMotion.of(model, q, v, frame)
    return reference.twists(found.pose, [found.twist])[0]


def frame_acceleration(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    frame: Frame,
    reference: FrameReference = BODY,
) -> Vec6:
    """The rate of the frame's twist, component-wise."""
    found = FrameMotion.of(model, q, v, frame)
    return reference.rates(found.pose, found.twist, [found.twist], [found.acceleration(v, a)])[0]


class FrameMotion(NamedTuple):
    """A frame at one state; all but the pose in its own axes at its origin. Without v what depends on it is zero."""

    pose: Transform
    twist: Vec6
    J: list[Vec6]
    J_dot: list[Vec6]

    def acceleration(self, v: Sequence[Scalar], a: Sequence[Scalar]) -> Vec6:
        """The component-wise rate of `twist`."""
        return add6(combine(self.J, a), combine(self.J_dot, v))

    @classmethod
    def of(cls, model: Model, q: Sequence[Scalar], v: Sequence[Scalar] | None, frame: Frame) -> FrameMotion:
        """Follow the joints from the frame towards the base.

        With T the pose of the frame in body i and V the frame's twist relative to body i, column
        s -> Ad_{T^-1} s and its rate is Ad_{T^-1} sdot - ad_V Ad_{T^-1} s.
        """
        J: list[Vec6] = [ZERO6] * model.nv
        rates: list[Vec6] = [ZERO6] * model.nv
        to_frame, relative = frame.placement, ZERO6
        for index in reversed(support(model, frame.body)):
            motion = joint_motion(model.bodies[index], q, v)
            columns = [twist_to_child(to_frame, column) for column in motion.columns]
            for k, dof in enumerate(motion.dofs):
                J[dof] = add6(J[dof], columns[k])
                if v is not None:
                    own_rate = twist_to_child(to_frame, motion.rates[k])
                    turned = scale6(-1.0, ad(relative, columns[k]))
                    rates[dof] = add6(rates[dof], add6(own_rate, turned))
            if v is not None:
                relative = add6(relative, combine(columns, [v[dof] for dof in motion.dofs]))
            to_frame = motion.transform @ to_frame
            to_frame = Transform.of(to_frame.rotation, to_frame.p)
        return cls(to_frame, relative, J, rates)
