# SPDX-License-Identifier: Apache-2.0
"""Gains that are softer where efforts cannot follow, on a mass whose force changes no faster than so."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.control.safety.softening import Softening

MASS, RATE, DAMPING, LAG = 8.0, 1000.0, 70.0, 0.0053  # kg m^2, N m/s, 1/s, s: the shoulder of a large arm
DT = 1e-3


def swing(speed, softening, *, waits):
    """Largest speed (rad/s) in the last half second of 2 s, from `speed` on. waits: until efforts are late."""
    x, v, wanted, felt, behind, speeds = 0.0, speed, 0.0, 0.0, 0.0, []
    for _ in range(2000):
        late = {"behind": behind} if waits else {}
        share = 1.0 if softening is None else softening.update(np.array([MASS * v]), DAMPING, DT, **late)
        law = -MASS * (share**2 * 1200.0 * x + share * DAMPING * v)
        before = wanted
        wanted = before + np.clip(law - before, -RATE * DT, RATE * DT)
        behind = abs(law - wanted) / RATE
        felt += (1.0 - np.exp(-DT / LAG)) * (wanted - felt)
        v += DT * felt / MASS
        x += DT * v
        speeds.append(abs(v))
    return max(speeds[1500:])


def softening_of(rate):
    found = Softening(1)
    found.rates = np.array([rate])
    return found


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("speed", [0.05, 0.3, 1.0, 2.0])
def test_a_fast_mass_comes_to_rest_that_swings_ever_farther_under_all_of_the_gains(speed, waits):
    assert swing(speed, softening_of(RATE), waits=waits) < 1e-3 * speed
    if speed > 0.2:
        assert swing(speed, None, waits=waits) > speed


def test_gains_are_all_there_where_efforts_follow_and_come_back():
    softening = softening_of(RATE)
    fast, slow = np.array([MASS * 1.0]), np.array([MASS * 1e-3])
    assert softening.update(fast, DAMPING, DT, behind=1e-3) == 1.0  # none is late
    assert softening_of(np.inf).update(fast, DAMPING, DT) == 1.0
    share = softening.update(fast, DAMPING, DT, behind=0.01)
    assert MASS * DAMPING * share / RATE == pytest.approx(0.5 / (DAMPING * share))  # in half of 1 / damping
    for _ in range(1000):
        softening.update(slow, DAMPING, DT, behind=0.0)
    assert softening.share > 0.99
