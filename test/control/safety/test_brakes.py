# SPDX-License-Identifier: Apache-2.0
"""When a robot is held by its brakes: nothing moves, nothing drives, and it would fall."""

from __future__ import annotations

import numpy as np

from rbd_dynamics.control.safety.brakes import falls, slack_of, undriven


def test_no_effort_is_what_is_small_beside_the_limit_however_small_that_is():
    limits = [100.0, 0.5, 0.0, -1.0, np.inf, np.nan]
    np.testing.assert_allclose(slack_of(limits), [0.5, 2.5e-3, 1e-3, 1e-3, 1e-3, 1e-3], rtol=1e-15)


def test_undriven_means_every_joint_of_each_sample_and_what_is_not_measured_does_not_count():
    slack = np.array([0.5, 0.01])
    v = np.array([[0.0, 0.0], [0.0, 0.002], [-0.002, 0.0], [0.0005, 0.0], [np.nan, 0.0]])
    np.testing.assert_array_equal(undriven(v, np.zeros_like(v), slack), [True, False, False, True, True])
    tau = np.array([[0.4, 0.0], [-0.6, 0.0], [0.0, 0.02], [np.nan, 0.005], [np.nan, np.nan]])
    np.testing.assert_array_equal(undriven(np.zeros_like(tau), tau, slack), [True, False, False, True, True])


def test_it_falls_where_gravity_is_far_more_than_no_effort_at_a_joint_that_is_measured():
    slack = np.array([0.5, 0.01])
    for gravity, expected in (([2.4, 0.0], False), ([2.6, 0.0], True), ([0.0, -0.06], True), ([0.0, 0.04], False)):
        assert falls(np.array(gravity), np.array([True, True]), slack) is expected
    assert not falls(np.array([0.0, 5.0]), np.array([True, False]), slack)
