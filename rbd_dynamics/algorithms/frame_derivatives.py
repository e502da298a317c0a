# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a frame's velocity and acceleration (theory.md section 6)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.frame_reference import BODY, FrameReference
from rbd_dynamics.algorithms.frames import FrameMotion
from rbd_dynamics.algorithms.kinematics import support
from rbd_dynamics.algorithms.world_frame import world_frame
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, Vec6, ad, add6, sub6, twist_to_child


def frame_derivatives(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    frame: Frame,
    reference: FrameReference = BODY,
) -> tuple[list[Vec6], list[Vec6], list[Vec6]]:
    """Columns (nv) of dV/dq, dA/dq and dA/dv for the frame's twist V, as the reference expresses it, and its rate A.

    A = J a + Jdot v, component-wise; dV/dv = dA/da = J. By q along the tangent.
    """
    found = _in_the_frame(model, q, v, a, frame)
    if reference is BODY:
        return found
    # X V and X A', with the rate A' = A + ad_U V of V in axes that stand still
    motion = FrameMotion.of(model, q, v, frame)
    pose, twist, part = motion.pose, motion.twist, reference.part
    seen = add6(motion.acceleration(v, a), ad(part(twist), twist))
    by_q, rate_by_q, rate_by_v = [], [], []
    for column, twist_q, rate_q, rate_v in zip(motion.J, *found):
        seen_q = add6(rate_q, add6(ad(part(twist_q), twist), ad(part(twist), twist_q)))
        seen_v = add6(rate_v, add6(ad(part(column), twist), ad(part(twist), column)))
        by_q += reference.rates(pose, column, [twist], [twist_q])  # the frame moves with J_k as q moves along k
        rate_by_q += reference.rates(pose, column, [seen], [seen_q])
        rate_by_v += reference.twists(pose, [seen_v])
    return by_q, rate_by_q, rate_by_v


def _in_the_frame(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], frame: Frame
) -> tuple[list[Vec6], list[Vec6], list[Vec6]]:
    """The derivatives of the body twist. Turning a joint also turns the frame: only what the subtree gains is seen."""
    massless = [RigidInertia()] * len(model.bodies)
    world = world_frame(model.with_gravity((0.0, 0.0, 0.0)), massless, q, v, a)
    twist_q, rate_q, rate_v = ([ZERO6] * model.nv for _ in range(3))
    path = support(model, frame.body)
    if path:
        pose = world.poses[frame.body] @ frame.placement
        twist = world.twists[frame.body]
        for index in path:
            for column in world.columns[index]:
                gained, more = column.gained_velocity, column.gained_acceleration
                by_q = sub6(more, ad(twist, gained))
                by_v = sub6(add6(column.rate, gained), ad(twist, column.s))
                for matrix, value in ((twist_q, gained), (rate_q, by_q), (rate_v, by_v)):
                    matrix[column.dof] = add6(matrix[column.dof], twist_to_child(pose, value))
    return twist_q, rate_q, rate_v
