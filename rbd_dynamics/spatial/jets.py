# SPDX-License-Identifier: Apache-2.0
"""Exact time derivatives by arithmetic: truncated Taylor series as generic scalars.

A jet is the value of a function of time with its first and second derivative at one instant. A
function written over generic scalars, called with jets, returns what it is and how it changes,
to rounding: so a constraint is written as h(T) once, and A and Adot qd follow from it.

Jets nest: what a jet is made of may be jets of another variable. Each has a level, so that the two
variables are never mixed up; a new variable needs `with_rates` at a level above those in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rbd_dynamics.spatial.scalar import Scalar, cos, less, reciprocal, sin, sqrt, tanh, where


class Jet:
    """x + d t + dd t^2 / 2."""

    __slots__ = ("x", "d", "dd", "level")
    __array_ufunc__ = None  # NumPy scalars and arrays must defer to the operators below

    def __init__(self, x: Scalar, d: Scalar, dd: Scalar = 0.0, level: int = 0) -> None:
        self.x, self.d, self.dd, self.level = x, d, dd, level

    def _parts(self, other: Any) -> tuple[Scalar, Scalar, Scalar]:
        """Parts of another operand, which is a constant unless it is a jet of this level."""
        if isinstance(other, Jet) and other.level == self.level:
            return other.x, other.d, other.dd
        return other, 0.0, 0.0

    def _lower(self, other: Any) -> bool:
        """The other operand is the jet of a variable inside which this one is a constant."""
        return isinstance(other, Jet) and other.level > self.level

    def _of(self, x: Scalar, slope: Scalar, curvature: Scalar) -> Jet:
        """f(self) with f(x), f'(x), f''(x)."""
        return Jet(x, slope * self.d, slope * self.dd + curvature * (self.d * self.d), self.level)

    def __add__(self, other: Any) -> Any:
        if self._lower(other):
            return other + self
        x, d, dd = self._parts(other)
        return Jet(self.x + x, self.d + d, self.dd + dd, self.level)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Jet(-self.x, -self.d, -self.dd, self.level)

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if self._lower(other):
            return other * self
        if isinstance(other, (float, int)) and other == 0.0:
            return 0.0
        x, d, dd = self._parts(other)
        return Jet(
            self.x * x,
            self.d * x + self.x * d,
            self.dd * x + 2.0 * (self.d * d) + self.x * dd,
            self.level,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * reciprocal(other)

    def __rtruediv__(self, other: Any) -> Any:
        inverse = reciprocal(self.x)
        square = inverse * inverse
        return self._of(inverse, -square, 2.0 * (square * inverse)) * other

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int) or exponent < 1:
            raise TypeError("jets take whole positive powers only; use sqrt and division")
        product: Any = self
        for _ in range(exponent - 1):
            product = product * self
        return product

    def sin(self) -> Any:
        s, c = sin(self.x), cos(self.x)
        return self._of(s, c, -s)

    def cos(self) -> Any:
        s, c = sin(self.x), cos(self.x)
        return self._of(c, -s, -c)

    def sqrt(self) -> Any:
        root = sqrt(self.x)
        slope = 0.5 * reciprocal(root)
        return self._of(root, slope, -0.5 * (slope * reciprocal(self.x)))

    def tanh(self) -> Any:
        t = tanh(self.x)
        slope = 1.0 - t * t
        return self._of(t, slope, -2.0 * (t * slope))

    def less(self, other: Any) -> Any:
        """1 where the value is less, whatever the derivatives."""
        return less(self.x, value_of(other, self.level))

    def greater(self, other: Any) -> Any:
        return less(value_of(other, self.level), self.x)

    def select(self, if_true: Any, if_false: Any) -> Any:
        """`if_true` where the value is non-zero."""
        return where(self.x, if_true, if_false)

    def chosen(self, condition: Scalar, if_true: Any, if_false: Any) -> Any:
        """`where` between this jet and another value: part by part."""
        for other in (if_true, if_false):
            if self._lower(other):
                return other.chosen(condition, if_true, if_false)
        yes, no = self._parts(if_true), self._parts(if_false)
        x, d, dd = (where(condition, a, b) for a, b in zip(yes, no))
        return Jet(x, d, dd, self.level)

    def __repr__(self) -> str:
        return f"Jet({self.x!r}, {self.d!r}, {self.dd!r})"


def value_of(x: Any, level: int = 0) -> Scalar:
    """The value of a jet of this level; anything else is its own value."""
    return x.x if isinstance(x, Jet) and x.level == level else x


def rate_of(x: Any, level: int = 0) -> Scalar:
    """First derivative; zero for a constant."""
    return x.d if isinstance(x, Jet) and x.level == level else 0.0


def second_rate_of(x: Any, level: int = 0) -> Scalar:
    """Second derivative; zero for a constant."""
    return x.dd if isinstance(x, Jet) and x.level == level else 0.0


def level_above(*values: Any) -> int:
    """A level that none of the values has."""
    return 1 + max((x.level for x in values if isinstance(x, Jet)), default=-1)


def moving(x: Sequence[Scalar], rates: Sequence[Scalar], *others: Scalar) -> list[Jet]:
    """Numbers as they move at these rates: jets of a new variable, at one level, above `others` too."""
    level = level_above(*x, *rates, *others)
    return [Jet(value, rate, 0.0, level) for value, rate in zip(x, rates, strict=True)]
