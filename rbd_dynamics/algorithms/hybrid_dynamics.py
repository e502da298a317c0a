# SPDX-License-Identifier: Apache-2.0
"""O(n) hybrid and forward dynamics (theory.md section 2; 000 tables 3 and 4): articulated bodies."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.coordinate_elimination import CoordinateElimination
from rbd_dynamics.algorithms.kinematics import base_acceleration, velocities
from rbd_dynamics.algorithms.passive_forces import add_passive_torque
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, where
from rbd_dynamics.spatial.se3 import Vec6, ad_dual, add6, scale6, sub6, twist_to_child, wrench_to_parent

Vector = Sequence[Scalar]


def forward_dynamics(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Vector,
    v: Vector,
    tau: Vector,
    f_ext: Sequence[Vec6] | None = None,
    friction: bool = False,
) -> list[Scalar]:
    """qdd (nv) under the torque tau: hybrid dynamics with nothing prescribed."""
    unused, free = [0.0] * model.nv, [False] * model.nv
    return hybrid_dynamics(model, inertias, q, v, unused, tau, free, f_ext, friction)[0]


def hybrid_dynamics(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Vector,
    v: Vector,
    a: Vector,
    tau: Vector,
    prescribed: Vector,
    f_ext: Sequence[Vec6] | None = None,
    friction: bool = False,
) -> tuple[list[Scalar], list[Scalar]]:
    """Complete (qdd, tau), both (nv), with passive forces.

    Where `prescribed` is non-zero the acceleration is `a` and the torque is found; elsewhere the
    torque is `tau` and the acceleration is found. Any mix, also within one joint.
    """
    bodies = model.bodies
    passive = add_passive_torque(model, [0.0] * model.nv, q, v if friction else None)
    waiting = CoordinateElimination(model, a, [t - p for t, p in zip(tau, passive)], prescribed)

    # base to tip: V and eta; each body by itself: Ihat = I, Bhat = -ad*_V I V - F_ext
    states = velocities(model, q, v)
    Ihat = [ArticulatedInertia.of(inertia) for inertia in inertias]
    Bhat = [scale6(-1.0, ad_dual(state.twist, inertia * state.twist)) for inertia, state in zip(inertias, states)]
    if f_ext is not None:
        Bhat = [sub6(bias, external) for bias, external in zip(Bhat, f_ext)]

    # tip to base: what is complete is eliminated, so that Ihat and Bhat become Pi and beta, and is carried on
    for i in reversed(range(len(bodies))):
        (transform, columns, _, dofs), eta = states[i].motion, states[i].bias
        Pi, beta = waiting.eliminate(i, Ihat[i], Bhat[i])
        for dof, S in reversed(list(zip(dofs, columns))):
            Pi, beta = waiting.put_in(i, dof, S, Pi, beta)
        parent = bodies[i].parent
        waiting.carry(i, parent, transform, eta)
        if parent != WORLD:
            Ihat[parent] = Ihat[parent] + Pi.to_parent(transform)
            Bhat[parent] = add6(Bhat[parent], wrench_to_parent(transform, add6(beta, Pi * eta)))
    waiting.eliminate_at_world()

    # base to tip: accelerations, with each coordinate's own as soon as it is known
    base = base_acceleration(model)
    waiting.solve_at_world(base)
    Vdot: list[Vec6] = []
    for i, (body, state) in enumerate(zip(bodies, states)):
        carried = twist_to_child(state.motion.transform, base if body.parent == WORLD else Vdot[body.parent])
        Vdot.append(waiting.solve(i, state.motion, add6(carried, state.bias)))
    torque = [where(known, found + p, given) for known, found, p, given in zip(prescribed, waiting.tau, passive, tau)]
    return waiting.qdd, torque
