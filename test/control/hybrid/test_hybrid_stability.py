# SPDX-License-Identifier: Apache-2.0
"""Stability of force control on contacts: Routh's condition, the eigenvalues of the sampled loop, and the defaults."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.stability import (
    FREQUENCIES,
    Plant,
    contact_problem,
    contact_radius,
    hold_problem,
    motion_radius,
    task_problem,
)

QUICK = Plant(actuator_bandwidth=0.0, sensor_delay=0.0, state_delay=0.0, period=2e-5, contact_damping=0.05)


@pytest.mark.parametrize("w", [10.0, 60.0, 300.0])
@pytest.mark.parametrize("zeta", [0.0, 0.02, 0.1])
def test_without_lag_the_limit_is_rouths(w, zeta):
    """ki < (c + 2 zeta w)(1 + 2 zeta ki / w), the roots of the characteristic polynomial being the other side."""
    c = 30.0
    plant = Plant(actuator_bandwidth=0.0, sensor_delay=0.0, state_delay=0.0, period=2e-5, contact_damping=zeta)
    limit = (
        (c + 2 * zeta * w) / (1.0 - (c + 2 * zeta * w) * 2 * zeta / w) if (c + 2 * zeta * w) * 2 * zeta < w else None
    )
    for factor in (0.9, 1.1):
        ki = (limit or 100.0 * c) * factor
        roots = np.roots([1.0, c + 2 * zeta * w, w * w + 2 * zeta * w * ki, w * w * ki])
        stable = bool((roots.real < 0.0).all())
        assert stable == (limit is None or factor < 1.0)
        assert (contact_radius(c, ki, w, plant) < 1.0) == stable


def test_the_sampled_loop_is_its_simulation():
    """The radius tells growth or decay of the loop stepped by itself, with lag and delay, by another integrator."""
    for damping, ki in ((30.0, 5.0), (30.0, 60.0), (100.0, 5.0)):
        for w in (30.0, 400.0):
            plant = Plant(sensor_delay=0.005, state_delay=0.005, contact_damping=0.03)
            grows = simulated(damping, ki, w, plant)
            assert grows == (contact_radius(damping, ki, w, plant) > 1.0)


def simulated(damping, ki, w, plant, seconds=6.0):
    """Whether x of x'' + 2 zeta w x' + w^2 x = a grows under the law; small explicit steps."""
    fine, lag = 20, 2 * np.pi * plant.actuator_bandwidth
    h = plant.period / fine
    x, v, a, z = 1e-3, 0.0, 0.0, 0.0
    late = round(plant.state_delay / plant.period)
    past, sizes = [(0.0, 0.0)] * (late + 1), []
    for _ in range(round(seconds / plant.period)):
        past = [*past[-late:], (x, v)]
        x_seen, v_seen = past[0]
        z += plant.period * (-w * w * x_seen - 2 * plant.contact_damping * w * v_seen)
        command = -damping * v_seen + ki * z
        for _ in range(fine):
            a += h * lag * (command - a)
            v += h * (a - w * w * x - 2 * plant.contact_damping * w * v)
            x += h * v
        sizes.append(abs(x) + abs(v) / w)
        if sizes[-1] > 1e3:
            return True
    n = len(sizes) // 4
    return max(sizes[-n:]) > max(sizes[n : 2 * n])


def test_the_defaults_hold_on_every_contact_with_slow_actuators_and_late_sensors():
    gains = HybridGains(ki=5.0, normal_damping=30.0, task_ki=8.0, posture_kd=5.0)
    for bandwidth in (0.0, 30.0, 100.0, 1000.0):
        for late in (0.0, 0.002, 0.005):
            plant = Plant(actuator_bandwidth=bandwidth, sensor_delay=late, state_delay=late)
            assert contact_problem(gains, plant) == ""
            assert task_problem(gains, "geometric", plant) == task_problem(gains, "gauge_invariant", plant) == ""
            assert hold_problem(400.0, 40.0, plant) == ""
    assert FREQUENCIES[0] < 6.0 and FREQUENCIES[-1] > 1800.0


@pytest.mark.parametrize(
    ("gains", "name"),
    [
        ({"ki": 30.0, "normal_damping": 30.0}, "ki = 30 "),
        ({"ki": 1.0, "normal_damping": 0.0}, "ki = 1 "),
        ({"ki": 5.0, "normal_damping": 200.0}, "normal_damping = 200 "),
    ],
)
def test_what_is_not_stable_is_named(gains, name):
    problem = contact_problem(HybridGains(**gains), Plant(state_delay=0.005))
    assert problem.startswith(name) and "\n" not in problem


@pytest.mark.parametrize(
    ("gains", "name"),
    [
        ({"kp": 20000.0, "kd": 60.0}, "kp = 20000 "),
        ({"kp": [900.0, 900.0, 9e4], "kd": 60.0}, "kp = 90000 "),
        ({"task_ki": 100.0}, "task_ki = 100 "),
        ({"posture_kp": 1e4, "posture_kd": 5.0}, "posture_kp = 10000 "),
    ],
)
def test_a_task_that_is_not_stable_is_named(gains, name):
    assert task_problem(HybridGains(**gains), "geometric", Plant(state_delay=0.005)).startswith(name)


def test_no_gains_are_not_unstable():
    nothing = HybridGains(kp=0.0, kd=0.0, posture_kd=0.0)
    assert contact_problem(nothing, Plant()) == task_problem(nothing, "geometric", Plant()) == ""
    assert abs(motion_radius(0.0, 0.0, 0.0, Plant()) - 1.0) < 1e-6


def test_kp_of_rows_without_a_position_counts_for_nothing():
    gains = HybridGains(kp=(100.0, 1e6), kd=20.0)
    assert task_problem(gains, "geometric", Plant()).startswith("kp = 1e+06")
    assert task_problem(gains, "geometric", Plant(), holonomic=(True, False)) == ""
