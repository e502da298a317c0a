"""Recursive Newton-Euler inverse dynamics (theory.md section 2; 000 table 2)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.kinematics import accelerations, base_acceleration, velocities
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
) -> list[Scalar]:
    """tau (nv) that produces the acceleration a: M a + C v + N - J^T f_ext, with rotor inertia.

    `inertias` are the bodies', in order; `f_ext` is the external wrench on each body, in its frame.
    """
    base = base_acceleration(model) if gravity else (0.0,) * 6

    # base to tip
    states = velocities(model, q, v)
    spatial = accelerations(model, states, a, base)

    # each body by itself: F = I Vdot - ad*_V I V - F_ext
    wrenches: list[Vec6] = []
    for inertia, state, acceleration in zip(inertias, states, spatial):
        gyroscopic = ad_dual(state.twist, inertia * state.twist)
        wrenches.append(sub6(inertia * acceleration, gyroscopic))
    if f_ext is not None:
        wrenches = [sub6(wrench, external) for wrench, external in zip(wrenches, f_ext)]

    # tip to base: what a child needs goes through its parent; tau = S^T F
    tau: list[Scalar] = [0.0] * model.nv
    for index in reversed(range(len(model.bodies))):
        body, motion = model.bodies[index], states[index].motion
        for dof, column in zip(motion.dofs, motion.columns):
            tau[dof] = tau[dof] + dot6(column, wrenches[index])
        if body.parent != WORLD:
            carried = wrench_to_parent(motion.transform, wrenches[index])
            wrenches[body.parent] = add6(wrenches[body.parent], carried)

    return add_rotor_torque(model, tau, a)


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
