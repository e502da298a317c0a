# SPDX-License-Identifier: Apache-2.0
"""Constraints on the joint coordinates: couplings, and rows of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from rbd_dynamics.algorithms.constrained_dynamics import Rows
from rbd_dynamics.algorithms.relative_motion import Kinematics, moving_configuration
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.frozen_dict import FrozenDict
from rbd_dynamics.constraints.base import Constraint
from rbd_dynamics.constraints.forms import number
from rbd_dynamics.spatial.jets import rate_of, second_rate_of
from rbd_dynamics.spatial.scalar import Scalar


@dataclass(frozen=True)
class JointCoupling(Constraint):
    """sum of coefficient * joint position = offset: gears, belts, a joint held in place; cams.

    Parameters:
        coefficients: {joint: coefficient}; joints with one degree of freedom that are no mimics. A sequence
            c_1, c_2, ... in place of a coefficient: the polynomial c_1 q + c_2 q^2 + ...
        offset: m or rad.

    The multiplier times a coefficient (a polynomial's derivative) is the torque on that joint. The coefficients are
    copied, and cannot be changed.
    """

    kind: ClassVar[str] = "coupling"
    coefficients: dict[str, float | tuple[float, ...]] = field(default_factory=dict)
    offset: float = 0.0

    def __post_init__(self) -> None:
        where = f"constraint {excerpt(self.name)}"
        given: Any = self.coefficients
        if not given and isinstance(given, Mapping):
            raise ValueError(f"{where}: `coefficients` names no joint")
        if not isinstance(given, Mapping):
            raise ValueError(f"{where}: coefficients: expected joints with numbers, got {excerpt(given)}")
        checked = {
            str(joint): _coefficient(c, f"{where}: coefficients of {excerpt(joint)}") for joint, c in given.items()
        }
        object.__setattr__(self, "coefficients", FrozenDict(checked))
        number(self.offset, f"{where}: offset")

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.coefficients.items()), self.offset))

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("coupling",)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (*(number for polynomial in self._polynomials for number in polynomial), self.offset)

    @property
    def _polynomials(self) -> list[tuple[float, ...]]:
        """Coefficients of q, q^2, ... of each joint."""
        return [c if isinstance(c, tuple) else (c,) for c in self.coefficients.values()]

    def renamed(self, rename: Callable[[str], str]) -> JointCoupling:
        return replace(self, coefficients={rename(joint): c for joint, c in self.coefficients.items()})

    def rows(self, kinematics: Kinematics, parameters: Iterator[Scalar]) -> Rows:
        position: Scalar = 0.0
        bias: Scalar = 0.0
        row: list[Scalar] = [0.0] * kinematics.model.nv
        for name, polynomial in zip(self.coefficients, self._polynomials):
            joint = kinematics.model.joint(name)
            if not joint.kind.is_coordinate:
                raise ValueError(
                    f"constraint {excerpt(self.name)}: joint {name!r} is {joint.kind.name}, "
                    "it has more than one degree of freedom, or a velocity that is not the rate of its position"
                )
            q, v = kinematics.q[joint.q_index], kinematics.v[joint.v_index]
            value, slope, curvature = _polynomial([next(parameters) for _ in polynomial], q)
            position = position + value
            row[joint.v_index] = slope
            bias = bias + curvature * v * v
        return Rows([position - next(parameters)], [row], [bias])


@dataclass(frozen=True)
class HolonomicRows(Constraint):
    """h(q) = 0 for a function of one's own.

    Parameters:
        function: of q, a sequence of nq generic scalars, to a sequence of scalars, the rows. It may
            use arithmetic and what `rbd_dynamics.spatial.scalar` has; derivatives follow from it.
        labels: the rows' names; their number is the number of rows.
    """

    function: Callable[[Sequence[Scalar]], Sequence[Scalar]]
    _: KW_ONLY
    labels: tuple[str, ...] = ("h",)

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(self.labels)

    def rows(self, kinematics: Kinematics, parameters: Iterator[Scalar]) -> Rows:
        nv = kinematics.model.nv

        def along(v: Sequence[Scalar], derivative: Callable[..., Scalar]) -> list[Scalar]:
            moving = moving_configuration(kinematics.model, kinematics.q, v)
            return [derivative(value, moving[0].level) for value in self.function(moving)]

        columns = [along([float(i == k) for i in range(nv)], rate_of) for k in range(nv)]
        matrix = [list(row) for row in zip(*columns)]
        return Rows(list(self.function(kinematics.q)), matrix, along(kinematics.v, second_rate_of))


@dataclass(frozen=True)
class PfaffianRows(Constraint):
    """A(q) v = 0 for a matrix of one's own: what has no h, as wheels and blades.

    Parameters:
        function: of q, a sequence of nq generic scalars, to rows of nv scalars each.
        labels: the rows' names; their number is the number of rows.
    """

    function: Callable[[Sequence[Scalar]], Sequence[Sequence[Scalar]]]
    _: KW_ONLY
    labels: tuple[str, ...] = ("row",)

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(self.labels)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return (False,) * len(self.labels)

    def rows(self, kinematics: Kinematics, parameters: Iterator[Scalar]) -> Rows:
        moving = moving_configuration(kinematics.model, kinematics.q, kinematics.v)
        rates = [[rate_of(x, moving[0].level) for x in row] for row in self.function(moving)]
        for row in rates:
            if len(row) != kinematics.model.nv:
                raise ValueError(
                    f"constraint {excerpt(self.name)}: its function returns a row of {len(row)} numbers, "
                    f"the robot has {kinematics.model.nv} degrees of freedom"
                )
        bias = [sum((x * v for x, v in zip(row, kinematics.v)), 0.0) for row in rates]
        return Rows([0.0] * len(rates), [list(row) for row in self.function(kinematics.q)], bias)


def _coefficient(value: Any, where: str) -> float | tuple[float, ...]:
    """A number, or those of a polynomial."""
    if isinstance(value, (list, tuple, np.ndarray)) and len(value):
        return tuple(number(each, where) for each in value)
    return number(value, where)


def _polynomial(coefficients: Sequence[Scalar], q: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Value of c_1 q + c_2 q^2 + ... and its first two derivatives, by Horner's rule."""
    value: Scalar = 0.0
    slope: Scalar = 0.0
    half: Scalar = 0.0  # of the second derivative
    for coefficient in (*reversed(coefficients), 0.0):
        half = half * q + slope
        slope = slope * q + value
        value = value * q + coefficient
    return value, slope, 2.0 * half
