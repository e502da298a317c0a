# SPDX-License-Identifier: Apache-2.0
"""O(n) hybrid and forward dynamics (theory.md section 2; 000 tables 3 and 4).

Gauss' principle, one coordinate at a time. For a body and all that it carries, the function

    Z = a^T A a / 2 + a^T B + sum_g x_g G_g^T a + sum_gh D_gh x_g x_h / 2 + sum_g (p_g - tau_g) x_g

of the body's acceleration a has its minimum at the true accelerations x of the joints inside. From
tip to base a joint's motion a = a' + S x is put in, and a coordinate is eliminated as soon as all
joints that it moves are inside. For a joint with its own coordinate G = A S, D = S^T A S, and the
elimination is the articulated-body step: A and B become Pi and beta of theory.md. A coordinate that
moves several joints (a mimic's leader) waits until all of them are in. A prescribed coordinate is
put in by its value instead of being eliminated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.kinematics import base_acceleration, combine, support, velocities
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal, where
from rbd_dynamics.spatial.se3 import (
    ZERO6,
    Vec6,
    ad_dual,
    add6,
    dot6,
    scale6,
    sub6,
    twist_to_child,
    wrench_to_parent,
)


def forward_dynamics(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
) -> list[Scalar]:
    """qdd (nv) under the torque tau: hybrid dynamics with nothing prescribed."""
    unused, free = [0.0] * model.nv, [False] * model.nv
    return hybrid_dynamics(model, inertias, q, v, unused, tau, free, f_ext)[0]


def hybrid_dynamics(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    tau: Sequence[Scalar],
    prescribed: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
) -> tuple[list[Scalar], list[Scalar]]:
    """Complete (qdd, tau), both (nv).

    Where `prescribed` is non-zero the acceleration is `a` and the torque is found; elsewhere the
    torque is `tau` and the acceleration is found. Any mix, also within one joint.
    """
    bodies = model.bodies

    # base to tip: velocities; each body by itself: A = I, B = -ad*_V I V - F_ext
    states = velocities(model, q, v)
    A = [ArticulatedInertia.of(inertia) for inertia in inertias]
    B = [scale6(-1.0, ad_dual(state.twist, inertia * state.twist)) for inertia, state in zip(inertias, states)]
    if f_ext is not None:
        B = [sub6(bias, external) for bias, external in zip(B, f_ext)]

    # tip to base: put in each joint's motion, eliminate what is complete
    waiting = _Waiting(model)
    G: list[dict[int, Vec6]] = [{} for _ in range(len(bodies) + 1)]  # last: the world
    steps: list[list[_Step]] = [[] for _ in range(len(bodies) + 1)]

    def eliminate(at: int, dof: int, null_axis: int | None = None) -> None:
        """Remove one coordinate from body `at` and remember how to find its value."""
        column = G[at].pop(dof)
        step = waiting.remove(dof, column, a[dof], tau[dof], prescribed[dof])
        steps[at].append(step)
        for other, weight in step.coupling.items():
            if other in G[at]:
                G[at][other] = sub6(G[at][other], scale6(weight * step.gain, column))
        if at != WORLD:
            A[at] = A[at].minus_outer(column, scale6(step.gain, column), null_axis)
            B[at] = add6(B[at], scale6(step.known, column))

    for i in reversed(range(len(bodies))):
        for dof in [dof for dof in G[i] if waiting.is_complete(dof, i)]:
            eliminate(i, dof)
        motion = states[i].motion
        for dof, column in reversed(list(zip(motion.dofs, motion.columns))):
            alone = not G[i]
            for other, arm in G[i].items():
                waiting.couple(other, dof, dot6(arm, column))
            force = A[i] * column
            G[i][dof] = add6(G[i].get(dof, ZERO6), force)
            waiting.add_joint(dof, dot6(force, column), dot6(B[i], column))
            if waiting.is_complete(dof, i):
                exact = alone and prescribed[dof] is False and waiting.rotors[dof] == 0.0
                eliminate(i, dof, coordinate_axis(column) if exact else None)
        parent = bodies[i].parent
        for dof, arm in G[i].items():
            waiting.add_bias(dof, dot6(arm, states[i].bias))
            carried = wrench_to_parent(motion.transform, arm)
            G[parent][dof] = add6(G[parent].get(dof, ZERO6), carried)
        if parent != WORLD:
            bias = add6(B[i], A[i] * states[i].bias)
            A[parent] = A[parent] + A[i].to_parent(motion.transform)
            B[parent] = add6(B[parent], wrench_to_parent(motion.transform, bias))
    for dof in list(G[WORLD]):
        eliminate(WORLD, dof)

    # base to tip: the coordinates in the reverse order of their elimination
    qdd: list[Scalar] = [0.0] * model.nv
    torque: list[Scalar] = [0.0] * model.nv

    def solve(step: _Step, acceleration: Vec6) -> None:
        needed = step.bias + dot6(step.column, acceleration)
        for other, weight in step.coupling.items():
            needed = needed + weight * qdd[other]
        dof = step.dof
        qdd[dof] = where(prescribed[dof], a[dof], (tau[dof] - needed) * step.inverse)
        torque[dof] = where(prescribed[dof], needed + step.inertia * a[dof], tau[dof])

    base = base_acceleration(model)
    for step in reversed(steps[WORLD]):
        solve(step, base)
    spatial: list[Vec6] = []
    for i, (body, state) in enumerate(zip(bodies, states)):
        parent_acceleration = base if body.parent == WORLD else spatial[body.parent]
        acceleration = add6(twist_to_child(state.motion.transform, parent_acceleration), state.bias)
        own = dict(zip(state.motion.dofs, state.motion.columns))
        done = {dof for dof in own if dof not in {step.dof for step in steps[i]}}
        acceleration = add6(acceleration, combine([own[dof] for dof in done], [qdd[dof] for dof in done]))
        for step in reversed(steps[i]):
            solve(step, acceleration)
            if step.dof in own:
                acceleration = add6(acceleration, scale6(qdd[step.dof], own[step.dof]))
        spatial.append(acceleration)
    return qdd, torque


class _Step(NamedTuple):
    """One eliminated coordinate: inertia x + column^T a + coupling . x_others + bias = tau."""

    dof: int
    column: Vec6  # G
    coupling: dict[int, Scalar]  # D with the coordinates that are eliminated later
    inertia: Scalar  # D
    inverse: Scalar  # 1 / D
    gain: Scalar  # 1 / D, or 0 where the acceleration is prescribed
    known: Scalar  # part of x that is known before the accelerations of the bodies
    bias: Scalar  # p


class _Waiting:
    """D, p and the count of joints still to come, for the coordinates not yet eliminated."""

    def __init__(self, model: Model) -> None:
        self.rotors = rotor_inertias(model)
        self._missing = Counter(
            joint.v_index + k for joint in (body.joint for body in model.bodies) for k in range(joint.kind.nv)
        )
        # the bodies that carry all joints of a coordinate, from the world outwards
        self._carriers: dict[int, list[int]] = {}
        for index, body in enumerate(model.bodies):
            path = support(model, index)
            for dof in range(body.joint.v_index, body.joint.v_index + body.joint.kind.nv):
                self._carriers[dof] = [at for at in self._carriers.get(dof, path) if at in path]
        self._inertia: dict[int, Scalar] = dict(enumerate(self.rotors))
        self._bias: dict[int, Scalar] = dict.fromkeys(range(model.nv), 0.0)
        self._coupling: dict[int, dict[int, Scalar]] = {dof: {} for dof in range(model.nv)}

    def is_complete(self, dof: int, at: int) -> bool:
        """All joints of the coordinate are in, and body `at` carries them all."""
        return self._missing[dof] == 0 and at in self._carriers[dof]

    def add_joint(self, dof: int, inertia: Scalar, bias: Scalar) -> None:
        self._missing[dof] -= 1
        self._inertia[dof] = self._inertia[dof] + inertia
        self.add_bias(dof, bias)

    def add_bias(self, dof: int, bias: Scalar) -> None:
        self._bias[dof] = self._bias[dof] + bias

    def couple(self, one: int, other: int, weight: Scalar) -> None:
        if one == other:  # a mimic below its leader: both halves of the square
            self._inertia[one] = self._inertia[one] + 2.0 * weight
            return
        for i, j in ((one, other), (other, one)):
            self._coupling[i][j] = self._coupling[i].get(j, 0.0) + weight

    def remove(self, dof: int, column: Vec6, a: Scalar, tau: Scalar, prescribed: Scalar) -> _Step:
        """Eliminate the coordinate from the others' D and p."""
        coupling = self._coupling.pop(dof)
        inertia, bias = self._inertia[dof], self._bias[dof]
        inverse = reciprocal(inertia)
        gain = where(prescribed, 0.0, inverse)
        known = where(prescribed, a, (tau - bias) * inverse)
        for other, weight in coupling.items():
            self.add_bias(other, weight * known)
            self._inertia[other] = self._inertia[other] - weight * weight * gain
            del self._coupling[other][dof]
        others = list(coupling)
        for k, one in enumerate(others):
            for other in others[k + 1 :]:
                self.couple(one, other, -1.0 * coupling[one] * coupling[other] * gain)
        return _Step(dof, column, coupling, inertia, inverse, gain, known, bias)


def coordinate_axis(column: Vec6) -> int | None:
    """k if the column is plus or minus the k-th unit vector."""
    nonzero = [k for k, x in enumerate(column) if not (isinstance(x, float) and x == 0.0)]
    if len(nonzero) == 1 and isinstance(column[nonzero[0]], float):
        return nonzero[0]
    return None
