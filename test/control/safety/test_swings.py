# SPDX-License-Identifier: Apache-2.0
"""Swings that feedback makes are told from blows, noise and motions, on a robot whose drives are late."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.arms import ARM

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.control.safety.softening import ALL
from rbd_dynamics.control.safety.swings import LONGEST, WIDE, Swings

DT = 2e-3
ROBOT = Robot(load_urdf(ARM))
LIMITS = np.array([joint.limits.velocity for joint in ROBOT.model.joints])
EFFORTS = np.array([joint.limits.effort for joint in ROBOT.model.joints])
KP = np.array([400.0, 80.0, 400.0])


def swung(damping, lag, *, softer=0.0, blow=0.0, noise=1e-3, seconds=3.0, seed=0):
    """A robot that is held with kp and kd = damping kp, through drives of a lag (s), at 500 Hz and a period late.

    softer: share to which each swing that is found cuts the damping. How fast it was beside its limits, and when
    swings were found.
    """
    rng, swings, shares, found, fastest = np.random.default_rng(seed), Swings(LIMITS), ALL, [], 0.0
    q, v = rng.uniform(-1.0, 1.0, 3), np.zeros(3)
    held, tau, late = q.copy(), ROBOT.gravity(q).copy(), ROBOT.gravity(q).copy()
    hit = blow * EFFORTS * (np.arange(3) == rng.integers(3))
    for k in range(round(seconds / DT)):
        seen = v + noise * rng.standard_normal(3)
        wanted = ROBOT.gravity(q) + shares.stiffness * KP * (held - q) - shares.damping * damping * KP * seen
        now, late = late, np.clip(wanted, -EFFORTS, EFFORTS)
        for _ in range(4):
            tau = tau + (1.0 - math.exp(-0.25 * DT / lag)) * (now - tau)
            v = v + 0.25 * DT * ROBOT.forward_dynamics(q, v, tau + (hit if 0.2 < k * DT < 0.22 else 0.0))
            q = q + 0.25 * DT * v
        fastest = max(fastest, float((np.abs(v) / LIMITS).max()))
        if swings.joint(seen, np.zeros(3), DT) is not None:
            found.append(k * DT)
            shares = shares.softer(softer or 1.0)
            swings.forget()
        if fastest > 10.0:
            break
    return fastest, found


@pytest.mark.parametrize("lag", [0.01, 0.02, 0.03])
def test_an_arm_whose_drives_are_late_is_stopped_before_it_is_fast(lag):
    assert swung(0.005, lag)[0] > 0.8
    fastest, found = swung(0.005, lag, softer=0.25)
    assert found and fastest < 0.4


@pytest.mark.parametrize("noise", [1e-3, 0.05])
def test_a_blow_to_an_arm_that_is_held_well_is_no_swing(noise):
    for seed in range(5):
        fastest, found = swung(0.03, 1e-3, blow=0.5, noise=noise, seed=seed)
        assert fastest > 0.05 and not found


@pytest.mark.parametrize("size", [1e-3, 0.03, 0.3, 3.0])
def test_noise_is_no_swing(size):
    """White, and of an encoder whose steps are differentiated."""
    rng, swings, steps = np.random.default_rng(1), Swings(LIMITS), Swings(LIMITS)
    before = np.zeros(3)
    for k in range(20000):
        assert swings.joint(size * rng.standard_normal(3), np.zeros(3), DT) is None
        now = size * DT * np.round(np.sin(0.3 * k * DT * np.arange(1.0, 4.0)) / (size * DT))
        assert steps.joint((now - before) / DT, np.zeros(3), DT) is None
        before = now


def test_what_is_wanted_is_no_swing_and_what_goes_on_beside_it_is():
    swings = Swings(LIMITS)
    for k in range(2000):
        rate = 0.3 * LIMITS * math.sin(2.0 * math.pi * 8.0 * k * DT) * min(1.0, 1e-3 * k)
        assert swings.joint(rate, rate, DT) is None
    told = [swings.joint(0.3 * LIMITS * math.sin(2.0 * math.pi * 8.0 * k * DT), np.zeros(3), DT) for k in range(1000)]
    assert told.index(next(each for each in told if each is not None)) * DT < 12 * 0.5 / 8.0
    assert swings.frequency == pytest.approx(8.0, rel=0.05)


def test_what_is_slow_or_small_is_no_swing():
    for frequency, size in ((0.4 / LONGEST, 0.5), (8.0, 0.9 * WIDE)):
        swings = Swings(LIMITS)
        for k in range(3000):
            v = size * LIMITS * math.sin(2.0 * math.pi * frequency * k * DT)
            assert swings.joint(v, np.zeros(3), DT) is None
