# SPDX-License-Identifier: Apache-2.0
"""What is drawn of recordings of any length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbd_dynamics.replay.torques.series import Series

RATE = 100.0


def samples(count, seed=0):
    rng = np.random.default_rng(seed)
    return np.arange(count) / RATE, rng.normal(size=(count, 2)), rng.normal(size=(count, 2))


def series_of(count, points, cuts=(), seed=0):
    t, one, other = samples(count, seed)
    found = Series(("a", "b"), RATE, points=points)
    bounds = sorted({0, count, *cuts})
    for first, last in zip(bounds, bounds[1:]):
        part = slice(first, last)
        found.add(t[part], 0, {"one": one[part], "other": other[part]})
    return found


@given(st.integers(1, 3000), st.integers(1, 200), st.lists(st.integers(0, 3000), max_size=6), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_bounded_complete_and_the_same_however_it_is_cut(count, points, cuts, seed):
    cuts = [cut for cut in cuts if cut < count]
    found, whole = series_of(count, points, cuts, seed), series_of(count, points, (), seed)
    _, one, _ = samples(count, seed)
    assert len(found.t) <= 2 * points
    assert found.width == whole.width
    for signal in ("one", "other"):
        np.testing.assert_array_equal(found.t, whole.t)
        np.testing.assert_array_equal(found.low(signal), whole.low(signal))
        np.testing.assert_array_equal(found.high(signal), whole.high(signal))
        np.testing.assert_allclose(found.mean(signal), whole.mean(signal), atol=1e-12)
    np.testing.assert_array_equal(found.high("one").max(axis=0), one.max(axis=0))  # no peak is lost
    np.testing.assert_array_equal(found.low("one").min(axis=0), one.min(axis=0))
    assert (found.low("one") <= found.mean("one") + 1e-12).all()
    assert found.exact == (found.width == 1 / RATE)


def test_short_recordings_are_drawn_as_they_are():
    found, (t, one, _) = series_of(300, 200), samples(300)
    assert found.exact
    np.testing.assert_allclose(found.t, t)
    for values in (found.low("one"), found.mean("one"), found.high("one")):
        np.testing.assert_array_equal(values, one)


def test_intervals_stand_where_their_samples_are():
    found = series_of(4096, 16)
    assert found.width == pytest.approx(1.28) and len(found.t) == 32
    np.testing.assert_allclose(found.t[0], np.mean(np.arange(128) / RATE))


def test_lines_break_between_segments():
    found = Series(("a",), RATE, points=100)
    for number, start in enumerate((0.0, 5.0, 5.02)):
        t = start + np.arange(2) / RATE
        found.add(t, number, {"x": np.ones((2, 1))})
    assert len(found.t) == 8
    for values in (found.t, found.mean("x")[:, 0], found.low("x")[:, 0], found.high("x")[:, 0]):
        assert np.flatnonzero(np.isnan(values)).tolist() == [2, 5]


@pytest.mark.parametrize("segments", [20, 21, 500])
def test_however_many_segments_there_are_it_ends(segments):
    """Seen: more of them than intervals were made wider for ever."""
    found, values = Series(("a",), RATE, points=10), np.random.default_rng(0).normal(size=(segments, 30, 1))
    for number, part in enumerate(values):
        found.add(10.0 * number + np.arange(30) / RATE, number, {"x": part})
    low, mean, high = (of("x")[np.isfinite(found.t)] for of in (found.low, found.mean, found.high))
    assert len(high) <= 20 and high.max() == values.max() and low.min() == values.min()
    assert (low <= mean).all() and (mean <= high).all() and (np.diff(found.t[np.isfinite(found.t)]) > 0.0).all()


def test_signals_are_the_same_each_time():
    found = Series(("a",), RATE)
    found.add(np.zeros(0), 0, {})
    found.add(np.zeros(1), 0, {"x": np.ones((1, 1))})
    with pytest.raises(ValueError, match="signals y in place of x"):
        found.add(np.ones(1), 0, {"y": np.ones((1, 1))})
    with pytest.raises(ValueError, match="must be positive"):
        Series(("a",), 0.0)
