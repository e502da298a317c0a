# SPDX-License-Identifier: Apache-2.0
"""Power series against polynomials and known derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbd_dynamics.spatial.jets import Jet
from rbd_dynamics.spatial.scalar import cos, reciprocal, sin, sqrt, tanh
from rbd_dynamics.spatial.series import Series


def at(series, t):
    return np.polynomial.polynomial.polyval(t, series.c)


X = Series([0.4, -0.3, 0.2, 0.1, -0.05, 0.02, 0.01, -0.01, 0.02, 0.01, 0.0, 0.01])
Y = Series([1.4, 0.5, -0.2, 0.3, 0.05, 0.02, 0.1, 0.02, -0.03, 0.01, 0.04, 0.01])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * y + 2.0 * x - y / 3.0 - (1.0 - x),
        lambda x, y: x / y + 1.0 / y - reciprocal(y),
        lambda x, y: sin(x) * cos(y) - cos(2.0 * x),
        lambda x, y: sqrt(y) * sqrt(y * y + 1.0),
        lambda x, y: tanh(x * y) + tanh(y),
    ],
)
def test_functions_are_those_of_the_numbers(f):
    """Where the series ends, by t^12, shows only beyond it."""
    found = f(X, Y)
    assert len(found.c) == 12
    for t in (0.0, 0.02, -0.03):
        assert at(found, t) == pytest.approx(float(f(at(X, t), at(Y, t))), rel=1e-14)


def test_coefficients_are_derivatives():
    x = Series.of_derivatives([0.7, 1.0, 0.0, 0.0, 0.0, 0.0])
    for k, c in enumerate(sin(x).c):
        assert math.factorial(k) * c == pytest.approx(math.sin(0.7 + k * math.pi / 2), rel=1e-14)
    assert Series([1.0, 2.0, 3.0]).rate().c == [2.0, 6.0]


def test_a_result_is_known_as_far_as_the_shortest():
    assert len((X * Series([1.0, 2.0])).c) == 2 == len((Series([1.0, 2.0]) - X).c)
    nothing = Series(())
    for f in (sin, cos, sqrt, tanh, reciprocal):
        assert f(nothing).c == []
    assert (nothing + 1.0).c == (nothing * X).c == []
    assert nothing * 0.0 == 0.0


def test_a_batch_is_its_samples():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 4))
    many = tanh(sin(Series(list(x))) * 0.3 + np.float64(0.1))
    for k in range(4):
        one = tanh(sin(Series(x[:, k].tolist())) * 0.3 + 0.1)
        np.testing.assert_allclose([c[k] for c in many.c], one.c, rtol=1e-13)


def test_jets_of_series_are_jets():
    found = sin(Jet(X, 1.0)) * Y + Y * Jet(X, 1.0) - Y
    np.testing.assert_allclose(found.x.c, (sin(X) * Y + Y * X - Y).c, rtol=1e-14)
    np.testing.assert_allclose(found.d.c, (cos(X) * Y + Y).c, rtol=1e-14)
