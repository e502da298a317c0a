# SPDX-License-Identifier: Apache-2.0
"""What a joint does by itself: friction and springs (theory.md section 2).

A passive force acts on each degree of freedom of a joint, along its own position q and speed v. There are two families:

- `Friction` takes energy: `resistance(v)`, the torque that overcomes it. It acts in a `Robot(model, friction=True)`.
- `Elastic` keeps energy: `energy(q)`. It always acts, as gravity does; its torque is the energy's derivative.

To add one, write a frozen dataclass with a `name` and that one function over generic scalars (`spatial/scalar.py`).
Slopes and torques follow by jets, so that nothing can disagree; every algorithm has it through
`algorithms/passive_forces.py`, and files through `passive:` of a joint (docs/model_format.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints.base import vector_of
from rbd_dynamics.model.open_kinds import OpenKind
from rbd_dynamics.spatial.scalar import Scalar, absolute, tanh

#: speed (rad/s or m/s) over which Coulomb friction builds up; it keeps the torque continuous
COULOMB_SPEED = 1e-2


class PassiveForce(OpenKind):
    """A friction or a spring."""

    FAMILY: ClassVar[str] = "passive force"
    name: ClassVar[str]


class Friction(PassiveForce):
    """Takes energy whichever way the joint moves."""

    def resistance(self, v: Scalar) -> Scalar:
        """Torque (N m or N) that overcomes it at the speed v; its negative acts on the robot."""
        raise NotImplementedError


class Elastic(PassiveForce):
    """Keeps energy. Only for joints whose velocity is the rate of their position."""

    def energy(self, q: Scalar) -> Scalar:
        """Potential energy (J) at the position q (rad or m); smooth."""
        raise NotImplementedError


@dataclass(frozen=True)
class Damping(Friction):
    """Viscous friction d v; coefficient d in N m s/rad or N s/m."""

    coefficient: float
    name: ClassVar[str] = "damping"

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", not_negative(self.coefficient, "damping"))

    def resistance(self, v: Scalar) -> Scalar:
        return self.coefficient * v


@dataclass(frozen=True)
class Coulomb(Friction):
    """Dry friction c tanh(v / eps), eps = `COULOMB_SPEED`; level c in N m or N.

    Simulations have it without the smoothing: c sign(v), and at rest any torque up to c that holds the joint.
    """

    level: float
    name: ClassVar[str] = "coulomb"

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", not_negative(self.level, "friction"))

    def resistance(self, v: Scalar) -> Scalar:
        return self.level * tanh(v / COULOMB_SPEED)


@dataclass(frozen=True)
class Spring(Elastic):
    """k (q - rest)^2 / 2; stiffness k in N m/rad or N/m, rest in rad or m."""

    stiffness: float
    _: KW_ONLY
    rest: float = 0.0
    name: ClassVar[str] = "spring"

    def __post_init__(self) -> None:
        object.__setattr__(self, "stiffness", not_negative(self.stiffness, "stiffness"))
        object.__setattr__(self, "rest", vector_of((self.rest,), 1, "rest")[0])

    def energy(self, q: Scalar) -> Scalar:
        stretch = q - self.rest
        return (0.5 * self.stiffness) * (stretch * stretch)


@dataclass(frozen=True)
class PolynomialSpring(Elastic):
    """Pulls back by (k1 + k2 x + k3 x^2 + ...) x, x = q - rest; coefficients k1, k2, ... in N m/rad^n or N/m^n."""

    coefficients: tuple[float, ...]
    _: KW_ONLY
    rest: float = 0.0
    name: ClassVar[str] = "polynomial spring"

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", _coefficients(self.coefficients))
        object.__setattr__(self, "rest", vector_of((self.rest,), 1, "rest")[0])

    def energy(self, q: Scalar) -> Scalar:
        stretch = q - self.rest
        return _horner([k / (n + 2) for n, k in enumerate(self.coefficients)], stretch) * (stretch * stretch)


@dataclass(frozen=True)
class PolynomialDamping(Friction):
    """(d1 + d2 |v| + d3 v^2 + ...) v; coefficients d1, d2, ... in N m/(rad/s)^n or N/(m/s)^n."""

    coefficients: tuple[float, ...]
    name: ClassVar[str] = "polynomial damping"

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", _coefficients(self.coefficients))

    def resistance(self, v: Scalar) -> Scalar:
        return _horner(self.coefficients, absolute(v)) * v


def _coefficients(given: Any) -> tuple[float, ...]:
    size = 1 if isinstance(given, str) or not hasattr(given, "__len__") else len(given)
    return vector_of(given, max(size, 1), "coefficients")


def _horner(coefficients: Sequence[float], x: Scalar) -> Scalar:
    total: Scalar = 0.0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def not_negative(value: Any, what: str) -> float:
    """A finite number, not below zero. Raises ModelError that starts with `what`."""
    number = vector_of((value,), 1, what)[0]
    if number < 0.0:
        raise ModelError(f"{what} {number:g} is negative")
    return number
