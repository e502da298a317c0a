# SPDX-License-Identifier: Apache-2.0
"""Dynamics under constraints as kernels, for one robot and one set of constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rbd_dynamics.algorithms import constrained_dynamics as dynamics
from rbd_dynamics.algorithms.constrained_derivatives import constrained_forward_dynamics_derivatives
from rbd_dynamics.algorithms.contact_response import contact_response
from rbd_dynamics.kernels.directional import directional
from rbd_dynamics.kernels.entry import Algorithm, Entry
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.spatial.row_sweeps import flat
from rbd_dynamics.spatial.scalar import Scalar, dot

Vector = Sequence[Scalar]


def _rows(x: Inputs) -> Any:
    rows = x.rows()
    return [rows.position, flat(rows.matrix), rows.bias]


def _forward(x: Inputs) -> Any:
    nothing = [False] * x.model.nv
    found = _hybrid_of(x, x.still, x.tau, nothing)
    return [found.a, found.multipliers, [found.rank], found.residual]


def _hybrid(x: Inputs) -> Any:
    found = _hybrid_of(x, x.a, x.tau, x.prescribed)
    return [found.a, found.tau, found.multipliers, [found.rank], found.residual]


def _hybrid_of(x: Inputs, a: Vector, tau: Vector, prescribed: Vector) -> dynamics.Constrained:
    rows = x.rows()
    rhs = x.acceleration_of(rows)
    return dynamics.constrained_hybrid_dynamics(x.mass_matrix(), x.bias(), rows, rhs, a, tau, prescribed, x.massless)


def _inverse(least_torque: bool) -> Algorithm:
    def function(x: Inputs) -> Any:
        rows = x.rows()
        needed = x.inverse_dynamics(x.v, x.a)
        found = dynamics.constrained_inverse_dynamics(needed, rows, x.tau, x.actuated, least_torque)
        missed = [dot(row, x.a) - wanted for row, wanted in zip(rows.matrix, x.acceleration_of(rows))]
        return [found.tau, found.multipliers, [found.rank], found.residual, missed, needed]

    return function


def _forward_derivatives(x: Inputs) -> Any:
    inputs = (x.q, x.v, x.tau, x.target)
    found = constrained_forward_dynamics_derivatives(
        x.model, x.inertias, *inputs, x.rows_at, x.stabilization, x.wrenches, x.friction, x.massless
    )
    return map(flat, found)


def _contacts(x: Inputs) -> Any:
    """What forces along the rows do: Delassus' matrix, and accelerations without them."""
    rows = x.rows()
    found = contact_response(x.mass_matrix(), x.bias(), rows, x.v, x.tau)
    return [
        flat(found.delassus), flat(found.response), found.a, found.row_acceleration, found.row_velocity, rows.position
    ]  # fmt: skip


def _projection(x: Inputs) -> Any:
    projection, rank = dynamics.force_projection(x.mass_matrix(), x.rows(), x.massless)
    return [flat(projection), [rank]]


def _impulse(x: Inputs) -> Any:
    v, impulses, rank = dynamics.constraint_impulse(x.mass_matrix(), x.rows(), x.v, x.target, x.massless)
    return [v, impulses, [rank]]


def _correction(x: Inputs) -> Any:
    """The smallest step, in kinetic energy's metric, that makes h zero to first order; and h."""
    rows = x.rows()
    wanted = [-h for h in rows.position]
    step, _, _ = dynamics.constraint_impulse(x.mass_matrix(), rows, x.still, wanted, x.massless)
    return [step, rows.position]


def _entry(inputs: str, outputs: str, function: Algorithm, wrenches: bool = False) -> Entry:
    return Entry(inputs, outputs, function, "constraints", wrenches)


_INVERSE = ("q v a tau actuated parameters target inertia", "tau multipliers rank lacking residual needed")

CONSTRAINED: dict[str, Entry] = {
    "constraint_rows": _entry("q v parameters", "h A Adot_v", _rows),
    "constrained_forward_dynamics": _entry(
        "q v tau parameters target inertia", "a multipliers rank residual", _forward, wrenches=True
    ),
    "constrained_hybrid_dynamics": _entry(
        "q v a tau prescribed parameters target inertia", "a tau multipliers rank residual", _hybrid, wrenches=True
    ),
    "constrained_inverse_dynamics_torque": _entry(*_INVERSE, _inverse(least_torque=True), wrenches=True),
    "constrained_inverse_dynamics_constraint_force": _entry(*_INVERSE, _inverse(least_torque=False), wrenches=True),
    "constrained_forward_dynamics_derivatives": _entry(
        "q v tau parameters target inertia",
        "a_dq a_dv a_dtau multipliers_dq multipliers_dv multipliers_dtau",
        _forward_derivatives,
        wrenches=True,
    ),
    "force_projection": _entry("q parameters inertia", "M rank", _projection),
    "constraint_impulse": _entry("q v parameters target inertia", "v multipliers rank", _impulse),
    "contact_dynamics": _entry(
        "q v tau parameters inertia", "delassus response a row_acceleration row_velocity h", _contacts, wrenches=True
    ),
    "constraint_correction": _entry("q parameters inertia", "v h", _correction),
}

#: of these there are directional derivatives, too
CONSTRAINED |= {
    f"{name}_along": directional(CONSTRAINED[name], outputs, fixed)
    for name, outputs, fixed in (
        ("constrained_inverse_dynamics_torque", "tau multipliers", "target"),
        ("constrained_inverse_dynamics_constraint_force", "tau multipliers", "target"),
        ("constrained_hybrid_dynamics", "a tau multipliers", "target"),
        ("constraint_impulse", "v multipliers", ""),
        ("constraint_rows", "h A", ""),
    )
}
