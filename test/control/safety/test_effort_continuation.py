# SPDX-License-Identifier: Apache-2.0
"""What is left of another controller's last effort dies out, within the limits."""

import numpy as np

from rbd_dynamics.control.safety.effort_continuation import TIME, EffortContinuation


def test_the_rest_dies_out_within_the_limits():
    continuation, limits = EffortContinuation(2), np.array([10.0, 3.0])
    assert not continuation.active
    continuation.begin(np.array([4.0, 5.0]), 1_000)
    efforts = np.array([1.0, 1.0])
    continuation.add(efforts, 1_000, limits)
    np.testing.assert_array_equal(efforts, [5.0, 3.0])
    efforts = np.array([1.0, 1.0])
    continuation.add(efforts, 1_000 + round(0.75e9 * TIME), limits)
    np.testing.assert_allclose(efforts, [2.0, 2.25])
    efforts = np.array([1.0, 1.0])
    continuation.add(efforts, 1_000 + round(50e9 * TIME), limits)
    np.testing.assert_array_equal(efforts, [1.0, 1.0])
    assert not continuation.active


def test_a_clock_that_is_set_back_ends_it():
    continuation = EffortContinuation(1)
    continuation.begin(np.array([4.0]), 2_000_000_000)
    efforts = np.array([1.0])
    continuation.add(efforts, 1_000_000_000, np.array([10.0]))
    assert efforts[0] == 1.0 and not continuation.active
