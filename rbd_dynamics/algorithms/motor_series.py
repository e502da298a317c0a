# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of elastic joints by the complete model: as power series in time (theory.md section 11).

The rotor behind joint j makes itself felt at the joints i that turn the body it sits on: tau_i needs thetaddot_j, and
theta_j takes tau_j. So the motor of joint j needs two derivatives more of the motion than those of such joints i.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.elastic_joints import Drives, MotorMotion, drive_torques
from rbd_dynamics.algorithms.kinematics import support
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.series import Series

Vector = Sequence[Scalar]


def needed_derivatives(model: Model, drives: Drives) -> int:
    """How many derivatives of the links' motion the motors' torques depend on: 4 without rotors, or more.

    Raises ValueError where a rotor is felt at its own joint, directly or through others: then theta follows from a
    differential equation.
    """
    elastic = [spring.dof for spring in drives.springs]
    felt = {rotor.dof: _turning(model, rotor.body) & set(elastic) for rotor in drives.rotors}

    def order(dof: int, above: tuple[int, ...]) -> int:
        """How many derivatives of tau_link at this joint its own motor, and those of joints that feel it, need."""
        if dof in above:
            raise ValueError(_names(model, dof))
        return 2 + max((order(other, (*above, dof)) for other in felt.get(dof, ())), default=0)

    return 2 + max((order(dof, ()) for dof in elastic), default=0)


def _names(model: Model, dof: int) -> str:
    name = next(joint.name for joint in model.joints if joint.v_index == dof)
    return (
        f"the rotor of joint {name!r} is felt at that joint itself, so that its motion follows from a differential "
        "equation: it has to sit before the joint"
    )


def _turning(model: Model, body: int) -> set[int]:
    """The degrees of freedom that turn a body."""
    if body == WORLD:
        return set()
    found: set[int] = set()
    for index in support(model, body):
        joint, kind = model.bodies[index].joint, model.bodies[index].joint.kind
        for k, column in enumerate(kind.columns(kind.neutral().tolist())):
            if any(column[:3]) or not kind.has_constant_columns:
                found.add(joint.v_index + k)
    return found


def motor_series(
    model: Model,
    inertias: Sequence[RigidInertia],
    drives: Drives,
    derivatives: Sequence[Vector],
    friction: bool = False,
) -> MotorMotion:
    """What the motors do; `derivatives`: q and so many of its time derivatives as `needed_derivatives` says.

    For joints whose velocity is the rate of their position, springs without damping. Each pass knows the motors of
    the joints that no rotor is felt at which is not known yet.
    """
    q = [Series.of_derivatives(values) for values in zip(*derivatives)]
    v = [each.rate() for each in q]
    a = [each.rate() for each in v]
    theta: list[Series] = [Series(()) for _ in drives.springs]
    while True:
        rate = [each.rate() for each in theta]
        acceleration = [each.rate() for each in rate]
        torques, own = drive_torques(model, inertias, drives, q, v, a, rate, acceleration, friction)
        found = [q[s.position] + torques[s.dof] / s.stiffness for s in drives.springs]
        if [len(each.c) for each in found] == [len(each.c) for each in theta]:
            break
        theta = found
    tau = [_now(torque) for torque in torques]
    for spring, torque in zip(drives.springs, own):
        tau[spring.dof] = tau[spring.dof] + _now(torque)
    return MotorMotion([_now(x) for x in theta], [_now(x) for x in rate], [_now(x) for x in acceleration], tau)


def _now(x: Scalar) -> Scalar:
    return x.c[0] if isinstance(x, Series) else x
