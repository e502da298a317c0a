# SPDX-License-Identifier: Apache-2.0
"""The names of kernels' arguments, each with its shape: one table for all kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.runge_kutta_stage import MEMORY
from rbd_dynamics.compiler.program import Argument
from rbd_dynamics.model.model import Model

Shape = Sequence[int | str]


class _Named(NamedTuple):
    """shape: of numbers and of names of sizes (`sizes_of`); the flags as in `Argument`."""

    shape: Shape
    shared: bool = False
    boolean: bool = False


def _each(names: str, *shape: int | str, **flags: bool) -> dict[str, _Named]:
    return {name: _Named(shape, **flags) for name in names.split()}


_TABLE: dict[str, _Named] = {
    # state, input, motion
    **_each("q q_after posture", "nq"),
    **_each("lowest highest", "nq", shared=True),
    **_each("v a tau x product reached_velocity v_after a_after", "nv"),
    **_each("prescribed actuated", "nv", boolean=True),
    # directions in which these move
    **_each("along_q along_v along_a along_tau", "nv"),
    **_each("along_target", "rows"),
    # what belongs to the bodies: ten inertial parameters, a wrench; of what is fixed to the world
    **_each("inertia", "bodies", 10, shared=True),
    **_each("fixed_inertia", 10, shared=True),
    **_each("f_ext along_f_ext reactions", "bodies", 6),
    # scalars and points
    **_each("energy rank change turn distance worst cost apart pull"),
    **_each("step", shared=True),
    **_each("lower upper", "nv", shared=True),
    **_each("side side_after", "nv"),
    **_each("stages stages_after", MEMORY, "nv"),
    **_each("count count_after", 2),
    **_each("point", 3),
    **_each("wrench momentum twist twist_rate", 6),
    # matrices
    **_each("M dq dv da dtau", "nv", "nv"),
    **_each("a_dq a_dv a_dtau a_dinput tau_dq tau_dv tau_dinput", "nv", "nv"),
    **_each("pose wanted", 4, 4),
    **_each("J twist_dq rate_dq rate_dv momentum_dq", 6, "nv"),
    **_each("point_J velocity_dq acceleration_dq acceleration_dv", 3, "nv"),
    **_each("reactions_dq reactions_dv reactions_da", "bodies", 6, "nv"),
    **_each("inverse_effective_inertia", 6, 6),
    **_each("regressor", "nv", "inertial parameters"),
    **_each("energy_regressor", "inertial parameters"),
    # constraints
    **_each("parameters", "parameters", shared=True),
    **_each("target multipliers residual h Adot_v", "rows"),
    **_each("row_velocity row_acceleration", "rows"),
    **_each("delassus", "rows", "rows"),
    **_each("response", "rows", "nv"),
    **_each("lacking needed", "nv"),
    **_each("A multipliers_dq multipliers_dv multipliers_dtau", "rows", "nv"),
}

_PER_BODY = {"inertia": 10, "f_ext": 6, "along_f_ext": 6, "reactions": 6, "regressor": 10, "energy_regressor": 10}


def per_body(name: str, sizes: Mapping[str, int]) -> int:
    """How many numbers a vector holds for each body, one body after the other; 0: it is not of the bodies."""
    return 6 * sizes["nv"] if name.startswith("reactions_d") else _PER_BODY.get(name, 0)


def sizes_of(model: Model, rows: int = 0, parameters: int = 0) -> dict[str, int]:
    """What the names in shapes stand for; `rows` and `parameters` are a constraint set's."""
    bodies = len(model.bodies)
    own = {"nq": model.nq, "nv": model.nv, "bodies": bodies, "inertial parameters": 10 * bodies}
    return {**own, "rows": rows, "parameters": parameters}


def arguments(names: str, sizes: Mapping[str, int], own: Mapping[str, Argument] | None = None) -> tuple[Argument, ...]:
    """The arguments of these names, which stand in the table or are a kernel's `own`. Raises KeyError for others."""
    found = []
    for name in names.split():
        if own and name in own:
            found.append(own[name])
        elif name in _TABLE:
            shape, shared, boolean = _TABLE[name]
            extents = tuple(extent if isinstance(extent, int) else sizes[extent] for extent in shape)
            found.append(Argument(name, extents, shared, boolean))
        else:
            raise KeyError(f"no argument named {name!r}; known: {', '.join(_TABLE)}")
    return tuple(found)
