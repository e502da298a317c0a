# SPDX-License-Identifier: Apache-2.0
"""What a model lacks of an arm that is held: one joint, whose motion is integrated here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbd_dynamics.control.hybrid.stability import Plant, load_rate, motion_radius
from rbd_dynamics.control.hybrid.unknown_load import EFFORT, UnknownLoad

STIFFNESS, DAMPING, INERTIA, MOST, FASTEST = 400.0, 40.0, 0.1, 10.0, 1.0


class Joint:
    """A joint that is held at zero, and its actuator."""

    def __init__(self, known: float = 1.0, gains: tuple[float, float] = (STIFFNESS, DAMPING)) -> None:
        self.load, self.inertia, self.gains = UnknownLoad(1), INERTIA / known, gains
        self.x = self.v = self.acts = 0.0
        self.speeds: list[float] = []

    def stay(self, seconds: float, outside: float, *, felt: float = 0.0, silent: bool = False) -> Joint:
        """outside: N m, that act on it; felt: of these, by a sensor."""
        dt, lag, (stiffness, damping) = 1e-3, 1.0 / (2.0 * math.pi * 30.0), self.gains
        for _ in range(round(seconds / dt)):
            given = {"stiffness": stiffness, "damping": damping}
            if silent:
                self.load.forget(stiffness, damping, dt)
            else:
                limits = {"most": np.array([MOST]), "speeds": np.array([FASTEST])}
                self.load.update(np.array([[INERTIA]]), np.array([self.v]), np.array([felt]), dt, **given, **limits)
            tau = INERTIA * (-stiffness * self.x - damping * self.v) + float(self.load.efforts[0])
            self.load.driven(np.array([tau]), dt)
            self.acts += (1.0 - math.exp(-dt / lag)) * (tau - self.acts)
            self.v += dt * (self.acts + outside) / self.inertia
            self.x += dt * self.v
            self.speeds.append(abs(self.v))
        return self


@pytest.mark.parametrize("known", [0.5, 1.0, 1.4])
def test_it_is_held_the_stiffer_and_comes_to_rest(known):
    """known: the model's inertia of the true one."""
    joint = Joint(known).stay(1.0, 0.9)
    alone = 0.9 / (INERTIA * STIFFNESS)
    rate = load_rate(STIFFNESS, DAMPING, Plant())
    assert joint.x == pytest.approx(alone / (1.0 + rate * DAMPING / STIFFNESS), rel=0.1)
    assert max(joint.speeds[-50:]) < 1e-3


def test_no_more_is_made_up_for_than_a_tenth_of_the_effort_limit():
    joint = Joint().stay(1.0, 5.0)
    assert joint.load.efforts[0] == pytest.approx(-EFFORT * MOST)


def test_what_is_felt_is_not_pushed_against_and_a_wrong_sensor_pushes_nothing():
    free = Joint().stay(1.0, 0.9).load.efforts[0]
    assert free < -0.5
    assert Joint().stay(1.0, 0.9, felt=0.9).load.efforts[0] == pytest.approx(0.0, abs=0.02)
    assert Joint().stay(1.0, 0.9, felt=30.0).load.efforts[0] == 0.0
    assert Joint().stay(1.0, 0.9, felt=-30.0).load.efforts[0] == pytest.approx(free, rel=1e-6)


def test_a_silent_sensor_lets_it_fade():
    joint = Joint().stay(0.5, 0.9)
    before = joint.load.efforts[0]
    joint.stay(0.1, 0.9, silent=True)
    assert joint.load.efforts[0] == pytest.approx(before * math.exp(-1.0), rel=1e-6)


@pytest.mark.parametrize("gains", [(0.0, 40.0), (400.0, 0.0)])
def test_what_has_no_stiffness_or_no_damping_is_not_held_by_it(gains):
    assert not Joint(gains=gains).stay(0.1, 0.9).load.efforts.any()


def test_what_is_to_be_soft_stays_so():
    joint = Joint(gains=(4.0, 8.0)).stay(6.0, 0.02)
    assert joint.x > 0.9 * 0.02 / (INERTIA * 4.0) / 11.0


@pytest.mark.parametrize("bandwidth", [0.0, 10.0, 30.0, 100.0])
@pytest.mark.parametrize("period", [1e-3, 4e-3, 1e-2])
def test_links_may_be_lighter_than_the_model_has_them(bandwidth, period):
    for delay in (0.0, 1e-3, 5e-3):
        for stiffness, damping in ((400.0, 40.0), (25.0, 10.0), (1600.0, 80.0)):
            plant = Plant(actuator_bandwidth=bandwidth, state_delay=delay, period=period)
            rate = load_rate(stiffness, damping, plant)
            assert 0.0 <= rate <= 10.0 * stiffness / damping
            if rate:
                kp, kd = stiffness + rate * damping, damping + rate
                assert motion_radius(1.5 * kp, 1.5 * kd, 0.0, plant) <= 1.0 + 1e-9


def test_states_that_come_slowly_are_answered_more_slowly():
    load = UnknownLoad(1)
    rates = [load.rate(STIFFNESS, DAMPING, 1e-3) for _ in range(5)]
    for _ in range(600):
        slow = load.rate(STIFFNESS, DAMPING, 4e-3)
    assert rates[0] == rates[-1] > 1.5 * slow > 0.0
    assert load_rate(STIFFNESS, DAMPING, Plant(period=4e-3)) >= slow
