# SPDX-License-Identifier: Apache-2.0
"""Constraints of one robot that hold together."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.constrained_dynamics import Rows
from rbd_dynamics.algorithms.expansion import expanded
from rbd_dynamics.algorithms.relative_motion import Kinematics, moving_configuration
from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.real_numbers import real_number
from rbd_dynamics.compiler.trace import Graph
from rbd_dynamics.constraints.base import Constraint, PairConstraint
from rbd_dynamics.constraints.forms import number
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.jets import rate_of
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Transform, Vec6

Array = NDArray[np.float64]


class ConstraintSet:
    """Constraints of a model, in order. Immutable: threads may share it.

    Where rows contradict each other, earlier ones win.

    Parameters:
        model: the robot's.
        constraints: of any kinds, with different names.
        stabilization: rate alpha in 1/s of Baumgarte's method: rows obey hddot + 2 alpha hdot + alpha^2 h = 0
            (rows without h: hdot decays with 2 alpha). 0 for none.

    Raises KeyError for a frame or joint that the model does not have, ValueError for what else is wrong.
    """

    def __init__(self, model: Model, constraints: Iterable[Constraint], *, stabilization: float = 0.0) -> None:
        self.model = model
        if not isinstance(model, Model):
            raise TypeError(f"model must be a Model, not {type(model).__name__}")
        try:
            self.constraints = tuple(constraints)
        except TypeError:
            kind = type(constraints).__name__
            raise TypeError(f"constraints: expected a list of constraints, not {kind}") from None
        for constraint in self.constraints:
            if not isinstance(constraint, Constraint):
                raise TypeError(f"constraints: {excerpt(constraint)} is not a Constraint")
        if not self.constraints:
            raise ValueError("a constraint set needs at least one constraint")
        repeated = [name for name, count in Counter(c.name for c in self.constraints).items() if count > 1]
        if repeated:
            raise ValueError(f"constraint name {excerpt(repeated[0])} occurs twice")
        try:
            rate = real_number(stabilization)
        except ValueError as error:
            raise ValueError(f"stabilization {excerpt(stabilization)} {error}") from None
        if not (rate >= 0.0 and math.isfinite(rate * rate)):
            raise ValueError(f"stabilization {rate} must be zero or positive, and its square finite")
        self.stabilization = rate
        #: (row,) "constraint.row" of each row
        self.row_names = tuple(f"{c.name}.{row}" for c in self.constraints for row in c.row_names)
        #: (row,) whether it is the rate of an h(q)
        self.holonomic = np.array([flag for c in self.constraints for flag in c.holonomic], dtype=bool)
        gains = (2.0 * self.stabilization, rate * rate)
        #: what kernels read at run time: the two gains, then the constraints' numbers
        self.parameters = np.array([*gains, *(x for c in self.constraints for x in _numbers(c))], dtype=float)
        self.zeros = np.zeros(len(self))
        for shared in (self.holonomic, self.parameters, self.zeros):
            shared.setflags(write=False)
        self._tree = expanded(model).model
        #: equal for sets that need the same kernels: what their rows are traced to
        self.key = self._fingerprint()
        if len(self.holonomic) != len(self):
            wrong = next(c for c in self.constraints if len(c.holonomic) != len(c.row_names))
            raise ValueError(
                f"constraint {wrong.name!r}: {len(wrong.row_names)} rows have {len(wrong.holonomic)} `holonomic`"
            )

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.row_names)

    def __getitem__(self, name: str) -> Constraint:
        """The constraint of that name. Raises KeyError."""
        for constraint in self.constraints:
            if constraint.name == name:
                return constraint
        raise KeyError(f"no constraint named {name!r}; there are: {', '.join(c.name for c in self.constraints)}")

    def slice_of(self, name: str) -> slice:
        """The rows of one constraint, as a slice of all rows."""
        self[name]
        start = 0
        for constraint in self.constraints:
            stop = start + len(constraint.row_names)
            if constraint.name == name:
                break
            start = stop
        return slice(start, stop)

    def changed(self, name: str, **fields: Any) -> ConstraintSet:
        """A set with other fields of one constraint: another placement or radius needs no other kernel."""
        self[name]
        changed = [replace(c, **fields) if c.name == name else c for c in self.constraints]
        return ConstraintSet(self.model, changed, stabilization=self.stabilization)

    def placed(self, reference: Transform) -> ConstraintSet:
        """A set with this reference placement of every pair of frames; as quick as `renumbered`, and raises as it."""
        return self.renumbered(
            lambda c: replace(c, reference_placement=reference) if isinstance(c, PairConstraint) else c
        )

    def renumbered(self, change: Callable[[Constraint], Constraint]) -> ConstraintSet:
        """A set of constraints with other numbers, placements or radii. It is quick: nothing is traced anew.

        change: returns a constraint of the same kind, name, frames and directions.

        Raises ValueError where a pair had no placement before, which needs other kernels, or for what is no placement.
        """
        moved = tuple(change(c) for c in self.constraints)
        other = copy(self)
        other.constraints = moved
        other.parameters = np.array([*self.parameters[:2], *(x for c in moved for x in _numbers(c))], dtype=float)
        other.parameters.setflags(write=False)
        if other.parameters.shape != self.parameters.shape:
            raise ValueError("a pair without a placement cannot be given one: that needs other kernels")
        return other

    def rows(self, q: Sequence[Scalar], v: Sequence[Scalar], parameters: Sequence[Scalar]) -> Rows:
        """h, A and Adot v over generic scalars; `parameters` without the two gains."""
        kinematics = Kinematics(self._tree, q, v)
        numbers = iter(parameters)
        total = Rows([], [], [], 0.0)
        for constraint in self.constraints:
            own = [next(numbers) for _ in constraint.parameters]
            try:
                rows = constraint.rows(kinematics, iter(own))
            except KeyError as error:  # a frame or joint
                raise KeyError(f"constraint {excerpt(constraint.name)}: {shortened(str(error.args[0]))}") from None
            names = constraint.row_names
            if any(len(part) != len(names) for part in rows[:3]):
                sizes = "/".join(str(size) for size in sorted({len(part) for part in rows[:3]}))
                raise ValueError(
                    f"constraint {excerpt(constraint.name)}: it returns {sizes} rows, its names are {', '.join(names)}"
                )
            total = total + rows
        return total

    def matrix_rate(self, q: Sequence[Scalar], v: Sequence[Scalar], parameters: Sequence[Scalar]) -> list[list[Scalar]]:
        """Adot (rows, nv) over generic scalars: for Adot w with another w than v."""
        moving = moving_configuration(self._tree, q, v)
        rows = self.rows(moving, [0.0] * self.model.nv, parameters)
        return [[rate_of(x, moving[0].level) for x in row] for row in rows.matrix]

    def wrench_rows(
        self, q: Sequence[Scalar], parameters: Sequence[Scalar], *, sensor: Frame | None = None
    ) -> dict[str, list[Vec6]]:
        """{constraint: for each row the wrench (m, f) on its frame per unit of its multiplier}, over generic scalars.

        Of the constraints between frames; in the constrained frame's axes, or as `sensor`, which is fixed
        to the same body, reads them. `parameters` without the two gains.
        """
        kinematics = Kinematics(self._tree, q, [0.0] * self.model.nv)
        numbers = iter(parameters)
        found = {}
        for constraint in self.constraints:
            own = [next(numbers) for _ in constraint.parameters]
            if isinstance(constraint, PairConstraint):
                found[constraint.name] = constraint.wrench_rows(kinematics, iter(own), sensor=sensor)
        return found

    def _fingerprint(self) -> str:
        sizes = {"q": self.model.nq, "v": self.model.nv, "parameters": len(self.parameters) - 2}
        graph = Graph()
        rows = self.rows(*(graph.inputs(name, size) for name, size in sizes.items()))
        flat = [*rows.position, *(x for row in rows.matrix for x in row), *rows.bias, rows.terms]
        content = repr((graph.nodes, list(map(graph.index, flat)), self.holonomic.tolist()))
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def __repr__(self) -> str:
        return f"ConstraintSet({', '.join(self.row_names)})"


def _numbers(constraint: Constraint) -> Sequence[float]:
    numbers = constraint.parameters
    if all(type(x) is float and math.isfinite(x) for x in numbers):  # the words for the others take long to make
        return numbers
    return [number(x, f"constraint {excerpt(constraint.name)}: one of its numbers") for x in numbers]
