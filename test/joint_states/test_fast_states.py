# SPDX-License-Identifier: Apache-2.0
"""A robot that is fast, beside measurements that are wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbd_dynamics.joint_states.fast_states import FastStates

JOINTS = 2


def taken(q, v, period=0.01, continuous=(True, False)):
    """Of states in a row, the last answer."""
    row = FastStates(continuous, np.full(JOINTS, 5.0))
    return [row.take(np.array(a), np.array(b), round(1e9 * period * k)) for k, (a, b) in enumerate(zip(q, v))]


def swing(count, period, wrap):
    """Sped up by gravity to 9 rad/s; the first joint reported within a turn."""
    t = period * np.arange(count)
    q = np.stack([3.0 + 4.0 * t + 12.0 * t**2, 0.2 * np.sin(30.0 * t)], axis=1)
    v = np.stack([4.0 + 24.0 * t, 6.0 * np.cos(30.0 * t)], axis=1)
    if wrap:
        q[:, 0] = [math.remainder(angle, 2.0 * math.pi) for angle in q[:, 0]]
    return q, v


@pytest.mark.parametrize("period", [0.001, 0.01])
@pytest.mark.parametrize("wrap", [False, True])
def test_a_fast_robot_is_known_after_some_states(period, wrap):
    answers = taken(*swing(30, period, wrap), period)
    assert not answers[0] and all(answers[round(0.02 / period) + 1 :])


def test_wrong_measurements_are_not_taken_for_motion():
    q, v = swing(30, 0.01, False)
    still = np.zeros_like(q)
    assert not any(taken(still, v))  # a velocity that is wrong
    assert not any(taken(np.where(np.arange(30)[:, None] % 2, q, still), v))  # two publishers in turns
    jumps = np.where(np.arange(30)[:, None] > 15, q + [0.0, 0.5], q)  # an encoder
    assert not any(taken(jumps, v)[16:])
    assert not any(taken(q, np.where(np.arange(30)[:, None] % 3, v, np.nan)))
    assert not any(taken(q, v, period=0.2))  # not in a row
    assert not any(taken(still, still))  # it rests elsewhere


def test_a_robot_that_was_fast_goes_on_as_it_slows_down():
    t = 0.01 * np.arange(30)
    v = np.stack([np.maximum(8.0 - 40.0 * t, 0.0), np.zeros(30)], axis=1)
    q = np.stack([np.where(t < 0.2, 8.0 * t - 20.0 * t**2, 0.8), np.zeros(30)], axis=1)
    assert all(taken(q, v)[3:])
    assert not any(taken(q[8:], v[8:]))  # as slow as may be from the beginning
