# SPDX-License-Identifier: Apache-2.0
"""Power series in time as generic scalars: derivatives of any order, where `jets` have two.

A series is c_0 + c_1 t + ... as far as it is known; what is made of several is known as far as the shortest of them.
Numbers are known to all orders. Coefficients are floats, or arrays for a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rbd_dynamics.spatial.jets import Jet
from rbd_dynamics.spatial.scalar import Scalar, cos, dot, reciprocal, sin, sqrt, tanh


class Series:
    """sum c_k t^k. An empty one stands for what is not known at all."""

    __slots__ = ("c",)
    __array_ufunc__ = None  # NumPy scalars and arrays must defer to the operators below

    def __init__(self, coefficients: Sequence[Scalar]) -> None:
        self.c = list(coefficients)

    @classmethod
    def of_derivatives(cls, derivatives: Sequence[Scalar]) -> Series:
        """The Taylor series with this value and these derivatives, in order."""
        found, factor = [], 1.0
        for k, value in enumerate(derivatives):
            factor = factor * k if k else 1.0
            found.append(value / factor)
        return cls(found)

    def rate(self) -> Series:
        """The time derivative, known to one order less."""
        return Series([k * value for k, value in enumerate(self.c)][1:])

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Jet):
            return NotImplemented
        if isinstance(other, Series):
            return Series([a + b for a, b in zip(self.c, other.c)])
        return Series([self.c[0] + other, *self.c[1:]] if self.c else [])

    __radd__ = __add__

    def __neg__(self) -> Series:
        return Series([-a for a in self.c])

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, Jet) else self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Jet):
            return NotImplemented
        if isinstance(other, Series):
            a, b = self.c, other.c
            return Series([dot(a[: k + 1], b[k::-1]) for k in range(min(len(a), len(b)))])
        if isinstance(other, (float, int)) and other == 0.0:
            return 0.0
        return Series([a * other for a in self.c])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, Jet) else self * reciprocal(other)

    def __rtruediv__(self, other: Any) -> Any:
        """Quotient of a number and this series, from a * (1 / a) = 1."""
        found: list[Scalar] = []
        inverse = reciprocal(self.c[0]) if self.c else 0.0
        for k in range(len(self.c)):
            found.append(inverse if k == 0 else -inverse * dot(self.c[1 : k + 1], found[::-1]))
        return Series(found) * other

    def sin(self) -> Series:
        return self._circle()[0]

    def cos(self) -> Series:
        return self._circle()[1]

    def _circle(self) -> tuple[Series, Series]:
        """Sine and cosine: s' = c x', c' = -s x'."""
        if not self.c:
            return self, self
        s, c, slope = [sin(self.c[0])], [cos(self.c[0])], self.rate().c
        for k in range(1, len(self.c)):
            s_k, c_k = dot(slope[:k], c[::-1]), dot(slope[:k], s[::-1])
            s.append(s_k / k)
            c.append(-c_k / k)
        return Series(s), Series(c)

    def sqrt(self) -> Series:
        """Square root y of the series, from y^2 = x."""
        found: list[Scalar] = []
        for k, value in enumerate(self.c):
            twice = value - dot(found[1:], found[:0:-1])
            found.append(twice / (2.0 * found[0]) if k else sqrt(value))
        return Series(found)

    def tanh(self) -> Series:
        """Hyperbolic tangent y of the series, from y' = (1 - y^2) x'."""
        found: list[Scalar] = [tanh(x) for x in self.c[:1]]
        slope, rest = self.rate().c, []  # rest: 1 - y^2
        for k in range(1, len(self.c)):
            rest.append((1.0 if k == 1 else 0.0) - dot(found, found[::-1]))
            found.append(dot(slope[:k], rest[::-1]) / k)
        return Series(found)

    def __repr__(self) -> str:
        return f"Series({self.c!r})"
