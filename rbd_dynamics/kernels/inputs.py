# SPDX-License-Identifier: Apache-2.0
"""The input vectors of one call of a kernel, as the algorithms want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rbd_dynamics.algorithms.constrained_dynamics import Rows
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.model.model import QUATERNION_TOLERANCE, Frame, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, dot, reciprocal, sqrt
from rbd_dynamics.spatial.se3 import Vec6

Vector = Sequence[Scalar]


class RowSource(Protocol):
    """What a kernel needs of a constraint set."""

    parameters: Any

    def rows(self, q: Vector, v: Vector, parameters: Vector) -> Rows: ...

    def __len__(self) -> int: ...


class Inputs:
    """Vectors by name (`x.tau`), and what algorithms make of them.

    model: the expanded tree. friction: it acts. frame: the one that the kernel is for. constraints: likewise.
    massless: joints move no mass wherever they are, so that only constraints can hold them.
    """

    def __init__(
        self,
        model: Model,
        vectors: dict[str, Vector],
        *,
        friction: bool = False,
        frame: Frame | None = None,
        constraints: RowSource | None = None,
        massless: bool = False,
    ) -> None:
        self.model, self.friction, self.massless = model, friction, massless
        self._frame, self._constraints = frame, constraints
        self._vectors = vectors
        taken = [name for name in vectors if hasattr(type(self), name)]
        assert not taken, f"inputs {taken} have names that mean something else here"
        self.checks: list[Scalar] = []
        if "q" in vectors:
            self.q: Vector = self._with_unit_quaternions(vectors["q"])

    def __getattr__(self, name: str) -> Any:
        try:
            return self._vectors[name]
        except KeyError:
            raise AttributeError(f"the kernel has no input {name!r}") from None

    @property
    def directions(self) -> dict[str, Vector]:
        """Directions of a directional derivative: of each vector that moves."""
        found = {name.partition("along_")[2]: vector for name, vector in self._vectors.items()}
        return {name: vector for name, vector in found.items() if name}

    def moved(self, vectors: Mapping[str, Vector]) -> Inputs:
        """The same with other values of some vectors, q as it is."""
        others = {name: vector for name, vector in {**self._vectors, **vectors}.items() if name != "q"}
        other = Inputs(
            self.model,
            others,
            friction=self.friction,
            frame=self._frame,
            constraints=self._constraints,
            massless=self.massless,
        )
        other.q = vectors.get("q", self.q)
        return other

    @property
    def still(self) -> list[Scalar]:
        """No velocity, no acceleration."""
        return [0.0] * self.model.nv

    @property
    def frame(self) -> Frame:
        assert self._frame is not None
        return self._frame

    @property
    def inertias(self) -> list[RigidInertia]:
        numbers = self._vectors["inertia"]
        return [RigidInertia.from_parameters(tuple(numbers[k : k + 10])) for k in range(0, len(numbers), 10)]

    @property
    def fixed(self) -> RigidInertia:
        """Inertia of what is fixed to the world, at its origin."""
        return RigidInertia.from_parameters(tuple(self._vectors["fixed_inertia"]))

    @property
    def wrenches(self) -> list[Vec6] | None:
        numbers = self._vectors.get("f_ext")
        if numbers is None:
            return None
        return [tuple(numbers[k : k + 6]) for k in range(0, len(numbers), 6)]

    def mass_matrix(self) -> list[list[Scalar]]:
        return mass_matrix(self.model, self.inertias, self.q)

    def inverse_dynamics(self, v: Vector, a: Vector) -> list[Scalar]:
        """Inverse dynamics (nv) with springs, and with friction where it acts."""
        return inverse_dynamics(self.model, self.inertias, self.q, v, a, self.wrenches, friction=self.friction)

    def bias(self) -> list[Scalar]:
        """The torque at zero acceleration."""
        return self.inverse_dynamics(self.v, self.still)

    # --- constraints ------------------------------------------------------------------------------

    @property
    def constraints(self) -> RowSource:
        assert self._constraints is not None
        return self._constraints

    @property
    def stabilization(self) -> tuple[Scalar, Scalar]:
        """Gains of the stabilization: of the rate of h, and of h."""
        by_velocity, by_position = self._vectors["parameters"][:2]
        return by_velocity, by_position

    def rows_at(self, q: Vector, v: Vector) -> Rows:
        """h, A, Adot v at any state."""
        return self.constraints.rows(q, v, self._vectors["parameters"][2:])

    def rows(self) -> Rows:
        """h, A, Adot v at the given state; at rest where no velocity is given."""
        return self.rows_at(self.q, self._vectors.get("v", self.still))

    def acceleration_of(self, rows: Rows) -> list[Scalar]:
        """What A a has to be: target - Adot v, stabilised."""
        by_velocity, by_position = self.stabilization
        velocity = [dot(row, self.v) for row in rows.matrix]
        return [
            wanted - bias - by_velocity * rate - by_position * h
            for wanted, bias, rate, h in zip(self.target, rows.bias, velocity, rows.position)
        ]

    def _with_unit_quaternions(self, q: Vector) -> list[Scalar]:
        """q with normalised quaternions; a norm far from 1 fails a check."""
        unit = list(q)
        for joint in self.model.joints:
            part = joint.kind.quaternion
            if part is not None:
                positions = range(joint.q_index + part.start, joint.q_index + part.stop)
                square = sum((unit[k] * unit[k] for k in positions), 0.0)
                self.checks.append((square - 1.0) * (0.5 / QUATERNION_TOLERANCE))
                scale = reciprocal(sqrt(square))
                for k in positions:
                    unit[k] = scale * unit[k]
        return unit
