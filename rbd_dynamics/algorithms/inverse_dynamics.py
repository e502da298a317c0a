# SPDX-License-Identifier: Apache-2.0
"""Recursive Newton-Euler inverse dynamics (theory.md section 2; 000 table 2)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.kinematics import BodyState, accelerations, base_acceleration, velocities
from rbd_dynamics.algorithms.passive_forces import add_passive_torque
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Vec6, ad_dual, add6, dot6, sub6, wrench_to_parent


def inverse_dynamics(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
    gravity: bool = True,
    springs: bool = True,
    friction: bool = False,
) -> list[Scalar]:
    """tau (nv) that produces the acceleration a: M a + C v + N - J^T f_ext, with rotor inertia and passive forces.

    `inertias` are the bodies', in order; `f_ext` is the external wrench on each body, in its frame.
    """
    base = base_acceleration(model) if gravity else (0.0,) * 6

    # base to tip
    states = velocities(model, q, v)
    spatial = accelerations(model, states, a, base)

    # tip to base; of what goes through a joint the actuator sees tau = S^T F
    wrenches = transmitted_wrenches(model, inertias, states, spatial, f_ext)
    tau: list[Scalar] = [0.0] * model.nv
    for state, wrench in zip(reversed(states), reversed(wrenches)):
        for dof, column in zip(state.motion.dofs, state.motion.columns):
            tau[dof] = tau[dof] + dot6(column, wrench)
    tau = add_rotor_torque(model, tau, a)
    return add_passive_torque(model, tau, q if springs else None, v if friction else None)


def joint_reactions(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
) -> list[Vec6]:
    """F_i (bodies): the whole wrench (m, f) that a joint transmits from the parent to its body, in the body frame."""
    states = velocities(model, q, v)
    spatial = accelerations(model, states, a, base_acceleration(model))
    return transmitted_wrenches(model, inertias, states, spatial, f_ext)


def transmitted_wrenches(
    model: Model,
    inertias: Sequence[RigidInertia],
    states: Sequence[BodyState],
    spatial: Sequence[Vec6],
    f_ext: Sequence[Vec6] | None = None,
) -> list[Vec6]:
    """F_i = I Vdot - ad*_V I V - F_ext + sum_k Ad* F_k of every body, in its frame."""
    wrenches: list[Vec6] = []
    for inertia, state, acceleration in zip(inertias, states, spatial):
        gyroscopic = ad_dual(state.twist, inertia * state.twist)
        wrenches.append(sub6(inertia * acceleration, gyroscopic))
    if f_ext is not None:
        wrenches = [sub6(wrench, external) for wrench, external in zip(wrenches, f_ext)]
    for index in reversed(range(len(model.bodies))):
        parent = model.bodies[index].parent
        if parent != WORLD:
            carried = wrench_to_parent(states[index].motion.transform, wrenches[index])
            wrenches[parent] = add6(wrenches[parent], carried)
    return wrenches


def add_rotor_torque(model: Model, tau: list[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
    """tau + (rotor inertia) a."""
    for dof, rotor in enumerate(rotor_inertias(model)):
        tau[dof] = tau[dof] + rotor * a[dof]
    return tau


def rotor_inertias(model: Model) -> list[float]:
    """Rotor inertia seen by each degree of freedom (nv); a mimic's counts at its leader."""
    rotors = [0.0] * model.nv
    for body in model.bodies:
        joint = body.joint
        ratio = joint.mimic.multiplier if joint.mimic else 1.0
        for dof in range(joint.v_index, joint.v_index + joint.kind.nv):
            rotors[dof] += ratio * ratio * joint.armature
    return rotors
