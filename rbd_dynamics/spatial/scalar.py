"""Elementary functions of a generic scalar.

A scalar is a float (one sample), a NumPy array (a batch, one element a sample) or a tracing
scalar (`rbd_dynamics.compiler.trace.Expr`). The algorithms use only arithmetic operators and the
functions below, so each of them is written once.
"""

from __future__ import annotations

import math
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


def where(condition: Scalar, if_true: Scalar, if_false: Scalar) -> Scalar:
    """`if_true` where the condition is non-zero, else `if_false`; drops the other value whatever it is."""
    select = getattr(condition, "select", None)
    if select is not None:
        return select(if_true, if_false)
    if isinstance(condition, np.ndarray):
        return np.where(condition != 0, if_true, if_false)
    return if_true if condition else if_false


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
