# SPDX-License-Identifier: Apache-2.0
"""Constrained dynamics as the compiler sees it: named functions of vectors, for one set of constraints.

To make another algorithm a kernel, add a function and a line to `CATALOG` here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rbd_dynamics.algorithms import constrained_dynamics as dynamics
from rbd_dynamics.algorithms.catalog import Inputs
from rbd_dynamics.algorithms.expansion import expanded
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.joint_friction import joint_friction
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.constraints.base import Rows
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.constraints.derivatives import forward_dynamics_derivatives
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.scalar import Scalar, dot

Vector = Sequence[Scalar]


class State(Inputs):
    """The inputs of one call, and what the constrained algorithms need of them."""

    def __init__(self, model: Model, constraints: ConstraintSet, friction: bool, vectors: dict[str, Vector]) -> None:
        super().__init__(model, vectors)
        self.model, self.constraints, self.friction = model, constraints, friction

    def rows(self) -> Rows:
        """h, A, Adot v."""
        v = self._vectors.get("v", [0.0] * self.model.nv)
        return self.constraints.rows(self.q, v, self._vectors["parameters"][2:])

    def acceleration_of(self, rows: Rows) -> list[Scalar]:
        """What A a has to be: target - Adot v, stabilised."""
        by_velocity, by_position = self._vectors["parameters"][:2]
        velocity = [dot(row, self.v) for row in rows.matrix]
        return [
            wanted - bias - by_velocity * rate - by_position * h
            for wanted, bias, rate, h in zip(self.target, rows.bias, velocity, rows.position)
        ]

    def mass_matrix(self) -> list[list[Scalar]]:
        return mass_matrix(self.model, self.inertias, self.q)

    def bias(self) -> list[Scalar]:
        """C v + N and friction, less what external wrenches do."""
        still = [0.0] * self.model.nv
        return self.plus_friction(inverse_dynamics(self.model, self.inertias, self.q, self.v, still, self.wrenches))

    def plus_friction(self, tau: Vector) -> list[Scalar]:
        friction = joint_friction(self.model, self.v) if self.friction else [0.0] * self.model.nv
        return [x + y for x, y in zip(tau, friction)]


def _terms(x: State) -> Any:
    rows = x.rows()
    return [rows.position, _flat(rows.matrix), rows.bias]


def _forward(x: State) -> Any:
    nothing = [False] * x.model.nv
    found = _hybrid_of(x, [0.0] * x.model.nv, x.tau, nothing)
    return [found.a, found.multipliers, [found.rank], found.residual]


def _hybrid(x: State) -> Any:
    found = _hybrid_of(x, x.a, x.tau, x.prescribed)
    return [found.a, found.tau, found.multipliers, [found.rank], found.residual]


def _hybrid_of(x: State, a: Vector, tau: Vector, prescribed: Vector) -> dynamics.Constrained:
    rows = x.rows()
    rhs = x.acceleration_of(rows)
    return dynamics.constrained_hybrid_dynamics(x.mass_matrix(), x.bias(), rows.matrix, rhs, a, tau, prescribed)


def _inverse(least_torque: bool) -> Callable[[State], Any]:
    def function(x: State) -> Any:
        rows = x.rows()
        needed = x.plus_friction(inverse_dynamics(x.model, x.inertias, x.q, x.v, x.a, x.wrenches))
        found = dynamics.constrained_inverse_dynamics(needed, rows.matrix, x.tau, x.actuated, least_torque)
        missed = [dot(row, x.a) - wanted for row, wanted in zip(rows.matrix, x.acceleration_of(rows))]
        return [found.tau, found.multipliers, [found.rank], found.residual, missed]

    return function


def _projection(x: State) -> Any:
    projection, rank = dynamics.force_projection(x.mass_matrix(), x.rows().matrix)
    return [_flat(projection), [rank]]


def _impulse(x: State) -> Any:
    v, impulses, rank = dynamics.constraint_impulse(x.mass_matrix(), x.rows().matrix, x.v, x.target)
    return [v, impulses, [rank]]


def _correction(x: State) -> Any:
    """The smallest step, in kinetic energy's metric, that makes h zero to first order; and h."""
    rows = x.rows()
    step, _, _ = dynamics.constraint_impulse(
        x.mass_matrix(), rows.matrix, [0.0] * x.model.nv, [-h for h in rows.position]
    )
    return [step, rows.position]


#: name -> (inputs, outputs, function)
CATALOG: dict[str, tuple[str, str, Callable[[State], Any]]] = {
    "constraint_terms": ("q v parameters", "h A rates", _terms),
    "constrained_forward_dynamics": ("q v tau parameters target inertia", "a multipliers rank residual", _forward),
    "constrained_hybrid_dynamics": (
        "q v a tau prescribed parameters target inertia",
        "a tau multipliers rank residual",
        _hybrid,
    ),
    "constrained_inverse_dynamics_torque": (
        "q v a tau actuated parameters target inertia",
        "tau multipliers rank lacking residual",
        _inverse(least_torque=True),
    ),
    "constrained_inverse_dynamics_constraint_force": (
        "q v a tau actuated parameters target inertia",
        "tau multipliers rank lacking residual",
        _inverse(least_torque=False),
    ),
    "constrained_forward_dynamics_derivatives": (
        "q v tau parameters target inertia",
        "a_dq a_dv a_dtau multipliers_dq multipliers_dv multipliers_dtau",
        forward_dynamics_derivatives,
    ),
    "force_projection": ("q parameters inertia", "M rank", _projection),
    "constraint_impulse": ("q v parameters target inertia", "v multipliers rank", _impulse),
    "constraint_correction": ("q parameters inertia", "v h", _correction),
}


def specialise(model: Model, constraints: ConstraintSet, name: str, friction: bool) -> tuple[Signature, Function]:
    """Signature and function of an algorithm for one model and set; "_f_ext" at the end adds external wrenches.

    Raises KeyError for an unknown name.
    """
    base = name.removesuffix("_f_ext")
    if base not in CATALOG:
        raise KeyError(f"no constrained algorithm named {name!r}; known: {', '.join(CATALOG)}")
    inputs, outputs, algorithm = CATALOG[base]
    words = inputs.split()
    if base != name:
        words.insert(words.index("inertia"), "f_ext")
    shapes = {
        "q": (model.nq,), "parameters": (len(constraints.parameters),), "inertia": (len(model.bodies), 10),
        "f_ext": (len(model.bodies), 6), "A": (len(constraints), model.nv), "M": (model.nv, model.nv), "rank": (),
    }  # fmt: skip
    for by in ("dq", "dv", "dtau"):
        shapes[f"a_{by}"], shapes[f"multipliers_{by}"] = (model.nv, model.nv), (len(constraints), model.nv)
    rows = ("target", "h", "rates", "multipliers", "residual")

    def argument(word: str) -> Argument:
        shape = shapes.get(word, (len(constraints),) if word in rows else (model.nv,))
        shared, boolean = word in ("parameters", "inertia"), word in ("prescribed", "actuated")
        return Argument(word, shape, shared=shared, boolean=boolean)

    tree = expanded(model)
    per_body = {"inertia": 10, "f_ext": 6}

    def function(*vectors: Vector) -> list[Vector]:
        spread = [tree.spread(x, per_body[word]) if word in per_body else x for word, x in zip(words, vectors)]
        state = State(tree.model, constraints, friction, dict(zip(words, spread)))
        return [*algorithm(state), state.checks]

    return Signature(tuple(map(argument, words)), tuple(map(argument, outputs.split()))), function


def _flat(matrix: Sequence[Vector]) -> list[Scalar]:
    return [entry for row in matrix for entry in row]
