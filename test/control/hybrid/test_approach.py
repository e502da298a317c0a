# SPDX-License-Identifier: Apache-2.0
"""The push of an approach, state by state, for a tool whose motion is given."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.touch.approach import LEAST_RATE, SLOW, Approach
from rbd_dynamics.control.hybrid.touch.contact_sense import ContactSense

DT = 1e-3
LIMITS = HybridLimits()
SPEED = LIMITS.approach_speed


def pushed(share, inertia=1.0, states=20):
    """N/s: how fast the push grows while the tool comes with that share of the wanted speed."""
    rows, still = np.array([True]), np.zeros(1)
    approach = Approach(rows, np.array([inertia]), still, np.array([0.1]), still, 20.0, LIMITS, ramp=0.0)
    for k in range(states):
        assert approach.step(np.array([0.1 - k * DT * share * SPEED]), np.array([-share * SPEED]), DT) == ""
    return float(approach.push[0]) / (states * DT)


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0, 1.1])
def test_a_tool_that_moves_is_pushed_by_the_spring_to_its_reference_alone(share):
    """Critically damped: c^2 / 4 of the inertia. Also by that of a tool that is too fast."""
    assert pushed(share) == pytest.approx(0.25 * 20.0**2 * SPEED * (1.0 - share), abs=1e-9)


def test_a_tool_that_is_held_up_is_pushed_by_more_from_a_share_of_the_speed_on():
    """By at least so much, whatever a light arm's spring would give; a heavy one's own is more."""
    assert pushed(0.99 * SLOW, inertia=1e-3) == pytest.approx(LEAST_RATE)
    assert pushed(1.01 * SLOW, inertia=1e-3) < 0.1 * LEAST_RATE
    spring = 10.0 * 0.25 * 20.0**2 * SPEED
    assert spring > LEAST_RATE and pushed(0.0, inertia=10.0) == pytest.approx(spring)


@pytest.mark.parametrize("known", [True, False])
def test_a_tool_that_touches_again_as_it_approaches_again_is_in_contact_where_its_zero_is_known(known):
    """A soft surface after a bounce: the force rises while the zero would be found. A zero of its own takes it in."""
    rows, nothing = np.array([True]), np.zeros(1)
    approach = Approach(
        rows, np.ones(1), nothing, np.zeros(1), nothing, 20.0, LIMITS, ramp=0.0, zero=nothing if known else None
    )
    sense, told = ContactSense(), False
    for k in range(300):
        felt = 1.5 * LIMITS.contact_force * (1.0 - np.exp(-k * DT / 0.05))
        sense.update(felt - float(approach.zero[0]), DT, LIMITS.contact_debounce, free=False)
        told = told or approach.touches(np.zeros(1), np.array([felt]), DT, noise=sense)
    assert told is known


def test_a_tool_that_flies_off_stands_against_nothing():
    """Pushed ever more, it was said to be held up by something that the sensor does not feel."""
    found = {}
    for drift in (0.0, 2.0 * SPEED):
        rows, still = np.array([True]), np.zeros(1)
        approach = Approach(rows, 10.0 * np.ones(1), still, still, still, 20.0, LIMITS, ramp=0.0)
        for k in range(250):
            assert approach.step(np.array([k * DT * drift]), np.array([drift]), DT) == ""
        assert approach.push[0] > 2.0 * LIMITS.contact_force
        found[drift] = approach.unfelt
    assert found == {0.0: True, 2.0 * SPEED: False}
