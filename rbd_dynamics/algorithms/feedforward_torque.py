# SPDX-License-Identifier: Apache-2.0
"""Feedforward and computed torque of a desired motion, with a PD, within limits (theory.md section 8; 002)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.passive_forces import friction_torque, spring_torque
from rbd_dynamics.algorithms.polynomial import polynomial
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, atan2, cos, less, sin, where


def feedforward_torque(
    model: Model,
    inertias: Sequence[RigidInertia],
    dofs: Sequence[int],
    continuous: Sequence[bool],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    motion: Sequence[Scalar],
    t: Sequence[Scalar],
    weights: Sequence[Scalar],
    gains: Sequence[Scalar],
    offsets: Sequence[Scalar],
    limits: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar]]:
    """Torques of the joints at `dofs`, with and without limits.

    (weighted terms of) M a_d + C v + N + springs + friction(v_d) + kp (q_d - q) + kd (v_d - v) + offsets, where M, C, N
    and the springs are at the measured (q, v) or at the desired state. All joints have one degree of freedom; those
    that are not controlled are as measured, without acceleration. Computed torque has the PD inside, as
    acceleration: M (a_d + kp (q_d - q) + kd (v_d - v)) + ...

    motion: row by row, (6, joints): the desired position of joint k is the sum of motion[i, k] t[0]^i.
    weights: 0 or 1 for inertia, Coriolis, gravity, springs, friction; 1 for evaluation at the desired state; 1 for
    computed torque.
    gains: kp of each joint, then kd. offsets: what the joints need beside the model. continuous: joints whose position
    error counts modulo one turn.
    """
    count = len(dofs)
    inertial, coriolis, gravity, springs, frictional, at_desired, computed = weights
    desired = [polynomial(motion[k::count], t[0]) for k in range(count)]

    # feedback, as torque or as acceleration
    feedback: list[Scalar] = []
    for k, ((q_d, v_d, _), dof) in enumerate(zip(desired, dofs)):
        error = q_d - q[dof]
        if continuous[k]:  # the shorter way round
            error = atan2(sin(error), cos(error))
        feedback.append(gains[k] * error + gains[count + k] * (v_d - v[dof]))

    # where the model is evaluated
    q_at, v_at, a = list(q), list(v), [0.0] * model.nv
    speed: list[Scalar] = [0.0] * model.nv
    for (q_d, v_d, a_d), dof, pd in zip(desired, dofs, feedback):
        q_at[dof], v_at[dof] = where(at_desired, q_d, q[dof]), where(at_desired, v_d, v[dof])
        a[dof], speed[dof] = inertial * a_d + computed * pd, v_d

    # model
    gx, gy, gz = model.gravity
    weighted = replace(model, gravity=(gravity * gx, gravity * gy, gravity * gz))
    tau = inverse_dynamics(weighted, inertias, q_at, [coriolis * rate for rate in v_at], a, springs=False)
    held, friction = spring_torque(model, q_at), friction_torque(model, speed)

    # together, within limits
    efforts: list[Scalar] = []
    wanted: list[Scalar] = []
    for dof, pd, offset, limit in zip(dofs, feedback, offsets, limits):
        passive = springs * held[dof] + frictional * friction[dof]
        wanted.append(tau[dof] + passive + (1.0 - computed) * pd + offset)
        efforts.append(_within(wanted[-1], limit))
    return efforts, wanted


def _within(value: Scalar, limit: Scalar) -> Scalar:
    return where(less(limit, value), limit, where(less(value, -limit), -limit, value))
