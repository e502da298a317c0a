# SPDX-License-Identifier: Apache-2.0
"""How late messages are whose writer's clock may be another computer's."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.nodes.commanding.transit import WINDOW, Transit

MS = 1_000_000
PERIOD, QUICKEST = 5 * MS, MS


def lateness(delays, apart=0, wall_steps=(), writer_steps=()):
    """ns, of messages written every PERIOD that take so long (ns), by a clock that is `apart` from the reader's; steps
    of the reader's wall clock and the writer's: (index, ns)."""
    transit, found = Transit(), []
    for k, delay in enumerate(np.asarray(delays)):
        written = k * PERIOD
        arrives = written + int(delay)
        wall = arrives + 10**18 + sum(step for at, step in wall_steps if k >= at)
        clock = written + 10**18 + apart + sum(step for at, step in writer_steps if k >= at)
        found.append(transit.lateness(clock, wall, arrives + 7))
    return np.array(found)


@pytest.mark.parametrize("apart", [0, 3 * 10**9, -(10**12)], ids=["same", "ahead", "far behind"])
def test_late_is_what_comes_later_than_the_quickest(apart):
    rng = np.random.default_rng(2)
    delays = QUICKEST + rng.integers(0, 2 * MS, 1000)
    delays[:2] = QUICKEST
    delays[500] += 320 * MS
    found = lateness(delays, apart)
    np.testing.assert_array_equal(found, delays - QUICKEST)


def test_a_clock_that_is_set_anew_here_is_no_delay():
    delays = np.full(1000, QUICKEST)
    delays[700] += 80 * MS
    for step in (10**9, -(10**9)):
        found = lateness(delays, wall_steps=[(300, step)], writer_steps=[(300, step)])  # one computer
        assert found[700] == 80 * MS and np.count_nonzero(found) == 1
        found = lateness(delays, wall_steps=[(300, step)])  # two: the reader's is set
        assert found[700] == 80 * MS and np.count_nonzero(found) == 1


def test_a_writers_clock_that_is_set_back_counts_as_late_for_two_windows_at_most():
    delays = np.full(4000, QUICKEST)
    found = lateness(delays, writer_steps=[(1000, -(10**9))])
    late = np.flatnonzero(found) * PERIOD
    assert late[0] == 1000 * PERIOD and (found[1000:1000 + WINDOW // PERIOD] == 10**9).all()  # fmt: skip
    assert late[-1] <= 1000 * PERIOD + 2 * WINDOW + PERIOD


def test_a_path_that_became_slower_is_the_quickest_after_two_windows_and_after_a_pause():
    slower = np.r_[np.full(1000, QUICKEST), np.full(3000, 90 * MS)]
    found = lateness(slower)
    assert found[1000] == 89 * MS and not found[-1000:].any()
    transit = Transit()
    assert transit.lateness(10**18, 10**18 + MS, MS) == 0
    later = 3 * WINDOW
    assert transit.lateness(10**18 + later, 10**18 + later + 70 * MS, later + 70 * MS) == 0


def test_nothing_is_late_where_the_middleware_does_not_say_when_it_was_written():
    transit = Transit()
    assert transit.lateness(0, 10**18, 10**9) == 0
    assert transit.lateness(10**18, 10**18 + MS, 10**9 + MS) == 0
    assert transit.lateness(0, 10**18 + 10**12, 10**9 + 10**12) == 0
