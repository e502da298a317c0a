# SPDX-License-Identifier: Apache-2.0
"""What every joint kind offers, generic over the scalar.

A kind says how its frame moves, `T(q)`. From it follow the columns of its Jacobian `S(q)`, how they
change with q, and with that the whole dynamics, all expressed in the moved (child) frame (theory.md
sections 2 and 6). What a kind does not say itself is found by exact differentiation (`spatial.jets`).

To add a kind, write one file with a frozen dataclass:

- `name`, under which it is written down, and `nq` and `nv` where they are not 1 (they differ where q
  contains a quaternion, whose place is then said by `quaternion`);
- `transform`, over generic scalars: arithmetic and what `spatial.scalar` has. That is all there must be;
- `columns` where S is known in closed form: it saves operations, most of all where S is constant in
  the moved frame. `columns_rate` likewise where S depends on q;
- `rates`, `integrate`, `difference`, `neutral` and `random` where v is not simply the rate of q, and
  `displacement_rate` if it has several degrees of freedom;
- `as_chain` for what is a chain of joints with constant S (derive from `CoordinateChain`): it is the
  cheapest way to compute with such a joint;
- fields of numbers or (nested) tuples of numbers, made plain floats in `__post_init__`: they are what
  `model_to_dict` writes.

A model is refused if the parts of a kind contradict each other (`consistency`).

Importing the file makes the kind known to `model_from_dict`; nothing else has a list of kinds but
the URDF reader, whose format has a fixed set of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_numbers
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.open_kinds import ENTRY_POINTS, OpenKind
from rbd_dynamics.spatial.jets import Jet, moving, rate_of, value_of
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, Transform, Vec6
from rbd_dynamics.spatial.so3 import Vec3, dot3, matvec, transpose

Array = NDArray[np.float64]

#: position limits from here on, rad or m, are a way to write "none"
UNLIMITED = 1e3

Z_AXIS: Vec3 = (0.0, 0.0, 1.0)


class JointKind(OpenKind):
    """What every joint kind offers; the defaults suit joints whose velocity is the rate of q, nq = nv = 1."""

    FAMILY: ClassVar[str] = "joint kind"
    WRITES_ALL: ClassVar[bool] = True
    name: ClassVar[str]
    known: ClassVar[dict[str, type[JointKind]]]
    #: indices, inside the joint's configuration, of a unit quaternion (x, y, z, w)
    quaternion: ClassVar[slice | None] = None

    def __init_subclass__(cls) -> None:
        _check_whole(cls)
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = getattr(cls, "name", cls.__qualname__)  # for messages; nothing is registered

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
        if self.nq != self.nv:
            return False
        for shift in (0.3, -1.1):
            q, v = [shift + 0.1 * k for k in range(self.nq)], [0.7 - 0.2 * k for k in range(self.nv)]
            first, second = self.rates(q, v)
            if tuple(first) != tuple(v) or any(second):
                return False
        return True

    @property
    def is_coordinate(self) -> bool:
        """Whether q is one number and v its rate: what can follow another joint, and be followed."""
        return self.nq == 1 and self.velocity_is_rate

    @property
    def is_angle(self) -> bool:
        """Whether q counts rad, so that tau is in N m (else m and N); for joints with one coordinate."""
        return any(any(column[:3]) for column in self.columns(self.neutral().tolist()))

    @property
    def reach(self) -> float:
        """How far random positions go where there is no limit, rad or m."""
        return math.pi

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """T(q): pose of the moved frame in the joint frame."""
        raise NotImplementedError

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """The nv columns of S(q), twists in the moved frame: S_k = vee(T^-1 dT/dq_k), here from `transform`."""
        return tuple(_body_twist(self.transform, self._moving(q, direction)) for direction in _units(self.nv))

    def columns_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """The columns of Sdot = dS/dt, which is linear in v; here by differentiating `columns`.

        With the k-th unit vector for v: dS/dq_k, the derivative along the k-th tangent direction.
        """
        if self.has_constant_columns:
            return (ZERO6,) * self.nv
        return _rates(self.columns, self._moving(q, v))

    def columns_rate_derivative(
        self, q: Sequence[Scalar], v: Sequence[Scalar], direction: Sequence[Scalar]
    ) -> tuple[Vec6, ...]:
        """How Sdot(q, v) changes as q moves with the velocity `direction` and v stays: second derivatives of S."""
        if self.has_constant_columns:
            return (ZERO6,) * self.nv
        return _rates(lambda x: self.columns_rate(x, v), self._moving(q, direction, *v))

    @cached_property
    def has_constant_columns(self) -> bool:
        """Whether nothing in `columns` depends on q."""
        probe = moving(self.neutral().tolist(), [1.0] * self.nq)
        return not any(isinstance(entry, Jet) for column in self.columns(probe) for entry in column)

    def _moving(self, q: Sequence[Scalar], v: Sequence[Scalar], *others: Scalar) -> list[Jet]:
        """q as it moves with the velocity v, to first order; jets of a variable that none of the arguments has."""
        return moving(q, self.rates(q, v)[0], *others)

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        """First and second time derivative of q at the constant velocity v, (nq,) each.

        Here v is the rate of q. Raises TypeError for a kind with nq != nv, which has to say how q moves.
        """
        if self.nq != self.nv:
            raise TypeError(f"joint kind {self.name!r} has nq = {self.nq}, nv = {self.nv}: it must give `rates`")
        return v, (0.0,) * self.nq

    def as_chain(self) -> tuple[JointKind, ...] | None:
        """Joints with constant S that, one on the other with nothing between, move in the same way.

        Their configurations and velocities, one after the other, are this joint's. None for a joint
        that is not one.
        """
        return None

    def neutral(self) -> Array:
        """The configuration (nq,) to begin with, at which T is the identity unless the kind says otherwise."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        """A random configuration (nq,), each number between the limits where there are any."""
        limited = abs(lower) < UNLIMITED, abs(upper) < UNLIMITED
        low = lower if limited[0] else (min(0.0, upper) if limited[1] else 0.0) - self.reach
        high = upper if limited[1] else (max(0.0, lower) if limited[0] else 0.0) + self.reach
        if math.isinf(high - low):  # which rng.uniform does not take
            part: Array = rng.uniform(0.0, 1.0, self.nq)
            return (1.0 - part) * low + part * high
        return rng.uniform(low, high, self.nq)

    def integrate(self, q: Array, dv: Array) -> Array:
        """Move with the constant velocity dv for unit time: q (..., nq), dv (..., nv) -> (..., nq).

        Here v is the rate of q; joints on a group move along a constant body twist.
        """
        return q + dv

    def difference(self, q0: Array, q1: Array) -> Array:
        """The shortest dv (..., nv) with which integrate(q0, dv) is the pose of q1."""
        return q1 - q0

    def displacement_rate(self, x: Array, v: Array) -> Array:
        """Rate of x (nv) in q = integrate(q0, x) at the velocity v (nv): on a group the inverse right Jacobian times v.

        Raises TypeError where that is neither v itself nor given by the kind.
        """
        if self.nv > 1 and type(self).rates is not JointKind.rates:
            raise TypeError(f"joint kind {self.name!r} must give `displacement_rate` for integrators of higher order")
        return v

    @classmethod
    def unknown_type(cls, name: Any, known: Sequence[str]) -> str:
        own = f"a kind of your own is known once its file has been imported, or by an entry point of {ENTRY_POINTS}"
        return f"unknown joint type {excerpt(name)}; known: {', '.join(known)} ({own})"

    @classmethod
    def unknown_field(cls, key: Any, known: Sequence[str]) -> str:
        return f"a {cls.name} joint has no {excerpt(key)}; it has: {', '.join(known) or 'nothing to set'}"


#: what a kind says, and what must not be older than that: inherited from a kind that said something else
_FOLLOWS = {
    "transform": ("columns", "columns_rate", "columns_rate_derivative", "as_chain"),
    "rates": ("columns", "columns_rate", "columns_rate_derivative"),
    "columns": ("columns_rate", "columns_rate_derivative"),
    "columns_rate": ("columns_rate_derivative",),
    "integrate": ("difference", "displacement_rate"),
}


def _check_whole(cls: type[JointKind]) -> None:
    """Raise TypeError where a kind gives a part and takes one over that no longer belongs to it."""

    def origin(what: str) -> int:
        return next(k for k, base in enumerate(cls.__mro__) if what in base.__dict__)

    default = cls.__mro__.index(JointKind)
    for what, others in _FOLLOWS.items():
        for other in others:
            if origin(what) < origin(other) < default:
                older = cls.__mro__[origin(other)].__qualname__
                raise TypeError(
                    f"joint kind {cls.__qualname__}: gives {what!r}, but {other!r} is still that of {older}; give it "
                    f"too, or set {other} = JointKind.{other}, which follows from the rest"
                )
    for one, other in (("rates", "integrate"), ("integrate", "rates")):  # what v means to q, exact and finite
        if origin(one) < default <= origin(other):
            raise TypeError(f"joint kind {cls.__qualname__}: gives {one!r}, so it must give {other!r} as well")


def _units(n: int) -> list[tuple[float, ...]]:
    return [tuple(float(i == k) for i in range(n)) for k in range(n)]


def _rates(function: Callable[[Sequence[Jet]], Sequence[Vec6]], q: list[Jet]) -> tuple[Vec6, ...]:
    """Rates of the twists that a function gives, as q moves."""
    level = q[0].level if q else 0
    return tuple(tuple(rate_of(entry, level) for entry in twist) for twist in function(q))


def _body_twist(transform: Callable[[Sequence[Jet]], Transform], q: list[Jet]) -> Vec6:
    """vee(T^-1 Tdot) as q moves."""
    pose, level = transform(q), q[0].level
    R = tuple(value_of(entry, level) for entry in pose.rotation)
    X, Y, Z = R[0::3], R[1::3], R[2::3]  # columns
    R_dot = tuple(rate_of(entry, level) for entry in pose.rotation)
    dX, dY, dZ = R_dot[0::3], R_dot[1::3], R_dot[2::3]
    p_dot = (rate_of(pose.p[0], level), rate_of(pose.p[1], level), rate_of(pose.p[2], level))
    return dot3(Z, dY), dot3(X, dZ), dot3(Y, dX), *matvec(transpose(R), p_dot)


def vector_of(value: Any, size: int, what: str) -> tuple[float, ...]:
    """Finite plain floats. Raises ModelError that starts with `what`."""
    if type(value) is tuple and len(value) == size and all(type(x) is float and math.isfinite(x) for x in value):
        return value  # what readers give
    try:
        numbers = real_numbers(value)
    except ValueError as error:
        raise ModelError(f"{what} {excerpt(value)} {error}: expected {size}") from None
    if len(numbers) != size:
        raise ModelError(f"{what} {excerpt(value)} has {len(numbers)} numbers, expected {size}")
    if not all(map(math.isfinite, numbers)):
        raise ModelError(f"{what} {excerpt(value)} is not finite")
    return numbers


def direction_of(value: Any, what: str = "axis") -> Vec3:
    """The unit vector along three numbers; numbers that have unit length but for rounding stay as they are.

    Raises ModelError for a vector without a direction.
    """
    x, y, z = vector_of(value, 3, what)
    length = math.hypot(x, y, z)
    if length < 1e-9:
        raise ModelError(f"{what} {excerpt(value)} has no direction")
    if math.isinf(length):  # too long for a float, though its entries are not
        return direction_of((0.25 * x, 0.25 * y, 0.25 * z), what)
    return (x, y, z) if abs(length - 1.0) < 1e-12 else (x / length, y / length, z / length)
