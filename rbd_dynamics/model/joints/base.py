# SPDX-License-Identifier: Apache-2.0
"""What every joint kind offers, generic over the scalar.

A kind says how its frame moves, `T(q)`, and the columns of its Jacobian `S(q)` with their rate
`Sdot(q, v)`, all expressed in the moved (child) frame (theory.md section 2).

To add a kind, write one file with a frozen dataclass:

- `name`, and `nq` and `nv` where they are not 1 (they differ where q contains a quaternion, whose
  place is then said by `quaternion`);
- `transform` and `columns`; with S constant in the moved frame that is all, otherwise derive from
  `CoordinateChain` and give `as_chain`, from which the rest follows;
- `neutral`, `random`, `integrate`, `difference` and `rates` where v is not simply the rate of q;
- fields of numbers or (nested) tuples of numbers, made plain floats in `__post_init__`: they are
  what the kernel cache tells robots apart by and what `Model.to_dict` writes.

Importing the file makes the kind known to `model_from_dict`; nothing else has a list of kinds but
the URDF reader, whose format has a fixed set of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, Transform, Vec6
from rbd_dynamics.spatial.so3 import Vec3

Array = NDArray[np.float64]

#: position limits from here on, rad or m, are a way to write "none"
UNLIMITED = 1e3

Z_AXIS: Vec3 = (0.0, 0.0, 1.0)


class JointKind:
    """What every joint kind offers; the defaults suit joints with constant S, nq = nv = 1."""

    name: ClassVar[str]
    #: {name: class} of all kinds
    known: ClassVar[dict[str, type[JointKind]]] = {}
    #: indices, inside the joint's configuration, of a unit quaternion (x, y, z, w)
    quaternion: ClassVar[slice | None] = None

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            return
        other = JointKind.known.get(cls.name, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"{cls.__qualname__}: {other.__qualname__} is already the joint kind {cls.name!r}")
        JointKind.known[cls.name] = cls

    @property
    def nq(self) -> int:
        """How many numbers are the configuration."""
        return 1

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 1

    @property
    def velocity_is_rate(self) -> bool:
        """Whether v is the rate of q, number by number."""
        return type(self).rates is JointKind.rates

    @property
    def reach(self) -> float:
        """How far random positions go where there is no limit, rad or m."""
        return math.pi

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """T(q): pose of the moved frame in the joint frame."""
        raise NotImplementedError

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """The nv columns of S(q), twists in the moved frame."""
        raise NotImplementedError

    def columns_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """The columns of Sdot = dS/dt."""
        return (ZERO6,) * self.nv

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        """First and second time derivative of q at the constant velocity v, (nq,) each."""
        return v, (0.0,) * self.nq

    def as_chain(self) -> tuple[JointKind, ...] | None:
        """Joints with constant S that, one on the other with nothing between, move in the same way.

        Their configurations and velocities, one after the other, are this joint's. None for a joint
        whose own S is constant in the moved frame.
        """
        return None

    def neutral(self) -> Array:
        """The configuration (nq,) at which T is the identity."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        """A random configuration (nq,), each number between the limits where there are any."""
        limited = abs(lower) < UNLIMITED, abs(upper) < UNLIMITED
        low = lower if limited[0] else (min(0.0, upper) if limited[1] else 0.0) - self.reach
        high = upper if limited[1] else (max(0.0, lower) if limited[0] else 0.0) + self.reach
        return rng.uniform(low, high, self.nq)

    def integrate(self, q: Array, dv: Array) -> Array:
        """Move with the constant velocity dv for unit time: q (..., nq), dv (..., nv) -> (..., nq).

        With constant S that is motion along a constant body twist; a kind whose S depends on q has
        the rate of q as its velocity.
        """
        return q + dv

    def difference(self, q0: Array, q1: Array) -> Array:
        """The shortest dv (..., nv) with which integrate(q0, dv) is the pose of q1."""
        return q1 - q0

    def to_dict(self) -> dict[str, Any]:
        """{"type": name, and the fields as numbers and lists}; `from_dict` is its inverse."""
        return {"type": self.name, **{name: _lists(getattr(self, name)) for name in _fields(type(self))}}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> JointKind:
        """Raises ModelError for an unknown type, and for fields that the type does not have or take."""
        rest = dict(data)
        name = rest.pop("type", None)
        cls = JointKind.known.get(name) if isinstance(name, str) else None
        if cls is None:
            raise ModelError(f"unknown joint type {name!r}; known: {', '.join(JointKind.known)}")
        names = _fields(cls)
        for key in rest:
            if key not in names:
                raise ModelError(f"a {name} joint has no {key!r}; it has: {', '.join(names) or 'nothing to set'}")
        return cls(**rest)


def _fields(cls: type[JointKind]) -> list[str]:
    return [field.name for field in fields(cls)] if is_dataclass(cls) else []


def _lists(value: Any) -> Any:
    return [_lists(entry) for entry in value] if isinstance(value, (tuple, list)) else value


def vector_of(value: Any, size: int, what: str) -> tuple[float, ...]:
    """Finite plain floats. Raises ModelError that starts with `what`."""
    try:
        numbers = () if isinstance(value, str) else tuple(float(entry) for entry in value)
    except (TypeError, ValueError):
        raise ModelError(f"{what} {value!r} is not made of numbers") from None
    if len(numbers) != size:
        raise ModelError(f"{what} {value!r} has {len(numbers)} numbers, expected {size}")
    if not all(map(math.isfinite, numbers)):
        raise ModelError(f"{what} {value!r} is not finite")
    return numbers


def direction_of(value: Any, what: str = "axis") -> Vec3:
    """The unit vector along three numbers; numbers that have unit length but for rounding stay as they are.

    Raises ModelError for a vector without a direction.
    """
    x, y, z = vector_of(value, 3, what)
    length = math.hypot(x, y, z)
    if length < 1e-9:
        raise ModelError(f"{what} {value!r} has no direction")
    return (x, y, z) if abs(length - 1.0) < 1e-12 else (x / length, y / length, z / length)
