# SPDX-License-Identifier: Apache-2.0
"""The quick test of inertias against their eigenvalues."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rbd_dynamics.model.physical_inertia import (
    CLEAR,
    SMALLEST,
    Excess,
    about_com,
    is_clearly_physical,
    principal_moments,
)
from rbd_dynamics.spatial.inertia import RigidInertia


def turned(moments, seed):
    """(ixx, ixy, ixz, iyy, iyz, izz) with these principal moments about axes of a seed."""
    axes, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    matrix = axes @ np.diag(moments) @ axes.T
    return tuple(matrix[np.triu_indices(3)].tolist())


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3), st.integers(0, 2**32 - 1), st.floats(-9.0, 9.0),
    st.sampled_from([1e-12, 1e-7, 1.0]),
)  # fmt: skip
@example([0.0, 0.0, 5e-179], 0, 0.0, 1.0)  # squares of which are zero
@example([5e-304, 5e-304, 5e-304], 0, 0.0, 1e-7)
def test_what_is_clear_is_so_and_what_is_beyond_doubt_is_clear(second, seed, exponent, smallest):
    second = 10.0**exponent * np.array([*second[:2], smallest * second[2]])  # of mass, in each direction
    rotational = turned(second.sum() - second, seed)
    p1, p2, p3 = principal_moments(np.array(rotational)[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3))
    if is_clearly_physical(rotational, 1.0):
        assert p1 > 0.0 and p3 < p1 + p2 and not Excess.of(rotational, 1.0)
    elif second.min() > 0.0 and second.sum() > 2.0 * SMALLEST:
        assert second.min() < 10.0 * CLEAR * second.sum()


def test_only_what_breaks_the_inequality_is_found_and_what_no_number_holds_is_not_clear():
    sound, point, slip = turned((1.0, 2.0, 2.5), 1), (0.0,) * 6, turned((1.0, 2.0, 3.5), 2)
    assert Excess.found_in([(sound, 1.0), (slip, 1.0), (point, 1.0), (point, 0.0)]) == {1: Excess.of(slip, 1.0)}
    for mass, scale in (
        (0.0, 1.0),
        (-1.0, 1.0),
        (np.nan, 1.0),
        (1.0, np.inf),
        (1.0, np.nan),
        (1e200, 1.0),
        (1.0, 1e200),
    ):
        assert not is_clearly_physical(tuple(scale * entry for entry in sound), mass)


@given(st.floats(1e-3, 1e3), st.lists(st.floats(-10.0, 10.0), min_size=3, max_size=3), st.integers(0, 2**32 - 1))
def test_inertia_about_the_centre_of_mass(mass, com, seed):
    rotational = turned((1.0, 2.0, 2.5), seed)
    found = about_com(RigidInertia.from_com(mass, tuple(com), rotational))
    assert np.allclose(found, rotational, rtol=0.0, atol=1e-15 * (1.0 + mass * 300.0) * 10.0)
