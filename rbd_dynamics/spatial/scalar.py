# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of a generic scalar.

A scalar is a float (one sample), a NumPy array (a batch, one element a sample), a tracing scalar
(`rbd_dynamics.compiler.trace.Expr`) or a jet of one of them (`rbd_dynamics.spatial.jets`). The
algorithms use only arithmetic operators and the functions below, so each of them is written once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Scalar = Any  # float | numpy.ndarray | Expr: structural, checked by use


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in radians; NaN for an infinite one."""
    return _apply("sin", lambda v: math.sin(v) if math.isfinite(v) else math.nan, np.sin, x)


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in radians; NaN for an infinite one."""
    return _apply("cos", lambda v: math.cos(v) if math.isfinite(v) else math.nan, np.cos, x)


def sqrt(x: Scalar) -> Scalar:
    """Square root; NaN for a negative number (never an exception, as in the compiled code)."""
    return _apply("sqrt", lambda v: math.sqrt(v) if v >= 0 else math.nan, np.sqrt, x)


def tanh(x: Scalar) -> Scalar:
    """Hyperbolic tangent."""
    return _apply("tanh", math.tanh, np.tanh, x)


def less(a: Scalar, b: Scalar) -> Scalar:
    """1 where a < b, else 0 (0 also where one of them is NaN); a condition for `where`."""
    # a jet knows what it is made of and not the reverse: the one of the higher level is asked first
    asked = ((a, b, "less"), (b, a, "greater"))
    for x, y, method in asked[::-1] if getattr(b, "level", -1) > getattr(a, "level", -1) else asked:
        compare = getattr(x, method, None)
        if compare is not None:
            return compare(y)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.less(a, b).astype(float)
    return 1.0 if a < b else 0.0


def where(condition: Scalar, if_true: Scalar, if_false: Scalar) -> Scalar:
    """`if_true` where the condition is non-zero, else `if_false`; drops the other value whatever it is."""
    for value in (if_true, if_false):
        chosen = getattr(value, "chosen", None)
        if chosen is not None:
            return chosen(condition, if_true, if_false)
    select = getattr(condition, "select", None)
    if select is not None:
        return select(if_true, if_false)
    if isinstance(condition, np.ndarray):
        return np.where(condition != 0, if_true, if_false)
    return if_true if condition else if_false


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Sum of products."""
    total: Scalar = 0.0
    for x, y in zip(a, b):
        total = total + x * y
    return total


def absolute(x: Scalar) -> Scalar:
    """|x|."""
    return where(less(x, 0.0), -x, x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y), from -pi to pi; 0 at the origin."""
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.atan2(y, x)
    if not any(hasattr(entry, "select") for entry in (x, y)):
        return np.arctan2(y, x)
    return _traced_atan2(y, x)


def reciprocal(x: Scalar) -> Scalar:
    """1 / x; infinite at zero (never an exception, as in the compiled code)."""
    if isinstance(x, (float, int)):
        return 1.0 / x if x != 0 else math.inf
    return 1.0 / x


def _apply(name: str, on_float: Any, on_array: Any, x: Scalar) -> Scalar:
    if isinstance(x, (float, int)):
        return on_float(x)
    method = getattr(x, name, None)
    return method() if method is not None else on_array(x)


# atan(z) = z + z^3 P(z^2) / Q(z^2) for |z| <= tan(pi / 8), the coefficients of the Cephes library
_ATAN_P = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_ATAN_Q = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)


def _traced_atan2(y: Scalar, x: Scalar) -> Scalar:
    """atan2 from arithmetic and selections, without a branch."""
    width, height = absolute(x), absolute(y)
    steep = less(width, height)
    high, low = where(steep, height, width), where(steep, width, height)
    ratio = low / where(high, high, 1.0)
    diagonal = less(math.tan(math.pi / 8), ratio)
    z = where(diagonal, (ratio - 1.0) / (ratio + 1.0), ratio)
    square = z * z
    angle = z + z * square * (_polynomial(_ATAN_P, square) / _polynomial(_ATAN_Q, square))
    angle = where(diagonal, math.pi / 4 + angle, angle)
    angle = where(steep, math.pi / 2 - angle, angle)
    angle = where(less(x, 0.0), math.pi - angle, angle)
    return where(less(y, 0.0), -angle, angle)


def _polynomial(coefficients: tuple[float, ...], x: Scalar) -> Scalar:
    """The highest power's coefficient comes first."""
    total: Scalar = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total
