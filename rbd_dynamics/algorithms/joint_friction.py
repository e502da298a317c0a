# SPDX-License-Identifier: Apache-2.0
"""Viscous and Coulomb friction of the joints (theory.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.scalar import Scalar, tanh

#: speed (rad/s or m/s) over which Coulomb friction builds up; it keeps the torque continuous
COULOMB_SPEED = 1e-2


def joint_friction(model: Model, v: Sequence[Scalar]) -> list[Scalar]:
    """Torque (nv) that overcomes friction, d v + c tanh(v / eps); its negative acts on the robot."""
    torque: list[Scalar] = [0.0] * model.nv
    for body in model.bodies:
        joint = body.joint
        ratio = joint.mimic.multiplier if joint.mimic else 1.0
        for dof in range(joint.v_index, joint.v_index + joint.kind.nv):
            speed = ratio * v[dof]
            drag = joint.damping * speed
            if joint.friction:
                drag = drag + joint.friction * tanh(speed / COULOMB_SPEED)
            torque[dof] = torque[dof] + ratio * drag
    return torque


def joint_friction_slope(model: Model, v: Sequence[Scalar]) -> list[Scalar]:
    """Derivative (nv) of `joint_friction` by the velocity; each joint's depends on its own only."""
    slopes: list[Scalar] = [0.0] * model.nv
    for body in model.bodies:
        joint = body.joint
        ratio = joint.mimic.multiplier if joint.mimic else 1.0
        for dof in range(joint.v_index, joint.v_index + joint.kind.nv):
            slope: Scalar = joint.damping
            if joint.friction:
                level = tanh(ratio * v[dof] / COULOMB_SPEED)
                slope = slope + (joint.friction / COULOMB_SPEED) * (1.0 - level * level)
            slopes[dof] = slopes[dof] + ratio * ratio * slope
    return slopes
