# SPDX-License-Identifier: Apache-2.0
"""Filters over columns and sums over intervals, by machine code and without, against scipy and NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.signal

from rbd_dynamics.replay.signals import sections
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.sections import Sections
from rbd_dynamics.replay.torques import interval_sums
from rbd_dynamics.replay.torques.interval_sums import reduce_intervals

CODE = pytest.mark.parametrize("machine_code", [True, False])


def columns_of(count, columns, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(count, columns)), axis=0)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.nanmax(np.abs(expected)))


@CODE
@pytest.mark.parametrize("order", [1, 2, 4, 7])
@pytest.mark.parametrize("columns", [1, 3, 8, 21])
def test_a_pass_is_scipys_and_so_is_the_state_after_it(machine_code, order, columns):
    sos = scipy.signal.butter(order, 5.0, fs=100.0, output="sos")
    values = columns_of(500, columns)
    found, filter_ = values.copy(), Sections(sos, machine_code=machine_code)
    state = filter_.steady(found[0])
    expected, after = scipy.signal.sosfilt(sos, values, axis=0, zi=state.copy())
    for begin, stop in ((0, 1), (1, 130), (130, 130), (130, 500)):  # however it is cut
        filter_.forth(found[begin:stop], state)
    close(found, expected)
    close(state, after)


@CODE
def test_both_ways_is_scipys_without_padding(machine_code):
    sos = scipy.signal.butter(4, 3.0, fs=100.0, output="sos")
    values = columns_of(700, 5)
    found = values.copy()
    Sections(sos, machine_code=machine_code).both_ways(found)
    close(found, scipy.signal.sosfiltfilt(sos, values, axis=0, padtype=None))


@CODE
def test_nan_stays_in_its_column_from_where_it_appears(machine_code):
    sos = scipy.signal.butter(4, 3.0, fs=100.0, output="sos")
    values = columns_of(300, 4)
    values[120, 2] = np.nan
    found, filter_ = values.copy(), Sections(sos, machine_code=machine_code)
    state = filter_.steady(found[0])
    expected, after = scipy.signal.sosfilt(sos, values, axis=0, zi=state.copy())
    filter_.forth(found, state)
    assert np.isnan(found[120:, 2]).all() and np.isfinite(found[:120]).all() and np.isfinite(found[:, [0, 1, 3]]).all()
    close(found, expected)
    np.testing.assert_array_equal(np.isnan(state), np.isnan(after))


def test_nothing_stays_nothing_and_a_filter_can_be_sent_to_another_process():
    low_pass = pickle.loads(pickle.dumps(LowPass(5.0, 4, 100.0)))
    for shape in ((0, 3), (10, 0), (1, 2), (4, 2, 3)):
        assert low_pass.both_ways(np.ones(shape)).shape == shape
    np.testing.assert_allclose(low_pass.both_ways(np.full((50, 2), 3.0)), 3.0, rtol=1e-12)


def test_both_ways_leaves_what_it_was_given():
    values = columns_of(100, 4)
    strided, before = values[:, ::2], values.copy()
    LowPass(5.0, 4, 100.0).both_ways(strided)
    np.testing.assert_array_equal(values, before)


@CODE
def test_intervals_have_their_smallest_largest_and_sum(machine_code, monkeypatch):
    if not machine_code:
        monkeypatch.setattr(interval_sums, "_loops", lambda: None)
    values = np.random.default_rng(0).normal(size=(200, 3))
    values[50, 1] = np.nan
    first = np.array([0, 1, 40, 60, 199])
    low, high, total = (np.full((len(first), 3), level) for level in (np.inf, -np.inf, 0.0))
    low[0], high[0], total[0] = -9.0, 9.0, 1.0  # of what was there before
    reduce_intervals(values, first, low, high, total)
    parts = np.split(values, first[1:])
    expected = [np.array([f(part, axis=0) for part in parts]) for f in (np.min, np.max, np.sum)]
    expected[0][0], expected[1][0], expected[2][0] = -9.0, 9.0, values[0] + 1.0
    for found, wanted in zip((low, high, total), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert np.isnan(low[2, 1]) and np.isnan(high[2, 1]) and np.isfinite(np.delete(low.ravel(), 7)).all()


def test_machine_code_is_what_runs_here():
    """Else the tests above would say nothing of it."""
    assert sections._loops() is not None and interval_sums._loops() is not None
