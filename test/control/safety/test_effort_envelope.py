# SPDX-License-Identifier: Apache-2.0
"""Measured efforts against what was commanded lately."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rbd_dynamics.control.safety.effort_envelope import WINDOW, EffortEnvelope

JOINTS = ("a", "b")
MS = 1_000_000
TOLERANCE = np.array([1.0, np.inf])


def test_far_from_the_commands_is_named_and_what_is_near_or_not_measured_passes():
    envelope = EffortEnvelope(2)
    assert not envelope.problem(np.array([1e9, 0.0]), TOLERANCE, JOINTS, 10 * MS)  # nothing commanded yet
    envelope.commanded(np.array([5.0, 0.0]), 10 * MS)
    envelope.commanded(np.array([7.0, 0.0]), 20 * MS)
    for effort in (4.0, 6.0, 8.0, np.nan):
        assert not envelope.problem(np.array([effort, 1e9]), TOLERANCE, JOINTS, 30 * MS)
    for effort in (3.9, 8.1, np.inf):
        problem = envelope.problem(np.array([effort, 0.0]), TOLERANCE, JOINTS, 30 * MS)
        assert f"effort {effort:.4g} of joint 'a' is not plausible: commanded were 5 to 7" in problem
    envelope.reset()
    assert not envelope.problem(np.array([1e9, 0.0]), TOLERANCE, JOINTS, 30 * MS)


@given(st.lists(st.tuples(st.integers(1, 150), st.floats(-50, 50)), min_size=1, max_size=60))
def test_all_of_the_last_window_is_inside_and_nothing_older_than_two(commands):
    """Against every command with its time."""
    envelope, time, past = EffortEnvelope(2), 0, []
    for passed, effort in commands:
        time += passed * MS
        past.append((time, effort))
        envelope.commanded(np.array([effort, 0.0]), time)
        last = [value for when, value in past if time - when < WINDOW]
        two = [value for when, value in past if time - when < 2 * WINDOW]
        for value in (min(last) - 0.999, max(last) + 0.999):
            assert not envelope.problem(np.array([value, 0.0]), TOLERANCE, JOINTS, time)
        for value in (min(two) - 1.001, max(two) + 1.001):
            assert envelope.problem(np.array([value, 0.0]), TOLERANCE, JOINTS, time)
    assert not envelope.problem(
        np.array([1e9, 0.0]), TOLERANCE, JOINTS, time + 2 * WINDOW
    )  # nothing was commanded since
