# SPDX-License-Identifier: Apache-2.0
"""The coordinates of hybrid dynamics: which wait, which are eliminated, and how their values come back.

Gauss' principle, one coordinate at a time. For a body and all that it carries, the function

    Z = a^T Ihat a / 2 + a^T Bhat + sum_g x_g G_g^T a + sum_gh D_gh x_g x_h / 2 + sum_g (p_g - tau_g) x_g

of the body's acceleration a has its minimum at the true accelerations x of the joints inside. A joint's
motion a = a' + S x is put in, and a coordinate is eliminated as soon as all joints that it moves are
inside. For a joint with its own coordinate G = Ihat S, D = S^T Ihat S, and the elimination is the
articulated-body step of theory.md section 2: Psi = D^-1. A coordinate that moves several joints (a
mimic's leader) waits, with its G and D, until all of them are in. A prescribed coordinate is put in
by its value instead of being eliminated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.kinematics import JointMotion, combine, support
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import ArticulatedInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal, where
from rbd_dynamics.spatial.se3 import ZERO6, Transform, Vec6, add6, dot6, scale6, sub6, wrench_to_parent

Vector = Sequence[Scalar]


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


class CoordinateElimination:
    """All coordinates of a model; a, tau, prescribed (nv) as in `hybrid_dynamics`. Finds `qdd` and `tau` (nv)."""

    def __init__(self, model: Model, a: Vector, tau: Vector, prescribed: Vector) -> None:
        self._a, self._given, self._prescribed = a, tau, prescribed
        self.qdd: list[Scalar] = [0.0] * model.nv
        self.tau: list[Scalar] = [0.0] * model.nv
        self._rotors = rotor_inertias(model)
        self._missing = Counter(
            joint.v_index + k for joint in (body.joint for body in model.bodies) for k in range(joint.kind.nv)
        )
        # the bodies that carry all joints of a coordinate, from the world outwards
        self._carriers: dict[int, list[int]] = {}
        for index, body in enumerate(model.bodies):
            path = support(model, index)
            for dof in range(body.joint.v_index, body.joint.v_index + body.joint.kind.nv):
                self._carriers[dof] = [at for at in self._carriers.get(dof, path) if at in path]
        places = len(model.bodies) + 1  # last: the world
        self._columns: list[dict[int, Vec6]] = [{} for _ in range(places)]  # G of what waits at each body
        self._steps: list[list[_Step]] = [[] for _ in range(places)]
        self._inertia: dict[int, Scalar] = dict(enumerate(self._rotors))  # D
        self._bias: dict[int, Scalar] = dict.fromkeys(range(model.nv), 0.0)  # p
        self._coupling: dict[int, dict[int, Scalar]] = {dof: {} for dof in range(model.nv)}

    # --- tip to base ------------------------------------------------------------------------------

    def eliminate(self, i: int, Ihat: ArticulatedInertia, Bhat: Vec6) -> tuple[ArticulatedInertia, Vec6]:
        """What waited until body i and is complete there."""
        for dof in [dof for dof in self._columns[i] if self._is_complete(dof, i)]:
            Ihat, Bhat = self._eliminated(i, dof, Ihat, Bhat)
        return Ihat, Bhat

    def put_in(
        self, i: int, dof: int, S: Vec6, Ihat: ArticulatedInertia, Bhat: Vec6
    ) -> tuple[ArticulatedInertia, Vec6]:
        """One column of body i's joint: G = Ihat S, D = S^T Ihat S; eliminated if that was its last."""
        waiting = self._columns[i]
        alone = not waiting
        for other, arm in waiting.items():
            self._couple(other, dof, dot6(arm, S))
        force = Ihat * S
        waiting[dof] = add6(waiting.get(dof, ZERO6), force)
        self._missing[dof] -= 1
        self._inertia[dof] = self._inertia[dof] + dot6(force, S)
        self._bias[dof] = self._bias[dof] + dot6(Bhat, S)
        if not self._is_complete(dof, i):
            return Ihat, Bhat
        exact = alone and self._prescribed[dof] is False and self._rotors[dof] == 0.0
        return self._eliminated(i, dof, Ihat, Bhat, coordinate_axis(S) if exact else None)

    def carry(self, i: int, parent: int, transform: Transform, eta: Vec6) -> None:
        """What still waits at body i goes on to its parent."""
        for dof, arm in self._columns[i].items():
            self._bias[dof] = self._bias[dof] + dot6(arm, eta)
            carried = wrench_to_parent(transform, arm)
            self._columns[parent][dof] = add6(self._columns[parent].get(dof, ZERO6), carried)

    def eliminate_at_world(self) -> None:
        """What no single body carries."""
        for dof in list(self._columns[WORLD]):
            self._remove(WORLD, dof)

    # --- base to tip ------------------------------------------------------------------------------

    def solve_at_world(self, base: Vec6) -> None:
        """Values of what was eliminated there, with the base's acceleration."""
        for step in reversed(self._steps[WORLD]):
            self._solve(step, base)

    def solve(self, i: int, motion: JointMotion, acceleration: Vec6) -> Vec6:
        """Vdot of body i out of what it has from its parent and eta: values in reverse order of elimination."""
        own = dict(zip(motion.dofs, motion.columns))
        later = {step.dof for step in self._steps[i]}
        done = [dof for dof in own if dof not in later]
        acceleration = add6(acceleration, combine([own[dof] for dof in done], [self.qdd[dof] for dof in done]))
        for step in reversed(self._steps[i]):
            self._solve(step, acceleration)
            if step.dof in own:
                acceleration = add6(acceleration, scale6(self.qdd[step.dof], own[step.dof]))
        return acceleration

    def _solve(self, step: _Step, acceleration: Vec6) -> None:
        needed = step.bias + dot6(step.column, acceleration)
        for other, weight in step.coupling.items():
            needed = needed + weight * self.qdd[other]
        k = step.dof
        self.qdd[k] = where(self._prescribed[k], self._a[k], (self._given[k] - needed) * step.inverse)
        self.tau[k] = needed + step.inertia * self._a[k]

    # --- one coordinate ---------------------------------------------------------------------------

    def _is_complete(self, dof: int, at: int) -> bool:
        """All joints of the coordinate are in, and body `at` carries them all."""
        return self._missing[dof] == 0 and at in self._carriers[dof]

    def _eliminated(
        self, at: int, dof: int, Ihat: ArticulatedInertia, Bhat: Vec6, null_axis: int | None = None
    ) -> tuple[ArticulatedInertia, Vec6]:
        """Ihat - G Psi G^T and Bhat + G x. null_axis: the axis that is exactly in the result's null space."""
        step = self._remove(at, dof)
        left = Ihat.minus_outer(step.column, scale6(step.gain, step.column), null_axis)
        return left, add6(Bhat, scale6(step.known, step.column))

    def _remove(self, at: int, dof: int) -> _Step:
        """Take one coordinate out of the others' G, D and p, and remember how to find its value."""
        column, coupling = self._columns[at].pop(dof), self._coupling.pop(dof)
        inertia, bias = self._inertia[dof], self._bias[dof]
        inverse = reciprocal(inertia)
        gain = where(self._prescribed[dof], 0.0, inverse)
        known = where(self._prescribed[dof], self._a[dof], (self._given[dof] - bias) * inverse)
        for other, weight in coupling.items():
            self._bias[other] = self._bias[other] + weight * known
            self._inertia[other] = self._inertia[other] - weight * weight * gain
            del self._coupling[other][dof]
            if other in self._columns[at]:
                self._columns[at][other] = sub6(self._columns[at][other], scale6(weight * gain, column))
        others = list(coupling)
        for k, one in enumerate(others):
            for other in others[k + 1 :]:
                self._couple(one, other, -1.0 * coupling[one] * coupling[other] * gain)
        step = _Step(dof, column, coupling, inertia, inverse, gain, known, bias)
        self._steps[at].append(step)
        return step

    def _couple(self, one: int, other: int, weight: Scalar) -> None:
        if one == other:  # a mimic below its leader: both halves of the square
            self._inertia[one] = self._inertia[one] + 2.0 * weight
            return
        for i, j in ((one, other), (other, one)):
            self._coupling[i][j] = self._coupling[i].get(j, 0.0) + weight


def coordinate_axis(column: Vec6) -> int | None:
    """k if the column is plus or minus the k-th unit vector."""
    nonzero = [k for k, x in enumerate(column) if not (isinstance(x, float) and x == 0.0)]
    if len(nonzero) == 1 and isinstance(column[nonzero[0]], float):
        return nonzero[0]
    return None
