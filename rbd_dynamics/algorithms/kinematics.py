# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the tree: where the joints put the bodies, and how fast (theory.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.model.model import WORLD, Body, Joint, Model
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import (
    ZERO6,
    Transform,
    Vec6,
    ad,
    add6,
    scale6,
    twist_to_child,
)


class JointMotion(NamedTuple):
    """What a joint does at one state. A mimic joint's columns carry its multiplier.

    transform: T_{p,i}, pose of the body in its parent; columns: S_i, one twist per degree of
    freedom, in the body frame; rates: the columns of Sdot_i; dofs: the index in v of each column.
    """

    transform: Transform
    columns: tuple[Vec6, ...]
    rates: tuple[Vec6, ...]
    dofs: tuple[int, ...]


class JointVariation(NamedTuple):
    """How a joint's S(q) varies with its own position, in the body frame; k counts its degrees of freedom.

    slopes: of each direction k the columns of dS/dq_k; curvature: of each k the derivative of Sdot qd
    along k, qd kept as it is. A mimic joint's are those by its leader's position.
    """

    slopes: tuple[tuple[Vec6, ...], ...]
    curvature: tuple[Vec6, ...]


def joint_variation(body: Body, q: Sequence[Scalar], v: Sequence[Scalar]) -> JointVariation | None:
    """Variation of one body's joint with q and v; None where S is constant."""
    joint, kind = body.joint, body.joint.kind
    if kind.has_constant_columns:
        return None
    ratio, q_joint = _own_position(joint, q)
    own = v[joint.v_index : joint.v_index + kind.nv]
    v_joint = [ratio * x for x in own]
    slopes, curvature = [], []
    for k in range(kind.nv):
        direction = [ratio if i == k else 0.0 for i in range(kind.nv)]
        slopes.append(tuple(scale6(ratio, slope) for slope in kind.columns_rate(q_joint, direction)))
        change = kind.columns_rate_derivative(q_joint, v_joint, direction)
        curvature.append(combine([scale6(ratio, column) for column in change], own))
    return JointVariation(tuple(slopes), tuple(curvature))


def _own_position(joint: Joint, q: Sequence[Scalar]) -> tuple[float, list[Scalar]]:
    """The ratio to its leader's velocity, 1 for a joint that is no mimic, and the joint's own numbers."""
    ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
    return ratio, [ratio * x + offset for x in q[joint.q_index : joint.q_index + joint.kind.nq]]


def joint_motion(body: Body, q: Sequence[Scalar], v: Sequence[Scalar] | None = None) -> JointMotion:
    """Evaluate one body's joint; without v the rates are left out (empty)."""
    joint, kind = body.joint, body.joint.kind
    ratio, q_joint = _own_position(joint, q)
    dofs = tuple(range(joint.v_index, joint.v_index + kind.nv))
    columns = tuple(scale6(ratio, column) for column in kind.columns(q_joint))
    rates: tuple[Vec6, ...] = ()
    if v is not None:
        v_joint = [ratio * v[dof] for dof in dofs]
        rates = tuple(scale6(ratio, rate) for rate in kind.columns_rate(q_joint, v_joint))
    return JointMotion(body.placement @ kind.transform(q_joint), columns, rates, dofs)


def combine(columns: Sequence[Vec6], values: Sequence[Scalar]) -> Vec6:
    """Sum of columns times values, S x."""
    total = ZERO6
    for column, value in zip(columns, values):
        total = add6(total, scale6(value, column))
    return total


class BodyState(NamedTuple):
    """Joint and velocity quantities of one body, all in the body frame."""

    motion: JointMotion
    twist: Vec6  # V_i
    bias: Vec6  # eta_i = ad_{V_i} S qd + Sdot qd


def velocities(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[BodyState]:
    """Base to tip: V_i = Ad_{T^-1} V_p + S qd and eta_i = ad_{V_i} S qd + Sdot qd (000 equation 37, 41)."""
    states: list[BodyState] = []
    for body in model.bodies:
        motion = joint_motion(body, q, v)
        own = combine(motion.columns, [v[dof] for dof in motion.dofs])
        if body.parent == WORLD:
            twist, bias = own, ZERO6  # ad_{S qd} S qd = 0
        else:
            carried = twist_to_child(motion.transform, states[body.parent].twist)
            twist, bias = add6(carried, own), ad(carried, own)
        bias = add6(bias, combine(motion.rates, [v[dof] for dof in motion.dofs]))
        states.append(BodyState(motion, twist, bias))
    return states


def base_acceleration(model: Model) -> Vec6:
    """Vdot_0 = (0, -g): gravity enters as an acceleration of the base."""
    gx, gy, gz = model.gravity
    return (0.0, 0.0, 0.0, -gx, -gy, -gz)


def accelerations(
    model: Model,
    states: Sequence[BodyState],
    a: Sequence[Scalar],
    base: Vec6,
) -> list[Vec6]:
    """Base to tip: Vdot_i = Ad_{T^-1} Vdot_p + eta_i + S qdd."""
    found: list[Vec6] = []
    for body, (motion, _, bias) in zip(model.bodies, states):
        parent = base if body.parent == WORLD else found[body.parent]
        carried = add6(twist_to_child(motion.transform, parent), bias)
        found.append(add6(carried, combine(motion.columns, [a[dof] for dof in motion.dofs])))
    return found


def body_poses(model: Model, q: Sequence[Scalar]) -> list[Transform]:
    """Pose of every body in the world."""
    poses: list[Transform] = []
    for body in model.bodies:
        local = joint_motion(body, q).transform
        pose = local if body.parent == WORLD else poses[body.parent] @ local
        poses.append(Transform.of(pose.rotation, pose.p))
    return poses


def support(model: Model, body: int) -> list[int]:
    """Indices of the bodies from the world to `body`, the joints that move it."""
    path: list[int] = []
    while body != WORLD:
        path.append(body)
        body = model.bodies[body].parent
    return path[::-1]
