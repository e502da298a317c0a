# SPDX-License-Identifier: Apache-2.0
"""Averages of a sensor's readings since the robot settled."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.control.contact.settled_readings import FEWEST, KEPT, SettledReadings


def filled(count, *, moving=0, noise=0.0):
    rng = np.random.default_rng(1)
    readings = SettledReadings(7, 7)
    for _ in range(moving):
        readings.add(np.full(6, 100.0), np.zeros(7), np.full(7, 0.1))
    for _ in range(count):
        readings.add(np.arange(6.0) + noise * rng.normal(size=6), np.zeros(7), np.zeros(7))
    return readings


@pytest.mark.parametrize(("count", "moving"), [(FEWEST, 0), (FEWEST, 10), (3 * KEPT, 10), (777, 3000)])
def test_what_was_read_in_motion_does_not_count(count, moving):
    mean, variance = filled(count, moving=moving).average()
    np.testing.assert_allclose(mean, np.arange(6.0))
    np.testing.assert_allclose(variance, 0.0, atol=1e-20)


def test_variance_of_the_mean():
    _, variance = filled(1000, noise=2.0).average()
    assert 0.1 < np.mean(variance) / (4.0 / 1000) < 2.5


def test_too_few_none_or_moving_are_refused():
    readings = filled(FEWEST - 1, moving=100)
    with pytest.raises(ValueError, match=f"{FEWEST - 1} readings since then"):
        readings.average()
    readings = filled(100)
    readings.add(np.zeros(6), np.zeros(7), np.full(7, 0.1))
    with pytest.raises(ValueError, match="moves"):
        readings.average()
    readings = filled(100)
    readings.add(np.zeros(6), np.full(7, 0.1), np.zeros(7))  # it was elsewhere, whatever its speed says
    with pytest.raises(ValueError, match="1 readings since then"):
        readings.average()
    readings.forget()
    with pytest.raises(ValueError, match="0 readings since then"):
        readings.average()
